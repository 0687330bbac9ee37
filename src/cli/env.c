/* SPDX-License-Identifier: MIT */
#include "base/options.h"
#include "base/path.h"
#include "base/set.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include <stdio.h>
#include <string.h>
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

static void print_row(const sc_options *options, const sc_options *defaults, int i, bool is_set)
{
    const sc_option_row *row = &sc_option_rows[i];
    char value[SC_OPTION_TEXT_BYTES], standard[SC_OPTION_TEXT_BYTES], values[256];
    sc_text text = sc_text_over(values, sizeof values);

    sc_options_print(options, i, value, sizeof value);
    sc_options_print(defaults, i, standard, sizeof standard);
    describe_values(&text, row);
    sc_emit("%-22s %s", row->name, *value ? value : "(empty)");
    if (is_set)
        sc_emit("  (set; default %s)\n", *standard ? standard : "empty");
    else
        sc_emit("  (default)\n");
    sc_emit_wrapped("    ", 4, row->meaning);
    sc_emit("    values: %s\n", sc_text_terminate(&text));
}

static void print_text(const sc_options *options, const bool *is_set)
{
    sc_options defaults;
    char *none[] = {NULL};

    sc_options_read(&defaults, NULL, none, NULL, NULL);
    for (int i = 0; i < SC_OPTION_COUNT; i++)
        print_row(options, &defaults, i, is_set[i]);
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

static int env(int count, char **arguments)
{
    sc_options options;
    bool is_set[SC_OPTION_COUNT];

    if (count == 1 && !strcmp(arguments[0], "--markdown")) {
        print_markdown();
        return SC_EXIT_DONE;
    }
    if (count)
        return sc_usage(&sc_command_env, "env: no option \"%.64s\"", arguments[0]);
    sc_options_read(&options, is_set, environ, warn, NULL);
    check_log(&options);
    check_shapes(&options);
    print_text(&options, is_set);
    return SC_EXIT_DONE;
}

const sc_command sc_command_env = {
    .name = "env",
    .run = env,
    .summary = "show every setting: its value now, its default, what it means",
    .help = "usage: shapecache env [--markdown]\n"
            "\n"
            "Show every setting: its value in effect here, whether the environment set it, its\n"
            "default, what it means and what may stand there. Names that start with\n"
            "SHAPECACHE_ and are none, and values that cannot be used, are told on stderr.\n"
            "\n"
            "  --markdown  the table of docs/options.md\n",
};
