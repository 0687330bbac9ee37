/* SPDX-License-Identifier: MIT */
#include "cli/snapshot.h"
#include "cli/pickle.h"
#include <search.h>
#include <stdlib.h>
#include <string.h>

static const char CALLS[] = " > ";
enum { FRAMES_MOST = 64, LARGE = 1 << 20 };

/* The keys and fixed values of a snapshot: each is written once, under its number. */
#define WORDS(X)                                                                                   \
    X(ALLOC, "alloc")                                                                              \
    X(FREE_REQUESTED, "free_requested")                                                            \
    X(FREE_COMPLETED, "free_completed")                                                            \
    X(SEGMENT_ALLOC, "segment_alloc")                                                              \
    X(SEGMENT_FREE, "segment_free")                                                                \
    X(OOM, "oom")                                                                                  \
    X(ACTION, "action")                                                                            \
    X(ADDR, "addr")                                                                                \
    X(SIZE, "size")                                                                                \
    X(STREAM, "stream")                                                                            \
    X(TIME, "time_us")                                                                             \
    X(FRAMES, "frames")                                                                            \
    X(FREE, "device_free")                                                                         \
    X(NAME, "name")                                                                                \
    X(FILE, "filename")                                                                            \
    X(LINE, "line")                                                                                \
    X(DEVICE, "device")                                                                            \
    X(ADDRESS, "address")                                                                          \
    X(TOTAL, "total_size")                                                                         \
    X(ALLOCATED, "allocated_size")                                                                 \
    X(ACTIVE, "active_size")                                                                       \
    X(REQUESTED, "requested_size")                                                                 \
    X(TYPE, "segment_type")                                                                        \
    X(LARGE, "large")                                                                              \
    X(SMALL, "small")                                                                              \
    X(POOL, "segment_pool_id")                                                                     \
    X(EXPANDABLE, "is_expandable")                                                                 \
    X(BLOCKS, "blocks")                                                                            \
    X(STATE, "state")                                                                              \
    X(IN_USE, "active_allocated")                                                                  \
    X(INACTIVE, "inactive")                                                                        \
    X(SEGMENTS, "segments")                                                                        \
    X(TRACES, "device_traces")

typedef enum word {
#define WORD(symbol, text) WORD_##symbol,
    WORDS(WORD)
#undef WORD
        WORD_COUNT
} word;

/* The one that is being written: twalk has no argument for it. */
static const sc_snapshot *all;
static FILE *out;
static bool is_word_written[WORD_COUNT];

static void put_word(word which)
{
    static const char *const texts[] = {
#define WORD(symbol, text) text,
        WORDS(WORD)
#undef WORD
    };
    if (is_word_written[which]) {
        sc_pickle_get(out, which);
        return;
    }
    is_word_written[which] = true;
    sc_pickle_text(out, texts[which]);
    sc_pickle_put(out, which);
}

static void put_number(word key, uint64_t value)
{
    put_word(key);
    sc_pickle_u64(out, value);
    sc_pickle_set(out);
}

static void put_fixed(word key, word value)
{
    put_word(key);
    put_word(value);
    sc_pickle_set(out);
}

/* "function file:12", "file:12" or anything else, which is then the name. */
static void put_frame(char *text)
{
    char *colon = strrchr(text, ':'), *blank = strrchr(text, ' ');
    char *end = NULL;
    unsigned long line = colon ? strtoul(colon + 1, &end, 10) : 0;
    bool has_file = end && end > colon + 1 && !*end && line <= INT32_MAX;
    const char *file = "??", *name = text;

    if (has_file) {
        *colon = '\0';
        file = blank ? blank + 1 : text;
        name = blank ? text : "";
        if (blank)
            *blank = '\0';
    }
    sc_pickle_dict(out);
    put_word(WORD_NAME);
    sc_pickle_text(out, name);
    sc_pickle_set(out);
    put_word(WORD_FILE);
    sc_pickle_text(out, file);
    sc_pickle_set(out);
    put_number(WORD_LINE, has_file ? line : 0);
}

/* Innermost first, as a snapshot has them. */
static void put_frames(uint32_t number)
{
    sc_frames *of = &all->sites[number];
    char *frames[FRAMES_MOST], *text = of->text;
    unsigned count = 0;

    put_word(WORD_FRAMES);
    if (of->is_written) {
        sc_pickle_get(out, WORD_COUNT + number);
        sc_pickle_set(out);
        return;
    }
    of->is_written = true;
    while (text && count < FRAMES_MOST) {
        frames[count++] = text;
        text = strstr(text, CALLS);
        if (text) {
            *text = '\0';
            text += strlen(CALLS);
        }
    }
    sc_pickle_list(out);
    sc_pickle_put(out, WORD_COUNT + number);
    while (count-- > 0) {
        put_frame(frames[count]);
        sc_pickle_append(out);
    }
    sc_pickle_set(out);
}

static void put_event(const sc_moment *one)
{
    sc_pickle_dict(out);
    put_fixed(WORD_ACTION, (word)one->what);
    if (one->what == SC_ACTION_OOM)
        put_number(WORD_FREE, one->address);
    put_number(WORD_ADDR, one->what == SC_ACTION_OOM ? 0 : one->address);
    put_number(WORD_SIZE, one->bytes);
    put_number(WORD_STREAM, 0);
    put_number(WORD_TIME, one->time_us);
    put_frames(one->site);
    sc_pickle_append(out);
}

/* One for each device up to ours, empty but for ours. */
static void put_traces(void)
{
    uint64_t first = all->count > all->last ? all->count - all->last : 0;

    put_word(WORD_TRACES);
    sc_pickle_list(out);
    for (uint64_t i = 0; i < all->device; i++) {
        sc_pickle_list(out);
        sc_pickle_append(out);
    }
    sc_pickle_list(out);
    for (uint64_t i = first; i < all->count; i++)
        put_event(&all->events[i % all->last]);
    sc_pickle_append(out);
    sc_pickle_set(out);
}

static void put_block(const sc_segment *one)
{
    sc_pickle_dict(out);
    put_number(WORD_ADDRESS, one->address);
    put_number(WORD_SIZE, one->bytes);
    put_number(WORD_REQUESTED, one->bytes);
    put_fixed(WORD_STATE, one->is_live ? WORD_IN_USE : WORD_INACTIVE);
    put_frames(one->site);
    sc_pickle_append(out);
}

static void put_segment(const void *node, VISIT visit, int depth)
{
    const sc_segment *one = *(sc_segment *const *)node;
    uint64_t live = one->is_live ? one->bytes : 0;

    (void)depth;
    if (visit != postorder && visit != leaf)
        return;
    sc_pickle_dict(out);
    put_number(WORD_DEVICE, all->device);
    put_number(WORD_ADDRESS, one->address);
    put_number(WORD_TOTAL, one->bytes);
    put_number(WORD_ALLOCATED, live);
    put_number(WORD_ACTIVE, live);
    put_number(WORD_REQUESTED, live);
    put_number(WORD_STREAM, 0);
    put_fixed(WORD_TYPE, one->bytes >= LARGE ? WORD_LARGE : WORD_SMALL);
    put_word(WORD_POOL);
    sc_pickle_u64(out, 0);
    sc_pickle_u64(out, 0);
    sc_pickle_pair(out);
    sc_pickle_set(out);
    put_word(WORD_EXPANDABLE);
    sc_pickle_bool(out, false);
    sc_pickle_set(out);
    put_frames(one->site);
    put_word(WORD_BLOCKS);
    sc_pickle_list(out);
    put_block(one);
    sc_pickle_set(out);
    sc_pickle_append(out);
}

void sc_snapshot_write(const sc_snapshot *snapshot, FILE *file)
{
    all = snapshot;
    out = file;
    memset(is_word_written, 0, sizeof is_word_written);
    sc_pickle_begin(out);
    sc_pickle_dict(out);
    put_traces();
    put_word(WORD_SEGMENTS);
    sc_pickle_list(out);
    twalk(all->segments, put_segment);
    sc_pickle_set(out);
    sc_pickle_end(out);
}
