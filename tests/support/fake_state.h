/* SPDX-License-Identifier: MIT
 * fake_state.h - what the fake driver knows, between the files of it. Its lock guards all. */
#ifndef SC_TESTS_FAKE_STATE_H
#define SC_TESTS_FAKE_STATE_H

#include "support/fake_driver.h"
#include <pthread.h>

enum { DEVICES = 2, BLOCKS = 4096, CONTEXTS = 512, DEPTH = 8, REGISTERED = 256 };

typedef struct fake_block {
    sc_address address;
    uint64_t bytes;
    sc_context context;
    bool is_live;
} fake_block;

typedef struct fake_context {
    int device;
    bool is_alive;
} fake_context;

extern struct fake_state {
    pthread_mutex_t lock;
    uint64_t memory, used[DEVICES];
    uint64_t others;           /* of each device: another process's */
    fake_block blocks[BLOCKS]; /* one that died serves the next allocation of its size */
    unsigned block_count;
    sc_address next;
    fake_context contexts[CONTEXTS]; /* a context is its index + 1 */
    unsigned context_count;
    unsigned calls, counts[FAKE_CALL_COUNT];
    unsigned fail_at, kind_times[FAKE_CALL_COUNT];
    int fail_result, kind_result[FAKE_CALL_COUNT];
    sc_context last_waited;
    const void *registered[REGISTERED]; /* NULL: free */
    bool was_under_lock;
    void (*on_wait)(void);
    void (*on_free)(void);
} fake;

static inline void take(void)
{
    (void)pthread_mutex_lock(&fake.lock);
}

static inline void give(void)
{
    (void)pthread_mutex_unlock(&fake.lock);
}

fake_block *fake_find_live(sc_address address); /* NULL: none */

#endif
