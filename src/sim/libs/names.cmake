# cmake -DNAMES=cublas.txt -DOUT=folder -P names.cmake
#
# Makes from a list of names an index of them (simlib_names.h), their functions (simlib_names.c) and the version script
# (simlib.map). The list's first line has the SONAME, which is the version node as well (NCCL, NVML: none), and the version. A
# line is a name and what the function does:
#
#   ok                  answers success
#   unsupported         answers that it is not supported, and is counted as such
#   create N, plan N    gives a new handle out, by the pointer (to an int) that is its N-th argument
#   destroy             ends the handle that is its first argument
#   stream, getstream   sets, tells the stream of the handle
#   work                launches a kernel on the stream of its first argument, a handle
#   workon N            the same on the stream that is its N-th argument
#   size N W [N W]...   gives 1 MiB out as a number of W bytes: what a workspace should have
#   zero N W [N W]...   gives 0 out
#   version N           gives the version out as an int
#   property            gives the part of the version out that its first argument names, by its second
#   text                returns a text, whatever it is asked about
#   hand                is written by hand
#
# N counts arguments that are passed as integers or pointers.
file(STRINGS ${NAMES} lines)
list(POP_FRONT lines first)
string(REGEX MATCH "^# ([^ ]+) " unused "${first}")
set(node ${CMAKE_MATCH_1})
if(node MATCHES "^lib(nccl|nvidia-ml)")
  set(node "")
endif()

# "uintptr_t a1, uintptr_t a2, ..."
function(parameters out count)
  set(list "")
  foreach(i RANGE 1 ${count})
    list(APPEND list "uintptr_t a${i}")
  endforeach()
  list(JOIN list ", " list)
  set(${out} "${list}" PARENT_SCOPE)
endfunction()

set(index "")
set(table "")
set(functions "")
set(exports "")
foreach(line IN LISTS lines)
  if(line MATCHES "^#")
    continue()
  endif()
  string(REPLACE " " ";" words "${line}")
  list(POP_FRONT words name action)
  string(APPEND index "    SIMLIB_${name},\n")
  string(APPEND table "    \"${name}\",\n")
  string(APPEND exports "    ${name};\n")
  set(call "SIMLIB_${name}")
  set(most 1)
  set(body "")
  set(type "int")
  if(action STREQUAL "hand")
    continue()
  elseif(action MATCHES "^(ok|unsupported)$")
    set(most 0)
    set(body "return simlib_${action}(${call});")
  elseif(action MATCHES "^(create|plan)$")
    set(most ${words})
    set(width "sizeof(void *)")
    if(action STREQUAL "plan")
      set(width "sizeof(int)")
    endif()
    set(body "return simlib_create(${call}, a${most}, ${width});")
  elseif(action STREQUAL "destroy")
    set(body "return simlib_destroy(${call}, a1);")
  elseif(action MATCHES "^(stream|getstream)$")
    set(most 2)
    string(REPLACE "getstream" "get_stream" action "${action}")
    string(REGEX REPLACE "^stream" "set_stream" action "${action}")
    set(body "return simlib_${action}(${call}, a1, a2);")
  elseif(action STREQUAL "work")
    set(body "return simlib_work(${call}, a1);")
  elseif(action STREQUAL "workon")
    set(most ${words})
    set(body "return simlib_work_on(${call}, a${most});")
  elseif(action STREQUAL "version")
    set(most ${words})
    set(body "simlib_write(a${most}, sizeof(int), SIMLIB_VERSION);\n    return simlib_ok(${call});")
  elseif(action STREQUAL "property")
    set(most 2)
    set(body "return simlib_property(${call}, a1, a2);")
  elseif(action STREQUAL "text")
    set(most 0)
    set(type "const char *")
    set(body "return simlib_text(${call});")
  elseif(action MATCHES "^(size|zero)$")
    set(value "0")
    if(action STREQUAL "size")
      set(value "SIMLIB_SIZE")
    endif()
    while(words)
      list(POP_FRONT words at width)
      if(at GREATER most)
        set(most ${at})
      endif()
      string(APPEND body "simlib_write(a${at}, ${width}, ${value});\n    ")
    endwhile()
    string(APPEND body "return simlib_ok(${call});")
  else()
    message(FATAL_ERROR "${NAMES}: ${line}: no such action")
  endif()
  if(most EQUAL 0)
    set(takes "void")
  else()
    parameters(takes ${most})
  endif()
  string(APPEND functions "SIMLIB_API ${type} ${name}(${takes});\n${type} ${name}(${takes})\n{\n    ${body}\n}\n\n")
endforeach()

file(CONFIGURE OUTPUT ${OUT}/simlib_names.h CONTENT [[/* Made from src/sim/names. */
#ifndef SIMLIB_NAMES_H
#define SIMLIB_NAMES_H

enum simlib_call {
@index@    SIMLIB_CALLS
};

extern const char *const simlib_call_names[SIMLIB_CALLS];

#endif
]] @ONLY)

file(CONFIGURE OUTPUT ${OUT}/simlib_names.c CONTENT [[/* Made from src/sim/names. */
#include "library.h"

#define SIMLIB_SIZE ((uint64_t)1 << 20)
#pragma GCC diagnostic ignored "-Wunused-parameter"

const char *const simlib_call_names[SIMLIB_CALLS] = {
@table@};

@functions@]] @ONLY)

file(CONFIGURE OUTPUT ${OUT}/simlib.map CONTENT [[@node@ {
global:
@exports@local:
    *;
};
]] @ONLY)
