/* SPDX-License-Identifier: MIT */
#include "engine/strict.h"
#include "engine/journal.h"
#include "engine/logbook.h"
#include "engine/process.h"
#include "engine/site.h"

static const struct {
    const char *word, *meaning;
} lapses[SC_LAPSE_COUNT] = {
    [SC_LAPSE_NONE] = {"", ""},
#define LAPSE(symbol, word, meaning) [SC_LAPSE_##symbol] = {word, meaning},
#include "cache/phase.def"
};

/* The first of its shape, as far as can be told. */
static bool is_first(sc_strict *strict, uint32_t shape)
{
    uint64_t *word = &strict->seen[shape % SC_STRICT_SHAPES / 64];
    uint64_t bit = UINT64_C(1) << shape % 64;
    bool is_new = !(*word & bit);

    *word |= bit;
    return is_new;
}

/* strict: at step 12 the driver was asked for 3.00 MiB from train+0x1a2b in phase fixed: MEANING */
static void notice(sc_journal *journal, uint64_t bytes, uint32_t site, sc_lapse lapse)
{
    sc_text *text = &journal->notices;
    size_t start = text->used;

    sc_text_string(text, "SHAPECACHE_STRICT: in phase fixed, step ");
    sc_text_u64(text, journal->step);
    sc_text_string(text, ", the driver was asked for ");
    sc_text_size(text, bytes);
    if (sc_site_text(site)) {
        sc_text_string(text, " from ");
        sc_text_string(text, sc_site_text(site));
    }
    sc_text_string(text, ": ");
    sc_text_string(text, lapses[lapse].meaning);
    sc_text_char(text, '\0');
    if (text->is_full) { /* the log has it whole */
        text->is_full = false;
        text->used = start;
    }
}

static void record(sc_journal *journal, uint32_t shape, uint64_t bytes, uint32_t site,
                   sc_lapse lapse)
{
    sc_record row = sc_outbox_begin(&journal->outbox, SC_EV_STRICT, sc_logbook_now(), true);

    sc_record_u64(&row, SC_F_STEP, journal->step);
    sc_record_u64(&row, SC_F_DEV, (uint64_t)journal->device);
    sc_record_u64(&row, SC_F_SHAPE, shape);
    sc_record_u64(&row, SC_F_BYTES, bytes);
    if (sc_site_text(site)) {
        sc_logbook_site(site);
        sc_record_string(&row, SC_F_SITE, sc_site_text(site));
    }
    sc_record_string(&row, SC_F_LAPSE, lapses[lapse].word);
    sc_outbox_end(&journal->outbox, &row, true);
}

void sc_strict_note(sc_journal *journal, uint32_t shape, uint64_t bytes, uint32_t site,
                    sc_lapse lapse)
{
    sc_strict *strict = &journal->strict;

    if (!sc_process_self.options.strict || lapse == SC_LAPSE_NONE)
        return;
    if (!strict->count++)
        notice(journal, bytes, site, lapse);
    if (!is_first(strict, shape) || strict->records == SC_STRICT_RECORDS || !sc_logbook_is_open())
        return;
    strict->records++;
    record(journal, shape, bytes, site, lapse);
}
