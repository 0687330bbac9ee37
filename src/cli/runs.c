/* SPDX-License-Identifier: MIT */
#include "cli/runs.h"
#include "cli/command.h"
#include "cli/emit.h"
#include <stdlib.h>
#include <string.h>

static int by_rank(const void *left, const void *right)
{
    const sc_history *a = *(sc_history *const *)left, *b = *(sc_history *const *)right;

    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : strverscmp(a->path, b->path);
}

/* The histories of one run. */
static sc_report make_report(sc_history **histories, unsigned count)
{
    sc_report report = {.histories = histories, .history_count = count};

    qsort(histories, count, sizeof(sc_history *), by_rank);
    for (unsigned i = 0; i < count; i++)
        report.lane_count += histories[i]->device_count;
    report.lanes = sc_need(sizeof *report.lanes * report.lane_count);
    report.lane_count = 0;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned d = 0; d < histories[i]->device_count; d++)
            report.lanes[report.lane_count++] =
                (sc_lane){.history = histories[i], .device = histories[i]->devices[d]};
    }
    return report;
}

/* Those of the same run next to each other. */
static void group(sc_runs *runs)
{
    sc_history **histories = runs->histories;
    unsigned left = runs->history_count;

    runs->at = sc_need(sizeof *runs->at * left);
    while (left) {
        const sc_history *first = histories[0];
        unsigned same = 1;

        for (unsigned i = 1; i < left; i++) {
            sc_history *other = histories[i];

            if (strcmp(other->run, first->run) != 0)
                continue;
            memmove(histories + same + 1, histories + same, (i - same) * sizeof(sc_history *));
            histories[same++] = other;
        }
        runs->at[runs->count++] = make_report(histories, same);
        histories += same;
        left -= same;
    }
}

int sc_runs_read(sc_runs *runs, const sc_logs *logs, const char *command)
{
    char error[1024];
    int status = SC_EXIT_DONE;

    *runs = (sc_runs){.histories = sc_need(sizeof(sc_history *) * logs->count)};
    for (unsigned i = 0; i < logs->count; i++) {
        sc_history *history = sc_history_read(logs->at[i], error, sizeof error);

        if (history) {
            runs->histories[runs->history_count++] = history;
        } else {
            sc_say("%s: %s", command, error);
            status = SC_EXIT_UNREADABLE;
        }
    }
    if (status == SC_EXIT_DONE)
        group(runs);
    return status;
}

void sc_runs_release(sc_runs *runs)
{
    for (unsigned i = 0; i < runs->count; i++)
        free(runs->at[i].lanes);
    for (unsigned i = 0; i < runs->history_count; i++)
        sc_history_delete(runs->histories[i]);
    free(runs->at);
    free(runs->histories);
    *runs = (sc_runs){NULL, NULL, 0, 0};
}

void sc_runs_put_range(sc_text *text, uint64_t first, uint64_t last)
{
    enum { ONE = 48 }; /* bytes of a range, and of what is put in place of the rest */

    if (text->used + ONE > text->size) { /* no number may be cut */
        if (text->size >= ONE && text->at[text->used - 1] != '.')
            sc_text_string(text, ", ...");
        return;
    }
    sc_text_string(text, text->used ? ", " : "");
    sc_text_u64(text, first);
    if (last == first)
        return;
    sc_text_string(text, last == first + 1 ? ", " : "-");
    sc_text_u64(text, last);
}

static void show(const sc_runs_view *view, const sc_runs *runs)
{
    if (view->is_json) {
        sc_emit_open(NULL, '{');
        sc_emit_u64("v", 1);
        sc_emit_open("runs", '[');
    }
    for (unsigned i = 0; i < runs->count; i++) {
        if (view->is_json) {
            view->json(view->request, &runs->at[i]);
            continue;
        }
        if (i)
            sc_emit("\n");
        view->text(view->request, &runs->at[i]);
    }
    if (view->is_json) {
        sc_emit_end(']');
        sc_emit_end('}');
    }
}

int sc_runs_show(const sc_runs_view *view, char *const *paths, unsigned count)
{
    sc_logs logs = {.at = NULL};
    sc_runs runs = {.count = 0};
    int status = 0;

    for (unsigned i = 0; !status && i < count; i++)
        if (!sc_logs_add(&logs, paths[i], view->command))
            status = SC_EXIT_UNREADABLE;
    if (!status)
        status = sc_runs_read(&runs, &logs, view->command);
    if (!status)
        show(view, &runs);
    sc_runs_release(&runs);
    sc_logs_release(&logs);
    return status;
}
