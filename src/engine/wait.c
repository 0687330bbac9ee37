/* SPDX-License-Identifier: MIT */
#include "engine/wait.h"
#include "base/clock.h"
#include "engine/device.h"
#include "engine/process.h"
#include <sched.h>
#include <stdatomic.h>

static const uint64_t PATIENCE_NS = 10000000;

static atomic_uint waiting; /* threads on their way into the driver's wait, or in it */

/* Told before it looks: a capture that begins meanwhile sees the one or is seen. */
static int wait_here(const sc_driver *driver)
{
    (void)atomic_fetch_add(&waiting, 1);
    int result = sc_process_is_capturing() ? SC_CUDA_CAPTURE_UNSUPPORTED : driver->context_wait();

    (void)atomic_fetch_sub(&waiting, 1);
    return result;
}

void sc_wait_before_capture(void)
{
    uint64_t began = sc_clock_ns();

    while (atomic_load(&waiting) && sc_clock_ns() - began < PATIENCE_NS)
        (void)sched_yield();
}

static int wait_for_one(const sc_driver *driver, sc_context context)
{
    sc_context current = 0;
    int result;

    if (driver->context_current(&current) == SC_CUDA_SUCCESS && current == context)
        return wait_here(driver);
    result = driver->context_push(context);
    if (result != SC_CUDA_SUCCESS)
        return result;
    result = wait_here(driver);
    int popped = driver->context_pop();

    return result != SC_CUDA_SUCCESS ? result : popped;
}

int sc_wait(const sc_driver *driver, sc_context context, bool is_peered)
{
    sc_context contexts[SC_CONTEXT_MOST];
    int result = wait_for_one(driver, context);

    if (!is_peered)
        return result;
    unsigned count = sc_device_contexts(contexts, SC_CONTEXT_MOST);

    for (unsigned i = 0; i < count && result == SC_CUDA_SUCCESS; i++)
        if (contexts[i] != context)
            result = wait_for_one(driver, contexts[i]);
    return result;
}
