/* SPDX-License-Identifier: MIT */
#include "cache/live.h"
#include "cache/shape.h"
#include "support/suite.h"

START_TEST(an_address_has_one_owner_until_it_is_removed)
{
    sc_live live = {0};
    sc_buffer first = {.address = 0x7000}, second = {.address = 0x7200};

    ck_assert_ptr_null(sc_live_find(&live, 0x7000));
    ck_assert(sc_live_put(&live, 0x7000, &first));
    ck_assert(sc_live_put(&live, 0x7200, &second));
    ck_assert_ptr_eq(sc_live_find(&live, 0x7000), &first);
    ck_assert_ptr_eq(sc_live_find(&live, 0x7200), &second);
    sc_live_remove(&live, 0x7000);
    ck_assert_ptr_null(sc_live_find(&live, 0x7000));
    ck_assert_ptr_eq(sc_live_find(&live, 0x7200), &second);
    sc_live_release(&live);
}
END_TEST

START_TEST(only_a_blocks_exact_address_is_known)
{
    sc_live live = {0};
    sc_buffer buffer = {.address = 0x7000};

    ck_assert(sc_live_put(&live, 0x7000, &buffer));
    ck_assert_ptr_null(sc_live_find(&live, 0x7001));
    ck_assert_ptr_null(sc_live_find(&live, 0x6fff));
    ck_assert_ptr_null(sc_live_find(&live, 0));
    sc_live_release(&live);
}
END_TEST

SC_SUITE("live", an_address_has_one_owner_until_it_is_removed, only_a_blocks_exact_address_is_known)
