/* SPDX-License-Identifier: MIT */
#include "cli/html_data.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/html_lane.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 2048, COMMAND_MOST = 4000 };

/* The least and the most of all lanes in each bucket of steps. */
#define ENVELOPE(X) X(live_peak) X(held_peak) X(hits) X(requests) X(driver_ns)
enum {
#define MEMBER(name) ENVELOPE_##name,
    ENVELOPE(MEMBER)
#undef MEMBER
        ENVELOPE_COUNT
};

typedef struct envelope {
    unsigned count;
    uint64_t *least[ENVELOPE_COUNT], *most[ENVELOPE_COUNT];
} envelope;

/* What another printer says, as a text. */
static void emit_said(const char *name, void (*say)(const sc_report *report),
                      const sc_report *report)
{
    char *said = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&said, &bytes), *before = sc_emit_to(memory);

    if (memory)
        say(report);
    (void)sc_emit_to(before);
    if (memory && fclose(memory) == 0)
        sc_emit_text(name, said);
    free(said);
}

static void emit_words(void)
{
    static const struct {
        const char *kind, *word, *meaning;
    } words[] = {
#define PHASE(symbol, word, meaning)  {"phase", word, meaning},
#define REASON(symbol, word, meaning) {"reason", word, meaning},
#include "cache/phase.def"
    };

    sc_emit_open("words", '[');
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        sc_emit_open(NULL, '{');
        sc_emit_text("kind", words[i].kind);
        sc_emit_text("word", words[i].word);
        sc_emit_text("meaning", words[i].meaning);
        sc_emit_end('}');
    }
    sc_emit_end(']');
}

static const char *meaning_of(const char *setting)
{
    for (int row = 0; row < SC_OPTION_COUNT; row++)
        if (!strcmp(sc_option_rows[row].name, setting))
            return sc_option_rows[row].meaning;
    return NULL;
}

/* "config": {"NAME":{"value":"V","from":"env"}, ...} of the run record. */
static void emit_config(const sc_line *line)
{
    const sc_json_value *object = &line->value[SC_F_CONFIG];
    bool is_there = line->has[SC_F_CONFIG];
    sc_json json = sc_json_over(is_there ? object->start : NULL, is_there ? object->bytes : 0);
    const char *name, *member;

    sc_emit_open("config", '[');
    (void)sc_json_enter(&json, SC_JSON_OBJECT);
    for (int count = 0; count < 2 * SC_OPTION_COUNT && sc_json_member(&json, &name) &&
                        sc_json_enter(&json, SC_JSON_OBJECT);
         count++) {
        sc_json_value part = {0};

        sc_emit_open(NULL, '{');
        sc_html_emit_text("name", name);
        while (sc_json_member(&json, &member) && sc_json_take(&json, &part))
            if (part.kind == SC_JSON_TEXT && !strcmp(member, "value"))
                sc_html_emit_text("value", part.text);
            else if (part.kind == SC_JSON_TEXT && !strcmp(member, "from"))
                sc_html_emit_text("from", part.text);
        sc_emit_text("meaning", meaning_of(name));
        sc_emit_end('}');
    }
    sc_emit_end(']');
}

static void emit_notes(const sc_history *history)
{
    sc_emit_open("notes", '[');
    for (unsigned i = 0; i < history->note_count; i++) {
        sc_emit_open(NULL, '{');
        if (history->notes[i].has_step)
            sc_emit_u64("step", history->notes[i].step);
        sc_html_emit_text("text", history->notes[i].text);
        sc_emit_end('}');
    }
    sc_emit_end(']');
    sc_emit_u64("notes_left_out", history->notes_left_out);
}

static void emit_process(const sc_history *history)
{
    sc_html_emit_text("log", history->path);
    sc_html_emit_text("build", history->build);
    sc_emit_u64("pid", history->pid);
    sc_html_emit_text("host", history->host);
    sc_emit_u64("rank", history->rank);
    sc_emit_u64("world", history->world);
    sc_emit_u64("t0_unix_ns", history->t0_unix_ns);
    sc_emit_u64("duration_ns", history->duration_ns);
    sc_emit_bool("is_complete", sc_history_is_complete(history));
    sc_emit_bool("is_cut", history->is_cut);
    emit_notes(history);
}

/* Which lanes are of this log, read again. False, and said. */
static bool read_again(const sc_history *history, sc_html_lane *lanes, unsigned count,
                       bool has_config)
{
    const sc_line *line;
    sc_reader reader;
    bool is_sound;

    if (!sc_reader_open(&reader, history->path)) {
        sc_say("report: %s: %s", history->path, strerror(errno));
        return false;
    }
    while ((line = sc_reader_next(&reader))) {
        if (line->event == SC_EV_RUN && has_config)
            emit_config(line);
        for (unsigned i = 0; line->has[SC_F_DEV] && i < count; i++)
            if (lanes[i].device->ordinal == sc_line_u64(line, SC_F_DEV))
                sc_html_lane_add(&lanes[i], line);
    }
    is_sound = !reader.error[0];
    if (!is_sound)
        sc_say("report: %s", reader.error);
    sc_reader_close(&reader);
    return is_sound;
}

static void envelope_add(envelope *all, const sc_html_steps *steps)
{
    static const int columns[] = {
#define MEMBER(name) SC_HTML_COLUMN_##name,
        ENVELOPE(MEMBER)
#undef MEMBER
    };

    for (int e = 0; e < ENVELOPE_COUNT; e++) {
        if (!all->least[e]) {
            all->count = steps->count;
            all->least[e] = sc_need(steps->count * sizeof(uint64_t));
            all->most[e] = sc_need(steps->count * sizeof(uint64_t));
            memset(all->least[e], 0xff, steps->count * sizeof(uint64_t));
        }
        for (unsigned i = 0; i < all->count; i++) {
            uint64_t value = steps->column[columns[e]][i];

            if (!steps->rows[i])
                continue;
            all->least[e][i] = value < all->least[e][i] ? value : all->least[e][i];
            all->most[e][i] = value > all->most[e][i] ? value : all->most[e][i];
        }
    }
}

static void envelope_emit(envelope *all, uint64_t each)
{
    static const char *const names[] = {
#define MEMBER(name) #name,
        ENVELOPE(MEMBER)
#undef MEMBER
    };

    sc_emit_open("envelope", '{');
    sc_emit_u64("each", each);
    for (int e = 0; e < ENVELOPE_COUNT && all->count; e++) {
        sc_emit_open(names[e], '{');
        for (unsigned i = 0; i < all->count; i++)
            if (all->least[e][i] == UINT64_MAX)
                all->most[e][i] = UINT64_MAX;
        sc_emit_u64s("least", all->least[e], all->count);
        sc_emit_u64s("most", all->most[e], all->count);
        sc_emit_end('}');
        free(all->least[e]);
        free(all->most[e]);
    }
    sc_emit_end('}');
}

/* Steps of the longest lane, with the one that has not ended: shapes and events may be of it. */
static uint64_t longest(const sc_report *report)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < report->lane_count; i++)
        most = report->lanes[i].device->steps > most ? report->lanes[i].device->steps : most;
    return most < UINT64_MAX ? most + 1 : most;
}

/* One process with its lanes, which stand one after the other; returns how many, -1: not read. */
static int emit_history(const sc_report *report, unsigned first, const sc_history *history,
                        envelope *all, uint64_t *each)
{
    const sc_html_room room = sc_html_room_for(report->lane_count);
    unsigned count = 0;
    sc_html_lane *lanes;
    bool is_good;

    while (first + count < report->lane_count && report->lanes[first + count].history == history)
        count++;
    lanes = sc_need((count ? count : 1) * sizeof *lanes);
    for (unsigned i = 0; i < count; i++)
        sc_html_lane_begin(&lanes[i], report, first + i, &room, longest(report));
    emit_process(history);
    is_good = read_again(history, lanes, count, first < room.lanes || !report->lane_count);
    sc_emit_open("lanes", '[');
    for (unsigned i = 0; i < count; i++) {
        *each = lanes[i].steps.each;
        if (report->lane_count > 1)
            envelope_add(all, &lanes[i].steps);
        sc_emit_open(NULL, '{');
        sc_html_lane_emit(&lanes[i], &room);
        sc_emit_end('}');
        sc_html_lane_release(&lanes[i]);
    }
    sc_emit_end(']');
    free(lanes);
    return is_good ? (int)count : -1;
}

static bool emit_processes(const sc_report *report)
{
    envelope all = {0};
    uint64_t each = 1;
    unsigned first = 0;
    bool is_good = true;

    sc_emit_open("processes", '[');
    for (unsigned i = 0; i < report->history_count && is_good; i++) {
        int count;

        sc_emit_open(NULL, '{');
        count = emit_history(report, first, report->histories[i], &all, &each);
        sc_emit_end('}');
        is_good = count >= 0;
        first += is_good ? (unsigned)count : 0;
    }
    sc_emit_end(']');
    envelope_emit(&all, each);
    return is_good;
}

static void emit_verdict(const sc_report *report)
{
    char sentence[TEXT_BYTES];
    sc_text text = sc_text_over(sentence, sizeof sentence);
    const char *grade = sc_report_verdict(report, &text);

    sc_emit_open("verdict", '{');
    sc_emit_text("grade", grade);
    sc_emit_text("text", sc_text_terminate(&text));
    sc_emit_end('}');
}

static void emit_command(const char *command)
{
    size_t length = strlen(command), fits = sc_text_fitting(command, length, COMMAND_MOST);
    char *cut = sc_need(fits + 4);

    snprintf(cut, fits + 4, "%.*s%s", (int)fits, command, fits < length ? "..." : "");
    sc_emit_text("command", cut);
    free(cut);
}

bool sc_html_data_emit(const sc_report *report)
{
    const sc_history *first = report->histories[0];
    bool is_good;

    sc_emit_open(NULL, '{');
    sc_emit_u64("v", 1);
    sc_emit_text("tool", SC_VERSION);
    sc_html_emit_text("run", first->run);
    emit_command(first->argv ? first->argv : "");
    emit_verdict(report);
    if (report->lane_count)
        emit_said("story", sc_report_story, report);
    emit_said("text", sc_report_text, report);
    emit_words();
    is_good = emit_processes(report);
    sc_emit_end('}');
    return is_good;
}
