/* SPDX-License-Identifier: MIT
 * gate.h - decides, from what arrives, whether the set of shapes is fixed.
 *
 * A pure state machine: events in, a verdict out; no clock, no memory, no lock (the caller's). It
 * opens (fixed) after WARMUP steps without a new shape and closes (fallback) at the first new one.
 * Each time it closes, the quiet it wants before opening again doubles, from REARM; the doubling is
 * forgotten once `fixed` has lasted 4 x the last quiet time, else one new shape in a thousand steps
 * would in the end keep it closed for good.
 *
 * Invariant: OFF is final. */
#ifndef SC_CACHE_GATE_H
#define SC_CACHE_GATE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum sc_phase {
#define PHASE(symbol, word, meaning) SC_PHASE_##symbol,
#include "cache/phase.def"
    SC_PHASE_COUNT
} sc_phase;

typedef enum sc_reason {
#define REASON(symbol, word, meaning) SC_REASON_##symbol,
#include "cache/phase.def"
    SC_REASON_COUNT
} sc_reason;

const char *sc_phase_word(sc_phase phase);
const char *sc_reason_word(sc_reason reason);

typedef struct sc_gate_rules {
    uint64_t warmup;     /* quiet steps before the first opening, at least 1 */
    uint64_t rearm;      /* quiet steps before the next one, doubling; 0: never */
    uint64_t max_shapes; /* widest set that still counts as fixed */
    bool is_gated;       /* false: open from the start and for ever */
} sc_gate_rules;

typedef struct sc_gate {
    sc_phase phase;
    sc_reason reason; /* of the last change */
    sc_gate_rules rules;
    uint64_t quiet;      /* steps in a row without a new shape */
    uint64_t wanted;     /* quiet steps before opening */
    uint64_t last_quiet; /* what the last opening had waited for */
    uint64_t open_steps; /* since the last opening */
    uint64_t thrashing;  /* steps in a row that evicted more than half of what they asked for */
    bool is_step_new;    /* this step brought a new shape */
} sc_gate;

/* What one finished step looked like. */
typedef struct sc_gate_step {
    uint64_t requests; /* 0: none came of what the gate is for */
    uint64_t evictions;
    uint64_t shapes;  /* distinct ones used in the last MAX_AGE steps */
    bool is_doubtful; /* perhaps no step: not counted as a quiet one */
} sc_gate_step;

void sc_gate_init(sc_gate *gate, sc_gate_rules rules);
/* The set is known before anything arrives: open from the start. Nothing without a gate. */
void sc_gate_declare(sc_gate *gate);
/* Each returns whether the phase changed; gate->reason says why. */
bool sc_gate_new_shape(sc_gate *gate);
bool sc_gate_step_end(sc_gate *gate, sc_gate_step step);
bool sc_gate_out_of_memory(sc_gate *gate); /* one that needed a trim */
bool sc_gate_close_for_good(sc_gate *gate, sc_reason reason);

#endif
