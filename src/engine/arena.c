/* SPDX-License-Identifier: MIT
 * The arena functions of shapecache/arena.h: the process around src/arena. */
#include "arena/say.h"
#include "engine/arena_call.h"
#include "engine/arena_log.h"
#include "engine/engine.h"
#include "engine/gift.h"
#include "engine/logbook.h"
#include "engine/process.h"
#include "engine/spared.h"
#include "engine/thread.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { BUS_BYTES = 32 };

EXPORT void shapecache_arena_defaults(shapecache_arena_config *config)
{
    *config = (shapecache_arena_config){
        .size = sizeof *config,
        .name = "arena",
        .prefetch_most = UINT64_C(1) << 30,
        .given_most = UINT64_MAX,
        .chunk = UINT64_C(64) << 20,
    };
}

static shapecache_status refuse_to_make(shapecache_status status, const char *sentence)
{
    sc_arena_set_last(sentence);
    return status;
}

/* The NUMA node that is near the device. */
static int64_t near(const sc_engine_host *host, int device)
{
    char bus[BUS_BYTES];

    return host->copies->device_bus(bus, sizeof bus, device) == SC_CUDA_SUCCESS
               ? sc_pinned_node("/sys", bus)
               : -1;
}

/* Marked as inside, by a thread with a current context. */
static shapecache_status make(shapecache_arena **out, const shapecache_arena_config *config,
                              const char *setting, const sc_engine_host *host)
{
    shapecache_arena *made = calloc(1, sizeof *made);
    shapecache_status status;

    if (!made)
        return refuse_to_make(SHAPECACHE_EMEMORY, "out of host memory");
    made->pid = getpid();
    if (host->driver->context_current(&made->context) != SC_CUDA_SUCCESS || !made->context ||
        host->driver->context_device(&made->device) != SC_CUDA_SUCCESS) {
        free(made);
        return refuse_to_make(SHAPECACHE_EDEVICE,
                              "an arena needs a device: no CUDA context is current in this thread");
    }
    status = sc_arena_init(&made->core, config, setting, host->driver, host->copies, made->context,
                           near(host, made->device));
    if (status) {
        sc_arena_set_last(made->core.error);
        if (status == SHAPECACHE_EPINNED)
            sc_logbook_warn(made->core.error);
        free(made);
        return status;
    }
    made->core.watcher = sc_spared_watcher(made);
    *out = made;
    return SHAPECACHE_OK;
}

static void tell(const shapecache_arena *arena, const char *what)
{
    shapecache_arena_info info;

    if (!sc_process_is_on())
        return;
    sc_arena_read(arena, &info);
    sc_arena_record(arena->core.name, arena->device, what, &info);
}

static shapecache_status create(shapecache_arena **arena, const shapecache_arena_config *config,
                                const char *setting, bool is_process)
{
    const sc_engine_host *host = sc_engine_find();
    int saved_errno = errno;
    shapecache_status status;

    if (!host || !host->copies)
        return refuse_to_make(
            SHAPECACHE_EDEVICE,
            "an arena needs a device: this process has not used a CUDA driver yet");
    if (sc_thread_self.is_inside || sc_thread_self.locks)
        return SHAPECACHE_EOFF;
    if (sc_process_is_capturing())
        return refuse_to_make(SHAPECACHE_ECAPTURE, "a stream capture is open in this process");
    sc_thread_self.is_inside = true;
    sc_process_start(); /* the log begins with the first allocation, or with the first arena */
    status = make(arena, config, setting, host);
    if (!status) {
        (*arena)->is_process = is_process;
        sc_arenas_add(*arena);
        tell(*arena, "start");
    }
    sc_thread_self.is_inside = false;
    errno = saved_errno;
    return status;
}

EXPORT shapecache_status shapecache_arena_create(shapecache_arena **arena,
                                                 const shapecache_arena_config *config)
{
    const char *wrong = "no config, or nowhere to put the arena";

    if (arena && config)
        wrong = sc_arena_look(config);
    if (wrong)
        return refuse_to_make(SHAPECACHE_EVALUE, wrong);
    return create(arena, config, "the arena's capacity", false);
}

static shapecache_status create_of_process(shapecache_arena **arena)
{
    static const shapecache_arena_full fulls[] = {
        SHAPECACHE_ARENA_FULL_FAIL, SHAPECACHE_ARENA_FULL_KEEP, SHAPECACHE_ARENA_FULL_PAGEABLE};
    shapecache_arena_config config;

    if (sc_thread_self.is_inside || sc_thread_self.locks)
        return SHAPECACHE_EOFF;
    if (sc_engine_find()) { /* the settings are read when the process starts */
        sc_thread_self.is_inside = true;
        sc_process_start(); /* the log begins with the first allocation, or with the first arena */
        sc_thread_self.is_inside = false;
    }
    shapecache_arena_defaults(&config);
    config.name = "process";
    config.capacity = sc_process_self.options.arena;
    config.full = fulls[sc_process_self.options.arena_full];
    const char *wrong = sc_arena_look(&config);

    return wrong ? refuse_to_make(SHAPECACHE_EVALUE, wrong)
                 : create(arena, &config, "SHAPECACHE_ARENA", true);
}

/* Two threads may make one each; the second gives his up. */
EXPORT shapecache_status shapecache_arena_of_process(shapecache_arena **arena)
{
    static _Atomic(shapecache_arena *) of_process;
    shapecache_arena *found = atomic_load(&of_process), *none = NULL, *made;

    if (!arena)
        return SHAPECACHE_EVALUE;
    if (!found) {
        shapecache_status status = create_of_process(&made);

        if (status)
            return status;
        if (atomic_compare_exchange_strong(&of_process, &none, made)) {
            found = made;
        } else {
            made->is_process = false;
            (void)shapecache_arena_destroy(made);
            found = none;
        }
    }
    *arena = found;
    return SHAPECACHE_OK;
}

/* An arena whose context has ended has nothing that the driver still knows. */
static void release(shapecache_arena *arena)
{
    if (atomic_load(&arena->is_orphan))
        sc_arena_abandon(&arena->core);
    else
        sc_arena_release(&arena->core);
}

EXPORT shapecache_status shapecache_arena_destroy(shapecache_arena *arena)
{
    sc_arena_call call;

    if (!arena)
        return SHAPECACHE_OK;
    if (arena->is_process)
        return SHAPECACHE_EVALUE;
    shapecache_status status = sc_arena_begin(
        &call, arena,
        atomic_load(&arena->is_orphan) ? SC_ARENA_NEEDS_NOTHING : SC_ARENA_NEEDS_DRIVER);

    if (status)
        return status;
    tell(arena, "end");
    sc_arenas_remove(arena);
    release(arena);
    sc_gifts_look(true);
    status = sc_arena_end(&call, SHAPECACHE_OK);
    free(arena);
    return status;
}

static sc_address address(const void *data)
{
    return (sc_address)(uintptr_t)data;
}

typedef shapecache_status offload_type(shapecache_arena *arena, sc_address data, size_t bytes,
                                       uint64_t tag, sc_stream stream, shapecache_ticket *ticket);

/* What both ways to offload have around them. */
static shapecache_status offload_by(offload_type *offload, shapecache_arena *arena,
                                    const void *data, size_t bytes, uint64_t tag, void *stream,
                                    shapecache_ticket *ticket)
{
    sc_arena_call call;

    if (!ticket)
        return SHAPECACHE_EVALUE;
    shapecache_status status = sc_arena_begin(&call, arena, SC_ARENA_NEEDS_DRIVER);

    if (status)
        return status;
    sc_gifts_look(true);
    status = offload(arena, address(data), bytes, tag, (sc_stream)stream, ticket);
    return sc_arena_end(&call, status);
}

static shapecache_status offload_copy(shapecache_arena *arena, sc_address data, size_t bytes,
                                      uint64_t tag, sc_stream stream, shapecache_ticket *ticket)
{
    return sc_arena_offload(&arena->core, data, bytes, tag, stream, 0, ticket);
}

EXPORT shapecache_status shapecache_arena_offload(shapecache_arena *arena, const void *data,
                                                  size_t bytes, uint64_t tag, void *stream,
                                                  shapecache_ticket *ticket)
{
    return offload_by(offload_copy, arena, data, bytes, tag, stream, ticket);
}

static shapecache_status refuse_gift(shapecache_arena *arena, int status)
{
    switch (status) {
    case SHAPECACHE_EPOINTER:
        (void)sc_arena_say_value(&arena->core,
                                 "offload_free of an address where no allocation of cudaMalloc or "
                                 "cuMemAlloc starts, or that was freed or given before");
        break;
    case SHAPECACHE_EMEMORY:
        (void)sc_arena_say_memory(&arena->core);
        break;
    default:
        arena->core.copies.refused = "cuEventCreate";
        (void)sc_arena_say_driver(&arena->core, SC_CUDA_OUT_OF_MEMORY);
    }
    return (shapecache_status)status;
}

static shapecache_status offload_free(shapecache_arena *arena, sc_address data, size_t bytes,
                                      uint64_t tag, sc_stream stream, shapecache_ticket *ticket)
{
    sc_gift *gift;
    int prepared = sc_gift_prepare(&gift, sc_engine_find()->copies, data, bytes, arena->context);

    if (prepared)
        return refuse_gift(arena, prepared);
    arena->waits += sc_gifts_wait(arena->core.config.given_most, &arena->wait_ns);
    shapecache_status status =
        sc_arena_offload(&arena->core, data, bytes, tag, stream, sc_gift_event(gift), ticket);

    if (status || ticket->place == SHAPECACHE_ARENA_DEVICE) {
        sc_gift_cancel(gift);
        return status;
    }
    arena->given++;
    sc_gift_accept(gift);
    return SHAPECACHE_OK;
}

EXPORT shapecache_status shapecache_arena_offload_free(shapecache_arena *arena, void *data,
                                                       size_t bytes, uint64_t tag, void *stream,
                                                       shapecache_ticket *ticket)
{
    return offload_by(offload_free, arena, data, bytes, tag, stream, ticket);
}

/* A record when the stack is empty for the 2^k-th time. */
static void tell_pass(const shapecache_arena *arena, uint64_t before)
{
    uint64_t passes = arena->core.stack.passes;

    if (passes != before && (passes & (passes - 1)) == 0)
        tell(arena, "pass");
}

EXPORT shapecache_status shapecache_arena_onload(shapecache_arena *arena, shapecache_ticket ticket,
                                                 void *data, size_t bytes, uint64_t tag,
                                                 void *stream)
{
    sc_arena_call call;
    shapecache_status status = sc_arena_begin(&call, arena, SC_ARENA_NEEDS_DRIVER);

    if (status)
        return status;
    uint64_t passes = arena->core.stack.passes;

    sc_gifts_look(true);
    status = sc_arena_onload(&arena->core, ticket, address(data), bytes, tag, (sc_stream)stream);
    tell_pass(arena, passes);
    return sc_arena_end(&call, status);
}

EXPORT shapecache_status shapecache_arena_prefetch(shapecache_arena *arena,
                                                   shapecache_ticket ticket, void *data,
                                                   size_t bytes, void *stream, unsigned *started)
{
    unsigned unwanted;
    sc_arena_call call;
    shapecache_status status = sc_arena_begin(&call, arena, SC_ARENA_NEEDS_DRIVER);

    if (status)
        return status;
    status = sc_arena_prefetch(&arena->core, ticket, address(data), bytes, (sc_stream)stream,
                               started ? started : &unwanted);
    return sc_arena_end(&call, status);
}

EXPORT shapecache_status shapecache_arena_peek(shapecache_arena *arena, uint32_t depth,
                                               shapecache_ticket *ticket)
{
    sc_arena_call call;

    if (!ticket)
        return SHAPECACHE_EVALUE;
    shapecache_status status = sc_arena_begin(&call, arena, SC_ARENA_NEEDS_NOTHING);

    return status ? status : sc_arena_end(&call, sc_arena_peek(&arena->core, depth, ticket));
}

EXPORT shapecache_status shapecache_arena_fence(shapecache_arena *arena, shapecache_ticket ticket,
                                                void *stream)
{
    sc_arena_call call;
    shapecache_status status = sc_arena_begin(&call, arena, SC_ARENA_NEEDS_DRIVER);

    if (status)
        return status;
    return sc_arena_end(&call, sc_arena_fence(&arena->core, ticket, (sc_stream)stream));
}

EXPORT shapecache_status shapecache_arena_mark(shapecache_arena *arena,
                                               shapecache_arena_moment *moment)
{
    sc_arena_call call;

    if (!moment)
        return SHAPECACHE_EVALUE;
    shapecache_status status = sc_arena_begin(&call, arena, SC_ARENA_NEEDS_NOTHING);

    if (status)
        return status;
    sc_arena_mark(&arena->core, moment);
    return sc_arena_end(&call, SHAPECACHE_OK);
}

EXPORT shapecache_status shapecache_arena_rewind(shapecache_arena *arena,
                                                 shapecache_arena_moment moment, void *stream)
{
    sc_arena_call call;
    shapecache_status status = sc_arena_begin(&call, arena, SC_ARENA_NEEDS_DRIVER);

    if (status)
        return status;
    uint64_t passes = arena->core.stack.passes;

    status = sc_arena_rewind(&arena->core, moment, (sc_stream)stream);
    tell_pass(arena, passes);
    return sc_arena_end(&call, status);
}

EXPORT shapecache_status shapecache_arena_ignore(shapecache_arena *arena, const void *data)
{
    sc_arena_call call;
    shapecache_status status = sc_arena_begin(&call, arena, SC_ARENA_NEEDS_NOTHING);

    return status ? status : sc_arena_end(&call, sc_arena_ignore(&arena->core, address(data)));
}

EXPORT shapecache_status shapecache_arena_heed(shapecache_arena *arena, const void *data)
{
    sc_arena_call call;
    shapecache_status status = sc_arena_begin(&call, arena, SC_ARENA_NEEDS_NOTHING);

    if (status)
        return status;
    sc_arena_heed(&arena->core, address(data));
    return sc_arena_end(&call, SHAPECACHE_OK);
}

EXPORT shapecache_status shapecache_arena_forget(shapecache_arena *arena, shapecache_ticket ticket)
{
    sc_arena_call call;
    shapecache_status status = sc_arena_begin(&call, arena, SC_ARENA_NEEDS_NOTHING);

    return status ? status : sc_arena_end(&call, sc_arena_forget(&arena->core, ticket));
}

EXPORT shapecache_status shapecache_arena_stats(shapecache_arena *arena,
                                                shapecache_arena_info *info)
{
    sc_arena_call call;

    if (!info)
        return SHAPECACHE_EVALUE;
    shapecache_status status = sc_arena_begin(&call, arena, SC_ARENA_NEEDS_NOTHING);

    if (status)
        return status;
    if (!sc_process_is_capturing())
        sc_gifts_look(true);
    sc_arena_read(arena, info);
    return sc_arena_end(&call, SHAPECACHE_OK);
}

EXPORT shapecache_status shapecache_arena_report(shapecache_arena *arena)
{
    sc_arena_call call;
    shapecache_status status = sc_arena_begin(&call, arena, SC_ARENA_NEEDS_NOTHING);

    if (status)
        return status;
    tell(arena, "report");
    return sc_arena_end(&call, SHAPECACHE_OK);
}

EXPORT void shapecache_arena_error(shapecache_arena *arena, char *out, size_t bytes)
{
    if (!out || !bytes)
        return;
    if (!arena) {
        sc_arena_get_last(out, bytes);
        return;
    }
    sc_arena_get_error(arena, out, bytes);
}
