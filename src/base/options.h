/* SPDX-License-Identifier: MIT
 * options.h - the settings of one process, read once from the environment.
 *
 * Every row of options.def becomes a field of sc_options. A value that cannot be used keeps the
 * default and warns, once, naming the value, what was expected and what is used instead; an unknown
 * SHAPECACHE_ name warns with the nearest known one. Nothing here allocates, and numbers are parsed
 * by hand: strtol binds to a symbol version that old C libraries lack.
 *
 * The struct is written by sc_options_read() before any other thread sees it and is constant after.
 */
#ifndef SC_BASE_OPTIONS_H
#define SC_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SC_OPTION_TEXT_BYTES = 1024 };

typedef enum sc_option_kind {
    SC_KIND_CHOICE,
    SC_KIND_CHOICE_N,
    SC_KIND_BOOL,
    SC_KIND_COUNT,
    SC_KIND_SIZE,
    SC_KIND_SHARE,
    SC_KIND_SECONDS,
    SC_KIND_PERCENT,
    SC_KIND_TEXT
} sc_option_kind;

/* A size, or a percentage of the device: sc_share_bytes() resolves it. */
typedef struct sc_share {
    uint64_t value;
    bool is_percent;
} sc_share;

/* One of several words, some of which come with a number. */
typedef struct sc_choice_n {
    unsigned choice;
    uint64_t number; /* 0 where the word has none */
} sc_choice_n;

typedef unsigned sc_kind_CHOICE;
typedef sc_choice_n sc_kind_CHOICE_N;
typedef bool sc_kind_BOOL;
typedef uint64_t sc_kind_COUNT;
typedef uint64_t sc_kind_SIZE;
typedef sc_share sc_kind_SHARE;
typedef uint64_t sc_kind_SECONDS;
typedef uint64_t sc_kind_PERCENT;
typedef char sc_kind_TEXT[SC_OPTION_TEXT_BYTES];

enum { SC_MODE_ON, SC_MODE_OFF, SC_MODE_OBSERVE, SC_MODE_ALL };
enum { SC_STEP_AUTO, SC_STEP_API, SC_STEP_REQUESTS };
enum { SC_KEY_BYTES, SC_KEY_SITE };
enum { SC_SCOPE_DEVICE, SC_SCOPE_SITE };
enum { SC_LEVEL_SUMMARY, SC_LEVEL_STEP, SC_LEVEL_EVENT };
enum { SC_STACKS_OFF, SC_STACKS_SITE, SC_STACKS_DEEP };
enum { SC_SUMMARY_OFF, SC_SUMMARY_LINE, SC_SUMMARY_FULL };
enum { SC_VIEW_NONE, SC_VIEW_TENSORS, SC_VIEW_PLUGGABLE, SC_VIEW_SEGMENTS }; /* of TORCH */

typedef struct sc_options {
#define OPTION(field, name, kind, value, least, most, choices, meaning) sc_kind_##kind field;
#include "base/options.def"
#undef OPTION
} sc_options;

enum {
#define OPTION(field, name, kind, value, least, most, choices, meaning) SC_OPTION_##field,
#include "base/options.def"
#undef OPTION
    SC_OPTION_COUNT
};

/* One row of the table, for those who print it. */
typedef struct sc_option_row {
    const char *name; /* the whole variable: SHAPECACHE_WARMUP */
    sc_option_kind kind;
    const char *value; /* the default, as text */
    uint64_t least, most;
    const char *choices;
    const char *meaning;
} sc_option_row;

extern const sc_option_row sc_option_rows[SC_OPTION_COUNT];

/* Called for each thing wrong, with one whole sentence, no newline. */
typedef void (*sc_options_warn)(void *self, const char *sentence);

/* Fill `options` from `environment` (NAME=VALUE strings, NULL-terminated; the process passes
 * environ, or an empty list under AT_SECURE). `is_set[i]` says whether row i came from there (may
 * be NULL). */
void sc_options_read(sc_options *options, bool is_set[SC_OPTION_COUNT], char *const *environment,
                     sc_options_warn warn, void *self);

/* Write row i's value in `options` as text into out (bytes > 0, always terminated). */
void sc_options_print(const sc_options *options, int row, char *out, size_t bytes);

/* The row whose name is written most like `name`, which is none. */
int sc_options_nearest(const char *name);

/* Bytes of `share` on a device of `total` bytes. */
uint64_t sc_share_bytes(sc_share share, uint64_t total);

#endif
