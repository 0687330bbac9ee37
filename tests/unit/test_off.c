/* SPDX-License-Identifier: MIT
 * When the engine must not cache: switched off, only observing, gone round, under a tool, in a dead
 * context and in a forked child. */
#include "shapecache/shapecache.h"
#include "support/room.h"
#include "support/suite.h"
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

/* 22 MiB in the driver's pages; none is larger than the overhead of 25% leaves room for */
static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 3 * MIB, 3 * MIB, 4 * MIB, 100 * KIB};
enum { SIZES = 6 };

static void open_with(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
    room_enter();
}

static void open_off(void)
{
    open_with("SHAPECACHE", "off");
}

static void open_observing(void)
{
    open_with("SHAPECACHE", "observe");
}

static void open_under_tool(void)
{
    open_with("NV_SANITIZER_INJECTION_PORT_BASE", "1");
}

/* The linker puts this in its place. */
unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);

static bool is_privileged;

unsigned long __wrap_getauxval(unsigned long type)
{
    return type == AT_SECURE && is_privileged ? 1 : __real_getauxval(type);
}

static void open_privileged(void)
{
    is_privileged = true;
    open_with("SHAPECACHE", "off");
}

static void open_ungated(void)
{
    open_with("SHAPECACHE_GATE", "0");
}

static void assert_said_once(const char *part)
{
    char *said = room_stderr();
    const char *first = strstr(said, part);

    ck_assert_msg(first != NULL, "not said: %s in %s", part, said);
    ck_assert_ptr_null(strstr(first + 1, part));
    free(said);
}

/* Ten batches, each allocation and each free a driver call, and nothing held between them. */
static void assert_passing(void)
{
    fake_forget_counts();
    for (int i = 0; i < 10; i++) {
        sc_address blocks[SIZES];

        for (int j = 0; j < SIZES; j++)
            blocks[j] = room_alloc(sizes[j]);
        for (int j = 0; j < SIZES; j++)
            room_free(blocks[j]);
        (void)sc_engine_step(0);
        ck_assert_uint_eq(fake_live_blocks(), 0);
    }
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 10 * SIZES);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 10 * SIZES);
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_WAIT), 0);
}

START_TEST(switched_off_it_leaves_nothing_and_asks_nothing)
{
    (void)room_alloc(MIB);
    unsigned asked = fake_count(FAKE_CONTEXT_CURRENT);

    fake_forget_counts();
    room_free(room_alloc(MIB));
    ck_assert_uint_eq(fake_calls(), 2);
    ck_assert_uint_le(asked, 1);
    ck_assert_int_eq(shapecache_step(0), SHAPECACHE_EOFF);
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_str_eq(said, "");
    free(said);
    ck_assert(!room_has_file("log") && !room_has_file("off"));
}
END_TEST

START_TEST(observing_runs_the_gate_and_caches_nothing)
{
    assert_passing();
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "phase"), 1);
    ck_assert_uint_eq(lines_sum(&log, "step", "hits"), 0);
    lines_release(&log);
}
END_TEST

START_TEST(a_door_that_goes_round_us_ends_caching_with_one_warning)
{
    room_fix(sizes, SIZES);
    sc_engine_bypassed("an allocation went another way");
    sc_engine_bypassed("an allocation went another way");
    room_free(room_alloc(sizes[0])); /* what is idle goes back here */
    ck_assert_uint_eq(fake_live_blocks(), 0);
    assert_passing();
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "warn"), 1);
    lines_release(&log);
    assert_said_once("] warn: an allocation went another way: ");
}
END_TEST

START_TEST(a_door_that_goes_round_us_before_anything_started_is_told_too)
{
    sc_engine_bypassed("an allocation went another way");
    assert_passing();
    assert_said_once("] warn: an allocation went another way: ");
}
END_TEST

START_TEST(an_address_that_is_held_already_proves_such_a_door)
{
    sc_address block = room_alloc(MIB);

    ck_assert_int_eq(fake_driver.mem_free(block), SC_CUDA_SUCCESS); /* behind our back */
    ck_assert_uint_eq(room_alloc(MIB), block);
    assert_said_once("] warn: the driver allocated an address");
    room_free(block);
    assert_passing();
}
END_TEST

START_TEST(a_sticky_error_ends_caching_and_is_passed_on)
{
    room_fix(sizes, SIZES);
    sc_engine_result(1); /* an ordinary one does not */
    sc_address block = room_alloc(sizes[0]);

    fake_fail_kind(FAKE_CONTEXT_WAIT, 1, 700);
    fake_fail_kind(FAKE_MEM_FREE, 1, 700);
    ck_assert_int_eq(sc_engine_free(block), 700);
    ck_assert_int_eq(fake_driver.mem_free(block), SC_CUDA_SUCCESS);
    ck_assert_uint_eq(fake_live_blocks(), 0);
    assert_passing();
    sc_engine_finish();
    lines log = room_log();
    char value[64];
    const char *off = lines_of(&log, "phase", lines_count(&log, "phase") - 1);

    ck_assert(lines_field(off, "to", value, sizeof value));
    ck_assert_str_eq(value, "\"off\"");
    ck_assert(lines_field(off, "reason", value, sizeof value));
    ck_assert_str_eq(value, "\"sticky-error\"");
    lines_release(&log);
    assert_said_once("] off at step ");
}
END_TEST

START_TEST(a_device_first_seen_after_a_sticky_error_is_not_cached_either)
{
    (void)room_alloc(MIB);
    sc_engine_result(719);
    room_free(room_alloc(MIB));
    fake_set_current(fake_primary(1));
    for (int i = 0; i < 5; i++) {
        room_free(room_alloc(MIB));
        ck_assert_int_eq(sc_engine_step(1), 0);
    }
    ck_assert_uint_eq(fake_live_blocks(), 1);
}
END_TEST

START_TEST(under_a_tool_it_is_off_and_says_why)
{
    assert_passing();
    sc_engine_finish();
    lines log = room_log();
    char value[64];

    ck_assert_uint_eq(lines_count(&log, "phase"), 1);
    ck_assert(lines_field(lines_of(&log, "phase", 0), "reason", value, sizeof value));
    ck_assert_str_eq(value, "\"tool\"");
    lines_release(&log);
    assert_said_once("] off at step 0: ");
}
END_TEST

/* Its user chooses environment and folder; the folder is looked at when the room closes. */
START_TEST(in_a_privileged_program_settings_do_not_count_and_no_file_is_written)
{
    for (int i = 0; i < 10; i++) /* quiet for the three steps of the default */
        room_batch(sizes, SIZES);
    fake_forget_counts();
    room_batch(sizes, SIZES);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 0); /* SHAPECACHE=off did not count */
    sc_engine_finish();
    ck_assert(!room_has_file("log"));
}
END_TEST

START_TEST(without_a_gate_everything_is_kept_and_a_warning_says_so)
{
    for (uint64_t i = 1; i <= 20; i++) {
        room_free(room_alloc(i * MIB));
        ck_assert_int_eq(sc_engine_step(0), 0);
    }
    ck_assert_uint_eq(fake_live_blocks(), 20);
    assert_said_once("] warn: SHAPECACHE_GATE=0");
    assert_said_once("] fixed at step 0: SHAPECACHE_GATE=0, whatever shapes come (log log)\n");
}
END_TEST

/* In a child of the test: 0 when all is as it should be. */
static int child_of_a_fork(sc_address parents)
{
    sc_address block = 0;

    fake_forget_counts();
    if (sc_engine_alloc(&block, sizes[0], NULL) != SC_CUDA_SUCCESS)
        return 1;
    if (fake_count(FAKE_MEM_ALLOC) != 1 || fake_calls() != 1)
        return 2;
    if (sc_engine_free(block) != SC_CUDA_SUCCESS || sc_engine_free(parents) != SC_CUDA_SUCCESS)
        return 3;
    if (fake_count(FAKE_MEM_FREE) != 2 || fake_calls() != 3)
        return 4;
    if (shapecache_step(0) != SHAPECACHE_EOFF || sc_engine_make_room())
        return 5;
    sc_engine_bypassed("in a child");
    sc_engine_result(700);
    sc_engine_exported(block);
    sc_engine_frees_elsewhere(block);
    sc_engine_context_ends(fake_primary(0));
    sc_engine_finish();
    return 0;
}

START_TEST(a_forked_child_passes_everything_and_writes_nothing)
{
    int status;

    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);
    lines before = room_log();
    char *said_before = room_stderr();
    pid_t child = fork();

    if (child == 0)
        _exit(child_of_a_fork(block));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    lines after = room_log();
    char *said_after = room_stderr();

    ck_assert_uint_eq(after.count, before.count);
    ck_assert_str_eq(said_after, said_before);
    free(said_before);
    free(said_after);
    lines_release(&before);
    lines_release(&after);
    fake_forget_counts();
    room_free(block); /* the parent goes on */
    ck_assert_uint_eq(room_alloc(sizes[0]), block);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 0);
}
END_TEST

START_TEST(after_the_end_everything_passes)
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    sc_engine_finish();
    room_free(block);
    ck_assert(!fake_is_live(block));
    ck_assert_int_eq(shapecache_step(0), SHAPECACHE_EOFF);
    ck_assert_uint_eq(fake_live_blocks(), SIZES - 1); /* nothing is freed at exit */
}
END_TEST

START_TEST(every_status_has_a_sentence)
{
    ck_assert_str_eq(shapecache_status_text(SHAPECACHE_OK), "done");
    for (int i = -1; i <= SHAPECACHE_STATUS_MAX + 1; i++)
        ck_assert_uint_gt(strlen(shapecache_status_text((shapecache_status)i)), 0);
}
END_TEST

static void add(Suite *suite, const char *name, void (*open)(void), const TTest *test)
{
    sc_suite_add(suite, name, open, room_close, &test, 1);
}

int main(void)
{
    const TTest *const plain[] = {a_door_that_goes_round_us_ends_caching_with_one_warning,
                                  a_door_that_goes_round_us_before_anything_started_is_told_too,
                                  an_address_that_is_held_already_proves_such_a_door,
                                  a_sticky_error_ends_caching_and_is_passed_on,
                                  a_device_first_seen_after_a_sticky_error_is_not_cached_either,
                                  a_forked_child_passes_everything_and_writes_nothing,
                                  after_the_end_everything_passes,
                                  every_status_has_a_sentence};
    Suite *suite = suite_create("off");

    sc_suite_add(suite, "plain", room_enter, room_close, plain, sizeof plain / sizeof *plain);
    add(suite, "off", open_off, switched_off_it_leaves_nothing_and_asks_nothing);
    add(suite, "observing", open_observing, observing_runs_the_gate_and_caches_nothing);
    add(suite, "tool", open_under_tool, under_a_tool_it_is_off_and_says_why);
    add(suite, "privileged", open_privileged,
        in_a_privileged_program_settings_do_not_count_and_no_file_is_written);
    add(suite, "ungated", open_ungated, without_a_gate_everything_is_kept_and_a_warning_says_so);
    return sc_suite_run(suite);
}
