/* SPDX-License-Identifier: MIT
 * export_stacks.c - the call sites of a log, outermost caller first, each with the bytes that its
 * shapes had live at most: as collapsed stacks, which flame graph scripts read, and as a profile
 * for speedscope.app. A site is one frame, or with SHAPECACHE_STACKS=N up to N of them. */
#include "base/map.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/export.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char CALLS[] = " > "; /* stands between a caller and whom it calls */
enum { FRAMES_MOST = 64, SHAPE_BITS = 32 };

/* What the last row of a shape said. */
typedef struct seen {
    uint64_t bytes; /* live at most */
    char *site;
} seen;

/* One call site of all logs. */
typedef struct stack {
    char *site;
    uint64_t bytes;
} stack;

typedef struct stacks {
    sc_map shapes;       /* of this log, by device and id */
    sc_symbols *symbols; /* of this log */
    stack *at;
    size_t count, room;
} stacks;

static unsigned level(const sc_export *export)
{
    (void)export;
    return SC_LEVEL_SUMMARY;
}

static void begin(sc_export *export)
{
    export->state = sc_need(sizeof(stacks));
}

static void log_begins(sc_export *export)
{
    (void)export;
}

static bool take(sc_export *export, const sc_line *line)
{
    stacks *all = export->state;
    uint64_t device = sc_line_u64(line, SC_F_DEV), id = sc_line_u64(line, SC_F_ID);
    uint64_t key = (device << SHAPE_BITS | id) + 1;
    const char *site = sc_line_text(line, SC_F_SITE);
    seen *shape;

    sc_symbols_learn(&all->symbols, line);
    if (line->event != SC_EV_SHAPE || sc_export_is_other(export, line))
        return true;
    if (device >= SC_DEVICES_MOST || id >= UINT64_C(1) << SHAPE_BITS)
        return sc_export_bad(export, "expected a shape below 2^32 of a device below %d",
                             SC_DEVICES_MOST);
    shape = sc_map_find(&all->shapes, key);
    if (!shape) {
        shape = sc_need(sizeof *shape);
        shape->site = sc_need_copy(site ? site : "unknown");
        if (!sc_map_put(&all->shapes, key, shape)) {
            sc_say("out of memory");
            exit(SC_EXIT_FAILED);
        }
    }
    shape->bytes = sc_line_u64(line, SC_F_BYTES) * sc_line_u64(line, SC_F_HIGH);
    return true;
}

static int by_site(const void *left, const void *right)
{
    return strcmp(((const stack *)left)->site, ((const stack *)right)->site);
}

/* For people: from here on frames of two builds of a program are the same where they are. */
static void add(stacks *all, seen *shape)
{
    char *place = sc_need_copy(sc_symbols_place(all->symbols, shape->site));

    free(shape->site);
    shape->site = place;
    if (all->count == all->room) {
        all->room = all->room ? 2 * all->room : SC_EV_COUNT;
        all->at = sc_need_again(all->at, all->room * sizeof *all->at);
    }
    all->at[all->count++] = (stack){shape->site, shape->bytes};
}

/* Each site once. */
static void merge(stacks *all)
{
    size_t kept = 0;

    if (all->count)
        qsort(all->at, all->count, sizeof *all->at, by_site);
    for (size_t i = 0; i < all->count; i++) {
        if (kept && by_site(&all->at[kept - 1], &all->at[i]) == 0) {
            all->at[kept - 1].bytes += all->at[i].bytes;
            free(all->at[i].site);
        } else {
            all->at[kept++] = all->at[i];
        }
    }
    all->count = kept;
}

static void log_ends(sc_export *export)
{
    stacks *all = export->state;

    for (size_t i = 0; i < all->shapes.size; i++) {
        if (!all->shapes.entries[i].key)
            continue;
        add(all, all->shapes.entries[i].value);
        free(all->shapes.entries[i].value);
    }
    sc_map_release(&all->shapes);
    all->shapes = (sc_map){NULL, 0, 0};
    sc_symbols_delete(all->symbols);
    all->symbols = NULL;
    merge(all);
}

static void drop(sc_export *export)
{
    stacks *all = export->state;

    for (size_t i = 0; i < all->shapes.size; i++) {
        if (all->shapes.entries[i].key) {
            free(((seen *)all->shapes.entries[i].value)->site);
            free(all->shapes.entries[i].value);
        }
    }
    sc_map_release(&all->shapes);
    for (size_t i = 0; i < all->count; i++)
        free(all->at[i].site);
    sc_symbols_delete(all->symbols);
    free(all->at);
    free(all);
}

/* The frames of a site, outermost first, as it stands in the log; the text is cut into them. */
static unsigned split(char *site, char *frames[FRAMES_MOST])
{
    unsigned count = 0;

    do {
        frames[count++] = site;
        site = strstr(site, CALLS);
        if (site) {
            *site = '\0';
            site += strlen(CALLS);
        }
    } while (site && count < FRAMES_MOST);
    return count;
}

/* In a collapsed stack a semicolon parts frames, and an end of line stacks. */
static void make_one_word(char *frame)
{
    for (char *c = frame; *c; c++)
        if (*c == ';')
            *c = ':';
        else if (iscntrl((unsigned char)*c))
            *c = '?';
}

static void end_collapsed(sc_export *export)
{
    stacks *all = export->state;

    for (size_t i = 0; i < all->count; i++) {
        char *frames[FRAMES_MOST];
        unsigned count = split(all->at[i].site, frames);

        for (unsigned f = 0; f < count; f++) {
            make_one_word(frames[f]);
            fprintf(export->out, "%s%c", frames[f], f + 1 < count ? ';' : ' ');
        }
        fprintf(export->out, "%llu\n", (unsigned long long)all->at[i].bytes);
    }
    drop(export);
}

static void put_json(FILE *out, const char *text)
{
    size_t room = 6 * strlen(text) + 3; /* \u00XX at worst */
    char *quoted = sc_need(room);
    sc_text into = sc_text_over(quoted, room);

    sc_text_json(&into, text);
    fputs(sc_text_terminate(&into), out);
    free(quoted);
}

/* A frame may stand there more than once: speedscope tells frames apart by their names. */
static void end_speedscope(sc_export *export)
{
    stacks *all = export->state;
    FILE *out = export->out;
    unsigned *counts = sc_need(all->count * sizeof *counts), number = 0;
    uint64_t sum = 0;

    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
          "\"exporter\":\"shapecache\",\"shared\":{\"frames\":[",
          out);
    for (size_t i = 0; i < all->count; i++) {
        char *frames[FRAMES_MOST];

        counts[i] = split(all->at[i].site, frames);
        for (unsigned f = 0; f < counts[i]; f++) {
            fputs(number++ ? ",\n{\"name\":" : "\n{\"name\":", out);
            put_json(out, frames[f]);
            fputc('}', out);
        }
        sum += all->at[i].bytes;
    }
    fprintf(out,
            "]},\n\"profiles\":[{\"type\":\"sampled\",\"name\":\"bytes live at most, by call "
            "site\",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":%llu,\n\"samples\":[",
            (unsigned long long)sum);
    number = 0;
    for (size_t i = 0; i < all->count; i++) {
        fputs(i ? ",[" : "[", out);
        for (unsigned f = 0; f < counts[i]; f++)
            fprintf(out, "%s%u", f ? "," : "", number++);
        fputc(']', out);
    }
    fputs("],\n\"weights\":[", out);
    for (size_t i = 0; i < all->count; i++)
        fprintf(out, "%s%llu", i ? "," : "", (unsigned long long)all->at[i].bytes);
    fputs("]}]}\n", out);
    free(counts);
    drop(export);
}

const sc_export_format sc_export_collapsed = {
    .name = "collapsed",
    .level = level,
    .begin = begin,
    .log = log_begins,
    .take = take,
    .log_end = log_ends,
    .end = end_collapsed,
    .drop = drop,
};

const sc_export_format sc_export_speedscope = {
    .name = "speedscope",
    .level = level,
    .begin = begin,
    .log = log_begins,
    .take = take,
    .log_end = log_ends,
    .end = end_speedscope,
    .drop = drop,
};
