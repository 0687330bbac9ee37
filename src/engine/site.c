/* SPDX-License-Identifier: MIT */
#include "engine/site.h"
#include "base/map.h"
#include "base/text.h"
#include "engine/logbook.h"
#include "engine/process.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 1 << 14,
    PROBES = 64,
    FRAMES = 64,
    OBJECTS = 1024,
    PATH_BYTES = 1024,
    ID_BYTES = 128
};

typedef struct site {
    atomic_uintptr_t caller; /* 0: free */
    _Atomic(const char *) text;
    atomic_bool is_mentioned;
    atomic_bool is_hoarder;                 /* this and the next two are set before the text is */
    _Atomic(const sc_site_object *) object; /* NULL: unknown */
    _Atomic(const uint32_t *) chain;        /* NULL: one place */
} site;

static site sites[SLOTS];
static _Atomic(const sc_site_object *) objects[OBJECTS]; /* filled from the front, never emptied */

/* Several threads may come here at once: the first one's text stays. */
static void set_text(site *found, const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    const char *none = NULL;

    if (!atomic_compare_exchange_strong(&found->text, &none, copy ? copy : ""))
        free(copy);
}

/* In one piece with its texts. */
static sc_site_object *new_object(const char *path, const char *build_id)
{
    size_t path_bytes = strlen(path) + 1, id_bytes = strlen(build_id) + 1;
    sc_site_object *object = malloc(sizeof *object + path_bytes + id_bytes);
    char *texts;

    if (!object)
        return NULL;
    texts = (char *)(object + 1);
    memcpy(texts, path, path_bytes);
    memcpy(texts + path_bytes, build_id, id_bytes);
    *object = (sc_site_object){.path = texts, .build_id = texts + path_bytes};
    return object;
}

/* One for each file: threads that come at once agree on the first that is in. NULL: no room. */
static const sc_site_object *find_object(const char *path, const char *build_id)
{
    sc_site_object *made = NULL;

    for (unsigned i = 0; i < OBJECTS; i++) {
        const sc_site_object *have = atomic_load_explicit(&objects[i], memory_order_acquire);

        if (!have) {
            if (!made)
                made = new_object(path, build_id);
            if (!made || atomic_compare_exchange_strong(&objects[i], &have, made))
                return made;
        }
        if (strcmp(have->path, path) == 0 && strcmp(have->build_id, build_id) == 0) {
            free(made);
            return have;
        }
    }
    free(made);
    return NULL;
}

/* The slot of `key`, taken if it is new; NULL: there is none left. */
static site *find_slot(uintptr_t key)
{
    uint64_t hash = sc_hash(key);

    for (unsigned i = 0; i < PROBES; i++) {
        site *slot = &sites[(hash + i) & (SLOTS - 1)];
        uintptr_t have = atomic_load_explicit(&slot->caller, memory_order_acquire);

        if (!have && atomic_compare_exchange_strong(&slot->caller, &have, key))
            have = key;
        if (have == key)
            return slot;
    }
    return NULL;
}

static bool has_text(const site *slot)
{
    return atomic_load_explicit(&slot->text, memory_order_acquire) != NULL;
}

static bool is_hoarder(const char *text)
{
    static const char stem[] = "libc10_cuda";

    return strncmp(text, stem, sizeof stem - 1) == 0;
}

static void set_object(site *slot, const void *caller)
{
    const sc_engine_host *host = atomic_load(&sc_process_self.host);
    char path[PATH_BYTES], build_id[ID_BYTES];

    if (host->site_object &&
        host->site_object(caller, path, sizeof path, build_id, sizeof build_id))
        atomic_store(&slot->object, find_object(path, build_id));
}

uint32_t sc_site_number(const void *caller)
{
    site *slot = caller ? find_slot((uintptr_t)caller) : NULL;
    char text[SC_SITE_TEXT_BYTES];

    if (!slot)
        return 0;
    if (!has_text(slot)) {
        const sc_engine_host *host = atomic_load(&sc_process_self.host);
        bool is_known = host->site_text && host->site_text(caller, text, sizeof text);

        if (is_known && is_hoarder(text))
            atomic_store(&slot->is_hoarder, true);
        if (is_known)
            set_object(slot, caller);
        set_text(slot, is_known ? text : NULL);
    }
    return (uint32_t)(slot - sites) + 1;
}

uint32_t sc_site_named(const char *text)
{
    uint64_t hash = 0;

    for (const char *at = text; *at; at++)
        hash = sc_hash(hash ^ (unsigned char)*at);
    site *slot = find_slot((uintptr_t)(hash | UINT64_C(1) << 63));

    if (!slot)
        return 0;
    if (!has_text(slot))
        set_text(slot, text);
    return (uint32_t)(slot - sites) + 1;
}

bool sc_site_is_hoarder(uint32_t number)
{
    return number && atomic_load_explicit(&sites[number - 1].is_hoarder, memory_order_relaxed);
}

const char *sc_site_text(uint32_t number)
{
    const char *text = number ? atomic_load(&sites[number - 1].text) : NULL;

    return text && *text ? text : NULL;
}

const sc_site_object *sc_site_object_of(uint32_t number)
{
    return number ? atomic_load(&sites[number - 1].object) : NULL;
}

const uint32_t *sc_site_chain(uint32_t number)
{
    return number ? atomic_load(&sites[number - 1].chain) : NULL;
}

bool sc_site_is_first_mention(uint32_t number)
{
    return !atomic_exchange(&sites[number - 1].is_mentioned, true);
}

void sc_site_forget_mention(uint32_t number)
{
    atomic_store(&sites[number - 1].is_mentioned, false);
}

/* Frames of ours and of CUDA's libraries stand between the program and the driver, and say nothing.
 */
static bool is_programs(const void *frame)
{
    static const char *const others[] = {"libcuda", "libshapecache"};
    const char *text = sc_site_text(sc_site_number(frame));

    for (size_t i = 0; text && i < sizeof others / sizeof *others; i++)
        if (strncmp(text, others[i], strlen(others[i])) == 0)
            return false;
    return true;
}

/* The caller and those who called it, at most `depth`. How many; 0: nobody can tell. */
static unsigned find_chain(const void *caller, const void **chain, unsigned depth)
{
    const sc_engine_host *host = atomic_load(&sc_process_self.host);
    const void *frames[FRAMES];
    size_t count = host->stack ? host->stack(frames, FRAMES) : 0, at = 0;
    unsigned found = 1;

    chain[0] = caller;
    while (at < count && frames[at] != caller)
        at++;
    for (at++; at < count && found < depth; at++)
        if (frames[at] && is_programs(frames[at]))
            chain[found++] = frames[at];
    return count ? found : 0;
}

static void warn_of_missing(void)
{
    static atomic_bool is_said;

    if (!atomic_exchange(&is_said, true))
        sc_logbook_warn(
            "SHAPECACHE_STACKS asks for callers, and libunwind.so.8 is not to be found: "
            "call sites are told without them.");
}

static void set_chain_text(site *slot, const void *const *chain, unsigned count)
{
    char bytes[SC_SITE_TEXT_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);
    uint32_t *numbers = calloc(count + 1, sizeof *numbers);
    const uint32_t *none = NULL;
    unsigned named = 0;

    for (unsigned i = count; i-- > 0;) {
        uint32_t number = sc_site_number(chain[i]);
        const char *one = sc_site_text(number);

        if (numbers && one)
            numbers[named++] = number;

        sc_text_string(&text, one ? one : "?");
        sc_text_string(&text, i ? " > " : "");
    }
    if (!atomic_compare_exchange_strong(&slot->chain, &none, numbers))
        free(numbers);
    set_text(slot, sc_text_terminate(&text));
}

uint32_t sc_site_of_stack(const void *caller, unsigned depth)
{
    const void *chain[SC_SITE_DEPTH_MOST];
    unsigned count =
        find_chain(caller, chain, depth < SC_SITE_DEPTH_MOST ? depth : SC_SITE_DEPTH_MOST);
    uint64_t hash = 0;

    if (!count)
        warn_of_missing();
    if (count < 2)
        return sc_site_number(caller);
    for (unsigned i = 0; i < count; i++)
        hash = sc_hash(hash ^ (uint64_t)(uintptr_t)chain[i]);
    site *slot = find_slot((uintptr_t)(hash | UINT64_C(1) << 63));

    if (!slot)
        return sc_site_number(caller);
    if (!has_text(slot))
        set_chain_text(slot, chain, count);
    return (uint32_t)(slot - sites) + 1;
}
