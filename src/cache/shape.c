/* SPDX-License-Identifier: MIT */
#include "cache/shape.h"
#include "cache/check.h"
#include "cache/mapped.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 4 };

void sc_shapes_init(sc_shapes *shapes, uint64_t max_known, uint64_t max_age, uint64_t small)
{
    *shapes = (sc_shapes){
        .max_known = max_known,
        .max_age = max_age,
        .small = small,
        .shape_pool = {.record_bytes = sizeof(sc_shape)},
        .buffer_pool = {.record_bytes = sizeof(sc_buffer)},
    };
}

void sc_shapes_release(sc_shapes *shapes)
{
    for (sc_shape *shape = shapes->newest; shape; shape = shape->older) {
        free(shape->slots);
        free(shape->hint);
    }
    sc_map_release(&shapes->by_hash);
    sc_pool_release(&shapes->shape_pool);
    sc_pool_release(&shapes->buffer_pool);
}

/* Shapes of the same hash hang in a chain: a hash is never taken for the shape itself. */
static uint64_t hash(sc_context context, uint64_t bytes, uint32_t site)
{
    uint64_t value =
        sc_hash((uint64_t)context ^ bytes << 40 ^ bytes ^ site * UINT64_C(0x9e3779b97f4a7c15));

    return value ? value : 1;
}

static uint64_t hash_of(const sc_shapes *shapes, const sc_shape *shape)
{
    return hash(shape->context, shape->bytes, shape->site & shapes->site_mask);
}

sc_shape *sc_shapes_find(const sc_shapes *shapes, sc_context context, uint64_t bytes, uint32_t site)
{
    uint32_t mask = shapes->site_mask;
    sc_shape *shape = sc_map_find(&shapes->by_hash, hash(context, bytes, site & mask));

    while (shape &&
           (shape->bytes != bytes || shape->context != context || ((shape->site ^ site) & mask)))
        shape = shape->same_hash;
    return shape;
}

/* One more, or with -1 one less, of those used of late. */
static void count_recent(sc_shapes *shapes, sc_shape *shape, int change)
{
    if (shape->is_small)
        return;
    shapes->recent += (uint64_t)change;
    shape->scope->recent += (uint64_t)change;
}

static void link_newest(sc_shapes *shapes, sc_shape *shape)
{
    shape->newer = NULL;
    shape->older = shapes->newest;
    *(shapes->newest ? &shapes->newest->newer : &shapes->oldest) = shape;
    shapes->newest = shape;
    if (!shapes->oldest_recent)
        shapes->oldest_recent = shape;
    shape->is_recent = true;
    count_recent(shapes, shape, 1);
}

static void unlink_shape(sc_shapes *shapes, sc_shape *shape)
{
    *(shape->newer ? &shape->newer->older : &shapes->newest) = shape->older;
    *(shape->older ? &shape->older->newer : &shapes->oldest) = shape->newer;
    if (shapes->oldest_recent == shape)
        shapes->oldest_recent = shape->newer;
    if (shape->is_recent)
        count_recent(shapes, shape, -1);
}

sc_shape *sc_shapes_add(sc_shapes *shapes, sc_scope *scope, sc_context context, uint64_t bytes,
                        uint32_t site, uint64_t step)
{
    uint64_t key = hash(context, bytes, site & shapes->site_mask);
    sc_shape *shape = sc_pool_take(&shapes->shape_pool);

    if (!shape)
        return NULL;
    *shape = (sc_shape){
        .scope = scope,
        .context = context,
        .bytes = bytes,
        .mapped = sc_mapped_size(bytes),
        .is_packed = sc_mapped_is_packed(bytes),
        .is_small = bytes < shapes->small,
        .same_hash = sc_map_find(&shapes->by_hash, key),
        .id = shapes->next_id,
        .site = site,
        .first_step = step,
        .last_step = step,
    };
    if (!sc_map_put(&shapes->by_hash, key, shape)) {
        sc_pool_give(&shapes->shape_pool, shape);
        return NULL;
    }
    shapes->next_id++;
    shapes->known++;
    shapes->vacant++;
    link_newest(shapes, shape);
    return shape;
}

sc_shape *sc_shapes_surplus(const sc_shapes *shapes, const sc_shape *keep)
{
    sc_shape *shape = NULL;

    if (shapes->known > shapes->max_known && shapes->vacant > 0) {
        shape = shapes->oldest;
        while (shape && (shape == keep || shape->of[SC_STATE_EMPTY] != shape->count))
            shape = shape->newer;
    }
    return shape;
}

static void unhash(sc_shapes *shapes, sc_shape *shape)
{
    uint64_t key = hash_of(shapes, shape);
    sc_shape *first = sc_map_find(&shapes->by_hash, key);

    if (first != shape) {
        while (first->same_hash != shape)
            first = first->same_hash;
        first->same_hash = shape->same_hash;
    } else if (shape->same_hash) {
        (void)sc_map_put(&shapes->by_hash, key, shape->same_hash); /* replaces: cannot fail */
    } else {
        (void)sc_map_remove(&shapes->by_hash, key);
    }
}

static void remove_shape(sc_shapes *shapes, sc_shape *shape)
{
    unhash(shapes, shape);
    unlink_shape(shapes, shape);
    for (uint32_t i = 0; i < shape->count; i++)
        sc_pool_give(&shapes->buffer_pool, shape->slots[i]);
    shapes->slots -= shape->count;
    free(shape->slots);
    free(shape->hint);
    sc_pool_give(&shapes->shape_pool, shape);
    shapes->known--;
    shapes->vacant--;
}

void sc_shapes_forget(sc_shapes *shapes, sc_shape *shape)
{
    remove_shape(shapes, shape);
    shapes->forgotten++;
}

void sc_shapes_dismiss(sc_shapes *shapes, sc_shape *shape)
{
    if (shape->id + 1 == shapes->next_id) /* else the numbers have a gap */
        shapes->next_id--;
    remove_shape(shapes, shape);
}

bool sc_shape_hint(sc_shape *shape, const sc_hint *hint)
{
    if (shape->hint && sc_hint_is_same(shape->hint, hint))
        return true;
    if (!shape->hint)
        shape->hint = malloc(sizeof(*shape->hint));
    if (!shape->hint)
        return false;
    *shape->hint = *hint;
    shape->is_changed = true;
    return true;
}

void sc_shapes_refresh(sc_shapes *shapes, sc_shape *shape, uint64_t step)
{
    uint32_t live = shape->of[SC_STATE_LIVE] + shape->of[SC_STATE_PARKING];

    unlink_shape(shapes, shape);
    shape->high_before = step - shape->last_step == 1 ? shape->high_now : live;
    shape->high_now = live;
    shape->last_step = step;
    link_newest(shapes, shape);
}

void sc_shapes_age(sc_shapes *shapes, uint64_t step)
{
    sc_shape *shape;

    while ((shape = shapes->oldest_recent) && step - shape->last_step >= shapes->max_age) {
        shape->is_recent = false;
        count_recent(shapes, shape, -1);
        shapes->oldest_recent = shape->newer;
    }
}

/* One block: the slots, then the words and the summary of each bitmap. */
static bool make_room(sc_shape *shape)
{
    uint32_t size = shape->size ? 2 * shape->size : FIRST_SLOTS;
    uint32_t words = sc_bits_words(size), summary = sc_bits_words(words);
    uint64_t *block = calloc(size + 2 * (size_t)(words + summary), sizeof(*block));
    sc_bits idle, empty;

    _Static_assert(sizeof(sc_buffer *) == sizeof(uint64_t), "slots and words share a block");
    if (!block)
        return false;
    idle = (sc_bits){.words = block + size, .summary = block + size + words};
    empty = (sc_bits){.words = idle.summary + summary, .summary = idle.summary + summary + words};
    if (shape->size) {
        uint32_t had = sc_bits_words(shape->size);

        memcpy(block, shape->slots, shape->size * sizeof(*block));
        memcpy(idle.words, shape->idle.words, had * sizeof(*block));
        memcpy(empty.words, shape->empty.words, had * sizeof(*block));
        memcpy(idle.summary, shape->idle.summary, sc_bits_words(had) * sizeof(*block));
        memcpy(empty.summary, shape->empty.summary, sc_bits_words(had) * sizeof(*block));
        free(shape->slots);
    }
    shape->slots = (sc_buffer **)block;
    shape->idle = idle;
    shape->empty = empty;
    shape->size = size;
    return true;
}

sc_buffer *sc_shape_empty_slot(sc_shapes *shapes, sc_shape *shape)
{
    sc_buffer *buffer;

    if (shape->of[SC_STATE_EMPTY] > 0)
        return shape->slots[sc_bits_lowest(&shape->empty)];
    if (shape->count == shape->size && !make_room(shape))
        return NULL;
    buffer = sc_pool_take(&shapes->buffer_pool);
    if (!buffer)
        return NULL;
    buffer->shape = shape;
    buffer->slot = shape->count;
    buffer->rank = SC_RANK_NONE;
    shape->slots[shape->count++] = buffer;
    shape->of[SC_STATE_EMPTY]++;
    sc_bits_add(&shape->empty, buffer->slot);
    shapes->slots++;
    return buffer;
}

void sc_shape_set_state(sc_shapes *shapes, sc_buffer *buffer, sc_state state)
{
    sc_shape_change_state(shapes, buffer, (sc_state)buffer->state, state);
}

static void check_slots(const sc_shape *shape)
{
    uint32_t of[SC_STATE_COUNT] = {0};

    for (uint32_t i = 0; i < shape->count; i++) {
        const sc_buffer *buffer = shape->slots[i];

        SC_CHECK(buffer->shape == shape && buffer->slot == i);
        SC_CHECK(sc_bits_has(&shape->idle, i) == (buffer->state == SC_STATE_IDLE));
        SC_CHECK(sc_bits_has(&shape->empty, i) == (buffer->state == SC_STATE_EMPTY));
        of[buffer->state]++;
    }
    for (int state = 0; state < SC_STATE_COUNT; state++)
        SC_CHECK(of[state] == shape->of[state]);
    for (uint32_t i = 0; i < sc_bits_words(shape->size); i++) {
        SC_CHECK((shape->idle.words[i] != 0) ==
                 sc_bits_has(&(sc_bits){.words = shape->idle.summary}, i));
        SC_CHECK((shape->empty.words[i] != 0) ==
                 sc_bits_has(&(sc_bits){.words = shape->empty.summary}, i));
    }
}

void sc_shapes_check(const sc_shapes *shapes, uint64_t step)
{
    uint64_t known = 0, vacant = 0, recent = 0, slots = 0;
    const sc_shape *newer = NULL, *oldest_recent = NULL;

    for (const sc_shape *shape = shapes->newest; shape; newer = shape, shape = shape->older) {
        SC_CHECK(shape->newer == newer);
        SC_CHECK(shape->last_step <= step);
        SC_CHECK(!newer || shape->last_step <= newer->last_step);
        SC_CHECK(shape->is_recent == (step - shape->last_step < shapes->max_age));
        SC_CHECK(sc_shapes_find(shapes, shape->context, shape->bytes, shape->site) == shape);
        check_slots(shape);
        known++;
        slots += shape->count;
        vacant += shape->of[SC_STATE_EMPTY] == shape->count;
        recent += shape->is_recent && !shape->is_small;
        oldest_recent = shape->is_recent ? shape : oldest_recent;
    }
    SC_CHECK(shapes->oldest == newer);
    SC_CHECK(shapes->oldest_recent == oldest_recent);
    SC_CHECK(shapes->known == known && shapes->vacant == vacant);
    SC_CHECK(shapes->recent == recent);
    SC_CHECK(shapes->slots == slots);
}
