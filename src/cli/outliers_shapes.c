/* SPDX-License-Identifier: MIT
 * outliers_shapes.c - which rank asks for sizes that no other does, or does not ask for what all
 * others do. Sizes that never change the phase are left out. */
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/outliers.h"
#include <stdio.h>
#include <stdlib.h>

enum { TEXT_BYTES = 512 };

/* A shape of one peer. */
typedef struct use {
    uint64_t bytes;
    unsigned peer;
    const sc_shape *shape;
} use;

/* Of one peer: what it alone has, or lacks. */
typedef struct odd {
    uint64_t count;
    uint64_t largest;
    const sc_shape *shape; /* of the largest, where it has it */
} odd;

static int by_bytes(const void *left, const void *right)
{
    const use *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->peer < b->peer ? -1 : a->peer > b->peer;
}

static size_t collect(use *out, const sc_report *report, const sc_peers *peers)
{
    size_t count = 0;

    for (unsigned i = 0; i < peers->count; i++) {
        const sc_lane *lane = &report->lanes[peers->at[i]];

        for (unsigned s = 0; s < lane->device->shape_count; s++) {
            const sc_shape *shape = lane->device->shapes[s];

            if (lane->history->is_told[SC_OPTION_small] &&
                shape->bytes < lane->history->options.small)
                continue;
            if (out)
                out[count] = (use){.bytes = shape->bytes, .peer = i, .shape = shape};
            count++;
        }
    }
    return count;
}

static void note(odd *one, uint64_t bytes, const sc_shape *shape)
{
    one->count++;
    one->largest = bytes; /* they come in ascending order */
    one->shape = shape;
}

/* The peer that is not among those of `group`, which are all but one, in order. */
static unsigned absent(const use *group, size_t count)
{
    unsigned expected = 0;

    for (size_t i = 0; i < count; i++) {
        if (i && group[i].peer == group[i - 1].peer)
            continue;
        if (group[i].peer != expected)
            return expected;
        expected++;
    }
    return expected;
}

/* Uses of one size. */
static void judge(const use *group, size_t count, unsigned peers, odd *own, odd *lacked)
{
    unsigned distinct = 1;

    for (size_t i = 1; i < count; i++)
        distinct += group[i].peer != group[i - 1].peer;
    if (distinct == 1)
        note(&own[group->peer], group->bytes, group->shape);
    else if (distinct == peers - 1)
        note(&lacked[absent(group, count)], group->bytes, NULL);
}

static char *describe_own(const sc_history *history, const odd *one)
{
    const char *site = one->shape->site;
    char text[TEXT_BYTES], size[16];

    snprintf(text, sizeof text,
             "%llu shape%s that no other rank has, the largest %s at step %llu%s%.200s",
             (unsigned long long)one->count, one->count == 1 ? "" : "s",
             sc_emit_size(size, one->largest), (unsigned long long)one->shape->first_step,
             site ? ", asked for at " : "", site ? sc_history_place(history, site) : "");
    return sc_need_copy(text);
}

static char *describe_lacked(const odd *one)
{
    char text[TEXT_BYTES], size[16];

    snprintf(text, sizeof text, "it lacks %llu shape%s that all others have, the largest %s",
             (unsigned long long)one->count, one->count == 1 ? "" : "s",
             sc_emit_size(size, one->largest));
    return sc_need_copy(text);
}

static void tell(sc_outliers *all, const sc_report *report, const sc_peers *peers, const odd *own,
                 const odd *lacked)
{
    unsigned owners = 0;
    char text[TEXT_BYTES];

    for (unsigned i = 0; i < peers->count; i++)
        owners += own[i].count > 0;
    if (peers->count > 2 && owners > peers->count / 2) {
        snprintf(text, sizeof text,
                 "%u of %u ranks have shapes that no other has: what they train on differs", owners,
                 peers->count);
        all->general = sc_need_copy(text);
    }
    for (unsigned i = 0; i < peers->count; i++) {
        if (own[i].count && !all->general)
            sc_outliers_add(all, (sc_outlier){.lane = peers->at[i],
                                              .what = "shapes",
                                              .value = own[i].count,
                                              .usual = 0,
                                              .text = describe_own(
                                                  report->lanes[peers->at[i]].history, &own[i])});
        if (lacked[i].count)
            sc_outliers_add(all, (sc_outlier){.lane = peers->at[i],
                                              .what = "shapes",
                                              .value = 0,
                                              .usual = lacked[i].count,
                                              .text = describe_lacked(&lacked[i])});
    }
}

void sc_outliers_shapes(sc_outliers *all, const sc_report *report, const sc_peers *peers)
{
    size_t count = collect(NULL, report, peers), first = 0;
    use *uses = sc_need(sizeof *uses * count);
    odd *own = sc_need(sizeof *own * peers->count), *lacked = sc_need(sizeof *own * peers->count);

    (void)collect(uses, report, peers);
    if (count)
        qsort(uses, count, sizeof *uses, by_bytes);
    for (size_t i = 1; i <= count; i++) {
        if (i < count && uses[i].bytes == uses[first].bytes)
            continue;
        judge(uses + first, i - first, peers->count, own, lacked);
        first = i;
    }
    tell(all, report, peers, own, lacked);
    free(uses);
    free(own);
    free(lacked);
}
