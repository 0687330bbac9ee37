/* SPDX-License-Identifier: MIT */
#include "base/options.h"
#include "base/path.h"
#include "base/set.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static void warn(void *self, const char *sentence)
{
    (void)self;
    sc_say("%s", sentence);
}

/* What may stand there: "on off observe", "1 to 1000000", "size" */
static void describe_values(sc_text *text, const sc_option_row *row)
{
    switch (row->kind) {
    case SC_KIND_CHOICE:
    case SC_KIND_CHOICE_N:
        for (const char *c = row->choices; *c; c++)
            sc_text_string(text, *c == ' ' ? ", " : (char[]){*c, '\0'});
        break;
    case SC_KIND_BOOL:
        sc_text_string(text, "1, 0");
        break;
    case SC_KIND_COUNT:
        sc_text_u64(text, row->least);
        sc_text_string(text, " to ");
        sc_text_u64(text, row->most);
        break;
    case SC_KIND_SIZE:
        sc_text_string(text, row->least ? "size, at least " : "size");
        if (row->least)
            sc_text_size(text, row->least);
        break;
    case SC_KIND_SHARE:
        sc_text_string(text, "size, or % of the device");
        break;
    case SC_KIND_SECONDS:
        sc_text_string(text, "seconds: ");
        sc_text_u64(text, row->least);
        sc_text_string(text, " to ");
        sc_text_u64(text, row->most);
        break;
    case SC_KIND_PERCENT:
        sc_text_string(text, "0% to ");
        sc_text_u64(text, row->most);
        sc_text_char(text, '%');
        break;
    case SC_KIND_TEXT:
        sc_text_string(text, "text");
        break;
    }
}

/* What is in effect here, and which rows are asked for. */
typedef struct settings {
    sc_options options, defaults;
    bool is_set[SC_OPTION_COUNT];
    bool is_shown[SC_OPTION_COUNT];
} settings;

static void print_row(const settings *all, int i)
{
    const sc_option_row *row = &sc_option_rows[i];
    char value[SC_OPTION_TEXT_BYTES], standard[SC_OPTION_TEXT_BYTES], values[256];
    sc_text text = sc_text_over(values, sizeof values);

    sc_options_print(&all->options, i, value, sizeof value);
    sc_options_print(&all->defaults, i, standard, sizeof standard);
    describe_values(&text, row);
    sc_emit("%-22s %s", row->name, *value ? value : "(empty)");
    if (all->is_set[i])
        sc_emit("  (set; default %s)\n", *standard ? standard : "empty");
    else
        sc_emit("  (default)\n");
    sc_emit_wrapped("    ", 4, row->meaning);
    sc_emit("    values: %s\n", sc_text_terminate(&text));
}

static void print_json_row(const settings *all, int i)
{
    const sc_option_row *row = &sc_option_rows[i];
    char value[SC_OPTION_TEXT_BYTES], standard[SC_OPTION_TEXT_BYTES], values[256];
    sc_text text = sc_text_over(values, sizeof values);

    sc_options_print(&all->options, i, value, sizeof value);
    sc_options_print(&all->defaults, i, standard, sizeof standard);
    describe_values(&text, row);
    sc_emit_open(NULL, '{');
    sc_emit_text("name", row->name);
    sc_emit_text("value", value);
    sc_emit_text("from", all->is_set[i] ? "env" : "default");
    sc_emit_text("default", standard);
    sc_emit_text("values", sc_text_terminate(&text));
    sc_emit_text("meaning", row->meaning);
    sc_emit_end('}');
}

static void print(const settings *all, bool is_json)
{
    if (is_json) {
        sc_emit_open(NULL, '{');
        sc_emit_open("settings", '[');
    }
    for (int i = 0; i < SC_OPTION_COUNT; i++)
        if (all->is_shown[i])
            (is_json ? print_json_row : print_row)(all, i);
    if (is_json) {
        sc_emit_end(']');
        sc_emit_end('}');
    }
}

static void print_markdown(void)
{
    sc_options defaults;
    char *none[] = {NULL};

    sc_options_read(&defaults, NULL, none, NULL, NULL);
    puts("# Settings\n"
         "\n"
         "<!-- Generated from src/base/options.def by `./dev docs`: do not edit. -->\n"
         "\n"
         "Environment variables, read once, at the program's first allocation of GPU memory.\n"
         "`shapecache env` shows the values in effect and where each comes from.\n"
         "\n"
         "- Words are taken in any case where they mean yes or no: 1/0, on/off, true/false, "
         "yes/no.\n"
         "- Sizes are bytes, or carry B, KiB, MiB, GiB or TiB, always powers of 1024: `1.5GiB`, "
         "`64k`,\n"
         "  `512MB`.\n"
         "- An empty value is as none. A value that cannot be used keeps the default, and an "
         "unknown\n"
         "  name that starts with `SHAPECACHE_` is ignored; each says so once, on stderr and in "
         "the log.\n"
         "\n"
         "| name | values | default | meaning |\n"
         "|---|---|---|---|");
    for (int i = 0; i < SC_OPTION_COUNT; i++) {
        const sc_option_row *row = &sc_option_rows[i];
        char standard[SC_OPTION_TEXT_BYTES], values[256];
        sc_text text = sc_text_over(values, sizeof values);

        sc_options_print(&defaults, i, standard, sizeof standard);
        describe_values(&text, row);
        printf("| `%s` | %s | %s%s%s | %s |\n", row->name, sc_text_terminate(&text),
               *standard ? "`" : "", standard, *standard ? "`" : "", row->meaning);
    }
}

/* What only shows when the log is opened can be told here and now. */
static void check_log(const sc_options *options)
{
    static sc_identity identity;
    static char path[SC_PATH_BYTES];

    sc_identity_read(&identity, options->run_id, environ);
    if (!sc_path_expand(path, sizeof path, options->log, &identity, 1))
        sc_say("%s is \"%.200s\", which has a placeholder that is none, or is too long; no log "
               "would be written.",
               sc_option_rows[SC_OPTION_log].name, options->log);
}

/* The same of a declared set. */
static void check_shapes(const sc_options *options)
{
    static sc_identity identity;
    static char path[SC_PATH_BYTES];
    char error[1024];
    sc_set set;

    if (!options->shapes[0])
        return;
    sc_identity_read(&identity, options->run_id, environ);
    if (!sc_path_expand(path, sizeof path, options->shapes, &identity, 1))
        sc_say("%s is \"%.200s\", which has a placeholder that is none, or is too long; no set "
               "would be loaded.",
               sc_option_rows[SC_OPTION_shapes].name, options->shapes);
    else if (sc_set_read(&set, path, error, sizeof error))
        sc_set_release(&set);
    else
        sc_say("%s; nothing of it would be loaded.", error);
}

/* The row that `name` names, with or without the prefix, in any case; -1: none. */
static int row_of(const char *name)
{
    static const char prefix[] = "SHAPECACHE_";

    for (int i = 0; i < SC_OPTION_COUNT; i++) {
        const char *whole = sc_option_rows[i].name;

        if (!strcasecmp(name, whole) || (!strncmp(whole, prefix, sizeof prefix - 1) &&
                                         !strcasecmp(name, whole + sizeof prefix - 1)))
            return i;
    }
    return -1;
}

static int refuse_name(const char *name)
{
    char whole[64] = "SHAPECACHE_";
    size_t used = strncasecmp(name, whole, strlen(whole)) ? strlen(whole) : 0;

    snprintf(whole + used, sizeof whole - used, "%s", name);
    for (char *c = whole; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return sc_usage(&sc_command_env, "env: no setting \"%.64s\"; the nearest is %s", name,
                    sc_option_rows[sc_options_nearest(whole)].name);
}

static int env(int count, char **arguments)
{
    char *none[] = {NULL};
    settings all = {.is_set = {false}};
    bool is_json = false, is_named = false;

    for (int i = 0; i < count; i++) {
        if (count == 1 && !strcmp(arguments[i], "--markdown")) {
            print_markdown();
            return SC_EXIT_DONE;
        }
        if (!strcmp(arguments[i], "--json")) {
            is_json = true;
            continue;
        }
        if (arguments[i][0] == '-')
            return sc_usage(&sc_command_env, "env: no option \"%.64s\"%s", arguments[i],
                            strcmp(arguments[i], "--markdown") ? "" : " beside another argument");
        int row = row_of(arguments[i]);

        if (row < 0)
            return refuse_name(arguments[i]);
        all.is_shown[row] = is_named = true;
    }
    for (int i = 0; i < SC_OPTION_COUNT && !is_named; i++)
        all.is_shown[i] = true;
    sc_options_read(&all.options, all.is_set, environ, warn, NULL);
    sc_options_read(&all.defaults, NULL, none, NULL, NULL);
    check_log(&all.options);
    check_shapes(&all.options);
    print(&all, is_json);
    return SC_EXIT_DONE;
}

const sc_command sc_command_env = {
    .name = "env",
    .run = env,
    .summary = "show every setting: its value now, its default, what it means",
    .help = "usage: shapecache env [--json] [NAME ...]\n"
            "       shapecache env --markdown\n"
            "\n"
            "Show every setting, or those named: the value in effect here, whether the\n"
            "environment set it, the default, what it means and what may stand there. Names\n"
            "are taken with or without SHAPECACHE_. Names in the environment that start with\n"
            "it and are none, and values that cannot be used, are told on stderr.\n"
            "\n"
            "  --json      for programs\n"
            "  --markdown  the table of docs/options.md\n"
            "\n"
            "exit status: 0, 2 usage\n",
};
