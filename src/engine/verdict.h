/* SPDX-License-Identifier: MIT
 * verdict.h - what an out-of-memory looked like, why there was no room, and what may help.
 *
 * Pure: figures in, a word and a sentence out, so that every case can be a row of a test. Figures
 * are mapped bytes unless said otherwise and always add up:
 *
 *     live + idle + passed + other + free = total
 *
 * Advice never names what is in force already; where nothing honest is left to say it is empty. */
#ifndef SC_ENGINE_VERDICT_H
#define SC_ENGINE_VERDICT_H

#include "base/text.h"
#include "cache/gate.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum sc_verdict {
    SC_VERDICT_UNKNOWN,
    SC_VERDICT_TRIMMED,       /* idle memory was in the way; it went back, and that was enough */
    SC_VERDICT_GATE_OFF,      /* idle memory is kept because the user wants no gate */
    SC_VERDICT_CAPTURE,       /* idle memory could not go back: a capture is open */
    SC_VERDICT_TOO_BIG,       /* what is live leaves no room */
    SC_VERDICT_ELSEWHERE,     /* most is in this process's hands, but not in the cache's */
    SC_VERDICT_OTHER_PROCESS, /* most was in use before this process asked for anything */
    SC_VERDICT_FRAGMENTED,    /* enough is free, and the driver refused all the same */
    SC_VERDICT_COUNT
} sc_verdict;

enum { SC_OOM_SHAPES = 3, SC_OOM_LABEL_BYTES = 32 };

/* A shape that has, or got, much of what is live. */
typedef struct sc_holding {
    uint32_t id, site;
    uint64_t bytes;  /* exact, of one buffer */
    uint64_t count;  /* buffers live */
    uint64_t before; /* the most live in the step before; of `changed` only */
    uint64_t mapped; /* of all that are live; of `changed`, of those more than before */
    char label[SC_OOM_LABEL_BYTES];
} sc_holding;

/* What a framework's own allocator says of itself. */
typedef struct sc_allocator {
    bool is_known, is_expandable;
    uint64_t reserved, allocated, reserved_peak, allocated_peak; /* exact bytes */
} sc_allocator;

typedef struct sc_oom {
    uint64_t ns;    /* since the run began */
    uint64_t asked; /* exact bytes; 0: an allocation of another kind, whose size nobody told us */
    uint32_t site;
    uint64_t step;
    sc_phase phase;
    int result; /* what the program gets */
    bool is_retried, is_capturing;
    bool is_passed;   /* of an allocator that tries again by itself */
    bool is_measured; /* the driver said how much there is: total, free and what follows hold */
    uint64_t total, free, live, idle, passed, other;
    uint64_t passed_blocks;
    uint64_t at_start;  /* what was in use before this process's first allocation */
    uint64_t released;  /* idle memory that went back before the retry */
    uint64_t step_peak; /* the most live in any completed step; 0: there is none */
    uint64_t granted;   /* allocations that succeeded so far */
    uint64_t had;       /* live and passed then */
    sc_allocator allocator;
    sc_holding holders[SC_OOM_SHAPES], changed[SC_OOM_SHAPES];
    uint64_t holding, growing;           /* shapes in all of each kind */
    uint64_t held_listed, growth_listed; /* mapped bytes of those listed */
    uint64_t growth;                     /* of all that grew */
    sc_verdict verdict;
} sc_oom;

/* What is switched on already. */
typedef struct sc_in_force {
    bool is_gated;
    bool is_torch;      /* under run --torch, in whatever view */
    bool is_tensors;    /* its tensors come to the cache */
    bool is_offloading; /* run --offload */
    bool is_expandable; /* expandable_segments:True */
    const char *conf;   /* the variable in which PyTorch's settings are, or would be */
} sc_in_force;

/* Reads what PyTorch was told from `environment` (NAME=VALUE, NULL-terminated). */
void sc_in_force_read(sc_in_force *force, char *const *environment);

/* Makes the figures add up: free and total are the driver's, and where it counts less in use than
 * our rule for its pages does, it is right. */
void sc_oom_balance(sc_oom *oom);

sc_verdict sc_verdict_of(const sc_oom *oom, const sc_in_force *force);
const char *sc_verdict_word(sc_verdict verdict);
/* Why there was no room, in words. */
void sc_verdict_explain(sc_text *text, const sc_oom *oom);
/* What may help; appends nothing where nothing honest can be said. */
void sc_verdict_advise(sc_text *text, const sc_oom *oom, const sc_in_force *force);

#endif
