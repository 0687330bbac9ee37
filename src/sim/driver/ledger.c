/* SPDX-License-Identifier: MIT */
#include "ledger.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST_UNMAPPED                                                                              \
    1024 /* records kept though their memory is gone, so that reports name them                    \
          */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
static struct sim_record **table;
static size_t used, capacity;
static struct sim_record *unmapped[MOST_UNMAPPED]; /* a ring; each is held */
static uint64_t unmapped_ever;
static struct sim_record *passing; /* reused ones that operations still claim; each is held */
static uint64_t last_number;

static void hold(struct sim_record *record)
{
    atomic_fetch_add(&record->references, 1);
}

static bool let_go(struct sim_record *record)
{
    return atomic_fetch_sub(&record->references, 1) == 1;
}

/* Former owners that nobody else holds go with the record, and theirs with them. */
void sim_ledger_put(struct sim_record *record)
{
    struct sim_record *dead = NULL;

    if (let_go(record)) {
        record->next = NULL;
        dead = record;
    }
    while (dead) {
        record = dead;
        dead = record->next;
        for (size_t i = 0; i < record->former_count; i++)
            if (let_go(record->formers[i])) {
                record->formers[i]->next = dead;
                dead = record->formers[i];
            }
        free(record->formers);
        free(record);
    }
}

/* Index of the first record that ends behind `address`. */
static size_t first_behind(uintptr_t address)
{
    size_t low = 0, high = used;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (table[middle]->address + table[middle]->bytes > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool overlaps(const struct sim_record *record, uintptr_t address, size_t bytes)
{
    return record->address < address ? address - record->address < record->bytes
                                     : record->address - address < bytes;
}

/* The first record that has some of these bytes. */
static struct sim_record *overlapping(uintptr_t address, size_t bytes)
{
    size_t i = first_behind(address);

    return i < used && overlaps(table[i], address, bytes) ? table[i] : NULL;
}

static bool reserve(void)
{
    size_t wanted = capacity > 0 ? 2 * capacity : 256;
    struct sim_record **grown;

    if (used < capacity)
        return true;
    grown = realloc(table, wanted * sizeof(struct sim_record *));
    if (!grown)
        return false;
    table = grown;
    capacity = wanted;
    return true;
}

static void list(struct sim_record *record)
{
    size_t at = first_behind(record->address);

    memmove(table + at + 1, table + at, (used - at) * sizeof(struct sim_record *));
    table[at] = record;
    used++;
    record->listed = true;
}

static void unlist(struct sim_record *record)
{
    size_t at = first_behind(record->address);

    used--;
    memmove(table + at, table + at + 1, (used - at) * sizeof(struct sim_record *));
    record->listed = false;
    sim_ledger_put(record);
}

/* Where there is no memory for it, one early use may go unseen. */
static void add_former(struct sim_record *heir, struct sim_record *former)
{
    struct sim_record **grown =
        realloc(heir->formers, (heir->former_count + 1) * sizeof(struct sim_record *));

    if (!grown)
        return;
    heir->formers = grown;
    heir->formers[heir->former_count++] = former;
    hold(former);
}

static bool is_claimed(const struct sim_record *record)
{
    return atomic_load(&record->claims) > 0;
}

/* Lets go of former owners that nobody claims any more: their chain would never end. */
static void prune(struct sim_record *record)
{
    size_t kept = 0;

    for (size_t i = 0; i < record->former_count; i++)
        if (is_claimed(record->formers[i]) && is_claimed(record))
            record->formers[kept++] = record->formers[i];
        else
            sim_ledger_put(record->formers[i]);
    record->former_count = kept;
}

static void forget_done(void)
{
    struct sim_record **link = &passing;

    while (*link) {
        struct sim_record *record = *link;

        prune(record);
        if (is_claimed(record)) {
            link = &record->next;
        } else {
            *link = record->next;
            sim_ledger_put(record);
        }
    }
}

/* `heir` has been given memory of `record`, and perhaps others will be given the rest. */
static void succeed(struct sim_record *record, const struct sim_record *heir)
{
    if (is_claimed(record)) {
        record->next = passing;
        passing = record;
        hold(record);
    }
    atomic_store(&record->heir, heir->number);
    atomic_store(&record->state, SIM_REUSED);
    unlist(record);
}

bool sim_ledger_add(uintptr_t address, size_t bytes, uint64_t *twice)
{
    struct sim_record *record = calloc(1, sizeof *record);
    struct sim_record *old;
    bool fits;

    *twice = 0;
    pthread_mutex_lock(&lock);
    last_number++;
    fits = record && reserve();
    if (fits) {
        record->references = 1;
        record->address = address;
        record->bytes = bytes;
        record->number = last_number;
        while ((old = overlapping(address, bytes))) {
            if (atomic_load(&old->state) == SIM_LIVE)
                *twice = old->number;
            succeed(old, record);
        }
        forget_done();
        for (old = passing; old; old = old->next)
            if (overlaps(old, address, bytes))
                add_former(record, old);
        list(record);
    }
    pthread_mutex_unlock(&lock);
    if (!fits)
        free(record);
    return fits;
}

struct sim_record *sim_ledger_begin(uintptr_t address)
{
    struct sim_record *record;

    pthread_mutex_lock(&lock);
    record = overlapping(address, 1);
    if (record && record->address == address && atomic_load(&record->state) == SIM_LIVE) {
        atomic_store(&record->state, SIM_FREEING);
        hold(record);
    } else {
        record = NULL;
    }
    pthread_mutex_unlock(&lock);
    return record;
}

void sim_ledger_finish(struct sim_record *record, bool freed)
{
    pthread_mutex_lock(&lock);
    if (!freed)
        atomic_store(&record->ordered, false);
    if (atomic_load(&record->state) == SIM_FREEING && !atomic_load(&record->ordered))
        atomic_store(&record->state, freed ? SIM_FREED : SIM_LIVE);
    pthread_mutex_unlock(&lock);
    sim_ledger_put(record);
}

struct sim_record *sim_ledger_order(uintptr_t address)
{
    struct sim_record *record;

    pthread_mutex_lock(&lock);
    record = overlapping(address, 1);
    if (record && record->address == address && atomic_load(&record->state) == SIM_FREEING) {
        atomic_store(&record->ordered, true);
        hold(record);
    } else {
        record = NULL;
    }
    pthread_mutex_unlock(&lock);
    return record;
}

void sim_ledger_pass(struct sim_record *record)
{
    pthread_mutex_lock(&lock);
    atomic_store(&record->passed, true);
    if (atomic_load(&record->state) == SIM_FREEING)
        atomic_store(&record->state, SIM_FREED);
    pthread_mutex_unlock(&lock);
}

struct sim_record *sim_ledger_find(uintptr_t address)
{
    struct sim_record *record;

    pthread_mutex_lock(&lock);
    record = overlapping(address, 1);
    if (record)
        hold(record);
    pthread_mutex_unlock(&lock);
    return record;
}

struct sim_record *sim_ledger_next_live(uintptr_t address)
{
    struct sim_record *found = NULL;

    pthread_mutex_lock(&lock);
    for (size_t i = first_behind(address); i < used && !found; i++)
        if (atomic_load(&table[i]->state) == SIM_LIVE)
            found = table[i];
    if (found)
        hold(found);
    pthread_mutex_unlock(&lock);
    return found;
}

void sim_ledger_claim(const struct sim_touch *touches, size_t count, struct sim_claim *claims)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        struct sim_record *record =
            touches[i].bytes > 0 ? overlapping(touches[i].address, touches[i].bytes) : NULL;

        claims[i] = (struct sim_claim){.record = record};
        if (!record)
            continue;
        claims[i].late = atomic_load(&record->state) != SIM_LIVE;
        atomic_fetch_add(&record->claims, 1);
        hold(record);
    }
    pthread_mutex_unlock(&lock);
}

void sim_ledger_release(struct sim_claim *claims, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (claims[i].record) {
            atomic_fetch_sub(&claims[i].record->claims, 1);
            sim_ledger_put(claims[i].record);
        }
}

uint64_t sim_ledger_unfinished(struct sim_record *record, const struct sim_touch *touch)
{
    uint64_t number = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < record->former_count && number == 0; i++)
        if (overlaps(record->formers[i], touch->address, touch->bytes) &&
            atomic_load(&record->formers[i]->claims) > 0)
            number = record->formers[i]->number;
    pthread_mutex_unlock(&lock);
    return number;
}

/* Whoever knew the memory that was there before has nothing to do with what is there now. */
void sim_ledger_mapped(uintptr_t address, size_t bytes)
{
    struct sim_record *record;

    pthread_mutex_lock(&lock);
    while ((record = overlapping(address, bytes)) && record->unmapped)
        unlist(record);
    pthread_mutex_unlock(&lock);
}

static void remember_unmapped(struct sim_record *record)
{
    struct sim_record **slot = &unmapped[unmapped_ever++ % MOST_UNMAPPED];

    record->unmapped = true;
    if (*slot && (*slot)->listed)
        unlist(*slot);
    if (*slot)
        sim_ledger_put(*slot);
    *slot = record;
    hold(record);
}

/* What ends with its context, or was freed by a way around us, is freed too. */
void sim_ledger_unmapped(uintptr_t address, size_t bytes)
{
    struct sim_record *record;

    pthread_mutex_lock(&lock);
    for (size_t i = first_behind(address); i < used && overlaps(table[i], address, bytes);) {
        record = table[i];
        if (atomic_load(&record->state) == SIM_LIVE)
            atomic_store(&record->state, SIM_FREED);
        if (!record->unmapped)
            remember_unmapped(record);
        i = first_behind(record->address + record->bytes);
    }
    pthread_mutex_unlock(&lock);
}
