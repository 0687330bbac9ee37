/* SPDX-License-Identifier: MIT
 * logbook.h - the process's log: its file, the records that belong to no device, and stderr.
 *
 * Records of devices wait in their journals (journal.h), warnings and call sites in an outbox here.
 * sc_logbook_flush() collects all and writes. Its order matters: devices are collected first and
 * call sites after them but written before them, so that no line names a site the file has not
 * introduced.
 *
 * Locks, outermost first: the file's; a device's, for the swap only; the outbox's. Never under a
 * device's lock: write(2). Nothing is ever written while a capture is open or from inside a served
 * request. */
#ifndef SC_ENGINE_LOGBOOK_H
#define SC_ENGINE_LOGBOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void sc_logbook_load(void);    /* when the library is loaded: is there a stderr? */
void sc_logbook_open(void);    /* by start; says on stderr why it could not */
bool sc_logbook_is_open(void); /* false too after a write error: then no record need be made */
/* Rows of single requests are wanted: level event, while the log is open and has room for them. */
bool sc_logbook_has_events(void);
/* What need not be kept no longer fits. */
bool sc_logbook_is_tight(void);
const char *sc_logbook_path(void); /* NULL: none */
uint64_t sc_logbook_now(void);     /* ns since the run began */
uint64_t sc_logbook_every(void);   /* a step row for every n-th step */

/* A record and a line on stderr: something is not as it should be. Without locks. */
void sc_logbook_warn(const char *sentence);
/* The program marks this moment, on no device. Without locks. */
void sc_logbook_mark(const char *name);
/* The site's record, where this is its first mention. Any lock of a device may be held. */
void sc_logbook_site(uint32_t number);
/* Text and newline on stderr, with the process named first. Without locks. */
void sc_logbook_say(const char *text);

/* Straight into the file, after what waits; whole lines. Without locks. */
void sc_logbook_write(const char *lines, size_t bytes, bool must_keep);
/* Writes what waits, giving way to a flush that runs already, but for level event, at which nothing
 * may be lost. Without locks. */
void sc_logbook_flush(void);
/* The same at the end of the run, for certain, with a row for every shape. Without locks. */
void sc_logbook_flush_all(void);
/* Nothing is written any more, whatever other threads still do. Without locks. */
void sc_logbook_close(void);

#endif
