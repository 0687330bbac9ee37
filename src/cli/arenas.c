/* SPDX-License-Identifier: MIT */
#include "cli/arenas.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/history.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sc_arenas_why_not(const char *word)
{
    static const struct {
        const char *word, *meaning;
    } all[] = {
#define DOUBT(symbol, word, meaning) {word, meaning},
#include "cache/doubt.def"
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].word, word))
            return all[i].meaning;
    return NULL;
}

static void add_spared(sc_arenas *arenas, const sc_line *line)
{
    const char *unknown = sc_line_text(line, SC_F_SPARED_UNKNOWN);

    if (!unknown && !line->has[SC_F_SPARED])
        return;
    arenas->is_spared_told = true;
    arenas->spared = sc_line_u64(line, SC_F_SPARED);
    arenas->live_without = sc_line_u64(line, SC_F_LIVE_WITHOUT);
    snprintf(arenas->spared_unknown, sizeof arenas->spared_unknown, "%s", unknown ? unknown : "");
}

/* Room for one more of `size` bytes each; the array grows in powers of two. */
static void *with_room(void *array, unsigned count, size_t size)
{
    if (count & (count - 1))
        return array;
    return sc_need_again(array, size * (count ? 2 * (size_t)count : 1));
}

/* The one that runs under this name; UINT_MAX: none. */
static unsigned find(const sc_arenas *arenas, const char *name)
{
    for (unsigned i = arenas->count; i-- > 0;)
        if (!arenas->at[i].has_ended && !strcmp(arenas->at[i].name, name))
            return i;
    return SC_ARENAS_MOST;
}

/* SC_ARENAS_MOST: there are too many. */
static unsigned row_of(sc_arenas *arenas, const sc_line *line, const char *what)
{
    const char *name = sc_line_text(line, SC_F_NAME);
    unsigned i = strcmp(what, "start") != 0 ? find(arenas, name) : SC_ARENAS_MOST;

    if (i < SC_ARENAS_MOST || arenas->count == SC_ARENAS_MOST)
        return i;
    arenas->at = with_room(arenas->at, arenas->count, sizeof *arenas->at);
    arenas->at[arenas->count] = (sc_arena_row){.name = NULL};
    sc_history_keep_text(&arenas->at[arenas->count].name, name);
    return arenas->count++;
}

static void add_moment(sc_arenas *arenas, const sc_line *line, unsigned row, const char *what)
{
    sc_arena_moment *moment;

    if (arenas->moment_count == SC_ARENA_MOMENTS_MOST) {
        arenas->moments_left_out++;
        return;
    }
    arenas->moments = with_room(arenas->moments, arenas->moment_count, sizeof *arenas->moments);
    moment = &arenas->moments[arenas->moment_count++];
    *moment = (sc_arena_moment){.arena = row,
                                .t_ns = sc_line_u64(line, SC_F_T),
                                .step = sc_line_u64(line, SC_F_STEP),
                                .has_step = line->has[SC_F_STEP],
                                .figures = arenas->at[row].last};
    snprintf(moment->what, sizeof moment->what, "%s", what);
}

void sc_arenas_add(sc_arenas *arenas, const sc_line *line)
{
    add_spared(arenas, line);
    if (line->event != SC_EV_ARENA)
        return;
    const char *what = sc_line_text(line, SC_F_WHAT);
    unsigned i = row_of(arenas, line, what);

    if (i == SC_ARENAS_MOST) {
        arenas->left_out++;
        return;
    }
#define READ(member, field) arenas->at[i].last.member = sc_line_u64(line, SC_F_##field);
    SC_ARENA_FIGURES(READ)
#undef READ
    arenas->at[i].has_ended = !strcmp(what, "end");
    add_moment(arenas, line, i, what);
}

void sc_arenas_release(sc_arenas *arenas)
{
    for (unsigned i = 0; i < arenas->count; i++)
        free(arenas->at[i].name);
    free(arenas->at);
    free(arenas->moments);
    *arenas = (sc_arenas){.at = NULL};
}

static void figures_json(const sc_arena_figures *figures)
{
#define SHOW(member, field) sc_emit_u64(sc_field_name(SC_F_##field), figures->member);
    SC_ARENA_FIGURES(SHOW)
#undef SHOW
}

static void moments_json(const sc_arenas *arenas)
{
    sc_emit_open("records", '[');
    for (unsigned i = 0; i < arenas->moment_count; i++) {
        const sc_arena_moment *moment = &arenas->moments[i];

        sc_emit_open(NULL, '{');
        sc_emit_u64("arena", moment->arena);
        sc_emit_u64("t", moment->t_ns);
        if (moment->has_step)
            sc_emit_u64("step", moment->step);
        sc_emit_text("what", moment->what);
        figures_json(&moment->figures);
        sc_emit_end('}');
    }
    sc_emit_end(']');
    if (arenas->moments_left_out)
        sc_emit_u64("records_left_out", arenas->moments_left_out);
}

void sc_arenas_json(const sc_arenas *arenas, bool has_moments)
{
    if (!arenas->count)
        return;
    sc_emit_open("arenas", '[');
    for (unsigned i = 0; i < arenas->count; i++) {
        sc_emit_open(NULL, '{');
        sc_emit_text("name", arenas->at[i].name);
        sc_emit_bool("has_ended", arenas->at[i].has_ended);
        figures_json(&arenas->at[i].last);
        sc_emit_end('}');
    }
    sc_emit_end(']');
    if (arenas->left_out)
        sc_emit_u64("arenas_left_out", arenas->left_out);
    if (has_moments)
        moments_json(arenas);
    if (arenas->spared_unknown[0])
        sc_emit_text("spared_unknown", arenas->spared_unknown);
    else if (arenas->is_spared_told) {
        sc_emit_u64("spared", arenas->spared);
        sc_emit_u64("live_without", arenas->live_without);
    }
}
