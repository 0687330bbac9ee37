/* SPDX-License-Identifier: MIT
 * scope.h - what one gate is for: the whole device, or the shapes of one call site.
 *
 * There is always the first scope. Without a gate per site it is the only one, and its phase is the
 * device's. With one per site it takes what comes from an unknown place, and the device's phase is
 * what the scopes leave of it:
 *
 *     one is FIXED -> FIXED; else one in FALLBACK -> FALLBACK; else WARMUP; closed for good -> OFF
 *
 * Scopes are as many as call sites, which are bounded, and are never forgotten. Invariant: `in`
 * counts them by phase. The caller locks. */
#ifndef SC_CACHE_SCOPE_H
#define SC_CACHE_SCOPE_H

#include "base/map.h"
#include "cache/gate.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct sc_scope {
    uint64_t requests; /* of the running step */
    sc_gate gate;
    uint64_t recent; /* shapes used in the last max_age steps, those below SMALL left out */
    uint32_t site;   /* number of the call site; 0: unknown, or all */
    struct sc_scope *next;
} sc_scope;

typedef struct sc_scopes {
    sc_scope first;
    sc_map by_site;     /* all but the first */
    uint32_t count;     /* all */
    bool is_first_used; /* with a gate per site: by something from an unknown place */
    uint32_t in[SC_PHASE_COUNT];
    sc_phase phase; /* the device's; sc_scopes_follow() makes it so */
} sc_scopes;

void sc_scopes_init(sc_scopes *scopes, const sc_gate_rules *rules);
void sc_scopes_release(sc_scopes *scopes);

/* The scope of `site`, which is not 0; NULL: there is none yet. */
sc_scope *sc_scopes_find(const sc_scopes *scopes, uint32_t site);
/* A new one, in the phase WARMUP, or OFF where the device is; NULL: out of memory. */
sc_scope *sc_scopes_add(sc_scopes *scopes, uint32_t site);

/* The gate of one of them has moved from `from`. */
void sc_scopes_moved(sc_scopes *scopes, const sc_scope *scope, sc_phase from);
/* The device's phase becomes what the scopes say. True: it is another one now. */
bool sc_scopes_follow(sc_scopes *scopes);

#endif
