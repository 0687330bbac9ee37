/* SPDX-License-Identifier: MIT */
#include "cache/shape.h"
#include "support/seed.h"
#include "support/suite.h"

enum { SMALL = 65536, KNOWN = 8, AGE = 4 };

static sc_shapes shapes_new(void)
{
    sc_shapes shapes;

    sc_shapes_init(&shapes, KNOWN, AGE, SMALL);
    return shapes;
}

/* A new slot of `shape` in `state`. */
static sc_buffer *fill(sc_shapes *shapes, sc_shape *shape, sc_state state)
{
    sc_buffer *buffer = sc_shape_empty_slot(shapes, shape);

    ck_assert_ptr_nonnull(buffer);
    sc_shape_set_state(shapes, buffer, state);
    return buffer;
}

static sc_scope whole;

START_TEST(a_shape_is_its_context_and_its_exact_bytes)
{
    sc_shapes shapes = shapes_new();
    sc_shape *shape = sc_shapes_add(&shapes, &whole, 1, 1 << 20, 0, 0);
    sc_shape *other = sc_shapes_add(&shapes, &whole, 2, 1 << 20, 0, 0);

    ck_assert_ptr_eq(sc_shapes_find(&shapes, 1, 1 << 20, 0), shape);
    ck_assert_ptr_eq(sc_shapes_find(&shapes, 2, 1 << 20, 0), other);
    ck_assert_ptr_null(sc_shapes_find(&shapes, 1, (1 << 20) + 1, 0));
    ck_assert_ptr_null(sc_shapes_find(&shapes, 3, 1 << 20, 0));
    ck_assert_uint_ne(shape->id, other->id);
    sc_shapes_check(&shapes, 0);
    sc_shapes_release(&shapes);
}
END_TEST

START_TEST(the_lowest_numbered_idle_slot_is_found_among_any)
{
    sc_random random = sc_random_new("shape");
    sc_shapes shapes = shapes_new();
    sc_shape *shape = sc_shapes_add(&shapes, &whole, 1, 512, 0, 0);
    sc_buffer *buffers[9000];

    for (uint32_t i = 0; i < 9000; i++) {
        buffers[i] = fill(&shapes, shape, SC_STATE_LIVE);
        ck_assert_uint_eq(buffers[i]->slot, i);
    }
    for (int round = 0; round < 300; round++) {
        uint32_t lowest = UINT32_MAX;

        for (int i = 0; i < 3; i++) {
            uint32_t slot = (uint32_t)sc_random_below(&random, 9000);

            sc_shape_set_state(&shapes, buffers[slot], SC_STATE_IDLE);
        }
        for (uint32_t i = 0; i < 9000 && lowest == UINT32_MAX; i++)
            lowest = buffers[i]->state == SC_STATE_IDLE ? i : UINT32_MAX;
        ck_assert_ptr_eq(sc_shape_lowest_idle(shape), buffers[lowest]);
        sc_shape_set_state(&shapes, buffers[lowest], SC_STATE_LIVE);
    }
    sc_shapes_check(&shapes, 0);
    sc_shapes_release(&shapes);
}
END_TEST

START_TEST(an_empty_slot_is_filled_before_a_new_one_is_numbered)
{
    sc_shapes shapes = shapes_new();
    sc_shape *shape = sc_shapes_add(&shapes, &whole, 1, 512, 0, 0);
    sc_buffer *buffers[200];

    for (uint32_t i = 0; i < 200; i++)
        buffers[i] = fill(&shapes, shape, SC_STATE_LIVE);
    sc_shape_set_state(&shapes, buffers[170], SC_STATE_EMPTY);
    sc_shape_set_state(&shapes, buffers[90], SC_STATE_EMPTY);
    ck_assert_ptr_eq(fill(&shapes, shape, SC_STATE_LIVE), buffers[90]);
    ck_assert_ptr_eq(fill(&shapes, shape, SC_STATE_LIVE), buffers[170]);
    ck_assert_uint_eq(fill(&shapes, shape, SC_STATE_LIVE)->slot, 200);
    sc_shapes_check(&shapes, 0);
    sc_shapes_release(&shapes);
}
END_TEST

START_TEST(a_shape_is_recent_for_max_age_steps_and_small_ones_do_not_count)
{
    sc_shapes shapes = shapes_new();
    sc_shape *shape = sc_shapes_add(&shapes, &whole, 1, 1 << 20, 0, 0);

    (void)sc_shapes_add(&shapes, &whole, 1, SMALL - 1, 0, 0);
    ck_assert_uint_eq(shapes.recent, 1);
    for (uint64_t step = 1; step < AGE; step++) {
        sc_shapes_age(&shapes, step);
        ck_assert_uint_eq(shapes.recent, 1);
        sc_shapes_check(&shapes, step);
    }
    sc_shapes_age(&shapes, AGE);
    ck_assert_uint_eq(shapes.recent, 0);
    sc_shapes_check(&shapes, AGE);
    sc_shapes_use(&shapes, shape, AGE);
    ck_assert_uint_eq(shapes.recent, 1);
    ck_assert_ptr_eq(shapes.newest, shape);
    sc_shapes_check(&shapes, AGE);
    sc_shapes_release(&shapes);
}
END_TEST

START_TEST(the_longest_unused_shape_without_buffers_is_the_one_too_many)
{
    sc_shapes shapes = shapes_new();
    sc_shape *first = sc_shapes_add(&shapes, &whole, 1, 1000, 0, 0), *second, *last = NULL;
    sc_buffer *held = fill(&shapes, first, SC_STATE_LIVE);

    second = sc_shapes_add(&shapes, &whole, 1, 1001, 0, 0);
    ck_assert_ptr_null(sc_shapes_surplus(&shapes, NULL));
    for (uint64_t i = 2; i <= KNOWN; i++) {
        sc_shapes_age(&shapes, i);
        last = sc_shapes_add(&shapes, &whole, 1, 1000 + i, 0, i);
    }
    ck_assert_ptr_eq(sc_shapes_surplus(&shapes, last), second);
    sc_shapes_forget(&shapes, second);
    ck_assert_uint_eq(shapes.forgotten, 1);
    ck_assert_ptr_null(sc_shapes_find(&shapes, 1, 1001, 0));
    ck_assert_ptr_null(sc_shapes_surplus(&shapes, last));
    sc_shape_set_state(&shapes, held, SC_STATE_EMPTY);
    last = sc_shapes_add(&shapes, &whole, 1, 2000, 0, KNOWN);
    ck_assert_ptr_eq(sc_shapes_surplus(&shapes, last), first);
    sc_shapes_check(&shapes, KNOWN);
    sc_shapes_release(&shapes);
}
END_TEST

START_TEST(shapes_that_all_hold_buffers_are_kept_however_many)
{
    sc_shapes shapes = shapes_new();
    sc_shape *last = NULL;

    for (uint64_t i = 0; i < 3 * KNOWN; i++) {
        last = sc_shapes_add(&shapes, &whole, 1, 1000 + i, 0, 0);
        ck_assert_ptr_null(sc_shapes_surplus(&shapes, last));
        (void)fill(&shapes, last, SC_STATE_LIVE);
    }
    ck_assert_uint_eq(shapes.known, 3 * KNOWN);
    sc_shapes_check(&shapes, 0);
    sc_shapes_release(&shapes);
}
END_TEST

START_TEST(the_site_makes_a_shape_only_where_it_is_part_of_the_key)
{
    for (int is_part = 0; is_part < 2; is_part++) {
        sc_shapes shapes;

        sc_shapes_init(&shapes, KNOWN, AGE, SMALL);
        shapes.site_mask = is_part ? UINT32_MAX : 0;
        sc_shape *one = sc_shapes_add(&shapes, &whole, 1, 1 << 20, 5, 0);

        ck_assert_ptr_eq(sc_shapes_find(&shapes, 1, 1 << 20, 5), one);
        if (is_part) {
            ck_assert_ptr_null(sc_shapes_find(&shapes, 1, 1 << 20, 6));
            sc_shape *other = sc_shapes_add(&shapes, &whole, 1, 1 << 20, 6, 0);

            ck_assert_ptr_eq(sc_shapes_find(&shapes, 1, 1 << 20, 6), other);
            ck_assert_ptr_eq(sc_shapes_find(&shapes, 1, 1 << 20, 5), one);
            sc_shapes_forget(&shapes, one);
            ck_assert_ptr_null(sc_shapes_find(&shapes, 1, 1 << 20, 5));
            ck_assert_ptr_eq(sc_shapes_find(&shapes, 1, 1 << 20, 6), other);
        } else {
            ck_assert_ptr_eq(sc_shapes_find(&shapes, 1, 1 << 20, 6), one);
        }
        sc_shapes_check(&shapes, 0);
        sc_shapes_release(&shapes);
    }
}
END_TEST

SC_SUITE("shape", the_site_makes_a_shape_only_where_it_is_part_of_the_key,
         a_shape_is_its_context_and_its_exact_bytes,
         the_lowest_numbered_idle_slot_is_found_among_any,
         an_empty_slot_is_filled_before_a_new_one_is_numbered,
         a_shape_is_recent_for_max_age_steps_and_small_ones_do_not_count,
         the_longest_unused_shape_without_buffers_is_the_one_too_many,
         shapes_that_all_hold_buffers_are_kept_however_many)
