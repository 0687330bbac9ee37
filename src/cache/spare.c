/* SPDX-License-Identifier: MIT */
#include "cache/spare.h"
#include "cache/check.h"

/* A live block's part in it. */
struct sc_spare_mark {
    sc_mapped size;
    sc_spare_block *source; /* tickets are out of it; NULL: none */
    sc_spare_block *stands; /* what it is live in place of; NULL: nothing */
    bool is_left_out;       /* it does not count: it holds nothing else */
};

static void add(sc_mapped *sum, sc_mapped more)
{
    sum->packed += more.packed;
    sum->own += more.own;
}

static void subtract(sc_mapped *sum, sc_mapped less)
{
    sum->packed -= less.packed;
    sum->own -= less.own;
}

static sc_mapped size_of(uint64_t bytes)
{
    sc_mapped size = {0, 0};

    sc_mapped_add(&size, bytes);
    return size;
}

void sc_spare_start(sc_spare *spare, uint64_t most)
{
    if (spare->is_on)
        return;
    spare->is_on = true;
    spare->most = most;
    spare->mark_pool.record_bytes = sizeof(sc_spare_mark);
    spare->block_pool.record_bytes = sizeof(sc_spare_block);
}

void sc_spare_release(sc_spare *spare)
{
    sc_map_release(&spare->marks);
    sc_pool_release(&spare->mark_pool);
    sc_pool_release(&spare->block_pool);
    *spare = (sc_spare){.is_on = false};
}

void sc_spare_doubt_it(sc_spare *spare, sc_spare_doubt doubt)
{
    if (spare->doubt == SC_SPARE_SURE)
        spare->doubt = doubt;
}

/* The live block's mark, made where there is none. NULL: out of memory, a doubt. */
static sc_spare_mark *mark_at(sc_spare *spare, sc_address address, uint64_t bytes)
{
    sc_spare_mark *mark = sc_map_find(&spare->marks, address);

    if (mark)
        return mark;
    mark = sc_pool_take(&spare->mark_pool);
    if (mark && !sc_map_put(&spare->marks, address, mark)) {
        sc_pool_give(&spare->mark_pool, mark);
        mark = NULL;
    }
    if (mark)
        mark->size = size_of(bytes);
    else
        sc_spare_doubt_it(spare, SC_SPARE_UNSEEN);
    return mark;
}

static void unmark(sc_spare *spare, sc_address address, sc_spare_mark *mark)
{
    if (mark->source || mark->stands)
        return;
    (void)sc_map_remove(&spare->marks, address);
    sc_pool_give(&spare->mark_pool, mark);
}

static bool is_standing(const sc_spare_block *block)
{
    return !block->is_live && !block->is_void && block->tickets + block->targets > 0;
}

/* It does not count from now on. */
static void leave_out(sc_spare *spare, sc_spare_mark *mark)
{
    mark->is_left_out = true;
    add(&spare->targets, mark->size);
}

/* No ticket is out of the live block, nor is anything live in its place. */
static void forget_source(sc_spare *spare, sc_address address)
{
    sc_spare_mark *mark = sc_map_find(&spare->marks, address);

    mark->source = NULL;
    if (mark->stands)
        leave_out(spare, mark);
    else
        unmark(spare, address, mark);
}

/* Something about it has changed since it `was` standing or not. */
static void follow(sc_spare *spare, sc_spare_block *block, bool was)
{
    bool is = is_standing(block);

    if (is && !was) {
        add(&spare->standing, block->size);
        spare->has_stood = true;
    } else if (was && !is) {
        subtract(&spare->standing, block->size);
    }
    if (block->tickets + block->targets > 0)
        return;
    if (block->is_live)
        forget_source(spare, block->address);
    *(block->former ? &block->former->next : &spare->first) = block->next;
    if (block->next)
        block->next->former = block->former;
    sc_pool_give(&spare->block_pool, block);
}

static sc_spare_block *follow_from_now_on(sc_spare *spare, sc_spare_mark *mark, sc_address address,
                                          sc_context context)
{
    sc_spare_block *block = sc_pool_take(&spare->block_pool);

    if (!block) {
        sc_spare_doubt_it(spare, SC_SPARE_UNSEEN);
        unmark(spare, address, mark);
        return NULL;
    }
    *block = (sc_spare_block){.next = spare->first,
                              .context = context,
                              .address = address,
                              .size = mark->size,
                              .is_live = true};
    if (spare->first)
        spare->first->former = block;
    spare->first = block;
    mark->source = block;
    return block;
}

sc_spare_block *sc_spare_leave(sc_spare *spare, sc_address address, uint64_t bytes,
                               sc_context context)
{
    sc_spare_mark *mark = mark_at(spare, address, bytes);
    sc_spare_block *block = NULL;

    if (mark)
        block = mark->stands ? mark->stands : mark->source;
    if (mark && !block)
        block = follow_from_now_on(spare, mark, address, context);
    if (block)
        block->tickets++;
    return block;
}

/* Since it was allocated, the block was not live for itself. False: too long ago. */
static bool take_out(sc_spare *spare, sc_address address, sc_mapped size)
{
    uint64_t newest = spare->moment_count, i = newest;
    const uint64_t end = newest > SC_SPARE_WINDOW ? newest - SC_SPARE_WINDOW : 0;

    while (i > end && spare->moments[(i - 1) % SC_SPARE_WINDOW].address != address)
        i--;
    if (i == end)
        return false;
    for (i--; i < newest; i++)
        subtract(&spare->moments[i % SC_SPARE_WINDOW].without, size);
    return true;
}

static void stand_in(sc_spare *spare, sc_spare_mark *mark, sc_spare_block *block,
                     sc_address address)
{
    mark->stands = block;
    block->targets++;
    if (mark->source) /* other tensors are away that would still be in it */
        return;
    leave_out(spare, mark);
    if (!take_out(spare, address, mark->size))
        sc_spare_doubt_it(spare, SC_SPARE_OLD);
}

void sc_spare_return(sc_spare *spare, sc_spare_block *block, sc_address target, uint64_t bytes)
{
    bool was = is_standing(block);

    if (!(block->is_live && block->address == target)) {
        sc_spare_mark *mark = mark_at(spare, target, bytes);

        if (mark && !mark->stands)
            stand_in(spare, mark, block, target);
        else if (mark && mark->stands != block)
            sc_spare_doubt_it(spare, SC_SPARE_SHARED);
    }
    block->tickets--;
    follow(spare, block, was);
}

void sc_spare_drop(sc_spare *spare, sc_spare_block *block)
{
    bool was = is_standing(block);

    block->tickets--;
    follow(spare, block, was);
}

static sc_mapped without(const sc_spare *spare, sc_mapped live)
{
    sc_mapped sum = sc_mapped_plus(live, spare->standing);

    subtract(&sum, spare->targets);
    return sum;
}

void sc_spare_allocated(sc_spare *spare, sc_address address, sc_mapped live)
{
    sc_spare_moment *moment = &spare->moments[spare->moment_count % SC_SPARE_WINDOW];
    uint64_t total = spare->moment_count < SC_SPARE_WINDOW ? 0 : sc_mapped_total(moment->without);

    if (spare->most < total)
        spare->most = total;
    *moment = (sc_spare_moment){.address = address, .without = without(spare, live)};
    spare->moment_count++;
}

void sc_spare_freed(sc_spare *spare, sc_address address)
{
    sc_spare_mark *mark = sc_map_remove(&spare->marks, address);

    if (!mark)
        return;
    sc_spare_block *source = mark->source, *stands = mark->stands;

    if (mark->is_left_out)
        subtract(&spare->targets, mark->size);
    sc_pool_give(&spare->mark_pool, mark);
    if (source) {
        source->is_live = false;
        follow(spare, source, false);
    }
    if (stands) {
        bool was = is_standing(stands);

        stands->targets--;
        follow(spare, stands, was);
    }
}

void sc_spare_context_ends(sc_spare *spare, sc_context context)
{
    for (sc_spare_block *block = spare->first; block; block = block->next) {
        if (block->context != context || block->is_void)
            continue;
        if (is_standing(block))
            subtract(&spare->standing, block->size);
        block->is_void = true;
    }
}

uint64_t sc_spare_most(const sc_spare *spare)
{
    uint64_t most = spare->most, i = spare->moment_count;

    for (unsigned left = SC_SPARE_WINDOW; left > 0 && i > 0; left--) {
        uint64_t total = sc_mapped_total(spare->moments[--i % SC_SPARE_WINDOW].without);

        most = most < total ? total : most;
    }
    return most;
}

sc_spare_doubt sc_spare_why_not(const sc_spare *spare)
{
    if (spare->doubt == SC_SPARE_SURE && !spare->has_stood)
        return SC_SPARE_NOTHING;
    return spare->doubt;
}

void sc_spare_check(const sc_spare *spare)
{
    sc_mapped standing = {0, 0}, targets = {0, 0};
    uint64_t held = 0, stood_in = 0;

    for (const sc_spare_block *block = spare->first; block; block = block->next) {
        SC_CHECK(block->tickets + block->targets > 0);
        SC_CHECK(!block->next || block->next->former == block);
        held += block->targets;
        if (is_standing(block))
            add(&standing, block->size);
    }
    for (size_t i = 0; i < spare->marks.size; i++) {
        const sc_spare_mark *mark = spare->marks.entries[i].value;

        if (!spare->marks.entries[i].key)
            continue;
        SC_CHECK(mark->source || mark->stands);
        SC_CHECK(!mark->source ||
                 (mark->source->is_live && mark->source->address == spare->marks.entries[i].key));
        stood_in += mark->stands != NULL;
        SC_CHECK(mark->is_left_out == (mark->stands && !mark->source));
        if (mark->is_left_out)
            add(&targets, mark->size);
    }
    SC_CHECK(held == stood_in);
    SC_CHECK(standing.packed == spare->standing.packed && standing.own == spare->standing.own);
    SC_CHECK(targets.packed == spare->targets.packed && targets.own == spare->targets.own);
}
