/* SPDX-License-Identifier: MIT
 * shapes.c - the shapes of one log: listed, or saved as a set to declare to a later run. */
#include "base/set.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/history.h"
#include "cli/logs.h"
#include "cli/out.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

/* What a list can be sorted by; the most of it comes first. */
static uint64_t bytes_of(const sc_shape *shape)
{
    return shape->bytes;
}

static uint64_t held_of(const sc_shape *shape)
{
    return sc_shape_most_bytes(shape);
}

static uint64_t requests_of(const sc_shape *shape)
{
    return shape->requests;
}

static uint64_t hits_of(const sc_shape *shape)
{
    return shape->hits;
}

static uint64_t misses_of(const sc_shape *shape)
{
    return shape->misses;
}

static uint64_t evicted_of(const sc_shape *shape)
{
    return shape->evicted;
}

static const struct sort {
    const char *name;
    uint64_t (*value)(const sc_shape *shape); /* NULL: the order of first sight */
} sorts[] = {
    {"high", held_of}, {"bytes", bytes_of},   {"requests", requests_of},
    {"hits", hits_of}, {"misses", misses_of}, {"evicted", evicted_of},
    {"seen", NULL},
};

enum { SORTS = sizeof sorts / sizeof *sorts };

typedef struct shapes_request {
    const char *log, *save;
    const struct sort *sort;
    uint64_t top, rank;
    bool is_json;
} shapes_request;

/* One shape of one device. */
typedef struct listed {
    const sc_device *device;
    const sc_shape *shape;
} listed;

typedef struct list {
    const sc_history *history;
    listed *at;
    size_t count; /* of all */
    size_t shown;
} list;

static const struct sort *order; /* qsort has no argument for it */

static int compare(const void *left, const void *right)
{
    const listed *a = left, *b = right;
    uint64_t x = order->value ? order->value(a->shape) : 0;
    uint64_t y = order->value ? order->value(b->shape) : 0;

    if (x != y)
        return x < y ? 1 : -1;
    if (order->value == held_of && a->shape->bytes != b->shape->bytes)
        return a->shape->bytes < b->shape->bytes ? 1 : -1;
    if (a->device->ordinal != b->device->ordinal)
        return a->device->ordinal < b->device->ordinal ? -1 : 1;
    return a->shape->id < b->shape->id ? -1 : a->shape->id > b->shape->id;
}

static list make_list(const sc_history *history, const shapes_request *request)
{
    list all = {.history = history};

    for (unsigned i = 0; i < history->device_count; i++)
        all.count += history->devices[i]->shape_count;
    all.at = sc_need(all.count * sizeof *all.at);
    all.count = 0;
    for (unsigned i = 0; i < history->device_count; i++)
        for (unsigned s = 0; s < history->devices[i]->shape_count; s++)
            all.at[all.count++] = (listed){history->devices[i], history->devices[i]->shapes[s]};
    order = request->sort;
    if (all.count)
        qsort(all.at, all.count, sizeof *all.at, compare);
    all.shown = all.count < request->top ? all.count : (size_t)request->top;
    return all;
}

static void cell_u64(sc_table *table, uint64_t value)
{
    char cell[32];

    snprintf(cell, sizeof cell, "%llu", (unsigned long long)value);
    sc_table_cell(table, cell);
}

/* "attention scores 16x512x512" */
static void hint_text(sc_text *text, const sc_hint *hint)
{
    sc_text_string(text, hint->label);
    if (hint->label[0] && hint->count)
        sc_text_char(text, ' ');
    sc_hint_dims(hint, text);
}

static void print(const sc_history *history, const list *all)
{
    bool has_devices = history->device_count > 1, has_hints = false;
    sc_table table = {.gap = 2};
    const char *const titles[] = {"shape", "bytes",  "high",    "requests",
                                  "hits",  "misses", "evicted", "steps"};
    unsigned fixed = sizeof titles / sizeof *titles;

    for (size_t i = 0; i < all->shown; i++)
        has_hints = has_hints || all->at[i].shape->hint.label[0] || all->at[i].shape->hint.count;
    if (has_devices)
        table.titles[table.columns++] = "dev";
    for (unsigned i = 0; i < fixed; i++)
        table.titles[table.columns++] = titles[i];
    if (has_hints) {
        table.is_left[table.columns] = true;
        table.titles[table.columns++] = "what";
    }
    table.is_left[table.columns] = true;
    table.titles[table.columns++] = "site";
    for (size_t i = 0; i < all->shown; i++) {
        const sc_shape *shape = all->at[i].shape;
        const uint64_t numbers[] = {shape->id,   shape->bytes,  shape->high,   shape->requests,
                                    shape->hits, shape->misses, shape->evicted};
        char text[TEXT_BYTES];
        sc_text what = sc_text_over(text, sizeof text);

        if (has_devices)
            cell_u64(&table, all->at[i].device->ordinal);
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
            cell_u64(&table, numbers[n]);
        sc_text_u64(&what, shape->first_step);
        sc_text_char(&what, '-');
        sc_text_u64(&what, shape->last_step);
        sc_table_cell(&table, sc_text_terminate(&what));
        sc_text_clear(&what);
        hint_text(&what, &shape->hint);
        if (has_hints)
            sc_table_cell(&table, sc_text_terminate(&what));
        sc_table_cell(&table, shape->site ? sc_history_place(all->history, shape->site) : "");
    }
    if (all->shown)
        sc_table_print(&table);
    else if (!all->count)
        sc_emit("no shape was asked for\n");
}

static void print_json(const list *all)
{
    sc_emit_open(NULL, '{');
    sc_emit_u64("v", 1);
    sc_emit_open("shapes", '[');
    for (size_t i = 0; i < all->shown; i++) {
        const sc_shape *shape = all->at[i].shape;

        sc_emit_open(NULL, '{');
        sc_emit_u64("dev", all->at[i].device->ordinal);
        sc_emit_u64("id", shape->id);
        sc_emit_u64("bytes", shape->bytes);
        sc_symbols_emit(all->history->symbols, shape->site);
        if (shape->hint.label[0])
            sc_emit_text("label", shape->hint.label);
        if (shape->hint.count) {
            sc_emit_open("dims", '[');
            for (unsigned d = 0; d < shape->hint.count; d++)
                sc_emit_u64(NULL, shape->hint.dims[d]);
            sc_emit_end(']');
        }
#define SHOW(member, field) sc_emit_u64(sc_field_name(SC_F_##field), shape->member);
        SC_SHAPE_COUNTS(SHOW)
#undef SHOW
        sc_emit_end('}');
    }
    sc_emit_end(']');
    sc_emit_end('}');
}

/* Of all devices; 0: they differ, or it is not told. */
static uint64_t memory_of(const sc_history *history)
{
    uint64_t memory = history->device_count ? history->devices[0]->total : 0;

    for (unsigned i = 0; i < history->device_count; i++)
        if (history->devices[i]->total != memory)
            return 0;
    return memory;
}

static bool is_by_site(const sc_history *history)
{
    return history->is_told[SC_OPTION_key] && history->options.key == SC_KEY_SITE;
}

static const list *repeated; /* for the comparison below */
static bool is_site_compared;

/* By what the file says of a shape, then by place in the list. */
static int compare_words(const void *left, const void *right)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const sc_shape *x = repeated->at[a].shape, *y = repeated->at[b].shape;
    int sites = is_site_compared && x->site && y->site ? strcmp(x->site, y->site) : 0;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return sites ? sites : a < b ? -1 : a > b;
}

/* True for each shape to save: shown, with a site where it is part of the key, and the first of
 * those that other devices or contexts have, too. */
static bool *choose(const sc_history *history, const list *all)
{
    bool *is_chosen = sc_need(all->shown * sizeof *is_chosen);
    size_t *places = sc_need(all->shown * sizeof *places), count = 0;

    is_site_compared = is_by_site(history);
    repeated = all;
    for (size_t i = 0; i < all->shown; i++)
        if (!is_site_compared || all->at[i].shape->site)
            places[count++] = i;
    if (count)
        qsort(places, count, sizeof *places, compare_words);
    for (size_t i = 0; i < count; i++) {
        const sc_shape *shape = all->at[places[i]].shape;
        const sc_shape *before = i ? all->at[places[i - 1]].shape : NULL;

        is_chosen[places[i]] = !before || before->bytes != shape->bytes ||
                               (is_site_compared && strcmp(before->site, shape->site) != 0);
    }
    free(places);
    return is_chosen;
}

/* An odd last batch, an evaluation: declared, it would be a shape that never comes. */
static bool is_of_one_step(const sc_shape *shape)
{
    return shape->first_step == shape->last_step;
}

static void write_shape(FILE *out, const sc_shape *shape)
{
    char bytes[TEXT_BYTES], size[16];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    sc_text_string(&text, "shape ");
    sc_text_u64(&text, shape->bytes);
    if (shape->hint.label[0]) {
        sc_text_string(&text, " label ");
        sc_set_word(&text, shape->hint.label);
    }
    if (shape->hint.count) {
        sc_text_string(&text, " dims ");
        sc_hint_dims(&shape->hint, &text);
    }
    if (shape->site) {
        sc_text_string(&text, " site ");
        sc_set_word(&text, shape->site);
    }
    fprintf(out, "%s  # %s, %llu at once, %llu request%s", sc_text_terminate(&text),
            sc_emit_size(size, shape->bytes), (unsigned long long)shape->high,
            (unsigned long long)shape->requests, shape->requests == 1 ? "" : "s");
    if (is_of_one_step(shape))
        fprintf(out, ", in step %llu alone", (unsigned long long)shape->first_step);
    fputc('\n', out);
}

/* How many shapes were written, and how many of them came in one step alone. */
typedef struct written {
    size_t all, of_one_step;
} written;

static written write_set(FILE *out, const sc_history *history, const list *all)
{
    char bytes[TEXT_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);
    bool *is_chosen = choose(history, all);
    written count = {0, 0};

    fprintf(out,
            "shapecache shapes %d\n"
            "# The shapes of run %s. docs/shapes.md says what may stand here.\n",
            SC_SET_VERSION, history->run);
    if (*history->build) {
        sc_set_word(&text, history->build);
        fprintf(out, "build %s\n", sc_text_terminate(&text));
    }
    fprintf(out, "world %llu\nrank %llu\n", (unsigned long long)history->world,
            (unsigned long long)history->rank);
    if (memory_of(history))
        fprintf(out, "memory %llu\n", (unsigned long long)memory_of(history));
    fprintf(out, "key %s\n\n", is_by_site(history) ? "bytes+site" : "bytes");
    for (size_t i = 0; i < all->shown; i++) {
        if (!is_chosen[i])
            continue;
        write_shape(out, all->at[i].shape);
        count.all++;
        count.of_one_step += is_of_one_step(all->at[i].shape);
    }
    free(is_chosen);
    return count;
}

static int save(const sc_history *history, const list *all, const char *path)
{
    written count;
    uint64_t seen = 0;
    sc_out out;

    if (!sc_out_open(&out, path, "shapes"))
        return SC_EXIT_UNREADABLE;
    count = write_set(out.file, history, all);
    if (!sc_out_close(&out, true))
        return SC_EXIT_UNREADABLE;
    for (unsigned i = 0; i < history->device_count; i++)
        seen += history->devices[i]->shapes_seen;
    sc_say("saved %llu shapes to %s", (unsigned long long)count.all, path);
    if (count.of_one_step)
        sc_say("%llu of them came in one step alone, as the file says: take out those that will "
               "not come again",
               (unsigned long long)count.of_one_step);
    if (seen > all->count)
        sc_say("the run had %llu shapes, and its log names %llu", (unsigned long long)seen,
               (unsigned long long)all->count);
    if (!sc_history_is_complete(history))
        sc_say("the log has no end: shapes that came later are not in it");
    return SC_EXIT_DONE;
}

static int parse_sort(shapes_request *request, const char *name)
{
    for (int i = 0; name && i < SORTS; i++) {
        if (!strcmp(sorts[i].name, name)) {
            request->sort = &sorts[i];
            return 0;
        }
    }
    return sc_usage(&sc_command_shapes,
                    "shapes: --sort wants high, bytes, requests, hits, misses, evicted or seen");
}

/* 0, or the exit status. */
static int parse(shapes_request *request, int count, char **arguments)
{
    bool is_over = false;

    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i], *next = i + 1 < count ? arguments[i + 1] : NULL;
        int status = 0;

        if (!is_over && !strcmp(argument, "--")) {
            is_over = true;
        } else if (is_over || argument[0] != '-' || !argument[1]) {
            if (request->log)
                return sc_usage(&sc_command_shapes, "shapes: one log at a time");
            request->log = argument;
        } else if (!strcmp(argument, "--sort")) {
            status = parse_sort(request, next);
            i++;
        } else if (!strcmp(argument, "--top")) {
            if (!next || !sc_parse_u64(next, &request->top))
                return sc_usage(&sc_command_shapes, "shapes: --top wants a number of shapes");
            i++;
        } else if (!strcmp(argument, "--rank")) {
            if (!next || !sc_parse_u64(next, &request->rank))
                return sc_usage(&sc_command_shapes, "shapes: --rank wants the number of a rank");
            i++;
        } else if (!strcmp(argument, "--json")) {
            request->is_json = true;
        } else if (!strcmp(argument, "--save")) {
            if (!next || !*next)
                return sc_usage(&sc_command_shapes, "shapes: --save wants the name of a file");
            request->save = next;
            i++;
        } else {
            return sc_usage(&sc_command_shapes, "shapes: no option \"%.64s\"", argument);
        }
        if (status)
            return status;
    }
    return request->log ? 0 : sc_usage(&sc_command_shapes, "shapes: which log?");
}

static int read_and_show(const shapes_request *request, const char *log)
{
    char error[1024];
    int status = SC_EXIT_DONE;
    sc_history *history = sc_history_read(log, error, sizeof error);

    if (!history) {
        sc_say("shapes: %s", error);
        return SC_EXIT_UNREADABLE;
    }
    list all = make_list(history, request);

    if (request->save)
        status = save(history, &all, request->save);
    else if (request->is_json)
        print_json(&all);
    else
        print(history, &all);
    free(all.at);
    sc_history_delete(history);
    return status;
}

static int shapes(int count, char **arguments)
{
    shapes_request request = {.sort = &sorts[0], .top = UINT64_MAX, .rank = SC_ANY_RANK};
    int status = parse(&request, count, arguments);
    sc_logs logs = {.at = NULL};

    if (!status)
        status = sc_logs_only(&logs, request.log, request.rank, &sc_command_shapes);
    if (!status)
        status = sc_out_check(request.save, &logs, &sc_command_shapes);
    if (!status)
        status = read_and_show(&request, logs.at[0]);
    sc_logs_release(&logs);
    return status;
}

const sc_command sc_command_shapes = {
    .name = "shapes",
    .run = shapes,
    .summary = "list the shapes of a run, or save them as a declared set",
    .help = "usage: shapecache shapes [--sort BY] [--top N] [--rank N] [--json] [--save FILE]\n"
            "                         PATH\n"
            "\n"
            "List the shapes that the program of one log asked for, or save them for\n"
            "SHAPECACHE_SHAPES=FILE, which lets a later run cache from its first request on.\n"
            "PATH is a log, - for standard input, or the folder of a run.\n"
            "\n"
            "  --sort BY    most first: high (bytes live at once, the default), bytes,\n"
            "               requests, hits, misses, evicted; or seen, in order of first sight\n"
            "  --top N      only the first N of them\n"
            "  --rank N     of rank N, where the folder has several logs\n"
            "  --json       a document for programs\n"
            "  --save FILE  write them to FILE, replacing what is there; docs/shapes.md\n"
            "               describes it; nothing is listed\n"
            "\n"
            "exit status: 0, 2 usage, 3 a log that is unreadable or malformed, or a FILE that\n"
            "cannot be written\n",
};
