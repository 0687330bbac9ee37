/* SPDX-License-Identifier: MIT */
#include "cli/symbols.h"
#include "base/map.h"
#include "cli/command.h"
#include "cli/dwarf.h"
#include "cli/emit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS_MOST = 1024, PLACE_BYTES = 2048 };
#define CALLS " > " /* between a caller and what it calls */

typedef struct object {
    char *path, *build_id;
    bool is_tried;
    sc_dwarf_answer answer;
    sc_dwarf *file;
} object;

typedef struct entry {
    char *site;
    char *place; /* NULL: not looked for yet */
    object *of;  /* NULL: a chain, or unknown */
    struct entry *same_hash;
} entry;

struct sc_symbols {
    sc_map by_hash;
    unsigned count;
    object *objects[OBJECTS_MOST];
    unsigned object_count;
};

static uint64_t hash(const char *text, size_t length)
{
    uint64_t value = 1;

    for (size_t i = 0; i < length; i++)
        value = sc_hash(value ^ (unsigned char)text[i]);
    return value ? value : 1;
}

static entry *find(const sc_symbols *symbols, const char *site, size_t length)
{
    entry *found = sc_map_find(&symbols->by_hash, hash(site, length));

    while (found && (strncmp(found->site, site, length) != 0 || found->site[length]))
        found = found->same_hash;
    return found;
}

/* NULL: there are too many. */
static entry *add(sc_symbols *symbols, const char *site)
{
    uint64_t key = hash(site, strlen(site));
    entry *made;

    if (symbols->count == SC_SYMBOLS_MOST)
        return NULL;
    made = sc_need(sizeof *made);
    made->site = sc_need_copy(site);
    made->same_hash = sc_map_find(&symbols->by_hash, key);
    if (!sc_map_put(&symbols->by_hash, key, made)) {
        sc_say("out of memory");
        exit(SC_EXIT_FAILED);
    }
    symbols->count++;
    return made;
}

/* NULL: there are too many. */
static object *find_object(sc_symbols *symbols, const char *path, const char *build_id)
{
    object *made;

    for (unsigned i = symbols->object_count; i-- > 0;)
        if (!strcmp(symbols->objects[i]->path, path) &&
            !strcmp(symbols->objects[i]->build_id, build_id))
            return symbols->objects[i];
    if (symbols->object_count == OBJECTS_MOST)
        return NULL;
    made = sc_need(sizeof *made);
    made->path = sc_need_copy(path);
    made->build_id = sc_need_copy(build_id);
    symbols->objects[symbols->object_count++] = made;
    return made;
}

void sc_symbols_learn(sc_symbols **symbols, const sc_line *line)
{
    const char *site = sc_line_text(line, SC_F_SITE), *path = sc_line_text(line, SC_F_OBJECT);
    const char *build_id = sc_line_text(line, SC_F_BUILD_ID);
    entry *found;

    if (line->event != SC_EV_SITE || !path || !build_id)
        return;
    if (!*symbols)
        *symbols = sc_need(sizeof **symbols);
    found = find(*symbols, site, strlen(site));
    if (!found)
        found = add(*symbols, site);
    if (found && !found->of)
        found->of = find_object(*symbols, path, build_id);
}

/* The number behind "object+0x"; false: there is none. */
static bool parse_offset(const char *site, uint64_t *offset)
{
    const char *plus = strrchr(site, '+');
    char *end;

    if (!plus || strncmp(plus, "+0x", 3) != 0 || !plus[3] || strlen(plus) > 3 + 16)
        return false;
    *offset = strtoull(plus + 3, &end, 16);
    return *end == '\0' && *offset > 0;
}

/* "function file:line", or what is to be said instead of it: without a line the offset stays behind
 * the function's name, since a function may ask at several places. */
static char *place_of(const entry *one)
{
    object *of = one->of;
    char text[PLACE_BYTES];
    size_t used;
    uint64_t offset;
    bool has_line;

    if (!of || !parse_offset(one->site, &offset))
        return sc_need_copy(one->site);
    if (!of->is_tried) {
        of->is_tried = true;
        of->answer = sc_dwarf_open(of->path, of->build_id, &of->file);
    }
    if (of->answer == SC_DWARF_OPEN &&
        sc_dwarf_place(of->file, offset, text, sizeof text, &has_line)) {
        used = strlen(text);
        if (!has_line)
            snprintf(text + used, sizeof text - used, " %s", one->site);
        return sc_need_copy(text);
    }
    snprintf(text, sizeof text, "%.1900s%s", one->site,
             of->answer == SC_DWARF_OTHER ? " (binary changed)" : "");
    return sc_need_copy(text);
}

/* One frame of a chain; its own text where nothing is known of it. */
static size_t put_frame(sc_symbols *symbols, char *out, size_t bytes, const char *frame,
                        size_t length)
{
    entry *one = find(symbols, frame, length);
    int made;

    if (one && !one->place)
        one->place = place_of(one);
    made = one ? snprintf(out, bytes, "%s", one->place)
               : snprintf(out, bytes, "%.*s", (int)length, frame);
    return made < 0 ? 0 : (size_t)made < bytes ? (size_t)made : bytes - 1;
}

/* Of a chain whose last frame begins at `last`: CUDA's template, not inlined, is the same for all,
 * and stands where a table that is too narrow has the end of a chain. */
static void drop_wrapper(char *chain, size_t last)
{
    if (last > strlen(CALLS) && strstr(chain + last, " " SC_DWARF_WRAPPERS ":"))
        chain[last - strlen(CALLS)] = '\0';
}

static char *place_of_chain(sc_symbols *symbols, const char *site)
{
    char text[PLACE_BYTES];
    size_t used = 0, last = 0;

    while (*site) {
        const char *next = strstr(site, CALLS);
        size_t length = next ? (size_t)(next - site) : strlen(site);

        last = used;
        used += put_frame(symbols, text + used, sizeof text - used, site, length);
        site += length;
        if (next) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%.*s",
                                     (int)(sizeof text - used - 1), CALLS);
            used = used < sizeof text ? used : sizeof text - 1;
            site += strlen(CALLS);
        }
    }
    drop_wrapper(text, last);
    return sc_need_copy(text);
}

const char *sc_symbols_place(sc_symbols *symbols, const char *site)
{
    entry *one;

    if (!symbols || !site || !*site)
        return site;
    one = find(symbols, site, strlen(site));
    if (!one && strstr(site, CALLS))
        one = add(symbols, site);
    if (!one)
        return site;
    if (!one->place)
        one->place = strstr(site, CALLS) ? place_of_chain(symbols, site) : place_of(one);
    return one->place;
}

void sc_symbols_emit(sc_symbols *symbols, const char *site)
{
    const char *place = sc_symbols_place(symbols, site);

    sc_emit_text("site", site);
    if (site && strcmp(place, site) != 0)
        sc_emit_text("place", place);
}

static void entry_delete(entry *one)
{
    while (one) {
        entry *next = one->same_hash;

        free(one->site);
        free(one->place);
        free(one);
        one = next;
    }
}

void sc_symbols_delete(sc_symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->by_hash.size; i++)
        if (symbols->by_hash.entries[i].key)
            entry_delete(symbols->by_hash.entries[i].value);
    sc_map_release(&symbols->by_hash);
    for (unsigned i = 0; i < symbols->object_count; i++) {
        if (symbols->objects[i]->file)
            sc_dwarf_close(symbols->objects[i]->file);
        free(symbols->objects[i]->path);
        free(symbols->objects[i]->build_id);
        free(symbols->objects[i]);
    }
    free(symbols);
}
