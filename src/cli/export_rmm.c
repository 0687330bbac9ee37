/* SPDX-License-Identifier: MIT
 * export_rmm.c - a log as RMM's logging adaptor writes it, for its replay benchmark and others that
 * read those. The log does not know threads and streams: the process stands for the thread, and the
 * stream is 0. */
#include "cli/command.h"
#include "cli/requests.h"
#include <stdlib.h>

static unsigned level(const sc_export *export)
{
    (void)export;
    return SC_LEVEL_EVENT;
}

static void write_row(sc_export *export, const sc_line *line, const char *action, uint64_t address,
                      uint64_t bytes)
{
    uint64_t us = (export->run->t0_unix_ns + sc_line_u64(line, SC_F_T)) / 1000;
    uint64_t s = us / 1000000;

    if (!export->written++)
        fputs("Thread,Time,Action,Pointer,Size,Stream\n", export->out);
    fprintf(export->out, "%llu,%02u:%02u:%02u.%06u,%s,0x%llx,%llu,0x0\n",
            (unsigned long long)export->run->pid, (unsigned)(s / 3600 % 24),
            (unsigned)(s / 60 % 60), (unsigned)(s % 60), (unsigned)(us % 1000000), action,
            (unsigned long long)address, (unsigned long long)bytes);
}

static void on_alloc(sc_export *export, const sc_line *line, const sc_block *block)
{
    write_row(export, line, "allocate", block->address, block->bytes);
}

static void on_free(sc_export *export, const sc_line *line, const sc_block *block)
{
    write_row(export, line, "free", block->address, block->bytes);
}

static void begin(sc_export *export)
{
    sc_requests *requests = sc_need(sizeof *requests);

    requests->alloc = on_alloc;
    requests->free = on_free;
    export->state = requests;
}

static void log_begins(sc_export *export)
{
    (void)export;
}

static bool take(sc_export *export, const sc_line *line)
{
    sc_requests *requests = export->state;

    if (line->event == SC_EV_OOM && sc_line_u64(line, SC_F_RESULT) && export->written &&
        sc_line_u64(line, SC_F_DEV) == requests->device)
        write_row(export, line, "allocate failure", 0, sc_line_u64(line, SC_F_BYTES));
    return sc_requests_take(requests, export, line);
}

static void drop(sc_export *export)
{
    sc_requests_release(export->state);
    free(export->state);
}

static void log_ends(sc_export *export)
{
    if (export->written)
        sc_requests_say(export->state, export);
}

const sc_export_format sc_export_rmm = {
    .name = "rmm",
    .is_of_one = true,
    .level = level,
    .begin = begin,
    .log = log_begins,
    .take = take,
    .log_end = log_ends,
    .end = drop,
    .drop = drop,
};
