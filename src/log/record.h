/* SPDX-License-Identifier: MIT
 * record.h - builds one line of the log (JSON Lines) from the fields of record.def.
 *
 * A record is begun, gets fields and is ended; the line is either whole or, when the buffer is
 * full, taken back entirely, so that a log never holds half a record. Integers stay integers. The
 * caller owns the text and locks it. */
#ifndef SC_LOG_RECORD_H
#define SC_LOG_RECORD_H

#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum sc_event {
#define EVENT(symbol, name, meaning) SC_EV_##symbol,
#include "log/record.def"
    SC_EV_COUNT
} sc_event;

typedef enum sc_field {
#define FIELD(symbol, name, type, meaning) SC_F_##symbol,
#include "log/record.def"
    SC_F_COUNT
} sc_field;

/* How the warning begins that requests of a framework's own cache pass: readers look for it. */
#define SC_WARN_HOARDER "PyTorch's allocator keeps a cache of its own"

const char *sc_event_name(sc_event event);
const char *sc_field_name(sc_field field);

typedef struct sc_record {
    sc_text *text;
    size_t start; /* where the line begins: where a full buffer is cut back to */
} sc_record;

sc_record sc_record_begin(sc_text *text, sc_event event, uint64_t t_ns);
void sc_record_u64(sc_record *record, sc_field field, uint64_t value);
/* NULL: the field does not apply and is absent. */
void sc_record_string(sc_record *record, sc_field field, const char *value);
/* The field's name and colon; the caller appends well-formed JSON to record->text. */
void sc_record_raw(sc_record *record, sc_field field);
bool sc_record_end(sc_record *record); /* false: did not fit, the text is as before begin */

#endif
