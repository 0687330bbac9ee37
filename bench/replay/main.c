/* SPDX-License-Identifier: MIT
 * replay - allocates and frees device memory in the order in which a recorded program did. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "die.h"
#include "formats.h"
#include "input.h"
#include "loop.h"
#include "options.h"
#include "play.h"

static void scale(struct trace *trace, const struct options *options)
{
    uint64_t most = (1ull << 62) / options->multiply;

    if (trace->peak > most)
        die(EXIT_INPUT, "--scale: expected at most 2^62 bytes live at once, found more");
    for (uint32_t block = 0; block < trace->block_count; block++)
        trace->bytes[block] =
            (trace->bytes[block] * options->multiply + options->divide - 1) / options->divide;
}

static void find_loop(const struct trace *trace, const struct options *options, struct loop *loop)
{
    if (trace->mark_count == 0)
        die(EXIT_INPUT, "%s: expected \"# step N\" lines for --loop-to, found none", options->file);
    if (!loop_find(trace, loop))
        die(EXIT_INPUT,
            "%s: expected steps to repeat for --loop-to, found none: they have no period, and what "
            "is live at the last step's begin and end is live at no other",
            options->file);
    printf("loop steps %zu to %zu, %s; %zu blocks live at its begin, %zu left by each turn\n",
           loop->begin, loop->end - 1,
           loop->is_period ? "which repeat what came before"
                           : "with the same sizes live at both ends",
           loop->pair_count, loop->left_count);
}

static FILE *open_steps(const struct options *options)
{
    FILE *out = NULL;

    if (options->steps_to != NULL) {
        out = fopen(options->steps_to, "we");
        if (out == NULL)
            die(EXIT_INPUT, "%s: %s", options->steps_to, strerror(errno));
        fputs("step,requests,repeats,same\n", out);
    }
    return out;
}

static void close_steps(FILE *out, const char *path)
{
    bool has_failed;

    if (out == NULL)
        return;
    has_failed = ferror(out);
    if (fclose(out) != 0 || has_failed)
        die(EXIT_RUN, "%s: could not be written whole", path);
}

static void print_times(const char *name, const struct play_calls *calls)
{
    printf("%s %.0f ns on average, %.0f ns at worst\n", name,
           1e9 * calls->seconds / (double)calls->count, 1e9 * calls->worst);
}

static void print_totals(const struct play_totals *totals, bool times)
{
    if (times) {
        print_times("cudaMalloc", &totals->requests);
        print_times("cudaFree", &totals->frees);
    }
    printf("frees %llu peak %llu\n", (unsigned long long)totals->frees.count,
           (unsigned long long)totals->peak);
    printf("done steps %llu requests %llu seconds %.3f\n", (unsigned long long)totals->steps,
           (unsigned long long)totals->requests.count, totals->seconds);
}

int main(int argc, char **argv)
{
    struct options options;
    struct play_rules rules;
    struct play_totals totals;
    struct input input;
    struct trace trace;
    struct loop loop;
    int status = options_parse(&options, argc, argv);

    if (status >= 0)
        return status;
    input = input_open(options.file);
    trace = formats_read(&input);
    printf("trace blocks %u steps %zu left out %llu\n", trace.block_count, trace.mark_count,
           (unsigned long long)trace.left_out);
    rules = (struct play_rules){.passes = options.passes,
                                .loop_to = options.loop_to,
                                .progress = (double)options.progress,
                                .verifies = options.verifies,
                                .times = options.times};
    if (options.loop_to > 0 && (trace.mark_count == 0 || options.loop_to > trace.mark_count)) {
        find_loop(&trace, &options, &loop);
        rules.loop = &loop;
    }
    scale(&trace, &options); /* only now: sizes that differ may become the same */
    fflush(stdout);
    rules.steps_to = open_steps(&options);
    totals = play(&trace, &rules);
    close_steps(rules.steps_to, options.steps_to);
    print_totals(&totals, options.times);
    return 0;
}
