/* SPDX-License-Identifier: MIT */
#include "base/map.h"
#include <stdlib.h>

enum { FIRST_SIZE = 64 };

uint64_t sc_hash(uint64_t value)
{
    value ^= value >> 30;
    value *= UINT64_C(0xbf58476d1ce4e5b9);
    value ^= value >> 27;
    value *= UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* Where `key` would sit in an empty table. Device addresses have zeros below and much in common
 * above: the multiplication carries both into the top bits, which are the ones taken. */
static size_t home(const sc_map *map, uint64_t key)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(((key ^ key >> 32) * golden) >> (__builtin_clzll(map->size) + 1));
}

/* The entry that holds `key`, or the empty one where it would go. */
static sc_map_entry *seek(const sc_map *map, uint64_t key)
{
    size_t i = home(map, key);

    while (map->entries[i].key != 0 && map->entries[i].key != key)
        i = (i + 1) & (map->size - 1);
    return &map->entries[i];
}

static bool grow(sc_map *map)
{
    sc_map bigger = {.used = map->used, .size = map->size ? 2 * map->size : FIRST_SIZE};

    bigger.entries = calloc(bigger.size, sizeof(*bigger.entries));
    if (!bigger.entries)
        return false;
    for (size_t i = 0; i < map->size; i++)
        if (map->entries[i].key != 0)
            *seek(&bigger, map->entries[i].key) = map->entries[i];
    free(map->entries);
    *map = bigger;
    return true;
}

void sc_map_release(sc_map *map)
{
    free(map->entries);
    *map = (sc_map){0};
}

void *sc_map_find(const sc_map *map, uint64_t key)
{
    return map->used ? seek(map, key)->value : NULL;
}

bool sc_map_put(sc_map *map, uint64_t key, void *value)
{
    sc_map_entry *entry;

    if (map->size == 0 && !grow(map))
        return false;
    entry = seek(map, key);
    if (entry->key == key) {
        entry->value = value;
        return true;
    }
    if (4 * (map->used + 1) > 3 * map->size) {
        if (!grow(map))
            return false;
        entry = seek(map, key);
    }
    *entry = (sc_map_entry){key, value};
    map->used++;
    return true;
}

void *sc_map_remove(sc_map *map, uint64_t key)
{
    sc_map_entry *hole = map->used ? seek(map, key) : NULL;
    void *value;

    if (!hole || hole->key == 0)
        return NULL;
    value = hole->value;
    /* Close the gap: an entry further on may move into the hole unless its home lies after the
     * hole. */
    for (size_t i = (size_t)(hole - map->entries);;) {
        size_t from_hole, from_home;

        i = (i + 1) & (map->size - 1);
        if (map->entries[i].key == 0)
            break;
        from_hole = (i - (size_t)(hole - map->entries)) & (map->size - 1);
        from_home = (i - home(map, map->entries[i].key)) & (map->size - 1);
        if (from_home >= from_hole) {
            *hole = map->entries[i];
            hole = &map->entries[i];
        }
    }
    *hole = (sc_map_entry){0};
    map->used--;
    return value;
}
