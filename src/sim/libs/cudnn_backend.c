/* SPDX-License-Identifier: MIT
 * cudnn_backend.c - descriptors of cuDNN's backend, as bags of attributes.
 *
 * A program describes what it wants to compute by descriptors that name each other, and asks which
 * engines could do it. Nothing here needs to know what it was: every attribute that was set can be
 * read back, there is always one engine, number 0, without knobs and notes, and every plan wants
 * the same workspace. A descriptor that is asked for (an engine of a configuration, a configuration
 * of a heuristic) is one that the caller made to be filled, and stays as it is. */
#include "cudnn.h"

#include <stdlib.h>
#include <string.h>

#define WORKSPACE_BYTES ((int64_t)4 << 20)

enum {
    HEURISTIC_RESULTS = 202,
    CONFIG_ENGINE = 300,
    CONFIG_WORKSPACE = 303,
    PLAN_WORKSPACE = 402,
    ENGINE_INDEX = 1301,
};

typedef struct attribute {
    struct attribute *next;
    int name;
    int64_t count;
    size_t bytes; /* of one */
    unsigned char values[];
} attribute;

typedef struct bag {
    attribute *first;
} bag;

SIMLIB_API int cudnnBackendSetAttribute(uintptr_t descriptor, int name, int type, int64_t count,
                                        const void *values);
SIMLIB_API int cudnnBackendGetAttribute(uintptr_t descriptor, int name, int type, int64_t wanted,
                                        int64_t *count, void *values);

static size_t element_bytes(int type)
{
    switch (type) {
    case 0:  /* a handle */
    case 3:  /* int64 */
    case 5:  /* double */
    case 6:  /* a pointer */
    case 15: /* a descriptor */
    case 25: /* a fraction: two int64 */
        return type == 25 ? 16 : 8;
    case 2:  /* bool */
    case 24: /* char */
        return 1;
    default: /* float, int32 and enumerations */
        return 4;
    }
}

static void release(void *data)
{
    bag *ended = data;

    for (attribute *next, *it = ended->first; it; it = next) {
        next = it->next;
        free(it);
    }
    free(ended);
}

static attribute **find(bag *in, int name)
{
    attribute **at = &in->first;

    while (*at && (*at)->name != name)
        at = &(*at)->next;
    return at;
}

int cudnnBackendSetAttribute(uintptr_t descriptor, int name, int type, int64_t count,
                             const void *values)
{
    bag *in = simlib_data(descriptor, sizeof *in, release);
    size_t bytes = element_bytes(type);
    attribute *added, **at;

    simlib_ok(SIMLIB_cudnnBackendSetAttribute);
    if (!in || count < 0 || count > INT32_MAX || (count > 0 && !values))
        return SIMCUDNN_BAD_PARAM;
    added = malloc(sizeof *added + (size_t)count * bytes);
    if (!added)
        return SIMLIB_FAILED;
    added->name = name;
    added->count = count;
    added->bytes = bytes;
    if (count > 0)
        memcpy(added->values, values, (size_t)count * bytes);
    at = find(in, name);
    added->next = *at ? (*at)->next : NULL;
    free(*at);
    *at = added;
    return SIMLIB_SUCCESS;
}

/* What was never set: how many there are, and the number, if it is one. */
static int64_t standing(int name, int64_t *number)
{
    *number = 0;
    switch (name) {
    case CONFIG_WORKSPACE:
    case PLAN_WORKSPACE:
        *number = WORKSPACE_BYTES;
        return 1;
    case ENGINE_INDEX:
    case HEURISTIC_RESULTS:
    case CONFIG_ENGINE:
        return 1;
    default:
        return 0;
    }
}

int cudnnBackendGetAttribute(uintptr_t descriptor, int name, int type, int64_t wanted,
                             int64_t *count, void *values)
{
    bag *in = simlib_data(descriptor, sizeof *in, release);
    const attribute *set = in ? *find(in, name) : NULL;
    int64_t number, found;

    simlib_ok(SIMLIB_cudnnBackendGetAttribute);
    if (!in)
        return SIMCUDNN_BAD_PARAM;
    found = set ? set->count : standing(name, &number);
    if (count)
        *count = found;
    if (!values || wanted < 1 || found < 1)
        return SIMLIB_SUCCESS;
    if (set && set->bytes == element_bytes(type))
        memcpy(values, set->values, (size_t)(found < wanted ? found : wanted) * set->bytes);
    else if (!set && name != HEURISTIC_RESULTS && name != CONFIG_ENGINE)
        memcpy(values, &number, element_bytes(type));
    return SIMLIB_SUCCESS;
}
