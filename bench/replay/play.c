/* SPDX-License-Identifier: MIT */
#include "play.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "die.h"
#include "progress.h"

enum { EVENTS_BETWEEN_LOOKS = 4096 };

static const size_t token_bytes = sizeof(uint64_t);

struct held {
    void *pointer; /* NULL: not live */
    uint64_t token;
};

/* A block that the loop left behind. */
struct kept {
    struct held held;
    uint64_t bytes;
};

struct player {
    const struct trace *trace;
    const struct play_rules *rules;
    struct held *blocks;
    void **before;     /* the address that each block had the last time; NULL: none */
    struct held *turn; /* room for the loop's pairs */
    struct kept *kept;
    size_t kept_count, kept_room;
    uint64_t live; /* bytes */
    struct progress progress;
    uint64_t done; /* passes or steps, as progress counts */
    struct play_totals totals;
};

static void check(const struct player *player, cudaError_t error, const char *call, uint64_t bytes)
{
    if (error != cudaSuccess)
        die(EXIT_RUN, "%s of %llu bytes, after %llu requests and with %llu bytes live: %s", call,
            (unsigned long long)bytes, (unsigned long long)player->totals.requests.count,
            (unsigned long long)player->live, cudaGetErrorString(error));
}

/* A token is written at both ends of a block with room for two: whoever else is handed the same
 * memory while the block lives overwrites one of them. */
static void write_token(const struct player *player, struct held held, uint64_t bytes)
{
    if (bytes < 2 * token_bytes)
        return;
    check(player, cudaMemcpy(held.pointer, &held.token, token_bytes, cudaMemcpyHostToDevice),
          "cudaMemcpy to a block", bytes);
    check(player,
          cudaMemcpy((char *)held.pointer + bytes - token_bytes, &held.token, token_bytes,
                     cudaMemcpyHostToDevice),
          "cudaMemcpy to a block", bytes);
}

static void check_token(const struct player *player, struct held held, uint64_t bytes)
{
    uint64_t first, last;

    if (bytes < 2 * token_bytes)
        return;
    check(player, cudaMemcpy(&first, held.pointer, token_bytes, cudaMemcpyDeviceToHost),
          "cudaMemcpy from a block", bytes);
    check(player,
          cudaMemcpy(&last, (char *)held.pointer + bytes - token_bytes, token_bytes,
                     cudaMemcpyDeviceToHost),
          "cudaMemcpy from a block", bytes);
    if (first != held.token || last != held.token)
        die(EXIT_RUN,
            "a block of %llu bytes at %p, request %llu, was overwritten while it was live: tokens "
            "%llu and %llu",
            (unsigned long long)bytes, held.pointer, (unsigned long long)held.token,
            (unsigned long long)first, (unsigned long long)last);
}

static double start_time(const struct player *player)
{
    return player->rules->times ? progress_seconds() : 0.0;
}

static void count_call(const struct player *player, struct play_calls *calls, double started)
{
    double seconds = start_time(player) - started;

    calls->count++;
    calls->seconds += seconds;
    if (seconds > calls->worst)
        calls->worst = seconds;
}

static void compare_address(struct player *player, uint32_t block)
{
    void *pointer = player->blocks[block].pointer;

    if (player->before[block] != NULL) {
        player->totals.repeats++;
        player->totals.same += player->before[block] == pointer;
    }
    player->before[block] = pointer;
}

static void allocate(struct player *player, uint32_t block)
{
    uint64_t bytes = player->trace->bytes[block];
    struct held *held = &player->blocks[block];
    double started = start_time(player);

    check(player, cudaMalloc(&held->pointer, bytes), "cudaMalloc", bytes);
    count_call(player, &player->totals.requests, started);
    compare_address(player, block);
    held->token = player->totals.requests.count;
    player->live += bytes;
    if (player->live > player->totals.peak)
        player->totals.peak = player->live;
    if (player->rules->verifies)
        write_token(player, *held, bytes);
}

static void release(struct player *player, struct held *held, uint64_t bytes)
{
    double started;

    if (player->rules->verifies)
        check_token(player, *held, bytes);
    started = start_time(player);
    check(player, cudaFree(held->pointer), "cudaFree", bytes);
    count_call(player, &player->totals.frees, started);
    player->live -= bytes;
    held->pointer = NULL;
}

static void tell(struct player *player)
{
    progress_tell(&player->progress, player->done, player->totals.requests.count, player->live);
}

static void play_events(struct player *player, size_t from, size_t to)
{
    const struct trace *trace = player->trace;

    for (size_t i = from; i < to; i++) {
        uint32_t block = trace_block(trace->events[i]);

        if (trace_is_free(trace->events[i]))
            release(player, &player->blocks[block], trace->bytes[block]);
        else
            allocate(player, block);
        if ((i - from) % EVENTS_BETWEEN_LOOKS == EVENTS_BETWEEN_LOOKS - 1)
            tell(player);
    }
}

static void play_step(struct player *player, size_t step)
{
    FILE *out = player->rules->steps_to;

    if (player->rules->at_step != NULL)
        player->rules->at_step();
    play_events(player, trace_step_begin(player->trace, step),
                trace_step_begin(player->trace, step + 1));
    if (out != NULL)
        fprintf(out, "%llu,%llu,%llu,%llu\n", (unsigned long long)player->totals.steps,
                (unsigned long long)player->totals.requests.count,
                (unsigned long long)player->totals.repeats,
                (unsigned long long)player->totals.same);
    player->totals.steps++;
}

static void release_all(struct player *player)
{
    for (uint32_t block = 0; block < player->trace->block_count; block++)
        if (player->blocks[block].pointer != NULL)
            release(player, &player->blocks[block], player->trace->bytes[block]);
    for (size_t i = 0; i < player->kept_count; i++)
        release(player, &player->kept[i].held, player->kept[i].bytes);
    player->kept_count = 0;
}

static void keep(struct player *player, uint32_t block)
{
    if (player->kept_count == player->kept_room) {
        player->kept_room = player->kept_room > 0 ? 2 * player->kept_room : 1024;
        player->kept = reallocarray(player->kept, player->kept_room, sizeof player->kept[0]);
        if (player->kept == NULL)
            die(EXIT_RUN, "no memory for more than %zu blocks that the loop leaves",
                player->kept_count);
    }
    player->kept[player->kept_count++] =
        (struct kept){player->blocks[block], player->trace->bytes[block]};
}

/* From the end of the loop back to its begin: each block becomes the one it succeeds. */
static void turn_round(struct player *player, const struct loop *loop)
{
    for (size_t i = 0; i < loop->left_count; i++)
        keep(player, loop->left[i]);
    for (size_t i = 0; i < loop->pair_count; i++)
        player->turn[i] = player->blocks[loop->pairs[i].successor];
    memset(player->blocks, 0, player->trace->block_count * sizeof player->blocks[0]);
    for (size_t i = 0; i < loop->pair_count; i++)
        player->blocks[loop->pairs[i].block] = player->turn[i];
}

static void play_loop(struct player *player)
{
    const struct loop *loop = player->rules->loop;
    size_t step = 0;

    play_events(player, 0, trace_step_begin(player->trace, 0));
    while (player->totals.steps < player->rules->loop_to) {
        if (loop != NULL && step == loop->end) {
            turn_round(player, loop);
            step = loop->begin;
        }
        play_step(player, step++);
        player->done++;
        tell(player);
    }
    release_all(player);
}

static void play_passes(struct player *player)
{
    for (uint64_t pass = 0; pass < player->rules->passes; pass++) {
        play_events(player, 0, trace_step_begin(player->trace, 0));
        for (size_t step = 0; step < player->trace->mark_count; step++)
            play_step(player, step);
        release_all(player);
        player->done++;
        tell(player);
    }
}

struct play_totals play(const struct trace *trace, const struct play_rules *rules)
{
    struct player player = {.trace = trace, .rules = rules};
    size_t pairs = rules->loop != NULL ? rules->loop->pair_count : 0;
    double started;

    player.blocks = calloc(trace->block_count, sizeof player.blocks[0]);
    player.before = calloc(trace->block_count, sizeof player.before[0]);
    player.turn = calloc(pairs + 1, sizeof player.turn[0]);
    if (player.blocks == NULL || player.before == NULL || player.turn == NULL)
        die(EXIT_RUN, "no memory for %u blocks", trace->block_count);
    check(&player, cudaFree(NULL), "the first call", 0); /* creates the context */
    player.progress = progress_start(rules->loop_to > 0 ? rules->loop_to : rules->passes,
                                     rules->loop_to > 0 ? "steps" : "passes", rules->progress);
    started = progress_seconds();
    if (rules->loop_to > 0)
        play_loop(&player);
    else
        play_passes(&player);
    player.totals.seconds = progress_seconds() - started;
    progress_end(&player.progress);
    free(player.blocks);
    free(player.before);
    free(player.turn);
    free(player.kept);
    return player.totals;
}
