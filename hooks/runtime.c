/* SPDX-License-Identifier: MIT
 * runtime.c - the runtime layer: notes who is asking and forwards.
 *
 * Nothing is served or counted here: libcudart asks the driver, whose hook finds the note. No
 * CUDA runtime function is called besides the program's own, so its last error is untouched. */
#include "engine/engine.h"
#include "forward.h"
#include "real.h"
#include <stdint.h>

/* The runtime's numbers, whose header would rename and redeclare what we define. */
enum { RUNTIME_SUCCESS = 0, RUNTIME_INSUFFICIENT_DRIVER = 35 };

SC_EXPORT int cudaMalloc(void **address, size_t bytes);
SC_EXPORT int cudaFree(void *address);

static sc_forward malloc_forward = {.name = "cudaMalloc"};
static sc_forward free_forward = {.name = "cudaFree"};

int cudaMalloc(void **address, size_t bytes)
{
    const void *caller = __builtin_return_address(0);
    int (*forward)(void **, size_t) =
        (int (*)(void **, size_t))(uintptr_t)sc_forward_find(&malloc_forward, caller);
    int result;

    if (forward == NULL)
        return RUNTIME_INSUFFICIENT_DRIVER;
    if (sc_engine_is_inside())
        return forward(address, bytes);
    sc_engine_door(SC_DOOR_RUNTIME);
    sc_engine_note(caller);
    result = forward(address, bytes);
    if (!sc_engine_note_end() && result == RUNTIME_SUCCESS && bytes > 0 && sc_real_find()->serves)
        sc_engine_bypassed("a cudaMalloc succeeded without reaching the hooked driver");
    return result;
}

/* The first call of many programs is cudaFree(0), which makes the context: its note names them,
 * too. */
int cudaFree(void *address)
{
    const void *caller = __builtin_return_address(0);
    int (*forward)(void *) = (int (*)(void *))(uintptr_t)sc_forward_find(&free_forward, caller);
    int result;

    if (forward == NULL)
        return RUNTIME_INSUFFICIENT_DRIVER;
    if (sc_engine_is_inside())
        return forward(address);
    sc_engine_note(caller);
    result = forward(address);
    (void)sc_engine_note_end();
    return result;
}
