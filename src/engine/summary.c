/* SPDX-License-Identifier: MIT */
#include "engine/summary.h"
#include "base/text.h"
#include "engine/device.h"
#include "engine/logbook.h"
#include "engine/process.h"
#include "engine/site.h"
#include "engine/thread.h"

enum { LINE_BYTES = 1984 };
enum { WORTH_CACHING = 100 }; /* requests: with fewer nothing is missed */

static void count_of(sc_text *text, uint64_t count, const char *one)
{
    sc_text_u64(text, count);
    sc_text_char(text, ' ');
    sc_text_string(text, one);
    sc_text_string(text, count == 1 ? "" : "s");
}

/* 99.9%: never rounded up to a whole that it is not. */
static void share(sc_text *text, uint64_t part, uint64_t whole)
{
    uint64_t tenths = whole ? (uint64_t)((double)part / (double)whole * 1000) : 0;

    sc_text_u64(text, tenths / 10);
    if (tenths < 1000) {
        sc_text_char(text, '.');
        sc_text_u64(text, tenths % 10);
    }
    sc_text_char(text, '%');
}

static void seconds(sc_text *text, uint64_t ns)
{
    uint64_t hundredths = ns / 10000000 + (ns % 10000000 >= 5000000);

    sc_text_u64(text, hundredths / 100);
    sc_text_char(text, '.');
    sc_text_char(text, (char)('0' + hundredths / 10 % 10));
    sc_text_char(text, (char)('0' + hundredths % 10));
    sc_text_string(text, " s");
}

static void add(sc_cache_totals *sum, const sc_cache_totals *one)
{
    sum->step += one->step;
    sum->shapes += one->shapes + one->shapes_forgotten;
    sum->steps_in[SC_PHASE_FIXED] += one->steps_in[SC_PHASE_FIXED];
    sum->fallbacks += one->fallbacks;
    sum->scopes.all += one->scopes.all;
    sum->scopes.fixed += one->scopes.fixed;
    sum->all.requests += one->all.requests;
    sum->all.hits += one->all.hits;
    sum->all.misses += one->all.misses;
    sum->all.bypassed += one->all.bypassed;
    sum->all.driver_allocs += one->all.driver_allocs;
    sum->all.driver_ns += one->all.driver_ns;
    sum->all.wait_ns += one->all.wait_ns;
    sum->all.held_peak += one->all.held_peak;
    sum->all.live_peak += one->all.live_peak;
}

/* A share of hits needs a step in phase fixed that has ended: beside "fixed in 0 of 4 steps" it
 * would contradict itself. `is_fixed`: it is now, on the only device. */
static void say_fixed(sc_text *text, const sc_cache_totals *sum, bool is_fixed)
{
    uint64_t steps = sum->steps_in[SC_PHASE_FIXED];

    if (!steps && is_fixed && sum->step) {
        sc_text_string(text, "fixed since step ");
        sc_text_u64(text, sum->step);
        sc_text_string(text, ", which has not ended");
        return;
    }
    if (steps && sum->all.hits + sum->all.misses) {
        share(text, sum->all.hits, sum->all.hits + sum->all.misses);
        sc_text_string(text, " hits while fixed, ");
    }
    sc_text_string(text, "fixed in ");
    sc_text_u64(text, steps);
    sc_text_string(text, " of ");
    count_of(text, sum->step, "step");
}

/* Nothing that came was of a shape, so that there was nothing to cache or to hold: the zeros of the
 * cache would be no figures of the program. */
static bool is_passed_by(const sc_cache_totals *sum)
{
    return sum->all.bypassed == sum->all.requests && !sum->shapes && !sum->all.held_peak;
}

static void say_cached(sc_text *text, const sc_cache_totals *sum, bool is_fixed)
{
    sc_text_string(text, ", ");
    say_fixed(text, sum, is_fixed);
    sc_text_string(text, ", ");
    count_of(text, sum->fallbacks, "fallback");
    if (sum->scopes.all) {
        sc_text_string(text, ", ");
        sc_text_u64(text, sum->scopes.fixed);
        sc_text_string(text, " of ");
        count_of(text, sum->scopes.all, "call site");
        sc_text_string(text, " fixed");
    }
    sc_text_string(text, "; held at most ");
    sc_text_size(text, sum->all.held_peak);
    sc_text_string(text, " for ");
    sc_text_size(text, sum->all.live_peak);
    sc_text_string(text, " live; frees waited ");
    seconds(text, sum->all.wait_ns);
}

static void say_refusals(sc_text *text, const sc_refusals *refusals)
{
    const char *site = sc_site_text(refusals->site);

    sc_text_string(text, "; ");
    count_of(text, refusals->count, "out-of-memory answer");
    sc_text_string(text, refusals->count == 1 ? ", for " : ", the last for ");
    if (refusals->bytes)
        sc_text_size(text, refusals->bytes);
    else
        sc_text_string(text, "an allocation of another kind");
    if (!site)
        return;
    sc_text_string(text, " from ");
    sc_text_string(text, site);
}

static void say_line(const sc_cache_totals *sum, unsigned count, bool is_fixed,
                     const sc_refusals *refusals)
{
    char bytes[LINE_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    count_of(&text, sum->all.requests, "request");
    if (is_passed_by(sum))
        sc_text_string(&text, ", all passed by");
    else
        say_cached(&text, sum, is_fixed);
    if (refusals->count)
        say_refusals(&text, refusals);
    if (count > 1) {
        sc_text_string(&text, "; ");
        sc_text_u64(&text, count);
        sc_text_string(&text, " devices");
    }
    if (sc_logbook_path()) {
        sc_text_string(&text, "; see shapecache report ");
        sc_text_string(&text, sc_logbook_path());
    }
    sc_logbook_say(sc_text_terminate(&text));
}

static void finish_line(sc_text *text)
{
    sc_logbook_say(sc_text_terminate(text));
    sc_text_clear(text);
}

/* What the hits would have taken in the driver, at the mean time of those that went there: the
 * waits of raw frees are in it, so those of parked ones are none of it. */
static uint64_t estimate_saved(const sc_cache_totals *sum)
{
    double mean = (double)sum->all.driver_ns / (double)sum->all.driver_allocs;
    double saved = mean * (double)sum->all.hits - (double)sum->all.wait_ns;

    return saved > 0 ? (uint64_t)saved : 0;
}

static void say_hits(sc_text *text, const sc_cache_totals *sum, bool is_fixed)
{
    count_of(text, sum->all.requests, "request");
    if (is_passed_by(sum)) {
        sc_text_string(text, ", all passed by");
    } else {
        sc_text_string(text, ", ");
        say_fixed(text, sum, is_fixed);
    }
    sc_text_string(text, "; ");
    seconds(text, sum->all.driver_ns);
    sc_text_string(text, " in driver allocations and frees");
    if (sum->all.hits && sum->all.driver_allocs) {
        sc_text_string(text, ", saved ");
        seconds(text, estimate_saved(sum));
        sc_text_string(text, " (an estimate)");
    }
    finish_line(text);
}

static void say_memory(sc_text *text, const sc_cache_totals *sum, unsigned count)
{
    if (is_passed_by(sum)) {
        sc_text_string(text, "no memory held; what passed by is its asker's");
    } else {
        sc_text_string(text, "held at most ");
        sc_text_size(text, sum->all.held_peak);
        sc_text_string(text, ", live and idle, for ");
        sc_text_size(text, sum->all.live_peak);
        sc_text_string(text, " live at most; frees waited ");
        seconds(text, sum->all.wait_ns);
    }
    if (count > 1) {
        sc_text_string(text, "; ");
        sc_text_u64(text, count);
        sc_text_string(text, " devices");
    }
    finish_line(text);
}

static void say_story(sc_text *text, const sc_cache_totals *sum, bool is_fixed,
                      const sc_refusals *refusals, const sc_fallback *fallback)
{
    if (sum->fallbacks)
        count_of(text, sum->fallbacks, "fallback");
    else
        sc_text_string(text, is_fixed ? "no fallback, fixed to the end" : "no fallback");
    if (fallback->is_there) {
        sc_text_string(text, sum->fallbacks == 1 ? ", at step " : ", the last at step ");
        sc_text_u64(text, fallback->step);
        sc_text_string(text, ": ");
        sc_fallback_explain(text, fallback);
    } else if (!sum->steps_in[SC_PHASE_FIXED] && sum->step && !is_passed_by(sum)) {
        sc_text_string(text, "; never fixed: ");
        count_of(text, sum->shapes, "shape");
        sc_text_string(text, " in ");
        count_of(text, sum->step, "step");
    }
    if (sum->scopes.all) {
        sc_text_string(text, "; ");
        sc_text_u64(text, sum->scopes.fixed);
        sc_text_string(text, " of ");
        count_of(text, sum->scopes.all, "call site");
        sc_text_string(text, " fixed");
    }
    if (refusals->count)
        say_refusals(text, refusals);
    finish_line(text);
}

static void say_next(sc_text *text)
{
    const char *path = sc_logbook_path();

    sc_text_string(text, "next: ");
    sc_text_string(text, path ? "shapecache report " : "there is no log: set SHAPECACHE_LOG");
    sc_text_string(text, path ? path : " to a file, or take SHAPECACHE_LOG=off away");
    finish_line(text);
}

void sc_summary_say(const sc_cache_totals *totals, unsigned count, const sc_refusals *refusals,
                    const sc_fallback *fallback)
{
    sc_cache_totals sum = {.step = 0};
    bool is_fixed = count == 1 && totals[0].phase == SC_PHASE_FIXED;
    char bytes[LINE_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    for (unsigned i = 0; i < count; i++)
        add(&sum, &totals[i]);
    if (sum.all.requests == 0)
        return;
    if (sc_process_self.options.summary == SC_SUMMARY_LINE) {
        say_line(&sum, count, is_fixed, refusals);
        return;
    }
    say_hits(&text, &sum, is_fixed);
    say_memory(&text, &sum, count);
    say_story(&text, &sum, is_fixed, refusals, fallback);
    say_next(&text);
}

/* Without an end of a step no set becomes fixed: the likeliest reason why nothing was cached. */
void sc_summary_warn(void)
{
    uint64_t requests = 0;

    if (sc_process_self.options.step.choice != SC_STEP_API)
        return;
    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device)) {
        sc_cache_totals totals;

        sc_lock(&device->lock);
        sc_cache_read_totals(device->cache, &totals);
        sc_unlock(&device->lock);
        if (totals.step > 0 || totals.phase != SC_PHASE_WARMUP)
            return;
        requests += totals.all.requests;
    }
    if (requests >= WORTH_CACHING)
        sc_logbook_warn("SHAPECACHE_STEP=api, but the program never called shapecache_step(): no "
                        "step has ended, so no set of shapes became fixed");
}
