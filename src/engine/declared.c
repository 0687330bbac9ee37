/* SPDX-License-Identifier: MIT */
#include "engine/declared.h"
#include "base/set.h"
#include "engine/logbook.h"
#include "engine/process.h"
#include "engine/site.h"
#include <string.h>

enum { SENTENCE_BYTES = 1536, PATH_SHOWN = 512 };

static sc_set set;
static char path[SC_PATH_BYTES];

/* A sentence about the file, which it names with the setting that named it. */
typedef struct sentence {
    sc_text text;
    char bytes[SENTENCE_BYTES];
} sentence;

static void start(sentence *one, const char *before, const char *after)
{
    one->text = sc_text_over(one->bytes, sizeof one->bytes);
    sc_text_string(&one->text, before);
    sc_text_bytes(&one->text, path, strnlen(path, PATH_SHOWN));
    sc_text_string(&one->text, " (SHAPECACHE_SHAPES)");
    sc_text_string(&one->text, after);
}

static void say(sentence *one)
{
    sc_logbook_warn(sc_text_terminate(&one->text));
}

/* One thing in which the file and this run differ: "it is for" `name` `theirs`, "and" `whose` is
 * `ours`. */
typedef struct difference {
    const char *name, *theirs, *whose, *ours;
} difference;

static void tell(sentence *one, const difference *differs)
{
    sc_text *text = &one->text;

    sc_text_string(text, differs->name);
    sc_text_char(text, ' ');
    sc_text_string(text, differs->theirs);
    sc_text_string(text, ", and ");
    sc_text_string(text, differs->whose);
    sc_text_char(text, ' ');
    sc_text_string(text, differs->ours);
}

static void refuse(const difference *differs)
{
    sentence one;

    start(&one, "Refusing to load ", ": it is for ");
    tell(&one, differs);
    sc_text_string(&one.text, "; shapes are learnt instead (SHAPECACHE_SHAPES_STRICT=0 loads what "
                              "the two have in common).");
    say(&one);
}

/* SHAPECACHE_SHAPES_STRICT=0: loaded, but for `left` shapes that are, as `why` says, of no use. */
static void bend(const difference *differs, uint32_t left, const char *why)
{
    sentence one;

    start(&one, "", " is for ");
    tell(&one, differs);
    sc_text_string(&one.text, "; SHAPECACHE_SHAPES_STRICT=0: loaded ");
    sc_text_u64(&one.text, set.count - left);
    sc_text_string(&one.text, " of its ");
    sc_text_u64(&one.text, set.count);
    sc_text_string(&one.text, " shapes, ");
    if (left) {
        sc_text_string(&one.text, "left ");
        sc_text_u64(&one.text, left);
        sc_text_char(&one.text, ' ');
    } else {
        sc_text_string(&one.text, "left none");
    }
    sc_text_string(&one.text, left ? why : "");
    sc_text_char(&one.text, '.');
    say(&one);
}

static const char *digits(char out[24], uint64_t value)
{
    sc_text text = sc_text_over(out, 24);

    sc_text_u64(&text, value);
    return sc_text_terminate(&text);
}

/* Whether the world allows it. */
static bool suits_world(void)
{
    const sc_process *process = &sc_process_self;
    char theirs[24], ours[24];
    difference differs = {"a world of", digits(theirs, set.world), "this run has a world of",
                          digits(ours, process->identity.world)};

    if (!set.has_world || set.world == process->identity.world)
        return true;
    if (process->options.shapes_strict)
        refuse(&differs);
    else
        bend(&differs, 0, "");
    return !process->options.shapes_strict;
}

static const char *key_word(bool is_by_site)
{
    return is_by_site ? "bytes+site" : "bytes";
}

static bool suits_key(void)
{
    const sc_options *options = &sc_process_self.options;
    bool is_by_site = options->key == SC_KEY_SITE;
    difference differs = {"the key", key_word(set.is_by_site), "SHAPECACHE_KEY is",
                          key_word(is_by_site)};
    uint32_t left = 0;

    if (set.is_by_site == is_by_site)
        return true;
    if (options->shapes_strict) {
        refuse(&differs);
        return false;
    }
    for (uint32_t i = 0; is_by_site && i < set.count; i++)
        left += !set.shapes[i].site;
    bend(&differs, left, "without a call site");
    return left < set.count;
}

static void warn_of_others(void)
{
    const sc_process *process = &sc_process_self;
    sentence one;

    if (set.has_rank && set.rank != process->identity.rank) {
        start(&one, "", " is of rank ");
        sc_text_u64(&one.text, set.rank);
        sc_text_string(&one.text, ", and this is rank ");
        sc_text_u64(&one.text, process->identity.rank);
        sc_text_string(&one.text, "; loaded all the same.");
        say(&one);
    }
    if (set.build[0] && strcmp(set.build, SC_VERSION) != 0) {
        start(&one, "", " is of shapecache ");
        sc_text_string(&one.text, set.build);
        sc_text_string(&one.text, ", and this is " SC_VERSION "; loaded all the same.");
        say(&one);
    }
}

void sc_declared_load(void)
{
    const sc_options *options = &sc_process_self.options;
    char error[SENTENCE_BYTES];
    sentence one;

    if (!options->shapes[0])
        return;
    if (!sc_path_expand(path, sizeof path, options->shapes, &sc_process_self.identity, 1)) {
        sc_logbook_warn(
            "SHAPECACHE_SHAPES has a placeholder that is none, or is too long; no set is "
            "loaded.");
        return;
    }
    if (!sc_set_read(&set, path, error, sizeof error)) {
        one.text = sc_text_over(one.bytes, sizeof one.bytes);
        sc_text_string(&one.text, "SHAPECACHE_SHAPES: ");
        sc_text_string(&one.text, error);
        sc_text_string(&one.text, "; nothing of it is loaded.");
        say(&one);
        return;
    }
    if (suits_world() && suits_key())
        warn_of_others();
    else
        sc_set_release(&set);
}

/* Whether the device's memory allows it. */
static bool suits_memory(int device, uint64_t total)
{
    bool is_strict = sc_process_self.options.shapes_strict;
    char theirs[24], ours[24], whose[40];
    sc_text text = sc_text_over(whose, sizeof whose);
    difference differs = {"device memory of", digits(theirs, set.memory), whose,
                          digits(ours, total)};
    uint32_t left = 0;

    if (!set.has_memory || !total || set.memory == total)
        return true;
    sc_text_string(&text, "device ");
    sc_text_u64(&text, (uint64_t)device);
    sc_text_string(&text, " has");
    sc_text_terminate(&text);
    if (is_strict) {
        refuse(&differs);
        return false;
    }
    for (uint32_t i = 0; i < set.count; i++)
        left += set.shapes[i].bytes > total;
    bend(&differs, left, "larger than the device");
    return left < set.count;
}

/* Under a device's lock. */
static const sc_hint *find(uint64_t bytes, uint32_t site)
{
    const char *text = sc_process_self.options.key == SC_KEY_SITE ? sc_site_text(site) : NULL;
    const sc_set_shape *shape;

    if (sc_process_self.options.key == SC_KEY_SITE && !text)
        return NULL;
    shape = bytes ? sc_set_find(&set, bytes, text) : sc_set_find_site(&set, text);
    return shape ? &shape->hint : NULL;
}

sc_declared sc_declared_on(int device, uint64_t total)
{
    if (set.count == 0 || !sc_process_self.options.gate || !suits_memory(device, total))
        return (sc_declared){0};
    return (sc_declared){.shapes = set.count, .find = find};
}
