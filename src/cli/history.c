/* SPDX-License-Identifier: MIT */
#include "cli/history.h"
#include "base/map.h"
#include "cli/command.h"
#include "cli/emit.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void raise_to(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

#define READ_SUM(to, value)  ((to) += (value))
#define READ_MOST(to, value) raise_to(&(to), value)
#define SET_SUM(to, value)   ((to) = (value))
#define SET_MOST(to, value)  raise_to(&(to), value)

static void sums_add(sc_sums *sums, const sc_line *line)
{
    sums->rows++;
    sums->dur_ns += sc_line_u64(line, SC_F_DUR);
#define READ(how, member, field) READ_##how(sums->member, sc_line_u64(line, SC_F_##field));
    SC_SUMS(READ)
#undef READ
}

/* The totals of `end` replace what was summed, but for what it does not tell. */
static void sums_set(sc_sums *sums, const sc_line *line)
{
#define SET(how, member, field)                                                                    \
    if (line->has[SC_F_##field])                                                                   \
        SET_##how(sums->member, sc_line_u64(line, SC_F_##field));
    SC_SUMS(SET)
#undef SET
}

static void copy_word(char *out, const char *word)
{
    snprintf(out, SC_WORD_BYTES, "%s", word ? word : "");
}

void sc_history_keep_text(char **kept, const char *text)
{
    if (!text || (*kept && !strcmp(*kept, text)))
        return;
    free(*kept);
    *kept = sc_need_copy(text);
}

sc_device *sc_history_device(sc_history *history, uint64_t ordinal)
{
    sc_device *device;

    for (unsigned i = 0; i < history->device_count; i++)
        if (history->devices[i]->ordinal == ordinal)
            return history->devices[i];
    if (history->device_count == SC_DEVICES_MOST)
        return NULL;
    device = sc_need(sizeof *device);
    device->ordinal = ordinal;
    device->index = sc_need(sizeof(sc_map));
    history->devices[history->device_count++] = device;
    return device;
}

static void add_note(sc_history *history, const sc_line *line, const char *text)
{
    sc_note *note = &history->notes[history->note_count];

    if (history->note_count == SC_NOTES_MOST) {
        history->notes_left_out++;
        return;
    }
    history->note_count++;
    *note = (sc_note){.step = sc_line_u64(line, SC_F_STEP),
                      .t_ns = sc_line_u64(line, SC_F_T),
                      .has_step = line->has[SC_F_STEP],
                      .text = sc_need_copy(text)};
}

/* With one gate a call site: what a change means for them. */
static void move_sites(sc_device *device, const sc_line *line)
{
    const char *to = sc_line_text(line, SC_F_TO), *reason = sc_line_text(line, SC_F_REASON);
    uint64_t step = sc_line_u64(line, SC_F_STEP);

    if (line->has[SC_F_SCOPE])
        sc_sites_moved(&device->sites, sc_line_text(line, SC_F_SCOPE), to, step);
    else if (!strcmp(to, "off"))
        sc_sites_moved_all(&device->sites, NULL, to, step);
    else if (!strcmp(reason, "oom"))
        sc_sites_moved_all(&device->sites, "fixed", to, step);
}

static void on_phase(sc_device *device, const sc_line *line)
{
    sc_change *change;

    move_sites(device, line);
    if (line->has[SC_F_SCOPE])
        return;
    if (!device->first_phase[0])
        copy_word(device->first_phase, sc_line_text(line, SC_F_FROM));
    copy_word(device->last_phase, sc_line_text(line, SC_F_TO));
    device->stretch = sc_line_u64(line, SC_F_STEP);
    if (device->change_count == SC_CHANGES_MOST) {
        device->changes_left_out++;
        return;
    }
    if ((device->change_count & (device->change_count - 1)) == 0) /* at 0 and powers of two */
        device->changes = sc_need_again(device->changes,
                                        sizeof *device->changes *
                                            (device->change_count ? 2 * device->change_count : 1));
    change = &device->changes[device->change_count++];
    *change = (sc_change){.step = sc_line_u64(line, SC_F_STEP),
                          .t_ns = sc_line_u64(line, SC_F_T),
                          .has_shape = line->has[SC_F_SHAPE],
                          .shape = sc_line_u64(line, SC_F_SHAPE),
                          .bytes = sc_line_u64(line, SC_F_BYTES),
                          .set_size = sc_line_u64(line, SC_F_SET_SIZE),
                          .idle_released = sc_line_u64(line, SC_F_IDLE_RELEASED)};
    copy_word(change->from, sc_line_text(line, SC_F_FROM));
    copy_word(change->to, sc_line_text(line, SC_F_TO));
    copy_word(change->reason, sc_line_text(line, SC_F_REASON));
    sc_history_keep_text(&change->site, sc_line_text(line, SC_F_SITE));
}

static sc_sums *sums_of_phase(sc_device *device, const char *phase)
{
    for (unsigned i = 0; i < device->phase_count; i++)
        if (!strncmp(device->phases[i].phase, phase, SC_WORD_BYTES - 1))
            return &device->phases[i].sums;
    if (device->phase_count == SC_PHASES_MOST)
        return NULL;
    copy_word(device->phases[device->phase_count].phase, phase);
    return &device->phases[device->phase_count++].sums;
}

static void on_fixed_step(sc_device *device, const sc_line *line)
{
    device->steps_fixed++;
    if (sc_line_u64(line, SC_F_STEP) <= device->stretch)
        return;
    device->settled_requests += sc_line_u64(line, SC_F_HITS) + sc_line_u64(line, SC_F_MISSES);
    device->settled_hits += sc_line_u64(line, SC_F_HITS);
}

static void on_step(sc_device *device, const sc_line *line)
{
    const char *phase = sc_line_text(line, SC_F_PHASE);
    sc_sums *sums = sums_of_phase(device, phase);

    if (!device->first_phase[0])
        copy_word(device->first_phase, phase);
    if (!device->change_count)
        copy_word(device->last_phase, phase);
    raise_to(&device->steps, sc_line_u64(line, SC_F_STEP) + 1);
    sums_add(&device->all, line);
    if (sums)
        sums_add(sums, line);
    if (!strcmp(phase, "fixed"))
        on_fixed_step(device, line);
}

/* The shape's record, new where it was not known; NULL: too many. */
static sc_shape *shape_of(sc_device *device, uint64_t id)
{
    sc_shape *shape = sc_map_find(device->index, id + 1); /* the map has no key 0 */
    unsigned count = device->shape_count;

    if (shape)
        return shape;
    if (count == SC_SHAPES_MOST || id == UINT64_MAX)
        return NULL;
    if ((count & (count - 1)) == 0)
        device->shapes =
            sc_need_again(device->shapes, sizeof(sc_shape *) * (count ? 2 * (size_t)count : 1));
    shape = sc_need(sizeof *shape);
    shape->id = id;
    if (!sc_map_put(device->index, id + 1, shape)) {
        sc_say("out of memory");
        exit(SC_EXIT_FAILED);
    }
    device->shapes[device->shape_count++] = shape;
    return shape;
}

/* "dims": [16, 512, 64]; more than there is room for are not ours, and none is kept. */
static void read_dims(sc_hint *hint, const sc_line *line)
{
    const sc_json_value *list = &line->value[SC_F_DIMS];
    sc_json json = sc_json_over(list->start, list->bytes);
    sc_json_value value;

    hint->count = 0;
    (void)sc_json_enter(&json, SC_JSON_LIST);
    while (sc_json_item(&json) && sc_json_take(&json, &value)) {
        if (value.kind != SC_JSON_WHOLE || hint->count == SC_HINT_DIMS) {
            hint->count = 0;
            return;
        }
        hint->dims[hint->count++] = value.whole;
    }
}

static void on_shape(sc_device *device, const sc_line *line)
{
    sc_shape *shape = shape_of(device, sc_line_u64(line, SC_F_ID));

    if (!shape) {
        device->shapes_left_out++;
        return;
    }
    shape->bytes = sc_line_u64(line, SC_F_BYTES);
#define READ(member, field) shape->member = sc_line_u64(line, SC_F_##field);
    SC_SHAPE_COUNTS(READ)
#undef READ
    sc_history_keep_text(&shape->site, sc_line_text(line, SC_F_SITE));
    if (line->has[SC_F_LABEL])
        sc_hint_label(&shape->hint, sc_line_text(line, SC_F_LABEL),
                      strlen(sc_line_text(line, SC_F_LABEL)));
    if (line->has[SC_F_DIMS])
        read_dims(&shape->hint, line);
}

/* What becomes of another allocator's call once it is tried again, the log does not tell. */
static void add_refused(sc_refused *refused, const sc_line *line)
{
    uint64_t bytes = sc_line_u64(line, SC_F_BYTES);

    if (sc_line_u64(line, SC_F_RESULT) == 0 || (!bytes && sc_line_u64(line, SC_F_RETRIED)))
        return;
    refused->count++;
    refused->step = sc_line_u64(line, SC_F_STEP);
    refused->bytes = bytes;
    free(refused->site);
    refused->site = NULL;
    sc_history_keep_text(&refused->site, sc_line_text(line, SC_F_SITE));
}

/* "out of memory: 512 MiB asked for at SITE; ..." */
static void on_oom(sc_history *history, sc_device *device, const sc_line *line)
{
    char text[1024], size[16];
    const char *site = sc_history_place(history, sc_line_text(line, SC_F_SITE));
    bool was_served = sc_line_u64(line, SC_F_RESULT) == 0;

    device->ooms++;
    sc_incidents_oom(&device->incidents, line);
    add_refused(&device->refused, line);
    snprintf(text, sizeof text, "the driver had no memory for %s%s%.700s%s; %s",
             sc_emit_size(size, sc_line_u64(line, SC_F_BYTES)), site ? ", asked for at " : "",
             site ? site : "",
             sc_line_u64(line, SC_F_RETRIED) ? "; what was idle went back and it was tried again"
                                             : "; nothing was idle that could go back",
             was_served ? "the program got its memory" : "the program got the error");
    add_note(history, line, text);
}

/* Marks are as many as the program likes: half of the room is for what went wrong. */
static void on_mark(sc_history *history, const sc_line *line)
{
    char text[1024];

    if (sc_line_u64(line, SC_F_AUTOMATIC)) /* every run has one: no news */
        return;
    if (history->mark_count == SC_NOTES_MOST / 2) {
        history->notes_left_out++;
        return;
    }
    history->mark_count++;
    snprintf(text, sizeof text, "mark: %.1000s", sc_line_text(line, SC_F_NAME));
    add_note(history, line, text);
}

static void on_end(sc_device *device, const sc_line *line)
{
    device->is_complete = true;
    device->steps = sc_line_u64(line, SC_F_STEPS);
    if (line->has[SC_F_PHASE])
        copy_word(device->last_phase, sc_line_text(line, SC_F_PHASE));
    if (!device->first_phase[0])
        copy_word(device->first_phase, device->last_phase);
    sums_set(&device->all, line);
    device->shapes_seen = sc_line_u64(line, SC_F_SHAPES);
    device->fallbacks = sc_line_u64(line, SC_F_FALLBACKS);
    if (line->has[SC_F_STEPS_FIXED])
        device->steps_fixed = sc_line_u64(line, SC_F_STEPS_FIXED);
    sc_incidents_end(&device->incidents, line);
    sc_arenas_add(&device->arenas, line);
    if (line->has[SC_F_OOMS])
        device->ooms = sc_line_u64(line, SC_F_OOMS);
}

static void add_of_device(sc_history *history, sc_device *device, const sc_line *line)
{
    switch (line->event) {
    case SC_EV_PHASE:
        on_phase(device, line);
        break;
    case SC_EV_STEP:
        on_step(device, line);
        break;
    case SC_EV_SHAPE:
        on_shape(device, line);
        break;
    case SC_EV_OOM:
        on_oom(history, device, line);
        break;
    case SC_EV_ALLOCATOR:
        sc_incidents_allocator(&device->incidents, line);
        break;
    case SC_EV_STRICT:
        sc_incidents_strict(&device->incidents, line);
        break;
    case SC_EV_ARENA:
        sc_arenas_add(&device->arenas, line);
        break;
    case SC_EV_END:
        on_end(device, line);
        break;
    default:
        break; /* single allocations are for other tools */
    }
}

static void add(sc_history *history, const sc_line *line)
{
    sc_device *device =
        line->has[SC_F_DEV] ? sc_history_device(history, sc_line_u64(line, SC_F_DEV)) : NULL;

    raise_to(&history->duration_ns, sc_line_u64(line, SC_F_T));
    if (line->event == SC_EV_RUN)
        sc_history_run(history, line);
    else if (line->event == SC_EV_WARN)
        add_note(history, line, sc_line_text(line, SC_F_TEXT));
    else if (line->event == SC_EV_MARK)
        on_mark(history, line);
    else if (line->event == SC_EV_SITE)
        sc_symbols_learn(&history->symbols, line);
    else if (device)
        add_of_device(history, device, line);
}

uint64_t sc_shape_most_bytes(const sc_shape *shape)
{
    uint64_t most;

    return __builtin_mul_overflow(shape->bytes, shape->high, &most) ? UINT64_MAX : most;
}

static int by_most_bytes(const void *left, const void *right)
{
    const sc_shape *a = *(sc_shape *const *)left, *b = *(sc_shape *const *)right;
    uint64_t x = sc_shape_most_bytes(a), y = sc_shape_most_bytes(b);

    if (x != y)
        return x < y ? 1 : -1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static void finish(sc_device *device)
{
    sc_map_release(device->index);
    free(device->index);
    device->index = NULL;
    if (!device->shapes_seen)
        device->shapes_seen = device->shape_count;
    for (unsigned i = 0; i < device->shape_count; i++) {
        const sc_shape *shape = device->shapes[i];

        const sc_site figures = {
            .requests = shape->requests, .hits = shape->hits, .misses = shape->misses};

        sc_sites_add_shape(&device->sites, shape->site ? shape->site : "unknown",
                           strcmp(device->last_phase, "off") != 0 ? "warmup" : "off", &figures);
    }
    sc_sites_sort(&device->sites);
    if (device->is_complete)
        return;
    for (unsigned i = 0; i < device->sites.count; i++)
        device->fallbacks += device->sites.at[i]->fallbacks;
    for (unsigned i = 0; !device->sites.count && i < device->change_count; i++)
        device->fallbacks += !strcmp(device->changes[i].to, "fallback");
}

/* A device that is only named by `run` and never used says nothing. */
static bool is_used(const sc_device *device)
{
    return device->is_complete || device->all.rows || device->change_count || device->shape_count ||
           device->arenas.count;
}

static void device_delete(sc_device *device)
{
    for (unsigned i = 0; i < device->change_count; i++)
        free(device->changes[i].site);
    for (unsigned i = 0; i < device->shape_count; i++) {
        free(device->shapes[i]->site);
        free(device->shapes[i]);
    }
    if (device->index) /* not all of the log was read */
        sc_map_release(device->index);
    free(device->index);
    sc_sites_release(&device->sites);
    free(device->refused.site);
    sc_incidents_release(&device->incidents);
    sc_arenas_release(&device->arenas);
    free(device->changes);
    free(device->shapes);
    free(device);
}

sc_history *sc_history_read(const char *path, char *error, size_t bytes)
{
    sc_history *history = sc_need(sizeof *history);
    unsigned used = 0;
    sc_reader reader;
    const sc_line *line;

    if (!sc_reader_open(&reader, path)) {
        snprintf(error, bytes, "%s: %s", path, strerror(errno));
        free(history);
        return NULL;
    }
    history->path = reader.path;
    while ((line = sc_reader_next(&reader)))
        add(history, line);
    history->is_cut = reader.is_cut;
    sc_reader_close(&reader);
    for (unsigned i = 0; i < history->device_count; i++) {
        sc_device *device = history->devices[i];

        finish(device);
        if (device->shape_count)
            qsort(device->shapes, device->shape_count, sizeof(sc_shape *), by_most_bytes);
        if (is_used(device))
            history->devices[used++] = device;
        else
            device_delete(device);
    }
    history->device_count = used;
    if (!reader.error[0])
        return history;
    snprintf(error, bytes, "%s", reader.error);
    sc_history_delete(history);
    return NULL;
}

void sc_history_delete(sc_history *history)
{
    for (unsigned i = 0; i < history->device_count; i++)
        device_delete(history->devices[i]);
    for (unsigned i = 0; i < history->note_count; i++)
        free(history->notes[i].text);
    free(history->run);
    free(history->host);
    free(history->build);
    free(history->argv);
    free(history->settings);
    sc_symbols_delete(history->symbols);
    free(history);
}

const char *sc_history_place(const sc_history *history, const char *site)
{
    return sc_symbols_place(history->symbols, site);
}

bool sc_history_is_complete(const sc_history *history)
{
    for (unsigned i = 0; i < history->device_count; i++)
        if (!history->devices[i]->is_complete)
            return false;
    return history->device_count > 0;
}

bool sc_history_is_observed(const sc_history *history)
{
    return history->is_told[SC_OPTION_mode] && history->options.mode == SC_MODE_OBSERVE;
}

uint64_t sc_history_cap(const sc_history *history, const sc_device *device)
{
    const sc_options *options = &history->options;
    uint64_t peak = device->all.live_peak, most, limit;

    if (!history->is_told[SC_OPTION_overhead] || !history->is_told[SC_OPTION_limit] ||
        !history->is_told[SC_OPTION_gate] || !options->gate || peak > UINT64_MAX / 10001 ||
        (options->limit.is_percent && !device->total))
        return 0;
    limit = sc_share_bytes(options->limit, device->total);
    most = peak + peak / 100 * options->overhead + peak % 100 * options->overhead / 100;
    most = most < limit ? most : limit;
    return most > peak ? most : peak;
}
