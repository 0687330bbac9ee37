/* SPDX-License-Identifier: MIT
 * room.h - an engine on the fake driver, in a folder of its own, for one test in a process of its
 * own.
 *
 * Steps end by sc_engine_step(), the set is fixed after one quiet step, the log is "log" and stderr
 * is "stderr" in the folder; options set in the environment before room_open() win. */
#ifndef SC_TESTS_ROOM_H
#define SC_TESTS_ROOM_H

#include "engine/engine.h"
#include "support/fake_driver.h"
#include "support/lines.h"

#define KIB       (UINT64_C(1) << 10)
#define MIB       (UINT64_C(1) << 20)
#define ROOM_CUDA UINT64_C(0xc0da0000)
/* Addresses from here on are of PyTorch's allocator. */
#define ROOM_HOARDER UINT64_C(0xc10c0000)

void room_open(uint64_t memory);
void room_enter(void); /* the same, with 1 GiB */
void room_close(void); /* removes the folder */

/* Allocate or fail the test; the caller is `site`. */
sc_address room_alloc_from(uint64_t bytes, const void *site);
sc_address room_alloc(uint64_t bytes);
void room_free(sc_address address);

/* One batch: allocates `count` sizes, frees them in reverse, ends the step. */
void room_batch(const uint64_t *sizes, unsigned count);
/* Batches until they are served. */
void room_fix(const uint64_t *sizes, unsigned count);

/* What the stack looks like from now on, innermost first; none at first, as without libunwind. It
 * must stay. Addresses from ROOM_CUDA on are of libcudart. */
void room_stack(const void *const *frames, size_t count);
unsigned room_unwound(void); /* how often it was asked for */

/* An interpreter, from before the first allocation on, and where its script stands; NULL: this
 * thread runs none. It must stay. */
void room_script(const char *text);
unsigned room_looked(void); /* how often it was asked for */

lines room_log(void);
char *room_stderr(void); /* free() it */
bool room_has_file(const char *name);

#endif
