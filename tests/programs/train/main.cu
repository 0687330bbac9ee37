/* SPDX-License-Identifier: MIT
 * train - trains a small network, as an ordinary CUDA program does it. */
#include <string.h>
#include <thread>
#include <time.h>
#include <vector>

#include "check.h"
#include "lengths.h"
#include "trainer.h"

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_line(const char *what, int step, struct batch batch, float loss)
{
    struct tally tally = tally_read();
    uint32_t bits;

    memcpy(&bits, &loss, sizeof bits);
    printf("%s %d length %d loss %.9f bits %08x pointers %016llx requests %llu\n", what, step,
           batch.length, loss, bits, (unsigned long long)tally.pointers,
           (unsigned long long)tally.requests);
    fflush(stdout);
}

static float train_step(struct trainer *trainer, struct batch batch, int step)
{
    int accumulate = trainer->options.accumulate;
    struct gradients gradients;
    float loss = 0.0f;

    gradients_allocate(&gradients, &trainer->model, batch, trainer->compute);
    for (int i = 0; i < accumulate; i++)
        loss += train_batch(trainer, batch, (uint64_t)step * (uint64_t)accumulate + (uint64_t)i,
                            &gradients);
    optimizer_step(&trainer->model, &gradients, batch, trainer->compute);
    gradients_free(&gradients);
    if (trainer->options.leak > 0) {
        void *forgotten;

        ALLOCATE(forgotten, (size_t)trainer->options.leak);
    }
    return loss / (float)accumulate;
}

static void evaluation(struct trainer *trainer, int step)
{
    struct batch batch = batch_of(lengths_of_evaluation(&trainer->options));
    float loss;

    tally_restart();
    loss = evaluate(trainer, batch);
    if (!trainer->options.quiet)
        print_line("evaluation", step, batch, loss);
}

static void train(struct trainer *trainer, const struct lengths *lengths)
{
    const struct options *options = &trainer->options;

    for (int step = 0; step < options->steps; step++) {
        struct batch batch = batch_of(lengths_at(lengths, step));
        float loss;

        tally_restart();
        loss = train_step(trainer, batch, step);
        if (!options->quiet)
            print_line("step", step, batch, loss);
        if (options->eval_every > 0 && (step + 1) % options->eval_every == 0)
            evaluation(trainer, step);
    }
}

static void run(const struct options *options, const struct lengths *lengths)
{
    struct trainer trainer;

    trainer_create(&trainer, options);
    train(&trainer, lengths);
    trainer_destroy(&trainer);
}

/* Each thread but this one trains a network with a seed of its own, and says nothing. */
static void run_threads(const struct options *options, const struct lengths *lengths)
{
    std::vector<std::thread> others;

    for (int i = 1; i < options->threads; i++) {
        struct options other = *options;

        other.seed += (uint64_t)i;
        other.quiet = true;
        others.emplace_back([other, lengths] { run(&other, lengths); });
    }
    run(options, lengths);
    for (std::thread &thread : others)
        thread.join();
}

int main(int argc, char **argv)
{
    double started = seconds_now();
    struct options options;
    struct lengths *lengths;
    int status = options_parse(&options, argc, argv);

    if (status >= 0)
        return status;
    lengths = lengths_create(&options);
    if (lengths == NULL)
        return 2;
    kernels_register();
    run_threads(&options, lengths);
    lengths_destroy(lengths);
    printf("done steps %d requests %llu seconds %.2f\n", options.steps,
           (unsigned long long)tally_read().requests, seconds_now() - started);
    return 0;
}
