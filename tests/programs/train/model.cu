/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <math.h>

#include "check.h"
#include "lengths.h"

static size_t bytes_of(const struct model *model, enum parameter_id id)
{
    return (size_t)model->parameters[id].count * sizeof(float);
}

static void allocate_state(struct model *model, cudaStream_t stream)
{
    for (int id = 0; id < PARAMETERS; id++) {
        struct parameter *parameter = &model->parameters[id];
        size_t bytes = bytes_of(model, (enum parameter_id)id);

        ALLOCATE(parameter->mean, bytes);
        ALLOCATE(parameter->square, bytes);
        CHECK(cudaMemsetAsync(parameter->mean, 0, bytes, stream));
        CHECK(cudaMemsetAsync(parameter->square, 0, bytes, stream));
    }
}

/* Uniform weights of the variance that keeps a ReLU layer's (He et al., 2015). */
static void initialise_weight(struct model *model, enum parameter_id id, int in_width,
                              uint64_t seed, cudaStream_t stream)
{
    size_t bytes = bytes_of(model, id);
    uint64_t state = random_seed(seed, RANDOM_WEIGHTS, (uint64_t)id);
    float bound = sqrtf(6.0f / (float)in_width);
    float *values = (float *)malloc(bytes);

    if (values == NULL) {
        fputs("train: out of host memory\n", stderr);
        exit(1);
    }
    for (int i = 0; i < model->parameters[id].count; i++)
        values[i] = bound * random_float(&state);
    CHECK(cudaMemcpyAsync(model->parameters[id].value, values, bytes, cudaMemcpyHostToDevice,
                          stream));
    CHECK(cudaStreamSynchronize(stream));
    free(values);
}

void model_create(struct model *model, const struct options *options, cudaStream_t stream)
{
    const int counts[PARAMETERS] = {
        lengths_max(options) * INPUT_WIDTH, /* TABLE */
        INPUT_WIDTH * HIDDEN1_WIDTH,        /* WEIGHT1 */
        HIDDEN1_WIDTH,                      /* BIAS1 */
        HIDDEN1_WIDTH * HIDDEN2_WIDTH,      /* WEIGHT2 */
        HIDDEN2_WIDTH,                      /* BIAS2 */
        HIDDEN2_WIDTH * OUTPUT_WIDTH,       /* WEIGHT3 */
        OUTPUT_WIDTH,                       /* BIAS3 */
    };

    *model = {};
    model->beta1_power = 1.0f;
    model->beta2_power = 1.0f;
    for (int id = 0; id < PARAMETERS; id++) {
        struct parameter *parameter = &model->parameters[id];

        parameter->count = counts[id];
        ALLOCATE(parameter->value, bytes_of(model, (enum parameter_id)id));
        CHECK(cudaMemsetAsync(parameter->value, 0, bytes_of(model, (enum parameter_id)id), stream));
    }
    initialise_weight(model, WEIGHT1, INPUT_WIDTH, options->seed, stream);
    initialise_weight(model, WEIGHT2, HIDDEN1_WIDTH, options->seed, stream);
    initialise_weight(model, WEIGHT3, HIDDEN2_WIDTH, options->seed, stream);
    if (!options->lazy_state)
        allocate_state(model, stream);
}

void model_destroy(struct model *model)
{
    for (int id = 0; id < PARAMETERS; id++) {
        FREE(model->parameters[id].value);
        FREE(model->parameters[id].mean);
        FREE(model->parameters[id].square);
    }
}

void gradients_allocate(struct gradients *gradients, const struct model *model, struct batch batch,
                        cudaStream_t stream)
{
    ALLOCATE(gradients->of[TABLE], bytes_of(model, TABLE));
    ALLOCATE(gradients->of[WEIGHT1], bytes_of(model, WEIGHT1));
    ALLOCATE(gradients->of[BIAS1], bytes_of(model, BIAS1));
    ALLOCATE(gradients->of[WEIGHT2], bytes_of(model, WEIGHT2));
    ALLOCATE(gradients->of[BIAS2], bytes_of(model, BIAS2));
    ALLOCATE(gradients->of[WEIGHT3], bytes_of(model, WEIGHT3));
    ALLOCATE(gradients->of[BIAS3], bytes_of(model, BIAS3));
    for (int id = 0; id < PARAMETERS; id++) {
        size_t bytes = id == TABLE ? (size_t)batch.tokens * INPUT_WIDTH * sizeof(float)
                                   : bytes_of(model, (enum parameter_id)id);

        CHECK(cudaMemsetAsync(gradients->of[id], 0, bytes, stream));
    }
}

void gradients_free(struct gradients *gradients)
{
    FREE(gradients->of[TABLE]);
    FREE(gradients->of[WEIGHT1]);
    FREE(gradients->of[BIAS1]);
    FREE(gradients->of[WEIGHT2]);
    FREE(gradients->of[BIAS2]);
    FREE(gradients->of[WEIGHT3]);
    FREE(gradients->of[BIAS3]);
}

void optimizer_step(struct model *model, const struct gradients *gradients, struct batch batch,
                    cudaStream_t stream)
{
    if (model->parameters[TABLE].mean == NULL)
        allocate_state(model, stream);
    model->optimizer_steps++;
    model->beta1_power *= 0.9f;
    model->beta2_power *= 0.99f;
    for (int id = 0; id < PARAMETERS; id++) {
        const struct parameter *parameter = &model->parameters[id];

        launch(stream, batch,
               adam_args{
                   .value = parameter->value,
                   .mean = parameter->mean,
                   .square = parameter->square,
                   .gradient = gradients->of[id],
                   .count = id == TABLE ? batch.tokens * INPUT_WIDTH : parameter->count,
                   .rate = 0.01f,
                   .correction1 = 1.0f / (1.0f - model->beta1_power),
                   .correction2 = 1.0f / (1.0f - model->beta2_power),
               });
    }
}
