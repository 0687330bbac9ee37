/* SPDX-License-Identifier: MIT
 * site.h - call sites: a number and a text for each code address that asked for memory.
 *
 * A table of fixed size with open addressing, filled by compare-and-swap and never emptied, so that
 * a served request finds its number without a lock and without memory. (A uthash table would need a
 * lock beside the device's.) The number is the slot; a chain of callers is found by a hash, marked
 * as no address can be. The text is asked for once, at first sight, without locks. An address that
 * finds no slot has number 0: unknown. */
#ifndef SC_ENGINE_SITE_H
#define SC_ENGINE_SITE_H

#include <stdbool.h>
#include <stdint.h>

enum { SC_SITE_DEPTH_MOST = 16, SC_SITE_TEXT_BYTES = 512 };

/* The file that the code of a place is from, as those who look for its source line need it. */
typedef struct sc_site_object {
    const char *path, *build_id; /* build_id: hexadecimal, "" where there is none */
} sc_site_object;

/* 0: unknown. At the first sight of an address this may allocate; call it without locks. */
uint32_t sc_site_number(const void *caller);

/* The place `caller` with its callers outside CUDA and ourselves, at most `depth` places in all: a
 * number for each such chain. Unwinds the stack, so it is for requests of which little is known.
 * Where that is not possible, the number of the caller alone; said once. Without locks. */
uint32_t sc_site_of_stack(const void *caller, unsigned depth);

/* The number of a place that is known by its text alone; 0: no room. Without locks. */
uint32_t sc_site_named(const char *text);

/* The place lies in the allocator of a framework that keeps what it is given: segments, asked for
 * once and never per batch. By the object's name: PyTorch's libc10_cuda. */
bool sc_site_is_hoarder(uint32_t number);

/* "object+0xoffset", of a chain "outermost > ... > innermost"; or NULL. */
const char *sc_site_text(uint32_t number);

/* NULL: unknown, or a place that is no single address. */
const sc_site_object *sc_site_object_of(uint32_t number);
/* The numbers of the places that a chain is made of, 0 behind the last; NULL: it is no chain. */
const uint32_t *sc_site_chain(uint32_t number);

/* True once per site: its record has not been written yet. The second takes that back. */
bool sc_site_is_first_mention(uint32_t number);
void sc_site_forget_mention(uint32_t number);

#endif
