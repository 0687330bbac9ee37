/* SPDX-License-Identifier: MIT */
#include "cache/gate.h"

const char *sc_phase_word(sc_phase phase)
{
    static const char *const words[] = {
#define PHASE(symbol, word, meaning) word,
#include "cache/phase.def"
    };
    return words[phase];
}

const char *sc_reason_word(sc_reason reason)
{
    static const char *const words[] = {
#define REASON(symbol, word, meaning) word,
#include "cache/phase.def"
    };
    return words[reason];
}

void sc_gate_init(sc_gate *gate, sc_gate_rules rules)
{
    *gate = (sc_gate){
        .rules = rules,
        .phase = rules.is_gated ? SC_PHASE_WARMUP : SC_PHASE_FIXED,
        .reason = SC_REASON_USER,
        .wanted = rules.warmup,
    };
}

static void enter_fixed(sc_gate *gate)
{
    bool is_first = gate->phase == SC_PHASE_WARMUP;

    gate->reason = is_first ? SC_REASON_SET_FIXED : SC_REASON_REARM;
    gate->phase = SC_PHASE_FIXED;
    gate->last_quiet = gate->wanted;
    gate->open_steps = 0;
    gate->thrashing = 0;
    /* What the next opening will want, unless this one lasts. */
    if (is_first)
        gate->wanted = gate->rules.rearm;
    else if (gate->wanted <= UINT64_MAX / 2)
        gate->wanted *= 2;
}

void sc_gate_declare(sc_gate *gate)
{
    if (gate->phase != SC_PHASE_WARMUP)
        return;
    enter_fixed(gate);
    gate->reason = SC_REASON_DECLARED;
}

/* `a` >= 4 x `b`, whatever b. */
static bool is_four_times(uint64_t a, uint64_t b)
{
    return a / 4 >= b;
}

static void enter_fallback(sc_gate *gate, sc_reason reason)
{
    gate->phase = SC_PHASE_FALLBACK;
    gate->reason = reason;
    gate->quiet = 0;
    if (is_four_times(gate->open_steps, gate->last_quiet))
        gate->wanted = gate->rules.rearm;
}

bool sc_gate_new_shape(sc_gate *gate)
{
    gate->is_step_new = true;
    if (gate->phase != SC_PHASE_FIXED || !gate->rules.is_gated)
        return false;
    enter_fallback(gate, SC_REASON_NEW_SHAPE);
    return true;
}

static bool end_fixed(sc_gate *gate, sc_gate_step step)
{
    gate->open_steps++;
    gate->thrashing = step.evictions > step.requests / 2 ? gate->thrashing + 1 : 0;
    if (step.shapes > gate->rules.max_shapes) {
        enter_fallback(gate, SC_REASON_TOO_MANY_SHAPES);
        return true;
    }
    if (gate->thrashing >= gate->rules.warmup) {
        enter_fallback(gate, SC_REASON_THRASH);
        return true;
    }
    return false;
}

static bool end_quiet(sc_gate *gate, sc_gate_step step)
{
    bool never = gate->phase == SC_PHASE_FALLBACK && gate->rules.rearm == 0;

    if (step.is_doubtful)
        return false;
    gate->quiet++;
    if (never || gate->quiet < gate->wanted || step.shapes > gate->rules.max_shapes)
        return false;
    enter_fixed(gate);
    return true;
}

bool sc_gate_step_end(sc_gate *gate, sc_gate_step step)
{
    bool is_new = gate->is_step_new;

    gate->is_step_new = false;
    if (!gate->rules.is_gated || gate->phase == SC_PHASE_OFF || step.requests == 0) {
        return false; /* a step that asks for nothing says nothing about what the next will ask for
                       */
    }
    if (gate->phase == SC_PHASE_FIXED)
        return end_fixed(gate, step);
    if (is_new) {
        gate->quiet = 0;
        return false;
    }
    return end_quiet(gate, step);
}

bool sc_gate_out_of_memory(sc_gate *gate)
{
    if (gate->phase != SC_PHASE_FIXED || !gate->rules.is_gated)
        return false;
    gate->is_step_new = true; /* the rest of this step is no sign of quiet */
    enter_fallback(gate, SC_REASON_OOM);
    return true;
}

bool sc_gate_close_for_good(sc_gate *gate, sc_reason reason)
{
    if (gate->phase == SC_PHASE_OFF)
        return false;
    gate->phase = SC_PHASE_OFF;
    gate->reason = reason;
    return true;
}
