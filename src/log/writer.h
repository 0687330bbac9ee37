/* SPDX-License-Identifier: MIT
 * writer.h - one log file of one process, bounded in size.
 *
 * Each write is one write(2) of whole lines to a file opened with O_APPEND: what the kernel took
 * survives SIGKILL. A file is never overwritten and never shared (path.h), and its descriptor has a
 * high number, where the program meets it least. At three quarters of `most` it gives up
 * `is_detailed`, where that was on, and from there on the writer doubles `every` each time a
 * sixteenth of what is left is used up, and it keeps the last MiB for records that must not be
 * lost; what does not fit is counted. A write error closes the log for good, and so does a program
 * that has closed the descriptor: the number may be its own file by now. The program goes on.
 *
 *     0                               3/4 most   every doubles |   |   |   |      most
 *     |----------- every row ------------|---|---|---|---|---|---|---|---|-- kept --|
 *
 * The caller locks; nothing is allocated. In a forked child it is never called. */
#ifndef SC_LOG_WRITER_H
#define SC_LOG_WRITER_H

#include "base/path.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct sc_log {
    int fd;       /* -1: closed */
    dev_t device; /* what it is a descriptor of */
    ino_t inode;
    char path[SC_PATH_BYTES];
    uint64_t written, most;
    uint64_t every;     /* write a row for every n-th step */
    bool is_detailed;   /* rows of single requests are wanted; set by the caller after opening */
    uint64_t double_at; /* where `every` doubles next */
    uint64_t dropped;   /* bytes that did not fit */
} sc_log;

/* 0, or errno. `every` >= 1. */
int sc_log_open(sc_log *log, const char *format, const sc_identity *identity, uint64_t most,
                uint64_t every);
/* Whole lines. `must_keep`: may use the reserved last MiB. */
void sc_log_write(sc_log *log, const char *lines, size_t bytes, bool must_keep);
/* True when lines that need not be kept no longer fit. */
bool sc_log_is_tight(const sc_log *log, size_t bytes);
void sc_log_close(sc_log *log);

#endif
