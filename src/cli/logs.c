/* SPDX-License-Identifier: MIT */
#include "cli/logs.h"
#include "cli/reader.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOGS_MOST = 65536 };

/* Which file that is. The system call: fstat() of a new C library is not in an old one. */
static sc_log_file look(const char *name)
{
    sc_log_file file = {0, 0};
    int fd = strcmp(name, "-") ? open(name, O_PATH | O_CLOEXEC) : -1;
    struct stat about;

    if (fd < 0)
        return file;
    if (syscall(SYS_fstat, fd, &about) == 0 && S_ISREG(about.st_mode))
        file = (sc_log_file){about.st_dev, about.st_ino};
    (void)close(fd);
    return file;
}

static void add_name(sc_logs *all, const char *name)
{
    sc_log_file file = look(name);
    size_t room = all->count ? 2 * (size_t)all->count : 1;

    for (unsigned i = 0; file.number && i < all->count; i++)
        if (all->files[i].number == file.number && all->files[i].device == file.device)
            return;
    if ((all->count & (all->count - 1)) == 0) {
        all->at = sc_need_again(all->at, room * sizeof *all->at);
        all->files = sc_need_again(all->files, room * sizeof *all->files);
    }
    all->files[all->count] = file;
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

static char *join(const char *folder, const char *name)
{
    size_t room = strlen(folder) + strlen(name) + 2;
    bool has_slash = folder[strlen(folder) - 1] == '/';
    char *joined = sc_need(room);

    snprintf(joined, room, "%s%s%s", folder, has_slash ? "" : "/", name);
    return joined;
}

/* When the last log was added to a folder; false: it is none. */
static bool changed(const char *path, struct timespec *when)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat about;
    bool is_folder = fd >= 0 && syscall(SYS_fstat, fd, &about) == 0;

    if (fd >= 0)
        (void)close(fd);
    if (is_folder)
        *when = about.st_mtim;
    return is_folder;
}

/* Of the folders that runs made in this one, the newest, or NULL. */
static char *newest_run(DIR *folder, const char *path)
{
    static const char start[] = "shapecache-run.";
    struct timespec last = {0, 0}, when;
    char *newest = NULL;
    struct dirent *entry;

    rewinddir(folder);
    while ((entry = readdir(folder))) {
        if (strncmp(entry->d_name, start, sizeof start - 1) != 0)
            continue;
        char *name = join(path, entry->d_name);

        if (changed(name, &when) && (!newest || when.tv_sec > last.tv_sec ||
                                     (when.tv_sec == last.tv_sec && when.tv_nsec > last.tv_nsec))) {
            char *older = newest;

            newest = name;
            name = older;
            last = when;
        }
        free(name);
    }
    return newest;
}

static void say_none(DIR *folder, const char *path, const char *command)
{
    char *run = newest_run(folder, path);

    sc_say("%s: %s has no log in it (r*.jsonl)%s%s", command, path,
           run ? "; the newest run here is " : "", run ? run : "");
    free(run);
}

bool sc_logs_add(sc_logs *all, const char *path, const char *command)
{
    DIR *folder = strcmp(path, "-") ? opendir(path) : NULL;
    unsigned first = all->count;
    bool is_any = false;
    struct dirent *entry;

    if (!folder) {
        add_name(all, path); /* what is wrong with it shows when it is read */
        return true;
    }
    while ((entry = readdir(folder)) && all->count < LOGS_MOST) {
        char *name;

        if (!is_log_name(entry->d_name))
            continue;
        is_any = true;
        name = join(path, entry->d_name);
        add_name(all, name);
        free(name);
    }
    if (!is_any)
        say_none(folder, path, command);
    (void)closedir(folder);
    if (all->count > first)
        qsort(all->at + first, all->count - first, sizeof(char *), by_number);
    return is_any;
}

/* By its first record. What cannot be read is of none: it is told when nothing else is found. */
static bool is_of_rank(const char *log, uint64_t rank)
{
    sc_reader reader;
    const sc_line *line;
    bool is_it;

    if (!sc_reader_open(&reader, log))
        return false;
    line = sc_reader_next(&reader);
    is_it = line && sc_line_u64(line, SC_F_RANK) == rank;
    sc_reader_close(&reader);
    return is_it;
}

/* Only those of this rank stay. */
static void keep_rank(sc_logs *all, uint64_t rank)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < all->count; i++)
        if (is_of_rank(all->at[i], rank))
            all->at[kept++] = all->at[i];
        else
            free(all->at[i]);
    all->count = kept;
}

int sc_logs_only(sc_logs *all, const char *path, uint64_t rank, const sc_command *command)
{
    unsigned found;

    if (!sc_logs_add(all, path, command->name))
        return SC_EXIT_UNREADABLE;
    found = all->count;
    if (rank != SC_ANY_RANK && found > 1)
        keep_rank(all, rank);
    if (all->count == 1)
        return 0;
    if (!all->count) {
        sc_say("%s: none of the %u logs of %.500s is of rank %llu", command->name, found, path,
               (unsigned long long)rank);
        return SC_EXIT_UNREADABLE;
    }
    return sc_usage(command, "%s: %.500s has %u logs%s: name one, %.300s to %.300s%s",
                    command->name, path, all->count, rank != SC_ANY_RANK ? " of that rank" : "",
                    all->at[0], all->at[all->count - 1],
                    rank != SC_ANY_RANK ? "" : ", or its --rank");
}

void sc_logs_release(sc_logs *all)
{
    for (unsigned i = 0; i < all->count; i++)
        free(all->at[i]);
    free(all->at);
    free(all->files);
    *all = (sc_logs){.at = NULL};
}
