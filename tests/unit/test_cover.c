/* SPDX-License-Identifier: MIT */
#include "cache/cover.h"
#include "support/suite.h"

/* Each letter is a shape, a bar is where a round must be over, and nowhere else. Capitals are
 * small.
 */
static sc_cover play(const char *rounds)
{
    sc_cover_mark marks[128] = {{0}};
    sc_cover cover;

    sc_cover_init(&cover);
    for (const char *at = rounds; *at != '\0'; at++) {
        bool is_over = *at == '|';

        at += is_over;
        ck_assert_msg(sc_cover_next(&cover) == is_over, "wrong before \"%s\"", at);
        sc_cover_ask(&cover, &marks[(unsigned char)*at], *at >= 'a');
    }
    return cover;
}

START_TEST(a_round_is_over_when_all_that_recur_were_asked_for_again)
{
    sc_cover cover = play("abcdabcd|abcdabcd|dcbaaaaa|abcabcab");

    ck_assert_uint_eq(cover.awaited, 1);
    ck_assert_uint_eq(cover.asked, 3);
}
END_TEST

START_TEST(rounds_grow_until_they_hold_all_that_the_program_asks_for_in_turn)
{
    /* After the last new shape, request 53, the program's turn is aaaabbbbccccdddd. */
    play("aaaaaaaa|aaaaaaaa|aaaaaaaa|aaaaaaaa|aaaaaaab|aaaabbbb|ccccddddaaaab|bbbccccdddda|"
         "aaabbbbccccd|dddaaaabbbbc|cccddddaaaab|bbbccccdddd");
}
END_TEST

START_TEST(a_shape_is_awaited_from_its_second_round_on)
{
    /* x in the sixth round only, so the next ones need not wait for it */
    play("aaaaaaaa|aaaaaaaa|aaaaaaaa|aaaaaaaa|aaaaaaaa|bxababab|abababab|abababab|abababab");
}
END_TEST

START_TEST(what_never_comes_back_delays_one_round_to_the_runs_length_at_its_last_new_shape)
{
    /* the last new shape is request 42; x recurs in the seventh round, and is gone */
    sc_cover cover = play("aaaaaaaa|aaaaaaaa|aaaaaaaa|aaaaaaaa|aaaaaaaa|bxababab|ababxaba|"
                          "bababababababababababababababababababababa|babababa|babababa|babababa");

    ck_assert_uint_eq(cover.new_at, 42);
    ck_assert_uint_eq(sc_cover_quiet(&cover), cover.total - 42);
}
END_TEST

START_TEST(one_buffer_replaced_again_and_again_makes_rounds_of_eight)
{
    play("aaaaaaaa|aaaaaaaa|aaaaaaaa|aaaaaaaa");
}
END_TEST

START_TEST(a_small_shape_is_awaited_but_never_new)
{
    sc_cover cover = play("aaaaaaaa|aaaaaaaa|aaaaaaaa|aaaaaaaa|aaaaaabA|abababaA|"
                          "abababababababababababababababababababa|babababa|babababC");

    ck_assert_uint_eq(cover.new_at, 39);
    ck_assert_uint_eq(sc_cover_quiet(&cover), cover.total - 39);
}
END_TEST

SC_SUITE("cover", a_round_is_over_when_all_that_recur_were_asked_for_again,
         rounds_grow_until_they_hold_all_that_the_program_asks_for_in_turn,
         a_shape_is_awaited_from_its_second_round_on,
         what_never_comes_back_delays_one_round_to_the_runs_length_at_its_last_new_shape,
         one_buffer_replaced_again_and_again_makes_rounds_of_eight,
         a_small_shape_is_awaited_but_never_new)
