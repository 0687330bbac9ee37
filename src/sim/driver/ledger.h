/* SPDX-License-Identifier: MIT
 * ledger.h - which memory is the program's own, by the calls that the program itself made.
 *
 * A cache between libcudart and this driver makes the driver's blocks useless for that: a block it
 * has parked is live here and the program's no more. So libcudart, above whatever wraps the driver,
 * says what it gave to the program and what it took back (../internal.h), and each of these
 * allocations is a record of its own: the same address given out again is another record. Ownership
 * moves one way:
 *
 *     live -> freeing (the free was called) -> freed (it returned) -> reused (given out again)
 *
 * (a free that fails goes back to live; memory that others are given while its free is on its way
 * skips "freed"; where the free is an operation of a stream, "freed" comes when that is done). An
 * operation claims the records it touches when it is enqueued and keeps them
 * until it is done; the judge compares what they are by then.
 *
 * The table holds the live records and, of the others, those whose memory is still mapped and the
 * last few whose is not, disjoint and in the order of their addresses. It has a lock of its own,
 * which may be taken under the lock of lock.h and under which nothing else is. A record is counted:
 * the table, every claim and a free on its way hold it. States are atomics, so that comparing needs
 * no lock. */
#ifndef SC_SIM_LEDGER_H
#define SC_SIM_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_ownership { SIM_LIVE, SIM_FREEING, SIM_FREED, SIM_REUSED };

struct sim_record {
    atomic_uint references;
    _Atomic enum sim_ownership state;
    atomic_uint claims;    /* of operations that are not done */
    atomic_bool ordered;   /* its free is an operation of a stream, and */
    atomic_bool passed;    /* that has been done */
    _Atomic uint64_t heir; /* the number of the record that was given its memory; 0: none */
    uintptr_t address;
    size_t bytes;
    uint64_t number; /* of the program's allocation calls, from 1 */
    /* Under the lock: */
    struct sim_record *next;     /* of those that are reused and still claimed */
    struct sim_record **formers; /* of those, whose memory it was given */
    size_t former_count;
    bool listed;   /* in the table */
    bool unmapped; /* its memory has left the driver */
};

/* What an operation touches. */
struct sim_touch {
    uintptr_t address;
    size_t bytes;
    bool writes;
};

/* Whose that was when it was enqueued. */
struct sim_claim {
    struct sim_record *record; /* NULL: nobody's that we know of */
    bool late;                 /* it had been given back by then */
};

/* The program has got these bytes. *twice: the number of a live record that has some of them, 0:
 * none. False: out of memory, nobody has them. */
bool sim_ledger_add(uintptr_t address, size_t bytes, uint64_t *twice);

/* The live record that begins at `address`, which is freeing from now on; NULL: there is none. The
 * caller holds it until sim_ledger_finish(), which says what came of the free. */
struct sim_record *sim_ledger_begin(uintptr_t address);
void sim_ledger_finish(struct sim_record *record, bool freed);

/* The record that begins at `address` and whose free is on its way: the free takes place in the
 * order of a stream, and work before it need not be done sooner. Held; NULL: none. The second says
 * that the stream has got there. */
struct sim_record *sim_ledger_order(uintptr_t address);
void sim_ledger_pass(struct sim_record *record);

/* The record whose bytes include `address`, whatever its state, or the first live one at or behind
 * it; held; NULL: none. */
struct sim_record *sim_ledger_find(uintptr_t address);
struct sim_record *sim_ledger_next_live(uintptr_t address);
void sim_ledger_put(struct sim_record *record);

/* Claims what an operation is about to be enqueued for; to be released when it is done. */
void sim_ledger_claim(const struct sim_touch *touches, size_t count, struct sim_claim *claims);
void sim_ledger_release(struct sim_claim *claims, size_t count);

/* The number of a record whose memory `touch` was before `record` had it and that an unfinished
 * operation claims; 0: none. */
uint64_t sim_ledger_unfinished(struct sim_record *record, const struct sim_touch *touch);

/* The driver has placed a block there, or is taking one away, whoever asked for it. */
void sim_ledger_mapped(uintptr_t address, size_t bytes);
void sim_ledger_unmapped(uintptr_t address, size_t bytes);

#endif
