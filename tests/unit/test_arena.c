/* SPDX-License-Identifier: MIT
 * One arena by itself: sentences, page-locking, and what is left when the driver fails, on a fake
 * GPU. */
#include "arena/arena.h"
#include "support/fake_gpu.h"
#include "support/suite.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KIB = 1024, BROKEN = 719, TENSORS = 4, TENSOR_BYTES = 5000 };

static sc_random generator;
static sc_arena arena;
static sc_stream stream;
static unsigned char tensors[TENSORS][TENSOR_BYTES];

static shapecache_arena_config config_of(uint64_t capacity)
{
    return (shapecache_arena_config){.size = sizeof(shapecache_arena_config),
                                     .name = "acts",
                                     .capacity = capacity,
                                     .prefetch_most = UINT64_MAX,
                                     .chunk = UINT64_C(64) << 20};
}

static shapecache_status init(const shapecache_arena_config *config)
{
    return sc_arena_init(&arena, config, "SHAPECACHE_ARENA", &fake_gpu_driver, &fake_gpu_copies, 1,
                         -1);
}

static void before(void)
{
    generator = sc_random_new("arena");
    fake_gpu_init(&generator);
    stream = fake_gpu_stream();
    for (unsigned i = 0; i < TENSORS; i++)
        memset(tensors[i], (int)i + 1, TENSOR_BYTES);
}

static void after(void)
{
    ck_assert_uint_eq(fake_gpu_events(), 0);
    ck_assert_uint_eq(fake_gpu_registered(), 0);
    ck_assert_uint_eq(fake_gpu_pushed(), 0);
    ck_assert_uint_eq(fake_gpu_streams(), 1);
}

static void open_arena(uint64_t capacity)
{
    shapecache_arena_config config = config_of(capacity);

    ck_assert_int_eq(init(&config), SHAPECACHE_OK);
}

static sc_address at(unsigned tensor)
{
    return (sc_address)(uintptr_t)tensors[tensor];
}

static shapecache_status out(unsigned tensor, uint64_t bytes, shapecache_ticket *ticket)
{
    return sc_arena_offload(&arena, at(tensor), bytes, tensor, stream, 0, ticket);
}

static shapecache_status in(unsigned tensor, uint64_t bytes, shapecache_ticket ticket)
{
    return sc_arena_onload(&arena, ticket, at(tensor), bytes, tensor, stream);
}

static void says(const char *sentence)
{
    ck_assert_str_eq(arena.error, sentence);
}

START_TEST(a_wrong_order_names_both_tickets_and_changes_nothing)
{
    shapecache_ticket first, second, gone;

    open_arena(64 * KIB);
    ck_assert_int_eq(out(0, 1000, &first), SHAPECACHE_OK);
    ck_assert_int_eq(out(1, 1000, &second), SHAPECACHE_OK);
    ck_assert_int_eq(in(0, 1000, first), SHAPECACHE_EORDER);
    says("arena acts: wrong order of offload/onload: onload asked for ticket 1, but ticket 2 is on "
         "top, and those above it must be onloaded or rewound first: 1");
    ck_assert_int_eq(in(1, 1000, second), SHAPECACHE_OK);
    gone = second;
    ck_assert_int_eq(in(1, 1000, gone), SHAPECACHE_EORDER);
    says("arena acts: wrong order of offload/onload: onload asked for ticket 2, but ticket 1 is on "
         "top; the one asked for was onloaded or rewound before, or is another arena's");
    ck_assert_int_eq(in(0, 1000, first), SHAPECACHE_OK);
    ck_assert_int_eq(in(0, 1000, first), SHAPECACHE_EORDER);
    says("arena acts: wrong order of offload/onload: onload asked for ticket 1, but nothing is on "
         "the stack");
    sc_arena_check(&arena);
    sc_arena_release(&arena);
}
END_TEST

START_TEST(a_full_arena_says_need_have_peak_demand_and_the_setting)
{
    shapecache_ticket ticket;

    open_arena(8 * KIB);
    ck_assert_int_eq(out(0, 5000, &ticket), SHAPECACHE_OK);
    ck_assert_int_eq(out(1, 4000, &ticket), SHAPECACHE_EFULL);
    says("activation arena is full: need 4.00 KiB (4096 bytes), have 3.00 KiB (3072 "
         "bytes) of 8.00 KiB (8192 bytes), peak demand so far 9.00 KiB (9216 bytes); set "
         "SHAPECACHE_ARENA to at least 9216 (arena acts)");
    ck_assert_uint_eq(arena.stack.count, 1);
    ck_assert_int_eq(out(1, 3072, &ticket), SHAPECACHE_OK);
    ck_assert_uint_eq(ticket.number, 2);
    sc_arena_release(&arena);
}
END_TEST

START_TEST(a_mismatch_names_both_values)
{
    shapecache_ticket ticket;

    open_arena(64 * KIB);
    ck_assert_int_eq(out(0, 1000, &ticket), SHAPECACHE_OK);
    ck_assert_int_eq(in(0, 999, ticket), SHAPECACHE_EMISMATCH);
    says("arena acts: ticket 1 has a size in bytes of 1000, but it was asked for with 999");
    ck_assert_int_eq(in(1, 1000, ticket), SHAPECACHE_EMISMATCH);
    says("arena acts: ticket 1 has tag 0, but it was asked for with 1");
    ck_assert_uint_eq(arena.stack.count, 1);
    sc_arena_release(&arena);
}
END_TEST

START_TEST(a_rewind_below_where_the_stack_has_been_is_refused)
{
    shapecache_ticket first, second;
    shapecache_arena_moment moment;

    open_arena(64 * KIB);
    ck_assert_int_eq(out(0, 1000, &first), SHAPECACHE_OK);
    sc_arena_mark(&arena, &moment);
    ck_assert_int_eq(in(0, 1000, first), SHAPECACHE_OK);
    ck_assert_int_eq(out(1, 1000, &second), SHAPECACHE_OK);
    ck_assert_int_eq(sc_arena_rewind(&arena, moment, stream), SHAPECACHE_EORDER);
    says("arena acts: wrong order of offload/onload: rewind to ticket 1 at depth 1, but the stack "
         "has been below that since: it now has depth 1 with ticket 2 on top");
    sc_arena_release(&arena);
}
END_TEST

START_TEST(a_dry_run_measures_the_demand_and_moves_nothing)
{
    shapecache_ticket tickets[TENSORS];
    shapecache_arena_info info;

    open_arena(0);
    for (unsigned i = 0; i < TENSORS; i++) {
        ck_assert_int_eq(out(i, TENSOR_BYTES, &tickets[i]), SHAPECACHE_OK);
        ck_assert_int_eq(tickets[i].place, SHAPECACHE_ARENA_DEVICE);
    }
    for (unsigned i = TENSORS; i-- > 0;)
        ck_assert_int_eq(in(i, TENSOR_BYTES, tickets[i]), SHAPECACHE_OK);
    sc_arena_inform(&arena, &info);
    ck_assert_uint_eq(info.demand_peak, TENSORS * 5120);
    ck_assert_uint_eq(info.kept_dry, TENSORS);
    ck_assert_uint_eq(info.mapped, 0);
    ck_assert_uint_eq(fake_gpu_copied(), 0);
    sc_arena_release(&arena);
}
END_TEST

START_TEST(the_mapping_is_as_long_as_asked_for_and_whole_pages)
{
    shapecache_arena_info info;

    open_arena(100 * KIB + 1);
    sc_arena_inform(&arena, &info);
    ck_assert_uint_eq(info.mapped, 104 * KIB);
    ck_assert_uint_eq(info.pinned, info.mapped);
    ck_assert_uint_eq(fake_gpu_registered(), 1);
    sc_arena_release(&arena);
}
END_TEST

START_TEST(memory_that_cannot_be_page_locked_says_so_with_the_limits)
{
    shapecache_arena_config config = config_of(64 * KIB);

    fake_gpu_fail_at(3, SC_CUDA_OUT_OF_MEMORY); /* after two streams */
    ck_assert_int_eq(init(&config), SHAPECACHE_EPINNED);
    ck_assert_ptr_eq(strstr(arena.error,
                            "arena acts: 64.0 KiB (65536 bytes) of host memory could not be "
                            "page-locked (this is not GPU memory): the CUDA driver answered 2 to "
                            "cuMemHostRegister; limits: ulimit -l (memlock) "),
                     arena.error);
    ck_assert_ptr_nonnull(strstr(arena.error, ", control group memory "));
    ck_assert_ptr_nonnull(strstr(arena.error, "; raise the limit, or lower SHAPECACHE_ARENA"));
}
END_TEST

START_TEST(a_copy_never_crosses_from_one_registration_into_the_next)
{
    shapecache_arena_config config = config_of(32 * KIB);
    shapecache_ticket tickets[TENSORS];
    unsigned char expected[TENSOR_BYTES];

    config.chunk = 4 * KIB;
    config.flags = SHAPECACHE_ARENA_BACKGROUND;
    ck_assert_int_eq(init(&config), SHAPECACHE_OK);
    pthread_join(arena.pinned.helper, NULL); /* the fake GPU has one thread */
    arena.pinned.has_helper = false;
    ck_assert_uint_eq(fake_gpu_registered(), 8);
    for (unsigned i = 0; i < TENSORS; i++)
        ck_assert_int_eq(out(i, TENSOR_BYTES, &tickets[i]), SHAPECACHE_OK);
    fake_gpu_finish();
    memset(tensors, 0, sizeof tensors);
    unsigned calls = fake_gpu_calls();

    for (unsigned i = TENSORS; i-- > 0;) {
        ck_assert_int_eq(in(i, TENSOR_BYTES, tickets[i]), SHAPECACHE_OK);
        fake_gpu_finish();
        memset(expected, (int)i + 1, TENSOR_BYTES);
        ck_assert_mem_eq(tensors[i], expected, TENSOR_BYTES);
    }
    ck_assert_uint_gt(fake_gpu_calls() - calls, TENSORS * 7); /* more than one copy each */
    sc_arena_release(&arena);
}
END_TEST

START_TEST(a_chunk_is_locked_when_first_used_where_nobody_was_sooner)
{
    shapecache_arena_config config = config_of(16 * KIB);
    shapecache_ticket ticket;

    config.chunk = 4 * KIB;
    ck_assert_int_eq(init(&config), SHAPECACHE_OK);
    sc_pinned_unmap(&arena.pinned, true);
    ck_assert(sc_pinned_map(&arena.pinned, &fake_gpu_driver, 1, 16 * KIB, 4 * KIB, 0));
    arena.is_background = true;
    ck_assert_int_eq(out(0, TENSOR_BYTES, &ticket), SHAPECACHE_OK);
    ck_assert_uint_eq(fake_gpu_registered(), 2);
    fake_gpu_fail_at(1, SC_CUDA_OUT_OF_MEMORY);
    sc_pinned_use(&arena.pinned, 8 * KIB, 1);
    ck_assert_uint_eq(fake_gpu_registered(), 2);
    ck_assert_uint_eq(atomic_load(&arena.pinned.refused), 1);
    sc_pinned_use(&arena.pinned, 8 * KIB, 1); /* it stays pageable */
    ck_assert_uint_eq(fake_gpu_registered(), 2);
    ck_assert_int_eq(out(1, TENSOR_BYTES, &ticket), SHAPECACHE_OK);
    sc_arena_release(&arena);
}
END_TEST

START_TEST(the_node_of_a_device_is_what_the_kernel_says)
{
    char folder[] = "/tmp/sc-node-XXXXXX", path[200];

    ck_assert_ptr_nonnull(mkdtemp(folder));
    static const char *const parts[] = {"/bus", "/bus/pci", "/bus/pci/devices",
                                        "/bus/pci/devices/0000:3b:00.0"};

    for (unsigned i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof path, "%s%s", folder, parts[i]);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    (void)snprintf(path, sizeof path, "%s%s/numa_node", folder, parts[3]);
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs("1\n", file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(sc_pinned_node(folder, "0000:3B:00.0"), 1);
    ck_assert_int_eq(sc_pinned_node(folder, "0000:00:00.0"), -1);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs("-1\n", file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(sc_pinned_node(folder, "0000:3B:00.0"), -1);
    (void)unlink(path);
    for (unsigned i = 4; i-- > 0;) {
        (void)snprintf(path, sizeof path, "%s%s", folder, parts[i]);
        ck_assert_int_eq(rmdir(path), 0);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* A whole life: two out, one prefetched, both back, one out and rewound. Stops at the first error.
 */
static shapecache_status live(void)
{
    shapecache_arena_config config = config_of(16 * KIB);
    shapecache_arena_moment moment;
    shapecache_ticket first, second, third;
    shapecache_status status = init(&config);
    unsigned started;

    if (status)
        return status;
    sc_arena_mark(&arena, &moment);
    (void)((status = out(0, TENSOR_BYTES, &first)) || (status = out(1, TENSOR_BYTES, &second)) ||
           (status = sc_arena_prefetch(&arena, first, at(2), TENSOR_BYTES, stream, &started)) ||
           (status = in(1, TENSOR_BYTES, second)) ||
           (status = sc_arena_onload(&arena, first, at(2), TENSOR_BYTES, 0, stream)) ||
           (status = out(3, TENSOR_BYTES, &third)) ||
           (status = sc_arena_prefetch(&arena, third, at(0), TENSOR_BYTES, stream, &started)) ||
           (status = sc_arena_rewind(&arena, moment, stream)));
    sc_arena_check(&arena);
    sc_arena_release(&arena);
    return status;
}

START_TEST(whatever_call_of_the_driver_fails_nothing_is_left)
{
    ck_assert_int_eq(live(), SHAPECACHE_OK);
    unsigned calls = fake_gpu_calls(), failed = 0;

    for (unsigned n = 1; n <= calls + 8; n++) {
        fake_gpu_init(&generator);
        stream = fake_gpu_stream();
        fake_gpu_fail_at(n, BROKEN);
        shapecache_status status = live();

        ck_assert(status == SHAPECACHE_OK || status == SHAPECACHE_EDRIVER ||
                  status == SHAPECACHE_EPINNED);
        failed += status != SHAPECACHE_OK;
        ck_assert_uint_eq(fake_gpu_events(), 0);
        ck_assert_uint_eq(fake_gpu_registered(), 0);
        ck_assert_uint_eq(fake_gpu_streams(), 1);
        fake_gpu_finish();
    }
    ck_assert_uint_gt(failed, calls / 2);
}
END_TEST

START_TEST(an_arena_whose_context_ended_asks_the_driver_for_nothing)
{
    shapecache_ticket ticket;

    open_arena(64 * KIB);
    ck_assert_int_eq(out(0, 1000, &ticket), SHAPECACHE_OK);
    fake_gpu_finish();
    unsigned calls = fake_gpu_calls();

    sc_arena_abandon(&arena);
    ck_assert_uint_eq(fake_gpu_calls(), calls);
    fake_gpu_init(&generator);
    stream = fake_gpu_stream();
}
END_TEST

START_TEST(a_config_that_cannot_be_is_told_apart)
{
    shapecache_arena_config good = config_of(1), bad = good;

    ck_assert_ptr_null(sc_arena_look(&good));
    bad.size--;
    ck_assert_ptr_nonnull(sc_arena_look(&bad));
    bad = good, bad.name = "";
    ck_assert_ptr_nonnull(sc_arena_look(&bad));
    bad = good, bad.capacity = UINT64_MAX;
    ck_assert_ptr_nonnull(sc_arena_look(&bad));
    bad = good, bad.full = (shapecache_arena_full)3;
    ck_assert_ptr_nonnull(sc_arena_look(&bad));
    bad = good, bad.flags = 4;
    ck_assert_ptr_nonnull(sc_arena_look(&bad));
    bad = good, bad.chunk = 1;
    ck_assert_ptr_nonnull(sc_arena_look(&bad));
}
END_TEST

SC_SUITE_WITH("arena", before, after, a_wrong_order_names_both_tickets_and_changes_nothing,
              a_full_arena_says_need_have_peak_demand_and_the_setting, a_mismatch_names_both_values,
              a_rewind_below_where_the_stack_has_been_is_refused,
              a_dry_run_measures_the_demand_and_moves_nothing,
              the_mapping_is_as_long_as_asked_for_and_whole_pages,
              memory_that_cannot_be_page_locked_says_so_with_the_limits,
              a_copy_never_crosses_from_one_registration_into_the_next,
              a_chunk_is_locked_when_first_used_where_nobody_was_sooner,
              the_node_of_a_device_is_what_the_kernel_says,
              whatever_call_of_the_driver_fails_nothing_is_left,
              an_arena_whose_context_ended_asks_the_driver_for_nothing,
              a_config_that_cannot_be_is_told_apart)
