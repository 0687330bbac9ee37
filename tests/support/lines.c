/* SPDX-License-Identifier: MIT */
#include "support/lines.h"
#include "log/record.h"
#include <check.h>
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *skip_value(const char *at);

static const char *skip_string(const char *at)
{
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\')
            continue;
        at++;
        if (*at == 'u') {
            for (int i = 0; i < 4; i++)
                if (!isxdigit((unsigned char)*++at))
                    return NULL;
        } else if (!*at || !strchr("\"\\/bfnrt", *at)) {
            return NULL;
        }
    }
    return at + 1;
}

static const char *skip_number(const char *at)
{
    const char *digits = at + (*at == '-');

    for (at = digits; isdigit((unsigned char)*at);)
        at++;
    return at == digits ? NULL : at;
}

/* {...} with names, [...] without. */
static const char *skip_group(const char *at, char close, bool is_named)
{
    if (*++at == close)
        return at + 1;
    for (;;) {
        if (is_named) {
            at = skip_string(at);
            if (!at || *at++ != ':')
                return NULL;
        }
        at = skip_value(at);
        if (!at)
            return NULL;
        if (*at == close)
            return at + 1;
        if (*at++ != ',')
            return NULL;
    }
}

static const char *skip_value(const char *at)
{
    switch (*at) {
    case '{':
        return skip_group(at, '}', true);
    case '[':
        return skip_group(at, ']', false);
    case '"':
        return skip_string(at);
    default:
        return skip_number(at);
    }
}

bool lines_is_object(const char *line)
{
    const char *end = *line == '{' ? skip_value(line) : NULL;

    return end && *end == '\0';
}

bool lines_field(const char *line, const char *name, char *out, size_t bytes)
{
    const char *at = line + 1;

    while (*at == '"') {
        const char *key = at + 1;

        at = skip_string(at);
        bool is_it = (size_t)(at - key) == strlen(name) + 1 && !strncmp(key, name, strlen(name));
        const char *value = ++at;

        at = skip_value(at);
        if (is_it) {
            ck_assert_uint_lt((size_t)(at - value), bytes);
            memcpy(out, value, (size_t)(at - value));
            out[at - value] = '\0';
            return true;
        }
        if (*at++ != ',')
            break;
    }
    return false;
}

uint64_t lines_u64(const char *line, const char *name)
{
    char value[32];

    ck_assert_msg(lines_field(line, name, value, sizeof value), "no %s in %s", name, line);
    return strtoull(value, NULL, 10);
}

static bool is_kind(const char *line, const char *ev)
{
    char value[64], quoted[64];

    (void)snprintf(quoted, sizeof quoted, "\"%s\"", ev);
    return lines_field(line, "ev", value, sizeof value) && strcmp(value, quoted) == 0;
}

void lines_expect(const char *line, const char *name, const char *json)
{
    char value[1024];

    ck_assert_ptr_nonnull(line);
    ck_assert_msg(lines_field(line, name, value, sizeof value), "no %s in %s", name, line);
    ck_assert_str_eq(value, json);
}

void lines_expect_absent(const char *line, const char *name)
{
    char value[512];

    ck_assert_ptr_nonnull(line);
    ck_assert_msg(!lines_field(line, name, value, sizeof value), "%s in %s", name, line);
}

size_t lines_count(const lines *all, const char *ev)
{
    size_t count = 0;

    while (lines_of(all, ev, count))
        count++;
    return count;
}

const char *lines_of(const lines *all, const char *ev, size_t i)
{
    for (size_t at = 0; at < all->count; at++)
        if (is_kind(all->line[at], ev) && i-- == 0)
            return all->line[at];
    return NULL;
}

typedef struct column {
    sc_event event;
    sc_field field;
    bool is_demanded;
} column;

static const column columns[] = {
#define MUST(event, field) {SC_EV_##event, SC_F_##field, true},
#define MAY(event, field)  {SC_EV_##event, SC_F_##field, false},
#include "cli/schema.def"
};

static const char *const types[SC_F_COUNT] = {
#define FIELD(symbol, name, type, meaning) #type,
#include "log/record.def"
};

static bool is_of_type(const char *json, const char *type)
{
    switch (*type) {
    case 'U':
        return isdigit((unsigned char)*json);
    case 'T':
        return *json == '"';
    case 'L':
        return *json == '[';
    case 'O':
        return *json == '{';
    default:
        return *json == '-' || isdigit((unsigned char)*json);
    }
}

/* The value of a field, or NULL; *fields is how many the line has. */
static const char *value_of(const char *line, const char *name, size_t *fields)
{
    const char *at = line + 1, *found = NULL;

    for (*fields = 0; *at == '"'; at += *at == ',') {
        const char *key = at + 1, *value;

        value = skip_string(at) + 1;
        at = skip_value(value);
        if ((size_t)(value - key) == strlen(name) + 2 && !strncmp(key, name, strlen(name)))
            found = value;
        ++*fields;
    }
    return found;
}

/* The field is there and of its type, or absent and need not be there. */
static bool is_in_order(const char *line, sc_field field, bool is_demanded, size_t *known)
{
    size_t fields;
    const char *value = value_of(line, sc_field_name(field), &fields);

    *known += value != NULL;
    return value ? is_of_type(value, types[field]) : !is_demanded;
}

bool lines_is_record(const char *line)
{
    size_t fields, known = 0;
    int event = 0;

    if (!lines_is_object(line) || !is_in_order(line, SC_F_EV, true, &known) ||
        !is_in_order(line, SC_F_T, true, &known))
        return false;
    while (event < SC_EV_COUNT && !is_kind(line, sc_event_name((sc_event)event)))
        event++;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if ((int)columns[i].event == event &&
            !is_in_order(line, columns[i].field, columns[i].is_demanded, &known))
            return false;
    (void)value_of(line, "", &fields);
    return event < SC_EV_COUNT && known == fields;
}

uint64_t lines_sum(const lines *all, const char *ev, const char *name)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < lines_count(all, ev); i++)
        sum += lines_u64(lines_of(all, ev, i), name);
    return sum;
}

lines lines_read(const char *path)
{
    lines all = {.text = NULL};
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    ck_assert_msg(fd >= 0 && fstat(fd, &about) == 0, "cannot read %s", path);
    all.text = malloc((size_t)about.st_size + 1);
    ck_assert_ptr_nonnull(all.text);
    ck_assert_int_eq(read(fd, all.text, (size_t)about.st_size), about.st_size);
    ck_assert_int_eq(close(fd), 0);
    all.text[about.st_size] = '\0';
    all.line = calloc((size_t)about.st_size + 1, sizeof *all.line);
    ck_assert_ptr_nonnull(all.line);
    for (char *at = all.text; *at;) {
        char *end = strchr(at, '\n');

        ck_assert_msg(end != NULL, "half a line: %s", at);
        *end = '\0';
        ck_assert_msg(lines_is_record(at), "no record of schema.def: %s", at);
        all.line[all.count++] = at;
        at = end + 1;
    }
    return all;
}

void lines_release(lines *all)
{
    free(all->line);
    free(all->text);
    *all = (lines){.text = NULL};
}
