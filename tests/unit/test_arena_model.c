/* SPDX-License-Identifier: MIT
 * Random programs of an arena against a naive model, on a fake GPU that runs streams in any order
 * that the events allow: what is answered, what is counted, and every byte that comes back. */
#include "support/arena_world.h"
#include "support/suite.h"
#include <string.h>

enum { PROGRAMS = 200, OPERATIONS = 400 };

/* What the arena has to decide, by the rules of the header. */
static shapecache_status expect_offload(tensor *one, uint64_t **kept)
{
    const shapecache_arena_config *config = &world.config;
    shapecache_arena_info *counts = &world.counts;

    *kept = NULL;
    one->ticket.place = SHAPECACHE_ARENA_DEVICE;
    if (world.is_ignored[one->source - world.blocks])
        *kept = &counts->kept_ignored;
    else if (one->bytes < config->bytes_least)
        *kept = &counts->kept_small;
    else if (world.last_peak && world.depth < world.last_peak &&
             world.last_peak - world.depth <= config->keep_last)
        *kept = &counts->kept_last;
    one->is_demand = !*kept;
    if (*kept)
        return SHAPECACHE_OK;
    if (!config->capacity)
        *kept = &counts->kept_dry;
    else if (one->aligned <= config->capacity - sum(room_of))
        one->ticket.place = SHAPECACHE_ARENA_PINNED;
    else if (config->full == SHAPECACHE_ARENA_FULL_KEEP)
        *kept = &counts->kept_full;
    else if (config->full == SHAPECACHE_ARENA_FULL_PAGEABLE)
        one->ticket.place = SHAPECACHE_ARENA_PAGEABLE;
    else
        return SHAPECACHE_EFULL;
    return SHAPECACHE_OK;
}

static void count_offload(tensor *one, uint64_t *kept)
{
    world.counts.offloads++;
    if (kept) {
        ++*kept;
        world.counts.kept_bytes += one->bytes;
        return;
    }
    world.counts.bytes_out += one->bytes;
    world.counts.went_pageable += one->ticket.place == SHAPECACHE_ARENA_PAGEABLE;
}

static void offload(void)
{
    block *source = free_block(STREAMS);
    shapecache_ticket ticket = {.number = 0};
    tensor one = {.bytes = 1 + below(BLOCK_BYTES), .tag = below(3), .pattern = ++world.patterns};
    uint64_t *kept;

    if (!source || world.depth == DEPTH)
        return;
    one.source = source;
    one.aligned = (one.bytes + 255) / 256 * 256;
    enqueue(write_pattern, source, one.bytes, one.pattern);
    shapecache_status expected = expect_offload(&one, &kept);

    may_fail();
    shapecache_status status = sc_arena_offload(&world.arena, address(source), one.bytes, one.tag,
                                                world.streams[source->stream], 0, &ticket);

    if (has_failed(status)) {
        scribble(source);
        return;
    }
    ck_assert_int_eq(status, expected);
    if (status == SHAPECACHE_EFULL) {
        world.counts.full++;
        raise_to(&world.demand_peak, sum(demand_of) + one.aligned);
        ck_assert_ptr_nonnull(strstr(world.arena.error, "activation arena is full: need "));
        return;
    }
    ck_assert_uint_eq(ticket.number, ++world.last_number);
    ck_assert_uint_eq(ticket.index, world.depth);
    ck_assert_int_eq(ticket.place, one.ticket.place);
    one.ticket = ticket;
    count_offload(&one, kept);
    source->is_taken = ticket.place == SHAPECACHE_ARENA_DEVICE;
    if (!source->is_taken) {
        one.source = NULL;
        ck_assert_int_eq(sc_arena_fence(&world.arena, ticket, world.streams[source->stream]), 0);
        scribble(source);
    }
    world.stack[world.depth++] = one;
    world.pass_peak = world.pass_peak < world.depth ? world.depth : world.pass_peak;
}

static void pop(void)
{
    tensor *top = &world.stack[--world.depth];

    if (top->source)
        top->source->is_taken = false;
    if (top->target) {
        top->target->is_taken = false;
        world.in_flight -= top->bytes;
    }
    if (world.depth)
        return;
    world.last_peak = world.pass_peak;
    world.pass_peak = 0;
    world.counts.passes++;
    memset(world.is_ignored, 0, sizeof world.is_ignored);
}

static void onload(void)
{
    if (!world.depth)
        return;
    tensor *top = &world.stack[world.depth - 1];
    block *target = top->target ? top->target : free_block(STREAMS);

    if (top->source && (!target || below(2)))
        target = top->source;
    if (!target)
        return;
    if (target != top->source && target != top->target)
        scribble(target);
    if (top->source && top->source != target && top->source->stream != target->stream)
        return; /* the program would have to order the two streams itself */
    may_fail();
    shapecache_status status = sc_arena_onload(&world.arena, top->ticket, address(target),
                                               top->bytes, top->tag, world.streams[target->stream]);

    if (has_failed(status)) {
        if (target != top->source && target != top->target)
            scribble(target);
        return;
    }
    ck_assert_int_eq(status, SHAPECACHE_OK);
    enqueue(check_pattern, target, top->bytes, top->pattern);
    if (top->ticket.place != SHAPECACHE_ARENA_DEVICE && !top->target)
        world.counts.bytes_in += top->bytes;
    world.counts.onloads++;
    pop();
}

static void onload_wrongly(void)
{
    shapecache_ticket wrong = {.number = 1 + below(world.last_number + 2),
                               .index = (uint32_t)below(world.depth + 2)};
    tensor *top = world.depth ? &world.stack[world.depth - 1] : NULL;
    block *target = free_block(STREAMS);

    if (!target || (top && wrong.number == top->ticket.number))
        return;
    ck_assert_int_eq(
        sc_arena_onload(&world.arena, wrong, address(target), 100, 0, world.streams[0]),
        SHAPECACHE_EORDER);
    ck_assert_ptr_nonnull(strstr(world.arena.error, "wrong order of offload/onload"));
    world.counts.wrong_order++;
    if (!top)
        return;
    ck_assert_int_eq(sc_arena_onload(&world.arena, top->ticket, address(target), top->bytes + 1,
                                     top->tag, world.streams[0]),
                     SHAPECACHE_EMISMATCH);
    world.counts.mismatched++;
    if (top->target)
        return;
    ck_assert_int_eq(sc_arena_onload(&world.arena, top->ticket, address(target), top->bytes,
                                     top->tag + 1, world.streams[0]),
                     SHAPECACHE_EMISMATCH);
    world.counts.mismatched++;
}

/* Only to blocks of one stream, which a rewind then is told of. */
static void prefetch(void)
{
    block *target = free_block(0);
    unsigned started = 7;

    if (!target || !world.depth)
        return;
    tensor *one = &world.stack[below(world.depth)];
    bool is_away = one->ticket.place != SHAPECACHE_ARENA_DEVICE && !one->target;
    bool fits = world.in_flight + one->bytes <= world.config.prefetch_most;

    if (one->target)
        return;
    scribble(target);
    may_fail();
    shapecache_status status = sc_arena_prefetch(&world.arena, one->ticket, address(target),
                                                 one->bytes, world.streams[0], &started);

    if (has_failed(status)) {
        ck_assert_uint_eq(started, 0);
        scribble(target);
        return;
    }
    ck_assert_int_eq(status, SHAPECACHE_OK);
    ck_assert_uint_eq(started, is_away && fits);
    world.counts.prefetch_refused += is_away && !fits;
    if (!started)
        return;
    world.counts.prefetched++;
    world.counts.bytes_in += one->bytes;
    world.in_flight += one->bytes;
    one->target = target;
    target->is_taken = true;
}

static bool stands_on(shapecache_arena_moment moment)
{
    if (!moment.depth)
        return true;
    return moment.depth <= world.depth &&
           world.stack[moment.depth - 1].ticket.number == moment.number;
}

static void mark_or_rewind(void)
{
    shapecache_arena_moment *moment = &world.marks[below(MARKS)];

    if (below(2)) {
        sc_arena_mark(&world.arena, moment);
        ck_assert_uint_eq(moment->depth, world.depth);
        return;
    }
    may_fail();
    shapecache_status status = sc_arena_rewind(&world.arena, *moment, world.streams[0]);

    if (has_failed(status))
        return;
    ck_assert_int_eq(status, stands_on(*moment) ? SHAPECACHE_OK : SHAPECACHE_EORDER);
    world.counts.wrong_order += status == SHAPECACHE_EORDER;
    while (!status && world.depth > moment->depth) {
        world.counts.rewound++;
        pop();
    }
}

static void ignore_or_heed(void)
{
    unsigned which = (unsigned)below(BLOCKS);
    bool is_ignoring = below(2);

    if (is_ignoring)
        ck_assert_int_eq(sc_arena_ignore(&world.arena, address(&world.blocks[which])), 0);
    else
        sc_arena_heed(&world.arena, address(&world.blocks[which]));
    world.is_ignored[which] = is_ignoring;
}

static void operate(unsigned bias)
{
    uint64_t choice = below(100);

    if (choice < bias)
        offload();
    else if (choice < 70)
        onload();
    else if (choice < 76)
        onload_wrongly();
    else if (choice < 86)
        prefetch();
    else if (choice < 90)
        mark_or_rewind();
    else if (choice < 93)
        ignore_or_heed();
    else
        for (uint64_t steps = below(40); steps-- > 0;)
            (void)fake_gpu_step();
}

static void begin(bool may_fail_too)
{
    sc_random random = world.random;

    memset(&world, 0, sizeof world);
    world.random = random;
    world.may_fail = may_fail_too;
    fake_gpu_init(&world.random);
    for (unsigned i = 0; i < STREAMS; i++)
        world.streams[i] = fake_gpu_stream();
    for (unsigned i = 0; i < BLOCKS; i++)
        world.blocks[i].stream = i % STREAMS;
    world.config = (shapecache_arena_config){
        .size = sizeof world.config,
        .name = "model",
        .capacity = below(6) ? 256 * (1 + below(400)) : 0,
        .full = (shapecache_arena_full)below(3),
        .bytes_least = below(3) ? 0 : below(2000),
        .keep_last = (uint32_t)(below(3) ? 0 : below(5)),
        .prefetch_most = below(30000),
        .chunk = UINT64_C(64) << 20,
    };
    ck_assert_ptr_null(sc_arena_look(&world.config));
    ck_assert_int_eq(sc_arena_init(&world.arena, &world.config, "capacity", &fake_gpu_driver,
                                   &fake_gpu_copies, 1, -1),
                     SHAPECACHE_OK);
    if (below(2))
        fake_gpu_delay((unsigned)below(STREAMS + 2)); /* the arena's two come after the program's */
}

static void end(void)
{
    if (below(2)) { /* a whole backward pass, or none */
        world.may_fail = false;
        while (world.depth) {
            onload();
            (void)fake_gpu_step();
        }
        compare();
    }
    sc_arena_release(&world.arena);
    ck_assert_uint_eq(fake_gpu_events(), 0);
    ck_assert_uint_eq(fake_gpu_registered(), 0);
    ck_assert_uint_eq(fake_gpu_streams(), STREAMS);
    fake_gpu_finish();
}

static void run_programs(bool may_fail_too)
{
    for (unsigned i = 0; i < PROGRAMS; i++) {
        begin(may_fail_too);
        for (unsigned n = 0; n < OPERATIONS; n++) {
            operate(n / 50 % 2 ? 25 : 50); /* forward, backward, forward ... */
            compare();
        }
        end();
    }
}

START_TEST(random_programs_get_their_bytes_back_in_every_order_the_events_allow)
{
    world.random = sc_random_new("arena model");
    run_programs(false);
}
END_TEST

START_TEST(a_driver_call_that_fails_changes_nothing_but_a_counter)
{
    world.random = sc_random_new("arena model with failures");
    run_programs(true);
}
END_TEST

SC_SUITE("arena model", random_programs_get_their_bytes_back_in_every_order_the_events_allow,
         a_driver_call_that_fails_changes_nothing_but_a_counter)
