/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "engine/engine.h"
#include "engine/verdict.h"
#include "shapecache/shapecache.h"
#include <string.h>

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

EXPORT shapecache_phase_kind shapecache_phase(int device)
{
    static const shapecache_phase_kind kinds[SC_PHASE_COUNT] = {
        [SC_PHASE_WARMUP] = SHAPECACHE_PHASE_WARMUP,
        [SC_PHASE_FIXED] = SHAPECACHE_PHASE_FIXED,
        [SC_PHASE_FALLBACK] = SHAPECACHE_PHASE_FALLBACK,
        [SC_PHASE_OFF] = SHAPECACHE_PHASE_OFF,
    };

    return kinds[sc_engine_phase(device)];
}

_Static_assert((int)SHAPECACHE_DIMS_MOST == (int)SC_HINT_DIMS &&
                   (int)SHAPECACHE_LABEL_MOST == SC_HINT_LABEL_BYTES - 1,
               "as the header says");

EXPORT shapecache_status shapecache_hint(const void *pointer, const char *label, const size_t *dims,
                                         size_t count)
{
    sc_hint hint = {.count = (unsigned)count};

    if (count > SHAPECACHE_DIMS_MOST || (count && !dims) || (!count && !(label && *label)))
        return SHAPECACHE_EVALUE;
    if (label)
        sc_hint_label(&hint, label, strlen(label));
    for (size_t i = 0; i < count; i++)
        hint.dims[i] = dims[i];
    return (shapecache_status)sc_engine_hint((sc_address)(uintptr_t)pointer, &hint);
}

EXPORT shapecache_status shapecache_mark(const char *name)
{
    char text[256];

    if (!name || !*name)
        return SHAPECACHE_EVALUE;
    size_t length = sc_text_fitting(name, strlen(name), sizeof text - 1);

    memcpy(text, name, length);
    text[length] = '\0';
    return (shapecache_status)sc_engine_mark(text);
}

EXPORT shapecache_status shapecache_memory(int device, shapecache_memory_info *info)
{
    return info ? (shapecache_status)sc_engine_memory(device, info) : SHAPECACHE_EVALUE;
}

EXPORT shapecache_status shapecache_allocator(int device, int at_end,
                                              const shapecache_allocator_info *info)
{
    if (!info || info->size != sizeof *info)
        return SHAPECACHE_EVALUE;
    const sc_allocator said = {.is_known = true,
                               .is_expandable = info->is_expandable != 0,
                               .reserved = info->reserved,
                               .allocated = info->allocated,
                               .reserved_peak = info->reserved_peak,
                               .allocated_peak = info->allocated_peak};

    return (shapecache_status)sc_engine_allocator(device, at_end != 0, &said);
}

EXPORT shapecache_status shapecache_trim(int device)
{
    return (shapecache_status)sc_engine_trim(device);
}

EXPORT shapecache_status shapecache_scope_begin(const char *name, unsigned flags)
{
    const unsigned all =
        SHAPECACHE_SCOPE_TRIM_BEFORE | SHAPECACHE_SCOPE_TRIM_AFTER | SHAPECACHE_SCOPE_LOG;

    if (!name || !*name || flags & ~all)
        return SHAPECACHE_EVALUE;
    return (shapecache_status)sc_engine_scope_begin(name, flags);
}

EXPORT shapecache_status shapecache_scope_end(shapecache_scope_info *info)
{
    return (shapecache_status)sc_engine_scope_end(info);
}

EXPORT shapecache_status shapecache_step(int device)
{
    return (shapecache_status)sc_engine_step(device);
}
