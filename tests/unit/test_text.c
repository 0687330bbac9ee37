/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "support/suite.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char buffer[256];

static const char *size_of(uint64_t bytes)
{
    sc_text text = sc_text_over(buffer, sizeof buffer);

    sc_text_size(&text, bytes);
    return sc_text_terminate(&text);
}

static const char *json_of(const char *string)
{
    sc_text text = sc_text_over(buffer, sizeof buffer);

    sc_text_json(&text, string);
    return sc_text_terminate(&text);
}

START_TEST(numbers_print_as_printf_prints_them)
{
    static const uint64_t values[] = {0, 1, 9, 10, 4095, UINT32_MAX, INT64_MAX, UINT64_MAX};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        sc_text text = sc_text_over(buffer, sizeof buffer);
        char expected[128];

        sc_text_u64(&text, values[i]);
        sc_text_char(&text, ' ');
        sc_text_i64(&text, (int64_t)values[i]);
        sc_text_char(&text, ' ');
        sc_text_hex(&text, values[i]);
        snprintf(expected, sizeof expected, "%" PRIu64 " %" PRId64 " %" PRIx64, values[i],
                 (int64_t)values[i], values[i]);
        ck_assert_str_eq(sc_text_terminate(&text), expected);
    }
}
END_TEST

START_TEST(a_full_buffer_takes_what_fits_and_nothing_after)
{
    char small[8] = "#######";
    sc_text text = sc_text_over(small, 5);

    sc_text_string(&text, "abc");
    sc_text_string(&text, "defg");
    sc_text_char(&text, 'h');
    ck_assert(text.is_full);
    ck_assert_uint_eq(text.used, 5);
    ck_assert_mem_eq(small, "abcde##", 8);
    ck_assert_str_eq(sc_text_terminate(&text), "abcd");
    sc_text_clear(&text);
    sc_text_char(&text, 'x');
    ck_assert(!text.is_full);
    ck_assert_str_eq(sc_text_terminate(&text), "x");
}
END_TEST

START_TEST(a_buffer_of_no_bytes_is_never_touched)
{
    sc_text text = sc_text_over(NULL, 0);

    sc_text_string(&text, "abc");
    ck_assert(text.is_full);
    ck_assert_str_eq(sc_text_terminate(&text), "");
}
END_TEST

START_TEST(sizes_have_three_digits_and_round_to_the_nearest)
{
    ck_assert_str_eq(size_of(0), "0 B");
    ck_assert_str_eq(size_of(999), "999 B");
    ck_assert_str_eq(size_of(1000), "0.98 KiB");
    ck_assert_str_eq(size_of(1024), "1.00 KiB");
    ck_assert_str_eq(size_of(65536), "64.0 KiB");
    ck_assert_str_eq(size_of(UINT64_C(3) << 29), "1.50 GiB");
    ck_assert_str_eq(size_of((UINT64_C(10) << 20) - 1), "10.0 MiB");
    ck_assert_str_eq(size_of(UINT64_C(999) << 20), "999 MiB");
    ck_assert_str_eq(size_of(UINT64_C(1000) << 20), "0.98 GiB");
    ck_assert_str_eq(size_of((UINT64_C(100) << 30) - 1), "100 GiB");
    ck_assert_str_eq(size_of(UINT64_C(5) << 50), "5.00 PiB");
    ck_assert_str_eq(size_of(UINT64_MAX), "16.0 EiB");
}
END_TEST

START_TEST(json_strings_escape_what_json_forbids)
{
    ck_assert_str_eq(json_of("plain"), "\"plain\"");
    ck_assert_str_eq(json_of("a\"b\\c"), "\"a\\\"b\\\\c\"");
    ck_assert_str_eq(json_of("a\nb\tc\x01\x1f\x7f"), "\"a\\nb\\tc\\u0001\\u001f\\u007f\"");
    ck_assert_str_eq(json_of("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
                     "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
}
END_TEST

START_TEST(what_could_drive_a_terminal_is_told_from_what_shows)
{
    static const struct {
        const char *text;
        size_t bytes;
        bool is_plain;
    } rows[] = {{"a", 1, true},
                {"\xc3\xa9", 2, true},
                {"\xf0\x9f\x98\x80", 4, true},
                {"\x1b[2J", 1, false},
                {"\n", 1, false},
                {"\x7f", 1, false},
                {"\xc2\x9b"
                 "2J",
                 2, false}, /* CSI as one character */
                {"\xc2\xa0", 2, true},
                {"\xe2\x80\xae", 3, false}, /* right to left from here on */
                {"\xe2\x80\xa8", 3, false}, /* line separator */
                {"\xe2\x81\xa6", 3, false},
                {"\xe2\x80\xaf", 3, true},
                {"\x9b", 1, false},
                {"\xc3", 1, false},
                {"\xed\xa0\x80", 1, false}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool is_plain = !rows[i].is_plain;

        ck_assert_uint_eq(sc_text_shown(rows[i].text, &is_plain), rows[i].bytes);
        ck_assert_int_eq(is_plain, rows[i].is_plain);
    }
    ck_assert_str_eq(json_of("\xc2\x9b"
                             "2J\xe2\x80\xae"),
                     "\"\\u009b2J\\u202e\"");
}
END_TEST

START_TEST(json_strings_are_utf8_whatever_comes_in)
{
    ck_assert_str_eq(json_of("\xff"), "\"\\u00ff\"");
    ck_assert_str_eq(json_of("\xc0\x80"), "\"\\u00c0\\u0080\"");            /* overlong */
    ck_assert_str_eq(json_of("\xe0\x9f\xbf"), "\"\\u00e0\\u009f\\u00bf\""); /* overlong */
    ck_assert_str_eq(json_of("\xed\xa0\x80"), "\"\\u00ed\\u00a0\\u0080\""); /* surrogate */
    ck_assert_str_eq(json_of("\xf4\x90\x80\x80"),
                     "\"\\u00f4\\u0090\\u0080\\u0080\"");        /* > 10FFFF */
    ck_assert_str_eq(json_of("\xe2\x82"), "\"\\u00e2\\u0082\""); /* cut short */
}
END_TEST

START_TEST(whole_numbers_are_parsed_exactly_or_refused)
{
    static const char *const bad[] = {"",
                                      " 1",
                                      "1 ",
                                      "-1",
                                      "+1",
                                      "1.0",
                                      "0x1",
                                      "18446744073709551616",
                                      "99999999999999999999999"};
    uint64_t value = 7;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!sc_parse_u64(bad[i], &value), "accepted \"%s\"", bad[i]);
    ck_assert_uint_eq(value, 7);
    ck_assert(sc_parse_u64("18446744073709551615", &value));
    ck_assert_uint_eq(value, UINT64_MAX);
    ck_assert(sc_parse_u64("0", &value));
    ck_assert_uint_eq(value, 0);
}
END_TEST

START_TEST(sizes_are_parsed_exactly_or_refused)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"12", 12},
                {"12B", 12},
                {"64KiB", 65536},
                {"64 kib", 65536},
                {"64K", 65536},
                {"10m", UINT64_C(10) << 20},
                {"512mb", UINT64_C(512) << 20},
                {"2G", UINT64_C(2) << 30},
                {"1TB", UINT64_C(1) << 40},
                {"1.5GiB", UINT64_C(3) << 29},
                {"0.000001GiB", 1073},
                {"16777215TiB", UINT64_C(16777215) << 40},
                {"18446744073709551615", UINT64_MAX}};
    static const char *const bad[] = {
        "",    "GiB",  "1.",    "1.5", ".5GiB", "1.5B",   "-1KiB",        "16777216TiB",   "1Bi",
        "1Ki", "1KBs", "1KiBs", "1P",  "5%",    "1  KiB", "1.0000001GiB", "17179869184GiB"};
    uint64_t value = 7;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!sc_parse_size(bad[i], &value), "accepted \"%s\"", bad[i]);
    ck_assert_uint_eq(value, 7);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_msg(sc_parse_size(good[i].text, &value), "refused \"%s\"", good[i].text);
        ck_assert_uint_eq(value, good[i].value);
    }
}
END_TEST

START_TEST(a_text_is_cut_between_characters)
{
    ck_assert_uint_eq(sc_text_fitting("abc", 3, 3), 3);
    ck_assert_uint_eq(sc_text_fitting("abcd", 4, 3), 3);
    ck_assert_uint_eq(sc_text_fitting("ab\xc3\xa9", 4, 3), 2);
    ck_assert_uint_eq(sc_text_fitting("ab\xc3\xa9z", 5, 4), 4);
    ck_assert_uint_eq(sc_text_fitting("\xf0\x9f\x98\x80", 4, 3), 0);
    ck_assert_uint_eq(sc_text_fitting("\xa9\xa9\xa9\xa9", 4, 2), 0); /* no character at all */
}
END_TEST

START_TEST(distance_counts_single_edits_and_swaps)
{
    ck_assert_uint_eq(sc_text_distance("", ""), 0);
    ck_assert_uint_eq(sc_text_distance("", "abc"), 3);
    ck_assert_uint_eq(sc_text_distance("abc", ""), 3);
    ck_assert_uint_eq(sc_text_distance("WARMUP", "WARMPU"), 1);
    ck_assert_uint_eq(sc_text_distance("report", "reprt"), 1);
    ck_assert_uint_eq(sc_text_distance("report", "xreports"), 2);
    ck_assert_uint_eq(sc_text_distance("kitten", "sitting"), 3);
}
END_TEST

START_TEST(distance_is_bounded_for_long_names)
{
    char long_name[1000];

    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    ck_assert_uint_eq(sc_text_distance(long_name, "aaaa"), 60);
    ck_assert_uint_eq(sc_text_distance("aaaa", long_name), 60);
}
END_TEST

SC_SUITE("text", numbers_print_as_printf_prints_them,
         a_full_buffer_takes_what_fits_and_nothing_after, a_buffer_of_no_bytes_is_never_touched,
         sizes_have_three_digits_and_round_to_the_nearest, json_strings_escape_what_json_forbids,
         what_could_drive_a_terminal_is_told_from_what_shows,
         json_strings_are_utf8_whatever_comes_in, whole_numbers_are_parsed_exactly_or_refused,
         sizes_are_parsed_exactly_or_refused, a_text_is_cut_between_characters,
         distance_counts_single_edits_and_swaps, distance_is_bounded_for_long_names)
