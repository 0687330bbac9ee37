/* SPDX-License-Identifier: MIT */
#include "cli/torch.h"
#include "base/text.h"
#include "cli/command.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define STARTUP "python/startup"

static const char *const words[] = {[SC_TORCH_TENSORS] = "tensors",
                                    [SC_TORCH_PLUGGABLE] = "pluggable",
                                    [SC_TORCH_SEGMENTS] = "segments"};

static bool parse_offload(sc_torch *torch, const char *option)
{
    static const char name[] = "--offload";
    size_t length = sizeof name - 1;
    uint64_t bytes;

    if (strncmp(option, name, length) != 0)
        return false;
    if (!option[length])
        torch->offload = "auto";
    else if (option[length] == '=' && sc_parse_size(option + length + 1, &bytes))
        torch->offload = option + length + 1;
    else
        return false;
    return true;
}

bool sc_torch_parse(sc_torch *torch, const char *option)
{
    if (parse_offload(torch, option))
        return true;
    static const char name[] = "--torch";
    size_t length = sizeof name - 1;

    if (strncmp(option, name, length) != 0 || (option[length] && option[length] != '='))
        return false;
    torch->is_named = option[length];
    torch->view = torch->is_named ? SC_TORCH_NONE : SC_TORCH_TENSORS;
    for (unsigned i = SC_TORCH_TENSORS; i <= SC_TORCH_SEGMENTS && torch->is_named; i++)
        if (!strcmp(option + length + 1, words[i]))
            torch->view = (sc_torch_view)i;
    return torch->view != SC_TORCH_NONE;
}

static bool is_startup(char out[SC_PATH_BYTES], const char *folder, const char *rest)
{
    char module[SC_PATH_BYTES + 32];
    int length = snprintf(out, SC_PATH_BYTES, "%s/%s", folder, rest);

    if (length <= 0 || length >= SC_PATH_BYTES)
        return false;
    snprintf(module, sizeof module, "%s/sitecustomize.py", out);
    return access(module, R_OK) == 0;
}

bool sc_torch_find(sc_torch *torch, const char *folder, const char *above)
{
    if (!is_startup(torch->startup, folder, STARTUP) &&
        !is_startup(torch->startup, above, "lib/shapecache/" STARTUP)) {
        sc_say("run: the Python part (" STARTUP "/sitecustomize.py) is neither in %s nor in "
               "%s/lib/shapecache; build shapecache (./dev build), or leave out --torch",
               folder, above);
        return false;
    }
    if (!strchr(torch->startup, ':'))
        return true;
    sc_say("run: Python cannot be told of \"%s\", because of the colon in it; move shapecache to a "
           "folder without",
           torch->startup);
    return false;
}

/* The value of `key` in PyTorch's list "key:value,key:value", at most one byte less than `bytes`;
 * "" if it has none. */
static void find_value(const char *list, const char *key, char *out, size_t bytes)
{
    size_t length = strlen(key), used;

    *out = '\0';
    while (*(list += strspn(list, ", "))) {
        if (!strncasecmp(list, key, length) && list[length] == ':') {
            list += length + 1;
            used = strcspn(list, ", ");
            snprintf(out, bytes, "%.*s", (int)(used < bytes ? used : bytes - 1), list);
        }
        list += strcspn(list, ", ");
    }
}

bool sc_torch_is_bypassed(const sc_torch *torch)
{
    static const char *const names[] = {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"};
    char value[32];

    if (torch->view == SC_TORCH_NONE || torch->view == SC_TORCH_SEGMENTS)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *list = getenv(names[i]);

        find_value(list ? list : "", "backend", value, sizeof value);
        if (!strcasecmp(value, "cudaMallocAsync")) {
            sc_say("run: %s has backend:%s, which takes memory from the driver's pools, past the "
                   "cache; take it out of the variable, or leave out --torch",
                   names[i], value);
            return true;
        }
    }
    return false;
}

void sc_torch_variables(const sc_torch *torch, sc_torch_set *set, void *self)
{
    const char *before = getenv("PYTHONPATH");
    size_t length = strlen(torch->startup), room = length + (before ? strlen(before) : 0) + 2;
    char *paths = sc_need(room);
    bool is_there = before && !strncmp(before, torch->startup, length) &&
                    (!before[length] || before[length] == ':');

    if (torch->view == SC_TORCH_TENSORS)
        set(self, "PYTORCH_NO_CUDA_MEMORY_CACHING", "1");
    set(self, "SHAPECACHE_TORCH", words[torch->view]);
    if (torch->offload)
        set(self, "SHAPECACHE_OFFLOAD", torch->offload);
    if (is_there)
        snprintf(paths, room, "%s", before);
    else /* no colon at the end: an empty entry would be the working folder */
        snprintf(paths, room, "%s%s%s", torch->startup, before && *before ? ":" : "",
                 before ? before : "");
    set(self, "PYTHONPATH", paths);
    free(paths);
}

void sc_torch_say(const sc_torch *torch)
{
    static const char *const done[] = {
        [SC_TORCH_TENSORS] = "PyTorch's own cache is off (PYTORCH_NO_CUDA_MEMORY_CACHING=1): every "
                             "tensor is a request",
        [SC_TORCH_PLUGGABLE] = "PyTorch's allocator is libshapecache_torch.so: every tensor is a "
                               "request",
        [SC_TORCH_SEGMENTS] = "PyTorch keeps its own cache, whose segments pass: what other code "
                              "asks for is cached",
    };
    static const char *const known[] = {
        [SC_TORCH_TENSORS] = "capturing CUDA graphs is refused, and PyTorch's own memory figures "
                             "stay 0",
        [SC_TORCH_PLUGGABLE] = "capturing CUDA graphs is refused, and PyTorch's own memory figures "
                               "are errors",
        [SC_TORCH_SEGMENTS] = "SHAPECACHE=all caches the segments, too",
    };

    sc_say("--torch=%s: %s; a step ends with each optimizer step", words[torch->view],
           done[torch->view]);
    sc_say("--torch=%s: %s; what goes past the cache is told when it shows", words[torch->view],
           known[torch->view]);
    if (torch->offload)
        sc_say("--offload: what autograd saves waits in page-locked host memory (%s) for its "
               "backward pass",
               torch->offload);
}
