/* SPDX-License-Identifier: MIT
 * export_torch.c - a log as a memory snapshot of PyTorch, for its memory_viz.
 *
 * A driver allocation is a segment with one block, which is active while the program holds it and
 * inactive while it is idle. What a snapshot calls an event is a request here: one that the cache
 * served has no segment_alloc, a parked free no segment_free. When an idle buffer goes back the log
 * says for all of a device, by a change of phase; of one alone it shows when its address is handed
 * out again, and until then its segment stays.
 *
 * The events are the last `export->last`; memory is those, and the buffers that are there at once.
 * A call site is a list of frames that is written once and referred to from then on. */
#include "cli/command.h"
#include "cli/requests.h"
#include "cli/snapshot.h"
#include "cli/symbols.h"
#include <search.h>
#include <stdlib.h>
#include <string.h>

typedef struct state {
    sc_requests requests;
    sc_symbols *symbols;
    sc_snapshot of; /* segments that overlap are equal in its tree */
    size_t room;    /* for events */
    uint32_t site_count;
    sc_map by_text; /* of sites, by a hash; a second text of one hash is another site each time */
} state;

static unsigned level(const sc_export *export)
{
    (void)export;
    return SC_LEVEL_EVENT;
}

static uint64_t hash(const char *text)
{
    uint64_t value = 1;

    for (; *text; text++)
        value = sc_hash(value ^ (unsigned char)*text);
    return value ? value : 1;
}

/* The site's number, as its place is known by now. */
static uint32_t site_of(state *all, const sc_line *line)
{
    const char *text = sc_symbols_place(all->symbols, sc_line_text(line, SC_F_SITE));
    sc_frames *known;

    if (!text)
        return 0;
    known = sc_map_find(&all->by_text, hash(text));
    if (known && !strcmp(known->text, text))
        return (uint32_t)(known - all->of.sites);
    if (all->site_count == SC_SYMBOLS_MOST)
        return 0;
    known = &all->of.sites[all->site_count];
    known->text = sc_need_copy(text);
    if (!sc_map_put(&all->by_text, hash(text), known)) {
        sc_say("out of memory");
        exit(SC_EXIT_FAILED);
    }
    return all->site_count++;
}

static void add_event(sc_export *export, const sc_line *line, sc_action what, const sc_segment *of)
{
    state *all = export->state;
    size_t at = (size_t)(all->of.count++ % export->last);

    if (at == all->room) {
        all->room = all->room ? 2 * all->room : 1024;
        all->room = all->room < export->last ? all->room : (size_t) export->last;
        all->of.events = sc_need_again(all->of.events, all->room * sizeof *all->of.events);
    }
    all->of.events[at] =
        (sc_moment){.address = of->address,
                    .bytes = of->bytes,
                    .time_us = (export->run->t0_unix_ns + sc_line_u64(line, SC_F_T)) / 1000,
                    .site = of->site,
                    .what = what};
}

static int compare(const void *left, const void *right)
{
    const sc_segment *a = left, *b = right;

    if (a->address < b->address)
        return b->address - a->address < a->bytes ? 0 : -1;
    return a->address - b->address < b->bytes ? 0 : 1;
}

static void free_segment(sc_export *export, const sc_line *line, sc_segment *one)
{
    state *all = export->state;

    add_event(export, line, SC_ACTION_SEGMENT_FREE, one);
    (void)tdelete(one, &all->of.segments, compare);
    free(one);
}

static void free_block(sc_export *export, const sc_line *line, sc_segment *one)
{
    add_event(export, line, SC_ACTION_FREE_REQUESTED, one);
    add_event(export, line, SC_ACTION_FREE_COMPLETED, one);
    one->is_live = false;
}

/* What is in the way has gone back unseen: an idle buffer, or one whose free is missing. */
static void make_place(sc_export *export, const sc_line *line, const sc_segment *wanted)
{
    state *all = export->state;
    sc_segment *const *found;

    while ((found = tfind(wanted, &all->of.segments, compare))) {
        if ((*found)->is_live)
            free_block(export, line, *found);
        free_segment(export, line, *found);
    }
}

static bool is_outcome(const sc_line *line, const char *word)
{
    const char *outcome = sc_line_text(line, SC_F_OUTCOME);

    return outcome ? !strcmp(outcome, word) : sc_line_u64(line, SC_F_HIT) == 1;
}

static void on_alloc(sc_export *export, const sc_line *line, const sc_block *block)
{
    state *all = export->state;
    sc_segment wanted = {.address = block->address,
                         .bytes = block->bytes ? block->bytes : 1,
                         .site = site_of(all, line),
                         .is_live = true};
    sc_segment *const *found = tfind(&wanted, &all->of.segments, compare);
    sc_segment *one = found ? *found : NULL;
    bool is_hit = is_outcome(line, "hit");

    if (!is_hit || (one && (one->address != wanted.address || one->bytes != wanted.bytes))) {
        make_place(export, line, &wanted);
        one = NULL;
    }
    if (!one) {
        one = sc_need(sizeof *one);
        *one = wanted;
        if (!tsearch(one, &all->of.segments, compare)) {
            sc_say("out of memory");
            exit(SC_EXIT_FAILED);
        }
        if (!is_hit)
            add_event(export, line, SC_ACTION_SEGMENT_ALLOC, one);
    }
    *one = wanted;
    add_event(export, line, SC_ACTION_ALLOC, one);
    export->written++;
}

static void on_free(sc_export *export, const sc_line *line, const sc_block *block)
{
    state *all = export->state;
    sc_segment wanted = {.address = block->address, .bytes = 1};
    sc_segment *const *found = tfind(&wanted, &all->of.segments, compare);
    bool is_parked = line->event == SC_EV_FREE && is_outcome(line, "parked");

    if (!found || (*found)->address != block->address || !(*found)->is_live)
        return;
    free_block(export, line, *found);
    if (!is_parked)
        free_segment(export, line, *found);
}

static struct {
    sc_segment **at;
    size_t count, room;
} idle; /* twalk has no argument for it */

static void collect(const void *node, VISIT visit, int depth)
{
    sc_segment *one = *(sc_segment *const *)node;

    (void)depth;
    if ((visit != postorder && visit != leaf) || one->is_live)
        return;
    if (idle.count == idle.room) {
        idle.room = idle.room ? 2 * idle.room : 256;
        idle.at = sc_need_again(idle.at, idle.room * sizeof(sc_segment *));
    }
    idle.at[idle.count++] = one;
}

/* Everything idle of the device has gone back, or does so at the next free. */
static void free_idle(sc_export *export, const sc_line *line)
{
    state *all = export->state;

    idle.count = 0;
    twalk(all->of.segments, collect);
    for (size_t i = 0; i < idle.count; i++)
        free_segment(export, line, idle.at[i]);
}

static bool is_of_device(const state *all, const sc_line *line)
{
    return all->requests.has_device && sc_line_u64(line, SC_F_DEV) == all->requests.device;
}

static bool take(sc_export *export, const sc_line *line)
{
    state *all = export->state;

    sc_symbols_learn(&all->symbols, line);
    if (line->event == SC_EV_PHASE && is_of_device(all, line) && !line->has[SC_F_SCOPE] &&
        (!strcmp(sc_line_text(line, SC_F_TO), "fallback") ||
         !strcmp(sc_line_text(line, SC_F_TO), "off")))
        free_idle(export, line);
    if (line->event == SC_EV_OOM && is_of_device(all, line) && sc_line_u64(line, SC_F_RESULT)) {
        const sc_segment asked = {.address = sc_line_u64(line, SC_F_DRIVER_FREE),
                                  .bytes = sc_line_u64(line, SC_F_BYTES),
                                  .site = site_of(all, line)};

        add_event(export, line, SC_ACTION_OOM, &asked);
    }
    return sc_requests_take(&all->requests, export, line);
}

static void begin(sc_export *export)
{
    state *all = sc_need(sizeof *all);

    all->requests.alloc = on_alloc;
    all->requests.free = on_free;
    all->of.sites = sc_need(SC_SYMBOLS_MOST * sizeof *all->of.sites);
    all->of.last = export->last;
    all->site_count = 1;
    export->state = all;
}

static void log_begins(sc_export *export)
{
    (void)export;
}

static void log_ends(sc_export *export)
{
    const state *all = export->state;

    if (!export->written)
        return;
    sc_requests_say(&all->requests, export);
    if (all->of.count > export->last)
        sc_say("export: %.300s: the last %llu of %llu events; --last takes more, and viewers less",
               export->run->path, (unsigned long long)export->last,
               (unsigned long long)all->of.count);
}

static void drop(sc_export *export)
{
    state *all = export->state;

    while (all->of.segments) {
        sc_segment *one = *(sc_segment *const *)all->of.segments;

        (void)tdelete(one, &all->of.segments, compare);
        free(one);
    }
    for (uint32_t i = 1; i < all->site_count; i++)
        free(all->of.sites[i].text);
    free(all->of.sites);
    free(all->of.events);
    free(idle.at);
    sc_map_release(&all->by_text);
    sc_symbols_delete(all->symbols);
    sc_requests_release(&all->requests);
    free(all);
}

static void end(sc_export *export)
{
    state *all = export->state;

    all->of.device = all->requests.device;
    sc_snapshot_write(&all->of, export->out);
    drop(export);
}

const sc_export_format sc_export_torch = {
    .name = "torch-snapshot",
    .is_of_one = true,
    .is_binary = true,
    .level = level,
    .begin = begin,
    .log = log_begins,
    .take = take,
    .log_end = log_ends,
    .end = end,
    .drop = drop,
};
