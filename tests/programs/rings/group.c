/* SPDX-License-Identifier: MIT */
#include "group.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

void group_prepare(int ends[GROUP_MOST][2], int size)
{
    for (int i = 1; i < size; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]) != 0)
            die("socketpair");
}

group group_join(int ends[GROUP_MOST][2], int rank, int size)
{
    group joined = {.rank = rank, .size = size};

    for (int i = 1; i < size;
         i++) { /* a member that is gone must be the end of file for the rest */
        if (rank == 0)
            joined.sockets[i] = ends[i][0];
        else
            (void)close(ends[i][0]);
        if (rank == i)
            joined.sockets[0] = ends[i][1];
        else
            (void)close(ends[i][1]);
    }
    return joined;
}

static void send_all(int socket, const void *bytes, size_t count)
{
    for (const char *at = bytes; count;) {
        ssize_t done = send(socket, at, count, MSG_NOSIGNAL);

        if (done <= 0)
            die("a rank is gone");
        at += done;
        count -= (size_t)done;
    }
}

static void receive_all(int socket, void *bytes, size_t count)
{
    for (char *at = bytes; count;) {
        ssize_t got = recv(socket, at, count, 0);

        if (got <= 0)
            die("a rank is gone");
        at += got;
        count -= (size_t)got;
    }
}

void group_gather(const group *peers, const void *mine, void *all, size_t bytes)
{
    if (peers->rank != 0) {
        send_all(peers->sockets[0], mine, bytes);
        receive_all(peers->sockets[0], all, bytes * (size_t)peers->size);
        return;
    }
    memcpy(all, mine, bytes);
    for (int i = 1; i < peers->size; i++)
        receive_all(peers->sockets[i], (char *)all + (size_t)i * bytes, bytes);
    for (int i = 1; i < peers->size; i++)
        send_all(peers->sockets[i], all, bytes * (size_t)peers->size);
}
