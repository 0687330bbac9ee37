/* SPDX-License-Identifier: MIT */
#include "options.h"
#include "group.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    const char *name;
    int *number;
    double *chance;
    bool *flag;
    const char *meaning;
} row;

enum { ROWS = 17 };

static void list(options *o, row rows[ROWS])
{
    const row all[ROWS] = {
        {"--ranks", &o->ranks, NULL, NULL, "processes"},
        {"--sequence", &o->sequence, NULL, NULL, "ranks that share one sequence"},
        {"--blocks", &o->blocks, NULL, NULL, "blocks of a sequence"},
        {"--first", &o->first, NULL, NULL, "steps that were done before"},
        {"--steps", &o->steps, NULL, NULL, "steps to do"},
        {"--warmup", &o->warmup, NULL, NULL, "steps with gathering"},
        {"--keep", &o->keep, NULL, NULL, "gathered items to keep"},
        {"--every", &o->every, NULL, NULL, "steps between reports"},
        {"--capacity", &o->capacity, NULL, NULL, "entries of a bucket"},
        {"--seed", &o->seed, NULL, NULL, "of everything that is random"},
        {"--old-ranks", &o->old_ranks, NULL, NULL, "whose files --overlap reads"},
        {"--context", NULL, &o->context, NULL, "chance of an error in the context"},
        {"--latent", NULL, &o->latent, NULL, "chance of an error in the latent"},
        {"--noise", NULL, &o->noise, NULL, "chance of an error in the noise"},
        {"--clean", NULL, &o->clean, NULL, "chance of a step without any"},
        {"--resume", NULL, NULL, &o->is_resuming, "load the rings' files first"},
        {"--overlap", NULL, NULL, &o->is_overlapping, "load what fits of all old ranks' files"},
    };

    memcpy(rows, all, sizeof all);
}

static _Noreturn void usage(const row rows[ROWS])
{
    fprintf(stderr, "usage: ring_ranks [OPTION VALUE]... [FOLDER [TO]]\n");
    for (int i = 0; i < ROWS; i++)
        fprintf(stderr, "  %-12s %s\n", rows[i].name, rows[i].meaning);
    exit(2);
}

options options_read(int argc, char **argv)
{
    options o = {.ranks = 4,
                 .sequence = 2,
                 .blocks = 6,
                 .steps = 200,
                 .warmup = 50,
                 .keep = 2,
                 .every = 100,
                 .capacity = 5,
                 .seed = 1,
                 .context = 0.9,
                 .latent = 0.9,
                 .noise = 0.01,
                 .clean = 0.2,
                 .update = 0.1};
    row rows[ROWS];

    list(&o, rows);
    for (int i = 1; i < argc; i++) {
        int at = 0;

        while (at < ROWS && strcmp(argv[i], rows[at].name) != 0)
            at++;
        if (at == ROWS && argv[i][0] != '-' && !o.from)
            o.from = o.to = argv[i];
        else if (at == ROWS && argv[i][0] != '-' && o.to == o.from)
            o.to = argv[i];
        else if (at == ROWS || (!rows[at].flag && i + 1 == argc))
            usage(rows);
        else if (rows[at].flag)
            *rows[at].flag = true;
        else if (rows[at].number)
            *rows[at].number = atoi(argv[++i]);
        else
            *rows[at].chance = atof(argv[++i]);
    }
    if (o.ranks < 1 || o.ranks > GROUP_MOST || o.sequence < 1 || o.ranks % o.sequence ||
        o.blocks % o.sequence || o.every < 1 || o.keep < 0)
        usage(rows);
    if (!o.old_ranks)
        o.old_ranks = o.ranks;
    return o;
}
