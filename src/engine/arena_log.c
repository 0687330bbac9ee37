/* SPDX-License-Identifier: MIT */
#include "engine/arena_log.h"
#include "base/text.h"
#include "engine/logbook.h"
#include "engine/spared.h"
#include "log/record.h"

enum { RECORD_BYTES = 8 << 10, LINE_BYTES = 1024 };

static uint64_t kept(const shapecache_arena_info *info)
{
    return info->kept_ignored + info->kept_small + info->kept_last + info->kept_full +
           info->kept_dry;
}

static void put_memory(sc_record *record, const shapecache_arena_info *info)
{
    sc_record_u64(record, SC_F_CAPACITY, info->capacity);
    sc_record_u64(record, SC_F_LOCKED, info->pinned);
    sc_record_u64(record, SC_F_LOCK_NS, info->pin_ns);
    sc_record_u64(record, SC_F_USED, info->used);
    sc_record_u64(record, SC_F_USED_PEAK, info->used_peak);
    sc_record_u64(record, SC_F_DEMAND_PEAK, info->demand_peak);
    sc_record_u64(record, SC_F_TICKETS, info->depth);
    sc_record_u64(record, SC_F_TICKETS_PEAK, info->depth_peak);
}

static void put_traffic(sc_record *record, const shapecache_arena_info *info)
{
    sc_record_u64(record, SC_F_PASSES, info->passes);
    sc_record_u64(record, SC_F_OFFLOADS, info->offloads);
    sc_record_u64(record, SC_F_ONLOADS, info->onloads);
    sc_record_u64(record, SC_F_BYTES_OUT, info->bytes_out);
    sc_record_u64(record, SC_F_BYTES_IN, info->bytes_in);
    sc_record_u64(record, SC_F_KEPT, kept(info));
    sc_record_u64(record, SC_F_KEPT_FULL, info->kept_full);
    sc_record_u64(record, SC_F_KEPT_BYTES, info->kept_bytes);
    sc_record_u64(record, SC_F_PAGEABLE, info->went_pageable);
    sc_record_u64(record, SC_F_PREFETCHED, info->prefetched);
    sc_record_u64(record, SC_F_REWOUND, info->rewound);
    sc_record_u64(record, SC_F_GIVEN, info->given);
    sc_record_u64(record, SC_F_WAIT_NS, info->wait_ns);
    sc_record_u64(record, SC_F_ERRORS,
                  info->wrong_order + info->full + info->mismatched + info->driver_errors +
                      info->busy);
    sc_record_u64(record, SC_F_WRONG_ORDER, info->wrong_order);
    sc_record_u64(record, SC_F_FULL, info->full);
    sc_record_u64(record, SC_F_MISMATCHED, info->mismatched);
    sc_record_u64(record, SC_F_DRIVER_ERRORS, info->driver_errors);
    sc_record_u64(record, SC_F_BUSY, info->busy);
}

/* Only where anything has left. */
static void put_spared(sc_record *record, const shapecache_arena_info *info)
{
    if (!info->bytes_out)
        return;
    sc_spared_record(record, &(sc_spared){.doubt = (sc_spare_doubt)info->spared_unknown,
                                          .without = info->live_without,
                                          .bytes = info->spared});
}

void sc_arena_record(const char *name, int device, const char *what,
                     const shapecache_arena_info *info)
{
    char bytes[RECORD_BYTES];
    sc_text line = sc_text_over(bytes, sizeof bytes);
    uint64_t step;

    if (!sc_logbook_is_open())
        return;
    bool has_step = sc_spared_step(device, &step);
    sc_record record = sc_record_begin(&line, SC_EV_ARENA, sc_logbook_now());

    if (has_step)
        sc_record_u64(&record, SC_F_STEP, step);
    sc_record_u64(&record, SC_F_DEV, (uint64_t)device);
    sc_record_string(&record, SC_F_NAME, name);
    sc_record_string(&record, SC_F_WHAT, what);
    put_memory(&record, info);
    put_traffic(&record, info);
    put_spared(&record, info);
    if (sc_record_end(&record))
        sc_logbook_write(line.at, line.used, false);
}

void sc_arena_add(shapecache_arena_info *sum, const shapecache_arena_info *one)
{
    sum->capacity += one->capacity;
    sum->used_peak += one->used_peak;
    sum->demand_peak += one->demand_peak;
    sum->offloads += one->offloads;
    sum->onloads += one->onloads;
    sum->bytes_out += one->bytes_out;
    sum->bytes_in += one->bytes_in;
    sum->kept_ignored += one->kept_ignored;
    sum->kept_small += one->kept_small;
    sum->kept_last += one->kept_last;
    sum->kept_full += one->kept_full;
    sum->kept_dry += one->kept_dry;
    sum->went_pageable += one->went_pageable;
    sum->full += one->full;
    sum->rewound += one->rewound;
    sum->wait_ns += one->wait_ns;
}

static void add_size(sc_text *text, const char *before, uint64_t bytes)
{
    sc_text_string(text, before);
    sc_text_size(text, bytes);
}

static void add_count(sc_text *text, uint64_t count, const char *after)
{
    if (!count)
        return;
    sc_text_string(text, ", ");
    sc_text_u64(text, count);
    sc_text_string(text, after);
}

static void add_spared(sc_text *text, const shapecache_arena_info *sum)
{
    if (!sum->bytes_out)
        return;
    if (sum->spared_unknown) {
        sc_text_string(text, "; what the device was spared is not known: ");
        sc_text_string(text, sc_spared_why_not((sc_spare_doubt)sum->spared_unknown));
        return;
    }
    add_size(text, "; spared the device ", sum->spared);
    add_size(text, ": at most ", sum->live_without - sum->spared);
    add_size(text, " were live, ", sum->live_without);
    sc_text_string(text, " without");
}

void sc_arena_say_end(const shapecache_arena_info *sum, unsigned arenas)
{
    char bytes[LINE_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    if (!arenas || !sum->offloads)
        return;
    sc_text_string(&text, arenas == 1 ? "arena: " : "arenas: ");
    sc_text_u64(&text, sum->offloads);
    sc_text_string(&text, sum->offloads == 1 ? " tensor offloaded" : " tensors offloaded");
    add_size(&text, ", ", sum->bytes_out);
    add_size(&text, " out and ", sum->bytes_in);
    add_size(&text, " back; at most ", sum->used_peak);
    add_size(&text, " of ", sum->capacity);
    add_size(&text, " used, peak demand ", sum->demand_peak);
    add_count(&text, sum->wait_ns / 1000000, " ms waited for copies");
    add_count(&text, kept(sum), " kept on the device");
    add_count(&text, sum->went_pageable, " to pageable memory");
    add_count(&text, sum->rewound, " rewound");
    add_count(&text, sum->full, " refused: activation arena is full");
    add_spared(&text, sum);
    if (sum->demand_peak > sum->capacity) {
        sc_text_string(&text, "; a capacity of ");
        sc_text_u64(&text, sum->demand_peak);
        sc_text_string(&text, " bytes would hold all");
    }
    sc_logbook_say(sc_text_terminate(&text));
}
