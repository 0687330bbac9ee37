/* SPDX-License-Identifier: MIT
 * What a test may ask of the fake driver, and have called by it. */
#include "support/fake_state.h"
#include <string.h>

unsigned fake_calls(void)
{
    take();
    unsigned calls = fake.calls;

    give();
    return calls;
}

unsigned fake_count(fake_call kind)
{
    take();
    unsigned count = fake.counts[kind];

    give();
    return count;
}

void fake_forget_counts(void)
{
    take();
    memset(fake.counts, 0, sizeof fake.counts);
    fake.calls = 0;
    give();
}

uint64_t fake_live_bytes(void)
{
    uint64_t bytes = 0;

    take();
    for (int device = 0; device < DEVICES; device++)
        bytes += fake.used[device];
    give();
    return bytes;
}

unsigned fake_live_blocks(void)
{
    unsigned count = 0;

    take();
    for (unsigned i = 0; i < fake.block_count; i++)
        count += fake.blocks[i].is_live;
    give();
    return count;
}

unsigned fake_registered(void)
{
    unsigned count = 0;

    take();
    for (unsigned i = 0; i < REGISTERED; i++)
        count += fake.registered[i] != NULL;
    give();
    return count;
}

bool fake_is_live(sc_address address)
{
    take();
    bool is_live = fake_find_live(address) != NULL;

    give();
    return is_live;
}

sc_context fake_last_waited(void)
{
    take();
    sc_context last = fake.last_waited;

    give();
    return last;
}

bool fake_was_called_under_lock(void)
{
    take();
    bool was = fake.was_under_lock;

    give();
    return was;
}

void fake_on_free(void (*call)(void))
{
    take();
    fake.on_free = call;
    give();
}

void fake_on_wait(void (*call)(void))
{
    take();
    fake.on_wait = call;
    give();
}
