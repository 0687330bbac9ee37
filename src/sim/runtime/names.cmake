# cmake -DNAMES=cudart13.txt -DALL=cudart11.txt,cudart12.txt,cudart13.txt -DNODE=libcudart.so.13 -DOUT=folder -P names.cmake
#
# Makes from the list of names that the real library exports: the table of names with a weak "not supported" function
# for each (cudart_names.c), which a modelled function of the same name replaces in the link, and the version script that
# gives every export the real one's version node (cudart.map). An index for each name of any version (cudart_names.h), so
# that one source serves all: what a version does not export, its map hides.
file(STRINGS ${NAMES} names REGEX "^[A-Za-z_]")
string(REPLACE "," ";" lists "${ALL}")
set(all "")
foreach(list IN LISTS lists)
  file(STRINGS ${list} some REGEX "^[A-Za-z_]")
  list(APPEND all ${some})
endforeach()
list(REMOVE_DUPLICATES all)

set(index "")
set(table "")
foreach(name IN LISTS all)
  string(APPEND index "    SIMRT_CALL_${name},\n")
  string(APPEND table "    \"${name}\",\n")
endforeach()

set(stubs "")
set(exports "")
foreach(name IN LISTS names)
  string(APPEND stubs "UNSUPPORTED(${name})\n")
  string(APPEND exports "    ${name};\n")
endforeach()

file(CONFIGURE OUTPUT ${OUT}/cudart_names.h CONTENT [[/* Made from src/sim/names. */
#ifndef SIMRT_CUDART_NAMES_H
#define SIMRT_CUDART_NAMES_H

enum simrt_call {
@index@    SIMRT_CALLS
};

extern const char *const simrt_call_names[SIMRT_CALLS];

#endif
]] @ONLY)

# Without CUDA's headers: the stubs take and read no argument, whatever the caller passes.
file(CONFIGURE OUTPUT ${OUT}/cudart_names.c CONTENT [[/* Made from src/sim/names. */
#include "cudart_names.h"
#include "api.h"
#include "unsupported.h"

const char *const simrt_call_names[SIMRT_CALLS] = {
@table@};

#define UNSUPPORTED(name)                                                                          \
    SIMRT_API __attribute__((weak)) int name(void);                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return simrt_unsupported(SIMRT_CALL_##name);                                               \
    }

@stubs@]] @ONLY)

file(CONFIGURE OUTPUT ${OUT}/cudart.map CONTENT [[@NODE@ {
global:
@exports@    simcuda_kernel;
local:
    *;
};
]] @ONLY)
