/* SPDX-License-Identifier: MIT */
#include "log/record.h"

const char *sc_event_name(sc_event event)
{
    static const char *const names[SC_EV_COUNT] = {
#define EVENT(symbol, name, meaning) name,
#include "log/record.def"
    };

    return names[event];
}

const char *sc_field_name(sc_field field)
{
    static const char *const names[SC_F_COUNT] = {
#define FIELD(symbol, name, type, meaning) name,
#include "log/record.def"
    };

    return names[field];
}

sc_record sc_record_begin(sc_text *text, sc_event event, uint64_t t_ns)
{
    sc_record record = {text, text->used};

    sc_text_char(text, '{'); /* every other field brings its own comma */
    sc_text_json(text, sc_field_name(SC_F_EV));
    sc_text_char(text, ':');
    sc_text_json(text, sc_event_name(event));
    sc_record_u64(&record, SC_F_T, t_ns);
    return record;
}

void sc_record_u64(sc_record *record, sc_field field, uint64_t value)
{
    sc_record_raw(record, field);
    sc_text_u64(record->text, value);
}

void sc_record_string(sc_record *record, sc_field field, const char *value)
{
    if (!value)
        return;
    sc_record_raw(record, field);
    sc_text_json(record->text, value);
}

void sc_record_raw(sc_record *record, sc_field field)
{
    sc_text_char(record->text, ',');
    sc_text_json(record->text, sc_field_name(field));
    sc_text_char(record->text, ':');
}

bool sc_record_end(sc_record *record)
{
    sc_text *text = record->text;

    sc_text_string(text, "}\n");
    if (!text->is_full)
        return true;
    text->used = record->start;
    text->is_full = false; /* what is left are whole lines, and a shorter one may still fit */
    return false;
}
