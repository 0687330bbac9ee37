/* SPDX-License-Identifier: MIT
 * Why there was no room, and what may help: every case a row. */
#include "base/driver.h"
#include "engine/verdict.h"
#include "support/seed.h"
#include "support/suite.h"
#include <string.h>

enum { TEXT_BYTES = 1024 };
static const uint64_t MIB = 1 << 20;

static char bytes[TEXT_BYTES];

static const char *explain(const sc_oom *oom)
{
    sc_text text = sc_text_over(bytes, sizeof bytes);

    sc_verdict_explain(&text, oom);
    return sc_text_terminate(&text);
}

static const char *advise(const sc_oom *oom, sc_in_force force)
{
    sc_text text = sc_text_over(bytes, sizeof bytes);

    if (!force.conf)
        force.conf = "PYTORCH_CUDA_ALLOC_CONF";
    sc_verdict_advise(&text, oom, &force);
    return sc_text_terminate(&text);
}

START_TEST(figures_add_up_whatever_the_driver_and_the_cache_say)
{
    sc_random random = sc_random_new("figures add up");

    for (int i = 0; i < 100000; i++) {
        uint64_t most = i % 2 ? 8 * MIB : 1024 * MIB;
        sc_oom oom = {.total = 1 + sc_random_below(&random, most),
                      .free = sc_random_below(&random, most),
                      .live = sc_random_below(&random, most),
                      .idle = sc_random_below(&random, most),
                      .passed = sc_random_below(&random, most)};
        sc_oom before = oom;

        sc_oom_balance(&oom);
        ck_assert_uint_eq(oom.live + oom.idle + oom.passed + oom.other + oom.free, oom.total);
        ck_assert_uint_eq(oom.total, before.total);
        ck_assert(oom.free == before.free || oom.free == oom.total);
        ck_assert(oom.live <= before.live && oom.idle <= before.idle &&
                  oom.passed <= before.passed);
        if (before.free + before.live + before.idle + before.passed <= before.total)
            ck_assert(oom.live == before.live && oom.idle == before.idle &&
                      oom.passed == before.passed);
    }
}
END_TEST

typedef struct situation {
    const char *word;
    uint64_t asked, free, live, idle, passed, other, at_start; /* MiB of a device of 1,000 */
    bool is_ungated, is_capturing, is_recovered, is_blind;
} situation;

static sc_oom oom_of(const situation *row)
{
    return (sc_oom){.total = 1000 * MIB,
                    .asked = row->asked * MIB,
                    .free = row->free * MIB,
                    .live = row->live * MIB,
                    .idle = row->idle * MIB,
                    .passed = row->passed * MIB,
                    .other = row->other * MIB,
                    .at_start = row->at_start * MIB,
                    .passed_blocks = row->passed / 20,
                    .is_measured = !row->is_blind,
                    .is_capturing = row->is_capturing,
                    .result = row->is_recovered ? SC_CUDA_SUCCESS : SC_CUDA_OUT_OF_MEMORY};
}

START_TEST(the_verdict_follows_from_the_figures)
{
    static const situation rows[] = {
        {"trimmed", .asked = 10, .live = 900, .other = 20, .free = 80, .is_recovered = true},
        {"gate-off", .asked = 100, .live = 600, .idle = 350, .free = 50, .is_ungated = true},
        {"too-big", .asked = 100, .live = 950, .free = 50, .is_ungated = true},
        {"capture", .asked = 100, .live = 600, .idle = 350, .free = 50, .is_capturing = true},
        {"too-big", .asked = 100, .live = 900, .other = 50, .free = 50},
        {"too-big", .asked = 2000, .free = 1000},
        {"elsewhere", .asked = 100, .passed = 900, .live = 20, .other = 30, .free = 50},
        {"elsewhere", .asked = 100, .other = 900, .at_start = 100, .live = 50, .free = 50},
        {"other-process", .asked = 100, .other = 900, .at_start = 800, .live = 50, .free = 50},
        {"fragmented", .asked = 100, .live = 800, .free = 200},
        {"fragmented", .asked = 100, .live = 900, .free = 100},
        {"unknown", .asked = 100, .is_blind = true, .live = 900},
        {"unknown", .asked = 0, .live = 500, .free = 500},
        {"too-big", .asked = 0, .live = 900, .free = 100},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sc_oom oom = oom_of(&rows[i]);
        sc_in_force force = {.is_gated = !rows[i].is_ungated};

        oom.verdict = sc_verdict_of(&oom, &force);
        ck_assert_msg(!strcmp(sc_verdict_word(oom.verdict), rows[i].word), "row %zu: %s", i,
                      sc_verdict_word(oom.verdict));
        ck_assert_uint_gt(strlen(explain(&oom)), 10);
    }
}
END_TEST

/* Whether the text of its kind is in the advice where nothing of the kind is in force, and where
 * `force` is. */
static void expect_advice(const sc_oom *oom, const char *part, sc_in_force force)
{
    sc_in_force nothing = {.is_gated = true, .is_tensors = force.is_tensors};

    ck_assert_msg(strstr(advise(oom, nothing), part) != NULL, "%s", bytes);
    ck_assert_msg(strstr(advise(oom, force), part) == NULL, "%s", bytes);
}

START_TEST(nothing_is_advised_that_is_in_force_already)
{
    sc_oom hollow = {
        .verdict = SC_VERDICT_ELSEWHERE,
        .passed = 800 * MIB,
        .allocator = {.is_known = true, .reserved = 800 * MIB, .allocated = 300 * MIB}};
    sc_oom dark = {.verdict = SC_VERDICT_ELSEWHERE, .passed = 800 * MIB};
    sc_oom big = {.verdict = SC_VERDICT_TOO_BIG, .asked = 10 * MIB, .total = 1000 * MIB};

    expect_advice(&hollow, "expandable_segments", (sc_in_force){.is_expandable = true});
    ck_assert_ptr_nonnull(strstr(advise(&hollow, (sc_in_force){.is_gated = true}), "500 MiB"));
    hollow.allocator.is_expandable = true; /* switched on after the start */
    ck_assert_ptr_null(strstr(advise(&hollow, (sc_in_force){0}), "expandable_segments"));
    expect_advice(&dark, "run --torch=segments", (sc_in_force){.is_torch = true});
    expect_advice(&big, "--offload", (sc_in_force){.is_tensors = true, .is_offloading = true});
    /* outside PyTorch nobody can offload by a flag */
    ck_assert_str_eq(advise(&big, (sc_in_force){0}), "");
}
END_TEST

START_TEST(an_allocator_whose_memory_is_in_use_is_not_called_hollow)
{
    sc_oom full = {.verdict = SC_VERDICT_ELSEWHERE,
                   .passed = 800 * MIB,
                   .allocator = {.is_known = true, .reserved = 800 * MIB, .allocated = 700 * MIB}};

    ck_assert_ptr_null(strstr(advise(&full, (sc_in_force){0}), "expandable_segments"));
    full.asked = 150 * MIB;
    full.free = 20 * MIB;
    ck_assert_ptr_null(strstr(advise(&full, (sc_in_force){0}), "expandable_segments"));
    full.free = 50 * MIB; /* with what is unused it would have been enough */
    ck_assert_ptr_nonnull(strstr(advise(&full, (sc_in_force){0}), "expandable_segments"));
}
END_TEST

START_TEST(a_step_larger_than_any_before_is_told_with_both_figures)
{
    sc_oom oom = {.verdict = SC_VERDICT_TOO_BIG,
                  .asked = 100 * MIB,
                  .total = 1000 * MIB,
                  .live = 900 * MIB,
                  .step_peak = 600 * MIB};

    ck_assert_str_eq(advise(&oom, (sc_in_force){0}),
                     "this step needs at least 1000 MiB, and none before had more than 600 MiB: "
                     "bound the length of a batch, or sort batches into buckets");
    oom.step_peak = 990 * MIB; /* one before needed as much */
    ck_assert_str_eq(advise(&oom, (sc_in_force){0}), "");
}
END_TEST

START_TEST(what_piles_up_from_step_to_step_is_told)
{
    sc_oom oom = {.verdict = SC_VERDICT_TOO_BIG,
                  .asked = 10 * MIB,
                  .total = 1000 * MIB,
                  .live = 995 * MIB,
                  .step_peak = 994 * MIB,
                  .holders = {{.id = 7, .count = 80}},
                  .changed = {{.id = 7, .count = 80, .before = 79}}};

    ck_assert_ptr_nonnull(strstr(advise(&oom, (sc_in_force){0}), "from step to step"));
    oom.changed[0].id = 8; /* something else grew */
    ck_assert_str_eq(advise(&oom, (sc_in_force){0}), "");
    oom.changed[0] = (sc_holding){.id = 7, .count = 80}; /* it was not there before */
    ck_assert_str_eq(advise(&oom, (sc_in_force){0}), "");
}
END_TEST

typedef struct settings {
    bool is_expandable;
    const char *conf;
    const char *environment[3];
} settings;

START_TEST(what_pytorch_was_told_is_read_by_its_own_rules)
{
    static const char cuda[] = "PYTORCH_CUDA_ALLOC_CONF", any[] = "PYTORCH_ALLOC_CONF";
    static const settings all[] = {
        {false, cuda, {"HOME=/"}},
        {true, cuda, {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}},
        {true, any, {"PYTORCH_ALLOC_CONF=expandable_segments:True"}},
        {true, cuda, {"PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,expandable_segments:True"}},
        {true, cuda, {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,pinned_use_x:False"}},
        {false, cuda, {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False"}},
        {false,
         cuda,
         {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,expandable_segments:False"}},
        {false, any, {"PYTORCH_ALLOC_CONF=max_split_size_mb:64"}},
        {true, any, {"PYTORCH_ALLOC_CONF=a:1", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}},
        {false, cuda, {"PYTORCH_CUDA_ALLOC_CONFIG=expandable_segments:True"}},
        {false, cuda, {"PYTORCH_CUDA_ALLOC_CONF="}},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sc_in_force force = {.is_expandable = true};

        sc_in_force_read(&force, (char *const *)all[i].environment);
        ck_assert_msg(force.is_expandable == all[i].is_expandable, "row %zu", i);
        ck_assert_str_eq(force.conf, all[i].conf);
    }
}
END_TEST

SC_SUITE("verdict", figures_add_up_whatever_the_driver_and_the_cache_say,
         the_verdict_follows_from_the_figures, nothing_is_advised_that_is_in_force_already,
         an_allocator_whose_memory_is_in_use_is_not_called_hollow,
         a_step_larger_than_any_before_is_told_with_both_figures,
         what_piles_up_from_step_to_step_is_told, what_pytorch_was_told_is_read_by_its_own_rules)
