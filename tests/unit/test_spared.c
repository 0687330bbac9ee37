/* SPDX-License-Identifier: MIT
 * What a device was spared by arenas: as the peak of the same program without them, told by a model
 * that knows how it ends. */
#include "support/arena_room.h"
#include "support/suite.h"
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 512, TICKETS = 256, OPERATIONS = 300, SCENES = 12, NEVER = 1 << 30 };

/* A block as the naive model has it. Times are numbers of operations. */
typedef struct whole {
    sc_address address;
    uint64_t bytes;
    bool is_held;           /* by the program */
    bool is_target;         /* it would not be there */
    int born, died;         /* live */
    int stands, stands_end; /* would be live, too */
    int tickets, targets;
    struct whole *stands_for;
} whole;

typedef struct out {
    shapecache_ticket ticket;
    whole *source, *target; /* target NULL: not on its way */
    uint64_t bytes;
    bool is_forgotten;
} out;

static struct {
    whole blocks[BLOCKS];
    out stack[TICKETS];
    int count, depth, now;
    bool has_stood;
} model;

static void *pointer(sc_address address)
{
    return (void *)(uintptr_t)address;
}

static shapecache_arena_info stats(void)
{
    shapecache_arena_info info;

    ck_assert_int_eq(shapecache_arena_stats(arena, &info), SHAPECACHE_OK);
    return info;
}

static uint64_t without_at(int time)
{
    uint64_t own = 0, packed = 0;

    for (int i = 0; i < model.count; i++) {
        const whole *one = &model.blocks[i];
        bool is_live = one->born <= time && time < one->died && !one->is_target;
        bool stands = one->stands <= time && time < one->stands_end;

        if (!is_live && !stands)
            continue;
        if (one->bytes >= MIB)
            own += (one->bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
        else
            packed += (one->bytes + 511) / 512 * 512;
    }
    return own + (packed + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

static uint64_t most_without(void)
{
    uint64_t most = 0;

    for (int time = 0; time <= model.now; time++) {
        uint64_t at = without_at(time);

        most = at > most ? at : most;
    }
    return most;
}

static whole *allocate(uint64_t bytes)
{
    whole *made = &model.blocks[model.count++];

    *made = (whole){.address = room_alloc(bytes),
                    .bytes = bytes,
                    .is_held = true,
                    .born = ++model.now,
                    .died = NEVER,
                    .stands = NEVER,
                    .stands_end = NEVER};
    return made;
}

static void look_whether_it_stands(whole *one)
{
    bool is_needed = one->tickets + one->targets > 0;

    if (one->is_held || one->stands_end != NEVER)
        return;
    if (is_needed && one->stands == NEVER) {
        one->stands = model.now;
        model.has_stood = true;
    } else if (!is_needed) {
        one->stands_end = model.now;
    }
}

/* It is the program's no more. */
static void lose(whole *one)
{
    whole *former = one->stands_for;

    model.now++;
    one->is_held = false;
    one->died = model.now;
    one->stands_for = NULL;
    look_whether_it_stands(one);
    if (!former)
        return;
    former->targets--;
    look_whether_it_stands(former);
}

static void release(whole *one)
{
    room_free(one->address);
    lose(one);
}

/* One that the program holds and nothing is on its way to. NULL: there is none. */
static whole *choose(void)
{
    whole *found[BLOCKS];
    int count = 0;

    for (int i = 0; i < model.count; i++) {
        bool is_awaited = false;

        for (int k = 0; k < model.depth; k++)
            is_awaited |= model.stack[k].target == &model.blocks[i];
        if (model.blocks[i].is_held && !is_awaited)
            found[count++] = &model.blocks[i];
    }
    return count ? found[sc_random_below(&generator, (uint64_t)count)] : NULL;
}

static uint64_t choose_bytes(void)
{
    static const uint64_t most[] = {3 * MIB, 6 * MIB, 300 * KIB, 2 * KIB};

    return 1 + sc_random_below(&generator, most[sc_random_below(&generator, 4)]);
}

static void offload(whole *one, bool is_given)
{
    uint64_t from = is_given ? 0 : sc_random_below(&generator, one->bytes / 2 + 1);
    out *top = &model.stack[model.depth];
    shapecache_status status;

    *top = (out){.source = one->stands_for ? one->stands_for : one, .bytes = one->bytes - from};
    status = (is_given ? shapecache_arena_offload_free(arena, pointer(one->address), top->bytes, 0,
                                                       (void *)stream, &top->ticket)
                       : shapecache_arena_offload(arena, pointer(one->address + from), top->bytes,
                                                  0, (void *)stream, &top->ticket));
    ck_assert_int_eq(status, SHAPECACHE_OK);
    model.depth++;
    if (top->ticket.place == SHAPECACHE_ARENA_DEVICE)
        return;
    top->source->tickets++;
    if (!is_given)
        return;
    fake_gpu_finish();
    (void)stats(); /* sees that the copy is done */
    lose(one);
}

/* A new block that the tensor comes back to. */
static whole *target_for(out *one)
{
    whole *target = allocate(one->bytes);

    for (uint64_t i = sc_random_below(&generator, 4); i > 0; i--)
        (void)allocate(choose_bytes());
    return target;
}

static void leads_back(out *one, whole *target)
{
    model.now++;
    target->is_target = true;
    target->stands_for = one->source;
    one->source->tickets--;
    one->source->targets++;
    one->target = target;
    look_whether_it_stands(one->source);
}

static void onload(void)
{
    out *top = &model.stack[--model.depth];
    bool is_here = top->ticket.place == SHAPECACHE_ARENA_DEVICE;
    whole *target = is_here || top->target ? top->target : target_for(top);

    ck_assert_int_eq(shapecache_arena_onload(arena, top->ticket,
                                             pointer(target ? target->address : 0), top->bytes, 0,
                                             (void *)stream),
                     SHAPECACHE_OK);
    if (!is_here && !top->target)
        leads_back(top, target);
    top->target = NULL;
}

/* Away, and not on its way back. */
static bool is_followed(const out *one)
{
    return one->ticket.place != SHAPECACHE_ARENA_DEVICE && !one->target && !one->is_forgotten;
}

static void prefetch(void)
{
    out *one = &model.stack[sc_random_below(&generator, (uint64_t)model.depth)];
    unsigned started;

    if (!is_followed(one))
        return;
    whole *target = target_for(one);

    ck_assert_int_eq(shapecache_arena_prefetch(arena, one->ticket, pointer(target->address),
                                               one->bytes, (void *)stream, &started),
                     SHAPECACHE_OK);
    ck_assert_uint_eq(started, 1);
    leads_back(one, target);
}

static void lose_ticket(out *one)
{
    one->source->tickets--;
    look_whether_it_stands(one->source);
}

static void forget(void)
{
    out *one = &model.stack[sc_random_below(&generator, (uint64_t)model.depth)];

    ck_assert_int_eq(shapecache_arena_forget(arena, one->ticket), SHAPECACHE_OK);
    model.now++;
    if (is_followed(one))
        lose_ticket(one);
    one->is_forgotten = true;
}

static void drop_some(void)
{
    int depth = (int)sc_random_below(&generator, (uint64_t)model.depth + 1);
    shapecache_arena_moment moment = {.number = depth ? model.stack[depth - 1].ticket.number : 0,
                                      .depth = (uint32_t)depth};

    ck_assert_int_eq(shapecache_arena_rewind(arena, moment, (void *)stream), SHAPECACHE_OK);
    model.now++;
    while (model.depth > depth) {
        out *top = &model.stack[--model.depth];

        if (is_followed(top))
            lose_ticket(top);
    }
}

static void compare(void)
{
    shapecache_arena_info info = stats();
    uint64_t live_peak = memory_now().live_peak, most = most_without();

    ck_assert_int_eq(info.spared_unknown,
                     model.has_stood ? SHAPECACHE_ARENA_SURE : SHAPECACHE_ARENA_NOTHING);
    ck_assert_uint_eq(info.live_without, model.has_stood ? most : 0);
    ck_assert_uint_eq(info.spared, model.has_stood && most > live_peak ? most - live_peak : 0);
}

static void do_something(void)
{
    uint64_t dice = sc_random_below(&generator, 100);
    whole *one = choose();

    if (dice < 30 || !one)
        (void)allocate(choose_bytes());
    else if (dice < 50)
        release(one);
    else if (dice < 75 && model.depth < TICKETS)
        offload(one, dice < 60);
    else if (dice < 86 && model.depth && !model.stack[model.depth - 1].is_forgotten)
        onload();
    else if (dice < 93 && model.depth)
        prefetch();
    else if (dice < 95 && model.depth)
        drop_some();
    else if (dice < 98 && model.depth)
        forget();
    else
        ck_assert_int_eq(shapecache_step(-1), SHAPECACHE_OK);
}

static void play(void)
{
    shapecache_arena_config config;

    model.count = model.depth = model.now = 0;
    model.has_stood = false;
    shapecache_arena_defaults(&config);
    config.capacity = 24 * MIB;
    config.full = SHAPECACHE_ARENA_FULL_KEEP;
    ck_assert_int_eq(shapecache_arena_create(&arena, &config), SHAPECACHE_OK);
    for (int i = 0; i < OPERATIONS && model.count < BLOCKS - 8; i++) {
        do_something();
        compare();
    }
    close_arena();
}

START_TEST(the_peak_without_arenas_is_that_of_a_model_which_knows_how_it_ends)
{
    generator.state += (uint64_t)_i;
    play();
    ck_assert(model.has_stood);
    sc_engine_finish();
    room_close();
}
END_TEST

/* --- one by one --- */

static shapecache_ticket away(sc_address data, uint64_t bytes)
{
    shapecache_ticket ticket;

    ck_assert_int_eq(
        shapecache_arena_offload(arena, pointer(data), bytes, 0, (void *)stream, &ticket),
        SHAPECACHE_OK);
    return ticket;
}

static void back(shapecache_ticket ticket, sc_address data, uint64_t bytes)
{
    ck_assert_int_eq(
        shapecache_arena_onload(arena, ticket, pointer(data), bytes, 0, (void *)stream),
        SHAPECACHE_OK);
}

static void expect(uint64_t spared, uint64_t without)
{
    shapecache_arena_info info = stats();

    ck_assert_int_eq(info.spared_unknown, SHAPECACHE_ARENA_SURE);
    ck_assert_uint_eq(info.live_without, without);
    ck_assert_uint_eq(info.spared, spared);
}

static void expect_doubt(shapecache_arena_doubt doubt)
{
    shapecache_arena_info info = stats();

    ck_assert_int_eq(info.spared_unknown, doubt);
    ck_assert_uint_eq(info.live_without, 0);
    ck_assert_uint_eq(info.spared, 0);
}

static void end(void)
{
    close_arena();
    sc_engine_finish();
    room_close();
}

START_TEST(a_pass_that_frees_what_is_away_is_spared_all_but_what_it_holds)
{
    open_arena(64 * MIB);
    for (int i = 0; i < 5; i++) {
        sc_address block = room_alloc(4 * MIB);

        (void)away(block, 4 * MIB);
        room_free(block);
    }
    expect(16 * MIB, 20 * MIB);
    end();
}
END_TEST

START_TEST(a_block_that_two_tickets_are_out_of_counts_once)
{
    open_arena(64 * MIB);
    sc_address block = room_alloc(8 * MIB);

    (void)away(block, 4 * MIB);
    (void)away(block + 4 * MIB, 4 * MIB);
    room_free(block);
    (void)room_alloc(2 * MIB);
    expect(2 * MIB, 10 * MIB);
    end();
}
END_TEST

START_TEST(a_block_that_is_not_freed_is_not_spared)
{
    open_arena(64 * MIB);
    sc_address block = room_alloc(8 * MIB);
    shapecache_ticket ticket = away(block, 8 * MIB);

    expect_doubt(SHAPECACHE_ARENA_NOTHING);
    back(ticket, block, 8 * MIB);
    room_free(block);
    (void)room_alloc(4 * MIB);
    expect_doubt(SHAPECACHE_ARENA_NOTHING);
    end();
}
END_TEST

START_TEST(a_ticket_that_was_forgotten_holds_no_memory_and_stays_on_the_stack)
{
    open_arena(64 * MIB);
    sc_address block = room_alloc(8 * MIB);
    shapecache_ticket below = away(block, 8 * MIB), above;

    room_free(block);
    (void)room_alloc(2 * MIB);
    above = away(room_alloc(2 * MIB), 2 * MIB);
    ck_assert_int_eq(shapecache_arena_forget(arena, below), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_arena_forget(arena, below),
                     SHAPECACHE_OK); /* again changes nothing */
    ck_assert_uint_eq(stats().depth, 2);
    (void)room_alloc(10 * MIB);
    expect(0, 14 * MIB);
    back(above, room_alloc(2 * MIB), 2 * MIB);
    ck_assert_int_eq(shapecache_arena_forget(arena, above), SHAPECACHE_EORDER);
    end();
}
END_TEST

START_TEST(where_a_tensor_comes_back_to_is_not_counted_beside_it)
{
    open_arena(64 * MIB);
    sc_address block = room_alloc(8 * MIB), other;
    shapecache_ticket ticket = away(block, 8 * MIB);

    room_free(block);
    other = room_alloc(8 * MIB); /* 16 MiB, as far as one knows */
    expect(8 * MIB, 16 * MIB);
    back(ticket, other, 8 * MIB);
    expect(0, 8 * MIB);
    room_free(other);
    (void)room_alloc(4 * MIB);
    expect(0, 8 * MIB);
    end();
}
END_TEST

START_TEST(what_comes_back_and_leaves_again_is_one_tensor_all_the_time)
{
    sc_address at = 0;

    open_arena(64 * MIB);
    sc_address block = room_alloc(8 * MIB);

    for (int i = 0; i < 5; i++) {
        shapecache_ticket ticket = away(i ? at : block, 8 * MIB);

        room_free(i ? at : block);
        at = room_alloc(8 * MIB);
        back(ticket, at, 8 * MIB);
    }
    expect(0, 8 * MIB);
    end();
}
END_TEST

START_TEST(a_block_that_is_used_for_another_tensor_counts_for_the_one_that_is_away)
{
    open_arena(64 * MIB);
    sc_address first = room_alloc(8 * MIB);
    shapecache_ticket below = away(first, 8 * MIB);

    room_free(first);
    sc_address second = room_alloc(8 * MIB);
    shapecache_ticket above = away(second, 8 * MIB);

    back(above, second, 8 * MIB);
    above = away(second, 8 * MIB);
    ck_assert_int_eq(
        shapecache_arena_prefetch(arena, below, pointer(second), 8 * MIB, (void *)stream, NULL),
        SHAPECACHE_OK);
    (void)room_alloc(4 * MIB);
    expect(8 * MIB, 20 * MIB); /* 12 are live: both tensors would be, and the 4 */
    back(above, room_alloc(8 * MIB), 8 * MIB);
    expect(0, 20 * MIB); /* as are now */
    end();
}
END_TEST

START_TEST(memory_that_the_cache_does_not_see_leaves_it_unknown)
{
    sc_address unseen = 0;

    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB);

    (void)away(block, 4 * MIB);
    room_free(block);
    (void)room_alloc(4 * MIB);
    expect(4 * MIB, 8 * MIB);
    ck_assert_int_eq(fake_driver.mem_alloc(&unseen, 4 * MIB), SC_CUDA_SUCCESS);
    (void)away(unseen, 4 * MIB);
    expect_doubt(SHAPECACHE_ARENA_UNSEEN);
    end();
}
END_TEST

START_TEST(a_block_that_was_there_for_long_leaves_it_unknown)
{
    open_arena(64 * MIB);
    sc_address staging = room_alloc(4 * MIB), block = room_alloc(4 * MIB);
    shapecache_ticket ticket = away(block, 4 * MIB);

    room_free(block);
    for (int i = 0; i < 80; i++)
        (void)room_alloc(1 * KIB);
    back(ticket, staging, 4 * MIB);
    expect_doubt(SHAPECACHE_ARENA_OLD);
    end();
}
END_TEST

START_TEST(a_block_that_several_tensors_come_back_to_leaves_it_unknown)
{
    shapecache_ticket ticket[2];

    open_arena(64 * MIB);
    for (int i = 0; i < 2; i++) {
        sc_address block = room_alloc(4 * MIB);

        ticket[i] = away(block, 4 * MIB);
        room_free(block);
    }
    sc_address one = room_alloc(8 * MIB);

    back(ticket[1], one, 4 * MIB);
    back(ticket[0], one + 4 * MIB, 4 * MIB);
    expect_doubt(SHAPECACHE_ARENA_SHARED);
    end();
}
END_TEST

START_TEST(another_place_of_the_same_block_leaves_it_unknown)
{
    open_arena(64 * MIB);
    sc_address segment = room_alloc(32 * MIB);
    shapecache_ticket ticket = away(segment + 2 * MIB, 4 * MIB);

    back(ticket, segment + 8 * MIB, 4 * MIB);
    expect_doubt(SHAPECACHE_ARENA_WITHIN);
    end();
}
END_TEST

START_TEST(what_dies_with_its_context_stands_no_more)
{
    open_arena(64 * MIB);
    sc_address block = room_alloc(8 * MIB);
    sc_context context = fake_get_current();

    (void)away(block, 8 * MIB);
    room_free(block);
    sc_engine_context_ends(context);
    fake_end_context(context);
    fake_revive_context(context, 0);
    fake_set_current(context);
    (void)room_alloc(4 * MIB);
    expect(0, 8 * MIB);
    ck_assert_int_eq(shapecache_arena_destroy(arena), SHAPECACHE_OK);
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(the_log_and_the_last_line_tell_it)
{
    open_arena(64 * MIB);
    sc_address block = room_alloc(8 * MIB);

    (void)away(block, 8 * MIB);
    room_free(block);
    (void)room_alloc(4 * MIB);
    close_arena();
    sc_engine_finish();
    lines log = room_log();

    lines_expect(lines_of(&log, "end", 0), "spared", "4194304");
    lines_expect(lines_of(&log, "end", 0), "live_without", "12582912");
    lines_expect(lines_of(&log, "arena", 1), "spared", "4194304");
    lines_release(&log);
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said, "; spared the device 4.00 MiB: at most 8.00 MiB were live, "
                                       "12.0 MiB without"));
    free(said);
    room_close();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_pass_that_frees_what_is_away_is_spared_all_but_what_it_holds,
        a_block_that_two_tickets_are_out_of_counts_once,
        a_block_that_is_not_freed_is_not_spared,
        a_ticket_that_was_forgotten_holds_no_memory_and_stays_on_the_stack,
        where_a_tensor_comes_back_to_is_not_counted_beside_it,
        what_comes_back_and_leaves_again_is_one_tensor_all_the_time,
        a_block_that_is_used_for_another_tensor_counts_for_the_one_that_is_away,
        memory_that_the_cache_does_not_see_leaves_it_unknown,
        a_block_that_was_there_for_long_leaves_it_unknown,
        a_block_that_several_tensors_come_back_to_leaves_it_unknown,
        another_place_of_the_same_block_leaves_it_unknown,
        what_dies_with_its_context_stands_no_more,
        the_log_and_the_last_line_tell_it,
    };
    Suite *suite = suite_create("spared");
    TCase *scenes = tcase_create("scenes");

    sc_suite_add(suite, "one by one", arena_room_enter, NULL, tests, sizeof tests / sizeof *tests);
    tcase_set_timeout(scenes, 0);
    tcase_add_checked_fixture(scenes, arena_room_enter, NULL);
    tcase_add_loop_test(scenes, the_peak_without_arenas_is_that_of_a_model_which_knows_how_it_ends,
                        0, SCENES);
    suite_add_tcase(suite, scenes);
    return sc_suite_run(suite);
}
