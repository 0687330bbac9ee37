/* SPDX-License-Identifier: MIT */
#include "engine/wait.h"
#include "engine/device.h"
#include "engine/process.h"

static int wait_here(const sc_driver *driver)
{
    return sc_process_is_capturing() ? SC_CUDA_CAPTURE_UNSUPPORTED : driver->context_wait();
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
