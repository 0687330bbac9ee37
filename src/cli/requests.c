/* SPDX-License-Identifier: MIT */
#include "cli/requests.h"
#include "cli/command.h"
#include <stdlib.h>
#include <string.h>

/* "0x7f00" into a number above 0. */
static bool parse_address(const char *text, uint64_t *address)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t value = 0;

    if (strncmp(text, "0x", 2) != 0 || !text[2] || strlen(text) > 2 + 16)
        return false;
    for (text += 2; *text; text++) {
        const char *digit = strchr(digits, *text);

        if (!digit)
            return false;
        value = value << 4 | (uint64_t)(digit - digits);
    }
    *address = value;
    return value > 0;
}

static void end_life(sc_requests *requests, sc_export *export, const sc_line *line, sc_block *block)
{
    (void)sc_map_remove(&requests->live, block->address);
    requests->free(export, line, block);
    free(block);
}

static void allocate(sc_requests *requests, sc_export *export, const sc_line *line,
                     uint64_t address)
{
    sc_block *block = sc_map_find(&requests->live, address);

    if (block) /* the row of its free is missing */
        end_life(requests, export, line, block);
    block = sc_need(sizeof *block);
    *block = (sc_block){requests->allocs++, address, sc_line_u64(line, SC_F_BYTES)};
    if (!sc_map_put(&requests->live, address, block)) {
        sc_say("out of memory");
        exit(SC_EXIT_FAILED);
    }
    requests->alloc(export, line, block);
}

static void release(sc_requests *requests, sc_export *export, const sc_line *line, uint64_t address)
{
    sc_block *block = sc_map_find(&requests->live, address);

    if (block)
        end_life(requests, export, line, block);
    else
        requests->strays++;
}

static bool take_row(sc_requests *requests, sc_export *export, const sc_line *line)
{
    uint64_t device = sc_line_u64(line, SC_F_DEV), step = sc_line_u64(line, SC_F_STEP), address;

    if (!requests->has_device) {
        requests->device = export->has_device ? export->device : device;
        requests->has_device = true;
    }
    if (device != requests->device) {
        requests->others++;
        return true;
    }
    if (!parse_address(sc_line_text(line, SC_F_ADDRESS), &address))
        return sc_export_bad(export, "expected an address in hexadecimal digits, found \"%.32s\"",
                             sc_line_text(line, SC_F_ADDRESS));
    if (line->has[SC_F_N]) {
        uint64_t number = sc_line_u64(line, SC_F_N);

        if (number < requests->next)
            return sc_export_bad(export, "expected request %llu or a later one, found %llu",
                                 (unsigned long long)requests->next, (unsigned long long)number);
        requests->lost += number - requests->next;
        requests->next = number + 1;
    }
    if (step < requests->last_step)
        return sc_export_bad(export, "expected step %llu or a later one, found %llu",
                             (unsigned long long)requests->last_step, (unsigned long long)step);
    requests->last_step = step;
    if (line->event == SC_EV_ALLOC)
        allocate(requests, export, line, address);
    else
        release(requests, export, line, address);
    return true;
}

bool sc_requests_take(sc_requests *requests, sc_export *export, const sc_line *line)
{
    if (line->event == SC_EV_ALLOC || line->event == SC_EV_FREE)
        return take_row(requests, export, line);
    if (line->event == SC_EV_WARN && line->has[SC_F_LEVEL])
        requests->is_over = true;
    if (line->event == SC_EV_END && sc_line_u64(line, SC_F_DEV) == requests->device)
        requests->has_end = true;
    return true;
}

void sc_requests_say(const sc_requests *requests, const sc_export *export)
{
    const char *path = export->run->path;

    if (requests->others)
        sc_say("export: %.300s: left out %llu requests of devices other than %llu (see --dev)",
               path, (unsigned long long)requests->others, (unsigned long long)requests->device);
    if (requests->lost)
        sc_say("export: %.300s: %llu requests are missing in the log: blocks may live longer here "
               "than they did",
               path, (unsigned long long)requests->lost);
    if (requests->is_over)
        sc_say("export: %.300s: the requests end in step %llu, where the log was three quarters "
               "full: a larger SHAPECACHE_LOG_MAX holds more",
               path, (unsigned long long)requests->last_step);
    else if (!requests->has_end)
        sc_say("export: %.300s: the log has no end: the run was killed, or is not over; step %llu "
               "is the last",
               path, (unsigned long long)requests->last_step);
}

void sc_requests_release(sc_requests *requests)
{
    for (size_t i = 0; i < requests->live.size; i++)
        if (requests->live.entries[i].key)
            free(requests->live.entries[i].value);
    sc_map_release(&requests->live);
}
