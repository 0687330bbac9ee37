/* SPDX-License-Identifier: MIT
 *
 * The network, forward and backward. Each tensor has its own cudaMalloc and cudaFree here; none
 * outlives the batch, but for the output with --keep-output. */
#include "check.h"
#include "trainer.h"

struct activations {
    float *inputs, *targets; /* INPUT_WIDTH, OUTPUT_WIDTH columns */
    float *embedded;         /* INPUT_WIDTH */
    float *sum1, *hidden1;   /* HIDDEN1_WIDTH: before and after the ReLU */
    float *sum2, *hidden2;   /* HIDDEN2_WIDTH */
    float *predictions;      /* OUTPUT_WIDTH */
};

static void embed(struct trainer *trainer, struct batch batch, const float *in, float *out)
{
    launch(trainer->compute, batch,
           embed_args{
               .in = in,
               .table = trainer->model.parameters[TABLE].value,
               .out = out,
               .width = INPUT_WIDTH,
           });
}

struct layer {
    enum parameter_id weight, bias;
    int in_width, out_width;
};

static const struct layer layer1 = {WEIGHT1, BIAS1, INPUT_WIDTH, HIDDEN1_WIDTH};
static const struct layer layer2 = {WEIGHT2, BIAS2, HIDDEN1_WIDTH, HIDDEN2_WIDTH};
static const struct layer layer3 = {WEIGHT3, BIAS3, HIDDEN2_WIDTH, OUTPUT_WIDTH};

static void dense(struct trainer *trainer, struct batch batch, const struct layer *layer,
                  const float *in, float *out)
{
    launch(trainer->compute, batch,
           dense_args{
               .in = in,
               .weight = trainer->model.parameters[layer->weight].value,
               .bias = trainer->model.parameters[layer->bias].value,
               .out = out,
               .in_width = layer->in_width,
               .out_width = layer->out_width,
           });
}

static void relu(struct trainer *trainer, struct batch batch, int width, const float *in,
                 float *out)
{
    launch(trainer->compute, batch, relu_args{.in = in, .out = out, .width = width});
}

/* In place: the gradient by the ReLU's output becomes the one by its input. */
static void relu_gradient(struct trainer *trainer, struct batch batch, int width, const float *in,
                          float *gradient)
{
    launch(trainer->compute, batch,
           relu_gradient_args{.in = in, .gradient = gradient, .width = width});
}

static size_t partials_bytes(const struct layer *layer)
{
    return sizeof(float) * GRADIENT_CHUNKS * (size_t)layer->in_width * (size_t)layer->out_width;
}

static void layer_gradients(struct trainer *trainer, struct batch batch, const struct layer *layer,
                            const float *in, const float *out_gradient, float *partials,
                            struct gradients *gradients)
{
    launch(trainer->compute, batch,
           weight_partials_args{
               .in = in,
               .out_gradient = out_gradient,
               .partials = partials,
               .in_width = layer->in_width,
               .out_width = layer->out_width,
           });
    launch(trainer->compute, batch,
           weight_gradient_args{
               .partials = partials,
               .gradient = gradients->of[layer->weight],
               .count = layer->in_width * layer->out_width,
           });
    launch(trainer->compute, batch,
           bias_gradient_args{
               .out_gradient = out_gradient,
               .gradient = gradients->of[layer->bias],
               .width = layer->out_width,
           });
}

static void input_gradient(struct trainer *trainer, struct batch batch, const struct layer *layer,
                           const float *out_gradient, float *in_gradient)
{
    launch(trainer->compute, batch,
           dense_gradient_args{
               .out_gradient = out_gradient,
               .weight = trainer->model.parameters[layer->weight].value,
               .in_gradient = in_gradient,
               .in_width = layer->in_width,
               .out_width = layer->out_width,
           });
}

/* Leaves the loss on its way to staged_loss. */
static void measure_loss(struct trainer *trainer, struct batch batch, const float *predictions,
                         const float *targets, float *partials, float *loss)
{
    launch(trainer->compute, batch,
           partial_losses_args{
               .predictions = predictions,
               .targets = targets,
               .partials = partials,
               .width = OUTPUT_WIDTH,
           });
    launch(trainer->compute, batch,
           mean_loss_args{.partials = partials, .loss = loss, .width = OUTPUT_WIDTH});
    CHECK(cudaMemcpyAsync(trainer->staged_loss, loss, sizeof(float), cudaMemcpyDeviceToHost,
                          trainer->compute));
}

static void forward(struct trainer *trainer, struct batch batch, struct activations *a)
{
    ALLOCATE(a->embedded, tensor_bytes(batch, INPUT_WIDTH));
    embed(trainer, batch, a->inputs, a->embedded);
    FREE(a->inputs);

    ALLOCATE(a->sum1, tensor_bytes(batch, HIDDEN1_WIDTH));
    dense(trainer, batch, &layer1, a->embedded, a->sum1);
    ALLOCATE(a->hidden1, tensor_bytes(batch, HIDDEN1_WIDTH));
    relu(trainer, batch, HIDDEN1_WIDTH, a->sum1, a->hidden1);

    ALLOCATE(a->sum2, tensor_bytes(batch, HIDDEN2_WIDTH));
    dense(trainer, batch, &layer2, a->hidden1, a->sum2);
    ALLOCATE(a->hidden2, tensor_bytes(batch, HIDDEN2_WIDTH));
    relu(trainer, batch, HIDDEN2_WIDTH, a->sum2, a->hidden2);

    ALLOCATE(a->predictions, tensor_bytes(batch, OUTPUT_WIDTH));
    dense(trainer, batch, &layer3, a->hidden2, a->predictions);
    if (trainer->options.wide)
        a->predictions = wide_forward(trainer, batch, a->predictions);
}

/* Takes the gradient by the predictions, which it frees as it frees the activations. */
static void backward(struct trainer *trainer, struct batch batch, struct activations *a,
                     float *predictions_gradient, struct gradients *gradients)
{
    float *partials3, *partials2, *partials1;
    float *hidden2_gradient, *hidden1_gradient, *embedded_gradient;

    ALLOCATE(partials3, partials_bytes(&layer3));
    layer_gradients(trainer, batch, &layer3, a->hidden2, predictions_gradient, partials3,
                    gradients);
    FREE(partials3);
    FREE(a->hidden2);
    ALLOCATE(hidden2_gradient, tensor_bytes(batch, HIDDEN2_WIDTH));
    input_gradient(trainer, batch, &layer3, predictions_gradient, hidden2_gradient);
    FREE(predictions_gradient);
    relu_gradient(trainer, batch, HIDDEN2_WIDTH, a->sum2, hidden2_gradient);
    FREE(a->sum2);

    ALLOCATE(partials2, partials_bytes(&layer2));
    layer_gradients(trainer, batch, &layer2, a->hidden1, hidden2_gradient, partials2, gradients);
    FREE(partials2);
    FREE(a->hidden1);
    ALLOCATE(hidden1_gradient, tensor_bytes(batch, HIDDEN1_WIDTH));
    input_gradient(trainer, batch, &layer2, hidden2_gradient, hidden1_gradient);
    FREE(hidden2_gradient);
    relu_gradient(trainer, batch, HIDDEN1_WIDTH, a->sum1, hidden1_gradient);
    FREE(a->sum1);

    ALLOCATE(partials1, partials_bytes(&layer1));
    layer_gradients(trainer, batch, &layer1, a->embedded, hidden1_gradient, partials1, gradients);
    FREE(partials1);
    FREE(a->embedded);
    ALLOCATE(embedded_gradient, tensor_bytes(batch, INPUT_WIDTH));
    input_gradient(trainer, batch, &layer1, hidden1_gradient, embedded_gradient);
    FREE(hidden1_gradient);
    launch(trainer->compute, batch,
           table_gradient_args{
               .out_gradient = embedded_gradient,
               .gradient = gradients->of[TABLE],
               .width = INPUT_WIDTH,
           });
    FREE(embedded_gradient);
}

/* Frees it, or with --keep-output the one before. */
static void give_up_output(struct trainer *trainer, float *output)
{
    float *former = output;

    if (trainer->options.keep_output) {
        former = trainer->kept_output;
        trainer->kept_output = output;
    }
    if (former != NULL)
        FREE(former);
}

float train_batch(struct trainer *trainer, struct batch batch, uint64_t index,
                  struct gradients *gradients)
{
    struct activations a;
    float *partials, *loss, *predictions_gradient;

    ALLOCATE(a.inputs, tensor_bytes(batch, INPUT_WIDTH));
    ALLOCATE(a.targets, tensor_bytes(batch, OUTPUT_WIDTH));
    feed_batch(trainer, batch, RANDOM_BATCHES, index, a.inputs, a.targets);
    forward(trainer, batch, &a);

    ALLOCATE(partials, LOSS_PARTIALS * sizeof(float));
    ALLOCATE(loss, sizeof(float));
    measure_loss(trainer, batch, a.predictions, a.targets, partials, loss);
    FREE(loss);
    FREE(partials);

    ALLOCATE(predictions_gradient, tensor_bytes(batch, OUTPUT_WIDTH));
    launch(trainer->compute, batch,
           loss_gradient_args{
               .predictions = a.predictions,
               .targets = a.targets,
               .gradient = predictions_gradient,
               .width = OUTPUT_WIDTH,
               .scale = 1.0f / (float)trainer->options.accumulate,
           });
    give_up_output(trainer, a.predictions);
    FREE(a.targets);
    backward(trainer, batch, &a, predictions_gradient, gradients);
    CHECK(cudaStreamSynchronize(trainer->compute));
    return *trainer->staged_loss;
}

/* Nothing is kept for a backward pass: each ReLU works in place, each tensor goes after its use. */
float evaluate(struct trainer *trainer, struct batch batch)
{
    float *inputs, *targets, *hidden1, *hidden2, *predictions, *partials, *loss;

    ALLOCATE(inputs, tensor_bytes(batch, INPUT_WIDTH));
    ALLOCATE(targets, tensor_bytes(batch, OUTPUT_WIDTH));
    feed_batch(trainer, batch, RANDOM_EVALUATION, 0, inputs, targets);
    embed(trainer, batch, inputs, inputs);
    ALLOCATE(hidden1, tensor_bytes(batch, HIDDEN1_WIDTH));
    dense(trainer, batch, &layer1, inputs, hidden1);
    FREE(inputs);
    relu(trainer, batch, HIDDEN1_WIDTH, hidden1, hidden1);
    ALLOCATE(hidden2, tensor_bytes(batch, HIDDEN2_WIDTH));
    dense(trainer, batch, &layer2, hidden1, hidden2);
    FREE(hidden1);
    relu(trainer, batch, HIDDEN2_WIDTH, hidden2, hidden2);
    ALLOCATE(predictions, tensor_bytes(batch, OUTPUT_WIDTH));
    dense(trainer, batch, &layer3, hidden2, predictions);
    FREE(hidden2);
    if (trainer->options.wide)
        predictions = wide_forward(trainer, batch, predictions);

    ALLOCATE(partials, LOSS_PARTIALS * sizeof(float));
    ALLOCATE(loss, sizeof(float));
    measure_loss(trainer, batch, predictions, targets, partials, loss);
    FREE(partials);
    FREE(loss);
    FREE(predictions);
    FREE(targets);
    CHECK(cudaStreamSynchronize(trainer->compute));
    return *trainer->staged_loss;
}
