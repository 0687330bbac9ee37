/* SPDX-License-Identifier: MIT */
#include "lock.h"

#include "report.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;
static unsigned waiting;

void sim_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void sim_unlock(void)
{
    pthread_mutex_unlock(&mutex);
    sim_report_flush();
}

void sim_wait_locked(void)
{
    waiting++;
    pthread_cond_wait(&progress, &mutex);
    waiting--;
}

void sim_progress_locked(void)
{
    if (waiting > 0)
        pthread_cond_broadcast(&progress);
}

pthread_mutex_t *sim_mutex(void)
{
    return &mutex;
}
