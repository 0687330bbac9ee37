/* SPDX-License-Identifier: MIT */
#include "calls.h"

#include <stdatomic.h>
#include <string.h>

#include "hold.h"
#include "internal.h"
#include "settings.h"

static const char *const names[SIM_CALL_COUNT] = {
#define CALL(name) #name,
#include "calls.def"
#undef CALL
};

static _Atomic uint64_t counts[SIM_CALL_COUNT];
static unsigned char unsupported[SIM_CALL_COUNT];
static _Thread_local enum sim_call current;

/* fails[call] is set where SIMCUDA_FAIL names the function; an entry counts its own calls, since
 * "cuMemcpyHtoD" means all spellings of it together. */
static bool fails[SIM_CALL_COUNT];
static _Atomic uint64_t fail_seen[SIM_MAX_FAILS];

/* The length of `name` without _ptds/_ptsz and _vN. */
static size_t base_length(const char *name)
{
    size_t length = strlen(name);

    if (length > 5 &&
        (strcmp(name + length - 5, "_ptds") == 0 || strcmp(name + length - 5, "_ptsz") == 0))
        length -= 5;
    if (length > 3 && name[length - 3] == '_' && name[length - 2] == 'v')
        length -= 3;
    return length;
}

/* Does a user's `wanted` mean the exported `name`: the name itself or its base? */
static bool matches(const char *name, const char *wanted)
{
    size_t base = base_length(name);

    return strcmp(name, wanted) == 0 || (strlen(wanted) == base && memcmp(name, wanted, base) == 0);
}

bool sim_calls_are(enum sim_call call, const char *name)
{
    return matches(names[call], name);
}

bool sim_calls_known(const char *name)
{
    for (size_t i = 0; i < SIM_CALL_COUNT; i++)
        if (matches(names[i], name))
            return true;
    return false;
}

void sim_calls_start(void)
{
    static const simcuda_counters counters = {names, unsupported, counts, SIM_CALL_COUNT};
    const struct sim_fail_list *list = &sim_settings()->fail;

    simcuda_report_counters(&counters);
    for (size_t call = 0; call < SIM_CALL_COUNT; call++)
        for (size_t i = 0; i < list->count; i++)
            if (matches(names[call], list->items[i].name))
                fails[call] = true;
}

int sim_calls_enter(enum sim_call call)
{
    const struct sim_fail_list *list = &sim_settings()->fail;
    int code = 0;

    current = call;
    atomic_fetch_add_explicit(&counts[call], 1, memory_order_relaxed);
    sim_hold_here(call);
    if (!fails[call])
        return 0;
    for (size_t i = 0; i < list->count; i++)
        if (matches(names[call], list->items[i].name) &&
            atomic_fetch_add(&fail_seen[i], 1) + 1 == list->items[i].at)
            code = list->items[i].code;
    return code;
}

const char *sim_calls_current(void)
{
    return names[current];
}

void sim_calls_unsupported(enum sim_call call)
{
    __atomic_store_n(&unsupported[call], 1, __ATOMIC_RELAXED);
}

const char *sim_calls_name(enum sim_call call)
{
    return names[call];
}
