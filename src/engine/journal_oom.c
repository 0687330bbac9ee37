/* SPDX-License-Identifier: MIT
 * journal_oom.c - the records of an out-of-memory, and of what a framework's allocator says. */
#include "engine/journal.h"
#include "engine/logbook.h"
#include <stdatomic.h>

enum {
    ADVICE_BYTES = 512,
    KEPT_MOST = 256, /* rows, in what a full log keeps for the last ones: a quarter of it */
};

/* A program may be refused thousands of times, and how it ended has to be in the log, too. */
static bool must_keep(void)
{
    static atomic_uint kept;

    return !sc_logbook_is_tight() || atomic_fetch_add(&kept, 1) < KEPT_MOST;
}

/* [[shape, exact bytes, `count`, `mapped` or live now], ...] */
static void holdings_field(sc_record *record, sc_field field, const sc_holding *list,
                           bool is_changed)
{
    if (!list[0].mapped)
        return;
    sc_record_raw(record, field);
    for (unsigned i = 0; i < SC_OOM_SHAPES && list[i].mapped; i++) {
        sc_text_string(record->text, i ? ",[" : "[[");
        sc_text_u64(record->text, list[i].id);
        sc_text_char(record->text, ',');
        sc_text_u64(record->text, list[i].bytes);
        sc_text_char(record->text, ',');
        sc_text_u64(record->text, is_changed ? list[i].before : list[i].count);
        sc_text_char(record->text, ',');
        sc_text_u64(record->text, is_changed ? list[i].count : list[i].mapped);
        sc_text_char(record->text, ']');
    }
    sc_text_char(record->text, ']');
}

static void measured_fields(sc_record *record, const sc_oom *oom)
{
    if (oom->is_measured)
        sc_record_u64(record, SC_F_TOTAL, oom->total);
    sc_record_u64(record, SC_F_LIVE, oom->live);
    sc_record_u64(record, SC_F_IDLE, oom->idle);
    sc_record_u64(record, SC_F_PASSED, oom->passed);
    if (oom->is_measured) {
        sc_record_u64(record, SC_F_OTHER, oom->other);
        sc_record_u64(record, SC_F_DRIVER_FREE, oom->free);
    }
    sc_record_u64(record, SC_F_IDLE_RELEASED, oom->released);
    if (oom->step_peak)
        sc_record_u64(record, SC_F_STEP_PEAK, oom->step_peak);
}

static void advice_field(sc_record *record, const sc_oom *oom, const sc_in_force *force)
{
    char bytes[ADVICE_BYTES];
    sc_text advice = sc_text_over(bytes, sizeof bytes);

    sc_verdict_advise(&advice, oom, force);
    sc_record_string(record, SC_F_ADVICE, advice.used ? sc_text_terminate(&advice) : NULL);
}

static void count_refusal(sc_journal *journal, const sc_oom *oom)
{
    if (oom->result != SC_CUDA_OUT_OF_MEMORY || (!oom->asked && oom->is_retried))
        return;
    journal->refusals = (sc_refusals){.count = journal->refusals.count + 1,
                                      .last_ns = oom->ns,
                                      .bytes = oom->asked,
                                      .site = oom->site};
}

void sc_journal_oom(sc_journal *journal, const sc_oom *oom, const sc_in_force *force)
{
    count_refusal(journal, oom);
    if (!sc_logbook_is_open())
        return;
    const bool is_kept = must_keep();
    sc_record record = sc_journal_begin(journal, SC_EV_OOM, is_kept);

    sc_record_u64(&record, SC_F_BYTES, oom->asked);
    sc_journal_name_site(&record, oom->site);
    sc_record_u64(&record, SC_F_RETRIED, oom->is_retried);
    sc_record_u64(&record, SC_F_RESULT, (uint64_t)oom->result);
    sc_record_string(&record, SC_F_PHASE, sc_phase_word(oom->phase));
    sc_record_string(&record, SC_F_VERDICT, sc_verdict_word(oom->verdict));
    measured_fields(&record, oom);
    holdings_field(&record, SC_F_HOLDERS, oom->holders, false);
    holdings_field(&record, SC_F_CHANGED, oom->changed, true);
    advice_field(&record, oom, force);
    sc_outbox_end(&journal->outbox, &record, is_kept);
}

void sc_journal_allocator(sc_journal *journal, const char *what, const sc_allocator *allocator,
                          const sc_oom *oom, const sc_in_force *force)
{
    if (!sc_logbook_is_open())
        return;
    const bool is_kept = must_keep();
    sc_record record = sc_journal_begin(journal, SC_EV_ALLOCATOR, is_kept);

    sc_record_string(&record, SC_F_WHAT, what);
    sc_record_u64(&record, SC_F_RESERVED, allocator->reserved);
    sc_record_u64(&record, SC_F_ALLOCATED, allocator->allocated);
    sc_record_u64(&record, SC_F_RESERVED_PEAK, allocator->reserved_peak);
    sc_record_u64(&record, SC_F_ALLOCATED_PEAK, allocator->allocated_peak);
    sc_record_u64(&record, SC_F_EXPANDABLE, allocator->is_expandable);
    if (oom)
        advice_field(&record, oom, force);
    sc_outbox_end(&journal->outbox, &record, is_kept);
}
