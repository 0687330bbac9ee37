/* SPDX-License-Identifier: MIT
 * room.c - a thread of no interpreter, which allocates while its maker waits. */
#include <pthread.h>
#include <stddef.h>

typedef int allocate(void **address, size_t bytes);

typedef struct wish {
    allocate *call;
    size_t bytes;
} wish;

__attribute__((visibility("default"))) int start(allocate *call, size_t bytes);

static void *run(void *self)
{
    const wish *wanted = self;
    void *address = NULL;

    (void)wanted->call(&address, wanted->bytes);
    return NULL;
}

int start(allocate *call, size_t bytes)
{
    wish wanted = {call, bytes};
    pthread_t thread;

    return pthread_create(&thread, NULL, run, &wanted) || pthread_join(thread, NULL);
}
