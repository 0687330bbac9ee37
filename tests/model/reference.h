/* SPDX-License-Identifier: MIT
 * reference.h - what the cache must do, said the slow way: lists that are searched from end to end,
 * sums that are added up each time, a gate that reads its own history. It shares no code with the
 * cache but the finder of step ends, which has tests of its own, and the number of a place. */
#ifndef SC_TESTS_REFERENCE_H
#define SC_TESTS_REFERENCE_H

#include "cache/cache.h"
#include "cache/headroom.h"
#include "cache/step.h"

enum {
    REF_BLOCKS = 1200,
    REF_SHAPES = 640,
    REF_SLOTS = 256,
    REF_STEPS = 65536,
    REF_SCOPES = 8,
    REF_GOING = 256,
    REF_CEDED = 8192
};

typedef enum ref_state {
    REF_NONE,
    REF_RESERVED,
    REF_LIVE,
    REF_PARKING,
    REF_IDLE,
    REF_SPOILT, /* idle, exported or unused for too long: never served again */
    REF_GONE    /* forgotten while a call refers to it */
} ref_state;

/* Sets of states, for sums: bit i is state i. */
enum {
    REF_GRANTED_STATES = 1 << REF_LIVE | 1 << REF_PARKING,
    REF_WANTED_STATES = REF_GRANTED_STATES | 1 << REF_RESERVED,
    REF_IDLE_STATES = 1 << REF_IDLE | 1 << REF_SPOILT,
};

typedef struct ref_slot {
    double rate;
    uint64_t uses;
    uint64_t history; /* of uses since rate was 0: equal ones have equal rates to the last bit */
    bool is_ranked;   /* had its place when the order was made */
    uint64_t entry;   /* when it was filled, if it has a place but no rank; 0: it has none */
} ref_slot;

typedef struct ref_shape {
    bool is_known;
    bool is_granted; /* once, by the driver: before, it is no shape for the gate */
    sc_context context;
    uint64_t bytes;
    uint32_t site; /* part of the key where the rules say so */
    unsigned scope;
    uint32_t id;
    uint64_t last_step, stamp; /* stamp: order of first uses */
    uint64_t requests, hits, misses, evicted, high;
    sc_cover_mark cover;
    unsigned slot_count;
    ref_slot slots[REF_SLOTS];
} ref_shape;

typedef struct ref_block {
    ref_state state;
    bool is_exported;
    sc_address address;
    unsigned shape, slot;
    uint64_t parked; /* when */
} ref_block;

/* A buffer that was given back for headroom alone. */
typedef struct ref_ceded {
    uint32_t shape; /* its id */
    uint64_t step;
    uint64_t mapped;
} ref_ceded;

/* The requests between two frees: where they began, and what those missed that ask for headroom. */
typedef struct ref_stretch {
    uint64_t key;
    uint64_t small, large; /* mapped */
} ref_stretch;

/* A step as one gate saw it. */
typedef struct ref_past_step {
    uint64_t requests;
    bool is_new;      /* brought a shape, or ran out of memory */
    bool is_doubtful; /* its end was */
} ref_past_step;

/* One gate: of all shapes, or of those of one call site. */
typedef struct ref_scope {
    uint32_t site;
    sc_phase phase;
    sc_reason reason;
    uint64_t opened, closed; /* number of the first step after the last such change */
    uint64_t wanted;         /* quiet steps before opening */
    uint64_t last_quiet;
    ref_past_step steps[REF_STEPS];
} ref_scope;

typedef struct reference {
    sc_cache_rules rules;
    ref_block blocks[REF_BLOCKS];
    unsigned block_top; /* those from here on were never used */
    ref_shape shapes[REF_SHAPES];
    uint64_t going[REF_GOING]; /* bytes of buffers taken and not gone, 0: none */
    uint64_t taken[64];        /* by the call that runs */
    unsigned taken_count;
    struct {
        uint64_t peak; /* most live */
        uint64_t requests, evictions;
    } steps[REF_STEPS];
    uint64_t step;
    sc_step_source source;
    sc_step inference;
    ref_scope scopes[REF_SCOPES]; /* the first for what has none of its own, then as they came */
    unsigned scope_count;
    bool is_scoped, is_first_used;
    sc_phase phase;                /* the device's */
    sc_reason reason;              /* of the last change that the observer was told of */
    ref_stretch stretch, foreseen; /* the running one; what it was the last time */
    ref_stretch stretches[SC_HEADROOM_PLACES]; /* the last time, where that was not nothing */
    unsigned stretch_count;
    uint32_t freed_before;
    uint64_t foresights; /* stretches that were foreseen to miss something */
    uint64_t surprises;
    uint64_t surprise[2]; /* largest of this step and of the one before */
    ref_ceded ceded[REF_CEDED];
    unsigned ceded_count;
    uint32_t gone[REF_CEDED]; /* shapes of those that were given back so in this stretch */
    unsigned gone_count;
    sc_tally tally, finished;
    uint64_t steps_in[SC_PHASE_COUNT];
    uint64_t fallbacks, ooms, forgotten, changes;
    uint64_t next_id, next_stamp, next_entry;
    uint64_t order_made; /* 1 + step */
    uint64_t look_at;
    uint64_t held_when_asked, free_when_asked;
    bool was_asked;
} reference;

reference *ref_new(const sc_cache_rules *rules);

sc_answer ref_request(reference *ref, sc_request request, ref_block **block);
bool ref_allocated(reference *ref, ref_block *block, sc_address address);
void ref_failed(reference *ref, ref_block *block);
sc_free_answer ref_free(reference *ref, sc_address address, bool is_passing, ref_block **block);
bool ref_park(reference *ref, ref_block *block, uint64_t now);
void ref_tick(reference *ref, uint64_t now);
void ref_driver_free(reference *ref, uint64_t bytes);
bool ref_unpark(reference *ref, ref_block *block);
bool ref_wants(const reference *ref, sc_take why);
/* The cache picked `address`. NULL: rightly, and it is on its way now; else what is wrong with it.
 */
const char *ref_take(reference *ref, sc_take why, sc_address address);
/* The cache's call has named all it takes; until now those did not count as held, to be the room
 * they make. */
void ref_took(reference *ref);
void ref_gone(reference *ref, uint64_t bytes);
void ref_step_end(reference *ref);
bool ref_out_of_memory(reference *ref, uint64_t bytes);
void ref_close(reference *ref, sc_reason reason);
void ref_export(reference *ref, sc_address address);
void ref_forget(reference *ref, sc_address address);
void ref_forget_context(reference *ref, sc_context context);
void ref_totals(const reference *ref, sc_cache_totals *totals);

/* Between the files of the reference. */
unsigned ref_count_in(const reference *ref, unsigned states);
uint64_t ref_mapped_of(const reference *ref, unsigned states, bool with_going);
uint64_t ref_mapped_with(const reference *ref, unsigned states, bool with_going, uint64_t small,
                         uint64_t large);
bool ref_is_short(const reference *ref);
uint64_t ref_ceiling(const reference *ref, uint64_t live);
void ref_cede(reference *ref, const ref_shape *shape);
void ref_miss(reference *ref, const ref_shape *shape);
void ref_begin_stretch(reference *ref, uint32_t shape);
void ref_headroom(const reference *ref, uint64_t *small, uint64_t *large);
void ref_forget_ceded(reference *ref);
uint64_t ref_exact_live(const reference *ref);
void ref_note_peaks(reference *ref);
bool ref_shut(reference *ref, ref_scope *scope, sc_reason reason);
bool ref_closes(reference *ref, ref_scope *scope, sc_reason reason);
void ref_follow(reference *ref, sc_reason reason);
void ref_spoil(reference *ref, const ref_scope *scope);
unsigned ref_scope_of(reference *ref, uint32_t site);
void ref_declare(reference *ref, ref_scope *scope);
void ref_end_step(reference *ref);
void ref_add_tally(sc_tally *sum, const sc_tally *tally);
uint64_t ref_mapped(uint64_t bytes); /* one buffer's */
ref_block *ref_find(reference *ref, sc_address address);
bool ref_is_recent(const reference *ref, const ref_shape *shape);
bool ref_is_held(const ref_block *block);
bool ref_is_idle(const ref_block *block);
void ref_enter(reference *ref, ref_slot *slot);
const char *ref_judge(reference *ref, const ref_block *victim);

#endif
