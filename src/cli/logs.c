/* SPDX-License-Identifier: MIT */
#include "cli/logs.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOGS_MOST = 65536 };

static void add_name(sc_logs *all, const char *name)
{
    if ((all->count & (all->count - 1)) == 0)
        all->at =
            sc_need_again(all->at, sizeof(char *) * (all->count ? 2 * (size_t)all->count : 1));
    all->at[all->count++] = sc_need_copy(name);
}

/* r3.jsonl, and r3.jsonl.1 of another process of that rank */
static bool is_log_name(const char *name)
{
    const char *end = strstr(name, ".jsonl");

    if (name[0] != 'r' || !end)
        return false;
    end += strlen(".jsonl");
    return !*end || (*end == '.' && end[1] && !end[1 + strspn(end + 1, "0123456789")]);
}

static int by_number(const void *left, const void *right)
{
    return strverscmp(*(char *const *)left, *(char *const *)right);
}

bool sc_logs_add(sc_logs *all, const char *path, const char *command)
{
    DIR *folder = strcmp(path, "-") ? opendir(path) : NULL;
    unsigned first = all->count;
    struct dirent *entry;

    if (!folder) {
        add_name(all, path); /* what is wrong with it shows when it is read */
        return true;
    }
    while ((entry = readdir(folder)) && all->count < LOGS_MOST) {
        size_t room = strlen(path) + strlen(entry->d_name) + 2;
        bool has_slash = path[strlen(path) - 1] == '/';
        char *name;

        if (!is_log_name(entry->d_name))
            continue;
        name = sc_need(room);
        snprintf(name, room, "%s%s%s", path, has_slash ? "" : "/", entry->d_name);
        add_name(all, name);
        free(name);
    }
    (void)closedir(folder);
    if (all->count == first) {
        sc_say("%s: %s has no log in it (r*.jsonl)", command, path);
        return false;
    }
    qsort(all->at + first, all->count - first, sizeof(char *), by_number);
    return true;
}

int sc_logs_only(sc_logs *all, const char *path, const sc_command *command)
{
    if (!sc_logs_add(all, path, command->name))
        return SC_EXIT_UNREADABLE;
    if (all->count == 1)
        return 0;
    return sc_usage(command, "%s: %s has %u logs: name one, %s to %s", command->name, path,
                    all->count, all->at[0], all->at[all->count - 1]);
}

void sc_logs_release(sc_logs *all)
{
    for (unsigned i = 0; i < all->count; i++)
        free(all->at[i]);
    free(all->at);
    *all = (sc_logs){NULL, 0};
}
