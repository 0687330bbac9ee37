/* SPDX-License-Identifier: MIT */
#include "cli/json.h"
#include <string.h>

enum { DEEPEST = 64 };

sc_json sc_json_over(char *text, size_t bytes)
{
    return (sc_json){.at = text, .end = text + bytes};
}

static bool fail(sc_json *json, const char *error)
{
    if (!json->error)
        json->error = error;
    return false;
}

static void skip_space(sc_json *json)
{
    while (json->at < json->end &&
           (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r'))
        json->at++;
}

/* The next byte that is no white space, without taking it; 0 at the end. */
static char peek(sc_json *json)
{
    skip_space(json);
    if (json->at == json->end)
        return '\0';
    return *json->at;
}

static bool take_char(sc_json *json, char wanted, const char *error)
{
    if (json->error || peek(json) != wanted)
        return fail(json, error);
    json->at++;
    return true;
}

/* Four hexadecimal digits at `at`; false when they are none. */
static bool hex4(const char *at, const char *end, uint32_t *out)
{
    uint32_t value = 0;

    if (end - at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = at[i];

        if (c >= '0' && c <= '9')
            value = value << 4 | (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            value = value << 4 | (uint32_t)((c | 32) - 'a' + 10);
        else
            return false;
    }
    *out = value;
    return true;
}

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
        return out;
    }
    if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *out++ = (char)(0xe0 | c >> 12);
        } else {
            *out++ = (char)(0xf0 | c >> 18);
            *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *out++ = (char)(0x80 | (c & 0x3f));
    return out;
}

/* The character of a \u escape whose digits begin at json->at. Halves of pairs that stand alone,
 * and NUL, become the replacement character. */
static bool take_unicode(sc_json *json, uint32_t *out)
{
    uint32_t c, low;

    if (!hex4(json->at, json->end, &c))
        return fail(json, "\\u needs four hexadecimal digits");
    json->at += 4;
    if (c >= 0xd800 && c < 0xdc00 && json->end - json->at >= 6 && json->at[0] == '\\' &&
        json->at[1] == 'u' && hex4(json->at + 2, json->end, &low) && low >= 0xdc00 &&
        low < 0xe000) {
        json->at += 6;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    *out = c == 0 || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c;
    return true;
}

/* An escape after its backslash; `out` gets at most as many bytes as the escape had. */
static bool take_escape(sc_json *json, char **out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found;
    uint32_t unicode = 0;
    char c;

    if (json->at == json->end)
        return fail(json, "a text is not closed");
    c = *json->at++;
    if (c == 'u') {
        if (!take_unicode(json, &unicode))
            return false;
        *out = put_utf8(*out, unicode);
        return true;
    }
    found = c ? strchr(from, c) : NULL;
    if (!found)
        return fail(json, "unknown escape in a text");
    *(*out)++ = to[found - from];
    return true;
}

/* A text. With `decoded` it is decoded in place and terminated, else only checked. */
static bool take_text(sc_json *json, const char **decoded)
{
    char *out, scratch[8];

    if (!take_char(json, '"', "expected a text in quotes"))
        return false;
    out = json->at;
    if (decoded)
        *decoded = out;
    while (json->at < json->end && *json->at != '"') {
        char *nowhere = scratch;

        if ((unsigned char)*json->at < 0x20)
            return fail(json, "control character in a text");
        if (*json->at != '\\') {
            if (decoded)
                *out++ = *json->at;
            json->at++;
            continue;
        }
        json->at++;
        if (!take_escape(json, decoded ? &out : &nowhere))
            return false;
    }
    if (json->at == json->end)
        return fail(json, "a text is not closed");
    json->at++;
    if (decoded)
        *out = '\0'; /* on the closing quote or before it */
    return true;
}

static bool is_digit(const sc_json *json)
{
    return json->at < json->end && *json->at >= '0' && *json->at <= '9';
}

static bool take_digits(sc_json *json, uint64_t *value, bool *fits)
{
    if (!is_digit(json))
        return fail(json, "a number lacks digits");
    for (; is_digit(json); json->at++) {
        uint64_t digit = (uint64_t)(*json->at - '0');

        *fits = *fits && *value <= (UINT64_MAX - digit) / 10;
        *value = *value * 10 + digit;
    }
    return true;
}

static bool take_number(sc_json *json, sc_json_value *value)
{
    uint64_t rest = 0;
    bool fits = *json->at != '-', ignored = true;

    json->at += !fits;
    if (is_digit(json) && *json->at == '0' && json->end - json->at > 1 && json->at[1] >= '0' &&
        json->at[1] <= '9')
        return fail(json, "a number starts with 0");
    value->whole = 0;
    if (!take_digits(json, &value->whole, &fits))
        return false;
    if (json->at < json->end && *json->at == '.') {
        json->at++;
        fits = false;
        if (!take_digits(json, &rest, &ignored))
            return false;
    }
    if (json->at < json->end && (*json->at | 32) == 'e') {
        json->at++;
        fits = false;
        if (json->at < json->end && (*json->at == '+' || *json->at == '-'))
            json->at++;
        if (!take_digits(json, &rest, &ignored))
            return false;
    }
    value->kind = fits ? SC_JSON_WHOLE : SC_JSON_NUMBER;
    return true;
}

static bool take_word(sc_json *json)
{
    static const char words[][6] = {"true", "false", "null"};

    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);

        if ((size_t)(json->end - json->at) >= length && !memcmp(json->at, words[i], length)) {
            json->at += length;
            return true;
        }
    }
    return fail(json, "expected a value");
}

static bool take_scalar(sc_json *json, sc_json_value *value, bool is_decoded)
{
    char c = peek(json);

    if (c == '"') {
        value->kind = SC_JSON_TEXT;
        return take_text(json, is_decoded ? &value->text : NULL);
    }
    if (c == '-' || (c >= '0' && c <= '9'))
        return take_number(json, value);
    value->kind = SC_JSON_WORD;
    return take_word(json);
}

static bool skip_name(sc_json *json)
{
    return take_text(json, NULL) && take_char(json, ':', "expected ':' after a name");
}

/* Step over a container and all in it. `open` has a bit for each level, set where it is an object.
 */
static bool skip_container(sc_json *json)
{
    uint64_t open = 0;
    unsigned depth = 0;
    sc_json_value ignored;

    do {
        char c = peek(json);

        if (c == '{' || c == '[') {
            if (depth == DEEPEST)
                return fail(json, "nested too deep");
            open = open << 1 | (c == '{');
            depth++;
            json->at++;
            c = peek(json);
            if (c != '}' && c != ']') {
                if ((open & 1) && !skip_name(json))
                    return false;
                continue; /* with its first value */
            }
        } else if (!take_scalar(json, &ignored, false)) {
            return false;
        }
        while (depth && peek(json) == (open & 1 ? '}' : ']')) {
            json->at++;
            open >>= 1;
            depth--;
        }
        if (depth && !take_char(json, ',', "expected ',' or the end of a list or object"))
            return false;
        if (depth && (open & 1) && !skip_name(json))
            return false;
    } while (depth);
    return true;
}

bool sc_json_enter(sc_json *json, sc_json_kind kind)
{
    json->is_first = true;
    return kind == SC_JSON_OBJECT ? take_char(json, '{', "expected an object")
                                  : take_char(json, '[', "expected a list");
}

/* True when another entry follows before `close`. */
static bool has_next(sc_json *json, char close)
{
    bool was_first = json->is_first;

    if (json->error)
        return false;
    json->is_first = false;
    if (peek(json) == close) {
        json->at++;
        return false;
    }
    return was_first || take_char(json, ',', "expected ',' or the end of a list or object");
}

bool sc_json_member(sc_json *json, const char **name)
{
    return has_next(json, '}') && take_text(json, name) &&
           take_char(json, ':', "expected ':' after a name");
}

bool sc_json_item(sc_json *json)
{
    return has_next(json, ']');
}

bool sc_json_take(sc_json *json, sc_json_value *value)
{
    char c;

    if (json->error)
        return false;
    c = peek(json);
    if (c != '{' && c != '[')
        return take_scalar(json, value, true);
    *value = (sc_json_value){.kind = c == '{' ? SC_JSON_OBJECT : SC_JSON_LIST, .start = json->at};
    if (!skip_container(json))
        return false;
    value->bytes = (size_t)(json->at - value->start);
    return true;
}

bool sc_json_finish(sc_json *json)
{
    if (json->error)
        return false;
    skip_space(json);
    return json->at == json->end || fail(json, "something follows the value");
}
