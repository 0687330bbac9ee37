/* SPDX-License-Identifier: MIT
 * objects.h - which loaded object an address belongs to.
 *
 * Reads the loader's list each time: a few comparisons an object, no symbol table (dladdr scans
 * one, which takes 0.6 ms for the large libraries of a framework), no state that a dlclose could
 * make stale. Nothing allocates; the loader's list lock is held by the loader for the walk
 * alone. */
#ifndef SC_HOOKS_OBJECTS_H
#define SC_HOOKS_OBJECTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sc_object {
    uintptr_t base;      /* what the loader added to the addresses in the file */
    char path[PATH_MAX]; /* as the loader knows it; "" is the program itself */
} sc_object;

const char *sc_object_file_name(const char *path);

/* Is the file name `stem`, or does it begin with it and go on with '.' or '-': libcudart,
 * libcudart.so.13 and the libcudart-1a2b3c.so.12 that some wheels carry. */
bool sc_object_is_like(const char *path, const char *stem);

bool sc_object_of(const void *address, sc_object *object);

/* Do both lie in one object? Takes next to no stack. */
bool sc_object_has_both(const void *one, const void *other);

/* The first whose file name is like `stem`. */
bool sc_object_named(const char *stem, sc_object *object);

/* The first of the libraries that `object` itself names as needed whose name is like that, as
 * `name`; false: none is. */
bool sc_object_needs(const sc_object *object, const char *stem, char *name, size_t bytes);

/* "object+0xoffset" for the log. The offset is a return address as the file counts. */
bool sc_object_text(const void *address, char *out, size_t bytes);

/* The file of the object that an address lies in, and its build-id in hexadecimal, "" where the
 * loaded notes have none. */
bool sc_object_file(const void *address, char *path, size_t path_bytes, char *build_id,
                    size_t id_bytes);

/* A handle for dlsym; NULL: it is gone, or the program itself. To be closed by the caller ... */
void *sc_object_open(const sc_object *object);

/* ... or, with this one, never unloaded any more, whatever the program closes: pointers into it
 * stay good. */
void *sc_object_pin(const sc_object *object);

#endif
