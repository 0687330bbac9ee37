/* SPDX-License-Identifier: MIT */
#include "cli/timeline.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/history.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES_MOST = 5, ROWS_MOST = 25, SCOPES_MOST = 32, COUNTED_MOST = 1 << 28 };

/* Steps in a row, all alike: a run whose set is fixed has few of these, however long it is. */
typedef struct point {
    uint64_t step, last, live, idle, live_peak, held_peak;
} point;

/* All scopes of one name. */
typedef struct scopes {
    char *name;
    uint64_t times, live_peak, held_peak, trimmed;
} scopes;

typedef struct lane {
    sc_history *history; /* of the log's first lane alone: it owns it */
    const char *path, *program;
    uint64_t rank, device;
    bool is_one_of_many; /* ranks, or devices of its rank */
    bool has_beginning;  /* what was live when the first step had ended */
    uint64_t beginning;
    point *points; /* by step */
    size_t count, room;
    uint64_t rows; /* of all points */
    scopes scopes[SCOPES_MOST];
    unsigned scope_count;
    uint64_t scopes_left_out;
} lane;

typedef struct timeline {
    lane lanes[LANES_MOST];
    unsigned count;
    uint64_t steps; /* of the longest lane */
} timeline;

static void raise_to(uint64_t *most, uint64_t value)
{
    if (*most < value)
        *most = value;
}

/* The step after it, and no other figure is another. */
static bool goes_on(const point *before, const point *next)
{
    return next->step - before->last == 1 && next->live == before->live &&
           next->idle == before->idle && next->live_peak == before->live_peak &&
           next->held_peak == before->held_peak;
}

static void on_step(lane *one, const sc_line *line)
{
    const point next = {
        .step = sc_line_u64(line, SC_F_STEP),
        .last = sc_line_u64(line, SC_F_STEP),
        .live = sc_line_u64(line, SC_F_LIVE),
        .idle = sc_line_u64(line, SC_F_IDLE),
        .live_peak = sc_line_u64(line, SC_F_LIVE_PEAK),
        .held_peak = sc_line_u64(line, SC_F_HELD_PEAK),
    };

    one->rows++;
    if (one->count && goes_on(&one->points[one->count - 1], &next)) {
        one->points[one->count - 1].last = next.last;
        return;
    }
    if (one->count == one->room) {
        one->room = one->room ? 2 * one->room : 256;
        one->points = sc_need_again(one->points, one->room * sizeof(point));
    }
    one->points[one->count++] = next;
}

static void on_scope(lane *one, const sc_line *line)
{
    const char *name = sc_line_text(line, SC_F_NAME);
    unsigned at = 0;

    while (at < one->scope_count && strcmp(one->scopes[at].name, name) != 0)
        at++;
    if (at == SCOPES_MOST) {
        one->scopes_left_out++;
        return;
    }
    scopes *all = &one->scopes[at];

    if (at == one->scope_count) {
        *all = (scopes){.name = sc_need_copy(name)};
        one->scope_count++;
    }
    all->times++;
    raise_to(&all->live_peak, sc_line_u64(line, SC_F_LIVE_PEAK));
    raise_to(&all->held_peak, sc_line_u64(line, SC_F_HELD_PEAK));
    all->trimmed += sc_line_u64(line, SC_F_TRIMMED);
}

static void add(lane *lanes, unsigned count, const sc_line *line)
{
    lane *one = NULL;

    for (unsigned i = 0; line->has[SC_F_DEV] && i < count && !one; i++)
        if (lanes[i].device == sc_line_u64(line, SC_F_DEV))
            one = &lanes[i];
    if (!one)
        return;
    if (line->event == SC_EV_STEP)
        on_step(one, line);
    else if (line->event == SC_EV_SCOPE)
        on_scope(one, line);
    else if (line->event == SC_EV_MARK && sc_line_u64(line, SC_F_AUTOMATIC) &&
             line->has[SC_F_LIVE]) {
        one->has_beginning = true;
        one->beginning = sc_line_u64(line, SC_F_LIVE);
    }
}

/* The lanes of one log, read a second time: the first told which there are. False: said why. */
static bool read_points(lane *lanes, unsigned count, const char *path)
{
    const sc_line *line;
    sc_reader reader;

    if (!sc_reader_open(&reader, path)) {
        sc_say("report: %s: %s", path, strerror(errno));
        return false;
    }
    while ((line = sc_reader_next(&reader)))
        add(lanes, count, line);
    bool is_sound = !reader.error[0];

    if (!is_sound)
        sc_say("report: %s", reader.error);
    sc_reader_close(&reader);
    return is_sound;
}

/* An exit code. */
static int add_log(timeline *all, const char *path)
{
    char error[1024];
    sc_history *history;
    lane *first = &all->lanes[all->count];

    if (!strcmp(path, "-"))
        return sc_usage(&sc_command_report, "report: --timeline reads a log twice: it wants files");
    history = sc_history_read(path, error, sizeof error);
    if (!history) {
        sc_say("report: %s", error);
        return SC_EXIT_UNREADABLE;
    }
    if (all->count + history->device_count > LANES_MOST) {
        sc_history_delete(history);
        return sc_usage(&sc_command_report,
                        "report: --timeline has room for %d devices of all logs", LANES_MOST);
    }
    for (unsigned i = 0; i < history->device_count; i++) {
        all->lanes[all->count++] =
            (lane){.history = i ? NULL : history,
                   .path = path,
                   .program = history->argv,
                   .rank = history->rank,
                   .device = history->devices[i]->ordinal,
                   .is_one_of_many = history->world > 1 || history->device_count > 1};
        raise_to(&all->steps, history->devices[i]->steps);
    }
    if (history->device_count == 0) {
        sc_history_delete(history);
        return SC_EXIT_DONE;
    }
    return read_points(first, history->device_count, path) ? SC_EXIT_DONE : SC_EXIT_UNREADABLE;
}

static point most_of_all(const lane *one)
{
    point most = {0};

    for (size_t i = 0; i < one->count; i++) {
        raise_to(&most.live_peak, one->points[i].live_peak);
        raise_to(&most.held_peak, one->points[i].held_peak);
    }
    return most;
}

static void tell_lane(const lane *one, char letter)
{
    char live[16], held[16], after[16], head[48], text[256];
    const point most = most_of_all(one);

    snprintf(head, sizeof head, "%c  ", letter);
    if (one->is_one_of_many)
        snprintf(head, sizeof head, "%c  rank %llu dev %llu: ", letter,
                 (unsigned long long)one->rank, (unsigned long long)one->device);
    sc_emit_wrapped(head, 3, one->program && *one->program ? one->program : one->path);
    snprintf(text, sizeof text, "%llu rows; live at most %s, held %s%s%s",
             (unsigned long long)one->rows, sc_emit_size(live, most.live_peak),
             sc_emit_size(held, most.held_peak), one->has_beginning ? "; live after step 0 " : "",
             one->has_beginning ? sc_emit_size(after, one->beginning) : "");
    sc_emit_wrapped("   ", 3, text);
}

static void put_size(sc_table *table, uint64_t bytes)
{
    char cell[16];

    sc_table_cell(table, sc_emit_size(cell, bytes));
}

/* Some steps in which every lane needed the same. */
typedef struct row {
    uint64_t first, last;
    struct {
        bool is_told;
        uint64_t live, held;
    } most[LANES_MOST];
} row;

/* Of `each` steps from `first` on; `next` is how far each lane has been read. */
static row read_row(const timeline *all, size_t next[LANES_MOST], uint64_t first, uint64_t each)
{
    row one = {.first = first,
               .last = each < all->steps - first ? first + each - 1 : all->steps - 1};

    for (unsigned i = 0; i < all->count; i++) {
        const lane *from = &all->lanes[i];

        for (; next[i] < from->count && from->points[next[i]].step <= one.last; next[i]++) {
            one.most[i].is_told = true;
            raise_to(&one.most[i].live, from->points[next[i]].live_peak);
            raise_to(&one.most[i].held, from->points[next[i]].held_peak);
            if (from->points[next[i]].last > one.last)
                break; /* it is of the next row, too */
        }
    }
    return one;
}

static bool is_same(const timeline *all, const row *a, const row *b)
{
    for (unsigned i = 0; i < all->count; i++)
        if (a->most[i].is_told != b->most[i].is_told || a->most[i].live != b->most[i].live ||
            a->most[i].held != b->most[i].held)
            return false;
    return true;
}

static void put_row(const timeline *all, sc_table *table, const row *one)
{
    char cell[48];

    snprintf(cell, sizeof cell, one->last > one->first ? "%llu-%llu" : "%llu",
             (unsigned long long)one->first, (unsigned long long)one->last);
    sc_table_cell(table, cell);
    for (unsigned i = 0; i < all->count; i++) {
        sc_table_cell(table, one->most[i].is_told ? sc_emit_size(cell, one->most[i].live) : "-");
        sc_table_cell(table, one->most[i].is_told ? sc_emit_size(cell, one->most[i].held) : "-");
    }
}

/* Rows of `each` steps, like ones in one. How many; NULL: only count them. */
static unsigned put_rows(const timeline *all, sc_table *table, uint64_t each)
{
    size_t next[LANES_MOST] = {0};
    row last = read_row(all, next, 0, each);
    unsigned count = 1;

    for (uint64_t first = each; first >= each && first < all->steps; first += each) {
        row one = read_row(all, next, first, each);

        if (is_same(all, &last, &one)) {
            last.last = one.last;
            continue;
        }
        if (table)
            put_row(all, table, &last);
        last = one;
        count++;
    }
    if (table)
        put_row(all, table, &last);
    return count;
}

static void tell_steps(const timeline *all)
{
    const uint64_t few = all->steps / ROWS_MOST + (all->steps % ROWS_MOST > 0);
    const bool is_long = all->steps > COUNTED_MOST || put_rows(all, NULL, 1) > ROWS_MOST;
    const uint64_t each = is_long ? few : 1;
    char titles[LANES_MOST][2][8];
    sc_table table = {.titles = {"step"}, .columns = 1 + 2 * all->count, .gap = 2};

    for (unsigned i = 0; i < all->count; i++) {
        snprintf(titles[i][0], sizeof titles[i][0], "%c live", 'A' + (int)i);
        snprintf(titles[i][1], sizeof titles[i][1], "%c held", 'A' + (int)i);
        table.titles[1 + 2 * i] = titles[i][0];
        table.titles[2 + 2 * i] = titles[i][1];
    }
    (void)put_rows(all, &table, each);
    sc_emit("\nmost at once, within a step\n");
    sc_table_print(&table);
}

static void tell_scopes(const timeline *all)
{
    sc_table table = {.titles = {"", "times", "live", "held", "trimmed", "scope"},
                      .is_left = {[0] = true, [5] = true},
                      .columns = 6,
                      .gap = 2};
    uint64_t left_out = 0;
    char cell[32];

    for (unsigned i = 0; i < all->count; i++) {
        const lane *one = &all->lanes[i];

        left_out += one->scopes_left_out;
        for (unsigned n = 0; n < one->scope_count; n++) {
            sc_table_cell(&table, (char[]){(char)('A' + (int)i), '\0'});
            sc_table_cell(&table, sc_emit_count(cell, one->scopes[n].times));
            put_size(&table, one->scopes[n].live_peak);
            put_size(&table, one->scopes[n].held_peak);
            put_size(&table, one->scopes[n].trimmed);
            sc_table_cell(&table, one->scopes[n].name);
        }
    }
    if (!table.used)
        return;
    sc_emit("\nscopes, with the most of all times\n");
    sc_table_print(&table);
    if (left_out)
        sc_emit("more names than this tool keeps: %llu scopes left out\n",
                (unsigned long long)left_out);
}

static void tell(const timeline *all)
{
    for (unsigned i = 0; i < all->count; i++)
        tell_lane(&all->lanes[i], (char)('A' + (int)i));
    tell_steps(all);
    tell_scopes(all);
}

static void put_step(const point *like, uint64_t step)
{
    sc_emit_open(NULL, '{');
    sc_emit_u64("step", step);
    sc_emit_u64("live", like->live);
    sc_emit_u64("idle", like->idle);
    sc_emit_u64("live_peak", like->live_peak);
    sc_emit_u64("held_peak", like->held_peak);
    sc_emit_end('}');
}

static void tell_json(const timeline *all)
{
    sc_emit_open(NULL, '{');
    sc_emit_u64("v", 1);
    sc_emit_open("lanes", '[');
    for (unsigned i = 0; i < all->count; i++) {
        const lane *one = &all->lanes[i];

        sc_emit_open(NULL, '{');
        sc_emit_text("path", one->path);
        sc_emit_text("program", one->program);
        sc_emit_u64("dev", one->device);
        sc_emit_open("steps", '[');
        for (size_t n = 0; n < one->count; n++)
            for (uint64_t step = 0; step <= one->points[n].last - one->points[n].step; step++)
                put_step(&one->points[n], one->points[n].step + step);
        sc_emit_end(']');
        sc_emit_open("scopes", '[');
        for (unsigned n = 0; n < one->scope_count; n++) {
            sc_emit_open(NULL, '{');
            sc_emit_text("name", one->scopes[n].name);
            sc_emit_u64("times", one->scopes[n].times);
            sc_emit_u64("live_peak", one->scopes[n].live_peak);
            sc_emit_u64("held_peak", one->scopes[n].held_peak);
            sc_emit_u64("trimmed", one->scopes[n].trimmed);
            sc_emit_end('}');
        }
        sc_emit_end(']');
        sc_emit_end('}');
    }
    sc_emit_end(']');
    sc_emit_end('}');
}

static void release(timeline *all)
{
    for (unsigned i = 0; i < all->count; i++) {
        lane *one = &all->lanes[i];

        for (unsigned n = 0; n < one->scope_count; n++)
            free(one->scopes[n].name);
        free(one->points);
        if (one->history)
            sc_history_delete(one->history);
    }
    free(all);
}

int sc_timeline_tell(const sc_logs *logs, bool is_json)
{
    timeline *all = sc_need(sizeof *all);
    int status = SC_EXIT_DONE;

    for (unsigned i = 0; i < logs->count && status == SC_EXIT_DONE; i++)
        status = add_log(all, logs->at[i]);
    if (status == SC_EXIT_DONE && !all->steps && !is_json) {
        sc_say("report: no step has ended in any of these logs");
        status = SC_EXIT_UNREADABLE;
    }
    if (status == SC_EXIT_DONE && is_json)
        tell_json(all);
    else if (status == SC_EXIT_DONE)
        tell(all);
    release(all);
    return status;
}
