/* SPDX-License-Identifier: MIT */
#include "base/options.h"
#include "base/text.h"
#include <string.h>

#define PREFIX "SHAPECACHE"

const sc_option_row sc_option_rows[SC_OPTION_COUNT] = {
#define OPTION(field, name, kind, value, least, most, choices, meaning)                            \
    {sizeof(name) == 1 ? PREFIX : PREFIX "_" name,                                                 \
     SC_KIND_##kind,                                                                               \
     value,                                                                                        \
     least,                                                                                        \
     most,                                                                                         \
     choices,                                                                                      \
     meaning},
#include "base/options.def"
#undef OPTION
};

static const size_t offsets[SC_OPTION_COUNT] = {
#define OPTION(field, name, kind, value, least, most, choices, meaning) offsetof(sc_options, field),
#include "base/options.def"
#undef OPTION
};

static bool is_choice(const char *choice, const char *value)
{
    for (; *choice && *choice != ' '; choice++, value++)
        if (*value != *choice)
            return false;
    return !*value;
}

/* The index of `value` in the list, or -1. */
static int choice_index(const char *choices, const char *value)
{
    for (int index = 0;; index++) {
        if (is_choice(choices, value))
            return index;
        choices = strchr(choices, ' ');
        if (!choices)
            return -1;
        choices++;
    }
}

static bool is_inside(const sc_option_row *row, uint64_t value)
{
    return value >= row->least && (row->most == 0 || value <= row->most);
}

static bool parse_bool(const char *value, bool *out)
{
    static const char words[][6] = {"0", "off", "false", "no", "1", "on", "true", "yes"};

    for (unsigned i = 0; i < 8; i++) {
        if (sc_text_same(value, words[i])) {
            *out = i >= 4;
            return true;
        }
    }
    return false;
}

static bool parse_choice(const sc_option_row *row, const char *value, unsigned *out)
{
    int index = choice_index(row->choices, value);
    bool is_on;

    if (index < 0 && parse_bool(value, &is_on)) /* people write SHAPECACHE=0 */
        index = choice_index(row->choices, is_on ? "on" : "off");
    if (index < 0)
        return false;
    *out = (unsigned)index;
    return true;
}

/* Where the number of a choice begins; SIZE_MAX: it has none. */
static size_t number_at(const char *choice)
{
    size_t length = strcspn(choice, " ");

    return length && choice[length - 1] == 'N' ? length - 1 : SIZE_MAX;
}

static bool parse_choice_n(const sc_option_row *row, const char *value, sc_choice_n *out)
{
    const char *choice = row->choices;

    for (unsigned index = 0; choice; index++) {
        size_t at = number_at(choice);
        sc_choice_n found = {.choice = index};

        if (at == SIZE_MAX
                ? is_choice(choice, value)
                : !strncmp(choice, value, at) && sc_parse_u64(value + at, &found.number) &&
                      is_inside(row, found.number)) {
            *out = found;
            return true;
        }
        choice = strchr(choice, ' ');
        choice += choice != NULL;
    }
    return false;
}

/* A whole number and `unit`, which may be left out where nothing else is meant. */
static bool parse_with_unit(const char *value, char unit, bool is_unit_needed, uint64_t *out)
{
    char digits[24];
    size_t length = strlen(value);
    bool has_unit = length && value[length - 1] == unit;

    length -= has_unit;
    if (length >= sizeof digits || (is_unit_needed && !has_unit))
        return false;
    memcpy(digits, value, length);
    digits[length] = '\0';
    return sc_parse_u64(digits, out);
}

/* False: not usable, and the field is as before. */
static bool parse_value(sc_options *options, int index, const char *value)
{
    const sc_option_row *row = &sc_option_rows[index];
    void *field = (char *)options + offsets[index];
    uint64_t number;

    switch (row->kind) {
    case SC_KIND_CHOICE:
        return parse_choice(row, value, field);
    case SC_KIND_CHOICE_N:
        return parse_choice_n(row, value, field);
    case SC_KIND_BOOL:
        return parse_bool(value, field);
    case SC_KIND_COUNT:
        if (!sc_parse_u64(value, &number) || !is_inside(row, number))
            return false;
        *(sc_kind_COUNT *)field = number;
        return true;
    case SC_KIND_SIZE:
        if (!sc_parse_size(value, &number) || !is_inside(row, number))
            return false;
        *(sc_kind_SIZE *)field = number;
        return true;
    case SC_KIND_SHARE:
        if (parse_with_unit(value, '%', true, &number) && number <= 100)
            *(sc_share *)field = (sc_share){.value = number, .is_percent = true};
        else if (sc_parse_size(value, &number) && is_inside(row, number))
            *(sc_share *)field = (sc_share){.value = number};
        else
            return false;
        return true;
    case SC_KIND_PERCENT:
        if (!parse_with_unit(value, '%', false, &number) || !is_inside(row, number))
            return false;
        *(sc_kind_PERCENT *)field = number;
        return true;
    case SC_KIND_SECONDS:
        if (!parse_with_unit(value, 's', false, &number) || !is_inside(row, number))
            return false;
        *(sc_kind_SECONDS *)field = number;
        return true;
    case SC_KIND_TEXT:
        if (strlen(value) >= SC_OPTION_TEXT_BYTES)
            return false;
        memcpy(field, value, strlen(value) + 1);
        return true;
    }
    return false;
}

/* Bytes in the largest unit that divides them, so that the text means exactly the same. */
static void print_size(sc_text *text, uint64_t bytes)
{
    static const char units[][4] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;

    while (bytes && bytes % 1024 == 0 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    sc_text_u64(text, bytes);
    sc_text_string(text, units[unit]);
}

static void print_choice(sc_text *text, const char *choices, sc_choice_n value)
{
    for (unsigned index = value.choice; index && *choices; index--)
        choices += strcspn(choices, " ") + 1; /* the index is that of a choice: a blank follows */
    if (value.number && number_at(choices) != SIZE_MAX) {
        sc_text_bytes(text, choices, number_at(choices));
        sc_text_u64(text, value.number);
    } else {
        sc_text_bytes(text, choices, strcspn(choices, " "));
    }
}

void sc_options_print(const sc_options *options, int index, char *out, size_t bytes)
{
    const sc_option_row *row = &sc_option_rows[index];
    const void *field = (const char *)options + offsets[index];
    sc_text text = sc_text_over(out, bytes);

    switch (row->kind) {
    case SC_KIND_CHOICE:
        print_choice(&text, row->choices, (sc_choice_n){.choice = *(const sc_kind_CHOICE *)field});
        break;
    case SC_KIND_CHOICE_N:
        print_choice(&text, row->choices, *(const sc_kind_CHOICE_N *)field);
        break;
    case SC_KIND_BOOL:
        sc_text_char(&text, *(const sc_kind_BOOL *)field ? '1' : '0');
        break;
    case SC_KIND_COUNT:
        sc_text_u64(&text, *(const sc_kind_COUNT *)field);
        break;
    case SC_KIND_SIZE:
        print_size(&text, *(const sc_kind_SIZE *)field);
        break;
    case SC_KIND_SHARE:
        if (((const sc_share *)field)->is_percent) {
            sc_text_u64(&text, ((const sc_share *)field)->value);
            sc_text_char(&text, '%');
        } else {
            print_size(&text, ((const sc_share *)field)->value);
        }
        break;
    case SC_KIND_PERCENT:
        sc_text_u64(&text, *(const sc_kind_PERCENT *)field);
        sc_text_char(&text, '%');
        break;
    case SC_KIND_SECONDS:
        sc_text_u64(&text, *(const sc_kind_SECONDS *)field);
        sc_text_char(&text, 's');
        break;
    case SC_KIND_TEXT:
        sc_text_string(&text, field);
        break;
    }
    sc_text_terminate(&text);
}

uint64_t sc_share_bytes(sc_share share, uint64_t total)
{
    if (!share.is_percent)
        return share.value;
    return total / 100 * share.value + total % 100 * share.value / 100;
}

/* "on, off or observe" */
static void describe_choices(sc_text *text, const char *choices)
{
    while (*choices) {
        size_t length = strcspn(choices, " ");

        sc_text_bytes(text, choices, length);
        choices += length;
        if (*choices) {
            choices++;
            sc_text_string(text, strchr(choices, ' ') ? ", " : " or ");
        }
    }
}

/* What a value of this row must be, to follow "is not". */
static void describe(sc_text *text, const sc_option_row *row)
{
    switch (row->kind) {
    case SC_KIND_CHOICE:
        describe_choices(text, row->choices);
        break;
    case SC_KIND_CHOICE_N:
        describe_choices(text, row->choices);
        sc_text_string(text, " with N from ");
        sc_text_u64(text, row->least);
        sc_text_string(text, " to ");
        sc_text_u64(text, row->most);
        break;
    case SC_KIND_BOOL:
        sc_text_string(text, "1, on, true, yes, 0, off, false or no");
        break;
    case SC_KIND_COUNT:
        sc_text_string(text, "a whole number from ");
        sc_text_u64(text, row->least);
        sc_text_string(text, " to ");
        sc_text_u64(text, row->most);
        break;
    case SC_KIND_SIZE:
        sc_text_string(text, "a size such as 512MiB or 2GiB");
        if (row->least) {
            sc_text_string(text, " of at least ");
            print_size(text, row->least);
        }
        break;
    case SC_KIND_SHARE:
        sc_text_string(text, "a size such as 20GiB or a percentage from 0% to 100%");
        break;
    case SC_KIND_PERCENT:
        sc_text_string(text, "a whole percentage from 0% to ");
        sc_text_u64(text, row->most);
        sc_text_char(text, '%');
        break;
    case SC_KIND_SECONDS:
        sc_text_string(text, "a whole number of seconds, such as 10s, from ");
        sc_text_u64(text, row->least);
        sc_text_string(text, " to ");
        sc_text_u64(text, row->most);
        break;
    case SC_KIND_TEXT:
        sc_text_string(text, "shorter than 1024 bytes");
        break;
    }
}

/* What came from outside, cut and without control characters: it goes to a terminal. */
static void quote(sc_text *text, const char *value, size_t length)
{
    enum { SHOWN = 64 };

    sc_text_char(text, '"');
    for (size_t i = 0; i < length && i < SHOWN; i++) {
        bool is_control = (unsigned char)value[i] < 0x20 || value[i] == 0x7f;

        sc_text_bytes(text, is_control ? "?" : value + i, 1);
    }
    sc_text_string(text, length > SHOWN ? "...\"" : "\"");
}

static void warn_value(const sc_options *options, int index, const char *value,
                       sc_options_warn warn, void *self)
{
    const sc_option_row *row = &sc_option_rows[index];
    char sentence[1024], used[SC_OPTION_TEXT_BYTES];
    sc_text text = sc_text_over(sentence, sizeof sentence);

    sc_options_print(options, index, used, sizeof used);
    sc_text_string(&text, row->name);
    sc_text_string(&text, " is ");
    quote(&text, value, strlen(value));
    sc_text_string(&text, ", which is not ");
    describe(&text, row);
    sc_text_string(&text, "; the default is used: ");
    sc_text_string(&text, used[0] ? used : "none");
    sc_text_char(&text, '.');
    warn(self, sc_text_terminate(&text));
}

enum { SUSPECT_BYTES = 4096 };

/* "99" where a size is meant is more often 99 MiB forgotten than 99 bytes. */
static bool is_suspect(int index, const char *value)
{
    sc_option_kind kind = sc_option_rows[index].kind;
    uint64_t number;

    return (kind == SC_KIND_SIZE || kind == SC_KIND_SHARE) && sc_parse_u64(value, &number) &&
           number > 0 && number < SUSPECT_BYTES;
}

static void warn_suspect(int index, const char *value, sc_options_warn warn, void *self)
{
    char sentence[512];
    sc_text text = sc_text_over(sentence, sizeof sentence);

    sc_text_string(&text, sc_option_rows[index].name);
    sc_text_string(&text, " is ");
    sc_text_string(&text, value);
    sc_text_string(&text, " without a unit and is taken as bytes; mebibytes are written ");
    sc_text_string(&text, value);
    sc_text_string(&text, sc_option_rows[index].kind == SC_KIND_SHARE ? "MiB, per cent " : "MiB");
    if (sc_option_rows[index].kind == SC_KIND_SHARE) {
        sc_text_string(&text, value);
        sc_text_char(&text, '%');
    }
    sc_text_char(&text, '.');
    warn(self, sc_text_terminate(&text));
}

int sc_options_nearest(const char *name)
{
    unsigned least = UINT32_MAX;
    int nearest = 0;

    for (int i = 0; i < SC_OPTION_COUNT; i++) {
        unsigned distance = sc_text_distance(name, sc_option_rows[i].name);

        if (distance < least) {
            least = distance;
            nearest = i;
        }
    }
    return nearest;
}

static void warn_name(const char *name, size_t length, sc_options_warn warn, void *self)
{
    char sentence[512], start[64];
    sc_text text = sc_text_over(sentence, sizeof sentence);
    sc_text begun = sc_text_over(start, sizeof start);

    sc_text_bytes(&begun, name, length);
    quote(&text, name, length);
    sc_text_string(&text, " is not a setting and is ignored; the nearest is ");
    sc_text_string(&text, sc_option_rows[sc_options_nearest(sc_text_terminate(&begun))].name);
    sc_text_char(&text, '.');
    warn(self, sc_text_terminate(&text));
}

static int row_of(const char *name, size_t length)
{
    for (int i = 0; i < SC_OPTION_COUNT; i++)
        if (strlen(sc_option_rows[i].name) == length &&
            !memcmp(sc_option_rows[i].name, name, length))
            return i;
    return -1;
}

void sc_options_read(sc_options *options, bool is_set[SC_OPTION_COUNT], char *const *environment,
                     sc_options_warn warn, void *self)
{
    const char *refused[SC_OPTION_COUNT] = {NULL};
    bool seen[SC_OPTION_COUNT] = {false}, used[SC_OPTION_COUNT] = {false};

    memset(options, 0, sizeof *options);
    for (int i = 0; i < SC_OPTION_COUNT; i++)
        (void)parse_value(options, i, sc_option_rows[i].value);
    for (; *environment; environment++) {
        const char *name = *environment, *equals = strchr(name, '=');
        size_t length = equals ? (size_t)(equals - name) : 0;

        if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !equals)
            continue;
        int i = row_of(name, length);

        if (i < 0 && !strncmp(name, PREFIX "_", strlen(PREFIX "_")) && warn)
            warn_name(name, length, warn, self);
        if (i < 0 || seen[i] || !equals[1])
            continue; /* the first of two counts, as in getenv(); an empty one is as none */
        seen[i] = true;
        used[i] = parse_value(options, i, equals + 1);
        refused[i] = used[i] ? NULL : equals + 1;
        if (used[i] && warn && is_suspect(i, equals + 1))
            warn_suspect(i, equals + 1, warn, self);
    }
    if (!used[SC_OPTION_rearm])
        options->rearm = 2 * options->warmup;
    if (options->scope == SC_SCOPE_SITE && options->key != SC_KEY_SITE) {
        options->key = SC_KEY_SITE;
        if (used[SC_OPTION_key] && warn)
            warn(self, "SHAPECACHE_KEY is \"bytes\", but SHAPECACHE_SCOPE=site makes the call site "
                       "part of the key; bytes+site is used.");
    }
    for (int i = 0; i < SC_OPTION_COUNT; i++) {
        if (refused[i] && warn)
            warn_value(options, i, refused[i], warn, self);
        if (is_set)
            is_set[i] = used[i];
    }
}
