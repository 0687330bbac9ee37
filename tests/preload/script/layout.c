/* SPDX-License-Identifier: MIT
 * layout.c - prints the row of hooks/script_layout.def for the CPython whose headers it is compiled
 * with:
 *
 *     cc -w -I$INCLUDE -I$INCLUDE/internal layout.c && ./a.out */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#else
#include <frameobject.h>
#endif

#if PY_VERSION_HEX >= 0x030d0000
#define CFRAME   (size_t)0
#define CURRENT  offsetof(PyThreadState, current_frame)
#define FRAME(f) offsetof(_PyInterpreterFrame, f)
#define CODE     FRAME(f_executable)
#define PREVIOUS FRAME(previous)
#define AT       FRAME(instr_ptr)
#elif PY_VERSION_HEX >= 0x030b0000
#define CFRAME   offsetof(PyThreadState, cframe)
#define CURRENT  offsetof(_PyCFrame, current_frame)
#define FRAME(f) offsetof(_PyInterpreterFrame, f)
#define CODE     FRAME(f_code)
#define PREVIOUS FRAME(previous)
#define AT       FRAME(prev_instr)
#else
#define CFRAME   (size_t)0
#define CURRENT  offsetof(PyThreadState, frame)
#define FRAME(f) offsetof(PyFrameObject, f)
#define CODE     FRAME(f_code)
#define PREVIOUS FRAME(f_back)
#define AT       FRAME(f_lasti)
#endif

#if PY_VERSION_HEX >= 0x030b0000
#define BYTES offsetof(PyCodeObject, co_code_adaptive)
#else
#define BYTES (size_t)0
#endif

int main(void)
{
    printf("PYTHON(%d, %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu)\n", PY_MINOR_VERSION,
           CFRAME, CURRENT, CODE, PREVIOUS, AT, offsetof(PyCodeObject, co_filename),
           offsetof(PyCodeObject, co_firstlineno), offsetof(PyCodeObject, co_linetable), BYTES,
           sizeof(PyASCIIObject), sizeof(PyCompactUnicodeObject) - sizeof(PyASCIIObject));
    return 0;
}
