/* SPDX-License-Identifier: MIT
 * html_events.h - what stands at single steps of a device, and its arenas: out-of-memory answers,
 * trims, the program's marks, and records of arenas.
 *
 * Of each kind the first SC_HTML_EVENTS_MOST are kept and the others counted. Texts are owned. */
#ifndef SC_CLI_HTML_EVENTS_H
#define SC_CLI_HTML_EVENTS_H

#include "cli/reader.h"

enum { SC_HTML_EVENTS_MOST = 300, SC_HTML_ARENA_ROWS_MOST = 2000, SC_HTML_TEXT_MOST = 400 };

typedef enum sc_html_event_kind {
    SC_HTML_OOM,
    SC_HTML_TRIM,
    SC_HTML_MARK,
    SC_HTML_EVENT_KINDS
} sc_html_event_kind;

typedef struct sc_html_event {
    uint64_t step;
    sc_html_event_kind kind;
    char *text;
} sc_html_event;

#define SC_HTML_ARENA_FIELDS(X)                                                                    \
    X(T)                                                                                           \
    X(CAPACITY)                                                                                    \
    X(USED)                                                                                        \
    X(USED_PEAK)                                                                                   \
    X(DEMAND_PEAK)                                                                                 \
    X(TICKETS)                                                                                     \
    X(TICKETS_PEAK)                                                                                \
    X(OFFLOADS)                                                                                    \
    X(ONLOADS)                                                                                     \
    X(KEPT)                                                                                        \
    X(WAIT_NS)

enum {
#define FIELD_OF(field) SC_HTML_ARENA_##field,
    SC_HTML_ARENA_FIELDS(FIELD_OF)
#undef FIELD_OF
        SC_HTML_ARENA_FIELD_COUNT
};

typedef struct sc_html_arena_row {
    char *name, *what;
    uint64_t value[SC_HTML_ARENA_FIELD_COUNT]; /* UINT64_MAX: not told */
} sc_html_arena_row;

typedef struct sc_html_events {
    sc_html_event at[SC_HTML_EVENT_KINDS * SC_HTML_EVENTS_MOST];
    unsigned count, kept[SC_HTML_EVENT_KINDS];
    uint64_t left_out[SC_HTML_EVENT_KINDS];
    sc_html_arena_row *arena;
    unsigned arena_count;
    uint64_t arena_left_out;
} sc_html_events;

/* Any record of the device; others than these are passed over. */
void sc_html_events_add(sc_html_events *events, const sc_line *line);
void sc_html_events_emit(const sc_html_events *events);
void sc_html_events_release(sc_html_events *events);

/* As sc_emit_text(), cut after SC_HTML_TEXT_MOST bytes: what a log says may be of any length. */
void sc_html_emit_text(const char *name, const char *text);

#endif
