/* SPDX-License-Identifier: MIT */
#include "judge.h"

#include <inttypes.h>
#include <stdio.h>

#include "alias.h"
#include "graph_memory.h"
#include "internal.h"
#include "lock.h"
#include "memory.h"
#include "process.h"
#include "settings.h"
#include "stream.h"

#define INTERNAL_API __attribute__((visibility("default")))

struct verdict {
    const char *kind; /* NULL: nothing to say */
    const char *why;
    uint64_t other; /* the record that `why` ends with; 0: none */
};

static bool is_inside(const struct sim_touch *touch, const struct sim_record *record)
{
    return touch->address >= record->address && touch->address - record->address <= record->bytes &&
           touch->bytes <= record->bytes - (touch->address - record->address);
}

/* What a free that need not wait allows: anything but the next owner's using it too early. */
static struct verdict judge_deferred(const struct sim_touch *touch, struct sim_record *record)
{
    uint64_t former = sim_ledger_unfinished(record, touch);

    if (former == 0)
        former = sim_alias_unfinished(record, touch);
    return former == 0 ? (struct verdict){NULL, NULL, 0}
                       : (struct verdict){"early-reuse",
                                          "before operations were done of allocation", former};
}

/* What is to be said of memory whose owner has changed since it was claimed. */
static struct verdict judge_owner(const struct sim_record *record, bool ran)
{
    uint64_t heir = atomic_load(&record->heir);

    switch (atomic_load(&record->state)) {
    case SIM_LIVE:
    case SIM_FREEING:
        break;
    case SIM_FREED:
        return (struct verdict){"use-after-free",
                                ran ? "freed while this ran" : "freed before this ran", 0};
    case SIM_REUSED:
        if (atomic_load(&record->ordered) && !atomic_load(&record->passed))
            break; /* given out again in stream order, in which this comes first */
        return (struct verdict){"use-after-reuse",
                                ran ? "given out while this ran, as allocation"
                                    : "given out again before this ran, as allocation",
                                heir};
    }
    return (struct verdict){NULL, NULL, 0};
}

static struct verdict judge(const struct sim_touch *touch, const struct sim_claim *claim)
{
    if (claim->late && atomic_load(&claim->record->state) != SIM_LIVE)
        return (struct verdict){"use-after-free", "freed before this was enqueued", 0};
    if (!is_inside(touch, claim->record))
        return (struct verdict){"out-of-bounds", "beyond its end", 0};
    if (sim_settings()->judge == SIM_JUDGE_DEFERRED)
        return judge_deferred(touch, claim->record);
    return judge_owner(claim->record, false);
}

static void name_stream(char *text, size_t room)
{
    const struct sim_stream *stream = sim_stream_running();

    if (stream->role == SIM_STREAM_CREATED)
        snprintf(text, room, "stream %" PRIu64, stream->number);
    else
        snprintf(text, room, "%s default stream",
                 stream->role == SIM_STREAM_LEGACY ? "the legacy" : "a per-thread");
}

static void tell(const char *what, const struct sim_touch *touch, const struct sim_record *record,
                 struct verdict verdict)
{
    char stream[48], other[24] = "";

    name_stream(stream, sizeof stream);
    if (verdict.other != 0)
        snprintf(other, sizeof other, " %" PRIu64, verdict.other);
    simcuda_violation(verdict.kind,
                      "%s %s %zu bytes at offset %zd of allocation %" PRIu64
                      " (%zu bytes at 0x%zx) on %s: %s%s",
                      what, touch->writes ? "writes" : "reads", touch->bytes,
                      (ptrdiff_t)(touch->address - record->address), record->number, record->bytes,
                      (size_t)record->address, stream, verdict.why, other);
}

bool sim_judge_before(const char *what, const struct sim_touch *touches,
                      const struct sim_claim *claims, size_t count, bool *told)
{
    bool fine = true;

    *told = false;
    for (size_t i = 0; i < count; i++) {
        struct verdict verdict = {NULL, NULL, 0};

        if (claims[i].record)
            verdict = judge(&touches[i], &claims[i]);
        if (verdict.kind)
            tell(what, &touches[i], claims[i].record, verdict);
        *told = *told || verdict.kind;
        if (!sim_memory_check(what, &touches[i], !verdict.kind))
            fine = false;
    }
    *told = *told || !fine;
    return fine;
}

void sim_judge_after(const char *what, const struct sim_touch *touches,
                     const struct sim_claim *claims, size_t count)
{
    if (sim_settings()->judge != SIM_JUDGE_SYNC)
        return;
    for (size_t i = 0; i < count; i++) {
        struct verdict verdict = {NULL, NULL, 0};

        if (claims[i].record)
            verdict = judge_owner(claims[i].record, true);
        if (verdict.kind)
            tell(what, &touches[i], claims[i].record, verdict);
    }
}

void sim_judge_leaks(uint64_t *allocations, uint64_t *bytes)
{
    struct sim_record *record;

    *allocations = *bytes = 0;
    for (uintptr_t at = 0; (record = sim_ledger_next_live(at)); sim_ledger_put(record)) {
        at = record->address + record->bytes;
        *bytes += record->bytes;
        ++*allocations;
        if (sim_settings()->leaks)
            simcuda_violation("leak", "allocation %" PRIu64 " (%zu bytes at 0x%zx) was never freed",
                              record->number, record->bytes, (size_t)record->address);
    }
}

static bool is_on(void)
{
    return !sim_process_forked() && sim_settings()->judge != SIM_JUDGE_OFF;
}

INTERNAL_API void simcuda_allocated(const void *pointer, size_t bytes)
{
    uint64_t twice;

    if (!is_on() || sim_graph_memory_owns((uintptr_t)pointer))
        return;
    if (!sim_ledger_add((uintptr_t)pointer, bytes, &twice))
        fputs("simcuda: out of memory, the judge misses an allocation\n", stderr);
    if (twice != 0)
        simcuda_violation("handed-out-twice",
                          "%zu bytes at %p are given out that allocation %" PRIu64 " still has",
                          bytes, pointer, twice);
}

/* Nobody who told us allocated what is to be freed, or it is not his any more. Memory that came by
 * another way is a block of the driver's. */
static void judge_free(uintptr_t address)
{
    struct sim_record *record = sim_ledger_find(address);
    const struct sim_block *block;
    bool is_known;

    sim_lock();
    block = sim_memory_find_locked(address);
    is_known =
        block && block->address == address && block->kind != SIM_MAPPED_MEMORY && !block->freeing;
    sim_unlock();
    if (record && record->address == address)
        simcuda_violation("double-free",
                          "allocation %" PRIu64 " (%zu bytes at 0x%zx) was freed before",
                          record->number, record->bytes, (size_t)address);
    else if (record)
        simcuda_violation("invalid-free",
                          "0x%zx is inside allocation %" PRIu64 " (%zu bytes at 0x%zx)",
                          (size_t)address, record->number, record->bytes, (size_t)record->address);
    else if (!is_known)
        simcuda_violation("invalid-free", "0x%zx was never allocated", (size_t)address);
    if (record)
        sim_ledger_put(record);
}

INTERNAL_API simcuda_allocation *simcuda_freeing(const void *pointer)
{
    struct sim_record *record;

    if (!is_on())
        return NULL;
    record = sim_ledger_begin((uintptr_t)pointer);
    if (!record)
        judge_free((uintptr_t)pointer);
    return (simcuda_allocation *)record;
}

INTERNAL_API void simcuda_freed(simcuda_allocation *allocation, int succeeded)
{
    if (allocation)
        sim_ledger_finish((struct sim_record *)allocation, succeeded != 0);
}
