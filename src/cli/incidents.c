/* SPDX-License-Identifier: MIT */
#include "cli/incidents.h"
#include "cli/command.h"
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word, *meaning;
} lapses[] = {
#define LAPSE(symbol, word, meaning) {word, meaning},
#include "cache/phase.def"
};

const char *sc_lapse_meaning(const char *word)
{
    for (size_t i = 0; i < sizeof lapses / sizeof *lapses; i++)
        if (!strcmp(lapses[i].word, word))
            return lapses[i].meaning;
    return NULL;
}

static char *text_of(const sc_line *line, sc_field field)
{
    const char *text = sc_line_text(line, field);

    return text ? sc_need_copy(text) : NULL;
}

static uint64_t figure_of(const sc_line *line, sc_field field)
{
    return line->has[field] ? sc_line_u64(line, field) : SC_UNTOLD;
}

/* [shape, bytes, third, fourth]; anything else is none of ours, and false. */
static bool read_row(sc_json *json, sc_oom_row *row)
{
    uint64_t *const numbers[] = {&row->shape, &row->bytes, &row->third, &row->fourth};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    unsigned count = 0;
    sc_json_value value;

    if (!sc_json_enter(json, SC_JSON_LIST))
        return false;
    for (; sc_json_item(json) && sc_json_take(json, &value); count++)
        if (count < NUMBERS && value.kind == SC_JSON_WHOLE)
            *numbers[count] = value.whole;
        else
            return false;
    return count == NUMBERS;
}

static void read_rows(sc_oom_rows *rows, const sc_line *line, sc_field field)
{
    const sc_json_value *list = &line->value[field];
    sc_json json;

    if (!line->has[field])
        return;
    rows->is_told = true;
    json = sc_json_over(list->start, list->bytes);
    (void)sc_json_enter(&json, SC_JSON_LIST);
    while (rows->count < SC_OOM_ROWS && sc_json_item(&json) &&
           read_row(&json, &rows->at[rows->count]))
        rows->count++;
}

/* Room for one more of `bytes` each, where there are `count`: at 0 and at powers of two. */
static void *grown(void *list, unsigned count, size_t bytes)
{
    if (count & (count - 1))
        return list;
    return sc_need_again(list, bytes * (count ? 2 * (size_t)count : 1));
}

static void release_oom(sc_oom *oom)
{
    free(oom->site);
    free(oom->phase);
    free(oom->verdict);
    free(oom->advice);
}

/* The older half: the last ones say how the program ended. */
static void leave_out_half(sc_incidents *all)
{
    enum { HALF = SC_OOMS_MOST / 2 };

    for (unsigned i = 0; i < HALF; i++)
        release_oom(&all->ooms[i]);
    memmove(all->ooms, all->ooms + HALF, (SC_OOMS_MOST - HALF) * sizeof *all->ooms);
    all->oom_count -= HALF;
    all->ooms_left_out += HALF;
}

void sc_incidents_oom(sc_incidents *all, const sc_line *line)
{
    sc_oom *oom;

    if (all->oom_count == SC_OOMS_MOST)
        leave_out_half(all);
    all->ooms = grown(all->ooms, all->oom_count, sizeof *all->ooms);
    oom = &all->ooms[all->oom_count++];
    *oom = (sc_oom){.step = sc_line_u64(line, SC_F_STEP),
                    .t_ns = sc_line_u64(line, SC_F_T),
                    .bytes = sc_line_u64(line, SC_F_BYTES),
                    .site = text_of(line, SC_F_SITE),
                    .phase = text_of(line, SC_F_PHASE),
                    .verdict = text_of(line, SC_F_VERDICT),
                    .advice = text_of(line, SC_F_ADVICE)};
#define READ(member, field) oom->member = figure_of(line, SC_F_##field);
    SC_OOM_FIGURES(READ)
#undef READ
    read_rows(&oom->holders, line, SC_F_HOLDERS);
    read_rows(&oom->changed, line, SC_F_CHANGED);
}

void sc_incidents_allocator(sc_incidents *all, const sc_line *line)
{
    const char *what = sc_line_text(line, SC_F_WHAT);

    if (!what || strcmp(what, "oom") != 0)
        return;
    free(all->allocator.advice);
    all->allocator = (sc_allocator_said){.is_told = true,
                                         .reserved = sc_line_u64(line, SC_F_RESERVED),
                                         .allocated = sc_line_u64(line, SC_F_ALLOCATED),
                                         .advice = text_of(line, SC_F_ADVICE)};
}

const sc_oom *sc_incidents_last_refused(const sc_incidents *all)
{
    for (unsigned i = all->oom_count; i-- > 0;)
        if (sc_oom_answered(&all->ooms[i]) == SC_OOM_REFUSED)
            return &all->ooms[i];
    return NULL;
}

sc_oom_answer sc_oom_answered(const sc_oom *oom)
{
    bool is_retried = oom->retried != SC_UNTOLD && oom->retried;

    if (oom->result == SC_UNTOLD || oom->result == 0)
        return oom->result == 0 ? SC_OOM_SERVED : SC_OOM_UNKNOWN;
    return !oom->bytes && is_retried ? SC_OOM_UNKNOWN : SC_OOM_REFUSED;
}

const char *sc_oom_answer_word(sc_oom_answer answer)
{
    static const char *const words[] = {
        [SC_OOM_SERVED] = "recovered", [SC_OOM_REFUSED] = "refused", [SC_OOM_UNKNOWN] = "unknown"};

    return words[answer];
}

void sc_incidents_strict(sc_incidents *all, const sc_line *line)
{
    all->strict++;
    all->is_strict_told = true;
    if (all->lapse_count == SC_LAPSES_MOST)
        return;
    all->lapses = grown(all->lapses, all->lapse_count, sizeof *all->lapses);
    all->lapses[all->lapse_count++] = (sc_lapse_row){.step = sc_line_u64(line, SC_F_STEP),
                                                     .shape = sc_line_u64(line, SC_F_SHAPE),
                                                     .bytes = sc_line_u64(line, SC_F_BYTES),
                                                     .site = text_of(line, SC_F_SITE),
                                                     .word = text_of(line, SC_F_LAPSE)};
}

void sc_incidents_end(sc_incidents *all, const sc_line *line)
{
    if (!line->has[SC_F_STRICT])
        return;
    all->is_strict_told = true;
    all->strict = sc_line_u64(line, SC_F_STRICT);
}

void sc_incidents_release(sc_incidents *all)
{
    for (unsigned i = 0; i < all->oom_count; i++)
        release_oom(&all->ooms[i]);
    for (unsigned i = 0; i < all->lapse_count; i++) {
        free(all->lapses[i].site);
        free(all->lapses[i].word);
    }
    free(all->ooms);
    free(all->lapses);
    free(all->allocator.advice);
}
