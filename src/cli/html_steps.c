/* SPDX-License-Identifier: MIT */
#include "cli/html_steps.h"
#include "cli/command.h"
#include "cli/emit.h"
#include <stdlib.h>

enum { HUNDREDTHS = 10000 };

static const char *const names[] = {
#define COLUMN(how, name, field) #name,
    SC_HTML_COLUMNS(COLUMN)
#undef COLUMN
};

static uint64_t *filled(unsigned count, uint64_t value)
{
    uint64_t *all = sc_need(count * sizeof *all);

    for (unsigned i = 0; i < count; i++)
        all[i] = value;
    return all;
}

#define START_SUM   0
#define START_MOST  0
#define START_LEAST UINT64_MAX

void sc_html_steps_begin(sc_html_steps *steps, uint64_t count, unsigned most)
{
    steps->each = count > most ? (count - 1) / most + 1 : 1;
    steps->count = count ? (unsigned)((count - 1) / steps->each + 1) : 1;
    steps->rows = filled(steps->count, 0);
    steps->rate_least = filled(steps->count, UINT64_MAX);
    steps->rate_most = filled(steps->count, UINT64_MAX);
#define BEGIN(how, name, field)                                                                    \
    steps->column[SC_HTML_COLUMN_##name] = filled(steps->count, START_##how);
    SC_HTML_COLUMNS(BEGIN)
#undef BEGIN
}

unsigned sc_html_steps_bucket(const sc_html_steps *steps, uint64_t step)
{
    uint64_t bucket = step / steps->each;

    return bucket < steps->count ? (unsigned)bucket : steps->count - 1;
}

static void add_rate(sc_html_steps *steps, unsigned at, const sc_line *line)
{
    uint64_t requests = sc_line_u64(line, SC_F_REQUESTS), hits = sc_line_u64(line, SC_F_HITS);
    uint64_t rate;

    if (!requests || hits > requests)
        return;
    rate = (uint64_t)((double)hits * HUNDREDTHS / (double)requests);
    if (steps->rate_least[at] == UINT64_MAX || rate < steps->rate_least[at])
        steps->rate_least[at] = rate;
    if (steps->rate_most[at] == UINT64_MAX || rate > steps->rate_most[at])
        steps->rate_most[at] = rate;
}

static void add_sum(uint64_t *to, uint64_t value)
{
    *to += value;
}

static void add_most(uint64_t *to, uint64_t value)
{
    if (value > *to)
        *to = value;
}

static void add_least(uint64_t *to, uint64_t value)
{
    if (value < *to)
        *to = value;
}

#define ADD_SUM   add_sum
#define ADD_MOST  add_most
#define ADD_LEAST add_least

void sc_html_steps_add(sc_html_steps *steps, const sc_line *line)
{
    unsigned at = sc_html_steps_bucket(steps, sc_line_u64(line, SC_F_STEP));

    steps->rows[at]++;
    add_rate(steps, at, line);
#define ADD(how, name, field)                                                                      \
    if (line->has[SC_F_##field])                                                                   \
        ADD_##how(&steps->column[SC_HTML_COLUMN_##name][at], sc_line_u64(line, SC_F_##field));
    SC_HTML_COLUMNS(ADD)
#undef ADD
}

void sc_html_steps_emit(sc_html_steps *steps)
{
    sc_emit_u64("each", steps->each);
    sc_emit_u64("count", steps->count);
    sc_emit_u64s("rows", steps->rows, steps->count);
    sc_emit_u64s("rate_least", steps->rate_least, steps->count);
    sc_emit_u64s("rate_most", steps->rate_most, steps->count);
    for (int column = 0; column < SC_HTML_COLUMN_COUNT; column++) {
        for (unsigned i = 0; i < steps->count; i++)
            if (!steps->rows[i])
                steps->column[column][i] = UINT64_MAX;
        sc_emit_u64s(names[column], steps->column[column], steps->count);
    }
}

void sc_html_steps_release(sc_html_steps *steps)
{
    free(steps->rows);
    free(steps->rate_least);
    free(steps->rate_most);
    for (int column = 0; column < SC_HTML_COLUMN_COUNT; column++)
        free(steps->column[column]);
    *steps = (sc_html_steps){0};
}
