/* SPDX-License-Identifier: MIT
 * engine.h - the one place where requests, the cache, the driver and the log meet; all that hooks/
 * knows.
 *
 * State: one per process (settings, log, call sites), one per device (a cache and its lock), one
 * per thread (the caller's note, a re-entry flag). Everything starts at the first allocation: a
 * process that never allocates GPU memory gets no file, no thread, no output. There is no thread of
 * ours, but for the one that an arena is asked to page-lock with (arena/pinned.h).
 *
 * Locks: one per device, held for table work only, never across a driver call, a write or a wait.
 * The log's lock is taken before a device's (to collect its pending lines in order), never after.
 *
 * Fail open: whatever goes wrong in here, the driver's call is made and its answer returned.
 *
 * Fork: a page that the kernel wipes in a child tells it apart; every entry looks at it before any
 * lock, and a child passes everything through, writes nothing, and says nothing at its end. */
#ifndef SC_ENGINE_ENGINE_H
#define SC_ENGINE_ENGINE_H

#include "base/driver.h"
#include "base/hint.h"
#include "cache/gate.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sc_allocator;
struct shapecache_memory_info;
struct shapecache_scope_info;

/* Ways a program reached the driver, for the log. */
typedef enum sc_door {
    SC_DOOR_ELF,
    SC_DOOR_DLSYM,
    SC_DOOR_RESOLVER,
    SC_DOOR_RUNTIME,
    SC_DOOR_COUNT
} sc_door;

/* What the engine needs of its surroundings. All pointers stay valid for the process's life. */
typedef struct sc_engine_host {
    const sc_driver *driver;
    const sc_copy_driver *copies; /* NULL: arenas cannot be had */
    /* Text "object+0xoffset" of a code address; false: unknown. May allocate; called without locks.
     */
    bool (*site_text)(const void *address, char *out, size_t bytes);
    /* The file of the object that an address lies in, and its build-id in hexadecimal, "" where it
     * has none; false: unknown. Called without locks. NULL: nobody can tell. */
    bool (*site_object)(const void *address, char *path, size_t path_bytes, char *build_id,
                        size_t id_bytes);
    /* Return addresses from here outwards. How many; 0: nobody can tell. Called without locks. */
    size_t (*stack)(const void **frames, size_t most);
    /* Where an interpreter in this process stands in this thread's script: "file:line", with its
     * callers "outermost > ... > innermost", at most `depth` places; false: nowhere. Without `out`:
     * whether there is an interpreter at all. Takes no lock of the interpreter's. NULL: cannot. */
    bool (*script)(char *out, size_t bytes, unsigned depth);
} sc_engine_host;

/* When the library is loaded, before the program can close or open anything. */
void sc_engine_load(void);

/* How to look for a driver that is in the process although nobody has called it through us yet (we
 * were loaded after it, or nothing was allocated): `find` attaches one where there is one. */
void sc_engine_find_by(void (*find)(void));
/* NULL: there is none. */
const sc_engine_host *sc_engine_find(void);

/* Idempotent and thread-safe; the first caller's table counts. Reads nothing and starts nothing. */
void sc_engine_attach(const sc_engine_host *host);

/* The two calls the cache serves: CUresult out. `caller` is the return address of the hook, used
 * when no note was left. Safe before attach is complete only in the sense that hooks must not call
 * them then. */
int sc_engine_alloc(sc_address *address, size_t bytes, const void *caller);
int sc_engine_free(sc_address address);

/* True while this thread is inside the engine: a hook that is entered then makes the real call. */
bool sc_engine_is_inside(void);

/* The runtime layer's note: the next driver allocation of this thread comes from `caller`. */
void sc_engine_note(const void *caller);
/* Takes the note back; true when a driver allocation had consumed it. */
bool sc_engine_note_end(void);
/* A door that bypasses us is proven: one warning in the log and on stderr, and from then on only
 * observe. */
void sc_engine_bypassed(const char *how);
void sc_engine_door(sc_door door);
/* The object `name` calls the driver where no hook can be. At the end of the process, once: a
 * warning on stderr, and in the log where there is one. Silent where the cache is switched off. */
void sc_engine_out_of_reach(const char *name);

/* Captures: while any is open in the process, everything passes through. */
void sc_engine_capture_begin(void);
void sc_engine_capture_end(void);

/* Results of calls that wait for the device: a sticky error switches the cache off. */
void sc_engine_result(int result);
/* The same of a call that waited for everything in `context` (0: the current one): what is due goes
 * back now. Waits for one stream or event are no such place: a real free would wait for more than
 * they did. */
void sc_engine_waited(int result, sc_context context);

/* Call before the driver's own call: forget what dies with the context. */
void sc_engine_context_ends(sc_context context);
/* Before, too: cuMemFreeAsync of what may be one of our blocks. From the driver's call on its
 * address may be another thread's. A block whose free then fails is no longer ours. */
void sc_engine_frees_elsewhere(sc_address address);
/* Call after it succeeded. */
void sc_engine_exported(
    sc_address inside); /* IPC, dma-buf, tokens: really freed when its time comes */
/* The current context reaches others' memory: parked frees wait for it, and for every other. */
void sc_engine_peer_enabled(void);

/* Another allocator's call just answered out of memory: gives back everything idle on the current
 * device; true when something was, and one retry makes sense. */
bool sc_engine_make_room(void);
/* Another allocator's call has succeeded. Two loads, unless memory had run out. */
void sc_engine_granted(void);

/* What the program says and asks, see shapecache.h. Device -1 is the current one. But for the
 * phase, each returns a shapecache_status. */
int sc_engine_step(int device);
int sc_engine_hint(sc_address address, const sc_hint *hint);
int sc_engine_mark(const char *name);
int sc_engine_trim(int device);
int sc_engine_allocator(int device, bool at_end, const struct sc_allocator *allocator);
int sc_engine_memory(int device, struct shapecache_memory_info *info);
int sc_engine_scope_begin(const char *name, unsigned flags);
int sc_engine_scope_end(struct shapecache_scope_info *info);
sc_phase sc_engine_phase(int device);

/* At the end of the process: last rows, totals, the summary on stderr. Frees nothing. Once. */
void sc_engine_finish(void);

#endif
