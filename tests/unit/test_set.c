/* SPDX-License-Identifier: MIT
 * Declared sets: what a file may say, and what is said of one that says something else. */
#include "base/set.h"
#include "support/seed.h"
#include "support/suite.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static char path[] = "/tmp/sc-set-XXXXXX";
static char error[512];

static bool read_bytes(sc_set *set, const char *text, size_t bytes)
{
    (void)strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, bytes), (ssize_t)bytes);
    ck_assert_int_eq(close(fd), 0);
    bool is_good = sc_set_read(set, path, error, sizeof error);

    ck_assert_int_eq(unlink(path), 0);
    return is_good;
}

static sc_set good(const char *text)
{
    sc_set set;

    ck_assert_msg(read_bytes(&set, text, strlen(text)), "refused: %s", error);
    return set;
}

/* What is said after the file's name. */
static const char *complaint_of(const char *text)
{
    sc_set set;

    ck_assert_msg(!read_bytes(&set, text, strlen(text)), "accepted: %s", text);
    ck_assert_ptr_null(set.text);
    ck_assert_int_eq(strncmp(error, path, strlen(path)), 0);
    return error + strlen(path);
}

START_TEST(a_set_says_what_its_lines_say)
{
    sc_set set =
        good("# by hand\n\n  shapecache shapes 1  # the title\n"
             "world 8\nrank 3\nmemory 80GiB\nbuild 0.1.0\nkey bytes\r\n"
             "shape 48MiB\n"
             "\tshape 1908352 dims 16x512x1536 site train+0x668c label \"a \\\"b\\\" \\\\ #\"\n"
             "shape 48MiB label twice");

    ck_assert(set.has_world && set.has_rank && set.has_memory && !set.is_by_site);
    ck_assert_uint_eq(set.world, 8);
    ck_assert_uint_eq(set.rank, 3);
    ck_assert_uint_eq(set.memory, (uint64_t)80 << 30);
    ck_assert_str_eq(set.build, "0.1.0");
    ck_assert_uint_eq(set.count, 3);
    ck_assert_uint_eq(set.shapes[0].bytes, 48 * MIB);
    ck_assert_ptr_null(set.shapes[0].site);
    ck_assert_uint_eq(set.shapes[0].hint.count, 0);
    ck_assert_uint_eq(set.shapes[1].bytes, 1908352);
    ck_assert_str_eq(set.shapes[1].site, "train+0x668c");
    ck_assert_str_eq(set.shapes[1].hint.label, "a \"b\" \\ #");
    ck_assert_uint_eq(set.shapes[1].hint.count, 3);
    ck_assert_uint_eq(set.shapes[1].hint.dims[2], 1536);
    ck_assert_ptr_eq(sc_set_find(&set, 48 * MIB, NULL), &set.shapes[0]);
    ck_assert_ptr_null(sc_set_find(&set, 48 * MIB + 1, NULL));
    sc_set_release(&set);
}
END_TEST

START_TEST(a_title_alone_is_an_empty_set)
{
    sc_set set = good("shapecache shapes 1");

    ck_assert_uint_eq(set.count, 0);
    ck_assert(!set.has_world && !set.has_rank && !set.has_memory && !set.build[0]);
    ck_assert_ptr_null(sc_set_find(&set, 1, NULL));
    sc_set_release(&set);
}
END_TEST

START_TEST(a_shape_with_a_site_is_found_by_both)
{
    sc_set set = good("shapecache shapes 1\nkey bytes+site\nshape 4KiB site a+0x1\n"
                      "shape 4KiB site \"b c+0x2\"\nshape 8KiB site a+0x1\n");

    ck_assert(set.is_by_site);
    ck_assert_ptr_eq(sc_set_find(&set, 4096, "a+0x1"), &set.shapes[0]);
    ck_assert_ptr_eq(sc_set_find(&set, 4096, "b c+0x2"), &set.shapes[1]);
    ck_assert_ptr_eq(sc_set_find(&set, 8192, "a+0x1"), &set.shapes[2]);
    ck_assert_ptr_null(sc_set_find(&set, 8192, "b c+0x2"));
    ck_assert_ptr_nonnull(sc_set_find(&set, 4096, NULL));
    ck_assert_ptr_eq(sc_set_find_site(&set, "b c+0x2"), &set.shapes[1]);
    ck_assert_ptr_null(sc_set_find_site(&set, "b"));
    sc_set_release(&set);
}
END_TEST

START_TEST(what_is_not_understood_is_named_with_its_line_and_what_was_expected)
{
    static const struct {
        const char *text, *complaint;
    } rows[] = {
        {"", ", line 1: expected \"shapecache shapes 1\" as the first line, found the end of the "
             "line"},
        {"\n{\"ev\":\"run\"}\n", ", line 2: expected \"shapecache shapes 1\" as the first line, "
                                 "found \"{\"ev\":\"run\"}\""},
        {"shapecache set 1", ", line 1: expected \"shapecache shapes 1\" as the first line, found "
                             "\"set\""},
        {"shapecache shapes 2", ", line 1: expected version 1 of the format, the one this build "
                                "reads, found \"2\""},
        {"shapecache shapes", ", line 1: expected version 1 of the format, the one this build "
                              "reads, found the end of the line"},
        {"shapecache shapes 1 x", ", line 1: expected the end of the line, found \"x\""},
#define AFTER_TITLE(line, complaint) {"shapecache shapes 1\n" line "\nshape 1\n", complaint}
        AFTER_TITLE("shapes 48MiB", ", line 2: expected shape, world, rank, memory, key or build, "
                                    "found \"shapes\""),
        AFTER_TITLE("shape 48MP", ", line 2: expected a size such as 48MiB or 1908352, found "
                                  "\"48MP\""),
        AFTER_TITLE("shape", ", line 2: expected a size such as 48MiB or 1908352, found the end of "
                             "the line"),
        AFTER_TITLE("shape 0", ", line 2: expected a size such as 48MiB or 1908352, found \"0\""),
        AFTER_TITLE("shape 1 2", ", line 2: expected label, dims, site or the end of the line, "
                                 "found \"2\""),
        AFTER_TITLE("shape 1 label", ", line 2: expected a label, found the end of the line"),
        AFTER_TITLE("shape 1 label \"x", ", line 2: expected a closing quote, found the end of the "
                                         "line"),
        AFTER_TITLE("shape 1 site # x",
                    ", line 2: expected a call site, found the end of the line"),
        AFTER_TITLE("shape 1 dims 4x", ", line 2: expected 1 to 8 dimensions such as 16x512x64, "
                                       "found the end of the line"),
        AFTER_TITLE("shape 1 dims 4x-1", ", line 2: expected 1 to 8 dimensions such as 16x512x64, "
                                         "found \"-1\""),
        AFTER_TITLE("shape 1 dims 1x2x3x4x5x6x7x8x9", ", line 2: expected 1 to 8 dimensions such "
                                                      "as 16x512x64, found \"9\""),
        AFTER_TITLE("world many", ", line 2: expected a whole number, found \"many\""),
        AFTER_TITLE("world 1\nworld 1", ", line 3: expected each of world, rank, memory, key and "
                                        "build only once, found \"world\""),
        AFTER_TITLE("build 1\nbuild 1", ", line 3: expected each of world, rank, memory, key and "
                                        "build only once, found \"build\""),
        AFTER_TITLE("memory 90%", ", line 2: expected a size such as 48MiB or 1908352, found "
                                  "\"90%\""),
        AFTER_TITLE("key site", ", line 2: expected bytes or bytes+site, found \"site\""),
        AFTER_TITLE("key bytes site", ", line 2: expected the end of the line, found \"site\""),
        AFTER_TITLE("key bytes+site", ": with \"key bytes+site\" each shape needs a site; shape 1 "
                                      "has none"),
        AFTER_TITLE("build 012345678901234567890123456789012",
                    ", line 2: expected a version such as 0.1.0, found "
                    "\"012345678901234567890123456789012\""),
        AFTER_TITLE("\x1b[2J0123456789012345678901234567890123456789012345678901234567890",
                    ", line 2: expected shape, world, rank, memory, key or build, found "
                    "\"?[2J01234567890123456789012345678901234567890123...\""),
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(complaint_of(rows[i].text), rows[i].complaint);
}
END_TEST

START_TEST(a_byte_of_value_0_is_no_text)
{
    const char text[] = "shapecache shapes 1\nshape 1\0\nshape 2\n";
    sc_set set;

    ck_assert(!read_bytes(&set, text, sizeof text - 1));
    ck_assert_str_eq(error + strlen(path), ", line 2: expected text, found \"a byte of value 0\"");
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_named_with_the_reason)
{
    sc_set set;

    ck_assert(!sc_set_read(&set, "/nowhere/set", error, sizeof error));
    ck_assert_str_eq(error, "/nowhere/set: No such file or directory");
    ck_assert(!sc_set_read(&set, "/", error, sizeof error));
    ck_assert_str_eq(error, "/: Is a directory");
    ck_assert(!sc_set_read(&set, "/dev/zero", error, sizeof error));
    ck_assert_str_eq(error, "/dev/zero: File too large");
}
END_TEST

START_TEST(every_word_reads_back_as_it_was)
{
    static const char *const words[] = {"train+0x1", "my program+0x2",    "#x",   "a#b", "\"", "\\",
                                        "a\\\"b",    "\xc3\xa9 \xc3\xa9", "x y z"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[256];
        sc_text line = sc_text_over(text, sizeof text);

        sc_text_string(&line, "shapecache shapes 1\nshape 1 site ");
        sc_set_word(&line, words[i]);
        sc_text_string(&line, " label ");
        sc_set_word(&line, words[i]);
        sc_set set = good(sc_text_terminate(&line));

        ck_assert_str_eq(set.shapes[0].site, words[i]);
        ck_assert_str_eq(set.shapes[0].hint.label, words[i]);
        sc_set_release(&set);
    }
}
END_TEST

START_TEST(large_sets_are_found_whole)
{
    enum { COUNT = 5000 };
    char *text = malloc((size_t)COUNT * 32);
    size_t used = (size_t)sprintf(text, "shapecache shapes 1\n");

    for (unsigned i = 1; i <= COUNT; i++)
        used += (size_t)sprintf(text + used, "shape %u label l%u\n", i * 512, i);
    sc_set set = good(text);

    ck_assert_uint_eq(set.count, COUNT);
    for (unsigned i = 1; i <= COUNT; i++) {
        char label[16];

        (void)snprintf(label, sizeof label, "l%u", i);
        ck_assert_str_eq(sc_set_find(&set, (uint64_t)i * 512, NULL)->hint.label, label);
    }
    sc_set_release(&set);
    free(text);
}
END_TEST

START_TEST(no_damage_to_a_file_does_harm)
{
    static const char whole[] = "shapecache shapes 1\nworld 8\nkey bytes+site\nmemory 8GiB\n"
                                "shape 48MiB site a+0x1 label \"x \\\" y\" dims 1x2x3 # z\n";
    sc_random random = sc_random_new("damage");
    unsigned accepted = 0;

    for (int i = 0; i < 5000; i++) {
        char text[sizeof whole];
        sc_set set;
        unsigned wounds = 1 + (unsigned)sc_random_below(&random, 3);

        memcpy(text, whole, sizeof whole);
        for (unsigned w = 0; w < wounds; w++)
            text[sc_random_below(&random, sizeof whole - 1)] =
                "\n\0 \"\\#x1"[sc_random_below(&random, 8)];
        if (read_bytes(&set, text, sc_random_below(&random, sizeof whole))) {
            accepted++;
            for (uint32_t s = 0; s < set.count; s++)
                ck_assert_ptr_nonnull(sc_set_find(&set, set.shapes[s].bytes, set.shapes[s].site));
            sc_set_release(&set);
        } else {
            ck_assert_uint_gt(strlen(error), strlen(path));
        }
    }
    ck_assert_uint_gt(accepted, 10);
    ck_assert_uint_lt(accepted, 4990);
}
END_TEST

SC_SUITE("set", a_set_says_what_its_lines_say, a_title_alone_is_an_empty_set,
         a_shape_with_a_site_is_found_by_both,
         what_is_not_understood_is_named_with_its_line_and_what_was_expected,
         a_byte_of_value_0_is_no_text, a_file_that_cannot_be_read_is_named_with_the_reason,
         every_word_reads_back_as_it_was, large_sets_are_found_whole, no_damage_to_a_file_does_harm)
