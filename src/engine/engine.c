/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"
#include "engine/arena_call.h"
#include "engine/device.h"
#include "engine/gift.h"
#include "engine/logbook.h"
#include "engine/oom.h"
#include "engine/process.h"
#include "engine/serve.h"
#include "engine/thread.h"
#include "engine/visit.h"
#include "engine/wait.h"
#include <errno.h>
#include <stdlib.h>

void sc_engine_attach(const sc_engine_host *host)
{
    const sc_engine_host *none = NULL;

    (void)atomic_compare_exchange_strong(&sc_process_self.host, &none, host);
}

static _Atomic(void (*)(void)) finder;

void sc_engine_find_by(void (*find)(void))
{
    atomic_store(&finder, find);
}

const sc_engine_host *sc_engine_find(void)
{
    void (*find)(void) = atomic_load(&finder);

    if (!atomic_load(&sc_process_self.host) && find)
        find();
    return atomic_load(&sc_process_self.host);
}

/* The same for what is called from inside, too. */
typedef struct visit {
    int saved_errno;
    bool was_inside;
} visit;

static bool enter_again(visit *one)
{
    *one = (visit){.was_inside = sc_thread_self.is_inside};
    if (sc_thread_self.locks) /* a signal handler, for nothing of ours calls it then */
        return false;
    sc_thread_self.is_inside = false;
    if (sc_visit_enter(&one->saved_errno))
        return true;
    sc_thread_self.is_inside = one->was_inside;
    return false;
}

static void leave_again(visit one)
{
    sc_visit_leave(one.saved_errno);
    sc_thread_self.is_inside = one.was_inside;
}

/* The first allocation outside a capture starts the cache. */
static void start_if_idle(void)
{
    if (!sc_process_may_start() || sc_thread_self.is_inside || sc_process_is_capturing())
        return;
    int saved_errno = errno;

    sc_thread_self.is_inside = true;
    sc_process_start();
    sc_visit_leave(saved_errno);
}

int sc_engine_alloc(sc_address *address, size_t bytes, const void *caller)
{
    sc_thread *thread = &sc_thread_self;
    int saved_errno;

    if (thread->note) {
        caller = thread->note;
        thread->note = NULL;
        thread->is_note_consumed = true;
    }
    if (!address || bytes == 0)
        return sc_process_driver()->mem_alloc(address, bytes);
    start_if_idle();
    if (!sc_visit_enter(&saved_errno))
        return sc_process_driver()->mem_alloc(address, bytes);
    sc_gifts_look(false);
    int result = sc_serve_alloc(address, bytes, caller);

    sc_visit_leave(saved_errno);
    return result;
}

int sc_engine_free(sc_address address)
{
    int saved_errno;

    if (!address || !sc_visit_enter(&saved_errno))
        return sc_process_driver()->mem_free(address);
    sc_gifts_look(true);
    int result = sc_serve_free(address);

    sc_visit_leave(saved_errno);
    return result;
}

bool sc_engine_is_inside(void)
{
    return sc_thread_self.is_inside;
}

void sc_engine_note(const void *caller)
{
    sc_thread_self.note = caller;
    sc_thread_self.is_note_consumed = false;
}

bool sc_engine_note_end(void)
{
    bool was_consumed = sc_thread_self.is_note_consumed;

    sc_thread_self.note = NULL;
    sc_thread_self.is_note_consumed = false;
    return was_consumed;
}

/* Called by hooks, and from inside when the driver answers with an address that is held. */
void sc_engine_bypassed(const char *how)
{
    char bytes[512];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    visit one;

    start_if_idle(); /* memory was allocated, if not through us */
    if (!enter_again(&one))
        return;
    if (!atomic_exchange(&sc_process_self.is_passing, true)) {
        sc_text_string(&text, how);
        sc_text_string(&text,
                       ": something allocates or frees behind the cache, which only observes from "
                       "now on");
        sc_logbook_warn(sc_text_terminate(&text));
    }
    leave_again(one);
}

void sc_engine_out_of_reach(const char *name)
{
    char bytes[512];
    sc_text text = sc_text_over(bytes, sizeof bytes);
    visit one;
    bool is_on = enter_again(&one);

    if (!is_on && !sc_process_would_start())
        return;
    sc_text_string(&text, name);
    sc_text_string(&text, " was opened with RTLD_DEEPBIND and calls the driver past every preload: "
                          "its memory is neither cached nor logged; opened without that flag its "
                          "calls are seen (docs/compatibility.md)");
    sc_logbook_warn(sc_text_terminate(&text));
    if (is_on)
        leave_again(one);
}

void sc_engine_door(sc_door door)
{
    unsigned bit = 1u << door;

    if (!(atomic_load_explicit(&sc_process_self.doors, memory_order_relaxed) & bit))
        atomic_fetch_or(&sc_process_self.doors, bit);
}

void sc_engine_capture_begin(void)
{
    atomic_fetch_add(&sc_process_self.captures, 1);
    sc_wait_before_capture();
}

void sc_engine_capture_end(void)
{
    unsigned open = atomic_load(&sc_process_self.captures);

    /* the end of a capture whose beginning went by another door must not wrap the count */
    while (open && !atomic_compare_exchange_weak(&sc_process_self.captures, &open, open - 1))
        continue;
}

/* Errors after which every call in the context answers the same: what cuda.h calls an inconsistent
 * state that only a new process ends, device asserts, and memory or links that are broken. */
static bool is_sticky(int result)
{
    switch (result) {
    case 214: /* ECC_UNCORRECTABLE */
    case 220: /* NVLINK_UNCORRECTABLE */
    case 226: /* CONTAINED */
    case 700: /* ILLEGAL_ADDRESS */
    case 702: /* LAUNCH_TIMEOUT */
    case 710: /* ASSERT */
    case 714: /* HARDWARE_STACK_ERROR */
    case 715: /* ILLEGAL_INSTRUCTION */
    case 716: /* MISALIGNED_ADDRESS */
    case 717: /* INVALID_ADDRESS_SPACE */
    case 718: /* INVALID_PC */
    case 719: /* LAUNCH_FAILED */
    case 721: /* TENSOR_MEMORY_LEAK */
    case 810: /* MPS_CLIENT_TERMINATED */
    case 911: /* EXTERNAL_DEVICE */
        return true;
    default:
        return false;
    }
}

void sc_engine_result(int result)
{
    visit one;

    if (result == SC_CUDA_SUCCESS || !is_sticky(result) || !enter_again(&one))
        return;
    sc_device_close_all(SC_REASON_STICKY_ERROR);
    if (!sc_process_is_capturing())
        sc_logbook_flush(); /* such programs tend to end soon */
    leave_again(one);
}

void sc_engine_waited(int result, sc_context context)
{
    sc_device *device;
    int saved_errno;

    sc_engine_result(result);
    if (result != SC_CUDA_SUCCESS || !sc_visit_enter(&saved_errno))
        return;
    sc_gifts_look(true);
    device = context ? sc_device_of_context(context) : sc_device_current_known(&context);
    if (device)
        sc_serve_settle(device);
    sc_visit_leave(saved_errno);
}

/* Locks may be held here for good. Where the cache is off nobody knows: arenas are rare there. */
static bool is_child(void)
{
    return sc_process_self.parent_page && !*sc_process_self.parent_page;
}

void sc_engine_context_ends(sc_context context)
{
    int saved_errno = errno;

    if (sc_thread_self.is_inside || is_child())
        return;
    sc_thread_self.is_inside = true; /* arenas there are where the cache is off, too */
    atomic_signal_fence(memory_order_seq_cst);
    sc_arenas_context_ends(context);
    if (sc_process_is_on())
        sc_device_context_ends(context);
    sc_gifts_context_ends(context);
    sc_visit_leave(saved_errno);
}

void sc_engine_exported(sc_address inside)
{
    sc_address base = inside;
    size_t bytes;
    int saved_errno;

    if (!sc_visit_enter(&saved_errno))
        return;
    if (sc_process_driver()->mem_range(&base, &bytes, inside) != SC_CUDA_SUCCESS)
        base = inside;
    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device)) {
        sc_lock(&device->lock);
        sc_cache_export(device->cache, base);
        sc_unlock(&device->lock);
    }
    sc_visit_leave(saved_errno);
}

void sc_engine_frees_elsewhere(sc_address address)
{
    int saved_errno;

    if (!sc_visit_enter(&saved_errno))
        return;
    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device)) {
        sc_lock(&device->lock);
        sc_cache_forget(device->cache, address);
        (void)sc_passed_remove(&device->passed, address);
        sc_unlock(&device->lock);
    }
    sc_visit_leave(saved_errno);
}

void sc_engine_peer_enabled(void)
{
    sc_context context = 0;

    if (sc_thread_self.is_inside)
        return;
    sc_thread_self.is_inside = true;
    (void)sc_process_driver()->context_current(&context);
    if (!sc_device_peer(context)) /* it could not be waited for */
        atomic_store(&sc_process_self.is_passing, true);
    atomic_store_explicit(&sc_process_self.is_peered, true, memory_order_release);
    sc_thread_self.is_inside = false;
}

bool sc_engine_make_room(void)
{
    int saved_errno;

    if (!sc_visit_enter(&saved_errno))
        return false;
    bool has_room = sc_serve_make_room();

    sc_visit_leave(saved_errno);
    return has_room;
}

void sc_engine_granted(void)
{
    sc_context context;
    int saved_errno;

    if (!atomic_load_explicit(&sc_process_self.has_others, memory_order_relaxed))
        atomic_store_explicit(&sc_process_self.has_others, true, memory_order_relaxed);
    /* a capture only notes what will be wanted */
    if (!sc_oom_is_held() || sc_process_is_capturing() || !sc_visit_enter(&saved_errno))
        return;
    sc_device *device = sc_device_current_known(&context);

    if (device)
        sc_oom_recovered(device);
    sc_visit_leave(saved_errno);
}

void sc_engine_load(void)
{
    sc_logbook_load();
}
