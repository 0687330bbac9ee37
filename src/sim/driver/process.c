/* SPDX-License-Identifier: MIT */
#include "process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "lock.h"
#include "settings.h"

static pthread_once_t started = PTHREAD_ONCE_INIT;
static atomic_bool initialised;
static _Atomic pid_t owner;
static _Thread_local bool worker;
static _Atomic uint64_t last_thread;
static _Thread_local uint64_t thread; /* 0: not asked for yet */

/* 1 here, 0 in a child: the kernel wipes the page. NULL until cuInit, or where it cannot be had. */
static volatile int *alive;

static void start(void)
{
    sim_calls_start();
    atomic_store(&owner, getpid());
}

void sim_process_start(void)
{
    pthread_once(&started, start);
}

bool sim_process_forked(void)
{
    return alive && *alive == 0;
}

static void map_alive(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return;
    if (madvise(at, page, MADV_WIPEONFORK) != 0) { /* Linux before 4.14 */
        munmap(at, page);
        return;
    }
    *(volatile int *)at = 1;
    alive = at;
}

CUresult sim_process_initialise(void)
{
    CUresult status = CUDA_SUCCESS;

    sim_lock();
    if (!atomic_load(&initialised)) {
        status = sim_devices_start_locked();
        if (status == CUDA_SUCCESS) {
            map_alive();
            atomic_store(&owner, getpid());
            atomic_store(&initialised, true);
        }
    }
    sim_unlock();
    return status;
}

bool sim_process_initialised(void)
{
    return atomic_load_explicit(&initialised, memory_order_acquire);
}

bool sim_process_reports(void)
{
    return atomic_load(&owner) == getpid();
}

uint64_t sim_process_thread(void)
{
    if (thread == 0)
        thread = atomic_fetch_add(&last_thread, 1) + 1;
    return thread;
}

bool sim_process_worker(void)
{
    return worker;
}

void sim_process_set_worker(void)
{
    worker = true;
}
