/* SPDX-License-Identifier: MIT */
#include "engine/site.h"
#include "base/map.h"
#include "engine/process.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 14, PROBES = 64, TEXT_BYTES = 512 };

typedef struct site {
    atomic_uintptr_t caller; /* 0: free */
    _Atomic(const char *) text;
    atomic_bool is_mentioned;
} site;

static site sites[SLOTS];

static void find_text(site *found, const void *caller)
{
    const sc_engine_host *host = atomic_load(&sc_process_self.host);
    char text[TEXT_BYTES];
    const char *none = NULL;
    char *copy = NULL;

    if (host->site_text && host->site_text(caller, text, sizeof text))
        copy = strdup(text);
    /* several threads may have come here at once: the first one's text stays */
    if (!atomic_compare_exchange_strong(&found->text, &none, copy ? copy : ""))
        free(copy);
}

uint32_t sc_site_number(const void *caller)
{
    uintptr_t key = (uintptr_t)caller;
    uint64_t hash = sc_hash(key);

    if (!key)
        return 0;
    for (unsigned i = 0; i < PROBES; i++) {
        uint32_t slot = (uint32_t)((hash + i) & (SLOTS - 1));
        uintptr_t have = atomic_load_explicit(&sites[slot].caller, memory_order_acquire);

        if (!have && atomic_compare_exchange_strong(&sites[slot].caller, &have, key))
            have = key;
        if (have != key)
            continue;
        if (!atomic_load_explicit(&sites[slot].text, memory_order_acquire))
            find_text(&sites[slot], caller);
        return slot + 1;
    }
    return 0;
}

const char *sc_site_text(uint32_t number)
{
    const char *text = number ? atomic_load(&sites[number - 1].text) : NULL;

    return text && *text ? text : NULL;
}

bool sc_site_is_first_mention(uint32_t number)
{
    return !atomic_exchange(&sites[number - 1].is_mentioned, true);
}

void sc_site_forget_mention(uint32_t number)
{
    atomic_store(&sites[number - 1].is_mentioned, false);
}
