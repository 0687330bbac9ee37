/* SPDX-License-Identifier: MIT
 * html_lane.h - what the page shows of one device of one process: its steps, its shapes over them,
 * and what stands at single steps, from a second reading of its log.
 *
 * The first reading (history.h) told how many steps there are and which shapes need most, so the
 * second needs no more memory than what is shown. */
#ifndef SC_CLI_HTML_LANE_H
#define SC_CLI_HTML_LANE_H

#include "cli/html_events.h"
#include "cli/html_presence.h"
#include "cli/html_steps.h"
#include "cli/report.h"

/* How much there is room for. */
typedef struct sc_html_room {
    unsigned lanes;                            /* of these many everything is told */
    unsigned steps, cells, rows, shapes, most; /* of each; `most`: of its call sites */
} sc_html_room;

typedef struct sc_html_lane {
    const sc_history *history;
    const sc_device *device;
    char label[64];
    bool is_full;
    sc_html_steps steps;
    sc_html_presence presence;
    sc_html_events *events;
} sc_html_lane;

/* For all lanes of a report together. */
sc_html_room sc_html_room_for(unsigned lanes);
void sc_html_lane_begin(sc_html_lane *lane, const sc_report *report, unsigned number,
                        const sc_html_room *room, uint64_t steps);
void sc_html_lane_add(sc_html_lane *lane, const sc_line *line);
/* The object that is open gets its members. */
void sc_html_lane_emit(sc_html_lane *lane, const sc_html_room *room);
void sc_html_lane_release(sc_html_lane *lane);

/* Its tables: all of them up to `most`, and what the others add up to. */
void sc_html_shapes_emit(const sc_history *history, const sc_device *device, unsigned most);
void sc_html_sites_emit(const sc_history *history, const sc_device *device, unsigned most);
/* The last times that the driver had no memory, as a list. */
void sc_html_incidents_emit(const sc_history *history, const sc_incidents *incidents);
void sc_html_arenas_emit(const sc_arenas *arenas, unsigned most); /* their records */

#endif
