/* SPDX-License-Identifier: MIT */
#include "engine/serve.h"
#include "base/clock.h"
#include "engine/asker.h"
#include "engine/gift.h"
#include "engine/logbook.h"
#include "engine/process.h"
#include "engine/release.h"
#include "engine/site.h"
#include "engine/thread.h"
#include "engine/wait.h"

enum { SAMPLE = 64 }; /* one hit in so many is timed */
enum { SECOND = 1000000000 };

/* Must go to the driver whatever the phase. */
static bool is_passing(void)
{
    return sc_process_is_capturing() ||
           atomic_load_explicit(&sc_process_self.is_passing, memory_order_relaxed);
}

/* One request on its way. */
typedef struct asking {
    sc_device *device;
    sc_request asked;
    const void *caller;
    sc_buffer *buffer; /* NULL: the cache has no record of it */
    sc_address address;
    uint64_t ns;
    unsigned returned; /* the device's count before the driver was asked */
    bool is_passed;    /* of an allocator that keeps a cache of its own */
    bool wants_flush;  /* else records will be lost: this path is slow anyway */
} asking;

static int ask_driver(asking *request)
{
    uint64_t began = sc_clock_ns();
    int result = sc_process_driver()->mem_alloc(&request->address, request->asked.bytes);

    request->ns += sc_clock_ns() - began;
    return result;
}

/* The driver ran out of memory: everything idle goes back. True: something did, or other threads
 * have given something back since `returned` was read. A capture forbids the frees. */
static bool give_all_back(sc_device *device, uint64_t bytes, unsigned returned)
{
    sc_lock(&device->lock);
    bool has_idle = sc_cache_out_of_memory(device->cache, bytes);
    bool has_others = device->returning > 0 || device->returned != returned;

    sc_unlock(&device->lock);
    if (sc_process_is_capturing())
        return false;
    if (sc_gifts_await()) /* what is copied away would be free in a moment */
        has_idle = has_others = true;
    uint64_t released = has_idle ? sc_release(device, SC_TAKE_ALL, true) : 0;

    sc_release_await(device);
    return has_others || released > 0;
}

/* One retry; else the driver's answer stands. */
static int retry_after_trim(asking *request, int result)
{
    sc_device *device = request->device;
    sc_oom oom = {.asked = request->asked.bytes, .is_passed = request->is_passed};

    sc_oom_begin(device, &oom);
    oom.is_retried = give_all_back(device, request->asked.bytes, request->returned);
    if (oom.is_retried)
        result = ask_driver(request);
    if (sc_asker_is_named_late())
        request->asked.site = sc_asker_late_name(request->caller);
    oom.site = request->asked.site;
    oom.result = result;
    sc_oom_end(device, &oom);
    return result;
}

/* Tells the cache how the driver's call went. False: it holds the address already. */
static bool record_miss(asking *request, int result)
{
    sc_device *device = request->device;
    bool is_new = true;

    sc_lock(&device->lock);
    sc_cache_tally(device->cache)->driver_ns += request->ns;
    if (result != SC_CUDA_SUCCESS) {
        if (request->buffer)
            sc_cache_failed(device->cache, request->buffer);
    } else {
        uint32_t shape = request->buffer ? sc_buffer_shape(request->buffer) : 0;
        sc_lapse lapse = request->buffer ? sc_buffer_lapse(request->buffer) : SC_LAPSE_NONE;
        sc_allocation row = {.address = request->address,
                             .bytes = request->asked.bytes,
                             .shape = request->buffer ? &shape : NULL,
                             .site = request->asked.site,
                             .outcome = request->buffer && sc_buffer_is_miss(request->buffer)
                                            ? SC_OUTCOME_MISS
                                            : SC_OUTCOME_BYPASSED,
                             .ns = request->ns};

        if (request->buffer)
            is_new =
                sc_cache_allocated(device->cache, request->buffer, request->address, request->ns);
        else
            sc_cache_tally(device->cache)->driver_allocs++;
        if (request->is_passed)
            sc_passed_add(&device->passed, request->address, request->asked.bytes);
        sc_journal_alloc(&device->journal, &row);
        sc_strict_note(&device->journal, shape, request->asked.bytes, request->asked.site, lapse);
    }
    request->wants_flush = sc_journal_is_filling(&device->journal);
    sc_unlock(&device->lock);
    return is_new;
}

static int allocate(asking *request, sc_address *address, bool wants_room)
{
    int result;

    if (wants_room)
        (void)sc_release(request->device, SC_TAKE_ROOM, true);
    result = ask_driver(request);
    bool is_out = result == SC_CUDA_OUT_OF_MEMORY;

    if (is_out)
        result = retry_after_trim(request, result);
    if (!record_miss(request, result))
        sc_engine_bypassed("the driver allocated an address that was never seen freed");
    if (result == SC_CUDA_SUCCESS)
        *address = request->address;
    else
        sc_engine_result(result);
    /* of an out-of-memory the program may well die: now or never */
    if ((is_out || request->wants_flush) && !sc_process_is_capturing())
        sc_logbook_flush();
    return result;
}

/* Under the device's lock. `began`: when the request came, 0 when it is not one of those timed. */
static void record_hit(asking *hit, uint64_t began)
{
    sc_device *device = hit->device;

    if (began) {
        sc_tally *tally = sc_cache_tally(device->cache);

        hit->ns = sc_clock_ns() - began;
        tally->hit_ns += hit->ns;
        tally->sampled++;
    }
    if (sc_logbook_has_events()) {
        uint32_t shape = sc_buffer_shape(hit->buffer);
        sc_allocation row = {.address = sc_buffer_address(hit->buffer),
                             .bytes = hit->asked.bytes,
                             .shape = &shape,
                             .site = hit->asked.site,
                             .outcome = SC_OUTCOME_HIT,
                             .ns = hit->ns};

        sc_journal_alloc(&device->journal, &row);
        hit->wants_flush = sc_journal_is_filling(&device->journal) && !sc_process_is_capturing();
    }
}

/* Past the cache: counted and logged, but no shape, no part of a step and not held by us, so that
 * what its owner gives back is free for every other process. */
static int pass(asking *request, sc_address *address)
{
    sc_device *device = request->device;
    sc_tally *tally = sc_cache_tally(device->cache);

    if (!sc_process_is_capturing())
        sc_asker_say_passing(sc_site_number(request->caller));
    sc_lock(&device->lock);
    tally->requests++;
    tally->bypassed++;
    request->returned = device->returned;
    sc_unlock(&device->lock);
    request->is_passed = true;
    return allocate(request, address, false);
}

int sc_serve_alloc(sc_address *address, size_t bytes, const void *caller)
{
    bool is_timed = sc_thread_self.hits % SAMPLE == 0 || sc_logbook_has_events();
    uint64_t began = is_timed ? sc_clock_ns() : 0;
    asking one = {.asked = {.bytes = bytes, .is_passing = is_passing()}};
    sc_device *device = sc_process_is_capturing() ? sc_device_current_known(&one.asked.context)
                                                  : sc_device_current(&one.asked.context);
    bool wants_room = false;

    if (!device)
        return sc_process_driver()->mem_alloc(address, bytes);
    one.caller = caller;
    uint32_t place = sc_site_number(caller);

    one.asked.site = sc_asker_site(caller, place);
    one.device = device;
    if (sc_asker_passes(place))
        return pass(&one, address);
    sc_lock(&device->lock);
    if (sc_asker_is_named_late() && !sc_cache_knows(device->cache, &one.asked)) {
        sc_unlock(&device->lock);
        one.asked.site = sc_asker_late_name(caller);
        sc_lock(&device->lock);
    }
    sc_answer answer = sc_cache_request(device->cache, one.asked, &one.buffer);

    if (answer == SC_HIT) {
        *address = sc_buffer_address(one.buffer);
        record_hit(&one, began);
        sc_unlock(&device->lock);
        sc_thread_self.hits++;
        if (one.wants_flush) /* at level event only: a row must not be lost */
            sc_logbook_flush();
        return SC_CUDA_SUCCESS;
    }
    one.returned = device->returned;
    if (answer == SC_ALLOCATE && !sc_process_is_capturing())
        wants_room = sc_cache_wants(device->cache, SC_TAKE_ROOM);
    sc_unlock(&device->lock);
    return allocate(&one, address, wants_room);
}

/* The driver's free bytes, for the cache's reserve and the next step row, if the thread is where it
 * can be asked. */
static void ask_driver_free(sc_device *device)
{
    sc_context context;
    size_t free_bytes, total;

    if (sc_device_current_known(&context) != device ||
        sc_process_driver()->mem_info(&free_bytes, &total) != SC_CUDA_SUCCESS)
        return;
    sc_lock(&device->lock);
    sc_cache_driver_free(device->cache, free_bytes);
    device->journal.driver_free = free_bytes;
    sc_unlock(&device->lock);
}

/* Under the device's lock: true once a second, where somebody would use the answer. */
static bool is_worth_asking(sc_device *device, uint64_t now)
{
    if (now < device->asked + SECOND ||
        !(sc_cache_minds_driver_free(device->cache) || sc_journal_wants_flush(&device->journal)))
        return false;
    device->asked = now;
    return true;
}

/* What is due at a place where the program itself would wait. During a capture nothing is. */
typedef struct dues {
    sc_take why;
    bool is_worth_asking, has_idle, wants_flush;
} dues;

/* Under the device's lock. */
static dues look_for_dues(sc_device *device, uint64_t now)
{
    bool is_drained = atomic_load_explicit(&sc_process_self.is_passing, memory_order_relaxed);
    dues due = {.why = is_drained ? SC_TAKE_ALL : SC_TAKE_DUE};

    if (sc_process_is_capturing())
        return due;
    due.is_worth_asking = is_worth_asking(device, now);
    sc_cache_tick(device->cache, now);
    due.has_idle = sc_cache_wants(device->cache, due.why);
    due.wants_flush = sc_journal_wants_flush(&device->journal);
    return due;
}

static void settle(sc_device *device, dues due)
{
    if (due.is_worth_asking) { /* the answer may make more due */
        ask_driver_free(device);
        due.has_idle = true;
    }
    if (due.has_idle)
        (void)sc_release(device, due.why, false);
    if (due.wants_flush)
        sc_logbook_flush();
}

void sc_serve_settle(sc_device *device)
{
    uint64_t now = sc_clock_ns();

    sc_lock(&device->lock);
    dues due = look_for_dues(device, now);

    sc_unlock(&device->lock);
    settle(device, due);
}

/* What a free found out about its address, under the owner's lock. */
typedef struct found {
    sc_device *device; /* NULL: nobody knows it */
    sc_buffer *buffer;
    sc_context context;
    sc_free_answer answer;
} found;

static bool look_for(sc_device *device, sc_address address, bool passes, found *out)
{
    sc_lock(&device->lock);
    out->answer = sc_cache_free(device->cache, address, passes, &out->buffer);
    if (out->answer == SC_FREE_PARK)
        out->context = sc_buffer_context(out->buffer);
    if (out->answer == SC_FREE_RELEASE) /* now: once the driver has it, another thread may get it */
        sc_journal_free(&device->journal, address, SC_OUTCOME_DRIVER, 0);
    sc_unlock(&device->lock);
    if (out->answer == SC_FREE_UNKNOWN)
        return false;
    out->device = device;
    sc_thread_self.last = device;
    return true;
}

/* The block does not say whose it is: this thread's last device first, then the others. */
static found find(sc_address address)
{
    found out = {.answer = SC_FREE_UNKNOWN};
    sc_device *last = sc_thread_self.last;
    bool passes = is_passing();

    if (last && look_for(last, address, passes, &out))
        return out;
    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device))
        if (device != last && look_for(device, address, passes, &out))
            return out;
    return out;
}

/* The driver's free of a block the cache has forgotten. */
static int free_for_real(sc_device *device, sc_address address)
{
    uint64_t began = sc_clock_ns();
    int result = sc_process_driver()->mem_free(address);
    uint64_t took = sc_clock_ns() - began;

    sc_lock(&device->lock);
    sc_cache_tally(device->cache)->driver_ns += took;
    sc_unlock(&device->lock);
    sc_engine_result(result);
    return result;
}

/* A block that passed the cache when it was asked for. */
typedef struct passed_block {
    sc_device *device; /* NULL: it is none */
    uint64_t bytes;
} passed_block;

static passed_block forget_passed(sc_address address)
{
    passed_block block = {NULL, 0};

    for (sc_device *device = sc_device_next(NULL); device && !block.bytes;
         device = sc_device_next(device)) {
        sc_lock(&device->lock);
        block.bytes = sc_passed_remove(&device->passed, address);
        sc_unlock(&device->lock);
        block.device = block.bytes ? device : NULL;
    }
    return block;
}

/* A block that no cache knows; it is booked where it came from, else where this thread was last. */
static int free_unknown(sc_device *device, sc_address address)
{
    /* now: once the driver has it, another thread may be given the address */
    passed_block was_passed = forget_passed(address);
    int result;

    if (was_passed.device)
        device = was_passed.device;
    if (!device)
        return sc_process_driver()->mem_free(address);
    sc_lock(&device->lock);
    sc_journal_free(&device->journal, address, SC_OUTCOME_UNKNOWN, 0);
    sc_unlock(&device->lock);
    result = free_for_real(device, address);
    if (result == SC_CUDA_SUCCESS) {
        sc_lock(&device->lock);
        sc_cache_tally(device->cache)->driver_frees++;
        sc_unlock(&device->lock);
    } else if (was_passed.device) {
        sc_lock(&was_passed.device->lock);
        sc_passed_add(&was_passed.device->passed, address, was_passed.bytes);
        sc_unlock(&was_passed.device->lock);
    }
    return result;
}

/* Waits as the driver's free would have. A wait that fails makes the real free, whose answer is the
 * one the program would have got without us. What is due is looked for while the lock is held
 * anyway: nearly every free of a fixed set ends here. */
static int park(const found *block, sc_address address)
{
    sc_device *device = block->device;
    uint64_t began = sc_clock_ns();
    int waited = sc_wait(sc_process_driver(), block->context,
                         atomic_load_explicit(&sc_process_self.is_peered, memory_order_acquire));
    uint64_t ended = sc_clock_ns();
    bool is_parked = false, is_ours = true;

    sc_lock(&device->lock);
    sc_cache_tally(device->cache)->wait_ns += ended - began;
    if (waited == SC_CUDA_SUCCESS)
        is_parked = sc_cache_park(device->cache, block->buffer, ended);
    else
        is_ours = sc_cache_unpark(device->cache, block->buffer);
    sc_journal_free(&device->journal, address, is_parked ? SC_OUTCOME_PARKED : SC_OUTCOME_DRIVER,
                    ended - began);
    dues due = look_for_dues(device, ended);

    sc_unlock(&device->lock);
    if (is_parked) {
        settle(device, due);
        return waited;
    }
    sc_engine_result(waited);
    /* not ours: it died with its context, and so did the wait */
    int result = is_ours ? free_for_real(device, address) : waited;

    sc_serve_settle(device);
    return result;
}

int sc_serve_free(sc_address address)
{
    found block = find(address);
    int result = SC_CUDA_SUCCESS;

    switch (block.answer) {
    case SC_FREE_PARK:
        return park(&block, address);
    case SC_FREE_UNKNOWN:
        block.device = sc_thread_self.last;
        result = free_unknown(block.device, address);
        break;
    case SC_FREE_RELEASE:
        result = free_for_real(block.device, address);
        break;
    case SC_FREE_TWICE:
        result = SC_CUDA_INVALID_VALUE;
        break;
    }
    if (block.device)
        sc_serve_settle(block.device);
    return result;
}

bool sc_serve_make_room(void)
{
    sc_context context;
    sc_device *device = sc_process_is_capturing() ? NULL : sc_device_current_known(&context);

    if (!device)
        return false;
    sc_lock(&device->lock);
    unsigned returned = device->returned;

    sc_unlock(&device->lock);
    sc_oom oom = {.result = SC_CUDA_OUT_OF_MEMORY};

    sc_oom_begin(device, &oom);
    oom.is_retried = give_all_back(device, 0, returned);
    sc_oom_end(device, &oom);
    sc_logbook_flush();
    return oom.is_retried;
}
