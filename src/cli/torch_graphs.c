/* SPDX-License-Identifier: MIT
 * A script that captures CUDA graphs by its own words: better told now than hours later. What a
 * library captures for it is told when it comes to that (hooks/python/shapecache/torch_view.py). */
#include "cli/command.h"
#include "cli/torch.h"
#include <stdio.h>
#include <string.h>

static bool is_script(const char *argument)
{
    size_t length = strlen(argument);

    return length > 3 && !strcmp(argument + length - 3, ".py");
}

static bool captures(const char *line)
{
    static const char *const ways[] = {"cuda.graph(", "CUDAGraph(", "make_graphed_callables("};

    line += strspn(line, " \t");
    for (size_t i = 0; *line != '#' && i < sizeof ways / sizeof *ways; i++)
        if (strstr(line, ways[i]))
            return true;
    return false;
}

/* The first line of `script` that does; 0: none, or it cannot be read. */
static unsigned find_capture(const char *script)
{
    FILE *file = fopen(script, "re");
    unsigned number = 0, found = 0;
    char line[4096]; /* what is longer is no line that anybody has written */
    bool is_whole = true;

    if (!file)
        return 0;
    while (!found && fgets(line, sizeof line, file)) {
        number += is_whole;
        is_whole = strchr(line, '\n') != NULL;
        if (captures(line))
            found = number;
    }
    fclose(file);
    return found;
}

bool sc_torch_is_capturing(const sc_torch *torch, char *const *command)
{
    unsigned line;

    if (torch->view != SC_TORCH_TENSORS || torch->is_named)
        return false;
    while (*command && !is_script(*command))
        command++;
    line = *command ? find_capture(*command) : 0;
    if (!line)
        return false;
    sc_say("run: %s:%u captures a CUDA graph, for which there is no memory that stays while "
           "PyTorch's cache is off: --torch=segments leaves it on, and graphs work; "
           "--torch=tensors runs until it comes to that",
           *command, line);
    return true;
}
