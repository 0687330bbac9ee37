/* SPDX-License-Identifier: MIT */
#include "base/options.h"
#include "support/suite.h"
#include <stdlib.h>
#include <string.h>

static sc_options options;
static bool is_set[SC_OPTION_COUNT];
static char said[4096];
static int said_count;

static void listen(void *self, const char *sentence)
{
    ck_assert_ptr_eq(self, &options);
    ck_assert_msg(sentence[strlen(sentence) - 1] == '.', "no whole sentence: %s", sentence);
    ck_assert_ptr_null(strchr(sentence, '\n'));
    strncat(said, sentence, sizeof said - strlen(said) - 1);
    said_count++;
}

/* Up to three variables; what was said is in `said`. */
static void read_settings(const char *first, const char *second, const char *third)
{
    char copies[3][2048] = {"", "", ""};
    const char *given[] = {first, second, third};
    char *environment[4] = {NULL};
    int count = 0;

    for (int i = 0; i < 3; i++)
        if (given[i])
            environment[count++] = strcpy(copies[i], given[i]);
    said[0] = '\0';
    said_count = 0;
    sc_options_read(&options, is_set, environment, listen, &options);
}

static const char *printed(int row)
{
    static char text[SC_OPTION_TEXT_BYTES];

    sc_options_print(&options, row, text, sizeof text);
    return text;
}

START_TEST(an_empty_environment_gives_the_defaults_of_the_table)
{
    read_settings(NULL, NULL, NULL);
    ck_assert_int_eq(said_count, 0);
    ck_assert_uint_eq(options.mode, SC_MODE_ON);
    ck_assert_uint_eq(options.warmup, 3);
    ck_assert_uint_eq(options.rearm, 6);
    ck_assert_uint_eq(options.overhead, 25);
    ck_assert(options.limit.is_percent);
    ck_assert_uint_eq(options.limit.value, 90);
    ck_assert_uint_eq(options.small, 65536);
    ck_assert(options.gate);
    ck_assert_str_eq(options.log, "shapecache-run.%j/r%r.jsonl");
    ck_assert_uint_eq(options.log_level, SC_LEVEL_STEP);
    for (int i = 0; i < SC_OPTION_COUNT; i++)
        ck_assert(!is_set[i]);
}
END_TEST

START_TEST(every_printed_value_reads_back_as_itself)
{
    char variables[SC_OPTION_COUNT][SC_OPTION_TEXT_BYTES + 64];
    char before[SC_OPTION_COUNT][SC_OPTION_TEXT_BYTES];
    char *environment[SC_OPTION_COUNT + 1] = {NULL};

    read_settings("SHAPECACHE_LIMIT=1.5GiB", "SHAPECACHE_GATE=no", "SHAPECACHE_STEP=api");
    for (int i = 0; i < SC_OPTION_COUNT; i++) {
        strcpy(before[i], printed(i));
        strcpy(variables[i], sc_option_rows[i].name);
        strcat(variables[i], "=");
        strcat(variables[i], before[i]);
        environment[i] = variables[i];
    }
    sc_options_read(&options, is_set, environment, listen, &options);
    ck_assert_int_eq(said_count, 0);
    for (int i = 0; i < SC_OPTION_COUNT; i++) {
        ck_assert_str_eq(printed(i), before[i]);
        ck_assert_msg(is_set[i] || !*before[i], "%s", sc_option_rows[i].name);
    }
}
END_TEST

START_TEST(each_kind_takes_the_words_people_type)
{
    read_settings("SHAPECACHE=observe", "SHAPECACHE_GATE=False", "SHAPECACHE_OVERHEAD=10%");
    ck_assert_uint_eq(options.mode, SC_MODE_OBSERVE);
    ck_assert(!options.gate);
    ck_assert_uint_eq(options.overhead, 10);
    ck_assert(is_set[SC_OPTION_gate]);
    read_settings("SHAPECACHE=0", "SHAPECACHE_OVERHEAD=0", "SHAPECACHE_LIMIT=20GiB");
    ck_assert_uint_eq(options.mode, SC_MODE_OFF);
    ck_assert_uint_eq(options.overhead, 0);
    ck_assert(!options.limit.is_percent);
    ck_assert_uint_eq(options.limit.value, UINT64_C(20) << 30);
    read_settings("SHAPECACHE_SUMMARY=no", "SHAPECACHE_LOG=off", "SHAPECACHE_LOG_MAX=2MiB");
    ck_assert_uint_eq(options.summary, SC_SUMMARY_OFF);
    ck_assert_str_eq(options.log, "off");
    ck_assert_uint_eq(options.log_max, 2097152);
    ck_assert_int_eq(said_count, 0);
}
END_TEST

START_TEST(a_bad_value_keeps_the_default_and_says_value_expectation_and_use)
{
    read_settings("SHAPECACHE_WARMUP=soon", NULL, NULL);
    ck_assert_str_eq(said, "SHAPECACHE_WARMUP is \"soon\", which is not a whole number from 1 to "
                           "1000000; the default is used: 3.");
    ck_assert_uint_eq(options.warmup, 3);
    ck_assert(!is_set[SC_OPTION_warmup]);
    read_settings("SHAPECACHE=maybe", NULL, NULL);
    ck_assert_str_eq(said,
                     "SHAPECACHE is \"maybe\", which is not on, off, observe or all; the default "
                     "is used: on.");
    read_settings("SHAPECACHE_LIMIT=90", "SHAPECACHE_LIMIT=101%", NULL);
    ck_assert_uint_eq(options.limit.value, 90); /* bytes: the first of two counts */
    read_settings("SHAPECACHE_LIMIT=101%", NULL, NULL);
    ck_assert_str_eq(said, "SHAPECACHE_LIMIT is \"101%\", which is not a size such as 20GiB or a "
                           "percentage from 0% to 100%; the default is used: 90%.");
}
END_TEST

START_TEST(a_small_size_without_a_unit_is_taken_as_bytes_and_said)
{
    read_settings("SHAPECACHE_LIMIT=99", "SHAPECACHE_SMALL=64", NULL);
    ck_assert_uint_eq(options.limit.value, 99);
    ck_assert_uint_eq(options.small, 64);
    ck_assert_str_eq(said,
                     "SHAPECACHE_LIMIT is 99 without a unit and is taken as bytes; mebibytes are "
                     "written 99MiB, per cent 99%."
                     "SHAPECACHE_SMALL is 64 without a unit and is taken as bytes; mebibytes are "
                     "written 64MiB.");
    read_settings("SHAPECACHE_LIMIT=99B", "SHAPECACHE_SMALL=0", "SHAPECACHE_RESERVE=4096");
    ck_assert_int_eq(said_count, 0);
}
END_TEST

START_TEST(values_outside_their_range_are_refused)
{
    static const char *const bad[] = {
        "SHAPECACHE_WARMUP=0",      "SHAPECACHE_WARMUP=1000001", "SHAPECACHE_WARMUP=-1",
        "SHAPECACHE_LOG_MAX=1MiB",  "SHAPECACHE_OVERHEAD=10001", "SHAPECACHE_MAX_AGE=65537",
        "SHAPECACHE_OVERHEAD=1.5%", "SHAPECACHE_SMALL=5%",       "SHAPECACHE_GATE=2",
        "SHAPECACHE_STACKS=17",     "SHAPECACHE_OVERHEAD=%"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        read_settings(bad[i], NULL, NULL);
        ck_assert_msg(said_count == 1, "accepted %s", bad[i]);
    }
}
END_TEST

START_TEST(seconds_come_with_or_without_their_unit)
{
    read_settings(NULL, NULL, NULL);
    ck_assert_uint_eq(options.max_idle, 10);
    ck_assert_str_eq(printed(SC_OPTION_max_idle), "10s");
    read_settings("SHAPECACHE_MAX_IDLE=60", NULL, NULL);
    ck_assert_uint_eq(options.max_idle, 60);
    read_settings("SHAPECACHE_MAX_IDLE=0s", NULL, NULL);
    ck_assert_uint_eq(options.max_idle, 0);
    ck_assert_int_eq(said_count, 0);
    read_settings("SHAPECACHE_MAX_IDLE=1.5s", NULL, NULL);
    ck_assert_str_eq(said,
                     "SHAPECACHE_MAX_IDLE is \"1.5s\", which is not a whole number of seconds, "
                     "such as 10s, from 0 to 31536000; the default is used: 10s.");
}
END_TEST

START_TEST(a_word_may_come_with_a_number)
{
    read_settings("SHAPECACHE_STEP=requests:250", NULL, NULL);
    ck_assert_uint_eq(options.step.choice, SC_STEP_REQUESTS);
    ck_assert_uint_eq(options.step.number, 250);
    ck_assert_str_eq(printed(SC_OPTION_step), "requests:250");
    read_settings("SHAPECACHE_STEP=api", NULL, NULL);
    ck_assert_uint_eq(options.step.choice, SC_STEP_API);
    ck_assert_uint_eq(options.step.number, 0);
    ck_assert_str_eq(printed(SC_OPTION_step), "api");
    ck_assert_int_eq(said_count, 0);
    static const char *const bad[] = {"SHAPECACHE_STEP=requests:",    "SHAPECACHE_STEP=requests",
                                      "SHAPECACHE_STEP=requests:0",   "SHAPECACHE_STEP=requests:N",
                                      "SHAPECACHE_STEP=requests:1e9", "SHAPECACHE_STEP=api:5",
                                      "SHAPECACHE_STEP=requests: 5",  "SHAPECACHE_STEP=250"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        read_settings(bad[i], NULL, NULL);
        ck_assert_msg(said_count == 1, "accepted %s", bad[i]);
        ck_assert_uint_eq(options.step.choice, SC_STEP_AUTO);
    }
    ck_assert_str_eq(said,
                     "SHAPECACHE_STEP is \"250\", which is not auto, api or requests:N with N "
                     "from 1 to 1000000000; the default is used: auto.");
}
END_TEST

START_TEST(a_choice_may_be_a_number_alone)
{
    read_settings("SHAPECACHE_STACKS=4", NULL, NULL);
    ck_assert_uint_eq(options.stacks.choice, SC_STACKS_DEEP);
    ck_assert_uint_eq(options.stacks.number, 4);
    ck_assert_str_eq(printed(SC_OPTION_stacks), "4");
    read_settings("SHAPECACHE_STACKS=off", NULL, NULL);
    ck_assert_uint_eq(options.stacks.choice, SC_STACKS_OFF);
    ck_assert_uint_eq(options.stacks.number, 0);
    read_settings("SHAPECACHE_STACKS=deep", NULL, NULL);
    ck_assert_str_eq(said,
                     "SHAPECACHE_STACKS is \"deep\", which is not off, site or N with N from 1 "
                     "to 16; the default is used: site.");
}
END_TEST

START_TEST(a_gate_per_site_makes_the_site_part_of_the_key)
{
    read_settings("SHAPECACHE_SCOPE=site", NULL, NULL);
    ck_assert_uint_eq(options.key, SC_KEY_SITE);
    ck_assert(!is_set[SC_OPTION_key]);
    read_settings("SHAPECACHE_SCOPE=site", "SHAPECACHE_KEY=bytes+site", NULL);
    ck_assert_int_eq(said_count, 0);
    read_settings("SHAPECACHE_KEY=bytes", "SHAPECACHE_SCOPE=site", NULL);
    ck_assert_uint_eq(options.key, SC_KEY_SITE);
    ck_assert_str_eq(said, "SHAPECACHE_KEY is \"bytes\", but SHAPECACHE_SCOPE=site makes the call "
                           "site part of the key; bytes+site is used.");
    read_settings("SHAPECACHE_KEY=bytes+site", NULL, NULL);
    ck_assert_uint_eq(options.scope, SC_SCOPE_DEVICE);
}
END_TEST

START_TEST(an_unknown_name_is_told_with_the_nearest_one)
{
    read_settings("SHAPECACHE_WARMPU=5", "SHAPECACHES=1", "OTHER=1");
    ck_assert_int_eq(said_count, 1);
    ck_assert_str_eq(said, "\"SHAPECACHE_WARMPU\" is not a setting and is ignored; the nearest is "
                           "SHAPECACHE_WARMUP.");
    read_settings("SHAPECACHE_LOGLEVEL=step", NULL, NULL);
    ck_assert_ptr_nonnull(strstr(said, "the nearest is SHAPECACHE_LOG_LEVEL."));
}
END_TEST

START_TEST(what_is_said_is_bounded_and_safe_for_a_terminal)
{
    char long_value[2000] = "SHAPECACHE_LOG=";

    memset(long_value + 15, 'x', 1500);
    read_settings("SHAPECACHE_STEP=\x1b[2Jx", long_value, NULL);
    ck_assert_int_eq(said_count, 2);
    ck_assert_ptr_null(strchr(said, '\x1b'));
    ck_assert_ptr_nonnull(strstr(said, "\"?[2Jx\""));
    ck_assert_ptr_nonnull(strstr(said, "xxx...\""));
    ck_assert_uint_lt(strlen(said), 600);
    ck_assert_str_eq(options.log, "shapecache-run.%j/r%r.jsonl");
}
END_TEST

START_TEST(an_empty_value_is_as_none)
{
    read_settings("SHAPECACHE_WARMUP=", "SHAPECACHE=", "SHAPECACHE_LOG=");
    ck_assert_int_eq(said_count, 0);
    ck_assert_uint_eq(options.warmup, 3);
    ck_assert(!is_set[SC_OPTION_warmup]);
    ck_assert_str_eq(options.log, "shapecache-run.%j/r%r.jsonl");
}
END_TEST

START_TEST(rearm_is_twice_the_warmup_unless_set)
{
    read_settings("SHAPECACHE_WARMUP=10", NULL, NULL);
    ck_assert_uint_eq(options.rearm, 20);
    ck_assert(!is_set[SC_OPTION_rearm]);
    read_settings("SHAPECACHE_REARM=0", "SHAPECACHE_WARMUP=10", NULL);
    ck_assert_uint_eq(options.rearm, 0);
    read_settings("SHAPECACHE_REARM=never", "SHAPECACHE_WARMUP=10", NULL);
    ck_assert_uint_eq(options.rearm, 20);
    ck_assert_ptr_nonnull(strstr(said, "the default is used: 20."));
}
END_TEST

START_TEST(a_share_of_a_device_does_not_overflow)
{
    sc_share share = {.value = 90, .is_percent = true};

    ck_assert_uint_eq(sc_share_bytes(share, 1000), 900);
    ck_assert_uint_eq(sc_share_bytes(share, 99), 89);
    ck_assert_uint_eq(sc_share_bytes((sc_share){.value = 100, .is_percent = true}, UINT64_MAX),
                      UINT64_MAX);
    ck_assert_uint_eq(sc_share_bytes((sc_share){.value = 5}, 1000), 5);
}
END_TEST

START_TEST(reading_needs_neither_listener_nor_flags)
{
    char bad[] = "SHAPECACHE_WARMUP=x", unknown[] = "SHAPECACHE_NO=1";
    char *environment[] = {bad, unknown, NULL};

    sc_options_read(&options, NULL, environment, NULL, NULL);
    ck_assert_uint_eq(options.warmup, 3);
}
END_TEST

SC_SUITE("options", an_empty_environment_gives_the_defaults_of_the_table,
         every_printed_value_reads_back_as_itself, each_kind_takes_the_words_people_type,
         a_bad_value_keeps_the_default_and_says_value_expectation_and_use,
         a_small_size_without_a_unit_is_taken_as_bytes_and_said,
         values_outside_their_range_are_refused, seconds_come_with_or_without_their_unit,
         a_word_may_come_with_a_number, a_choice_may_be_a_number_alone,
         a_gate_per_site_makes_the_site_part_of_the_key,
         an_unknown_name_is_told_with_the_nearest_one,
         what_is_said_is_bounded_and_safe_for_a_terminal, an_empty_value_is_as_none,
         rearm_is_twice_the_warmup_unless_set, a_share_of_a_device_does_not_overflow,
         reading_needs_neither_listener_nor_flags)
