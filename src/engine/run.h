/* SPDX-License-Identifier: MIT
 * run.h - the log's first record: what runs, where, and with which settings.
 *
 * Written once, by start, straight into the log's file. Asks the driver about the current device.
 */
#ifndef SC_ENGINE_RUN_H
#define SC_ENGINE_RUN_H

void sc_run_record(void);

#endif
