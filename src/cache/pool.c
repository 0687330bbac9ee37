/* SPDX-License-Identifier: MIT */
#include "cache/pool.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK_RECORDS = 64 };

static void push(void **list, void *record)
{
    *(void **)record = *list;
    *list = record;
}

void *sc_pool_take(sc_pool *pool)
{
    void *record;

    if (!pool->unused) {
        char *chunk = malloc(sizeof(void *) + CHUNK_RECORDS * pool->record_bytes);

        if (!chunk) {
            return NULL;
        }
        push(&pool->chunks, chunk);
        for (size_t i = CHUNK_RECORDS; i-- > 0;) {
            push(&pool->unused, chunk + sizeof(void *) + i * pool->record_bytes);
        }
    }
    record = pool->unused;
    pool->unused = *(void **)record;
    return memset(record, 0, pool->record_bytes);
}

void sc_pool_give(sc_pool *pool, void *record)
{
    push(&pool->unused, record);
}

void sc_pool_release(sc_pool *pool)
{
    while (pool->chunks) {
        void *chunk = pool->chunks;

        pool->chunks = *(void **)chunk;
        free(chunk);
    }
    pool->unused = NULL;
}
