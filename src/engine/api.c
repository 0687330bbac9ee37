/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"
#include "shapecache/shapecache.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *shapecache_status_text(shapecache_status status)
{
    switch (status) {
#define STATUS(symbol, value, text)                                                                \
    case SHAPECACHE_##symbol:                                                                      \
        return text;
#include "shapecache/status.def"
#undef STATUS
    case SHAPECACHE_STATUS_MAX:
        break;
    }
    return "no such status";
}

EXPORT shapecache_status shapecache_step(int device)
{
    return (shapecache_status)sc_engine_step(device);
}
