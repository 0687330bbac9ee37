/* SPDX-License-Identifier: MIT
 * Room kept ahead of the reference's next misses: what was given back for it, and what the
 * stretches between two frees have missed, by the places where they began. */
#include "model/reference.h"
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)

/* One whose shape has ceded in an earlier step begins anew. */
void ref_cede(reference *ref, const ref_shape *shape)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < ref->ceded_count; i++)
        if (ref->ceded[i].shape != shape->id || ref->ceded[i].step == ref->step)
            ref->ceded[kept++] = ref->ceded[i];
    if (kept == REF_CEDED)
        abort(); /* the test is to be smaller */
    ref->ceded[kept] = (ref_ceded){shape->id, ref->step, ref_mapped(shape->bytes)};
    ref->ceded_count = kept + 1;
    if (ref->gone_count == REF_CEDED)
        abort();
    ref->gone[ref->gone_count++] = shape->id;
}

void ref_forget_ceded(reference *ref)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < ref->ceded_count; i++)
        if (ref->ceded[i].step + 1 >= ref->step)
            ref->ceded[kept++] = ref->ceded[i];
    ref->ceded_count = kept;
}

/* Whether a miss of `shape`, just reserved, would not have fitted had nothing been ceded. */
static bool is_real(reference *ref, const ref_shape *shape)
{
    uint64_t live = ref_mapped_of(ref, REF_WANTED_STATES, false);
    uint64_t small = 0, large = 0;

    for (unsigned i = 0; i < ref->ceded_count; i++) {
        if (ref->ceded[i].shape == shape->id) {
            ref->ceded[i] = ref->ceded[--ref->ceded_count];
            break;
        }
    }
    for (unsigned i = 0; i < ref->ceded_count; i++)
        *(ref->ceded[i].mapped < 2 * MIB ? &small : &large) += ref->ceded[i].mapped;
    return ref_mapped_with(ref, REF_WANTED_STATES | REF_IDLE_STATES, false, small, large) >
           ref_ceiling(ref, live);
}

/* Whether one of `shape` has gone for headroom in this stretch; the miss makes up for it. */
static bool has_just_gone(reference *ref, const ref_shape *shape)
{
    for (unsigned i = 0; i < ref->gone_count; i++) {
        if (ref->gone[i] == shape->id) {
            ref->gone[i] = ref->gone[--ref->gone_count];
            return true;
        }
    }
    return false;
}

static ref_stretch *find(reference *ref, uint64_t key)
{
    for (unsigned i = 0; i < ref->stretch_count; i++)
        if (ref->stretches[i].key == key)
            return &ref->stretches[i];
    return NULL;
}

static void forget(reference *ref, ref_stretch *stretch)
{
    if (stretch)
        *stretch = ref->stretches[--ref->stretch_count];
}

/* The running stretch is over: what it missed is what the next one from there will. Of two places
 * that share a number the later one stays. */
static void learn(reference *ref)
{
    const ref_stretch *now = &ref->stretch;

    forget(ref, find(ref, now->key));
    if (now->small == 0 && now->large == 0)
        return;
    for (unsigned i = 0; i < ref->stretch_count; i++) {
        if (ref->stretches[i].key % SC_HEADROOM_PLACES == now->key % SC_HEADROOM_PLACES) {
            forget(ref, &ref->stretches[i]);
            break;
        }
    }
    ref->stretches[ref->stretch_count++] = *now;
}

void ref_begin_stretch(reference *ref, uint32_t shape)
{
    const ref_stretch *former;

    learn(ref);
    ref->gone_count = 0;
    ref->stretch =
        (ref_stretch){.key = sc_headroom_key(ref_exact_live(ref), shape, ref->freed_before)};
    ref->freed_before = shape;
    former = find(ref, ref->stretch.key);
    ref->foreseen = former ? *former : (ref_stretch){0};
    ref->foresights += former != NULL;
}

void ref_miss(reference *ref, const ref_shape *shape)
{
    uint64_t mapped = ref_mapped(shape->bytes);
    bool is_small = shape->bytes < MIB;
    bool is_counted = is_real(ref, shape);

    if (has_just_gone(ref, shape) || !is_counted)
        return;
    *(is_small ? &ref->stretch.small : &ref->stretch.large) += mapped;
    if (is_small ? ref->stretch.small <= ref->foreseen.small
                 : ref->stretch.large <= ref->foreseen.large) {
        ref->surprises = ref->surprises ? ref->surprises - 1 : 0;
        return;
    }
    ref->surprises = ref->surprises < 128 ? ref->surprises + 1 : 128;
    ref->surprise[0] = mapped > ref->surprise[0] ? mapped : ref->surprise[0];
}

/* What to keep free of each kind, but for the bound. */
void ref_headroom(const reference *ref, uint64_t *small, uint64_t *large)
{
    const ref_stretch *will = &ref->foreseen, *did = &ref->stretch;
    uint64_t largest = ref->surprise[0] > ref->surprise[1] ? ref->surprise[0] : ref->surprise[1];
    uint64_t *kind = largest < 2 * MIB ? small : large;

    *small = will->small > did->small ? will->small - did->small : 0;
    *large = will->large > did->large ? will->large - did->large : 0;
    if (ref->surprises >= 64 && *kind < largest)
        *kind = largest;
}
