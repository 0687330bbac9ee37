/* SPDX-License-Identifier: MIT */
#include "engine/ring_log.h"
#include "engine/logbook.h"
#include "engine/process.h"
#include "log/record.h"

enum { RECORD_BYTES = 16 << 10 };

static void put_layout(sc_record *record, const sc_ring_plan *plan)
{
    sc_record_u64(record, SC_F_SHARD, plan->shard);
    sc_record_u64(record, SC_F_SHARDS, plan->shards);
    sc_record_u64(record, SC_F_BUCKETS, plan->buckets);
    if (!plan->blocks)
        return;
    sc_record_u64(record, SC_F_BLOCK_OFFSET, plan->block_offset);
    sc_record_u64(record, SC_F_BLOCKS, plan->blocks);
}

static void put_state(sc_record *record, const shapecache_ring_info *info)
{
    sc_record_u64(record, SC_F_ENTRIES, info->entries);
    sc_record_u64(record, SC_F_STORED, info->bytes);
    sc_record_u64(record, SC_F_WORST, info->bytes_worst);
    sc_record_u64(record, SC_F_PINNED, info->is_pinned ? 1 : 0);
    sc_record_u64(record, SC_F_FILLED, info->filled);
    sc_record_u64(record, SC_F_OWNED, info->owned);
    sc_record_u64(record, SC_F_ADDED, info->added);
    sc_record_u64(record, SC_F_EVICTED, info->evicted);
    sc_record_u64(record, SC_F_REFUSED, info->refused);
    sc_record_u64(record, SC_F_NOT_OWNED, info->not_owned);
    sc_record_u64(record, SC_F_DRAWN, info->sampled);
    sc_record_u64(record, SC_F_REMAPPED, info->remapped);
}

void sc_ring_record(const sc_ring_plan *plan, const shapecache_ring_info *info, const char *what,
                    const char *sentence)
{
    char bytes[RECORD_BYTES];
    sc_text line = sc_text_over(bytes, sizeof bytes);

    if (!sc_process_is_on() || !sc_logbook_is_open())
        return;
    sc_record record = sc_record_begin(&line, SC_EV_RING, sc_logbook_now());

    sc_record_string(&record, SC_F_NAME, plan->name);
    sc_record_string(&record, SC_F_WHAT, what);
    put_layout(&record, plan);
    put_state(&record, info);
    sc_record_string(&record, SC_F_TEXT, sentence);
    if (sc_record_end(&record))
        sc_logbook_write(line.at, line.used, false);
}
