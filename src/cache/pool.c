/* SPDX-License-Identifier: MIT */
#include "cache/pool.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK_RECORDS = 64 };

static void push(sc_pool_link **list, void *memory)
{
    sc_pool_link *link = memory;

    link->next = *list;
    *list = link;
}

static void *pop(sc_pool_link **list)
{
    sc_pool_link *link = *list;

    *list = link->next;
    return link;
}

void *sc_pool_take(sc_pool *pool)
{
    if (!pool->unused) {
        char *chunk = malloc(sizeof(sc_pool_link) + CHUNK_RECORDS * pool->record_bytes);

        if (!chunk)
            return NULL;
        push(&pool->chunks, chunk);
        for (size_t i = CHUNK_RECORDS; i-- > 0;)
            push(&pool->unused, chunk + sizeof(sc_pool_link) + i * pool->record_bytes);
    }
    return memset(pop(&pool->unused), 0, pool->record_bytes);
}

void sc_pool_give(sc_pool *pool, void *record)
{
    push(&pool->unused, record);
}

void sc_pool_release(sc_pool *pool)
{
    while (pool->chunks)
        free(pop(&pool->chunks));
    pool->unused = NULL;
}
