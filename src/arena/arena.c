/* SPDX-License-Identifier: MIT */
#include "arena/arena.h"
#include "arena/say.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

static const uint64_t BYTES_MOST = UINT64_C(1) << 48; /* no device or host has more */
enum { FIRST_ROOM = 16 };

const char *sc_arena_look(const shapecache_arena_config *config)
{
    const unsigned flags = SHAPECACHE_ARENA_BACKGROUND | SHAPECACHE_ARENA_QUIET;

    if (config->size != sizeof *config)
        return "the config is of another version: begin with shapecache_arena_defaults()";
    if (!config->name || !*config->name)
        return "an arena needs a name";
    if (config->capacity > BYTES_MOST)
        return "a capacity above 256 TiB";
    if ((unsigned)config->full > SHAPECACHE_ARENA_FULL_PAGEABLE)
        return "full is neither fail, keep nor pageable";
    if (config->flags & ~flags)
        return "an unknown flag";
    if (config->chunk < 4096)
        return "chunks of less than 4096 bytes";
    return config->capacity / config->chunk > 1 << 20 ? "more than a million chunks" : NULL;
}

static shapecache_status get_memory(sc_arena *arena, const sc_driver *driver, sc_context context)
{
    uint64_t chunk = arena->is_background ? arena->config.chunk : 0;
    sc_pinned *pinned = &arena->pinned;

    if (!arena->config.capacity)
        return SHAPECACHE_OK;
    if (!sc_pinned_map(pinned, driver, context, arena->config.capacity, chunk, arena->node))
        return sc_arena_say_memory(arena);
    if (arena->is_background) {
        (void)sc_pinned_start(pinned); /* without a helper, chunks are locked when used */
        return SHAPECACHE_OK;
    }
    if (sc_pinned_lock_all(pinned))
        return SHAPECACHE_OK;
    int result = atomic_load(&pinned->result);

    sc_pinned_unmap(pinned, true);
    return sc_arena_say_pinned(arena, arena->config.capacity, result);
}

shapecache_status sc_arena_init(sc_arena *arena, const shapecache_arena_config *config,
                                const char *setting, const sc_driver *driver,
                                const sc_copy_driver *copies, sc_context context, int64_t node)
{
    size_t length = sc_text_fitting(config->name, strlen(config->name), SC_ARENA_NAME_BYTES - 1);
    shapecache_status status;

    *arena = (sc_arena){.config = *config, .setting = setting, .node = node};
    memcpy(arena->name, config->name, length);
    arena->config.name = arena->name;
    arena->is_background = config->flags & SHAPECACHE_ARENA_BACKGROUND;
    sc_stack_init(&arena->stack, config->capacity);
    int result = sc_copies_init(&arena->copies, copies);

    if (result != SC_CUDA_SUCCESS)
        return sc_arena_say_driver(arena, result);
    status = get_memory(arena, driver, context);
    if (status)
        sc_copies_release(&arena->copies);
    return status;
}

/* The entry's tensor is away no more; `target` is 0 where it does not come back. */
static void end_absence(const sc_arena *arena, sc_entry *entry, sc_address target)
{
    void *home = entry->home;

    entry->home = NULL;
    if (home)
        arena->watcher.ended(arena->watcher.self, home, entry->source, target);
}

static void free_pageable(sc_arena *arena, const sc_entry *entry)
{
    if (entry->place == SC_PLACE_PAGEABLE)
        arena->pageable -= entry->bytes;
}

void sc_arena_release(sc_arena *arena)
{
    bool is_idle = sc_copies_finish(&arena->copies);

    for (uint32_t i = 0; i < arena->stack.count; i++) {
        sc_entry *entry = &arena->stack.entries[i];

        end_absence(arena, entry, 0);
        sc_copies_spare(&arena->copies, entry->out);
        sc_copies_spare(&arena->copies, entry->in);
        if (is_idle)
            free(entry->pageable);
    }
    sc_copies_release(&arena->copies);
    sc_pinned_unmap(&arena->pinned, is_idle);
    sc_stack_release(&arena->stack);
    free(arena->ignored);
    arena->ignored = NULL;
}

void sc_arena_abandon(sc_arena *arena)
{
    for (uint32_t i = 0; i < arena->stack.count; i++) {
        end_absence(arena, &arena->stack.entries[i], 0);
        free(arena->stack.entries[i].pageable);
    }
    sc_copies_abandon(&arena->copies);
    sc_pinned_abandon(&arena->pinned);
    sc_stack_release(&arena->stack);
    free(arena->ignored);
    arena->ignored = NULL;
}

static bool is_ignored(const sc_arena *arena, sc_address source)
{
    for (uint32_t i = 0; arena->ignored && i < arena->ignored_count; i++)
        if (arena->ignored[i] == source)
            return true;
    return false;
}

/* Why a tensor stays where it is, if it does. */
typedef enum reason { GOES, IS_IGNORED, IS_SMALL, IS_LAST, IS_FULL, IS_DRY } reason;

/* Where a tensor is to go. */
typedef struct plan {
    sc_place place;
    reason kept;
    bool is_demand;
} plan;

static bool is_among_last(const sc_arena *arena)
{
    const sc_stack *stack = &arena->stack;

    return arena->config.keep_last && stack->last_peak > stack->count &&
           stack->last_peak - stack->count <= arena->config.keep_last;
}

static shapecache_status make_plan(sc_arena *arena, sc_address source, uint64_t bytes, plan *out)
{
    *out = (plan){.place = SC_PLACE_DEVICE};
    if (is_ignored(arena, source))
        out->kept = IS_IGNORED;
    else if (bytes < arena->config.bytes_least)
        out->kept = IS_SMALL;
    else if (is_among_last(arena))
        out->kept = IS_LAST;
    if (out->kept)
        return SHAPECACHE_OK;
    out->is_demand = true;
    if (!arena->config.capacity) {
        out->kept = IS_DRY;
    } else if (sc_stack_fits(&arena->stack, bytes)) {
        out->place = SC_PLACE_PINNED;
    } else if (arena->config.full == SHAPECACHE_ARENA_FULL_KEEP) {
        out->kept = IS_FULL;
    } else if (arena->config.full == SHAPECACHE_ARENA_FULL_PAGEABLE) {
        out->place = SC_PLACE_PAGEABLE;
    } else {
        sc_stack_note_demand(&arena->stack, bytes);
        return sc_arena_say_full(arena, bytes);
    }
    return SHAPECACHE_OK;
}

static sc_host host_of(const sc_arena *arena, const sc_entry *entry)
{
    return (sc_host){
        .pinned = entry->place == SC_PLACE_PINNED ? &arena->pinned : NULL,
        .offset = entry->place == SC_PLACE_PINNED ? entry->offset : 0,
        .pageable = entry->pageable,
    };
}

/* The copy out of the entry just pushed. */
static shapecache_status copy_out(sc_arena *arena, sc_entry *entry, sc_stream stream,
                                  sc_gpu_event given)
{
    if (entry->place == SC_PLACE_PAGEABLE) {
        entry->pageable = malloc(entry->bytes);
        if (!entry->pageable)
            return sc_arena_say_memory(arena);
    } else if (arena->is_background) {
        sc_pinned_use(&arena->pinned, entry->offset, entry->bytes);
    }
    int result = sc_copies_out(&arena->copies, host_of(arena, entry), entry->room, entry->source,
                               entry->bytes, stream, given, &entry->out);

    if (result == SC_CUDA_SUCCESS)
        return SHAPECACHE_OK;
    free(entry->pageable);
    return sc_arena_say_driver(arena, result);
}

static void count_kept(shapecache_arena_info *counters, reason why)
{
    counters->kept_ignored += why == IS_IGNORED;
    counters->kept_small += why == IS_SMALL;
    counters->kept_last += why == IS_LAST;
    counters->kept_full += why == IS_FULL;
    counters->kept_dry += why == IS_DRY;
}

static void count_offload(sc_arena *arena, const sc_entry *entry, const plan *one)
{
    arena->counters.offloads++;
    if (one->kept) {
        count_kept(&arena->counters, one->kept);
        arena->counters.kept_bytes += entry->bytes;
        return;
    }
    arena->counters.bytes_out += entry->bytes;
    if (entry->place == SC_PLACE_PAGEABLE) {
        arena->counters.went_pageable++;
        arena->pageable += entry->bytes;
    }
}

static shapecache_ticket ticket_of(const sc_entry *entry, uint32_t index)
{
    static const shapecache_arena_place places[] = {
        [SC_PLACE_PINNED] = SHAPECACHE_ARENA_PINNED,
        [SC_PLACE_DEVICE] = SHAPECACHE_ARENA_DEVICE,
        [SC_PLACE_PAGEABLE] = SHAPECACHE_ARENA_PAGEABLE,
    };

    return (shapecache_ticket){
        .number = entry->number, .index = index, .place = places[entry->place]};
}

shapecache_status sc_arena_offload(sc_arena *arena, sc_address source, uint64_t bytes, uint64_t tag,
                                   sc_stream stream, sc_gpu_event given, shapecache_ticket *ticket)
{
    sc_stack *stack = &arena->stack;
    shapecache_status status;
    plan one;

    if (!source || !bytes || bytes > BYTES_MOST)
        return sc_arena_say_value(arena, "offload of no memory, or of a size that nothing has");
    sc_copies_lay(&arena->copies);
    status = make_plan(arena, source, bytes, &one);
    if (status)
        return status;
    if (!sc_stack_reserve(stack))
        return sc_arena_say_memory(arena);
    sc_entry *entry = sc_stack_push(stack, one.place, bytes, one.is_demand);

    entry->source = source;
    entry->tag = tag;
    status = one.kept ? SHAPECACHE_OK : copy_out(arena, entry, stream, given);
    if (status) {
        sc_stack_undo(stack);
        return status;
    }
    count_offload(arena, entry, &one);
    if (!one.kept && arena->watcher.left)
        entry->home = arena->watcher.left(arena->watcher.self, source);
    *ticket = ticket_of(entry, stack->count - 1);
    return SHAPECACHE_OK;
}

/* The last one gone, what is to be ignored is forgotten: addresses are used again. */
static void pop(sc_arena *arena)
{
    free_pageable(arena, sc_stack_top(&arena->stack));
    sc_stack_pop(&arena->stack);
    if (!arena->stack.count)
        arena->ignored_count = 0;
}

static shapecache_status begin_in(sc_arena *arena, sc_entry *entry, sc_address target,
                                  sc_stream stream)
{
    int result = sc_copies_in(&arena->copies, host_of(arena, entry), target, entry->bytes,
                              entry->out, stream, &entry->in);

    if (result != SC_CUDA_SUCCESS)
        return sc_arena_say_driver(arena, result);
    entry->target = target;
    arena->counters.bytes_in += entry->bytes;
    return SHAPECACHE_OK;
}

/* A copy back that nobody will ever ask for: its call failed after it. */
static void take_back(sc_arena *arena, sc_entry *entry)
{
    const char *refused = arena->copies.refused;

    (void)sc_copies_finish(&arena->copies);
    sc_copies_spare(&arena->copies, entry->in);
    entry->in = 0;
    entry->target = 0;
    arena->counters.bytes_in -= entry->bytes;
    arena->copies.refused = refused;
}

static shapecache_status bring_back(sc_arena *arena, sc_entry *entry, sc_address target,
                                    sc_stream stream)
{
    bool was_prefetched = entry->target != 0;
    shapecache_status status;

    if (!sc_copies_reserve(&arena->copies, 1))
        return sc_arena_say_memory(arena);
    status = was_prefetched ? SHAPECACHE_OK : begin_in(arena, entry, target, stream);
    if (status)
        return status;
    int result = sc_copies_join(&arena->copies, stream, entry->in);

    if (result != SC_CUDA_SUCCESS) {
        if (!was_prefetched)
            take_back(arena, entry);
        return sc_arena_say_driver(arena, result);
    }
    if (was_prefetched)
        arena->in_flight -= entry->bytes;
    sc_copies_haunt(&arena->copies, (sc_ghost){.offset = entry->offset,
                                               .room = entry->room,
                                               .event = entry->in,
                                               .pageable = entry->pageable});
    sc_copies_spare(&arena->copies, entry->out);
    end_absence(arena, entry, target);
    return SHAPECACHE_OK;
}

static shapecache_status bring_within(sc_arena *arena, const sc_entry *entry, sc_address target,
                                      sc_stream stream)
{
    if (!target || target == entry->source)
        return SHAPECACHE_OK;
    int result = sc_copies_within(&arena->copies, target, entry->source, entry->bytes, stream);

    return result == SC_CUDA_SUCCESS ? SHAPECACHE_OK : sc_arena_say_driver(arena, result);
}

static shapecache_status look_at_target(sc_arena *arena, const sc_entry *entry, sc_address target,
                                        uint64_t bytes)
{
    if (bytes != entry->bytes)
        return sc_arena_say_mismatch(arena, entry, "a size in bytes of", entry->bytes, bytes);
    if (!target && entry->place != SC_PLACE_DEVICE)
        return sc_arena_say_value(arena, "onload or prefetch to no address");
    if (entry->target && entry->target != target)
        return sc_arena_say_mismatch(arena, entry, "been prefetched to address", entry->target,
                                     target);
    return SHAPECACHE_OK;
}

shapecache_status sc_arena_onload(sc_arena *arena, shapecache_ticket ticket, sc_address target,
                                  uint64_t bytes, uint64_t tag, sc_stream stream)
{
    sc_entry *top = sc_stack_top(&arena->stack);
    shapecache_status status;

    if (!top || sc_stack_find(&arena->stack, ticket.index, ticket.number) != top)
        return sc_arena_say_order(arena, "onload", ticket);
    status = look_at_target(arena, top, target, bytes);
    if (status)
        return status;
    if (tag != top->tag)
        return sc_arena_say_mismatch(arena, top, "tag", top->tag, tag);
    sc_copies_lay(&arena->copies);
    status = top->place == SC_PLACE_DEVICE ? bring_within(arena, top, target, stream)
                                           : bring_back(arena, top, target, stream);
    if (status)
        return status;
    arena->counters.onloads++;
    pop(arena);
    return SHAPECACHE_OK;
}

shapecache_status sc_arena_prefetch(sc_arena *arena, shapecache_ticket ticket, sc_address target,
                                    uint64_t bytes, sc_stream stream, unsigned *started)
{
    sc_entry *entry = sc_stack_find(&arena->stack, ticket.index, ticket.number);
    shapecache_status status;

    *started = 0;
    if (!entry)
        return sc_arena_say_order(arena, "prefetch", ticket);
    status = look_at_target(arena, entry, target, bytes);
    if (status || entry->place == SC_PLACE_DEVICE || entry->target)
        return status;
    if (bytes > arena->config.prefetch_most ||
        arena->in_flight > arena->config.prefetch_most - bytes) {
        arena->counters.prefetch_refused++;
        return SHAPECACHE_OK;
    }
    status = begin_in(arena, entry, target, stream);
    if (status)
        return status;
    arena->in_flight += bytes;
    arena->counters.prefetched++;
    end_absence(arena, entry, target);
    *started = 1;
    return SHAPECACHE_OK;
}

shapecache_status sc_arena_peek(sc_arena *arena, uint32_t depth, shapecache_ticket *ticket)
{
    if (depth >= arena->stack.count)
        return sc_arena_say_depth(arena, depth);
    uint32_t index = arena->stack.count - 1 - depth;

    *ticket = ticket_of(&arena->stack.entries[index], index);
    return SHAPECACHE_OK;
}

shapecache_status sc_arena_fence(sc_arena *arena, shapecache_ticket ticket, sc_stream stream)
{
    const sc_entry *entry = sc_stack_find(&arena->stack, ticket.index, ticket.number);

    if (!entry)
        return sc_arena_say_order(arena, "fence", ticket);
    if (!entry->out)
        return SHAPECACHE_OK;
    int result = sc_copies_join(&arena->copies, stream, entry->out);

    return result == SC_CUDA_SUCCESS ? SHAPECACHE_OK : sc_arena_say_driver(arena, result);
}

void sc_arena_mark(const sc_arena *arena, shapecache_arena_moment *moment)
{
    uint32_t depth = arena->stack.count;

    *moment = (shapecache_arena_moment){
        .number = depth ? arena->stack.entries[depth - 1].number : 0, .depth = depth};
}

/* A copy may still use its memory. Of the arena's that does not matter: nobody looks at what a copy
 * back still brings, and the next copy out comes after this one's. */
static void drop(sc_arena *arena)
{
    sc_entry *top = sc_stack_top(&arena->stack);

    end_absence(arena, top, 0);
    if (top->in)
        arena->in_flight -= top->bytes;
    if (top->pageable) {
        sc_copies_haunt(&arena->copies, (sc_ghost){.event = top->in ? top->in : top->out,
                                                   .pageable = top->pageable});
        sc_copies_spare(&arena->copies, top->in ? top->out : 0);
    } else {
        sc_copies_spare(&arena->copies, top->in);
        sc_copies_spare(&arena->copies, top->out);
    }
    arena->counters.rewound++;
    pop(arena);
}

shapecache_status sc_arena_rewind(sc_arena *arena, shapecache_arena_moment moment, sc_stream stream)
{
    sc_stack *stack = &arena->stack;
    int result = SC_CUDA_SUCCESS;

    if (!sc_stack_stands_on(stack, moment.depth, moment.number))
        return sc_arena_say_moment(arena, moment);
    sc_copies_lay(&arena->copies);
    if (!sc_copies_reserve(&arena->copies, stack->count - moment.depth))
        return sc_arena_say_memory(arena);
    for (uint32_t i = moment.depth; i < stack->count && result == SC_CUDA_SUCCESS; i++)
        if (stack->entries[i].in)
            result = sc_copies_join(&arena->copies, stream, stack->entries[i].in);
    if (result != SC_CUDA_SUCCESS)
        return sc_arena_say_driver(arena, result);
    while (stack->count > moment.depth)
        drop(arena);
    return SHAPECACHE_OK;
}

shapecache_status sc_arena_ignore(sc_arena *arena, sc_address source)
{
    uint32_t room = arena->ignored_room ? arena->ignored_room * 2 : FIRST_ROOM;

    if (!source)
        return sc_arena_say_value(arena, "ignore of no address");
    if (is_ignored(arena, source))
        return SHAPECACHE_OK;
    if (arena->ignored_count == arena->ignored_room) {
        sc_address *ignored = realloc(arena->ignored, room * sizeof *ignored);

        if (!ignored)
            return sc_arena_say_memory(arena);
        arena->ignored = ignored;
        arena->ignored_room = room;
    }
    arena->ignored[arena->ignored_count++] = source;
    return SHAPECACHE_OK;
}

void sc_arena_heed(sc_arena *arena, sc_address source)
{
    for (uint32_t i = 0; i < arena->ignored_count; i++)
        if (arena->ignored[i] == source)
            arena->ignored[i--] = arena->ignored[--arena->ignored_count];
}

shapecache_status sc_arena_forget(sc_arena *arena, shapecache_ticket ticket)
{
    sc_entry *entry = sc_stack_find(&arena->stack, ticket.index, ticket.number);

    if (!entry)
        return sc_arena_say_order(arena, "forget", ticket);
    end_absence(arena, entry, 0);
    return SHAPECACHE_OK;
}
