/* SPDX-License-Identifier: MIT */
#include "hold.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define MOST         8
#define NAME_BYTES   16 /* of a thread, as Linux has it */
#define INTERNAL_API __attribute__((visibility("default")))

static struct hold {
    char thread[NAME_BYTES]; /* "": a free entry */
    const char *function;
    bool held;
} holds[MOST];

static atomic_uint wanted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct hold *find(const char *thread)
{
    for (size_t i = 0; i < MOST; i++)
        if (strncmp(holds[i].thread, thread, NAME_BYTES - 1) == 0)
            return &holds[i];
    return NULL;
}

INTERNAL_API int simcuda_hold_thread(const char *thread, const char *function)
{
    struct hold *hold = NULL;

    pthread_mutex_lock(&lock);
    if (*thread != '\0' && sim_calls_known(function) && !find(thread))
        hold = find("");
    if (hold) {
        *hold = (struct hold){.function = function};
        snprintf(hold->thread, sizeof hold->thread, "%s", thread);
        atomic_fetch_add(&wanted, 1);
    }
    pthread_mutex_unlock(&lock);
    return hold ? 0 : 1;
}

INTERNAL_API void simcuda_await_thread(const char *thread)
{
    const struct hold *hold;

    pthread_mutex_lock(&lock);
    while ((hold = find(thread)) && !hold->held)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

INTERNAL_API void simcuda_release_thread(const char *thread)
{
    struct hold *hold;

    pthread_mutex_lock(&lock);
    hold = find(thread);
    if (hold) {
        *hold = (struct hold){.held = false};
        atomic_fetch_sub(&wanted, 1);
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
}

void sim_hold_here(enum sim_call call)
{
    char name[NAME_BYTES];
    struct hold *hold;

    if (atomic_load_explicit(&wanted, memory_order_relaxed) == 0 ||
        pthread_getname_np(pthread_self(), name, sizeof name) != 0)
        return;
    pthread_mutex_lock(&lock);
    while ((hold = find(name)) && sim_calls_are(call, hold->function)) {
        hold->held = true;
        pthread_cond_broadcast(&changed);
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}
