/* SPDX-License-Identifier: MIT */
#include "log/writer.h"
#include "support/suite.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MIB = 1 << 20, LINE = 1000 };

static char folder[] = "/tmp/sc-writer-XXXXXX";
static char line[LINE];

static void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    memset(line, 'x', LINE - 1);
    line[LINE - 1] = '\n';
}

static void remove_folder(void)
{
    static const char *const names[] = {"log", "log.1", "log.2"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unlink(names[i]);
    ck_assert_int_eq(rmdir(folder), 0);
}

static sc_log open_log(uint64_t most)
{
    static const sc_identity identity = {.pid = 1, .world = 1};
    sc_log log;

    ck_assert_int_eq(sc_log_open(&log, "log", &identity, most, 1), 0);
    return log;
}

static uint64_t size_of(const char *path)
{
    struct stat about;

    ck_assert_int_eq(stat(path, &about), 0);
    return (uint64_t)about.st_size;
}

START_TEST(what_is_written_stands_in_the_file_at_once)
{
    sc_log log = open_log(8 * MIB);

    sc_log_write(&log, line, LINE, false);
    ck_assert_uint_eq(size_of(log.path), LINE);
    sc_log_write(&log, line, LINE, true);
    ck_assert_uint_eq(size_of(log.path), 2 * LINE);
    ck_assert_uint_eq(log.written, 2 * LINE);
    sc_log_close(&log);
}
END_TEST

START_TEST(two_logs_never_share_a_file)
{
    sc_log one = open_log(8 * MIB), two = open_log(8 * MIB);

    ck_assert_str_ne(one.path, two.path);
    sc_log_close(&one);
    sc_log_close(&two);
}
END_TEST

START_TEST(ordinary_lines_leave_the_last_mib_to_those_that_must_be_kept)
{
    sc_log log = open_log(4 * MIB);

    for (int i = 0; i < 5 * MIB / LINE; i++)
        sc_log_write(&log, line, LINE, false);
    ck_assert_uint_le(log.written, 3 * MIB);
    ck_assert_uint_gt(log.written, 3 * MIB - LINE);
    ck_assert_uint_gt(log.dropped, MIB);
    ck_assert(sc_log_is_tight(&log, LINE));
    uint64_t before = log.written;

    sc_log_write(&log, line, LINE, true);
    ck_assert_uint_eq(log.written, before + LINE);
    sc_log_close(&log);
}
END_TEST

START_TEST(the_file_never_grows_beyond_its_limit)
{
    sc_log log = open_log(2 * MIB);

    for (int i = 0; i < 3 * MIB / LINE; i++)
        sc_log_write(&log, line, LINE, true);
    ck_assert_uint_eq(size_of(log.path), log.written);
    ck_assert_uint_le(log.written, 2 * MIB);
    ck_assert_uint_gt(log.written, 2 * MIB - LINE);
    sc_log_close(&log);
}
END_TEST

START_TEST(rows_thin_out_from_three_quarters_on)
{
    sc_log log = open_log(16 * MIB);

    while (log.written < 12 * MIB - LINE)
        sc_log_write(&log, line, LINE, false);
    ck_assert_uint_eq(log.every, 1);
    sc_log_write(&log, line, LINE, false);
    ck_assert_uint_eq(log.every, 2);
    /* one row in `every` is written: a hundred thousand steps' rows of a thousand bytes still fit
     */
    for (uint64_t step = 0; step < 100000; step++)
        if (step % log.every == 0)
            sc_log_write(&log, line, LINE, false);
    ck_assert_uint_eq(log.dropped, 0);
    sc_log_close(&log);
}
END_TEST

START_TEST(a_write_error_closes_the_log_for_good)
{
    sc_log log = open_log(8 * MIB);
    struct stat about;

    ck_assert_int_eq(close(log.fd), 0);
    log.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(log.fd, 0);
    ck_assert_int_eq(fstat(log.fd, &about), 0);
    log.device = about.st_dev;
    log.inode = about.st_ino;
    sc_log_write(&log, line, LINE, false);
    ck_assert_int_eq(log.fd, -1);
    ck_assert_uint_eq(log.written, 0);
    sc_log_write(&log, line, LINE, true);
    ck_assert_uint_eq(size_of("log"), 0);
}
END_TEST

START_TEST(the_limit_that_the_process_has_for_files_is_kept)
{
    struct rlimit limit = {64 << 10, 64 << 10};

    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    sc_log log = open_log(8 * MIB);

    for (int i = 0; i < 200; i++) /* the signal for exceeding it would kill this test */
        sc_log_write(&log, line, LINE, true);
    ck_assert_uint_le(size_of(log.path), 64 << 10);
    ck_assert_int_ge(log.fd, 0);
    sc_log_close(&log);
}
END_TEST

START_TEST(a_limit_lowered_while_the_log_is_open_is_kept_and_raised_again_it_is_used)
{
    struct rlimit limit = {2 * LINE, RLIM_INFINITY};
    sc_log log = open_log(8 * MIB);

    sc_log_write(&log, line, LINE, true);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < 10; i++)
        sc_log_write(&log, line, LINE, true);
    ck_assert_uint_eq(size_of(log.path), 2 * LINE);
    limit.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    sc_log_write(&log, line, LINE, true);
    ck_assert_uint_eq(size_of(log.path), 3 * LINE);
    sc_log_close(&log);
}
END_TEST

/* As programs do that close every descriptor they do not know. */
START_TEST(a_descriptor_that_the_program_took_is_never_written_to)
{
    sc_log log = open_log(8 * MIB);
    int own = open("log.1", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    sc_log_write(&log, line, LINE, true);
    ck_assert_int_eq(dup2(own, log.fd), log.fd);
    for (int i = 0; i < 3; i++)
        sc_log_write(&log, line, LINE, true);
    ck_assert_uint_eq(size_of("log.1"), 0);
    ck_assert_uint_eq(size_of("log"), LINE);
    ck_assert_int_eq(log.fd, -1);
    log.fd = own; /* nor closed */
    sc_log_close(&log);
    ck_assert_int_eq(close(own), 0);
}
END_TEST

START_TEST(the_program_gets_the_same_descriptors_as_without)
{
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(close(before), 0);
    sc_log log = open_log(8 * MIB);
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(after, before);
    ck_assert_int_eq(close(after), 0);
    ck_assert_int_eq(fcntl(log.fd, F_GETFD), FD_CLOEXEC);
    sc_log_close(&log);
}
END_TEST

START_TEST(the_log_never_becomes_stderr)
{
    struct rlimit limit = {STDERR_FILENO + 1, STDERR_FILENO + 1}, before;
    static const sc_identity identity = {.pid = 1, .world = 1};
    int kept = dup(STDERR_FILENO);
    sc_log log;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit.rlim_max = before.rlim_max;
    ck_assert_int_eq(close(STDERR_FILENO), 0);
    sc_log one = open_log(8 * MIB);
    bool is_apart = one.fd > STDERR_FILENO;

    sc_log_close(&one);
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* no other number is left */
    int error = sc_log_open(&log, "log", &identity, 8 * MIB, 1);

    (void)setrlimit(RLIMIT_NOFILE, &before);
    ck_assert_int_eq(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    (void)close(kept);
    ck_assert(is_apart);
    ck_assert_int_ne(error, 0);
    ck_assert_int_eq(log.fd, -1);
}
END_TEST

START_TEST(a_folder_that_cannot_be_written_is_an_error_and_no_log)
{
    static const sc_identity identity = {.pid = 1, .world = 1};
    sc_log log;

    ck_assert_int_ne(sc_log_open(&log, "/proc/nowhere/log", &identity, MIB, 1), 0);
    ck_assert_int_eq(log.fd, -1);
    sc_log_write(&log, line, LINE, true);
    sc_log_close(&log);
}
END_TEST

SC_SUITE_WITH("writer", make_folder, remove_folder, what_is_written_stands_in_the_file_at_once,
              two_logs_never_share_a_file,
              ordinary_lines_leave_the_last_mib_to_those_that_must_be_kept,
              the_file_never_grows_beyond_its_limit, rows_thin_out_from_three_quarters_on,
              a_write_error_closes_the_log_for_good,
              the_limit_that_the_process_has_for_files_is_kept,
              a_limit_lowered_while_the_log_is_open_is_kept_and_raised_again_it_is_used,
              a_descriptor_that_the_program_took_is_never_written_to,
              the_program_gets_the_same_descriptors_as_without, the_log_never_becomes_stderr,
              a_folder_that_cannot_be_written_is_an_error_and_no_log)
