/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include <string.h>

enum { NAME_MOST = 64 }; /* longer names are compared by their first bytes */

sc_text sc_text_over(char *buffer, size_t size)
{
    return (sc_text){.at = buffer, .size = size};
}

void sc_text_clear(sc_text *text)
{
    text->used = 0;
    text->is_full = false;
}

void sc_text_bytes(sc_text *text, const char *bytes, size_t count)
{
    size_t room = text->size - text->used;

    if (text->is_full)
        return; /* later, shorter pieces must not fill the hole */
    if (count > room) {
        count = room;
        text->is_full = true;
    }
    if (count)
        memcpy(text->at + text->used, bytes, count);
    text->used += count;
}

void sc_text_string(sc_text *text, const char *string)
{
    sc_text_bytes(text, string, strlen(string));
}

void sc_text_char(sc_text *text, char c)
{
    sc_text_bytes(text, &c, 1);
}

void sc_text_u64(sc_text *text, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    sc_text_bytes(text, digits + at, sizeof digits - at);
}

void sc_text_i64(sc_text *text, int64_t value)
{
    if (value < 0)
        sc_text_char(text, '-');
    sc_text_u64(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void sc_text_hex(sc_text *text, uint64_t value)
{
    char digits[16];
    size_t at = sizeof digits;

    do {
        digits[--at] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value);
    sc_text_bytes(text, digits + at, sizeof digits - at);
}

/* value / 2^shift in hundredths, rounded. */
static uint64_t hundredths(uint64_t value, unsigned shift)
{
    if (shift > 40) { /* the remainder times 100 would not fit */
        value >>= 20;
        shift -= 20;
    }
    uint64_t rest = value & ((UINT64_C(1) << shift) - 1);

    return (value >> shift) * 100 + ((rest * 100 + (UINT64_C(1) << shift) / 2) >> shift);
}

static void text_padded(sc_text *text, uint64_t value, unsigned digits)
{
    for (uint64_t limit = 10; digits > 1; digits--, limit *= 10)
        if (value < limit)
            sc_text_char(text, '0');
    sc_text_u64(text, value);
}

void sc_text_size(sc_text *text, uint64_t bytes)
{
    static const char units[][4] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;
    uint64_t value = bytes * 100;

    if (bytes >= 1000)
        do
            value = hundredths(bytes, ++unit * 10);
        while (value >= 99950 && unit < 6);
    if (unit == 0) {
        sc_text_u64(text, bytes);
    } else if (value < 1000) {
        sc_text_u64(text, value / 100);
        sc_text_char(text, '.');
        text_padded(text, value % 100, 2);
    } else if (value < 9995) {
        value = (value + 5) / 10;
        sc_text_u64(text, value / 10);
        sc_text_char(text, '.');
        sc_text_u64(text, value % 10);
    } else {
        sc_text_u64(text, (value + 50) / 100);
    }
    sc_text_char(text, ' ');
    sc_text_string(text, units[unit]);
}

unsigned sc_text_character(const char *utf8)
{
    const unsigned char *s = (const unsigned char *)utf8;
    unsigned count = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

    if (s[0] > 0xf4)
        return 0;
    for (unsigned i = 1; i < count; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return count;
}

static uint32_t code_point(const unsigned char *s, unsigned count)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = s[0] & first[count];

    for (unsigned i = 1; i < count; i++)
        code = code << 6 | (s[i] & 0x3f);
    return code;
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t sc_text_shown(const char *text, bool *is_plain)
{
    unsigned count = sc_text_character(text);

    *is_plain = count > 0 && !is_control(code_point((const unsigned char *)text, count));
    return count ? count : 1;
}

/* \u and four digits: nothing that is_control() names needs more. */
static void escape(sc_text *text, uint32_t code)
{
    sc_text_string(text, "\\u");
    for (uint32_t digit = 0x1000; digit > 1 && code < digit; digit >>= 4)
        sc_text_char(text, '0');
    sc_text_hex(text, code);
}

void sc_text_json(sc_text *text, const char *string)
{
    const unsigned char *s = (const unsigned char *)string;

    sc_text_char(text, '"');
    while (*s) {
        unsigned count = sc_text_character((const char *)s);

        if (*s == '"' || *s == '\\') {
            sc_text_char(text, '\\');
            sc_text_char(text, (char)*s++);
        } else if (*s == '\n' || *s == '\t') {
            sc_text_string(text, *s++ == '\n' ? "\\n" : "\\t");
        } else if (count == 0) {
            escape(text, *s++);
        } else if (is_control(code_point(s, count))) {
            escape(text, code_point(s, count));
            s += count;
        } else {
            sc_text_bytes(text, (const char *)s, count);
            s += count;
        }
    }
    sc_text_char(text, '"');
}

const char *sc_text_terminate(sc_text *text)
{
    if (text->size == 0)
        return "";
    if (text->used == text->size) {
        text->used--;
        text->is_full = true;
    }
    text->at[text->used] = '\0';
    return text->at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at *at, at least one, moving *at past them. */
static bool take_u64(const char **at, uint64_t *out)
{
    uint64_t value = 0;

    if (!is_digit(**at))
        return false;
    for (; is_digit(**at); ++*at) {
        unsigned digit = (unsigned)(**at - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

bool sc_parse_u64(const char *string, uint64_t *out)
{
    uint64_t value;

    if (!take_u64(&string, &value) || *string)
        return false;
    *out = value;
    return true;
}

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

size_t sc_text_fitting(const char *utf8, size_t length, size_t most)
{
    if (length <= most)
        return length;
    while (most > 0 &&
           ((unsigned char)utf8[most] & 0xc0) == 0x80) /* not a character's first byte */
        most--;
    return most;
}

bool sc_text_same(const char *a, const char *b)
{
    for (; lower(*a) == lower(*b); a++, b++)
        if (!*a)
            return true;
    return false;
}

/* K, KB and KiB are the same: nobody who types a size means powers of ten. */
static bool parse_unit(const char *string, unsigned *unit)
{
    static const char letters[] = "bkmgt";
    const char *found = *string ? strchr(letters, lower(*string)) : NULL;

    if (!found)
        return false;
    *unit = (unsigned)(found - letters);
    string++;
    return !*string || (*unit > 0 && (sc_text_same(string, "B") || sc_text_same(string, "iB")));
}

bool sc_parse_size(const char *string, uint64_t *out)
{
    uint64_t whole, part = 0, scale = 1;
    unsigned unit = 0;

    if (!take_u64(&string, &whole))
        return false;
    if (*string == '.') {
        const char *digits = ++string;

        if (!take_u64(&string, &part) || string - digits > 6) /* more would not fit below */
            return false;
        for (; digits < string; digits++)
            scale *= 10;
    }
    if (*string == ' ')
        string++; /* so that what the report prints can be pasted */
    if (*string && !parse_unit(string, &unit))
        return false;
    if (part && unit == 0)
        return false;
    if (whole > UINT64_MAX >> (10 * unit))
        return false;
    uint64_t rest = (part << (10 * unit)) / scale;

    if ((whole << (10 * unit)) > UINT64_MAX - rest)
        return false;
    *out = (whole << (10 * unit)) + rest;
    return true;
}

/* One row of the table of edit distances (optimal string alignment) at a time; the row before the
 * last is kept for swapped neighbours. */
unsigned sc_text_distance(const char *a, const char *b)
{
    unsigned rows[3][NAME_MOST + 1];
    unsigned length = (unsigned)strnlen(b, NAME_MOST);
    unsigned *older = rows[0], *old = rows[1], *row = rows[2];

    for (unsigned j = 0; j <= length; j++) {
        older[j] = 0;
        row[j] = j;
    }
    for (unsigned i = 1; i <= NAME_MOST && a[i - 1]; i++) {
        unsigned *next = older;

        older = old;
        old = row;
        row = next;
        row[0] = i;
        for (unsigned j = 1; j <= length; j++) {
            unsigned best = old[j - 1] + (a[i - 1] != b[j - 1]);

            best = old[j] + 1 < best ? old[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                older[j - 2] + 1 < best)
                best = older[j - 2] + 1;
            row[j] = best;
        }
    }
    return row[length];
}
