/* SPDX-License-Identifier: MIT
 * Rows of single requests, at level event. */
#include "engine/journal.h"
#include "engine/logbook.h"

static const char *outcome_word(sc_outcome outcome)
{
    static const char *const words[SC_OUTCOME_COUNT] = {
        [SC_OUTCOME_HIT] = "hit",
        [SC_OUTCOME_MISS] = "miss",
        [SC_OUTCOME_BYPASSED] = "bypassed",
        [SC_OUTCOME_PARKED] = "parked",
        [SC_OUTCOME_DRIVER] = "driver",
        [SC_OUTCOME_UNKNOWN] = "unknown",
        [SC_OUTCOME_ELSEWHERE] = "elsewhere",
        [SC_OUTCOME_CONTEXT] = "context",
    };

    return words[outcome];
}

/* `hit`, `outcome` and `ns`, the last where it was measured. */
static void outcome_fields(sc_record *record, sc_outcome outcome, uint64_t ns)
{
    sc_record_u64(record, SC_F_HIT, outcome == SC_OUTCOME_HIT || outcome == SC_OUTCOME_PARKED);
    sc_record_string(record, SC_F_OUTCOME, outcome_word(outcome));
    if (ns)
        sc_record_u64(record, SC_F_NS, ns);
}

static void address_field(sc_record *record, sc_address address)
{
    sc_record_raw(record, SC_F_ADDRESS);
    sc_text_string(record->text, "\"0x");
    sc_text_hex(record->text, address);
    sc_text_char(record->text, '"');
}

void sc_journal_alloc(sc_journal *journal, const sc_allocation *allocation)
{
    if (!sc_logbook_has_events())
        return;
    sc_record record = sc_journal_begin(journal, SC_EV_ALLOC, false);

    sc_record_u64(&record, SC_F_N, journal->events++);
    address_field(&record, allocation->address);
    sc_record_u64(&record, SC_F_BYTES, allocation->bytes);
    if (allocation->shape)
        sc_record_u64(&record, SC_F_SHAPE, *allocation->shape);
    sc_journal_name_site(&record, allocation->site);
    outcome_fields(&record, allocation->outcome, allocation->ns);
    sc_outbox_end(&journal->outbox, &record, false);
}

void sc_journal_free(sc_journal *journal, sc_address address, sc_outcome outcome, uint64_t ns)
{
    if (!sc_logbook_has_events())
        return;
    sc_record record = sc_journal_begin(journal, SC_EV_FREE, false);

    sc_record_u64(&record, SC_F_N, journal->events++);
    address_field(&record, address);
    outcome_fields(&record, outcome, ns);
    sc_outbox_end(&journal->outbox, &record, false);
}
