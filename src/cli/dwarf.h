/* SPDX-License-Identifier: MIT
 * dwarf.h - the function and the source line of an address in a file, by libdw, and demangled
 * names, by libstdc++. Both are loaded when they are first needed.
 *
 * A file is opened once and stays open until it is closed; one thread. */
#ifndef SC_CLI_DWARF_H
#define SC_CLI_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sc_dwarf sc_dwarf;

/* What became of an attempt to open one. */
typedef enum sc_dwarf_answer {
    SC_DWARF_OPEN,
    SC_DWARF_NO_FILE,  /* none there, or none that can be read */
    SC_DWARF_OTHER,    /* its build-id is another */
    SC_DWARF_NO_READER /* there is no libdw; said on stderr, once */
} sc_dwarf_answer;

/* `build_id`: hexadecimal. *file is to be closed when the answer is SC_DWARF_OPEN. */
sc_dwarf_answer sc_dwarf_open(const char *path, const char *build_id, sc_dwarf **file);
void sc_dwarf_close(sc_dwarf *file);

/* CUDA's header of templates around cudaMalloc and its like. */
#define SC_DWARF_WRAPPERS "cuda_runtime.h"

/* "function file.c:12", "function" or "file.c:12" of the instruction that ends before `address`, an
 * address as the file counts: a return address belongs to the call before it. *has_line: a line is
 * told. False: nothing is known there. */
bool sc_dwarf_place(sc_dwarf *file, uint64_t address, char *out, size_t bytes, bool *has_line);

/* A function's name without its parameters, template arguments and result: "ns::Class::call" of
 * "void ns::Class<int>::call<float>(int) const". What it cannot read stays as it is. */
void sc_dwarf_shorten(const char *name, char *out, size_t bytes);

#endif
