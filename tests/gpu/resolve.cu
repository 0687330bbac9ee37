/* SPDX-License-Identifier: MIT
 * resolve.cu - every function that the hooks stand in for, by libcuda's symbol and by the driver's
 * resolver: is it one function? And whose, under the preload? For each name:
 *     NAME.pointers  same, differ, symbol (the resolver has none), resolver (no symbol) or absent
 *     NAME.symbol, NAME.resolved  the object the pointer leads into: driver, cache or other */
#include "say.cuh"

#include <string.h>

enum stream { PLAIN, LEGACY, THREAD, DEFAULT };

static const struct row {
    const char *name, *base;
    int version;
    enum stream stream;
} rows[] = {
#define HOOK(name, base, version, stream) {#name, #base, version, stream},
#include "../../hooks/hooks.def"
};

static const char *owner(const void *function)
{
    Dl_info where;

    if (function == NULL || dladdr(function, &where) == 0)
        return "other";
    if (strstr(where.dli_fname, "libshapecache") != NULL)
        return "cache";
    return strstr(where.dli_fname, "libcuda.so") != NULL ? "driver" : "other";
}

static void *resolved(const struct row *row)
{
    auto resolver = DRIVER(cuGetProcAddress_v2);
    CUdriverProcAddressQueryResult status;
    void *found = NULL;
    const cuuint64_t flags = row->stream >= THREAD ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                                   : CU_GET_PROC_ADDRESS_LEGACY_STREAM;

    if (resolver == NULL ||
        resolver(row->base, &found, row->version, flags, &status) != CUDA_SUCCESS)
        return NULL;
    return found;
}

int main(void)
{
    MUST(DRIVER(cuInit)(0));
    for (const struct row &row : rows) {
        void *symbol = dlsym(libcuda(), row.name);
        void *answer = resolved(&row);
        const char *word = symbol == NULL && answer == NULL ? "absent"
                           : symbol == NULL                 ? "resolver"
                           : answer == NULL                 ? "symbol"
                           : symbol == answer               ? "same"
                                                            : "differ";

        say_word(std::string(row.name) + ".pointers", word);
        if (symbol != NULL)
            say_word(std::string(row.name) + ".symbol", owner(symbol));
        if (answer != NULL)
            say_word(std::string(row.name) + ".resolved", owner(answer));
    }
    return 0;
}
