/* SPDX-License-Identifier: MIT */
#include "engine/oom.h"
#include "engine/device.h"
#include "engine/logbook.h"
#include "engine/postmortem.h"
#include "engine/process.h"
#include "engine/thread.h"
#include <string.h>

enum { TOLD_MOST = 8, REPEATS_MOST = 2 };

static atomic_ullong holding; /* bit per device that holds one */
static atomic_uint told; /* a program that lives on between its failures is not to flood stderr */

void sc_oom_begin(sc_device *device, sc_oom *oom)
{
    sc_cache_totals totals;

    oom->is_capturing = sc_process_is_capturing();
    sc_lock(&device->lock);
    sc_cache_read_totals(device->cache, &totals);
    sc_unlock(&device->lock);
    oom->released = totals.idle;
}

static void name_holding(sc_holding *out, const sc_shape_row *row)
{
    out->id = row->id;
    out->site = row->site;
    out->bytes = row->bytes;
    out->count = row->live;
    out->before = row->before;
    out->label[0] = '\0';
    if (!row->hint)
        return;
    size_t length =
        sc_text_fitting(row->hint->label, strlen(row->hint->label), sizeof out->label - 1);

    memcpy(out->label, row->hint->label, length);
    out->label[length] = '\0';
}

/* Into a list of the SC_OOM_SHAPES with most bytes, most first. */
static void enlist(sc_holding *list, const sc_shape_row *row, uint64_t mapped)
{
    unsigned place = SC_OOM_SHAPES;

    while (place > 0 && mapped > list[place - 1].mapped)
        place--;
    if (place == SC_OOM_SHAPES)
        return;
    memmove(list + place + 1, list + place, (SC_OOM_SHAPES - 1 - place) * sizeof *list);
    name_holding(&list[place], row);
    list[place].mapped = mapped;
}

static void look_at_shape(void *self, const sc_shape_row *row)
{
    sc_oom *oom = self;

    if (row->live) {
        oom->had += row->live * row->bytes;
        oom->holding++;
        enlist(oom->holders, row, row->live * row->mapped);
    }
    if (!oom->step || row->last_step != oom->step || row->live <= row->before)
        return;
    uint64_t growth = (row->live - row->before) * row->mapped;

    oom->growing++;
    oom->growth += growth;
    enlist(oom->changed, row, growth);
}

static void sum_up(sc_oom *oom)
{
    for (unsigned i = 0; i < SC_OOM_SHAPES; i++) {
        oom->held_listed += oom->holders[i].mapped;
        oom->growth_listed += oom->changed[i].mapped;
    }
}

sc_in_force sc_oom_in_force(void)
{
    const sc_options *options = &sc_process_self.options;
    sc_in_force force = sc_process_self.force;

    force.is_gated = options->gate;
    force.is_torch = options->torch != SC_VIEW_NONE;
    force.is_tensors = options->torch == SC_VIEW_TENSORS || options->torch == SC_VIEW_PLUGGABLE;
    force.is_offloading = options->offload[0] != '\0';
    return force;
}

/* Under the device's lock. */
static void measure(const sc_device *device, sc_oom *oom)
{
    sc_cache_totals totals;

    sc_cache_read_totals(device->cache, &totals);
    oom->ns = sc_logbook_now();
    oom->step = totals.step;
    oom->phase = totals.phase;
    oom->live = totals.live;
    oom->idle = totals.idle;
    oom->released = oom->released > totals.idle ? oom->released - totals.idle : 0;
    oom->passed = sc_passed_mapped(&device->passed);
    oom->passed_blocks = device->passed.blocks;
    oom->had = oom->passed; /* and what the shapes have, without what was just refused */
    oom->at_start = device->at_start;
    oom->step_peak = device->journal.step_peak;
    oom->granted = totals.all.hits + totals.all.driver_allocs;
    if (oom->is_measured)
        sc_oom_balance(oom);
    sc_cache_look_at_shapes(device->cache, look_at_shape, oom);
    sum_up(oom);
}

static bool is_unchanged(const sc_oom *then, uint64_t granted, uint64_t step)
{
    return then->granted == granted && then->step == step;
}

/* Under the device's lock: keeps it; true: it has to be told. */
static bool hold(sc_held_oom *held, const sc_oom *oom)
{
    const sc_oom *last = &held->last;
    bool is_again = held->is_there && is_unchanged(last, oom->granted, oom->step) &&
                    oom->had >= last->had && oom->asked >= last->asked;
    bool is_repeat =
        is_again && oom->is_passed && oom->asked == last->asked && held->repeats < REPEATS_MOST;

    held->repeats = is_repeat ? held->repeats + 1 : 0;
    held->is_told = is_again && held->is_told;
    held->is_there = true;
    held->last = *oom;
    if (!is_again || is_repeat || held->is_told || oom->is_capturing ||
        atomic_fetch_add(&told, 1) >= TOLD_MOST)
        return false;
    held->is_told = true;
    return true;
}

static void tell(const sc_oom *oom, int device, bool again)
{
    if (sc_process_self.options.summary != SC_SUMMARY_OFF)
        sc_postmortem_say(oom, device, again);
}

static uint64_t bit_of(const sc_device *device)
{
    return UINT64_C(1) << device->ordinal;
}

void sc_oom_end(sc_device *device, sc_oom *oom)
{
    const sc_in_force force = sc_oom_in_force();
    size_t free_bytes, total;
    bool is_to_be_told = false;

    oom->is_capturing |= sc_process_is_capturing();
    oom->is_measured =
        !oom->is_capturing && sc_process_driver()->mem_info(&free_bytes, &total) == SC_CUDA_SUCCESS;
    if (oom->is_measured) {
        oom->free = free_bytes;
        oom->total = total;
    }
    sc_lock(&device->lock);
    measure(device, oom);
    oom->verdict = sc_verdict_of(oom, &force);
    sc_journal_oom(&device->journal, oom, &force);
    if (oom->result == SC_CUDA_OUT_OF_MEMORY && (oom->asked || !oom->is_retried)) {
        is_to_be_told = hold(&device->oom, oom);
        atomic_fetch_or(&holding, bit_of(device));
    }
    sc_unlock(&device->lock);
    if (is_to_be_told)
        tell(oom, device->ordinal, true);
}

bool sc_oom_is_held(void)
{
    return atomic_load_explicit(&holding, memory_order_relaxed) != 0;
}

void sc_oom_recovered(sc_device *device)
{
    sc_lock(&device->lock);
    device->oom.is_there = false;
    atomic_fetch_and(&holding, ~bit_of(device));
    sc_unlock(&device->lock);
}

void sc_oom_note_allocator(sc_device *device, bool at_end, const sc_allocator *said)
{
    const sc_in_force force = sc_oom_in_force();
    sc_oom *last = !at_end && device->oom.is_there ? &device->oom.last : NULL;

    if (last)
        last->allocator = *said;
    sc_journal_allocator(&device->journal, at_end ? "end" : "oom", said, last, &force);
}

bool sc_oom_is_unrecovered(sc_device *device)
{
    sc_cache_totals totals;

    sc_cache_read_totals(device->cache, &totals);
    return device->oom.is_there &&
           is_unchanged(&device->oom.last, totals.all.hits + totals.all.driver_allocs, totals.step);
}

void sc_oom_finish(sc_device *device)
{
    const sc_in_force force = sc_oom_in_force();
    static sc_oom last; /* finish runs once; the program's stack may be small */

    sc_lock(&device->lock);
    bool is_the_end = sc_oom_is_unrecovered(device) && !device->oom.is_told;

    if (is_the_end) {
        device->oom.is_told = true;
        last = device->oom.last;
        last.verdict = sc_verdict_of(&last, &force);
    }
    sc_unlock(&device->lock);
    if (is_the_end)
        tell(&last, device->ordinal, false);
}
