/* SPDX-License-Identifier: MIT */
#include "cache/scope.h"
#include <stdlib.h>

void sc_scopes_init(sc_scopes *scopes, const sc_gate_rules *rules)
{
    *scopes = (sc_scopes){.count = 1};
    sc_gate_init(&scopes->first.gate, *rules);
    scopes->in[scopes->first.gate.phase]++;
    scopes->phase = SC_PHASE_WARMUP; /* so that a first phase that is another is a change */
}

void sc_scopes_release(sc_scopes *scopes)
{
    for (sc_scope *scope = scopes->first.next; scope;) {
        sc_scope *next = scope->next;

        free(scope);
        scope = next;
    }
    sc_map_release(&scopes->by_site);
}

sc_scope *sc_scopes_find(const sc_scopes *scopes, uint32_t site)
{
    return sc_map_find(&scopes->by_site, site);
}

sc_scope *sc_scopes_add(sc_scopes *scopes, uint32_t site)
{
    sc_scope *scope = calloc(1, sizeof(*scope));

    if (!scope)
        return NULL;
    scope->site = site;
    sc_gate_init(&scope->gate, scopes->first.gate.rules);
    if (scopes->phase == SC_PHASE_OFF)
        (void)sc_gate_close_for_good(&scope->gate, scopes->first.gate.reason);
    if (!sc_map_put(&scopes->by_site, site, scope)) {
        free(scope);
        return NULL;
    }
    scope->next = scopes->first.next;
    scopes->first.next = scope;
    scopes->count++;
    scopes->in[scope->gate.phase]++;
    return scope;
}

void sc_scopes_moved(sc_scopes *scopes, const sc_scope *scope, sc_phase from)
{
    scopes->in[from]--;
    scopes->in[scope->gate.phase]++;
}

bool sc_scopes_follow(sc_scopes *scopes)
{
    static const sc_phase order[] = {SC_PHASE_FIXED, SC_PHASE_FALLBACK, SC_PHASE_WARMUP};
    sc_phase was = scopes->phase;

    scopes->phase = SC_PHASE_OFF;
    for (int i = 0; i < 3 && scopes->phase == SC_PHASE_OFF; i++)
        if (scopes->in[order[i]] > 0)
            scopes->phase = order[i];
    return scopes->phase != was;
}
