# cmake -DNAMES=cudart.txt -DNODE=libcudart.so.13 -DOUT=folder -P names.cmake
#
# Makes from the list of names that the real library exports: an index for each name (cudart_names.h), the table of
# names with a weak "not supported" function for each (cudart_names.c), which a modelled function of the same name
# replaces in the link, and the version script that gives every export the real one's version node (cudart.map).
file(STRINGS ${NAMES} names REGEX "^[A-Za-z_]")

set(index "")
set(table "")
set(stubs "")
set(exports "")
foreach(name IN LISTS names)
  string(APPEND index "    SIMRT_CALL_${name},\n")
  string(APPEND table "    \"${name}\",\n")
  string(APPEND stubs "UNSUPPORTED(${name})\n")
  string(APPEND exports "    ${name};\n")
endforeach()

file(CONFIGURE OUTPUT ${OUT}/cudart_names.h CONTENT [[/* Made from src/sim/names/cudart.txt. */
#ifndef SIMRT_CUDART_NAMES_H
#define SIMRT_CUDART_NAMES_H

enum simrt_call {
@index@    SIMRT_CALLS
};

extern const char *const simrt_call_names[SIMRT_CALLS];

#endif
]] @ONLY)

# Without CUDA's headers: the stubs take and read no argument, whatever the caller passes.
file(CONFIGURE OUTPUT ${OUT}/cudart_names.c CONTENT [[/* Made from src/sim/names/cudart.txt. */
#include "cudart_names.h"
#include "unsupported.h"

const char *const simrt_call_names[SIMRT_CALLS] = {
@table@};

#define UNSUPPORTED(name)                                                                          \
    __attribute__((weak, visibility("default"))) int name(void);                                   \
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
