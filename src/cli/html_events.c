/* SPDX-License-Identifier: MIT */
#include "cli/html_events.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
    [SC_HTML_OOM] = "oom", [SC_HTML_TRIM] = "trim", [SC_HTML_MARK] = "mark"};

static char *cut_copy(const char *text)
{
    size_t length = strlen(text), fits = sc_text_fitting(text, length, SC_HTML_TEXT_MOST);
    char *copy = sc_need(fits + 4);

    snprintf(copy, fits + 4, "%.*s%s", (int)fits, text, fits < length ? "..." : "");
    return copy;
}

void sc_html_emit_text(const char *name, const char *text)
{
    char *cut;

    if (!text)
        return;
    cut = cut_copy(text);
    sc_emit_text(name, cut);
    free(cut);
}

static void add(sc_html_events *events, sc_html_event_kind kind, const sc_line *line,
                const char *text)
{
    if (events->kept[kind] == SC_HTML_EVENTS_MOST) {
        events->left_out[kind]++;
        return;
    }
    events->kept[kind]++;
    events->at[events->count++] =
        (sc_html_event){.step = sc_line_u64(line, SC_F_STEP), .kind = kind, .text = cut_copy(text)};
}

static void on_oom(sc_html_events *events, const sc_history *history, const sc_line *line)
{
    uint64_t bytes = sc_line_u64(line, SC_F_BYTES);
    const char *site = sc_history_place(history, sc_line_text(line, SC_F_SITE));
    char text[1024], size[16];

    snprintf(text, sizeof text, "no memory for %s%s%.600s: %s",
             bytes ? sc_emit_size(size, bytes) : "another allocator", site ? ", asked for at " : "",
             site ? site : "",
             sc_line_u64(line, SC_F_RESULT) ? "the program got the error"
                                            : "idle memory went back and the program got it");
    add(events, SC_HTML_OOM, line, text);
}

static void on_mark(sc_html_events *events, const sc_line *line)
{
    const char *name = sc_line_text(line, SC_F_NAME);
    char text[1024], size[16];

    if (!line->has[SC_F_STEP])
        return;
    if (line->has[SC_F_TRIMMED]) {
        snprintf(text, sizeof text, "%.600s: %s went back", name,
                 sc_emit_size(size, sc_line_u64(line, SC_F_TRIMMED)));
        add(events, SC_HTML_TRIM, line, text);
    } else {
        add(events, SC_HTML_MARK, line, name);
    }
}

void sc_html_events_add(sc_html_events *events, const sc_history *history, const sc_line *line)
{
    if (line->event == SC_EV_OOM)
        on_oom(events, history, line);
    else if (line->event == SC_EV_MARK)
        on_mark(events, line);
}

void sc_html_events_emit(const sc_html_events *events)
{
    sc_emit_open("events", '[');
    for (unsigned i = 0; i < events->count; i++) {
        sc_emit_open(NULL, '{');
        sc_emit_u64("step", events->at[i].step);
        sc_emit_text("kind", kinds[events->at[i].kind]);
        sc_emit_text("text", events->at[i].text);
        sc_emit_end('}');
    }
    sc_emit_end(']');
    sc_emit_open("events_left_out", '{');
    for (int kind = 0; kind < SC_HTML_EVENT_KINDS; kind++)
        sc_emit_u64(kinds[kind], events->left_out[kind]);
    sc_emit_end('}');
}

void sc_html_events_release(sc_html_events *events)
{
    for (unsigned i = 0; i < events->count; i++)
        free(events->at[i].text);
    *events = (sc_html_events){0};
}
