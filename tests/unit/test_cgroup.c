/* SPDX-License-Identifier: MIT
 * Control groups of a system that is made up in a folder. */
#include "base/cgroup.h"
#include "support/suite.h"
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/shapecache-cgroup-XXXXXX";

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void enter(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void leave(void)
{
    ck_assert_int_eq(chdir("/"), 0);
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* With the folders on the way. */
static void write_text(const char *path, const char *text)
{
    char made[256];

    snprintf(made, sizeof made, "%s", path);
    for (char *at = made + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        (void)mkdir(made, 0700);
    }
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static uint64_t limit(const char *groups)
{
    write_text("proc", groups);
    return sc_cgroup_memory("proc", "mount");
}

START_TEST(version_2_has_the_least_limit_of_the_group_and_those_above)
{
    write_text("mount/a/b/memory.max", "max\n");
    write_text("mount/a/memory.max", "1000000\n");
    write_text("mount/memory.max", "3000000\n");
    ck_assert_uint_eq(limit("0::/a/b\n"), 1000000);
    write_text("mount/a/b/memory.max", "2000000\n");
    ck_assert_uint_eq(limit("0::/a/b\n"), 1000000);
    write_text("mount/a/b/memory.max", "5000\n");
    ck_assert_uint_eq(limit("0::/a/b\n"), 5000);
    ck_assert_uint_eq(limit("0::/\n"), 3000000);
}
END_TEST

START_TEST(version_1_is_found_among_the_controllers)
{
    write_text("mount/memory/job/memory.limit_in_bytes", "4096\n");
    write_text("mount/memory/memory.limit_in_bytes", "9223372036854771712\n");
    ck_assert_uint_eq(limit("9:cpu:/\n4:hugetlb,memory:/job\n1:name=systemd:/x\n"), 4096);
    ck_assert_uint_eq(limit("4:memory:/\n"), 0); /* its way to say none */
    ck_assert_uint_eq(limit("4:memoryless:/job\n"), 0);
}
END_TEST

START_TEST(a_container_sees_its_own_group_as_the_root)
{
    write_text("mount/memory.max", "70000\n");
    ck_assert_uint_eq(limit("0::/docker/0123456789abcdef\n"), 70000);
    ck_assert_uint_eq(limit("0::/../../other\n"), 70000);
}
END_TEST

START_TEST(where_nothing_is_said_there_is_no_limit)
{
    ck_assert_uint_eq(sc_cgroup_memory("none", "mount"), 0);
    ck_assert_uint_eq(limit(""), 0);
    ck_assert_uint_eq(limit("0::/a\n"), 0);
    write_text("mount/a/memory.max", "max\n");
    ck_assert_uint_eq(limit("0::/a"), 0);
    write_text("mount/a/memory.max", "lots\n");
    ck_assert_uint_eq(limit("0::/a\nno colon\n:\n::\n"), 0);
    write_text("mount/a/memory.max", "");
    ck_assert_uint_eq(limit("0::/a"), 0);
}
END_TEST

SC_SUITE_WITH("control group", enter, leave,
              version_2_has_the_least_limit_of_the_group_and_those_above,
              version_1_is_found_among_the_controllers, a_container_sees_its_own_group_as_the_root,
              where_nothing_is_said_there_is_no_limit)
