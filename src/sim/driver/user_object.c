/* SPDX-License-Identifier: MIT */
#include "user_object.h"

#include <pthread.h>
#include <stdlib.h>

#include "process.h"

static void *end_object(void *argument)
{
    struct sim_user_object *object = argument;

    sim_process_set_worker();
    object->destroy(object->data);
    free(object);
    return NULL;
}

/* Where there is no thread for it, the object is not ended: to call the program under the lock
 * would be worse. */
void sim_user_object_drop_locked(struct sim_user_object *object, uint64_t count)
{
    pthread_t thread;

    object->references -= count;
    if (object->references > 0)
        return;
    sim_handle_remove_locked(&object->object);
    if (pthread_create(&thread, NULL, end_object, object) == 0)
        pthread_detach(thread);
}

static struct sim_keep *find(const struct sim_keeps *keeps, const struct sim_user_object *object)
{
    for (size_t i = 0; i < keeps->count; i++)
        if (keeps->items[i].object == object)
            return &keeps->items[i];
    return NULL;
}

bool sim_keeps_add_locked(struct sim_keeps *keeps, struct sim_user_object *object, uint64_t count)
{
    struct sim_keep *keep = find(keeps, object);
    struct sim_keep *grown;

    if (!keep) {
        grown = realloc(keeps->items, (keeps->count + 1) * sizeof *grown);
        if (!grown)
            return false;
        keeps->items = grown;
        keep = &grown[keeps->count++];
        *keep = (struct sim_keep){.object = object};
    }
    keep->count += count;
    return true;
}

bool sim_keeps_drop_locked(struct sim_keeps *keeps, struct sim_user_object *object, uint64_t count)
{
    struct sim_keep *keep = find(keeps, object);

    if (!keep || keep->count < count)
        return false;
    keep->count -= count;
    if (keep->count == 0)
        *keep = keeps->items[--keeps->count];
    sim_user_object_drop_locked(object, count);
    return true;
}

void sim_keeps_clear_locked(struct sim_keeps *keeps)
{
    for (size_t i = 0; i < keeps->count; i++)
        sim_user_object_drop_locked(keeps->items[i].object, keeps->items[i].count);
    free(keeps->items);
    *keeps = (struct sim_keeps){0};
}

bool sim_keeps_copy_locked(struct sim_keeps *to, const struct sim_keeps *from)
{
    for (size_t i = 0; i < from->count; i++) {
        if (!sim_keeps_add_locked(to, from->items[i].object, 1)) {
            sim_keeps_clear_locked(to);
            return false;
        }
        from->items[i].object->references++;
    }
    return true;
}
