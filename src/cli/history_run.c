/* SPDX-License-Identifier: MIT
 * history_run.c - the first record of a log: what ran, where, with which settings. */
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/history.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "argv" as a command line. */
static char *join_arguments(const sc_line *line)
{
    const sc_json_value *list = &line->value[SC_F_ARGV];
    sc_json json;
    sc_json_value value;
    char *joined;
    size_t used = 0, room;

    if (!line->has[SC_F_ARGV])
        return sc_need_copy("");
    room = 4 * list->bytes + 4; /* quoting makes four bytes of one */
    joined = sc_need(room);
    json = sc_json_over(list->start, list->bytes);
    (void)sc_json_enter(&json, SC_JSON_LIST);
    while (sc_json_item(&json) && sc_json_take(&json, &value)) {
        if (value.kind != SC_JSON_TEXT)
            continue;
        if (used)
            joined[used++] = ' ';
        used += sc_emit_quoted(joined + used, room - used, value.text);
    }
    return joined;
}

typedef struct config {
    char *shown; /* NAME=VALUE ... of what was set, but for the run's name */
    size_t used;
    char *environment[SC_OPTION_COUNT + 1];
    int count;
} config;

static void config_add(config *all, const char *name, const char *value, bool was_set)
{
    size_t bytes = strlen(name) + strlen(value) + 2;

    if (was_set)
        all->used +=
            (size_t)sprintf(all->shown + all->used, "%s%s=%s", all->used ? " " : "", name, value);
    if (all->count < SC_OPTION_COUNT) {
        all->environment[all->count] = sc_need(bytes);
        snprintf(all->environment[all->count++], bytes, "%s=%s", name, value);
    }
}

/* "config": {"NAME":{"value":"V","from":"env"}, ...}: read again by the parser that wrote them. */
static void read_settings(sc_history *history, const sc_line *line)
{
    const sc_json_value *object = &line->value[SC_F_CONFIG];
    bool is_there = line->has[SC_F_CONFIG];
    sc_json json = sc_json_over(is_there ? object->start : NULL, is_there ? object->bytes : 0);
    config all = {.shown = sc_need(json.at ? object->bytes + 1 : 1)};
    const char *name, *member;

    (void)sc_json_enter(&json, SC_JSON_OBJECT);
    while (sc_json_member(&json, &name) && sc_json_enter(&json, SC_JSON_OBJECT)) {
        sc_json_value part = {0};
        const char *value = NULL, *from = "";

        while (sc_json_member(&json, &member) && sc_json_take(&json, &part))
            if (part.kind == SC_JSON_TEXT && !strcmp(member, "value"))
                value = part.text;
            else if (part.kind == SC_JSON_TEXT && !strcmp(member, "from"))
                from = part.text;
        if (value)
            config_add(&all, name, value,
                       strcmp(from, "default") != 0 &&
                           strcmp(name, sc_option_rows[SC_OPTION_run_id].name) != 0);
    }
    sc_options_read(&history->options, history->is_told, all.environment, NULL, NULL);
    for (int i = 0; i < all.count; i++)
        free(all.environment[i]);
    history->settings = all.shown;
}

/* "devices": [{"dev":0,"total":N}, ...] */
static void read_devices(sc_history *history, const sc_line *line)
{
    const sc_json_value *list = &line->value[SC_F_DEVICES];
    sc_json json;
    const char *member;

    if (!line->has[SC_F_DEVICES])
        return;
    json = sc_json_over(list->start, list->bytes);
    (void)sc_json_enter(&json, SC_JSON_LIST);
    while (sc_json_item(&json) && sc_json_enter(&json, SC_JSON_OBJECT)) {
        uint64_t ordinal = 0, total = 0;
        sc_json_value part = {0};
        sc_device *device;

        while (sc_json_member(&json, &member) && sc_json_take(&json, &part))
            if (part.kind == SC_JSON_WHOLE && !strcmp(member, "dev"))
                ordinal = part.whole;
            else if (part.kind == SC_JSON_WHOLE && !strcmp(member, "total"))
                total = part.whole;
        device = sc_history_device(history, ordinal);
        if (device)
            device->total = total;
    }
}

void sc_history_run(sc_history *history, const sc_line *line)
{
    sc_history_keep_text(&history->run, line->has[SC_F_RUN] ? sc_line_text(line, SC_F_RUN) : "");
    sc_history_keep_text(&history->host, line->has[SC_F_HOST] ? sc_line_text(line, SC_F_HOST) : "");
    sc_history_keep_text(&history->build,
                         line->has[SC_F_BUILD] ? sc_line_text(line, SC_F_BUILD) : "");
    history->pid = sc_line_u64(line, SC_F_PID);
    history->rank = sc_line_u64(line, SC_F_RANK);
    history->world = line->has[SC_F_WORLD] ? sc_line_u64(line, SC_F_WORLD) : 1;
    history->t0_unix_ns = sc_line_u64(line, SC_F_T0);
    history->argv = join_arguments(line);
    read_settings(history, line);
    read_devices(history, line);
}

const char *sc_history_shape_name(const sc_history *history, const sc_device *device, uint64_t id)
{
    const sc_shape *shape = NULL;

    for (unsigned i = 0; i < device->shape_count && !shape; i++)
        if (device->shapes[i]->id == id)
            shape = device->shapes[i];
    if (!shape || shape->hint.label[0])
        return shape ? shape->hint.label : NULL;
    return shape->site ? sc_history_place(history, shape->site) : NULL;
}
