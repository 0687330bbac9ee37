/* SPDX-License-Identifier: MIT */
#include "trainer.h"

#include "check.h"
#include "lengths.h"

void trainer_create(struct trainer *trainer, const struct options *options)
{
    size_t tokens = (size_t)batch_of(lengths_max(options)).tokens;

    *trainer = {};
    trainer->options = *options;
    teacher_make(&trainer->teacher, options->seed);
    CHECK(cudaStreamCreateWithFlags(&trainer->copy, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&trainer->compute, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&trainer->copied, cudaEventDisableTiming));
    CHECK(cudaMallocHost((void **)&trainer->staged_inputs, tokens * INPUT_WIDTH * sizeof(float)));
    CHECK(cudaMallocHost((void **)&trainer->staged_targets, tokens * OUTPUT_WIDTH * sizeof(float)));
    CHECK(cudaMallocHost((void **)&trainer->staged_loss, sizeof(float)));
    model_create(&trainer->model, options, trainer->compute);
    if (options->wide)
        wide_create(trainer);
}

void trainer_destroy(struct trainer *trainer)
{
    if (trainer->options.wide)
        wide_destroy(trainer);
    if (trainer->kept_output != NULL)
        FREE(trainer->kept_output);
    model_destroy(&trainer->model);
    CHECK(cudaFreeHost(trainer->staged_loss));
    CHECK(cudaFreeHost(trainer->staged_targets));
    CHECK(cudaFreeHost(trainer->staged_inputs));
    CHECK(cudaEventDestroy(trainer->copied));
    CHECK(cudaStreamDestroy(trainer->compute));
    CHECK(cudaStreamDestroy(trainer->copy));
}

void feed_batch(struct trainer *trainer, struct batch batch, enum random_purpose purpose,
                uint64_t index, float *inputs, float *targets)
{
    size_t first = (size_t)(batch.length - batch.tokens), tokens = (size_t)batch.tokens;

    CHECK(cudaEventSynchronize(trainer->copied)); /* the staging memory is free again */
    data_make(&trainer->teacher, trainer->options.seed, purpose, index, batch.tokens,
              trainer->staged_inputs, trainer->staged_targets);
    CHECK(cudaMemcpyAsync(inputs + first * INPUT_WIDTH, trainer->staged_inputs,
                          tokens * INPUT_WIDTH * sizeof(float), cudaMemcpyHostToDevice,
                          trainer->copy));
    CHECK(cudaMemcpyAsync(targets + first * OUTPUT_WIDTH, trainer->staged_targets,
                          tokens * OUTPUT_WIDTH * sizeof(float), cudaMemcpyHostToDevice,
                          trainer->copy));
    CHECK(cudaEventRecord(trainer->copied, trainer->copy));
    CHECK(cudaStreamWaitEvent(trainer->compute, trainer->copied, 0));
}
