/* SPDX-License-Identifier: MIT
 * Arenas in a process with the cache: what is given away is parked when its copy is done. */
#include "support/arena_room.h"
#include "support/suite.h"
#include <string.h>

START_TEST(a_given_buffer_is_handed_out_again_only_when_its_copy_is_done)
{
    room_fix(sizes, SIZES);
    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB);
    unsigned waits = fake_count(FAKE_CONTEXT_WAIT);

    (void)give(block, 4 * MIB);
    sc_address other = room_alloc(4 * MIB);

    ck_assert_uint_ne(other, block); /* its copy is still queued */
    fake_gpu_finish();
    sc_address again = room_alloc(4 * MIB);

    ck_assert_uint_eq(again, block);
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_WAIT), waits); /* nobody waited */
    room_free(other);
    room_free(again);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(a_given_buffer_is_live_until_its_copy_is_done_and_idle_after_it)
{
    room_fix(sizes, SIZES);
    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB);

    (void)give(block, 4 * MIB);
    ck_assert_uint_eq(memory_now().live, 4 * MIB);
    ck_assert_int_eq(sc_engine_free(block), SC_CUDA_INVALID_VALUE); /* a double free */
    fake_gpu_finish();
    ck_assert_int_eq(shapecache_step(-1), SHAPECACHE_OK);
    ck_assert_uint_eq(memory_now().live, 0);
    ck_assert_uint_eq(memory_now().idle, 10 * MIB);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(outside_of_phase_fixed_a_given_buffer_goes_to_the_driver_but_not_inside_an_allocation)
{
    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB);

    (void)give(block, 4 * MIB);
    fake_gpu_finish();
    unsigned frees = fake_count(FAKE_MEM_FREE);
    sc_address other = room_alloc(5 * MIB);

    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), frees);
    ck_assert(fake_is_live(block));
    room_free(other);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), frees + 2);
    ck_assert(!fake_is_live(block));
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(out_of_memory_waits_for_what_is_being_copied_away)
{
    open_arena(64 * MIB);
    sc_address block = room_alloc(600 * MIB);

    (void)give(block, 4 * MIB); /* less than all of it may be copied */
    fake_on_wait(fake_gpu_finish);
    sc_address other = room_alloc(700 * MIB);

    fake_on_wait(NULL);
    ck_assert(!fake_is_live(block));
    room_free(other);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(beyond_given_most_the_oldest_copy_is_waited_for_and_that_is_counted)
{
    shapecache_arena_config config;
    shapecache_arena_info info;

    shapecache_arena_defaults(&config);
    config.capacity = 64 * MIB;
    config.given_most = 5 * MIB;
    ck_assert_int_eq(shapecache_arena_create(&arena, &config), SHAPECACHE_OK);
    for (int i = 0; i < 4; i++)
        (void)give(room_alloc(4 * MIB), 4 * MIB);
    ck_assert_int_eq(shapecache_arena_stats(arena, &info), SHAPECACHE_OK);
    ck_assert_uint_eq(info.waits, 2); /* 4 and 8 MiB were let in, then one had to go for each */
    ck_assert_uint_gt(info.wait_ns, 0);
    ck_assert_uint_le(info.given_pending, 2);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(what_the_cache_never_saw_is_given_to_the_driver)
{
    sc_address unseen = 0;

    open_arena(64 * MIB);
    ck_assert_int_eq(fake_driver.mem_alloc(&unseen, 4 * MIB), SC_CUDA_SUCCESS);
    (void)give(unseen, 4 * MIB);
    fake_gpu_finish();
    ck_assert(fake_is_live(unseen));
    close_arena();
    ck_assert(!fake_is_live(unseen));
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(only_the_start_of_a_live_allocation_can_be_given)
{
    shapecache_ticket ticket;
    char text[300];

    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB);
    void *inside = (void *)(uintptr_t)(block + 512);

    ck_assert_int_eq(shapecache_arena_offload_free(arena, inside, 512, 0, (void *)stream, &ticket),
                     SHAPECACHE_EPOINTER);
    shapecache_arena_error(arena, text, sizeof text);
    ck_assert_str_eq(text, "arena: offload_free of an address where no allocation of "
                           "cudaMalloc or cuMemAlloc starts, or that was freed or given before");
    (void)give(block, 4 * MIB);
    ck_assert_int_eq(shapecache_arena_offload_free(arena, (void *)(uintptr_t)block, 4 * MIB, 0,
                                                   (void *)stream, &ticket),
                     SHAPECACHE_EPOINTER);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(what_is_kept_on_the_device_stays_the_programs)
{
    open_arena(0);
    sc_address block = room_alloc(4 * MIB);
    shapecache_ticket ticket = give(block, 4 * MIB);

    ck_assert_int_eq(ticket.place, SHAPECACHE_ARENA_DEVICE);
    ck_assert_int_eq(shapecache_arena_onload(arena, ticket, (void *)(uintptr_t)block, 4 * MIB, 0,
                                             (void *)stream),
                     SHAPECACHE_OK);
    room_free(block);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(while_a_capture_is_open_nothing_moves)
{
    shapecache_ticket ticket;

    room_fix(sizes, SIZES);
    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB);

    sc_engine_capture_begin();
    ck_assert_int_eq(shapecache_arena_offload(arena, (void *)(uintptr_t)block, 4 * MIB, 0,
                                              (void *)stream, &ticket),
                     SHAPECACHE_ECAPTURE);
    sc_engine_capture_end();
    (void)give(block, 4 * MIB);
    fake_gpu_finish();
    sc_engine_capture_begin();
    unsigned calls = fake_gpu_calls();
    sc_address other = room_alloc(4 * MIB);

    ck_assert_uint_eq(fake_gpu_calls(), calls); /* no event was asked for */
    sc_engine_capture_end();
    room_free(other);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

/* Every driver call of give, copy back and settle, once. */
static void give_and_take(void)
{
    shapecache_ticket ticket;
    sc_address block = room_alloc(4 * MIB);

    if (shapecache_arena_offload_free(arena, (void *)(uintptr_t)block, 4 * MIB, 0, (void *)stream,
                                      &ticket) != SHAPECACHE_OK) {
        room_free(block);
        return;
    }
    block = room_alloc(4 * MIB);
    for (int tries = 0; tries < 3; tries++) {
        if (shapecache_arena_onload(arena, ticket, (void *)(uintptr_t)block, 4 * MIB, 0,
                                    (void *)stream) == SHAPECACHE_OK)
            break;
        ck_assert_int_lt(tries, 2);
    }
    fake_gpu_finish();
    room_free(block);
    ck_assert_int_eq(shapecache_step(-1), SHAPECACHE_OK);
}

START_TEST(whatever_call_fails_while_giving_no_memory_is_lost)
{
    room_fix(sizes, SIZES);
    open_arena(64 * MIB);
    for (unsigned n = 1; n < 40; n++) {
        fake_gpu_fail_at(n, 719);
        give_and_take();
        fake_gpu_fail_at(0, 0);
    }
    /* a sticky error switches the cache off, and all goes to the driver */
    close_arena();
    ck_assert_int_eq(shapecache_step(-1), SHAPECACHE_OK);
    ck_assert_uint_eq(memory_now().live, 0);
    sc_engine_finish();
    room_close();
}
END_TEST

SC_SUITE_WITH("arena_engine", arena_room_enter, NULL,
              a_given_buffer_is_handed_out_again_only_when_its_copy_is_done,
              a_given_buffer_is_live_until_its_copy_is_done_and_idle_after_it,
              outside_of_phase_fixed_a_given_buffer_goes_to_the_driver_but_not_inside_an_allocation,
              out_of_memory_waits_for_what_is_being_copied_away,
              beyond_given_most_the_oldest_copy_is_waited_for_and_that_is_counted,
              what_the_cache_never_saw_is_given_to_the_driver,
              only_the_start_of_a_live_allocation_can_be_given,
              what_is_kept_on_the_device_stays_the_programs, while_a_capture_is_open_nothing_moves,
              whatever_call_fails_while_giving_no_memory_is_lost)
