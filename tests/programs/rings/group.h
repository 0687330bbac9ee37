/* SPDX-License-Identifier: MIT
 * group.h - the ranks that exchange items: processes, each joined to the first one by a socket.
 *
 * The one collective there is must be called by every rank of the group, as often as by the others,
 * or they wait for each other forever. It gives each the pieces of all, in the order of ranks. */
#ifndef RINGS_GROUP_H
#define RINGS_GROUP_H

#include <stddef.h>

enum { GROUP_MOST = 16 };

typedef struct group {
    int rank, size;
    int sockets[GROUP_MOST]; /* of the first: to each other; of the others: [0], to the first */
} group;

/* Before the ranks are forked: `ends` has both ends for each of `size` members. */
void group_prepare(int ends[GROUP_MOST][2], int size);
/* In the rank. */
group group_join(int ends[GROUP_MOST][2], int rank, int size);
/* `all` has room for size x bytes. Ends the process where a member is gone. */
void group_gather(const group *peers, const void *mine, void *all, size_t bytes);

#endif
