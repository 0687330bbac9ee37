/* SPDX-License-Identifier: MIT */
#include "engine/outbox.h"
#include "support/suite.h"
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4096 };

static sc_outbox outbox;

static void open_outbox(void)
{
    ck_assert(sc_outbox_init(&outbox, SIZE));
}

static void close_outbox(void)
{
    sc_outbox_release(&outbox);
}

static void add(uint64_t t, bool must_keep)
{
    sc_record record = sc_outbox_begin(&outbox, SC_EV_WARN, t, must_keep);

    sc_record_string(&record, SC_F_TEXT, "as long as most sentences are, more or less");
    sc_outbox_end(&outbox, &record, must_keep);
}

START_TEST(what_was_added_comes_out_once_and_in_order)
{
    add(1, false);
    add(2, false);
    const sc_lines *lines = sc_outbox_swap(&outbox);
    const char *first = strstr(lines->text.at, "\"t\":1"),
               *second = strstr(lines->text.at, "\"t\":2");

    ck_assert_ptr_nonnull(first);
    ck_assert(second > first);
    ck_assert_uint_eq(sc_outbox_swap(&outbox)->text.used, 0);
}
END_TEST

START_TEST(a_batch_stays_whole_while_the_next_one_fills)
{
    char copy[SIZE];

    add(1, false);
    const sc_lines *lines = sc_outbox_swap(&outbox);
    size_t used = lines->text.used;

    memcpy(copy, lines->text.at, used);
    for (uint64_t t = 2; t < 200; t++)
        add(t, true);
    ck_assert_uint_eq(lines->text.used, used);
    ck_assert_mem_eq(lines->text.at, copy, used);
}
END_TEST

START_TEST(a_full_outbox_drops_and_counts_but_has_room_for_what_must_be_kept)
{
    for (uint64_t t = 0; t < 200; t++)
        add(t, false);
    ck_assert_uint_gt(outbox.dropped, 0);
    ck_assert(sc_outbox_is_half_full(&outbox));
    ck_assert(!outbox.is_due);
    uint64_t dropped = outbox.dropped;

    add(1000, true);
    ck_assert_uint_eq(outbox.dropped, dropped);
    ck_assert(outbox.is_due);
    add(1001, false); /* beyond the ordinary part, which must not cut off what is kept */
    ck_assert_uint_eq(outbox.dropped, dropped + 1);
    const sc_lines *lines = sc_outbox_swap(&outbox);

    ck_assert_uint_eq(lines->kept, 1);
    ck_assert_ptr_nonnull(strstr(lines->text.at + lines->keep[0].at, "\"t\":1000,"));
    ck_assert_int_eq(lines->text.at[lines->keep[0].at + lines->keep[0].bytes - 1], '\n');
}
END_TEST

SC_SUITE_WITH("outbox", open_outbox, close_outbox, what_was_added_comes_out_once_and_in_order,
              a_batch_stays_whole_while_the_next_one_fills,
              a_full_outbox_drops_and_counts_but_has_room_for_what_must_be_kept)
