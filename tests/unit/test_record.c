/* SPDX-License-Identifier: MIT */
#include "log/record.h"
#include "support/lines.h"
#include "support/suite.h"
#include <stdlib.h>
#include <string.h>

static void add_some(sc_text *text, uint64_t t)
{
    sc_record record = sc_record_begin(text, SC_EV_WARN, t);

    sc_record_u64(&record, SC_F_DEV, 3);
    sc_record_string(&record, SC_F_TEXT, "a \"quoted\" word\n");
    (void)sc_record_end(&record);
}

START_TEST(a_record_is_one_line_of_json_with_its_fields)
{
    char bytes[512], value[64];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    add_some(&text, 17);
    const char *line = sc_text_terminate(&text);

    ck_assert_int_eq(line[strlen(line) - 1], '\n');
    bytes[strlen(line) - 1] = '\0';
    ck_assert(lines_is_object(line));
    ck_assert(lines_field(line, "ev", value, sizeof value));
    ck_assert_str_eq(value, "\"warn\"");
    ck_assert_uint_eq(lines_u64(line, "t"), 17);
    ck_assert_uint_eq(lines_u64(line, "dev"), 3);
    ck_assert(lines_field(line, "text", value, sizeof value));
    ck_assert_str_eq(value, "\"a \\\"quoted\\\" word\\n\"");
}
END_TEST

START_TEST(a_record_that_does_not_fit_leaves_the_text_as_it_was)
{
    char bytes[512];
    sc_text whole = sc_text_over(bytes, sizeof bytes);

    add_some(&whole, 1);
    for (size_t size = 0; size < whole.used; size++) {
        char small[512] = "before";
        sc_text text = sc_text_over(small, 6 + size);

        sc_text_string(&text, "before");
        add_some(&text, 1);
        ck_assert_uint_eq(text.used, 6);
        ck_assert_mem_eq(small, "before", 6);
    }
}
END_TEST

START_TEST(a_shorter_record_still_fits_after_one_that_did_not)
{
    char bytes[40];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    add_some(&text, 1);
    ck_assert_uint_eq(text.used, 0);
    sc_record record = sc_record_begin(&text, SC_EV_END, 2);

    ck_assert(sc_record_end(&record));
    ck_assert_uint_gt(text.used, 0);
}
END_TEST

START_TEST(a_text_that_does_not_apply_is_absent)
{
    char bytes[256], value[64];
    sc_text text = sc_text_over(bytes, sizeof bytes);
    sc_record record = sc_record_begin(&text, SC_EV_SHAPE, 0);

    sc_record_string(&record, SC_F_SITE, NULL);
    ck_assert(sc_record_end(&record));
    text.used--;
    ck_assert(!lines_field(sc_text_terminate(&text), "site", value, sizeof value));
    ck_assert(lines_is_object(bytes));
}
END_TEST

START_TEST(no_two_kinds_and_no_two_fields_share_a_name)
{
    for (int i = 0; i < SC_EV_COUNT; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(sc_event_name((sc_event)i), sc_event_name((sc_event)j));
    for (int i = 0; i < SC_F_COUNT; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(sc_field_name((sc_field)i), sc_field_name((sc_field)j));
}
END_TEST

START_TEST(tests_take_no_line_for_a_record_whose_fields_are_not_those_of_the_tables)
{
    ck_assert(lines_is_record("{\"ev\":\"warn\",\"t\":1,\"text\":\"x\"}"));
    ck_assert(lines_is_record("{\"ev\":\"warn\",\"t\":1,\"text\":\"x\",\"level\":\"step\"}"));
    ck_assert(!lines_is_record("{\"ev\":\"warn\",\"t\":1}"));
    ck_assert(!lines_is_record("{\"ev\":\"warn\",\"text\":\"x\"}"));
    ck_assert(!lines_is_record("{\"t\":1,\"text\":\"x\"}"));
    ck_assert(!lines_is_record("{\"ev\":\"spark\",\"t\":1}"));
    ck_assert(!lines_is_record("{\"ev\":\"warn\",\"t\":\"1\",\"text\":\"x\"}"));
    ck_assert(!lines_is_record("{\"ev\":\"warn\",\"t\":1,\"text\":7}"));
    ck_assert(!lines_is_record("{\"ev\":\"warn\",\"t\":1,\"text\":\"x\",\"colour\":1}"));
    ck_assert(!lines_is_record("{\"ev\":\"warn\",\"t\":1,\"text\":\"x\",\"text\":\"x\"}"));
}
END_TEST

SC_SUITE("record", a_record_is_one_line_of_json_with_its_fields,
         a_record_that_does_not_fit_leaves_the_text_as_it_was,
         a_shorter_record_still_fits_after_one_that_did_not, a_text_that_does_not_apply_is_absent,
         no_two_kinds_and_no_two_fields_share_a_name,
         tests_take_no_line_for_a_record_whose_fields_are_not_those_of_the_tables)
