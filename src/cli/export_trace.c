/* SPDX-License-Identifier: MIT
 * export_trace.c - what build/bench/replay plays: `a ID BYTES`, `f ID`, and `# step N` where a step
 * began. Ids are the numbers of the allocations. */
#include "cli/command.h"
#include "cli/requests.h"
#include <stdlib.h>
#include <string.h>

/* Each step has a line, and no program ends so many without a request. */
enum { STEPS_APART = 1 << 20 };

typedef struct trace {
    sc_requests requests;
    uint64_t steps; /* marked so far */
    char source[SC_WORD_BYTES];
} trace;

static unsigned level(const sc_export *export)
{
    (void)export;
    return SC_LEVEL_EVENT;
}

/* A row, after the steps that began before it. */
static void write_row(sc_export *export, const sc_line *line)
{
    trace *all = export->state;

    if (!export->written++)
        fprintf(export->out, "# shapecache %s, device %llu\n", export->run->build,
                (unsigned long long)all->requests.device);
    for (; all->steps <= sc_line_u64(line, SC_F_STEP); all->steps++)
        fprintf(export->out, "# step %llu\n", (unsigned long long)all->steps);
}

static void on_alloc(sc_export *export, const sc_line *line, const sc_block *block)
{
    write_row(export, line);
    fprintf(export->out, "a %llu %llu\n", (unsigned long long)block->number,
            (unsigned long long)block->bytes);
}

static void on_free(sc_export *export, const sc_line *line, const sc_block *block)
{
    write_row(export, line);
    fprintf(export->out, "f %llu\n", (unsigned long long)block->number);
}

static void begin(sc_export *export)
{
    trace *all = sc_need(sizeof *all);

    all->requests.alloc = on_alloc;
    all->requests.free = on_free;
    export->state = all;
}

static void log_begins(sc_export *export)
{
    (void)export;
}

static bool take(sc_export *export, const sc_line *line)
{
    trace *all = export->state;

    if (line->event == SC_EV_PHASE && line->has[SC_F_STEP_SOURCE])
        snprintf(all->source, sizeof all->source, "%s", sc_line_text(line, SC_F_STEP_SOURCE));
    if ((line->event == SC_EV_ALLOC || line->event == SC_EV_FREE) &&
        sc_line_u64(line, SC_F_STEP) > all->steps + STEPS_APART)
        return sc_export_bad(export, "expected step %llu or one not long after, found %llu",
                             (unsigned long long)all->steps,
                             (unsigned long long)sc_line_u64(line, SC_F_STEP));
    return sc_requests_take(&all->requests, export, line);
}

static void drop(sc_export *export)
{
    trace *all = export->state;

    sc_requests_release(&all->requests);
    free(all);
}

static void log_ends(sc_export *export)
{
    trace *all = export->state;

    if (!export->written)
        return;
    if (!strcmp(all->source, "live") || !strcmp(all->source, "cover"))
        sc_say("export: %.300s: the steps are those that the cache inferred (%s); "
               "SHAPECACHE_STEP=api and shapecache_step() mark the program's own",
               export->run->path, all->source);
    sc_requests_say(&all->requests, export);
}

const sc_export_format sc_export_trace = {
    .name = "trace",
    .is_of_one = true,
    .level = level,
    .begin = begin,
    .log = log_begins,
    .take = take,
    .log_end = log_ends,
    .end = drop,
    .drop = drop,
};
