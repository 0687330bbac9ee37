/* SPDX-License-Identifier: MIT */
#include "engine/outbox.h"
#include <stdlib.h>

static size_t reserve(const sc_outbox *outbox)
{
    return outbox->size / 4;
}

bool sc_outbox_init(sc_outbox *outbox, size_t size)
{
    char *bytes = malloc(2 * size);

    *outbox = (sc_outbox){.size = size};
    if (!bytes)
        return false;
    outbox->lines[0].text = sc_text_over(bytes, size);
    outbox->lines[1].text = sc_text_over(bytes + size, size);
    return true;
}

void sc_outbox_release(sc_outbox *outbox)
{
    free(outbox->lines[0].text.at);
    *outbox = (sc_outbox){.size = 0};
}

sc_record sc_outbox_begin(sc_outbox *outbox, sc_event event, uint64_t t_ns, bool must_keep)
{
    sc_lines *lines = &outbox->lines[outbox->filling];
    size_t most = must_keep ? outbox->size : outbox->size - reserve(outbox);

    /* the text must never end before what it holds */
    lines->text.size = most > lines->text.used ? most : lines->text.used;
    return sc_record_begin(&lines->text, event, t_ns);
}

void sc_outbox_end(sc_outbox *outbox, sc_record *record, bool must_keep)
{
    sc_lines *lines = &outbox->lines[outbox->filling];

    if (!sc_record_end(record)) {
        outbox->dropped++;
    } else if (must_keep) {
        outbox->is_due = true;
        if (lines->kept < SC_OUTBOX_KEPT) {
            lines->keep[lines->kept].at = record->start;
            lines->keep[lines->kept++].bytes = lines->text.used - record->start;
        }
    }
}

bool sc_outbox_is_half_full(const sc_outbox *outbox)
{
    return outbox->lines[outbox->filling].text.used > outbox->size / 2;
}

size_t sc_outbox_used(const sc_outbox *outbox)
{
    return outbox->lines[outbox->filling].text.used;
}

const sc_lines *sc_outbox_swap(sc_outbox *outbox)
{
    sc_lines *full = &outbox->lines[outbox->filling];
    sc_lines *empty = &outbox->lines[!outbox->filling];

    sc_text_clear(&empty->text);
    empty->kept = 0;
    outbox->filling = !outbox->filling;
    outbox->is_due = false;
    return full;
}
