/* SPDX-License-Identifier: MIT
 * outbox.h - records that wait to be written.
 *
 * Records arise inside requests, where nothing may be written and nothing allocated; they wait here
 * until a call in which the program itself would wait. Two buffers of fixed size: one fills while
 * the other is written. Where the buffer is full a record is dropped and counted; the last part is
 * for records that must not be lost, and where those lie is remembered, so that they can be written
 * alone into a log that is nearly full.
 *
 *     lines   |----- any record -----|-- must be kept --|
 *     spare   |---------- being written ----------------|   (a batch)
 *
 * The caller locks; a batch belongs to the one who swapped until the next swap, so swaps themselves
 * must not overlap with a write. */
#ifndef SC_ENGINE_OUTBOX_H
#define SC_ENGINE_OUTBOX_H

#include "log/record.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SC_OUTBOX_KEPT = 64 };

typedef struct sc_lines {
    sc_text text;
    unsigned kept;
    struct {
        size_t at, bytes;
    } keep[SC_OUTBOX_KEPT];
} sc_lines;

typedef struct sc_outbox {
    sc_lines lines[2];
    unsigned filling;
    size_t size;      /* of one buffer */
    uint64_t dropped; /* records */
    bool is_due;      /* holds a record that should not wait longer than the next chance */
} sc_outbox;

bool sc_outbox_init(sc_outbox *outbox, size_t size); /* false: out of memory */
void sc_outbox_release(sc_outbox *outbox);

sc_record sc_outbox_begin(sc_outbox *outbox, sc_event event, uint64_t t_ns, bool must_keep);
void sc_outbox_end(sc_outbox *outbox, sc_record *record, bool must_keep);

bool sc_outbox_is_half_full(const sc_outbox *outbox);
/* Bytes that wait. */
size_t sc_outbox_used(const sc_outbox *outbox);

/* What waited; its buffer is filled again after the next swap. */
const sc_lines *sc_outbox_swap(sc_outbox *outbox);

#endif
