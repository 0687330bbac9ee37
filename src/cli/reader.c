/* SPDX-License-Identifier: MIT */
#include "cli/reader.h"
#include "cli/command.h"
#include "cli/progress.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST_BYTES = 64 << 10 };

typedef enum field_type { TYPE_U64, TYPE_I64, TYPE_TEXT, TYPE_LIST, TYPE_OBJECT } field_type;

static const struct {
    const char *name;
    size_t length;
    field_type type;
} fields[SC_F_COUNT] = {
#define FIELD(symbol, name, type, meaning) {name, sizeof(name) - 1, TYPE_##type},
#include "log/record.def"
};

static const struct {
    sc_event event;
    sc_field field;
} musts[] = {
#define MUST(event, field) {SC_EV_##event, SC_F_##field},
#include "cli/schema.def"
};

/* Always false. */
static bool bad(sc_reader *reader, const char *what, const char *name)
{
    snprintf(reader->error, sizeof reader->error, "%s%.300s, line %llu: %s%s%s%s",
             reader->is_foreign ? "not a shapecache log: " : "", reader->path,
             (unsigned long long)reader->number, what, name ? " \"" : "", name ? name : "",
             name ? "\"" : "");
    return false;
}

/* 0: not known. The system call: fstat() of a new C library is not in an old one. */
static uint64_t size_of(int fd)
{
    struct stat about;

    return syscall(SYS_fstat, fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0
               ? (uint64_t)about.st_size
               : 0;
}

bool sc_reader_open(sc_reader *reader, const char *path)
{
    bool is_stdin = !strcmp(path, "-");

    *reader = (sc_reader){.path = is_stdin ? "standard input" : path, .size = FIRST_BYTES};
    reader->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (reader->fd < 0)
        return false;
    reader->buffer = sc_need(reader->size + 1);
    sc_progress_begin(reader->path, size_of(reader->fd));
    return true;
}

void sc_reader_close(sc_reader *reader)
{
    sc_progress_end();
    if (reader->fd > STDIN_FILENO)
        (void)close(reader->fd);
    free(reader->buffer);
    reader->buffer = NULL;
}

/* More bytes behind those not yet read. False: the end, or an error that is told. */
static bool fill(sc_reader *reader)
{
    ssize_t count;

    memmove(reader->buffer, reader->buffer + reader->next, reader->used - reader->next);
    reader->used -= reader->next;
    reader->next = 0;
    if (reader->used == reader->size) {
        if (reader->size >= SC_LINE_MOST) {
            reader->is_foreign = !reader->has_run;
            reader->number++;
            return bad(reader, "the line is longer than any of a log", NULL);
        }
        reader->size *= 2;
        reader->buffer = sc_need_again(reader->buffer, reader->size + 1);
    }
    do
        count = read(reader->fd, reader->buffer + reader->used, reader->size - reader->used);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        snprintf(reader->error, sizeof reader->error, "%.300s: %s", reader->path, strerror(errno));
    reader->is_at_end = count <= 0;
    reader->used += count > 0 ? (size_t)count : 0;
    sc_progress_add(count > 0 ? (uint64_t)count : 0);
    return count > 0;
}

/* The next line without its newline, or NULL. A last one that has none sets `is_cut`. */
static char *next_line(sc_reader *reader, size_t *bytes)
{
    size_t searched = 0;

    for (;;) {
        char *start = reader->buffer + reader->next;
        size_t left = reader->used - reader->next;
        char *newline = memchr(start + searched, '\n', left - searched);

        if (newline) {
            reader->number++;
            reader->next = (size_t)(newline - reader->buffer) + 1;
            *bytes = (size_t)(newline - start);
            return start;
        }
        searched = left;
        if (fill(reader))
            continue;
        if (reader->error[0] || !left)
            return NULL;
        reader->number++;
        reader->next = reader->used;
        reader->is_cut = true;
        *bytes = left;
        return reader->buffer; /* fill() moved it there */
    }
}

static int field_of(const char *name)
{
    size_t length = strlen(name);

    for (int i = 0; i < SC_F_COUNT; i++)
        if (fields[i].length == length && !memcmp(fields[i].name, name, length))
            return i;
    return -1;
}

static bool is_of_type(const sc_json_value *value, field_type type)
{
    switch (type) {
    case TYPE_U64:
        return value->kind == SC_JSON_WHOLE;
    case TYPE_I64:
        return value->kind == SC_JSON_WHOLE || value->kind == SC_JSON_NUMBER;
    case TYPE_TEXT:
        return value->kind == SC_JSON_TEXT;
    case TYPE_LIST:
        return value->kind == SC_JSON_LIST;
    case TYPE_OBJECT:
        return value->kind == SC_JSON_OBJECT;
    }
    return false;
}

static const char *wanted_type(field_type type)
{
    static const char *const words[] = {
        [TYPE_U64] = "expected a whole number as", [TYPE_I64] = "expected a number as",
        [TYPE_TEXT] = "expected a text as",        [TYPE_LIST] = "expected a list as",
        [TYPE_OBJECT] = "expected an object as",
    };

    return words[type];
}

/* Fill the line's fields; false: malformed, and told. */
static bool parse(sc_reader *reader, char *text, size_t bytes)
{
    sc_json json = sc_json_over(text, bytes);
    sc_line *line = &reader->line;
    sc_json_value value = {0};
    const char *name;
    char what[128];

    memset(line->has, 0, sizeof line->has);
    line->number = reader->number;
    (void)sc_json_enter(&json, SC_JSON_OBJECT);
    while (sc_json_member(&json, &name) && sc_json_take(&json, &value)) {
        int field = field_of(name);

        if (field < 0)
            continue;
        if (!is_of_type(&value, fields[field].type))
            return bad(reader, wanted_type(fields[field].type), fields[field].name);
        line->value[field] = value;
        line->has[field] = true;
    }
    if (!sc_json_finish(&json)) {
        snprintf(what, sizeof what, "no valid JSON at byte %zu: %s", (size_t)(json.at - text) + 1,
                 json.error);
        return bad(reader, what, NULL);
    }
    return true;
}

/* -1: an event we do not know. */
static int event_of(const char *name)
{
    for (int i = 0; i < SC_EV_COUNT; i++)
        if (!strcmp(sc_event_name((sc_event)i), name))
            return i;
    return -1;
}

/* What the record must hold, and where it may stand. */
static bool check(sc_reader *reader)
{
    const sc_line *line = &reader->line;
    char what[64];

    for (size_t i = 0; i < sizeof musts / sizeof *musts; i++) {
        if (musts[i].event != line->event || line->has[musts[i].field])
            continue;
        snprintf(what, sizeof what, "a %s record lacks", sc_event_name(line->event));
        return bad(reader, what, fields[musts[i].field].name);
    }
    if (line->event == SC_EV_RUN && sc_line_u64(line, SC_F_V) != SC_LOG_VERSION) {
        snprintf(what, sizeof what, "the log has format %llu; this tool reads format %d",
                 (unsigned long long)sc_line_u64(line, SC_F_V), SC_LOG_VERSION);
        return bad(reader, what, NULL);
    }
    if (!reader->has_run && line->event != SC_EV_RUN)
        return bad(reader, "the log does not begin with a record", "run");
    if (reader->has_run && line->event == SC_EV_RUN)
        return bad(reader, "a second record", "run");
    reader->has_run = true;
    return true;
}

static bool is_run(const sc_line *line)
{
    return line->has[SC_F_EV] && !strcmp(line->value[SC_F_EV].text, sc_event_name(SC_EV_RUN));
}

/* True, and told: a set of shapes, by its first line. */
static bool is_set(sc_reader *reader, const char *text)
{
    static const char set[] = "shapecache shapes ";

    if (reader->has_run || strncmp(text, set, sizeof set - 1) != 0)
        return false;
    snprintf(reader->error, sizeof reader->error,
             "not a shapecache log: %.300s is a set of shapes, for SHAPECACHE_SHAPES",
             reader->path);
    return true;
}

/* False at the first thing wrong; *is_known says whether the record is one of ours. */
static bool take(sc_reader *reader, char *text, size_t bytes, bool *is_known)
{
    sc_line *line = &reader->line;
    int event;

    if (is_set(reader, text))
        return false;
    reader->is_foreign = !reader->has_run && strncmp(text, "{\"", 2) != 0;
    if (!parse(reader, text, bytes))
        return false;
    reader->is_foreign = !reader->has_run && !is_run(line);
    if (!line->has[SC_F_EV] || !line->has[SC_F_T])
        return bad(reader, "a record lacks", line->has[SC_F_EV] ? "t" : "ev");
    event = event_of(line->value[SC_F_EV].text);
    *is_known = event >= 0;
    if (event < 0)
        return reader->has_run || bad(reader, "the log does not begin with a record", "run");
    line->event = (sc_event)event;
    return check(reader);
}

const sc_line *sc_reader_next(sc_reader *reader)
{
    size_t bytes;
    char *text;
    bool is_known = false;

    while (!reader->error[0] && (text = next_line(reader, &bytes))) {
        if (take(reader, text, bytes, &is_known)) {
            reader->is_cut = false;
            if (is_known)
                return &reader->line;
        } else if (reader->is_cut && reader->has_run) {
            reader->error[0] = '\0'; /* half a line is no fault of the log's */
            return NULL;
        }
    }
    if (!reader->error[0] && !reader->has_run)
        snprintf(reader->error, sizeof reader->error, "%.300s: the log is empty", reader->path);
    return NULL;
}

uint64_t sc_line_u64(const sc_line *line, sc_field field)
{
    return line->has[field] ? line->value[field].whole : 0;
}

const char *sc_line_text(const sc_line *line, sc_field field)
{
    return line->has[field] ? line->value[field].text : NULL;
}
