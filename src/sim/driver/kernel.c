/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_registration *table[BUCKETS];

static struct sim_registration **bucket_of(const char *name)
{
    unsigned hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return &table[hash % BUCKETS];
}

/* Where the registration of `name` is linked, or the NULL at the end of its bucket. */
static struct sim_registration **find(const char *name)
{
    struct sim_registration **link = bucket_of(name);

    while (*link && strcmp((*link)->name, name) != 0)
        link = &(*link)->next;
    return link;
}

static void put_locked(struct sim_registration *registration)
{
    if (--registration->references == 0) {
        free(registration->name);
        free(registration);
    }
}

__attribute__((visibility("default"))) int simcuda_kernel(const char *name,
                                                          simcuda_function function,
                                                          const size_t *argument_bytes,
                                                          unsigned count, simcuda_access access)
{
    struct sim_registration *fresh = calloc(1, sizeof *fresh + count * sizeof *argument_bytes);
    struct sim_registration **link, *old;

    if (!fresh)
        return 1;
    fresh->name = strdup(name);
    if (!fresh->name) {
        free(fresh);
        return 1;
    }
    fresh->references = 1;
    fresh->function = function;
    fresh->access = access;
    fresh->count = count;
    if (count > 0)
        memcpy(fresh->argument_bytes, argument_bytes, count * sizeof *argument_bytes);
    pthread_mutex_lock(&lock);
    link = find(name);
    old = *link;
    fresh->next = old ? old->next : NULL;
    *link = fresh;
    if (old)
        put_locked(old);
    pthread_mutex_unlock(&lock);
    return 0;
}

struct sim_registration *sim_registration_get(const char *name)
{
    struct sim_registration *found;

    pthread_mutex_lock(&lock);
    found = *find(name);
    if (found)
        found->references++;
    pthread_mutex_unlock(&lock);
    return found;
}

void sim_registration_put(struct sim_registration *registration)
{
    pthread_mutex_lock(&lock);
    put_locked(registration);
    pthread_mutex_unlock(&lock);
}
