/* SPDX-License-Identifier: MIT */
#include "steps/runtime.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "cache/cache.h"
#include "replay/die.h"

enum { PAGE = 4096 };

static struct runtime {
    sc_cache *cache;
    bool is_told;
    sc_phase phase;
    uint64_t addresses; /* handed out so far */
    uint64_t began;     /* requests before this true step */
    bool is_step_fixed; /* so far */
    struct verdict verdict;
} run;

static const sc_cache_rules rules = {
    .gate = {.warmup = 3, .rearm = 6, .max_shapes = 4096, .is_gated = true},
    .overhead_percent = 25,
    .limit = UINT64_C(1) << 40,
    .max_age = 64,
    .small = 64 << 10,
};

static void on_step(void *self, const sc_step_row *row)
{
    (void)self;
    run.verdict.ends++;
    run.verdict.covers += row->ended_by == SC_STEP_END_COVER;
    run.verdict.exact += run.verdict.requests == run.began;
}

static void on_phase(void *self, const sc_phase_change *change)
{
    bool is_fallback = change->to == SC_PHASE_FALLBACK;

    (void)self;
    run.phase = change->to;
    run.verdict.fallbacks += is_fallback;
    run.verdict.spurious +=
        is_fallback && change->reason == SC_REASON_NEW_SHAPE && run.verdict.steps == 1;
}

void runtime_begin(bool is_told)
{
    sc_cache_observer observer = {.phase = on_phase, .step = on_step};
    sc_cache_rules these = rules;

    these.step_source = is_told ? SC_STEPS_NAMED : SC_STEPS_INFERRED;
    run = (struct runtime){.cache = sc_cache_new(&these, &observer),
                           .is_told = is_told,
                           .verdict.first_fixed = UINT64_MAX};
    if (run.cache == NULL)
        die(EXIT_RUN, "no memory for a cache");
}

/* A true step is over. */
static void count_step(void)
{
    struct verdict *verdict = &run.verdict;

    if (verdict->steps == 0 || !run.is_step_fixed || verdict->requests == run.began)
        return;
    verdict->fixed++;
    if (verdict->first_fixed == UINT64_MAX)
        verdict->first_fixed = verdict->steps - 1;
}

void runtime_step(void)
{
    count_step();
    if (run.is_told && run.verdict.steps > 0)
        sc_cache_step_end(run.cache);
    run.verdict.steps++;
    run.began = run.verdict.requests;
    run.is_step_fixed = true;
}

struct verdict runtime_end(void)
{
    sc_cache_totals totals;

    count_step();
    sc_cache_read_totals(run.cache, &totals);
    run.verdict.hits = totals.all.hits;
    sc_cache_delete(run.cache);
    return run.verdict;
}

static void give_back(sc_take why)
{
    sc_victims victims;

    do {
        sc_cache_take(run.cache, why, &victims);
        if (victims.count > 0)
            sc_cache_gone(run.cache, &victims);
    } while (victims.count > 0);
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    static const char context;
    sc_request request = {.context = (sc_context)&context, .bytes = bytes};
    sc_buffer *buffer;
    sc_answer answer = sc_cache_request(run.cache, request, &buffer);

    if (answer == SC_PASS)
        die(EXIT_RUN, "no memory for the cache's records");
    if (answer == SC_ALLOCATE) {
        give_back(SC_TAKE_ROOM);
        (void)sc_cache_allocated(run.cache, buffer, ++run.addresses * PAGE, 0);
    }
    run.verdict.requests++;
    run.is_step_fixed = run.is_step_fixed && run.phase == SC_PHASE_FIXED;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): that is what an address is */
    *pointer = (void *)(uintptr_t)sc_buffer_address(buffer);
    return cudaSuccess;
}

cudaError_t cudaFree(void *pointer)
{
    sc_buffer *buffer;

    if (sc_cache_free(run.cache, (sc_address)pointer, false, &buffer) == SC_FREE_PARK)
        (void)sc_cache_park(run.cache, buffer, 0);
    give_back(SC_TAKE_DUE);
    return cudaSuccess;
}

/* For --verify, which nobody asks for here. */
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    (void)to;
    (void)from;
    (void)bytes;
    (void)kind;
    return cudaErrorNotSupported;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "not supported";
}
