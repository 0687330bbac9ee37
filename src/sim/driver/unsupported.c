/* SPDX-License-Identifier: MIT
 * unsupported.c - a weak definition of every exported function, for those that nothing else
 * defines.
 *
 * It knows no parameters, so it cannot include cuda.h; a caller's arguments stay in its registers
 * and on its stack, where the calling conventions we support let a callee ignore them. */
#include "unsupported.h"

#define CALL(name)                                                                                 \
    __attribute__((weak, visibility("default"))) int name(void);                                   \
    int name(void)                                                                                 \
    {                                                                                              \
        return sim_unsupported(CALL_##name);                                                       \
    }
#include "calls.def"
#undef CALL
