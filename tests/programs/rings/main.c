/* SPDX-License-Identifier: MIT
 * ring_ranks: a trainer of several processes that keeps its errors in bucket rings.
 *
 * Ranks are forked and joined by sockets; what each did is printed in order when all are done. Exit
 * status: 0, or 3 where a rank could not load its rings, or 1. */
#include "trainer.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_LOAD = 3 };

static int run_rank(const options *o, int rank, group peers, FILE *to)
{
    trainer t;
    int status = EXIT_SUCCESS;

    if (!trainer_open(&t, o, rank, peers)) {
        status = EXIT_LOAD;
    } else {
        trainer_run(&t);
        if (!trainer_save(&t))
            status = EXIT_FAILURE;
        trainer_print(&t, to);
    }
    trainer_close(&t);
    return status;
}

/* Ranks with the same blocks are a group: the rank's place in it is its shard. */
static pid_t start(const options *o, int rank, int ends[GROUP_MOST][GROUP_MOST][2], FILE *to)
{
    pid_t child = fork();

    if (child != 0)
        return child;
    int shards = o->ranks / o->sequence;

    for (int other = 0; other < o->sequence; other++)
        if (other != rank % o->sequence)
            for (int i = 1; i < shards; i++) {
                (void)close(ends[other][i][0]);
                (void)close(ends[other][i][1]);
            }
    int status =
        run_rank(o, rank, group_join(ends[rank % o->sequence], rank / o->sequence, shards), to);

    exit(fflush(to) == 0 ? status : EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    static int ends[GROUP_MOST][GROUP_MOST][2];
    const options o = options_read(argc, argv);
    FILE *said[GROUP_MOST];
    pid_t ranks[GROUP_MOST];
    int worst = EXIT_SUCCESS, status, letter;

    for (int i = 0; i < o.sequence; i++)
        group_prepare(ends[i], o.ranks / o.sequence);
    for (int rank = 0; rank < o.ranks; rank++) {
        said[rank] = tmpfile();
        ranks[rank] = said[rank] ? start(&o, rank, ends, said[rank]) : -1;
        if (ranks[rank] < 0) {
            perror("cannot start a rank");
            return EXIT_FAILURE;
        }
    }
    for (int i = 0; i < o.sequence; i++)
        for (int k = 1; k < o.ranks / o.sequence; k++) {
            (void)close(ends[i][k][0]);
            (void)close(ends[i][k][1]);
        }
    for (int rank = 0; rank < o.ranks; rank++) {
        (void)waitpid(ranks[rank], &status, 0);
        status = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
        worst = status == EXIT_LOAD || !worst ? status ? status : worst : worst;
        rewind(said[rank]);
        while ((letter = getc(said[rank])) != EOF)
            (void)putchar(letter);
        (void)fclose(said[rank]);
    }
    return worst;
}
