/* SPDX-License-Identifier: MIT
 *
 * --wide: blocks of frozen layers behind the predictions. A block expands them to a width that no
 * other block has, then folds that wide tensor back into them in many small steps, each into a new
 * tensor. The wide tensors are used one after another and never together:
 *
 *     live bytes  __|~|__|~~|__|~~~|__ ...    blocks 1, 2, 3: each wider than the one before
 *
 * Kept for reuse they add up to more than everything else together, yet nearly all requests are
 * for the one size that the folds ask for. What the blocks add is small, so the backward pass takes
 * them for the identity and need not know them. */
#include "check.h"
#include "trainer.h"

enum { BLOCKS = 8, FOLDS = 36, FIRST_WIDTH = 50, WIDTH_STEP = 2 };

enum { LAST_WIDTH = FIRST_WIDTH + (BLOCKS - 1) * WIDTH_STEP };

/* One weight serves all blocks: each reads as many of its numbers as its width needs. */
void wide_create(struct trainer *trainer)
{
    uint64_t state = random_seed(trainer->options.seed, RANDOM_WEIGHTS, PARAMETERS);
    float weight[OUTPUT_WIDTH * LAST_WIDTH];

    for (int i = 0; i < OUTPUT_WIDTH * LAST_WIDTH; i++)
        weight[i] = random_float(&state);
    ALLOCATE(trainer->wide_weight, sizeof weight);
    CHECK(cudaMemcpyAsync(trainer->wide_weight, weight, sizeof weight, cudaMemcpyHostToDevice,
                          trainer->compute));
    ALLOCATE(trainer->wide_bias, sizeof(float) * LAST_WIDTH);
    CHECK(
        cudaMemcpy(trainer->wide_bias, weight, sizeof(float) * LAST_WIDTH, cudaMemcpyHostToDevice));
}

void wide_destroy(struct trainer *trainer)
{
    FREE(trainer->wide_weight);
    FREE(trainer->wide_bias);
}

static float *wide_block(struct trainer *trainer, struct batch batch, int width, float *predictions)
{
    float *wide, *folded;

    ALLOCATE(wide, tensor_bytes(batch, width));
    launch(trainer->compute, batch,
           dense_args{
               .in = predictions,
               .weight = trainer->wide_weight,
               .bias = trainer->wide_bias,
               .out = wide,
               .in_width = OUTPUT_WIDTH,
               .out_width = width,
           });
    for (int fold = 0; fold < FOLDS; fold++) {
        ALLOCATE(folded, tensor_bytes(batch, OUTPUT_WIDTH));
        launch(trainer->compute, batch,
               fold_args{
                   .in = predictions,
                   .wide = wide,
                   .out = folded,
                   .width = OUTPUT_WIDTH,
                   .wide_width = width,
                   .first = fold * OUTPUT_WIDTH,
               });
        FREE(predictions);
        predictions = folded;
    }
    FREE(wide);
    return predictions;
}

float *wide_forward(struct trainer *trainer, struct batch batch, float *predictions)
{
    for (int block = 0; block < BLOCKS; block++)
        predictions = wide_block(trainer, batch, FIRST_WIDTH + block * WIDTH_STEP, predictions);
    return predictions;
}
