/* SPDX-License-Identifier: MIT */
#include "cache/peak.h"
#include <stdlib.h>

bool sc_peak_init(sc_peak *peak, uint64_t window)
{
    *peak = (sc_peak){.window = window};
    peak->steps = calloc(window, sizeof(*peak->steps));
    return peak->steps != NULL;
}

void sc_peak_release(sc_peak *peak)
{
    free(peak->steps);
    *peak = (sc_peak){0};
}

void sc_peak_push(sc_peak *peak, uint64_t step, uint64_t bytes)
{
    /* Step `step` + 1 runs now, so the oldest that still counts is `step` + 2 - window. */
    while (peak->count > 0 && peak->steps[peak->first].step + peak->window < step + 2) {
        peak->first = (peak->first + 1) % peak->window;
        peak->count--;
    }
    if (peak->window == 1)
        return;
    while (peak->count > 0 &&
           peak->steps[(peak->first + peak->count - 1) % peak->window].bytes <= bytes)
        peak->count--;
    peak->steps[(peak->first + peak->count++) % peak->window] = (sc_peak_step){step, bytes};
}
