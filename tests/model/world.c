/* SPDX-License-Identifier: MIT */
#include "model/world.h"

uint64_t operation;

uint64_t below(world *w, uint64_t count)
{
    return sc_random_below(&w->random, count);
}

bool one_in(world *w, uint64_t count)
{
    return below(w, count) == 0;
}

/* --- the driver --- */

static sc_address address_of(unsigned cell_number)
{
    return 0x7f0000000000 + (sc_address)cell_number * 512;
}

static cell *cell_of(world *w, sc_address address)
{
    return &w->cells[(address - 0x7f0000000000) / 512];
}

static sc_address driver_alloc(world *w, sc_context context)
{
    unsigned i = (unsigned)below(w, ADDRESSES);

    while (w->cells[i].is_allocated)
        i = (i + 1) % ADDRESSES;
    MUST(!ref_find(w->ref, address_of(i)));
    w->cells[i] = (cell){.is_allocated = true, .context = context};
    return address_of(i);
}

/* The engine frees it: by then nobody may know it. */
static void driver_free(world *w, sc_address address)
{
    MUST(cell_of(w, address)->is_allocated);
    MUST(!cell_of(w, address)->is_programs);
    MUST(!ref_find(w->ref, address));
    *cell_of(w, address) = (cell){0};
}

static void program_gets(world *w, sc_address address)
{
    MUST(cell_of(w, address)->is_allocated);
    MUST(!cell_of(w, address)->is_programs);
    cell_of(w, address)->is_programs = true;
    w->latest = address;
    w->programs++;
}

static void program_loses(world *w, sc_address address)
{
    w->programs -= cell_of(w, address)->is_programs;
    cell_of(w, address)->is_programs = false;
}

/* One of the program's blocks; it has some. */
static sc_address any_of_program(world *w)
{
    unsigned i = (unsigned)below(w, ADDRESSES);

    while (!w->cells[i].is_programs)
        i = (i + 1) % ADDRESSES;
    return address_of(i);
}

/* An address that the cache holds in any state, or 0. */
static sc_address any_held(world *w)
{
    unsigned first = (unsigned)below(w, 1 + w->ref->block_top);

    for (unsigned i = 0; i < w->ref->block_top; i++) {
        const ref_block *block = &w->ref->blocks[(first + i) % w->ref->block_top];

        if (ref_is_held(block))
            return block->address;
    }
    return 0;
}

/* --- giving back --- */

static void finish_going(world *w)
{
    sc_cache_gone(w->cache, &w->going);
    for (unsigned i = 0; i < w->going.count; i++) {
        driver_free(w, w->going.address[i]);
        ref_gone(w->ref, w->going.size[i]);
    }
    w->going.count = 0;
}

static void give_back(world *w, sc_take why)
{
    for (;;) {
        sc_victims victims;

        sc_cache_take(w->cache, why, &victims);
        for (unsigned i = 0; i < victims.count; i++) {
            const char *wrong = ref_take(w->ref, why, victims.address[i]);

            ck_assert_msg(!wrong, "operation %llu: victim %u: %s", (unsigned long long)operation, i,
                          wrong);
        }
        MUST(victims.count == 64 || !ref_wants(w->ref, why));
        ref_took(w->ref);
        if (victims.count == 0)
            return;
        finish_going(w);
        w->going = victims;
        if (!one_in(w, 8))
            finish_going(w);
        else if (why == SC_TAKE_ROOM)
            return; /* another thread's frees take long */
    }
}

/* --- operations --- */

static sc_request next_request(world *w)
{
    sc_request request = w->palette[below(w, one_in(w, 3) ? PALETTE : PALETTE / 2)];

    if (w->novelty && one_in(w, w->novelty))
        request.bytes += 1 + below(w, 40);
    if (w->ref->rules.total && one_in(w, 500))
        request.bytes = one_in(w, 2) ? UINT64_MAX : w->ref->rules.total + 1;
    request.site = (uint32_t)below(w, 3);
    request.is_passing = w->is_passing;
    return request;
}

static void finish_allocation(world *w, pending_allocation pending)
{
    sc_address address;
    bool has_failed = one_in(w, 25);

    if (!pending.request.is_passing)
        give_back(w, SC_TAKE_ROOM);
    if (has_failed && one_in(w, 100)) {
        uint64_t bytes = pending.request.bytes;
        bool retry = sc_cache_out_of_memory(w->cache, bytes);

        MUST_EQUAL(retry, ref_out_of_memory(w->ref, bytes));
        if (retry) {
            give_back(w, SC_TAKE_ALL);
            has_failed = one_in(w, 2);
        }
    }
    if (has_failed) {
        sc_cache_failed(w->cache, pending.buffer);
        ref_failed(w->ref, pending.block);
        return;
    }
    address = one_in(w, 400) ? any_held(w) : 0;
    if (address) { /* somebody freed it behind our back, and the driver hands it out again */
        program_loses(w, address);
        *cell_of(w, address) = (cell){.is_allocated = true, .context = pending.request.context};
    } else {
        address = driver_alloc(w, pending.request.context);
    }
    MUST_EQUAL(sc_cache_allocated(w->cache, pending.buffer, address, 1),
               ref_allocated(w->ref, pending.block, address));
    if (pending.block->state == REF_NONE)
        *cell_of(w, address) = (cell){0}; /* its context has ended meanwhile */
    else
        program_gets(w, address);
}

static void request(world *w, sc_request wanted)
{
    sc_buffer *buffer;
    ref_block *block;
    sc_answer answer = sc_cache_request(w->cache, wanted, &buffer);

    MUST_EQUAL(answer, ref_request(w->ref, wanted, &block));
    if (answer == SC_PASS) {
        MUST_EQUAL(sc_cache_out_of_memory(w->cache, wanted.bytes),
                   ref_out_of_memory(w->ref, wanted.bytes));
        return;
    }
    MUST_EQUAL(sc_buffer_bytes(buffer), wanted.bytes);
    MUST_EQUAL(sc_buffer_context(buffer), wanted.context);
    if (answer == SC_HIT) {
        MUST_EQUAL(sc_buffer_address(buffer), block->address);
        program_gets(w, block->address);
    } else if (w->allocation_count < PENDING && one_in(w, 5)) {
        w->allocations[w->allocation_count++] = (pending_allocation){buffer, block, wanted};
    } else {
        finish_allocation(w, (pending_allocation){buffer, block, wanted});
    }
}

static void finish_an_allocation(world *w)
{
    if (w->allocation_count > 0) {
        unsigned i = (unsigned)below(w, w->allocation_count);
        pending_allocation pending = w->allocations[i];

        w->allocations[i] = w->allocations[--w->allocation_count];
        finish_allocation(w, pending);
    }
}

static void finish_park(world *w, pending_park pending)
{
    bool has_failed = one_in(w, 25);
    bool is_kept, is_kept_by_ref, is_gone = pending.block->state == REF_GONE;

    if (has_failed) {
        is_kept = !sc_cache_unpark(w->cache, pending.buffer);
        is_kept_by_ref = !ref_unpark(w->ref, pending.block);
    } else {
        is_kept = sc_cache_park(w->cache, pending.buffer, w->now);
        is_kept_by_ref = ref_park(w->ref, pending.block, w->now);
    }
    MUST_EQUAL(is_kept, is_kept_by_ref);
    if (!is_kept) {
        MUST(!is_gone);
        driver_free(w, pending.address);
    }
}

static void finish_a_park(world *w)
{
    if (w->park_count > 0) {
        unsigned i = (unsigned)below(w, w->park_count);
        pending_park pending = w->parks[i];

        w->parks[i] = w->parks[--w->park_count];
        finish_park(w, pending);
    }
}

static void free_at(world *w, sc_address address, sc_free_answer expected)
{
    sc_buffer *buffer;
    ref_block *block;
    sc_free_answer answer = sc_cache_free(w->cache, address, w->is_passing, &buffer);

    MUST_EQUAL(answer, ref_free(w->ref, address, w->is_passing, &block));
    MUST_EQUAL(buffer != NULL, answer == SC_FREE_PARK);
    if (expected != SC_FREE_PARK) {
        MUST_EQUAL(answer, expected);
        return;
    }
    program_loses(w, address);
    if (answer == SC_FREE_RELEASE)
        driver_free(w, address);
    else if (w->park_count < PENDING && one_in(w, 5))
        w->parks[w->park_count++] = (pending_park){buffer, block, address};
    else
        finish_park(w, (pending_park){buffer, block, address});
    if (!w->is_passing && !one_in(w, 10))
        give_back(w, SC_TAKE_DUE);
}

static void free_one(world *w)
{
    if (w->programs > 0)
        free_at(w, any_of_program(w), SC_FREE_PARK);
}

/* Several times the same, so that a free is one that has been made before. */
static void go_round(world *w)
{
    const unsigned first = (unsigned)below(w, PALETTE), count = 2 + (unsigned)below(w, PALETTE - 1);
    sc_request wanted[PALETTE];

    for (unsigned i = 0; i < count; i++) {
        wanted[i] = w->palette[(first + i) % PALETTE];
        wanted[i].is_passing = w->is_passing;
    }
    for (int turn = 0; turn < 8; turn++) {
        sc_address found[PALETTE];
        unsigned got = 0;

        for (unsigned i = 0; i < count; i++) {
            unsigned before = w->programs;

            request(w, wanted[i]);
            if (w->programs > before)
                found[got++] = w->latest;
        }
        for (unsigned i = 0; i < got; i++)
            if (cell_of(w, found[i])->is_programs)
                free_at(w, found[i], SC_FREE_PARK);
    }
}

static void free_wrongly(world *w)
{
    sc_address held = any_held(w);
    const ref_block *block = held ? ref_find(w->ref, held) : NULL;

    free_at(w, address_of(ADDRESSES) + below(w, 1000), SC_FREE_UNKNOWN);
    if (block && block->state != REF_LIVE)
        free_at(w, held, SC_FREE_TWICE);
    if (held)
        free_at(w, held + 1, SC_FREE_UNKNOWN);
}

static void lose_one(world *w) /* freed by another door */
{
    sc_address address = any_held(w);

    if (address) {
        sc_cache_forget(w->cache, address);
        ref_forget(w->ref, address);
        program_loses(w, address);
        *cell_of(w, address) = (cell){0};
    }
}

static void export_one(world *w)
{
    sc_address address = any_held(w);

    if (address) {
        sc_cache_export(w->cache, address);
        ref_export(w->ref, address);
    }
}

static void end_a_context(world *w)
{
    sc_context context = 1 + below(w, 2);

    finish_going(w);
    sc_cache_forget_context(w->cache, context);
    ref_forget_context(w->ref, context);
    for (unsigned i = 0; i < ADDRESSES; i++) {
        if (w->cells[i].is_allocated && w->cells[i].context == context) {
            program_loses(w, address_of(i));
            w->cells[i] = (cell){0};
        }
    }
}

static void end_a_step(world *w)
{
    if (w->ref->source != SC_STEPS_INFERRED || one_in(w, 400)) {
        sc_cache_step_end(w->cache);
        ref_step_end(w->ref);
        if (one_in(w, 2))
            give_back(w, SC_TAKE_DUE);
    }
}

static void ask_the_driver(world *w)
{
    uint64_t bytes = below(w, one_in(w, 3) ? 2000 * MIB : 200 * MIB);

    sc_cache_driver_free(w->cache, bytes);
    ref_driver_free(w->ref, bytes);
}

static void let_time_pass(world *w)
{
    uint64_t now = w->now += below(w, one_in(w, 10) ? 2000 : 100);

    now -= one_in(w, 4) ? below(w, now < 50 ? now + 1 : 50) : 0; /* another thread comes late */
    sc_cache_tick(w->cache, now);
    ref_tick(w->ref, now);
}

static void run_out_of_memory(world *w) /* of another allocator */
{
    MUST_EQUAL(sc_cache_out_of_memory(w->cache, 0), ref_out_of_memory(w->ref, 0));
    give_back(w, SC_TAKE_ALL);
}

void world_operate(world *w)
{
    uint64_t kind = below(w, 10000);

    if (kind < 4300) {
        if (w->programs < 30 + below(w, 30))
            request(w, next_request(w));
    } else if (kind < 8500) {
        free_one(w);
    } else if (kind < 8900) {
        finish_an_allocation(w);
    } else if (kind < 9200) {
        finish_a_park(w);
    } else if (kind < 9780) {
        end_a_step(w);
    } else if (kind < 9850) {
        go_round(w);
    } else if (kind < 9900) {
        free_wrongly(w);
    } else if (kind < 9930) {
        w->is_passing = !w->is_passing && one_in(w, 3);
    } else if (kind < 9950) {
        finish_going(w);
    } else if (kind < 9970) {
        lose_one(w);
    } else if (kind < 9990) {
        export_one(w);
    } else if (kind < 9991) {
        run_out_of_memory(w);
    } else if (kind < 9993) {
        end_a_context(w);
    } else if (kind < 9998) {
        ask_the_driver(w);
    }
    if (one_in(w, 8))
        let_time_pass(w);
}
