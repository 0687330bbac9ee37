/* SPDX-License-Identifier: MIT */
#include "engine/wait.h"
#include "engine/device.h"

static int wait_for_one(const sc_driver *driver, sc_context context)
{
    sc_context current = 0;
    int result;

    if (driver->context_current(&current) == SC_CUDA_SUCCESS && current == context)
        return driver->context_wait();
    result = driver->context_push(context);
    if (result != SC_CUDA_SUCCESS)
        return result;
    result = driver->context_wait();
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
