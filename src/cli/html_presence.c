/* SPDX-License-Identifier: MIT */
#include "cli/html_presence.h"
#include "cli/command.h"
#include "cli/emit.h"
#include <stdlib.h>
#include <string.h>

static bool has(const sc_html_presence *presence, uint64_t id)
{
    return sc_map_find(&presence->by_id, id + 1) != NULL; /* the map has no key 0 */
}

/* While rows are chosen the map only says which are; their places change once more. */
static void choose(sc_html_presence *presence, const sc_shape *shape)
{
    if (has(presence, shape->id))
        return;
    if (!sc_map_put(&presence->by_id, shape->id + 1, presence)) {
        sc_say("out of memory");
        exit(SC_EXIT_FAILED);
    }
    presence->rows[presence->count++] = (sc_html_shape_row){.shape = shape};
}

static int by_first_step(const void *left, const void *right)
{
    const sc_shape *a = ((const sc_html_shape_row *)left)->shape;
    const sc_shape *b = ((const sc_html_shape_row *)right)->shape;

    if (a->first_step != b->first_step)
        return a->first_step < b->first_step ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* First those that ended phase fixed, or kept it from coming. */
static void choose_rows(sc_html_presence *presence, const sc_device *device, unsigned most)
{
    sc_map named = {0};

    for (unsigned i = 0; i < device->change_count; i++)
        if (device->changes[i].has_shape && device->changes[i].shape != UINT64_MAX)
            (void)sc_map_put(&named, device->changes[i].shape + 1, presence);
    for (unsigned i = 0; i < device->shape_count && presence->count < most / 2; i++)
        if (sc_map_find(&named, device->shapes[i]->id + 1))
            choose(presence, device->shapes[i]);
    sc_map_release(&named);
    for (unsigned i = 0; i < device->shape_count && presence->count < most; i++)
        choose(presence, device->shapes[i]);
}

void sc_html_presence_begin(sc_html_presence *presence, const sc_device *device, unsigned rows,
                            unsigned columns)
{
    /* the last one has no end, but has shapes */
    uint64_t steps = device->steps < UINT64_MAX ? device->steps + 1 : UINT64_MAX;

    presence->each = steps > columns ? (steps - 1) / columns + 1 : 1;
    presence->columns = (unsigned)((steps - 1) / presence->each + 1);
    presence->rows = sc_need(rows * sizeof *presence->rows);
    choose_rows(presence, device, rows);
    if (presence->count)
        qsort(presence->rows, presence->count, sizeof *presence->rows, by_first_step);
    for (unsigned i = 0; i < presence->count; i++) {
        sc_html_shape_row *row = &presence->rows[i];

        row->cells = sc_need(presence->columns * sizeof *row->cells);
        (void)sc_map_put(&presence->by_id, row->shape->id + 1, row); /* it has room for the key */
    }
}

static unsigned cell_of(const sc_html_presence *presence, uint64_t step)
{
    uint64_t cell = step / presence->each;

    return cell < presence->columns ? (unsigned)cell : presence->columns - 1;
}

/* Evenly over the cells of these steps. */
static void spread(sc_html_presence *presence, sc_html_shape_row *row, uint64_t requests,
                   uint64_t first, uint64_t last)
{
    unsigned from = cell_of(presence, first), to;

    to = last > first ? cell_of(presence, last) : from;
    for (unsigned cell = from; cell <= to; cell++)
        row->cells[cell] += (double)requests / (to - from + 1);
}

static void on_shape(sc_html_presence *presence, sc_html_shape_row *row, const sc_line *line)
{
    uint64_t requests = sc_line_u64(line, SC_F_REQUESTS);
    uint64_t first = sc_line_u64(line, SC_F_FIRST_STEP), last = sc_line_u64(line, SC_F_LAST_STEP);
    uint64_t step = sc_line_u64(line, SC_F_STEP);
    uint64_t idle = sc_line_u64(line, SC_F_IDLE);
    bool is_counted_next = presence->has_requests && requests == 1; /* its alloc record follows */

    row->idle_most = idle > row->idle_most ? idle : row->idle_most;
    if (row->counted && first <= row->last)
        first = row->last < row->recorded ? row->recorded : row->last + 1;
    first = first < last ? first : last;
    if (requests > row->counted && !is_counted_next) {
        spread(presence, row, requests - row->counted, first, last);
        row->counted = requests;
    }
    row->recorded = step;
    row->last = last;
}

void sc_html_presence_add(sc_html_presence *presence, const sc_line *line)
{
    bool is_request = line->event == SC_EV_ALLOC;
    sc_html_shape_row *row;

    if (is_request && !line->has[SC_F_SHAPE])
        return;
    row = sc_map_find(&presence->by_id, sc_line_u64(line, is_request ? SC_F_SHAPE : SC_F_ID) + 1);
    if (!row)
        return;
    if (!is_request) {
        on_shape(presence, row, line);
        return;
    }
    if (!presence->has_requests) { /* what its record at first sight told is this request */
        presence->has_requests = true;
        for (unsigned i = 0; i < presence->count; i++) {
            presence->rows[i].counted = 0;
            memset(presence->rows[i].cells, 0, presence->columns * sizeof(double));
        }
    }
    row->cells[cell_of(presence, sc_line_u64(line, SC_F_STEP))]++;
    row->counted++;
}

/* A letter a cell: "." is none, "a" one request or fewer, then each letter up to twice as many. */
static char letter(double requests)
{
    char c = 'a';

    if (requests <= 0)
        return '.';
    for (; requests > 1 && c < 'z'; requests /= 2)
        c++;
    return c;
}

void sc_html_presence_emit(const sc_html_presence *presence)
{
    char *cells = sc_need(presence->columns + 1);

    sc_emit_u64("each", presence->each);
    sc_emit_u64("columns", presence->columns);
    sc_emit_bool("is_exact", presence->has_requests);
    sc_emit_open("ids", '[');
    for (unsigned i = 0; i < presence->count; i++)
        sc_emit_u64(NULL, presence->rows[i].shape->id);
    sc_emit_end(']');
    sc_emit_open("idle_most", '[');
    for (unsigned i = 0; i < presence->count; i++)
        sc_emit_u64(NULL, presence->rows[i].idle_most);
    sc_emit_end(']');
    sc_emit_open("cells", '[');
    for (unsigned i = 0; i < presence->count; i++) {
        for (unsigned cell = 0; cell < presence->columns; cell++)
            cells[cell] = letter(presence->rows[i].cells[cell]);
        sc_emit_text(NULL, cells);
    }
    sc_emit_end(']');
    free(cells);
}

void sc_html_presence_release(sc_html_presence *presence)
{
    for (unsigned i = 0; i < presence->count; i++)
        free(presence->rows[i].cells);
    free(presence->rows);
    sc_map_release(&presence->by_id);
    *presence = (sc_html_presence){0};
}
