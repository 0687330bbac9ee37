/* SPDX-License-Identifier: MIT */
#include "cli/driver.h"
#include "base/path.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOADER_CACHE "/etc/ld.so.cache"

/* Where the loader looks without a cache, of the systems that the driver is made for, and WSL's. */
#define LOADER_FOLDERS                                                                             \
    "/lib64:/usr/lib64:/lib:/usr/lib:/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"             \
    "/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib/wsl/lib"

static bool is_in_folders(const char *list)
{
    char path[SC_PATH_BYTES];

    while (*list) {
        size_t length = strcspn(list, ":;");
        /* an empty entry is the working directory */
        int used = snprintf(path, sizeof path, "%.*s/" SC_DRIVER_NAME, length ? (int)length : 1,
                            length ? list : ".");

        if (used > 0 && (size_t)used < sizeof path && access(path, R_OK) == 0)
            return true;
        list += length;
        list += *list != '\0';
    }
    return false;
}

/* The cache holds each name with a NUL after it, whatever its format. */
static bool is_in_cache(void)
{
    const char name[] = SC_DRIVER_NAME;
    FILE *cache = fopen(LOADER_CACHE, "re");
    size_t matched = 0;
    int c;

    if (!cache)
        return false;
    /* 'l' comes once in the name, so a mismatch can only begin it anew */
    while (matched < sizeof name && (c = getc(cache)) != EOF)
        if (c == name[matched])
            matched++;
        else
            matched = c == name[0];
    (void)fclose(cache);
    return matched == sizeof name;
}

bool sc_driver_is_there(void)
{
    const char *preloads = getenv("LD_PRELOAD"), *folders = getenv("LD_LIBRARY_PATH");

    return (preloads && strstr(preloads, SC_DRIVER_NAME)) || (folders && is_in_folders(folders)) ||
           is_in_cache() || is_in_folders(LOADER_FOLDERS);
}
