/* SPDX-License-Identifier: MIT
 * Arenas in a process with the cache: what is given away is parked when its copy is done, and whose
 * call it is. */
#include "arena/arena.h"
#include "engine/engine.h"
#include "shapecache/shapecache.h"
#include "support/fake_gpu.h"
#include "support/lines.h"
#include "support/room.h"
#include "support/suite.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t sizes[] = {4 * MIB, 6 * MIB};
enum { SIZES = 2 };

static sc_random generator;
static sc_stream stream;
static shapecache_arena *arena;

/* Copies of the fake driver's memory, which is none, are only counted. */
static int no_copy_out(void *host, sc_address device, size_t bytes, sc_stream on)
{
    static char nothing[8];

    (void)device, (void)bytes;
    return fake_gpu_copies.copy_out(host, (sc_address)(uintptr_t)nothing, 1, on);
}

static int no_copy_in(sc_address device, const void *host, size_t bytes, sc_stream on)
{
    static char nothing[8];

    (void)device, (void)bytes;
    return fake_gpu_copies.copy_in((sc_address)(uintptr_t)nothing, host, 1, on);
}

static int no_copy_within(sc_address to, sc_address from, size_t bytes, sc_stream on)
{
    (void)to, (void)from, (void)bytes, (void)on;
    return SC_CUDA_SUCCESS;
}

static sc_copy_driver copies;
static sc_engine_host host = {.driver = &fake_driver, .copies = &copies};

static void before(void)
{
    generator = sc_random_new("arena in the engine");
    fake_gpu_init(&generator);
    stream = fake_gpu_stream();
    copies = fake_gpu_copies;
    copies.copy_out = no_copy_out;
    copies.copy_in = no_copy_in;
    copies.copy_within = no_copy_within;
    sc_engine_attach(&host);
    room_enter();
}

static void open_arena(uint64_t capacity)
{
    shapecache_arena_config config;

    shapecache_arena_defaults(&config);
    config.capacity = capacity;
    ck_assert_int_eq(shapecache_arena_create(&arena, &config), SHAPECACHE_OK);
}

static void close_arena(void)
{
    ck_assert_int_eq(shapecache_arena_destroy(arena), SHAPECACHE_OK);
    ck_assert_uint_eq(fake_registered(), 0);
    ck_assert_uint_eq(fake_gpu_events(), 0);
}

static shapecache_ticket give(sc_address data, uint64_t bytes)
{
    shapecache_ticket ticket;

    ck_assert_int_eq(shapecache_arena_offload_free(arena, (void *)(uintptr_t)data, bytes, 0,
                                                   (void *)stream, &ticket),
                     SHAPECACHE_OK);
    return ticket;
}

static shapecache_memory_info memory_now(void)
{
    shapecache_memory_info info;

    ck_assert_int_eq(shapecache_memory(-1, &info), SHAPECACHE_OK);
    return info;
}

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
    ck_assert_str_eq(text, "arena arena: offload_free of an address where no allocation of "
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

static void *call_from_aside(void *status)
{
    shapecache_arena_moment moment;

    *(shapecache_status *)status = shapecache_arena_mark(arena, &moment);
    return NULL;
}

static shapecache_status aside;

static void call_from_another_thread(void)
{
    pthread_t other;

    ck_assert_int_eq(pthread_create(&other, NULL, call_from_aside, &aside), 0);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
}

static int finish_meanwhile(sc_stream on)
{
    call_from_another_thread();
    return fake_gpu_copies.stream_finish(on);
}

static int record_meanwhile(sc_gpu_event event, sc_stream on)
{
    call_from_another_thread();
    return fake_gpu_copies.event_record(event, on);
}

START_TEST(a_call_that_comes_while_another_runs_is_refused_and_changes_nothing)
{
    shapecache_ticket ticket;
    char text[200];

    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB);

    copies.event_record = record_meanwhile;
    ck_assert_int_eq(shapecache_arena_offload(arena, (void *)(uintptr_t)block, 4 * MIB, 0,
                                              (void *)stream, &ticket),
                     SHAPECACHE_OK);
    copies.event_record = fake_gpu_copies.event_record;
    ck_assert_int_eq(aside, SHAPECACHE_EBUSY);
    shapecache_arena_error(arena, text, sizeof text);
    ck_assert_str_eq(text, "arena arena: a call came while another thread's was running; nothing "
                           "was changed");
    aside = SHAPECACHE_OK;
    copies.stream_finish = finish_meanwhile;
    close_arena();
    ck_assert_int_eq(aside, SHAPECACHE_EBUSY);
    room_free(block);
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(a_forked_child_leaves_the_arena_alone)
{
    shapecache_ticket ticket;
    int status;

    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB);
    pid_t child = fork();

    if (child == 0)
        _exit(shapecache_arena_offload(arena, (void *)(uintptr_t)block, 4 * MIB, 0, (void *)stream,
                                       &ticket) == SHAPECACHE_EOFF
                  ? 0
                  : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    room_free(block);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(an_arena_works_in_its_own_context_whichever_is_current)
{
    shapecache_ticket ticket;

    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB);

    fake_set_current(fake_primary(1));
    ck_assert_int_eq(shapecache_arena_offload(arena, (void *)(uintptr_t)block, 4 * MIB, 0,
                                              (void *)stream, &ticket),
                     SHAPECACHE_OK);
    ck_assert_uint_eq(fake_get_current(), fake_primary(1));
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_PUSH), fake_count(FAKE_CONTEXT_POP));
    ck_assert_uint_gt(fake_count(FAKE_CONTEXT_PUSH), 0);
    fake_set_current(fake_primary(0));
    room_free(block);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(with_its_context_an_arena_and_what_it_was_given_end)
{
    shapecache_ticket ticket;
    sc_context context = fake_new_context(0);

    fake_set_current(context);
    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB), other = room_alloc(4 * MIB);

    (void)give(block, 4 * MIB);
    sc_engine_context_ends(context);
    fake_end_context(context);
    fake_set_current(fake_primary(0));
    unsigned calls = fake_gpu_calls();

    ck_assert_int_eq(shapecache_arena_offload(arena, (void *)(uintptr_t)other, 4 * MIB, 0,
                                              (void *)stream, &ticket),
                     SHAPECACHE_EDEVICE);
    ck_assert_int_eq(shapecache_arena_destroy(arena), SHAPECACHE_OK);
    ck_assert_uint_eq(fake_gpu_calls(), calls);
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(the_arena_of_the_process_has_the_size_of_the_setting_and_is_one)
{
    shapecache_arena *again;
    shapecache_arena_info info;

    (void)setenv("SHAPECACHE_ARENA", "3MiB", 1);
    (void)setenv("SHAPECACHE_ARENA_FULL", "keep", 1);
    ck_assert_int_eq(shapecache_arena_of_process(&arena), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_arena_of_process(&again), SHAPECACHE_OK);
    ck_assert_ptr_eq(arena, again);
    ck_assert_int_eq(shapecache_arena_stats(arena, &info), SHAPECACHE_OK);
    ck_assert_uint_eq(info.capacity, 3 * MIB);
    sc_address block = room_alloc(4 * MIB);

    ck_assert_int_eq(give(block, 4 * MIB).place, SHAPECACHE_ARENA_DEVICE);
    ck_assert_int_eq(shapecache_arena_destroy(arena), SHAPECACHE_EVALUE);
    room_free(block);
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(the_log_has_a_row_for_each_arena_and_the_end_a_line)
{
    room_fix(sizes, SIZES);
    open_arena(64 * MIB);
    for (int pass = 0; pass < 3; pass++) {
        sc_address block = room_alloc(4 * MIB);
        shapecache_ticket ticket = give(block, 4 * MIB);

        block = room_alloc(4 * MIB);
        ck_assert_int_eq(shapecache_arena_onload(arena, ticket, (void *)(uintptr_t)block, 4 * MIB,
                                                 0, (void *)stream),
                         SHAPECACHE_OK);
        fake_gpu_finish();
        room_free(block);
    }
    ck_assert_int_eq(shapecache_arena_report(arena), SHAPECACHE_OK);
    sc_engine_finish();
    lines log = room_log();
    static const char *const whats[] = {"\"start\"", "\"pass\"", "\"pass\"", "\"report\"",
                                        "\"end\""};

    ck_assert_uint_eq(lines_count(&log, "arena"), 5);
    for (size_t i = 0; i < 5; i++)
        lines_expect(lines_of(&log, "arena", i), "what", whats[i]);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "arena", 4), "bytes_out"), 12 * MIB);
    lines_release(&log);
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said,
                                 "arena: 3 tensors offloaded, 12.0 MiB out and 12.0 MiB back; "
                                 "at most 4.00 MiB of 64.0 MiB used, peak demand 4.00 MiB"));
    free(said);
    room_close();
}
END_TEST

SC_SUITE_WITH("arena in the engine", before, NULL,
              a_given_buffer_is_handed_out_again_only_when_its_copy_is_done,
              a_given_buffer_is_live_until_its_copy_is_done_and_idle_after_it,
              outside_of_phase_fixed_a_given_buffer_goes_to_the_driver_but_not_inside_an_allocation,
              out_of_memory_waits_for_what_is_being_copied_away,
              beyond_given_most_the_oldest_copy_is_waited_for_and_that_is_counted,
              what_the_cache_never_saw_is_given_to_the_driver,
              only_the_start_of_a_live_allocation_can_be_given,
              what_is_kept_on_the_device_stays_the_programs, while_a_capture_is_open_nothing_moves,
              whatever_call_fails_while_giving_no_memory_is_lost,
              a_call_that_comes_while_another_runs_is_refused_and_changes_nothing,
              a_forked_child_leaves_the_arena_alone,
              an_arena_works_in_its_own_context_whichever_is_current,
              with_its_context_an_arena_and_what_it_was_given_end,
              the_arena_of_the_process_has_the_size_of_the_setting_and_is_one,
              the_log_has_a_row_for_each_arena_and_the_end_a_line)
