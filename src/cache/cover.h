/* SPDX-License-Identifier: MIT
 * cover.h - tells from the shapes asked for alone when all of them have come back: the second of
 * the two kinds of evidence that a training step has ended (see step.h).
 *
 * Requests are cut into rounds. A round is over when every recurring shape that was asked for in
 * the round before it has been asked for again; a shape recurs if it was asked for in two rounds.
 * What else a round asked for is awaited in the next, so rounds grow until each of them holds all
 * that the program asks for in turn, however long that takes. Of a program that asks for
 * "aaabbbccc" again and again:
 *
 *      ... | ccaaab | bbccca | aabbbc | ccaaab | bbccca | ...
 *
 * Shapes that never come back would be awaited for ever: a round is also over when it is as long as
 * the whole run was when its last new shape came. And none is shorter than eight requests.
 *
 * Each shape carries a mark, so a request costs the same however many shapes there are. A shape
 * that is forgotten while it is awaited makes that round a long one. Pure; the caller locks. */
#ifndef SC_CACHE_COVER_H
#define SC_CACHE_COVER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sc_cover_mark {
    uint64_t round; /* the last one that asked for the shape; 0: none yet */
    bool recurs;
} sc_cover_mark;

typedef struct sc_cover {
    uint64_t round;    /* from 1 */
    uint64_t requests; /* in this round */
    uint64_t awaited;  /* recurring shapes of the round before, not asked for in this one */
    uint64_t asked;    /* recurring shapes asked for in this round */
    uint64_t total;    /* requests in all */
    uint64_t new_at;   /* `total` when the last new shape came */
} sc_cover;

void sc_cover_init(sc_cover *cover);

/* A request arrives. True: a round was over just before it. */
bool sc_cover_next(sc_cover *cover);

/* It asks for the shape of `mark`, zero for one never seen. One that does not `count` is never new.
 */
static inline void sc_cover_ask(sc_cover *cover, sc_cover_mark *mark, bool counts)
{
    cover->requests++;
    cover->total++;
    if (mark->round == cover->round)
        return;
    if (mark->round == 0 && counts)
        cover->new_at = cover->total;
    if (mark->recurs && mark->round == cover->round - 1)
        cover->awaited--;
    mark->recurs = mark->round != 0;
    mark->round = cover->round;
    cover->asked += mark->recurs;
}

/* Requests since the last new shape. */
static inline uint64_t sc_cover_quiet(const sc_cover *cover)
{
    return cover->total - cover->new_at;
}

#endif
