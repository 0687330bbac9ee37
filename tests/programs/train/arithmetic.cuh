/* SPDX-License-Identifier: MIT
 * arithmetic.cuh - what each kernel computes and touches, once for the device and the host.
 *
 * For each kernel, three overloads by its argument struct:
 *     elements()  how many independent elements a launch computes
 *     compute()   one of them
 *     touches()   the memory a launch reads and writes, padding included
 * Contraction to fused multiply-add is off (CMakeLists.txt), so both sides round alike. */
#ifndef TRAIN_ARITHMETIC_CUH
#define TRAIN_ARITHMETIC_CUH

#include <math.h>

#include "kernels.h"
#include "simcuda.h"

#define BOTH static __host__ __device__ inline

/* The index in a tensor of the first column of token `token`. */
BOTH size_t at(struct batch batch, int token, int width)
{
    return (size_t)(batch.length - batch.tokens + token) * (size_t)width;
}

struct touched {
    simcuda_range *ranges;
    unsigned count;
};

static void touch(struct touched *touched, const float *address, size_t floats, int writes)
{
    simcuda_range *range = &touched->ranges[touched->count++];

    range->address = address;
    range->bytes = floats * sizeof(float);
    range->writes = writes;
}

static void reads(struct touched *touched, const float *address, size_t floats)
{
    touch(touched, address, floats, 0);
}

static void writes(struct touched *touched, const float *address, size_t floats)
{
    touch(touched, address, floats, 1);
}

static size_t tensor(struct batch batch, int width)
{
    return (size_t)batch.length * (size_t)width;
}

/* embed */

BOTH int elements(const struct embed_args &args, struct batch batch)
{
    return batch.tokens * args.width;
}

BOTH void compute(const struct embed_args &args, struct batch batch, int element)
{
    size_t index = at(batch, 0, args.width) + (size_t)element;

    args.out[index] = args.in[index] + args.table[element];
}

static void touches(const struct embed_args &args, struct batch batch, struct touched *touched)
{
    reads(touched, args.in, tensor(batch, args.width));
    reads(touched, args.table, (size_t)batch.tokens * (size_t)args.width);
    writes(touched, args.out, tensor(batch, args.width));
}

/* dense */

BOTH int elements(const struct dense_args &args, struct batch batch)
{
    return batch.tokens * args.out_width;
}

BOTH void compute(const struct dense_args &args, struct batch batch, int element)
{
    int token = element / args.out_width, column = element % args.out_width;
    const float *in = args.in + at(batch, token, args.in_width);
    float sum = args.bias[column];

    for (int i = 0; i < args.in_width; i++)
        sum += in[i] * args.weight[i * args.out_width + column];
    args.out[at(batch, token, args.out_width) + (size_t)column] = sum;
}

static void touches(const struct dense_args &args, struct batch batch, struct touched *touched)
{
    reads(touched, args.in, tensor(batch, args.in_width));
    reads(touched, args.weight, (size_t)args.in_width * (size_t)args.out_width);
    reads(touched, args.bias, (size_t)args.out_width);
    writes(touched, args.out, tensor(batch, args.out_width));
}

/* relu */

BOTH int elements(const struct relu_args &args, struct batch batch)
{
    return batch.tokens * args.width;
}

BOTH void compute(const struct relu_args &args, struct batch batch, int element)
{
    size_t index = at(batch, 0, args.width) + (size_t)element;

    args.out[index] = args.in[index] > 0.0f ? args.in[index] : 0.0f;
}

static void touches(const struct relu_args &args, struct batch batch, struct touched *touched)
{
    reads(touched, args.in, tensor(batch, args.width));
    writes(touched, args.out, tensor(batch, args.width));
}

/* partial_losses, mean_loss */

BOTH int elements(const struct partial_losses_args &, struct batch)
{
    return LOSS_PARTIALS;
}

BOTH void compute(const struct partial_losses_args &args, struct batch batch, int element)
{
    float sum = 0.0f;

    for (int token = element; token < batch.tokens; token += LOSS_PARTIALS) {
        size_t row = at(batch, token, args.width);

        for (int column = 0; column < args.width; column++) {
            float error = args.predictions[row + column] - args.targets[row + column];

            sum += error * error;
        }
    }
    args.partials[element] = sum;
}

static void touches(const struct partial_losses_args &args, struct batch batch,
                    struct touched *touched)
{
    reads(touched, args.predictions, tensor(batch, args.width));
    reads(touched, args.targets, tensor(batch, args.width));
    writes(touched, args.partials, LOSS_PARTIALS);
}

BOTH int elements(const struct mean_loss_args &, struct batch)
{
    return 1;
}

BOTH void compute(const struct mean_loss_args &args, struct batch batch, int)
{
    float sum = 0.0f;

    for (int i = 0; i < LOSS_PARTIALS; i++)
        sum += args.partials[i];
    *args.loss = sum / (float)(batch.tokens * args.width);
}

static void touches(const struct mean_loss_args &args, struct batch, struct touched *touched)
{
    reads(touched, args.partials, LOSS_PARTIALS);
    writes(touched, args.loss, 1);
}

/* loss_gradient */

BOTH int elements(const struct loss_gradient_args &args, struct batch batch)
{
    return batch.tokens * args.width;
}

BOTH void compute(const struct loss_gradient_args &args, struct batch batch, int element)
{
    size_t index = at(batch, 0, args.width) + (size_t)element;
    float slope = 2.0f * args.scale / (float)(batch.tokens * args.width);

    args.gradient[index] = slope * (args.predictions[index] - args.targets[index]);
}

static void touches(const struct loss_gradient_args &args, struct batch batch,
                    struct touched *touched)
{
    reads(touched, args.predictions, tensor(batch, args.width));
    reads(touched, args.targets, tensor(batch, args.width));
    writes(touched, args.gradient, tensor(batch, args.width));
}

/* dense_gradient, relu_gradient */

BOTH int elements(const struct dense_gradient_args &args, struct batch batch)
{
    return batch.tokens * args.in_width;
}

BOTH void compute(const struct dense_gradient_args &args, struct batch batch, int element)
{
    int token = element / args.in_width, row = element % args.in_width;
    const float *gradient = args.out_gradient + at(batch, token, args.out_width);
    const float *weight = args.weight + row * args.out_width;
    float sum = 0.0f;

    for (int i = 0; i < args.out_width; i++)
        sum += gradient[i] * weight[i];
    args.in_gradient[at(batch, token, args.in_width) + (size_t)row] = sum;
}

static void touches(const struct dense_gradient_args &args, struct batch batch,
                    struct touched *touched)
{
    reads(touched, args.out_gradient, tensor(batch, args.out_width));
    reads(touched, args.weight, (size_t)args.in_width * (size_t)args.out_width);
    writes(touched, args.in_gradient, tensor(batch, args.in_width));
}

BOTH int elements(const struct relu_gradient_args &args, struct batch batch)
{
    return batch.tokens * args.width;
}

BOTH void compute(const struct relu_gradient_args &args, struct batch batch, int element)
{
    size_t index = at(batch, 0, args.width) + (size_t)element;

    if (!(args.in[index] > 0.0f))
        args.gradient[index] = 0.0f;
}

static void touches(const struct relu_gradient_args &args, struct batch batch,
                    struct touched *touched)
{
    reads(touched, args.in, tensor(batch, args.width));
    writes(touched, args.gradient, tensor(batch, args.width));
}

/* weight_partials, weight_gradient, bias_gradient, table_gradient */

BOTH int elements(const struct weight_partials_args &args, struct batch)
{
    return GRADIENT_CHUNKS * args.in_width * args.out_width;
}

BOTH void compute(const struct weight_partials_args &args, struct batch batch, int element)
{
    int column = element % args.out_width, row = element / args.out_width % args.in_width;
    int chunk = element / (args.in_width * args.out_width);
    float sum = 0.0f;

    for (int token = chunk; token < batch.tokens; token += GRADIENT_CHUNKS)
        sum += args.in[at(batch, token, args.in_width) + row] *
               args.out_gradient[at(batch, token, args.out_width) + column];
    args.partials[element] = sum;
}

static void touches(const struct weight_partials_args &args, struct batch batch,
                    struct touched *touched)
{
    reads(touched, args.in, tensor(batch, args.in_width));
    reads(touched, args.out_gradient, tensor(batch, args.out_width));
    writes(touched, args.partials, (size_t)elements(args, batch));
}

BOTH int elements(const struct weight_gradient_args &args, struct batch)
{
    return args.count;
}

BOTH void compute(const struct weight_gradient_args &args, struct batch, int element)
{
    float sum = 0.0f;

    for (int chunk = 0; chunk < GRADIENT_CHUNKS; chunk++)
        sum += args.partials[chunk * args.count + element];
    args.gradient[element] += sum;
}

static void touches(const struct weight_gradient_args &args, struct batch, struct touched *touched)
{
    reads(touched, args.partials, GRADIENT_CHUNKS * (size_t)args.count);
    writes(touched, args.gradient, (size_t)args.count);
}

BOTH int elements(const struct bias_gradient_args &args, struct batch)
{
    return args.width;
}

BOTH void compute(const struct bias_gradient_args &args, struct batch batch, int element)
{
    float sum = 0.0f;

    for (int token = 0; token < batch.tokens; token++)
        sum += args.out_gradient[at(batch, token, args.width) + element];
    args.gradient[element] += sum;
}

static void touches(const struct bias_gradient_args &args, struct batch batch,
                    struct touched *touched)
{
    reads(touched, args.out_gradient, tensor(batch, args.width));
    writes(touched, args.gradient, (size_t)args.width);
}

BOTH int elements(const struct table_gradient_args &args, struct batch batch)
{
    return batch.tokens * args.width;
}

BOTH void compute(const struct table_gradient_args &args, struct batch batch, int element)
{
    args.gradient[element] += args.out_gradient[at(batch, 0, args.width) + (size_t)element];
}

static void touches(const struct table_gradient_args &args, struct batch batch,
                    struct touched *touched)
{
    reads(touched, args.out_gradient, tensor(batch, args.width));
    writes(touched, args.gradient, (size_t)batch.tokens * (size_t)args.width);
}

/* adam */

BOTH int elements(const struct adam_args &args, struct batch)
{
    return args.count;
}

BOTH void compute(const struct adam_args &args, struct batch, int element)
{
    const float beta1 = 0.9f, beta2 = 0.99f, epsilon = 1e-8f;
    float gradient = args.gradient[element];
    float mean = beta1 * args.mean[element] + (1.0f - beta1) * gradient;
    float square = beta2 * args.square[element] + (1.0f - beta2) * gradient * gradient;

    args.mean[element] = mean;
    args.square[element] = square;
    args.value[element] -=
        args.rate * (mean * args.correction1) / (sqrtf(square * args.correction2) + epsilon);
}

static void touches(const struct adam_args &args, struct batch, struct touched *touched)
{
    writes(touched, args.value, (size_t)args.count);
    writes(touched, args.mean, (size_t)args.count);
    writes(touched, args.square, (size_t)args.count);
    reads(touched, args.gradient, (size_t)args.count);
}

/* fold */

BOTH int elements(const struct fold_args &args, struct batch batch)
{
    return batch.tokens * args.width;
}

BOTH void compute(const struct fold_args &args, struct batch batch, int element)
{
    int token = element / args.width, column = element % args.width;
    size_t index = at(batch, 0, args.width) + (size_t)element;
    float wide = args.wide[at(batch, token, args.wide_width) +
                           (size_t)((args.first + column) % args.wide_width)];

    args.out[index] = args.in[index] + 1e-4f * wide;
}

static void touches(const struct fold_args &args, struct batch batch, struct touched *touched)
{
    reads(touched, args.in, tensor(batch, args.width));
    reads(touched, args.wide, tensor(batch, args.wide_width));
    writes(touched, args.out, tensor(batch, args.width));
}

#endif
