/* SPDX-License-Identifier: MIT */
#include "base/path.h"
#include "support/suite.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static char path[SC_PATH_BYTES];
static sc_identity identity;

static int remove_one(const char *name, const struct stat *about, int kind, struct FTW *at)
{
    (void)about, (void)kind, (void)at;
    return remove(name);
}

static void enter_folder(void)
{
    strcpy(folder, "/tmp/shapecache-path-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    identity = (sc_identity){.pid = 4711, .rank = 3, .local_rank = 1, .world = 8};
    strcpy(identity.host, "node7");
    strcpy(identity.program, "train");
    strcpy(identity.run, "r1");
}

static void leave_folder(void)
{
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* The path that was created; the file is closed. */
static const char *create(const char *format)
{
    int fd = sc_path_create(path, sizeof path, format, &identity);

    ck_assert_msg(fd >= 0, "%s: %s", format, strerror(errno));
    ck_assert_int_eq(close(fd), 0);
    return path;
}

START_TEST(placeholders_expand_and_unknown_ones_are_refused)
{
    ck_assert(sc_path_expand(path, sizeof path, "%j/%h-%e-%p-%r.%l.%n%%", &identity, 5));
    ck_assert_str_eq(path, "r1/node7-train-4711-3.1.5%");
    ck_assert(!sc_path_expand(path, sizeof path, "a%x", &identity, 0));
    ck_assert(!sc_path_expand(path, sizeof path, "a%", &identity, 0));
    ck_assert(!sc_path_expand(path, 4, "abcd", &identity, 0));
    ck_assert(sc_path_expand(path, 5, "abcd", &identity, 0));
}
END_TEST

START_TEST(the_first_placeholder_that_is_unknown_is_found)
{
    const char *const format = "%%x/%r-%q.%z";

    ck_assert_ptr_eq(sc_path_unknown(format), format + 7);
    ck_assert_str_eq(sc_path_unknown("run%"), "%");
    ck_assert_ptr_null(sc_path_unknown("%p%h%e%r%l%j%n%%"));
    ck_assert_ptr_null(sc_path_unknown(""));
}
END_TEST

START_TEST(the_rank_comes_from_the_first_launcher_that_tells_one)
{
    char torch[] = "RANK=5", local[] = "LOCAL_RANK=1", world[] = "WORLD_SIZE=16";
    char slurm[] = "SLURM_PROCID=7", tasks[] = "SLURM_NTASKS=32", bad[] = "RANK=five";
    char *both[] = {slurm, tasks, torch, local, world, NULL};
    char *fallen[] = {bad, slurm, tasks, NULL};
    char *shell[] = {tasks, NULL};

    sc_identity_read(&identity, "x", both);
    ck_assert_uint_eq(identity.rank, 5);
    ck_assert_uint_eq(identity.local_rank, 1);
    ck_assert_uint_eq(identity.world, 16);
    sc_identity_read(&identity, "x", fallen);
    ck_assert_uint_eq(identity.rank, 7);
    ck_assert_uint_eq(identity.world, 32);
    sc_identity_read(&identity, "x", shell);
    ck_assert_uint_eq(identity.rank, 0);
    ck_assert_uint_eq(identity.world, 1);
}
END_TEST

START_TEST(the_run_is_named_by_setting_then_launcher)
{
    char elastic[] = "TORCHELASTIC_RUN_ID=e1", none[] = "TORCHELASTIC_RUN_ID=none";
    char slurm[] = "SLURM_JOB_ID=99";
    char *both[] = {slurm, elastic, NULL};
    char *plain[] = {none, slurm, NULL};

    sc_identity_read(&identity, "mine", both);
    ck_assert_str_eq(identity.run, "mine");
    sc_identity_read(&identity, "", both);
    ck_assert_str_eq(identity.run, "e1");
    sc_identity_read(&identity, "", plain);
    ck_assert_str_eq(identity.run, "99");
}
END_TEST

START_TEST(a_name_from_outside_cannot_leave_its_folder)
{
    char *empty[] = {NULL};

    sc_identity_read(&identity, "../../etc", empty);
    ck_assert_str_eq(identity.run, ".._.._etc");
    sc_identity_read(&identity, "..", empty);
    ck_assert_str_eq(identity.run, "_.");
    sc_identity_read(&identity, "a\nb", empty);
    ck_assert_str_eq(identity.run, "a_b");
}
END_TEST

/* The run's name as a forked child sees it, after `first` ran there. */
static void name_in_child(char *out, size_t bytes, char *const *environment, void (*first)(void))
{
    int ends[2], status;
    pid_t child;
    ssize_t count;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        if (first)
            first();
        sc_identity_read(&identity, "", environment);
        _exit(write(ends[1], identity.run, strlen(identity.run)) <= 0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    count = read(ends[0], out, bytes - 1);
    ck_assert_int_gt(count, 0);
    out[count] = '\0';
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void lead_session(void)
{
    (void)setsid();
}

START_TEST(processes_of_one_group_agree_on_the_run)
{
    char *empty[] = {NULL};
    char first[256], second[256], day[9], rest[32];

    name_in_child(first, sizeof first, empty, NULL);
    name_in_child(second, sizeof second, empty, NULL);
    ck_assert_str_eq(first, second);
    ck_assert_int_eq(sscanf(first, "%8[0-9]-%31s", day, rest), 2);
    ck_assert_str_ge(day, "20240101");
    ck_assert_str_le(day, "21000101");
}
END_TEST

START_TEST(ranks_in_sessions_of_their_own_agree_on_the_run)
{
    char rank[] = "RANK=0", world[] = "WORLD_SIZE=2";
    char *environment[] = {rank, world, NULL};
    char *alone[] = {NULL};
    char first[256], second[256];

    name_in_child(first, sizeof first, environment, lead_session);
    name_in_child(second, sizeof second, environment, lead_session);
    ck_assert_str_eq(first, second);
    name_in_child(second, sizeof second, alone, lead_session);
    ck_assert_str_ne(first, second);
}
END_TEST

START_TEST(missing_folders_are_made_and_the_file_is_private)
{
    struct stat about;

    (void)umask(022);
    ck_assert_str_eq(create("a/b/r%r.jsonl"), "a/b/r3.jsonl");
    ck_assert_int_eq(stat("a/b/r3.jsonl", &about), 0);
    ck_assert_int_eq(about.st_mode & 07777, 0600);
    ck_assert_int_eq(stat("a/b", &about), 0);
    ck_assert_int_eq(about.st_mode & 0777, 0755);
}
END_TEST

START_TEST(a_taken_name_gets_a_number_and_is_never_overwritten)
{
    ck_assert_str_eq(create("log"), "log");
    ck_assert_str_eq(create("log"), "log.1");
    ck_assert_str_eq(create("log"), "log.2");
    ck_assert_str_eq(create("%%n"), "%n");
    ck_assert_str_eq(create("%%n"), "%n.1");
}
END_TEST

START_TEST(a_folder_is_no_taken_name)
{
    ck_assert_int_eq(mkdir("here", 0700), 0);
    ck_assert_int_eq(symlink("here", "link"), 0);
    ck_assert_int_eq(sc_path_create(path, sizeof path, "here", &identity), -1);
    ck_assert_int_eq(errno, EISDIR);
    ck_assert_str_eq(path, "here");
    ck_assert_int_eq(sc_path_create(path, sizeof path, "link", &identity), -1);
    ck_assert_int_eq(errno, EISDIR);
    ck_assert_int_ne(access("here.1", F_OK), 0);
    ck_assert_int_eq(mkdir("run.1", 0700), 0);
    ck_assert_str_eq(create("run.%n"), "run.2");
}
END_TEST

START_TEST(a_counted_name_takes_the_first_free_number)
{
    ck_assert_str_eq(create("run.%n/r%r"), "run.1/r3");
    ck_assert_str_eq(create("run.%n/r%r"), "run.2/r3");
    identity.rank = 4;
    ck_assert_str_eq(create("run.%n/r%r"), "run.1/r4");
}
END_TEST

START_TEST(a_link_that_dangles_counts_as_taken)
{
    ck_assert_int_eq(symlink("elsewhere", "log"), 0);
    ck_assert_str_eq(create("log"), "log.1");
    ck_assert_int_ne(access("elsewhere", F_OK), 0);
}
END_TEST

START_TEST(what_cannot_be_made_says_why)
{
    char long_name[SC_PATH_BYTES + 10];

    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    ck_assert_int_eq(sc_path_create(path, sizeof path, "a%z", &identity), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(sc_path_create(path, sizeof path, long_name, &identity), -1);
    ck_assert_int_eq(errno, ENAMETOOLONG);
    ck_assert_int_eq(sc_path_create(path, sizeof path, "", &identity), -1);
    ck_assert_int_eq(errno, ENOENT);
    create("file");
    ck_assert_int_eq(sc_path_create(path, sizeof path, "file/log", &identity), -1);
    ck_assert_int_eq(errno, ENOTDIR);
}
END_TEST

/* In a child, for root may write anywhere and has to become somebody else. */
START_TEST(a_folder_that_may_not_be_made_says_so_and_not_that_it_is_missing)
{
    pid_t child;
    int status;

    ck_assert_int_eq(chmod(folder, 0555), 0);
    child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534))
            _exit(255);
        errno = 0;
        (void)sc_path_create(path, sizeof path, "closed/deeper/log", &identity);
        _exit(errno);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(chmod(folder, 0755), 0);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), EACCES);
}
END_TEST

START_TEST(the_descriptor_appends_and_closes_on_exec)
{
    int fd = sc_path_create(path, sizeof path, "log", &identity);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND), O_WRONLY | O_APPEND);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ck_assert_int_eq(close(fd), 0);
}
END_TEST

SC_SUITE_WITH("path", enter_folder, leave_folder, placeholders_expand_and_unknown_ones_are_refused,
              the_first_placeholder_that_is_unknown_is_found,
              the_rank_comes_from_the_first_launcher_that_tells_one,
              the_run_is_named_by_setting_then_launcher,
              a_name_from_outside_cannot_leave_its_folder, processes_of_one_group_agree_on_the_run,
              ranks_in_sessions_of_their_own_agree_on_the_run,
              missing_folders_are_made_and_the_file_is_private,
              a_taken_name_gets_a_number_and_is_never_overwritten, a_folder_is_no_taken_name,
              a_counted_name_takes_the_first_free_number, a_link_that_dangles_counts_as_taken,
              what_cannot_be_made_says_why,
              a_folder_that_may_not_be_made_says_so_and_not_that_it_is_missing,
              the_descriptor_appends_and_closes_on_exec)
