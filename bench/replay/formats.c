/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "die.h"
#include "reader.h"

static const char lifetimes_header[] = "id,lower,upper,size";
static const char rmm_header[] = "Thread,Time,Action,Pointer,Size,Stream";

/* The blocks that are live, by what the file calls them. */
struct names {
    sc_map map; /* name + 1 (0 is no key) -> block + 1 (NULL is no entry) */
};

static void *value_of(uint32_t block)
{
    return (void *)((uintptr_t)block + 1); /* NOLINT(performance-no-int-to-ptr): a number */
}

static void allocate(struct reader *reader, struct names *names, struct trace *trace, uint64_t name,
                     uint64_t bytes)
{
    bool is_full;
    uint32_t block;

    if (name == UINT64_MAX)
        reader_fail(reader, "an id below 18446744073709551615");
    if (sc_map_find(&names->map, name + 1) != NULL)
        reader_fail(reader, "a free before what is live is allocated again");
    block = trace_allocate(trace, bytes, &is_full);
    if (is_full)
        reader_fail(reader, "at most 2^31 - 1 blocks and 2^62 bytes live at once");
    if (!sc_map_put(&names->map, name + 1, value_of(block)))
        die(EXIT_INPUT, "no memory for more than %zu live blocks", names->map.used);
}

static uint32_t find(struct reader *reader, const struct names *names, uint64_t name)
{
    void *value = name < UINT64_MAX ? sc_map_find(&names->map, name + 1) : NULL;

    if (value == NULL)
        reader_fail(reader, "the free of something live");
    return (uint32_t)((uintptr_t)value - 1);
}

static void release(struct reader *reader, struct names *names, struct trace *trace, uint64_t name)
{
    trace_free(trace, find(reader, names, name));
    sc_map_remove(&names->map, name + 1);
}

/* Events. */

static void read_comment(struct reader *reader, struct trace *trace)
{
    char expected[64];
    uint64_t number;

    if (!field_begins(reader->line, "# step "))
        return;
    snprintf(expected, sizeof expected, "\"# step %zu\"", trace->mark_count);
    reader->at += sizeof "# step " - 1;
    number = reader_number(reader, ' ', expected);
    reader_done(reader, expected);
    if (number != trace->mark_count)
        reader_fail(reader, expected);
    trace_mark(trace);
}

static void read_events(struct reader *reader, struct trace *trace)
{
    static const char expected[] = "\"a ID BYTES\", \"f ID\" or a comment";
    struct names names = {{0}};

    do {
        uint64_t name;

        if (reader->line.length == 0)
            continue;
        if (field_begins(reader->line, "#")) {
            read_comment(reader, trace);
        } else if (field_begins(reader->line, "a ")) {
            reader->at += 2;
            name = reader_number(reader, ' ', expected);
            allocate(reader, &names, trace, name, reader_number(reader, ' ', expected));
            reader_done(reader, expected);
        } else if (field_begins(reader->line, "f ")) {
            reader->at += 2;
            name = reader_number(reader, ' ', expected);
            reader_done(reader, expected);
            release(reader, &names, trace, name);
        } else {
            reader_fail(reader, expected);
        }
    } while (reader_next(reader));
    sc_map_release(&names.map);
}

/* RMM's log. */

static bool read_address(struct field pointer, uint64_t *address)
{
    *address = 0;
    return field_is(pointer, "(nil)") || field_is(pointer, "nullptr") ||
           field_number(pointer, address);
}

static void read_rmm_line(struct reader *reader, struct names *names, struct trace *trace)
{
    static const char expected[] = "Thread,Time,Action,Pointer,Size,Stream with an action "
                                   "allocate, free or \"allocate failure\"";
    struct field action, pointer;
    uint64_t address, bytes;
    uint32_t block;

    reader_field(reader, ',', expected);
    reader_field(reader, ',', expected);
    action = reader_field(reader, ',', expected);
    pointer = reader_field(reader, ',', expected);
    bytes = reader_number(reader, ',', expected);
    reader_field(reader, ',', expected);
    reader_done(reader, expected);
    if (!read_address(pointer, &address) ||
        (address == 0 && bytes > 0 && !field_is(action, "allocate failure")))
        reader_fail(reader, "an address in the fourth field");
    if (field_is(action, "allocate failure")) {
        trace->left_out++;
    } else if (field_is(action, "allocate")) {
        if (address == 0)
            trace->left_out++;
        else
            allocate(reader, names, trace, address, bytes);
    } else if (!field_is(action, "free") && !field_is(action, "deallocate")) {
        reader_fail(reader, expected);
    } else if (address != 0) {
        block = find(reader, names, address);
        if (bytes != (block < trace->block_count ? trace->bytes[block] : 0))
            reader_fail(reader, "the size that was allocated");
        release(reader, names, trace, address);
    }
}

static void read_rmm(struct reader *reader, struct trace *trace)
{
    struct names names = {{0}};

    while (reader_next(reader))
        read_rmm_line(reader, &names, trace);
    sc_map_release(&names.map);
}

/* Lifetimes. */

struct life {
    uint64_t lower, upper, bytes;
};

/* An end of a life: of row `row` of the file. */
struct moment {
    uint64_t time;
    uint32_t row;
    uint32_t is_allocation;
};

struct lives {
    struct life *rows;
    size_t count, room;
    sc_map ids; /* hash of an id -> its text: no two rows have the same */
};

static uint64_t hash_of(struct field id)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < id.length; i++)
        hash = (hash ^ (unsigned char)id.at[i]) * 0x100000001b3u;
    return sc_hash(hash);
}

static void check_id(struct reader *reader, struct lives *lives, struct field id)
{
    uint64_t key = hash_of(id);
    const char *other;

    if (id.length == 0)
        reader_fail(reader, "an id in the first field");
    for (;; key++) {
        key += key == 0; /* no key */
        other = sc_map_find(&lives->ids, key);
        if (other == NULL)
            break;
        if (memcmp(other, id.at, id.length) == 0 && other[id.length] == ',')
            reader_fail(reader, "an id that no other line has");
    }
    if (!sc_map_put(&lives->ids, key, (void *)id.at))
        die(EXIT_INPUT, "no memory for more than %zu lifetimes", lives->count);
}

static void read_life(struct reader *reader, struct lives *lives)
{
    static const char expected[] = "id,lower,upper,size, the last three whole numbers";
    struct life life;

    check_id(reader, lives, reader_field(reader, ',', expected));
    life.lower = reader_number(reader, ',', expected);
    life.upper = reader_number(reader, ',', expected);
    life.bytes = reader_number(reader, ',', expected);
    reader_done(reader, expected);
    if (life.upper <= life.lower)
        reader_fail(reader, "an upper above lower: a block that lives");
    if (lives->count == lives->room) {
        lives->room = lives->room > 0 ? 2 * lives->room : 1024;
        lives->rows = reallocarray(lives->rows, lives->room, sizeof lives->rows[0]);
    }
    if (lives->rows == NULL || lives->count == INT32_MAX)
        die(EXIT_INPUT, "no memory for more than %zu lifetimes", lives->count);
    lives->rows[lives->count++] = life;
}

static int compare(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->is_allocation != b->is_allocation)
        return a->is_allocation < b->is_allocation ? -1 : 1;
    return a->row < b->row ? -1 : 1;
}

static struct moment *moments_of(const struct lives *lives)
{
    struct moment *moments = reallocarray(NULL, lives->count, 2 * sizeof *moments);

    if (moments == NULL)
        die(EXIT_INPUT, "no memory for %zu lifetimes", lives->count);
    for (size_t i = 0; i < lives->count; i++) {
        moments[2 * i] = (struct moment){lives->rows[i].lower, (uint32_t)i, 1};
        moments[2 * i + 1] = (struct moment){lives->rows[i].upper, (uint32_t)i, 0};
    }
    qsort(moments, 2 * lives->count, sizeof *moments, compare);
    return moments;
}

static void read_lifetimes(struct reader *reader, struct trace *trace)
{
    struct lives lives = {0};
    struct moment *moments;
    uint32_t *blocks; /* of each row */

    while (reader_next(reader))
        read_life(reader, &lives);
    if (lives.count == 0)
        die(EXIT_INPUT, "%s: expected lifetimes after the first line, found none", reader->name);
    moments = moments_of(&lives);
    blocks = calloc(lives.count, sizeof *blocks);
    if (blocks == NULL)
        die(EXIT_INPUT, "no memory for %zu lifetimes", lives.count);
    trace_mark(trace);
    for (size_t i = 0; i < 2 * lives.count; i++) {
        uint32_t row = moments[i].row;
        bool is_full = false;

        if (moments[i].is_allocation)
            blocks[row] = trace_allocate(trace, lives.rows[row].bytes, &is_full);
        else
            trace_free(trace, blocks[row]);
        if (is_full)
            die(EXIT_INPUT, "%s: expected at most 2^62 bytes live at once, found more at time %llu",
                reader->name, (unsigned long long)moments[i].time);
    }
    free(moments);
    free(blocks);
    free(lives.rows);
    sc_map_release(&lives.ids);
}

struct trace formats_read(const struct input *input)
{
    struct reader reader = reader_of(input);
    struct trace trace = {0};

    if (!reader_next(&reader))
        die(EXIT_INPUT, "%s: expected a trace, found an empty file", input->name);
    if (field_is(reader.line, lifetimes_header))
        read_lifetimes(&reader, &trace);
    else if (field_is(reader.line, rmm_header))
        read_rmm(&reader, &trace);
    else if (field_begins(reader.line, "a ") || field_begins(reader.line, "#"))
        read_events(&reader, &trace);
    else
        reader_fail(&reader, "\"id,lower,upper,size\", \"Thread,Time,Action,Pointer,Size,Stream\", "
                             "\"a ID BYTES\" or a comment");
    if (trace.event_count == 0)
        die(EXIT_INPUT, "%s: expected requests, found none", input->name);
    return trace;
}
