/* SPDX-License-Identifier: MIT
 * completion.c - `shapecache completion`: what a shell completes, from the table of commands and
 * the options that each one's help text lists. */
#include "cli/command.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const sc_command *const commands[] = {
#define COMMAND(name) &sc_command_##name,
#include "cli/commands.def"
};

enum { COMMANDS = sizeof commands / sizeof(const sc_command *), NAME_BYTES = 32 };

/* The next option that the text describes (a line that begins with it), without its value; NULL: no
 * more. The text moves on. */
static const char *next_option(const char **text, char name[NAME_BYTES])
{
    while (**text) {
        const char *line = *text + strspn(*text, " ");
        bool is_indented = line - *text >= 2;
        size_t length = strcspn(line, " ,=[\n");

        *text = strchr(line, '\n') ? strchr(line, '\n') + 1 : line + strlen(line);
        if (strncmp(line, "-n, ", 4) == 0) {
            line += 4;
            length = strcspn(line, " ,=[\n");
        }
        if (is_indented && !strncmp(line, "--", 2) && length > 2 && length < NAME_BYTES) {
            snprintf(name, NAME_BYTES, "%.*s", (int)length, line);
            return name;
        }
    }
    return NULL;
}

/* Each option once, with `before` in front of it. */
static void put_options(const sc_command *command, const char *before)
{
    const char *text = command->help;
    char name[NAME_BYTES], last[NAME_BYTES] = "";

    while (next_option(&text, name)) {
        if (strcmp(name, last) != 0)
            printf("%s%s", before, name);
        snprintf(last, sizeof last, "%s", name);
    }
}

static void put_names(const char *before)
{
    for (int i = 0; i < COMMANDS; i++)
        printf("%s%s", before, commands[i]->name);
    printf("%shelp", before);
}

static void bash(void)
{
    printf("# bash: source <(shapecache completion bash)\n"
           "_shapecache()\n"
           "{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
           "    if ((COMP_CWORD == 1)); then\n"
           "        words='");
    put_names(" ");
    printf(" --help --version'\n"
           "    elif [[ $word == -* ]]; then\n"
           "        case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < COMMANDS; i++) {
        printf("        %s) words='", commands[i]->name);
        put_options(commands[i], " ");
        printf(" --help' ;;\n");
    }
    printf("        esac\n"
           "    elif [[ ${COMP_WORDS[1]} == help ]]; then\n"
           "        words='");
    put_names(" ");
    printf("'\n"
           "    else\n"
           "        compopt -o default 2>/dev/null\n"
           "        return\n"
           "    fi\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "}\n"
           "complete -F _shapecache shapecache\n");
}

static void zsh(void)
{
    printf("#compdef shapecache\n"
           "# zsh: source <(shapecache completion zsh)\n"
           "_shapecache()\n"
           "{\n"
           "    if ((CURRENT == 2)); then\n"
           "        compadd --");
    put_names(" ");
    printf("\n"
           "    elif [[ $PREFIX == -* ]]; then\n"
           "        case $words[2] in\n");
    for (int i = 0; i < COMMANDS; i++) {
        printf("        %s) compadd --", commands[i]->name);
        put_options(commands[i], " ");
        printf(" --help ;;\n");
    }
    printf("        esac\n"
           "    elif [[ $words[2] == help ]]; then\n"
           "        compadd --");
    put_names(" ");
    printf("\n"
           "    else\n"
           "        _files\n"
           "    fi\n"
           "}\n"
           "compdef _shapecache shapecache\n");
}

/* A summary in single quotes: none of them has one. */
static void fish(void)
{
    printf("# fish: shapecache completion fish | source\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("complete -c shapecache -n __fish_use_subcommand -f -a %s -d '%s'\n",
               commands[i]->name, commands[i]->summary);
    printf("complete -c shapecache -n __fish_use_subcommand -f -a help\n"
           "complete -c shapecache -n '__fish_seen_subcommand_from help' -f -a '");
    put_names(" ");
    printf("'\n");
    for (int i = 0; i < COMMANDS; i++) {
        char before[128];

        snprintf(before, sizeof before,
                 "complete -c shapecache -n '__fish_seen_subcommand_from %s' -l ",
                 commands[i]->name);
        const char *text = commands[i]->help;
        char name[NAME_BYTES], last[NAME_BYTES] = "";

        while (next_option(&text, name)) {
            if (strcmp(name, last) != 0)
                printf("%s%s\n", before, name + 2);
            snprintf(last, sizeof last, "%s", name);
        }
    }
}

static const struct {
    const char *name;
    void (*print)(void);
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static int completion(int count, char **arguments)
{
    for (size_t i = 0; count == 1 && i < sizeof shells / sizeof *shells; i++) {
        if (!strcmp(arguments[0], shells[i].name)) {
            shells[i].print();
            return SC_EXIT_DONE;
        }
    }
    return sc_usage(&sc_command_completion, "completion: for bash, zsh or fish?");
}

const sc_command sc_command_completion = {
    .name = "completion",
    .run = completion,
    .summary = "what makes a shell complete commands and options",
    .help = "usage: shapecache completion bash|zsh|fish\n"
            "\n"
            "Print a script that makes the shell complete the tool's commands, options and the\n"
            "names of files:\n"
            "\n"
            "  source <(shapecache completion bash)\n"
            "  source <(shapecache completion zsh)\n"
            "  shapecache completion fish | source\n"
            "\n"
            "exit status: 0, 2 usage\n",
};
