/* SPDX-License-Identifier: MIT */
#include "cache/cover.h"

enum { SHORTEST = 8 }; /* requests: one buffer replaced again and again is no turn */

void sc_cover_init(sc_cover *cover)
{
    *cover = (sc_cover){.round = 1};
}

bool sc_cover_next(sc_cover *cover)
{
    if (cover->requests < SHORTEST || (cover->awaited > 0 && cover->requests < cover->new_at))
        return false;
    cover->round++;
    cover->awaited = cover->asked;
    cover->asked = 0;
    cover->requests = 0;
    return true;
}
