/* SPDX-License-Identifier: MIT
 * list_sites.c - `shapecache sites`: the places in the program that ask for memory, and what the
 * shapes of each add up to. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/history.h"
#include "cli/logs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One place. The names are those of the fields of a shape. */
typedef struct place {
    const char *site; /* NULL: unknown */
    uint64_t shapes, most_bytes;
    uint64_t requests, hits, misses, evicted;
    uint64_t first_step, last_step;
} place;

typedef struct places {
    place *at;
    size_t count;
} places;

static uint64_t most_of(const place *one)
{
    return one->most_bytes;
}

static uint64_t shapes_of(const place *one)
{
    return one->shapes;
}

static uint64_t requests_of(const place *one)
{
    return one->requests;
}

static uint64_t hits_of(const place *one)
{
    return one->hits;
}

static uint64_t misses_of(const place *one)
{
    return one->misses;
}

static const struct sort {
    const char *name;
    uint64_t (*value)(const place *one);
} sorts[] = {
    {"high", most_of}, {"shapes", shapes_of}, {"requests", requests_of},
    {"hits", hits_of}, {"misses", misses_of},
};

enum { SORTS = sizeof sorts / sizeof *sorts };

typedef struct sites_request {
    const char *log;
    const struct sort *sort;
    uint64_t top, rank;
    bool is_json;
} sites_request;

static int by_name(const place *a, const place *b)
{
    return strcmp(a->site ? a->site : "", b->site ? b->site : "");
}

static int compare_names(const void *left, const void *right)
{
    return by_name(left, right);
}

static const struct sort *order; /* qsort has no argument for it */

static int compare(const void *left, const void *right)
{
    uint64_t a = order->value(left), b = order->value(right);

    return a != b ? (a < b ? 1 : -1) : by_name(left, right);
}

static place place_of(const sc_shape *shape)
{
    return (place){.site = shape->site,
                   .shapes = 1,
                   .most_bytes = sc_shape_most_bytes(shape),
                   .requests = shape->requests,
                   .hits = shape->hits,
                   .misses = shape->misses,
                   .evicted = shape->evicted,
                   .first_step = shape->first_step,
                   .last_step = shape->last_step};
}

static void merge(place *into, const place *other)
{
    into->shapes += other->shapes;
    into->most_bytes += other->most_bytes;
    into->requests += other->requests;
    into->hits += other->hits;
    into->misses += other->misses;
    into->evicted += other->evicted;
    if (other->first_step < into->first_step)
        into->first_step = other->first_step;
    if (other->last_step > into->last_step)
        into->last_step = other->last_step;
}

static places collect(const sc_history *history)
{
    places all = {.count = 0};
    size_t count = 0;

    for (unsigned i = 0; i < history->device_count; i++)
        count += history->devices[i]->shape_count;
    all.at = sc_need(count * sizeof *all.at);
    count = 0;
    for (unsigned i = 0; i < history->device_count; i++)
        for (unsigned s = 0; s < history->devices[i]->shape_count; s++)
            all.at[count++] = place_of(history->devices[i]->shapes[s]);
    if (count)
        qsort(all.at, count, sizeof *all.at, compare_names);
    for (size_t i = 0; i < count; i++)
        if (all.count && by_name(&all.at[all.count - 1], &all.at[i]) == 0)
            merge(&all.at[all.count - 1], &all.at[i]);
        else
            all.at[all.count++] = all.at[i];
    return all;
}

static void print(const sc_history *history, const places *all, size_t shown)
{
    sc_table table = {
        .titles = {"shapes", "at most", "requests", "hits", "misses", "steps", "site"},
        .is_left = {[6] = true},
        .columns = 7,
        .gap = 2};
    char cell[48];

    for (size_t i = 0; i < shown; i++) {
        const place *one = &all->at[i];

        snprintf(cell, sizeof cell, "%llu", (unsigned long long)one->shapes);
        sc_table_cell(&table, cell);
        sc_table_cell(&table, sc_emit_size(cell, one->most_bytes));
        snprintf(cell, sizeof cell, "%llu", (unsigned long long)one->requests);
        sc_table_cell(&table, cell);
        sc_table_cell(&table, sc_emit_percent(cell, one->hits, one->requests));
        snprintf(cell, sizeof cell, "%llu", (unsigned long long)one->misses);
        sc_table_cell(&table, cell);
        snprintf(cell, sizeof cell, "%llu-%llu", (unsigned long long)one->first_step,
                 (unsigned long long)one->last_step);
        sc_table_cell(&table, cell);
        sc_table_cell(&table, one->site ? sc_history_place(history, one->site) : "unknown");
    }
    if (shown)
        sc_table_print(&table);
    else if (!all->count)
        sc_emit("no shape was asked for\n");
}

static void print_json(const sc_history *history, const places *all, size_t shown)
{
    sc_emit_open(NULL, '{');
    sc_emit_u64("v", 1);
    sc_emit_open("sites", '[');
    for (size_t i = 0; i < shown; i++) {
        const place *one = &all->at[i];

        sc_emit_open(NULL, '{');
        sc_symbols_emit(history->symbols, one->site);
        sc_emit_u64("shapes", one->shapes);
        sc_emit_u64("most_bytes", one->most_bytes);
        sc_emit_u64("requests", one->requests);
        sc_emit_u64("hits", one->hits);
        sc_emit_u64("misses", one->misses);
        sc_emit_u64("evicted", one->evicted);
        sc_emit_u64("first_step", one->first_step);
        sc_emit_u64("last_step", one->last_step);
        sc_emit_end('}');
    }
    sc_emit_end(']');
    sc_emit_end('}');
}

static int parse_sort(sites_request *request, const char *name)
{
    for (int i = 0; name && i < SORTS; i++) {
        if (!strcmp(sorts[i].name, name)) {
            request->sort = &sorts[i];
            return 0;
        }
    }
    return sc_usage(&sc_command_sites,
                    "sites: --sort wants high, shapes, requests, hits or misses");
}

/* 0, or the exit status. */
static int parse(sites_request *request, int count, char **arguments)
{
    bool is_over = false;

    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i], *next = i + 1 < count ? arguments[i + 1] : NULL;
        int status = 0;

        if (!is_over && !strcmp(argument, "--")) {
            is_over = true;
        } else if (is_over || argument[0] != '-' || !argument[1]) {
            if (request->log)
                return sc_usage(&sc_command_sites, "sites: one log at a time");
            request->log = argument;
        } else if (!strcmp(argument, "--json")) {
            request->is_json = true;
        } else if (!strcmp(argument, "--sort")) {
            status = parse_sort(request, next);
            i++;
        } else if (!strcmp(argument, "--top")) {
            if (!next || !sc_parse_u64(next, &request->top))
                return sc_usage(&sc_command_sites, "sites: --top wants a number of sites");
            i++;
        } else if (!strcmp(argument, "--rank")) {
            if (!next || !sc_parse_u64(next, &request->rank))
                return sc_usage(&sc_command_sites, "sites: --rank wants the number of a rank");
            i++;
        } else {
            return sc_usage(&sc_command_sites, "sites: no option \"%.64s\"", argument);
        }
        if (status)
            return status;
    }
    return request->log ? 0 : sc_usage(&sc_command_sites, "sites: which log?");
}

static int show(const sites_request *request, const char *log)
{
    char error[1024];
    sc_history *history = sc_history_read(log, error, sizeof error);

    if (!history) {
        sc_say("sites: %s", error);
        return SC_EXIT_UNREADABLE;
    }
    places all = collect(history);
    size_t shown = all.count < request->top ? all.count : (size_t)request->top;

    order = request->sort;
    if (all.count)
        qsort(all.at, all.count, sizeof *all.at, compare);
    if (request->is_json)
        print_json(history, &all, shown);
    else
        print(history, &all, shown);
    free(all.at);
    sc_history_delete(history);
    return SC_EXIT_DONE;
}

static int list_sites(int count, char **arguments)
{
    sites_request request = {.sort = &sorts[0], .top = UINT64_MAX, .rank = SC_ANY_RANK};
    int status = parse(&request, count, arguments);
    sc_logs logs = {.at = NULL};

    if (!status)
        status = sc_logs_only(&logs, request.log, request.rank, &sc_command_sites);
    if (!status)
        status = show(&request, logs.at[0]);
    sc_logs_release(&logs);
    return status;
}

const sc_command sc_command_sites = {
    .name = "sites",
    .run = list_sites,
    .summary = "list the places in the program that ask for memory",
    .help = "usage: shapecache sites [--sort BY] [--top N] [--rank N] [--json] PATH\n"
            "\n"
            "List the call sites of one log and what their shapes add up to: how many shapes,\n"
            "how many bytes at most (each shape's own most, which need not be at the same\n"
            "time), requests, the share that was served, misses. PATH is a log, - for standard\n"
            "input, or the folder of a run.\n"
            "\n"
            "A shape counts for the site that asked for it first; with SHAPECACHE_KEY=bytes+site\n"
            "each site has shapes of its own.\n"
            "\n"
            "  --sort BY  most first: high (bytes, the default), shapes, requests, hits, misses\n"
            "  --top N    only the first N of them\n"
            "  --rank N   of rank N, where the folder has several logs\n"
            "  --json     a document for programs\n"
            "\n"
            "exit status: 0, 2 usage, 3 a log that is unreadable or malformed\n",
};
