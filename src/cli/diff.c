/* SPDX-License-Identifier: MIT
 * diff.c - `shapecache diff`: two runs beside each other, in figures and shape by shape. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/history.h"
#include "cli/logs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TWO = 2, SOME = 8, MICROSECOND = 1000 };

/* The shapes of one size (and site, where both runs tell them apart), of all devices. */
typedef struct kind {
    uint64_t bytes;
    const char *site;         /* the first; NULL: unknown */
    uint64_t most;            /* bytes live at once, of each device's own most */
    uint64_t allocations, ns; /* by the driver, and what they took */
} kind;

typedef struct side {
    sc_history *history;
    kind *kinds;
    size_t count;
    uint64_t steps, rows, dur_ns;
    sc_sums all;
    uint64_t shapes, fallbacks, ooms;
} side;

static const char *const words[] = {"same", "new", "gone", "larger", "smaller", "slower"};
typedef enum change { SAME, NEW, GONE, LARGER, SMALLER, SLOWER } change;

/* One shape of both runs, or of one: then the other's are 0. */
typedef struct pair {
    change change;
    kind of[TWO];
} pair;

typedef struct comparison {
    side sides[TWO];
    pair *pairs;
    size_t count, same; /* pairs that differ, and how many do not */
    uint64_t top, rank;
    bool is_json;
} comparison;

static bool is_by_site(const sc_history *history)
{
    return history->is_told[SC_OPTION_key] && history->options.key == SC_KEY_SITE;
}

static bool tells_sites; /* qsort has no argument for it */

static int by_key(const kind *a, const kind *b)
{
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return tells_sites ? strcmp(a->site ? a->site : "", b->site ? b->site : "") : 0;
}

static int compare_keys(const void *left, const void *right)
{
    return by_key(left, right);
}

static kind kind_of(const sc_shape *shape)
{
    uint64_t allocations = shape->requests > shape->hits ? shape->requests - shape->hits : 0;

    return (kind){.bytes = shape->bytes,
                  .site = shape->site,
                  .most = sc_shape_most_bytes(shape),
                  .allocations = allocations,
                  .ns = allocations * shape->miss_ns_avg};
}

/* The kinds of all shapes, each once, by key. */
static void gather(side *one, size_t count)
{
    kind *all = sc_need(count * sizeof *all);

    count = 0;
    for (unsigned i = 0; i < one->history->device_count; i++)
        for (unsigned s = 0; s < one->history->devices[i]->shape_count; s++)
            all[count++] = kind_of(one->history->devices[i]->shapes[s]);
    if (count)
        qsort(all, count, sizeof *all, compare_keys);
    one->kinds = all;
    for (size_t i = 0; i < count; i++) {
        kind *last = one->count ? &all[one->count - 1] : NULL;

        if (!last || by_key(last, &all[i]) != 0) {
            all[one->count++] = all[i];
            continue;
        }
        last->most += all[i].most;
        last->allocations += all[i].allocations;
        last->ns += all[i].ns;
    }
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void add_sums(sc_sums *into, const sc_sums *other)
{
#define SUM(member)             into->member += other->member
#define MOST(member)            into->member = larger(into->member, other->member)
#define ADD(how, member, field) how(member);
    SC_SUMS(ADD)
#undef ADD
#undef MOST
#undef SUM
}

static void sum_up(side *one)
{
    size_t count = 0;

    for (unsigned i = 0; i < one->history->device_count; i++) {
        const sc_device *device = one->history->devices[i];

        count += device->shape_count;
        one->steps = larger(one->steps, device->steps);
        one->shapes += device->shapes_seen;
        one->fallbacks += device->fallbacks;
        one->ooms += device->ooms;
        add_sums(&one->all, &device->all);
        for (unsigned p = 0; p < device->phase_count; p++) {
            one->rows += device->phases[p].sums.rows;
            one->dur_ns += device->phases[p].sums.dur_ns;
        }
    }
    gather(one, count);
}

static uint64_t mean_ns(const kind *one)
{
    return one->allocations ? one->ns / one->allocations : 0;
}

/* The first that holds. Times of few allocations, or of next to nothing, are chance. */
static change judge(const kind of[TWO])
{
    uint64_t before = mean_ns(&of[0]), after = mean_ns(&of[1]);

    if (of[1].most != of[0].most)
        return of[1].most > of[0].most ? LARGER : SMALLER;
    if (of[0].allocations >= SOME && of[1].allocations >= SOME && after > before + before / 2 &&
        after > before + MICROSECOND)
        return SLOWER;
    return SAME;
}

static void add(comparison *all, change how, const kind *before, const kind *after)
{
    pair *one = &all->pairs[all->count];

    if (how == SAME) {
        all->same++;
        return;
    }
    *one = (pair){.change = how};
    if (before)
        one->of[0] = *before;
    if (after)
        one->of[1] = *after;
    all->count++;
}

static uint64_t distance(const pair *one)
{
    uint64_t a = one->of[0].most, b = one->of[1].most;

    return a > b ? a - b : b - a;
}

static int compare_pairs(const void *left, const void *right)
{
    const pair *a = left, *b = right;

    if (distance(a) != distance(b))
        return distance(a) < distance(b) ? 1 : -1;
    return by_key(&a->of[a->change == NEW], &b->of[b->change == NEW]);
}

static void match(comparison *all)
{
    const side *a = &all->sides[0], *b = &all->sides[1];
    size_t i = 0, j = 0;

    all->pairs = sc_need((a->count + b->count) * sizeof *all->pairs);
    while (i < a->count || j < b->count) {
        int order = i == a->count ? 1 : j == b->count ? -1 : by_key(&a->kinds[i], &b->kinds[j]);

        if (order < 0) {
            add(all, GONE, &a->kinds[i++], NULL);
        } else if (order > 0) {
            add(all, NEW, NULL, &b->kinds[j++]);
        } else {
            kind both[TWO] = {a->kinds[i++], b->kinds[j++]};

            add(all, judge(both), &both[0], &both[1]);
        }
    }
    if (all->count)
        qsort(all->pairs, all->count, sizeof *all->pairs, compare_pairs);
}

static void figure(const char *name, const char *before, const char *after)
{
    sc_emit("%-14s  %12s  %12s\n", name, before, after);
}

static void count_figure(const char *name, uint64_t before, uint64_t after)
{
    char a[32], b[32];

    figure(name, sc_emit_count(a, before), sc_emit_count(b, after));
}

static void size_figure(const char *name, uint64_t before, uint64_t after)
{
    char a[16], b[16];

    figure(name, sc_emit_size(a, before), sc_emit_size(b, after));
}

static void time_figure(const char *name, uint64_t before, uint64_t after)
{
    char a[16], b[16];

    figure(name, sc_emit_time(a, before), sc_emit_time(b, after));
}

static void print_figures(const side *a, const side *b)
{
    char served[TWO][16];

    figure("", "A", "B");
    count_figure("steps", a->steps, b->steps);
    time_figure("time a step", a->rows ? a->dur_ns / a->rows : 0,
                b->rows ? b->dur_ns / b->rows : 0);
    count_figure("requests", a->all.requests, b->all.requests);
    figure("served", sc_emit_percent(served[0], a->all.hits, a->all.requests),
           sc_emit_percent(served[1], b->all.hits, b->all.requests));
    count_figure("driver calls", a->all.driver_allocs + a->all.driver_frees,
                 b->all.driver_allocs + b->all.driver_frees);
    time_figure("  their time", a->all.driver_ns, b->all.driver_ns);
    time_figure("frees waited", a->all.wait_ns, b->all.wait_ns);
    size_figure("live peak", a->all.live_peak, b->all.live_peak);
    size_figure("held peak", a->all.held_peak, b->all.held_peak);
    count_figure("shapes", a->shapes, b->shapes);
    count_figure("fallbacks", a->fallbacks, b->fallbacks);
    count_figure("out of memory", a->ooms, b->ooms);
}

static void cell_size(sc_table *table, const kind *one, bool is_there)
{
    char cell[16];

    sc_table_cell(table, is_there ? sc_emit_size(cell, one->most) : "-");
}

static void cell_time(sc_table *table, const kind *one)
{
    char cell[16];

    sc_table_cell(table, one->allocations ? sc_emit_time(cell, mean_ns(one)) : "-");
}

static void print_pairs(const comparison *all, size_t shown)
{
    sc_table table = {.titles = {"change", "bytes", "most, A", "B", "driver, A", "B", "site"},
                      .is_left = {[0] = true, [6] = true},
                      .columns = 7,
                      .gap = 2};
    char cell[32];

    for (size_t i = 0; i < shown; i++) {
        const pair *one = &all->pairs[i];
        const kind *named = &one->of[one->change == NEW];
        const sc_history *of = all->sides[one->change == NEW].history;

        sc_table_cell(&table, words[one->change]);
        snprintf(cell, sizeof cell, "%llu", (unsigned long long)named->bytes);
        sc_table_cell(&table, cell);
        cell_size(&table, &one->of[0], one->change != NEW);
        cell_size(&table, &one->of[1], one->change != GONE);
        cell_time(&table, &one->of[0]);
        cell_time(&table, &one->of[1]);
        sc_table_cell(&table, named->site ? sc_history_place(of, named->site) : "");
    }
    sc_emit("\n");
    if (shown)
        sc_table_print(&table);
    if (shown < all->count)
        sc_emit("%zu more changed; ", all->count - shown);
    sc_emit("%zu %s the same in both\n", all->same, all->same == 1 ? "shape is" : "shapes are");
}

static void json_side(const char *name, const side *one)
{
    sc_emit_open(name, '{');
    sc_emit_text("path", one->history->path);
    sc_emit_u64("steps", one->steps);
    sc_emit_u64("step_rows", one->rows);
    sc_emit_u64("dur_ns", one->dur_ns);
#define SHOW(how, member, field) sc_emit_u64(sc_field_name(SC_F_##field), one->all.member);
    SC_SUMS(SHOW)
#undef SHOW
    sc_emit_u64("shapes", one->shapes);
    sc_emit_u64("fallbacks", one->fallbacks);
    sc_emit_u64("ooms", one->ooms);
    sc_emit_end('}');
}

static void print_json(const comparison *all, size_t shown)
{
    sc_emit_open(NULL, '{');
    sc_emit_u64("v", 1);
    json_side("a", &all->sides[0]);
    json_side("b", &all->sides[1]);
    sc_emit_u64("shapes_same", all->same);
    sc_emit_open("shapes", '[');
    for (size_t i = 0; i < shown; i++) {
        const pair *one = &all->pairs[i];
        const kind *named = &one->of[one->change == NEW];

        sc_emit_open(NULL, '{');
        sc_emit_text("change", words[one->change]);
        sc_emit_u64("bytes", named->bytes);
        sc_symbols_emit(all->sides[one->change == NEW].history->symbols, named->site);
        sc_emit_u64("most_bytes_a", one->of[0].most);
        sc_emit_u64("most_bytes_b", one->of[1].most);
        sc_emit_u64("miss_ns_avg_a", mean_ns(&one->of[0]));
        sc_emit_u64("miss_ns_avg_b", mean_ns(&one->of[1]));
        sc_emit_end('}');
    }
    sc_emit_end(']');
    sc_emit_end('}');
}

/* In what a run asks for and what became of it; times never agree. */
static bool is_different(const comparison *all)
{
    return all->count || all->sides[0].fallbacks != all->sides[1].fallbacks ||
           all->sides[0].ooms != all->sides[1].ooms;
}

static void tell(comparison *all)
{
    size_t shown;

    tells_sites = is_by_site(all->sides[0].history) && is_by_site(all->sides[1].history);
    for (int i = 0; i < TWO; i++)
        sum_up(&all->sides[i]);
    match(all);
    shown = all->count < all->top ? all->count : (size_t)all->top;
    if (all->is_json) {
        print_json(all, shown);
    } else {
        print_figures(&all->sides[0], &all->sides[1]);
        print_pairs(all, shown);
    }
    for (int i = 0; i < TWO; i++)
        if (!sc_history_is_complete(all->sides[i].history))
            sc_say("diff: %.300s has no end: its figures are those of its steps",
                   all->sides[i].history->path);
    free(all->pairs);
}

/* 0, or the exit status. */
static int parse(comparison *all, const char *paths[TWO], int count, char **arguments)
{
    bool is_over = false;
    int taken = 0;

    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i];

        if (!is_over && !strcmp(argument, "--")) {
            is_over = true;
        } else if (is_over || argument[0] != '-' || !argument[1]) {
            if (taken == TWO)
                return sc_usage(&sc_command_diff, "diff: two logs, no more");
            paths[taken++] = argument;
        } else if (!strcmp(argument, "--json")) {
            all->is_json = true;
        } else if (!strcmp(argument, "--top")) {
            if (++i == count || !sc_parse_u64(arguments[i], &all->top))
                return sc_usage(&sc_command_diff, "diff: --top wants a number of shapes");
        } else if (!strcmp(argument, "--rank")) {
            if (++i == count || !sc_parse_u64(arguments[i], &all->rank))
                return sc_usage(&sc_command_diff, "diff: --rank wants the number of a rank");
        } else {
            return sc_usage(&sc_command_diff, "diff: no option \"%.64s\"", argument);
        }
    }
    return taken == TWO ? 0 : sc_usage(&sc_command_diff, "diff: which two logs?");
}

/* 0, or the exit status. */
static int read_side(side *one, sc_logs *logs, const char *path, uint64_t rank)
{
    int status = sc_logs_only(logs, path, rank, &sc_command_diff);
    char error[1024];

    if (status)
        return status;
    one->history = sc_history_read(logs->at[0], error, sizeof error);
    if (one->history)
        return 0;
    sc_say("diff: %s", error);
    return SC_EXIT_UNREADABLE;
}

static int diff(int count, char **arguments)
{
    comparison all = {.top = UINT64_MAX, .rank = SC_ANY_RANK};
    const char *paths[TWO] = {"", ""};
    sc_logs logs[TWO] = {{.at = NULL}, {.at = NULL}};
    int status = parse(&all, paths, count, arguments);

    for (int i = 0; !status && i < TWO; i++)
        status = read_side(&all.sides[i], &logs[i], paths[i], all.rank);
    if (!status) {
        tell(&all);
        status = is_different(&all) ? SC_EXIT_NO : SC_EXIT_DONE;
    }
    for (int i = 0; i < TWO; i++) {
        free(all.sides[i].kinds);
        if (all.sides[i].history)
            sc_history_delete(all.sides[i].history);
        sc_logs_release(&logs[i]);
    }
    return status;
}

const sc_command sc_command_diff = {
    .name = "diff",
    .run = diff,
    .summary = "compare two runs: figures, and what became of each shape",
    .help = "usage: shapecache diff [--top N] [--rank N] [--json] A B\n"
            "\n"
            "Compare two logs: the figures of both runs, then the shapes that are not the same\n"
            "in both, the greatest difference in bytes first. A and B are logs, or folders of\n"
            "runs.\n"
            "\n"
            "  new, gone        only B, or only A, asked for it\n"
            "  larger, smaller  B had more, or less, of it live at once\n"
            "  slower           as much, but the driver took more than half as long again for\n"
            "                   an allocation of it\n"
            "\n"
            "Shapes are told apart by their bytes, and by their site where both runs were\n"
            "logged with SHAPECACHE_KEY=bytes+site.\n"
            "\n"
            "  --top N   only the first N shapes\n"
            "  --rank N  of rank N, where a folder has several logs\n"
            "  --json    a document for programs\n"
            "\n"
            "exit status: 0 no shape is listed, and as many fallbacks and times out of memory in\n"
            "both, 1 they differ, 2 usage, or a log that is unreadable or malformed\n",
};
