/* SPDX-License-Identifier: MIT */
#include "cli/sites.h"
#include "cli/command.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash(const char *name)
{
    uint64_t value = 1;

    for (; *name; name++)
        value = sc_hash(value ^ (unsigned char)*name);
    return value ? value : 1;
}

static sc_site *find(const sc_sites *sites, const char *name)
{
    sc_site *site = sc_map_find(&sites->by_hash, hash(name));

    while (site && strcmp(site->name, name) != 0)
        site = site->same_hash;
    return site;
}

/* NULL: there are too many. */
static sc_site *add(sc_sites *sites, const char *name)
{
    unsigned count = sites->count;
    sc_site *site;

    if (count == SC_SITES_MOST) {
        sites->left_out++;
        return NULL;
    }
    if ((count & (count - 1)) == 0)
        sites->at = sc_need_again(sites->at, sizeof(sc_site *) * (count ? 2 * (size_t)count : 1));
    site = sc_need(sizeof *site);
    site->name = sc_need_copy(name);
    site->same_hash = sc_map_find(&sites->by_hash, hash(name));
    if (!sc_map_put(&sites->by_hash, hash(name), site)) {
        sc_say("out of memory");
        exit(SC_EXIT_FAILED);
    }
    sites->at[sites->count++] = site;
    return site;
}

static void move(sc_site *site, const char *to, uint64_t step)
{
    snprintf(site->phase, sizeof site->phase, "%s", to);
    site->since = step;
    if (strcmp(to, "fallback") != 0)
        return;
    if (!site->fallbacks++)
        site->first_fallback = step;
}

void sc_sites_moved(sc_sites *sites, const char *name, const char *to, uint64_t step)
{
    sc_site *site = find(sites, name);

    if (!site)
        site = add(sites, name);
    if (site)
        move(site, to, step);
}

void sc_sites_moved_all(sc_sites *sites, const char *from, const char *to, uint64_t step)
{
    for (unsigned i = 0; i < sites->count; i++)
        if (!from || !strcmp(sites->at[i]->phase, from))
            move(sites->at[i], to, step);
}

void sc_sites_add_shape(sc_sites *sites, const char *name, const char *silent,
                        const sc_site *figures)
{
    sc_site *site = find(sites, name);

    if (!site && sites->count) {
        site = add(sites, name);
        if (site)
            move(site, silent, 0);
    }
    if (!site)
        return;
    site->shapes++;
    site->requests += figures->requests;
    site->hits += figures->hits;
    site->misses += figures->misses;
}

static int by_requests(const void *left, const void *right)
{
    const sc_site *a = *(sc_site *const *)left, *b = *(sc_site *const *)right;

    if (a->requests != b->requests)
        return a->requests < b->requests ? 1 : -1;
    return strcmp(a->name, b->name);
}

void sc_sites_sort(sc_sites *sites)
{
    if (sites->count)
        qsort(sites->at, sites->count, sizeof(sc_site *), by_requests);
}

void sc_sites_release(sc_sites *sites)
{
    for (unsigned i = 0; i < sites->count; i++) {
        free(sites->at[i]->name);
        free(sites->at[i]);
    }
    free(sites->at);
    sc_map_release(&sites->by_hash);
    *sites = (sc_sites){0};
}
