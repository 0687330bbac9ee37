/* SPDX-License-Identifier: MIT */
#include "base/set.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MOST = 16 << 20, FIRST_BYTES = 16 << 10, FIRST_SHAPES = 64, FOUND_SHOWN = 48 };

typedef struct parser {
    sc_set *set;
    char *at; /* in a line, which ends with a NUL */
    unsigned line;
    bool has_key;
    bool has_failed;
    sc_text *error;
} parser;

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

/* What was found there, cut and without control characters: it goes to a terminal. */
static void show(sc_text *error, const char *found)
{
    if (!*found) {
        sc_text_string(error, "the end of the line");
        return;
    }
    sc_text_char(error, '"');
    for (size_t i = 0; i < FOUND_SHOWN && found[i]; i++)
        sc_text_char(error, (char)(is_control(found[i]) ? '?' : found[i]));
    sc_text_string(error, strlen(found) > FOUND_SHOWN ? "...\"" : "\"");
}

/* Always false; the first complaint counts. */
static bool fail(parser *p, const char *expected, const char *found)
{
    if (p->has_failed)
        return false;
    p->has_failed = true;
    sc_text_string(p->error, ", line ");
    sc_text_u64(p->error, p->line);
    sc_text_string(p->error, ": expected ");
    sc_text_string(p->error, expected);
    sc_text_string(p->error, ", found ");
    show(p->error, found);
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* "..." with \" and \\; decoded in place. */
static char *quoted_word(parser *p)
{
    char *word = p->at + 1, *to = word;

    for (p->at = word; *p->at && *p->at != '"'; p->at++) {
        if (*p->at == '\\' && (p->at[1] == '"' || p->at[1] == '\\'))
            p->at++;
        *to++ = *p->at;
    }
    if (!*p->at) {
        *to = '\0';
        (void)fail(p, "a closing quote", "");
        return to;
    }
    p->at++;
    *to = '\0';
    return word;
}

/* The next word of the line; "" at its end and after an error. */
static char *word(parser *p)
{
    char *start;

    while (is_blank(*p->at))
        p->at++;
    if (*p->at == '#')
        *p->at = '\0';
    if (*p->at == '"')
        return quoted_word(p);
    start = p->at;
    while (*p->at && !is_blank(*p->at))
        p->at++;
    if (*p->at)
        *p->at++ = '\0';
    return start;
}

static bool number(parser *p, uint64_t *out)
{
    const char *found = word(p);

    return sc_parse_u64(found, out) || fail(p, "a whole number", found);
}

static bool size(parser *p, uint64_t *out)
{
    const char *found = word(p);

    return (sc_parse_size(found, out) && *out > 0) ||
           fail(p, "a size such as 48MiB or 1908352", found);
}

static bool once(parser *p, bool *has, const char *name)
{
    if (*has)
        return fail(p, "each of world, rank, memory, key and build only once", name);
    *has = true;
    return true;
}

/* 16x512x64 */
static bool dims(parser *p, sc_hint *hint)
{
    static const char expected[] = "1 to 8 dimensions such as 16x512x64";
    char *at = word(p);

    hint->count = 0;
    for (char *end = at; end; at = end + 1) {
        end = strchr(at, 'x');
        if (end)
            *end = '\0';
        if (hint->count == SC_HINT_DIMS || !sc_parse_u64(at, &hint->dims[hint->count]))
            return fail(p, expected, at);
        hint->count++;
        if (!end)
            break;
    }
    return true;
}

static bool add_shape(parser *p, const sc_set_shape *shape)
{
    sc_set *set = p->set;
    sc_set_shape *shapes = set->shapes;

    if (set->count == set->size) {
        uint32_t more = set->size ? 2 * set->size : FIRST_SHAPES;

        shapes = realloc(shapes, more * sizeof(*shapes));
        if (!shapes)
            return false;
        set->shapes = shapes;
        set->size = more;
    }
    shapes[set->count++] = *shape;
    return true;
}

/* shape SIZE [label TEXT] [dims AxB] [site TEXT] */
static bool shape_line(parser *p)
{
    sc_set_shape shape = {0};

    if (!size(p, &shape.bytes))
        return false;
    for (;;) {
        const char *name = word(p), *value;

        if (!*name)
            break;
        if (!strcmp(name, "dims")) {
            if (!dims(p, &shape.hint))
                return false;
            continue;
        }
        if (strcmp(name, "site") != 0 && strcmp(name, "label") != 0)
            return fail(p, "label, dims, site or the end of the line", name);
        value = word(p);
        if (!*value)
            return fail(p, *name == 's' ? "a call site" : "a label", value);
        if (*name == 's')
            shape.site = value;
        else
            sc_hint_label(&shape.hint, value, strlen(value));
    }
    if (p->has_failed)
        return false;
    if (add_shape(p, &shape))
        return true;
    p->has_failed = true;
    sc_text_string(p->error, ": out of memory");
    return false;
}

static bool key_line(parser *p)
{
    const char *found = word(p);

    p->set->is_by_site = !strcmp(found, "bytes+site");
    return p->set->is_by_site || !strcmp(found, "bytes") || fail(p, "bytes or bytes+site", found);
}

static bool build_line(parser *p)
{
    const char *found = word(p);

    if (!*found || strlen(found) >= SC_SET_BUILD_BYTES)
        return fail(p, "a version such as 0.1.0", found);
    memcpy(p->set->build, found, strlen(found) + 1);
    return true;
}

/* The first line that says anything. */
static bool title_line(parser *p, const char *first)
{
    uint64_t version;
    const char *found = first;

    if (!strcmp(first, "shapecache")) {
        found = word(p);
        if (!strcmp(found, "shapes")) {
            found = word(p);
            if (sc_parse_u64(found, &version) && version == SC_SET_VERSION)
                return true;
            return fail(p, "version 1 of the format, the one this build reads", found);
        }
    }
    return fail(p, "\"shapecache shapes 1\" as the first line", found);
}

static bool named_line(parser *p, const char *name)
{
    sc_set *set = p->set;
    bool has_build = set->build[0] != '\0';

    if (!strcmp(name, "shape"))
        return shape_line(p);
    if (!strcmp(name, "world"))
        return once(p, &set->has_world, name) && number(p, &set->world);
    if (!strcmp(name, "rank"))
        return once(p, &set->has_rank, name) && number(p, &set->rank);
    if (!strcmp(name, "memory"))
        return once(p, &set->has_memory, name) && size(p, &set->memory);
    if (!strcmp(name, "key"))
        return once(p, &p->has_key, name) && key_line(p);
    if (!strcmp(name, "build"))
        return once(p, &has_build, name) && build_line(p);
    return fail(p, "shape, world, rank, memory, key or build", name);
}

static bool one_line(parser *p, bool *has_title)
{
    const char *name = word(p), *rest;
    bool is_good = true;

    if (*name) {
        is_good = *has_title ? named_line(p, name) : title_line(p, name);
        *has_title = true;
    }
    rest = is_good && !p->has_failed ? word(p) : "";
    if (*rest)
        return fail(p, "the end of the line", rest);
    return is_good && !p->has_failed;
}

/* What only the whole file can show. */
static bool check_sites(parser *p)
{
    for (uint32_t i = 0; p->set->is_by_site && i < p->set->count; i++) {
        if (p->set->shapes[i].site)
            continue;
        sc_text_string(p->error, ": with \"key bytes+site\" each shape needs a site; shape ");
        sc_text_u64(p->error, p->set->shapes[i].bytes);
        sc_text_string(p->error, " has none");
        return false;
    }
    return true;
}

static bool parse(sc_set *set, size_t bytes, sc_text *error)
{
    parser p = {.set = set, .error = error};
    bool has_title = false;

    for (char *line = set->text, *end = line + bytes; line < end;) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        char *next = newline ? newline + 1 : end;

        p.line++;
        p.at = line;
        *(newline ? newline : end) = '\0';
        if (strlen(line) != (size_t)((newline ? newline : end) - line))
            return fail(&p, "text", "a byte of value 0");
        if (!one_line(&p, &has_title))
            return false;
        line = next;
    }
    p.line += p.line == 0; /* an empty file lacks its first line */
    if (!has_title)
        return title_line(&p, "");
    return check_sites(&p);
}

static bool make_index(sc_set *set)
{
    for (uint32_t i = set->count; i-- > 0;) {
        sc_set_shape *shape = &set->shapes[i];
        const sc_set_shape *other = sc_map_find(&set->by_bytes, shape->bytes);

        shape->same_bytes = other ? (uint32_t)(other - set->shapes) + 1 : 0;
        if (!sc_map_put(&set->by_bytes, shape->bytes, shape))
            return false;
    }
    return true;
}

/* The whole file, with room for a NUL; NULL: errno says why. */
static char *slurp(const char *path, size_t *bytes)
{
    /* a pipe must not make the program wait */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    size_t room = FIRST_BYTES, used = 0;
    char *text = fd < 0 ? NULL : malloc(room + 1);
    ssize_t got = 1;

    while (text && got > 0) {
        if (used == room) {
            char *more = room < FILE_MOST ? realloc(text, 2 * room + 1) : NULL;

            if (!more) {
                errno = room < FILE_MOST ? ENOMEM : EFBIG;
                got = -1;
                break;
            }
            text = more;
            room *= 2;
        }
        got = read(fd, text + used, room - used);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            used += (size_t)got;
    }
    int error = errno;

    if (fd >= 0)
        (void)close(fd);
    if (got < 0) {
        free(text);
        text = NULL;
    }
    *bytes = used;
    errno = error;
    return text;
}

bool sc_set_read(sc_set *set, const char *path, char *error, size_t bytes)
{
    sc_text text = sc_text_over(error, bytes);
    size_t used;

    *set = (sc_set){0};
    sc_text_bytes(&text, path, strnlen(path, bytes / 2));
    set->text = slurp(path, &used);
    if (!set->text) {
        sc_text_string(&text, ": ");
        sc_text_string(&text, strerror(errno));
    } else if (parse(set, used, &text)) {
        if (make_index(set))
            return true;
        sc_text_string(&text, ": out of memory");
    }
    sc_text_terminate(&text);
    sc_set_release(set);
    return false;
}

void sc_set_release(sc_set *set)
{
    sc_map_release(&set->by_bytes);
    free(set->shapes);
    free(set->text);
    *set = (sc_set){0};
}

const sc_set_shape *sc_set_find(const sc_set *set, uint64_t bytes, const char *site)
{
    const sc_set_shape *shape = sc_map_find(&set->by_bytes, bytes);

    while (shape && site && (!shape->site || strcmp(shape->site, site) != 0))
        shape = shape->same_bytes ? &set->shapes[shape->same_bytes - 1] : NULL;
    return shape;
}

const sc_set_shape *sc_set_find_site(const sc_set *set, const char *site)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (set->shapes[i].site && strcmp(set->shapes[i].site, site) == 0)
            return &set->shapes[i];
    return NULL;
}

void sc_set_word(sc_text *text, const char *word)
{
    bool is_plain = *word && *word != '#' && *word != '"';

    for (const char *c = word; *c; c++)
        is_plain = is_plain && (unsigned char)*c > 0x20;
    if (is_plain) {
        sc_text_string(text, word);
        return;
    }
    sc_text_char(text, '"');
    for (const char *c = word; *c; c++) {
        if (*c == '"' || *c == '\\')
            sc_text_char(text, '\\');
        sc_text_char(text, (char)((unsigned char)*c < 0x20 ? ' ' : *c));
    }
    sc_text_char(text, '"');
}
