/* SPDX-License-Identifier: MIT
 * html_events.h - what stands at single steps of a device: out-of-memory answers, trims and the
 * program's marks.
 *
 * Of each kind the first SC_HTML_EVENTS_MOST are kept and the others counted. Texts are owned. */
#ifndef SC_CLI_HTML_EVENTS_H
#define SC_CLI_HTML_EVENTS_H

#include "cli/history.h"

enum { SC_HTML_EVENTS_MOST = 300, SC_HTML_TEXT_MOST = 400 };

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

typedef struct sc_html_events {
    sc_html_event at[SC_HTML_EVENT_KINDS * SC_HTML_EVENTS_MOST];
    unsigned count, kept[SC_HTML_EVENT_KINDS];
    uint64_t left_out[SC_HTML_EVENT_KINDS];
} sc_html_events;

/* Any record of the device; others than these are passed over. The history has names for places. */
void sc_html_events_add(sc_html_events *events, const sc_history *history, const sc_line *line);
void sc_html_events_emit(const sc_html_events *events);
void sc_html_events_release(sc_html_events *events);

/* As sc_emit_text(), cut after SC_HTML_TEXT_MOST bytes: what a log says may be of any length. */
void sc_html_emit_text(const char *name, const char *text);

#endif
