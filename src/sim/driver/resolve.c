/* SPDX-License-Identifier: MIT
 * resolve.c - without cuda.h: the table needs every exported symbol's address and no symbol's type.
 */
#include "resolve.h"

#include <string.h>

#include "settings.h"

enum flavour { FLAVOUR_legacy, FLAVOUR_thread };

#define CALL(name) void name(void);
#include "calls.def"
#undef CALL

static const struct entry {
    const char *base;
    enum flavour flavour;
    int version;
    void (*function)(void);
} entries[] = {
#define ENTRY(base, flavour, version, symbol) {#base, FLAVOUR_##flavour, version, symbol},
#include "resolve.def"
#undef ENTRY
};

#define ENTRIES (sizeof entries / sizeof *entries)

/* The first row of `name`, ENTRIES if there is none: the table is sorted by base name. */
static size_t first_row(const char *name)
{
    size_t low = 0, high = ENTRIES;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(entries[middle].base, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The newest entry of that flavour for `version`; *known: there is one for some version. */
static const struct entry *newest(const char *name, int version, enum flavour flavour, bool *known)
{
    const struct entry *best = NULL;

    for (size_t i = first_row(name); i < ENTRIES && strcmp(entries[i].base, name) == 0; i++) {
        const struct entry *entry = &entries[i];

        if (entry->flavour != flavour || entry->version > (int)sim_settings()->version)
            continue;
        *known = true;
        if (entry->version <= version && (!best || entry->version > best->version))
            best = entry;
    }
    return best;
}

enum sim_resolved sim_resolve(const char *name, int version, bool per_thread, void **function)
{
    const struct entry *found = NULL;
    bool known = false;

    *function = NULL;
    if (per_thread)
        found = newest(name, version, FLAVOUR_thread, &known);
    if (!found)
        found = newest(name, version, FLAVOUR_legacy, &known);
    if (!found)
        return known ? SIM_TOO_OLD : SIM_UNKNOWN_NAME;
    memcpy(function, &found->function, sizeof *function);
    return SIM_RESOLVED;
}
