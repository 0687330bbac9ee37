/* SPDX-License-Identifier: MIT */
#include "engine/journal.h"
#include "engine/logbook.h"
#include "engine/process.h"
#include "engine/site.h"
#include "engine/spared.h"
#include "shapecache/shapecache.h"

/* At level event rows are written once there are so many bytes of them; the rest of the outbox is
 * for the time in which nobody may write, during a capture or another thread's write. */
enum { OUTBOX_BYTES = 128 << 10, EVENT_OUTBOX_BYTES = 2 << 20, EVENT_BATCH_BYTES = 128 << 10 };

sc_record sc_journal_begin(sc_journal *journal, sc_event event, bool must_keep)
{
    sc_record record = sc_outbox_begin(&journal->outbox, event, sc_logbook_now(), must_keep);

    sc_record_u64(&record, SC_F_STEP, journal->step);
    sc_record_u64(&record, SC_F_DEV, (uint64_t)journal->device);
    return record;
}

void sc_journal_name_site(sc_record *record, uint32_t site)
{
    const char *text = sc_site_text(site);

    if (!text)
        return;
    sc_logbook_site(site);
    sc_record_string(record, SC_F_SITE, text);
}

/* A call site as the owner of a gate; several unknown ones share one. */
static const char *scope_text(uint32_t site)
{
    const char *text = sc_site_text(site);

    return text ? text : "unknown";
}

void sc_fallback_explain(sc_text *text, const sc_fallback *fallback)
{
    static const char *const meanings[SC_REASON_COUNT] = {
#define REASON(symbol, word, meaning) meaning,
#include "cache/phase.def"
    };

    if (fallback->reason != SC_REASON_NEW_SHAPE || !fallback->bytes) {
        sc_text_string(text, meanings[fallback->reason]);
        return;
    }
    sc_text_string(text, "new shape ");
    sc_text_size(text, fallback->bytes);
    if (sc_site_text(fallback->site)) {
        sc_text_string(text, " from ");
        sc_text_string(text, sc_site_text(fallback->site));
    }
}

static sc_fallback cause_of(const sc_phase_change *change)
{
    return (sc_fallback){.is_there = true,
                         .ns = sc_logbook_now(),
                         .step = change->step,
                         .bytes = change->shape ? change->shape->bytes : 0,
                         .site = change->shape ? change->shape->site : 0,
                         .reason = change->reason};
}

static void notice_cause(sc_text *text, const sc_phase_change *change)
{
    const sc_fallback cause = cause_of(change);

    if (change->to == SC_PHASE_FIXED && !sc_process_self.options.gate) {
        sc_text_string(text, "SHAPECACHE_GATE=0, whatever shapes come");
    } else if (change->reason == SC_REASON_SET_FIXED) {
        sc_text_string(text, "no new shape for ");
        sc_text_u64(text, sc_process_self.options.warmup);
        sc_text_string(text, sc_process_self.options.warmup == 1 ? " step" : " steps");
    } else {
        sc_fallback_explain(text, &cause);
    }
}

/* fallback at step 40: new shape 8.03 MiB from train+0x1a2b; 61.5 MiB idle goes back (log PATH) */
static void notice(sc_journal *journal, const sc_phase_change *change)
{
    sc_text *text = &journal->notices;
    size_t start = text->used;

    sc_text_string(text, sc_phase_word(change->to));
    sc_text_string(text, " at step ");
    sc_text_u64(text, change->step);
    sc_text_string(text, ": ");
    notice_cause(text, change);
    if (change->to == SC_PHASE_FIXED) {
        if (sc_process_self.options.gate) {
            sc_text_string(text, ", set of ");
            sc_text_u64(text, change->set_size);
        }
    } else if (change->idle_released) {
        sc_text_string(text, "; ");
        sc_text_size(text, change->idle_released);
        sc_text_string(text, " idle goes back");
    }
    if (change->is_of_scope)
        sc_text_string(text, "; other call sites stay cached");
    if (journal->device > 0) {
        sc_text_string(text, "; device ");
        sc_text_u64(text, (uint64_t)journal->device);
    }
    if (sc_logbook_path()) {
        sc_text_string(text, " (log ");
        sc_text_string(text, sc_logbook_path());
        sc_text_char(text, ')');
    }
    sc_text_char(text, '\0');
    if (text->is_full) { /* one long path is cut; a second line waits for the next flush in vain */
        text->is_full = false;
        text->at[text->used - 1] = '\0';
        if (start)
            text->used = start;
    }
}

static void on_phase(void *self, const sc_phase_change *change)
{
    sc_journal *journal = self;
    bool is_news = !change->is_of_scope || change->to == SC_PHASE_FALLBACK;
    bool is_wanted = sc_process_self.options.summary != SC_SUMMARY_OFF;

    if (change->to == SC_PHASE_FALLBACK)
        journal->fallback = cause_of(change);
    if (is_news && is_wanted && !journal->is_noticed[change->to]) {
        journal->is_noticed[change->to] = true;
        notice(journal, change);
    }
    if (!sc_logbook_is_open())
        return;
    journal->is_walk_due = true;
    sc_record record = sc_journal_begin(journal, SC_EV_PHASE, is_news);

    sc_record_string(&record, SC_F_FROM, sc_phase_word(change->from));
    sc_record_string(&record, SC_F_TO, sc_phase_word(change->to));
    sc_record_string(&record, SC_F_REASON, sc_reason_word(change->reason));
    if (change->shape) {
        sc_record_u64(&record, SC_F_SHAPE, change->shape->id);
        sc_record_u64(&record, SC_F_BYTES, change->shape->bytes);
        sc_journal_name_site(&record, change->shape->site);
    }
    if (change->is_of_scope) {
        if (sc_site_text(change->scope))
            sc_logbook_site(change->scope);
        sc_record_string(&record, SC_F_SCOPE, scope_text(change->scope));
    }
    sc_record_u64(&record, SC_F_SET_SIZE, change->set_size);
    sc_record_string(&record, SC_F_STEP_SOURCE, sc_step_end_word(journal->ended_by));
    sc_record_u64(&record, SC_F_IDLE_RELEASED, change->idle_released);
    sc_outbox_end(&journal->outbox, &record, is_news);
}

static void scope_fields(sc_record *record, sc_scope_count scopes)
{
    if (!scopes.all)
        return;
    sc_record_u64(record, SC_F_SCOPES, scopes.all);
    sc_record_u64(record, SC_F_SCOPES_FIXED, scopes.fixed);
}

static void tally_fields(sc_record *record, const sc_tally *tally)
{
    sc_record_u64(record, SC_F_REQUESTS, tally->requests);
    sc_record_u64(record, SC_F_HITS, tally->hits);
    sc_record_u64(record, SC_F_MISSES, tally->misses);
    sc_record_u64(record, SC_F_BYPASSED, tally->bypassed);
    sc_record_u64(record, SC_F_EVICTED, tally->evicted);
    sc_record_u64(record, SC_F_EXPIRED, tally->expired);
    sc_record_u64(record, SC_F_LIVE_PEAK, tally->live_peak);
    sc_record_u64(record, SC_F_HELD_PEAK, tally->held_peak);
    sc_record_u64(record, SC_F_DRIVER_ALLOCS, tally->driver_allocs);
    sc_record_u64(record, SC_F_DRIVER_FREES, tally->driver_frees);
    sc_record_u64(record, SC_F_MALLOC_FREES, tally->malloc_frees);
    sc_record_u64(record, SC_F_DRIVER_NS, tally->driver_ns);
    sc_record_u64(record, SC_F_WAIT_NS, tally->wait_ns);
    sc_record_u64(record, SC_F_HIT_NS, tally->hit_ns);
    sc_record_u64(record, SC_F_SAMPLED, tally->sampled);
}

/* The marks are of all steps since the row before: none is too short, or without a row, to be seen.
 */
static void step_record(sc_journal *journal, const sc_step_row *row, uint64_t now)
{
    const uint64_t dropped = journal->outbox.dropped;
    sc_record record = sc_outbox_begin(&journal->outbox, SC_EV_STEP, now, false);
    sc_tally tally = row->tally;

    tally.live_peak = journal->unwritten.live;
    tally.held_peak = journal->unwritten.held;
    sc_record_u64(&record, SC_F_STEP, row->step);
    sc_record_u64(&record, SC_F_DEV, (uint64_t)journal->device);
    sc_record_u64(&record, SC_F_DUR, now - journal->step_began);
    sc_record_string(&record, SC_F_PHASE, sc_phase_word(row->phase));
    scope_fields(&record, row->scopes);
    sc_record_u64(&record, SC_F_LIVE, row->live);
    sc_record_u64(&record, SC_F_IDLE, row->idle);
    tally_fields(&record, &tally);
    if (journal->driver_free)
        sc_record_u64(&record, SC_F_DRIVER_FREE, journal->driver_free);
    journal->driver_free = 0;
    sc_outbox_end(&journal->outbox, &record, false);
    journal->outbox.is_due = true; /* what the kernel has survives SIGKILL */
    if (journal->outbox.dropped == dropped)
        journal->unwritten = (sc_marks){0};
}

static void raise_to(uint64_t *most, uint64_t value)
{
    if (*most < value)
        *most = value;
}

/* Everything before, set-up and the first batch, is step 0. */
static void mark_first_step(sc_journal *journal, const sc_step_row *row)
{
    sc_record record = sc_journal_begin(journal, SC_EV_MARK, false);

    sc_record_string(&record, SC_F_NAME, "steps begin");
    sc_record_u64(&record, SC_F_AUTOMATIC, 1);
    sc_record_u64(&record, SC_F_LIVE, row->live);
    sc_record_u64(&record, SC_F_IDLE, row->idle);
    sc_record_u64(&record, SC_F_LIVE_PEAK, row->tally.live_peak);
    sc_record_u64(&record, SC_F_HELD_PEAK, row->tally.held_peak);
    sc_outbox_end(&journal->outbox, &record, false);
}

static void on_step(void *self, const sc_step_row *row)
{
    sc_journal *journal = self;
    uint64_t now = sc_logbook_now();

    journal->ended_by = row->ended_by;
    raise_to(&journal->step_peak, row->tally.live_peak);
    raise_to(&journal->unwritten.live, row->tally.live_peak);
    raise_to(&journal->unwritten.held, row->tally.held_peak);
    if (sc_logbook_is_open()) {
        if (sc_process_self.options.log_level >= SC_LEVEL_STEP &&
            row->step % sc_logbook_every() == 0)
            step_record(journal, row, now);
    }
    journal->step = row->step + 1;
    if (row->step == 0 && sc_logbook_is_open())
        mark_first_step(journal, row);
    if ((journal->step & row->step) == 0 && sc_logbook_is_open())
        journal->is_walk_due = true; /* 2^k steps */
    journal->step_began = now;
}

static void hint_fields(sc_record *record, const sc_hint *hint)
{
    if (hint->label[0])
        sc_record_string(record, SC_F_LABEL, hint->label);
    if (!hint->count)
        return;
    sc_record_raw(record, SC_F_DIMS);
    for (unsigned i = 0; i < hint->count; i++) {
        sc_text_char(record->text, i ? ',' : '[');
        sc_text_u64(record->text, hint->dims[i]);
    }
    sc_text_char(record->text, ']');
}

static void shape_fields(sc_record *record, const sc_shape_row *row)
{
    sc_record_u64(record, SC_F_ID, row->id);
    sc_record_u64(record, SC_F_BYTES, row->bytes);
    sc_journal_name_site(record, row->site);
    if (row->hint)
        hint_fields(record, row->hint);
    sc_record_u64(record, SC_F_REQUESTS, row->requests);
    sc_record_u64(record, SC_F_HITS, row->hits);
    sc_record_u64(record, SC_F_MISSES, row->misses);
    sc_record_u64(record, SC_F_EVICTED, row->evicted);
    sc_record_u64(record, SC_F_LIVE, row->live);
    sc_record_u64(record, SC_F_IDLE, row->idle);
    sc_record_u64(record, SC_F_HIGH, row->high);
    sc_record_u64(record, SC_F_BYTES_HIGH, row->bytes_high);
    sc_record_u64(record, SC_F_FIRST_STEP, row->first_step);
    sc_record_u64(record, SC_F_LAST_STEP, row->last_step);
    if (row->allocations)
        sc_record_u64(record, SC_F_MISS_NS_AVG, row->miss_ns / row->allocations);
}

static void on_shape(void *self, const sc_shape_row *row)
{
    sc_journal *journal = self;

    if (!sc_logbook_is_open())
        return;
    sc_record record = sc_journal_begin(journal, SC_EV_SHAPE, false);

    shape_fields(&record, row);
    sc_outbox_end(&journal->outbox, &record, false);
}

bool sc_journal_shape(sc_journal *journal, sc_text *text, const sc_shape_row *row)
{
    sc_record record = sc_record_begin(text, SC_EV_SHAPE, sc_logbook_now());

    sc_record_u64(&record, SC_F_STEP, journal->step);
    sc_record_u64(&record, SC_F_DEV, (uint64_t)journal->device);
    shape_fields(&record, row);
    return sc_record_end(&record);
}

static void on_lost(void *self, sc_address address, sc_loss loss)
{
    sc_journal_free(self, address,
                    loss == SC_LOST_CONTEXT ? SC_OUTCOME_CONTEXT : SC_OUTCOME_ELSEWHERE, 0);
}

bool sc_journal_init(sc_journal *journal, int device, sc_step_source source)
{
    static const sc_step_end ends[] = {[SC_STEPS_NAMED] = SC_STEP_END_API,
                                       [SC_STEPS_INFERRED] = SC_STEP_END_LIVE,
                                       [SC_STEPS_COUNTED] = SC_STEP_END_REQUESTS};

    *journal =
        (sc_journal){.device = device, .step_began = sc_logbook_now(), .ended_by = ends[source]};
    journal->is_noticed[SC_PHASE_WARMUP] = true; /* where everything starts is no news */
    journal->notices = sc_text_over(journal->notice_bytes, sizeof journal->notice_bytes);
    bool is_event = sc_process_self.options.log_level == SC_LEVEL_EVENT;
    bool is_scoped =
        sc_process_self.options.scope == SC_SCOPE_SITE; /* all may change in one step */

    return sc_outbox_init(&journal->outbox,
                          is_event || is_scoped ? EVENT_OUTBOX_BYTES : OUTBOX_BYTES);
}

void sc_journal_release(sc_journal *journal)
{
    sc_outbox_release(&journal->outbox);
}

sc_cache_observer sc_journal_observer(sc_journal *journal)
{
    return (sc_cache_observer){
        .self = journal, .phase = on_phase, .step = on_step, .shape = on_shape, .lost = on_lost};
}

void sc_journal_mark(sc_journal *journal, const char *name)
{
    if (!sc_logbook_is_open())
        return;
    sc_record record = sc_journal_begin(journal, SC_EV_MARK, false);

    sc_record_string(&record, SC_F_NAME, name);
    sc_outbox_end(&journal->outbox, &record, false);
}

void sc_journal_trim(sc_journal *journal, uint64_t bytes)
{
    if (!sc_logbook_is_open())
        return;
    sc_record record = sc_journal_begin(journal, SC_EV_MARK, false);

    sc_record_string(&record, SC_F_NAME, "trim");
    sc_record_u64(&record, SC_F_AUTOMATIC, 1);
    sc_record_u64(&record, SC_F_TRIMMED, bytes);
    sc_outbox_end(&journal->outbox, &record, false);
}

void sc_journal_scope(sc_journal *journal, const char *name, const shapecache_scope_info *info)
{
    if (!sc_logbook_is_open())
        return;
    sc_record record = sc_journal_begin(journal, SC_EV_SCOPE, false);

    sc_record_string(&record, SC_F_NAME, name);
    sc_record_u64(&record, SC_F_DEPTH, info->depth);
    sc_record_u64(&record, SC_F_DUR, info->ns);
    sc_record_u64(&record, SC_F_LIVE_BEFORE, info->live_before);
    sc_record_u64(&record, SC_F_IDLE_BEFORE, info->idle_before);
    sc_record_u64(&record, SC_F_LIVE_PEAK, info->live_peak);
    sc_record_u64(&record, SC_F_HELD_PEAK, info->held_peak);
    sc_record_u64(&record, SC_F_LIVE, info->live);
    sc_record_u64(&record, SC_F_IDLE, info->idle);
    sc_record_u64(&record, SC_F_TRIMMED, info->trimmed);
    sc_outbox_end(&journal->outbox, &record, false);
}

static void doors_field(sc_record *record)
{
    static const char *const names[SC_DOOR_COUNT] = {"elf", "dlsym", "resolver", "runtime"};
    unsigned doors = atomic_load(&sc_process_self.doors);
    const char *comma = "";

    sc_record_raw(record, SC_F_DOORS);
    sc_text_char(record->text, '[');
    for (unsigned i = 0; i < SC_DOOR_COUNT; i++) {
        if (!(doors & (1u << i)))
            continue;
        sc_text_string(record->text, comma);
        sc_text_json(record->text, names[i]);
        comma = ",";
    }
    sc_text_char(record->text, ']');
}

void sc_journal_end(sc_journal *journal, const sc_cache_totals *totals, const sc_spared *spared,
                    bool is_unrecovered)
{
    if (!sc_logbook_is_open())
        return;
    sc_record record = sc_journal_begin(journal, SC_EV_END, true);

    sc_record_string(&record, SC_F_PHASE, sc_phase_word(totals->phase));
    sc_record_u64(&record, SC_F_STEPS, totals->step);
    sc_record_u64(&record, SC_F_STEPS_FIXED, totals->steps_in[SC_PHASE_FIXED]);
    sc_record_u64(&record, SC_F_SHAPES, totals->shapes);
    scope_fields(&record, totals->scopes);
    sc_record_u64(&record, SC_F_FALLBACKS, totals->fallbacks);
    sc_record_u64(&record, SC_F_OOMS, totals->ooms);
    if (sc_process_self.options.strict)
        sc_record_u64(&record, SC_F_STRICT, journal->strict.count);
    sc_record_u64(&record, SC_F_LIVE, totals->live);
    sc_record_u64(&record, SC_F_IDLE, totals->idle);
    tally_fields(&record, &totals->all);
    if (is_unrecovered)
        sc_record_u64(&record, SC_F_UNRECOVERED, 1);
    if (spared->doubt != SC_SPARE_NOTHING)
        sc_spared_record(&record, spared);
    doors_field(&record);
    sc_outbox_end(&journal->outbox, &record, true);
}

bool sc_journal_wants_flush(const sc_journal *journal)
{
    if (journal->notices.used)
        return true;
    return sc_logbook_is_open() &&
           (journal->is_walk_due || journal->outbox.is_due || sc_journal_is_filling(journal));
}

bool sc_journal_is_filling(const sc_journal *journal)
{
    if (sc_logbook_has_events())
        return sc_outbox_used(&journal->outbox) > EVENT_BATCH_BYTES;
    return sc_logbook_is_open() && sc_outbox_is_half_full(&journal->outbox);
}
