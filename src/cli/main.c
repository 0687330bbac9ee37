/* SPDX-License-Identifier: MIT
 * The tool: a table of commands. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/progress.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const sc_command *const commands[] = {
#define COMMAND(name) &sc_command_##name,
#include "cli/commands.def"
};

enum { COMMANDS = sizeof(commands) / sizeof(const sc_command *) };

static void __attribute__((format(printf, 1, 0))) say(const char *format, va_list arguments)
{
    char text[2048], shown[sizeof text + 16];
    sc_text out = sc_text_over(shown, sizeof shown);
    bool is_plain;

    sc_progress_clear();
    vsnprintf(text, sizeof text, format, arguments);
    for (size_t at = 0, bytes; text[at]; at += bytes) {
        bytes = sc_text_shown(text + at, &is_plain);
        sc_text_bytes(&out, is_plain ? text + at : "?", is_plain ? bytes : 1);
    }
    fprintf(stderr, "shapecache: %s\n", sc_text_terminate(&out));
}

void sc_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

int sc_usage(const sc_command *command, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    fprintf(stderr, "try: shapecache %s%s\n", command ? "help " : "--help",
            command ? command->name : "");
    return SC_EXIT_USAGE;
}

static void *checked(void *memory)
{
    if (!memory) {
        sc_say("out of memory");
        exit(SC_EXIT_FAILED);
    }
    return memory;
}

void *sc_need(size_t bytes)
{
    return checked(calloc(1, bytes ? bytes : 1));
}

void *sc_need_again(void *memory, size_t bytes)
{
    return checked(realloc(memory, bytes));
}

char *sc_need_copy(const char *text)
{
    return checked(strdup(text));
}

static const sc_command *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

/* A name further off than this is no slip of the fingers. */
enum { NEAR = 2 };

static int unknown(const char *name)
{
    const sc_command *nearest = commands[0];
    char names[256];
    sc_text text = sc_text_over(names, sizeof names);

    for (int i = 0; i < COMMANDS; i++) {
        if (sc_text_distance(name, commands[i]->name) < sc_text_distance(name, nearest->name))
            nearest = commands[i];
        sc_text_string(&text, commands[i]->name);
        sc_text_string(&text, ", ");
    }
    sc_text_string(&text, "help");
    if (sc_text_distance(name, nearest->name) <= NEAR)
        return sc_usage(NULL, "no command \"%.64s\"; the nearest is \"%s\"", name, nearest->name);
    return sc_usage(NULL, "no command \"%.64s\"; there are %s", name, sc_text_terminate(&text));
}

static int finish(int status)
{
    return sc_emit_close() || (status && status != SC_EXIT_NO) ? status : SC_EXIT_UNREADABLE;
}

static int help(const char *name)
{
    const sc_command *command = name ? find(name) : NULL;

    if (name && !command)
        return unknown(name);
    if (command) {
        fputs(command->help, stdout);
        return finish(SC_EXIT_DONE);
    }
    puts("usage: shapecache COMMAND ...\n"
         "\n"
         "A buffer cache for unmodified CUDA training programs: cudaMalloc and cudaFree\n"
         "are served from it while the set of shapes is fixed, and only then.\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    puts("  help       the whole text about one command\n"
         "\n"
         "  --help, --version; -q, --quiet: no progress bar while a large log is read\n"
         "\n"
         "exit status: 0 done, 1 done and the answer is no (report --fail-on), 2 usage,\n"
         "3 unreadable or malformed input; of diff, as diff(1) has it: 0 the same, 1 they\n"
         "differ, 2 trouble; of run, the program's own, or 125 (could not start it), 126\n"
         "(not executable), 127 (not found)");
    return finish(SC_EXIT_DONE);
}

typedef enum option_kind { OPTION_UNKNOWN, OPTION_FLAG, OPTION_VALUED } option_kind;

/* By the help text, which shows a value as a word in capitals after the option's name. */
static option_kind kind_of(const sc_command *command, const char *name, size_t length)
{
    option_kind kind = OPTION_UNKNOWN;

    for (const char *at = command->help; (at = strstr(at, "--")); at += 2) {
        if (strncmp(at, name, length) != 0 || isalpha((unsigned char)at[length]) ||
            at[length] == '-')
            continue;
        if (at[length] == ' ' && isupper((unsigned char)at[length + 1]))
            return OPTION_VALUED;
        kind = OPTION_FLAG;
    }
    return kind;
}

static bool is_quiet(const char *argument)
{
    return !strcmp(argument, "-q") || !strcmp(argument, "--quiet");
}

static bool is_help(const char *argument)
{
    return !strcmp(argument, "--help") || !strcmp(argument, "-h");
}

enum { SPLIT_USAGE = -1, SPLIT_HELP = -2 };

/* --name=value as two arguments, where the command has them so; `out` has room for twice as many.
 * How many there are; or SPLIT_USAGE, and said: an option that takes no value; or SPLIT_HELP: the
 * command's help is what is asked for. */
static int split(const sc_command *command, char **out, char **arguments, int count)
{
    int made = 0;
    bool is_over = false, is_value = false;

    for (int i = 0; i < count; i++) {
        char *argument = arguments[i];
        char *equals = strncmp(argument, "--", 2) != 0 ? NULL : strchr(argument, '=');
        size_t length = equals ? (size_t)(equals - argument) : 0;
        option_kind kind = length > 2 ? kind_of(command, argument, length) : OPTION_UNKNOWN;

        is_over = is_over || !strcmp(argument, "--");
        if (!is_over && !is_value && is_quiet(argument)) {
            sc_progress_off();
            continue;
        }
        if (!is_over && !is_value && is_help(argument))
            return SPLIT_HELP;
        is_value =
            !is_over && !is_value && kind_of(command, argument, strlen(argument)) == OPTION_VALUED;
        out[made++] = argument;
        if (is_over || kind == OPTION_UNKNOWN)
            continue;
        if (kind == OPTION_FLAG) {
            (void)sc_usage(command, "%s: \"%.64s\": %.*s takes no value", command->name, argument,
                           (int)length, argument);
            return SPLIT_USAGE;
        }
        *equals = '\0';
        out[made++] = equals + 1;
    }
    return made;
}

static int start(const sc_command *command, int count, char **arguments)
{
    char **words;
    int status = SC_EXIT_USAGE;

    if (command == &sc_command_run && !(count && is_help(arguments[0])))
        return command->run(count, arguments); /* reads its own: more is another program's */
    words = sc_need((2 * (size_t)count + 1) * sizeof *words);
    count = split(command, words, arguments, count);
    if (count >= 0)
        status = command->run(count, words);
    else if (count == SPLIT_HELP)
        status = fputs(command->help, stdout) < 0 ? SC_EXIT_UNREADABLE : SC_EXIT_DONE;
    free(words);
    return status;
}

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : NULL;
    const sc_command *command;
    int status;

    if (!name) {
        (void)sc_usage(NULL, "a command is missing");
        return SC_EXIT_USAGE;
    }
    if (is_help(name) || !strcmp(name, "help"))
        return help(count > 2 ? arguments[2] : NULL);
    if (!strcmp(name, "--version")) {
        puts("shapecache " SC_VERSION);
        return finish(SC_EXIT_DONE);
    }
    command = find(name);
    if (!command)
        return *name == '-' ? sc_usage(NULL, "no option \"%.64s\"", name) : unknown(name);
    status = finish(start(command, count - 2, arguments + 2));
    if (command == &sc_command_diff && status == SC_EXIT_UNREADABLE)
        return SC_EXIT_USAGE; /* trouble is one, as of diff(1) */
    return status;
}
