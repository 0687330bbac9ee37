/* SPDX-License-Identifier: MIT
 * offload - trains a deep residual network whose activations wait in a pinned LIFO arena.
 *
 *     offload [--steps N] [--layers N] [--rows N] [--offload BYTES] [--keep]
 *             [--pageable] [--background] [--ahead N] [--behind N]
 *
 * --offload: through an arena of so many bytes (0: a dry run); --keep: what does not fit stays on
 * the device, --pageable: it goes to pageable memory, else it is an error; --background:
 * page-locked in pieces meanwhile; --ahead: so many inputs are prefetched; --behind: so many may
 * still be on their way out. Prints each step's loss and its bits, and at the end what the
 * arena did. */
#include "activations.h"
#include "check.h"
#include "kernels.h"

#include <string.h>

enum { COLUMNS = 64, EVALUATE_EVERY = 5 };

struct options {
    int steps, layers, rows, ahead, behind;
    bool has_arena;
    shapecache_arena_full full;
    unsigned flags;
    size_t capacity;
};

struct network {
    struct options options;
    struct shape shape;
    struct layer layers[LAYERS_MOST];
    struct activations activations;
    cudaStream_t stream;
    float *loss;
};

static size_t tensor_bytes(const struct network *net)
{
    return sizeof(float) * (size_t)net->shape.rows * (size_t)net->shape.columns;
}

static float *allocate(size_t bytes)
{
    float *data;

    CHECK(cudaMalloc((void **)&data, bytes));
    return data;
}

/* From random inputs to the last layer's output; each layer's input is saved. */
static float *forward(struct network *net, unsigned batch)
{
    float *in = allocate(tensor_bytes(net)), *out;

    launch_fill(net->stream, net->shape, in, batch);
    for (int i = 0; i < net->options.layers; i++) {
        out = allocate(tensor_bytes(net));
        launch_forward(net->stream, net->shape, net->layers[i], in, out);
        activations_save(&net->activations, i, in);
        in = out;
    }
    return in;
}

static float read_loss(struct network *net, const float *loss)
{
    float value;

    CHECK(cudaMemcpyAsync(&value, loss, sizeof value, cudaMemcpyDeviceToHost, net->stream));
    CHECK(cudaStreamSynchronize(net->stream));
    return value;
}

static float train_step(struct network *net, unsigned batch)
{
    float *out = forward(net, batch), *gradient = allocate(tensor_bytes(net));

    launch_loss(net->stream, net->shape, out, batch, gradient, net->loss);
    CHECK(cudaFree(out));
    for (int i = net->options.layers; i-- > 0;) {
        float *in = activations_load(&net->activations, i);

        launch_backward(net->stream, net->shape, net->layers[i], in, gradient);
        CHECK(cudaFree(in));
    }
    CHECK(cudaFree(gradient));
    return read_loss(net, net->loss);
}

/* Offloads as any forward pass does, and drops it all. */
static float evaluate(struct network *net, unsigned batch)
{
    shapecache_arena_moment moment = activations_mark(&net->activations);
    float *out = forward(net, batch), *gradient = allocate(tensor_bytes(net));

    launch_loss(net->stream, net->shape, out, batch, gradient, net->loss);
    activations_rewind(&net->activations, moment, net->options.layers);
    CHECK(cudaFree(gradient));
    CHECK(cudaFree(out));
    return read_loss(net, net->loss);
}

static void create(struct network *net, const struct options *options)
{
    const struct shape row = {1, COLUMNS};

    *net = {};
    net->options = *options;
    net->shape = {options->rows, COLUMNS};
    CHECK(cudaStreamCreateWithFlags(&net->stream, cudaStreamNonBlocking));
    net->loss = allocate(sizeof(float));
    for (int i = 0; i < options->layers; i++) {
        net->layers[i] = {allocate(sizeof(float) * COLUMNS), allocate(sizeof(float) * COLUMNS)};
        launch_fill(net->stream, row, net->layers[i].weight, 1000u + (unsigned)i);
        CHECK(cudaMemsetAsync(net->layers[i].bias, 0, sizeof(float) * COLUMNS, net->stream));
    }
    activations_open(&net->activations, net->stream, tensor_bytes(net), options->ahead);
    if (options->has_arena)
        activations_through(&net->activations, options->capacity, options->full, options->flags,
                            (size_t)options->behind * tensor_bytes(net));
}

static void destroy(struct network *net)
{
    activations_close(&net->activations);
    for (int i = 0; i < net->options.layers; i++) {
        CHECK(cudaFree(net->layers[i].weight));
        CHECK(cudaFree(net->layers[i].bias));
    }
    CHECK(cudaFree(net->loss));
    CHECK(cudaStreamDestroy(net->stream));
}

static void print(const char *what, int step, float loss)
{
    unsigned bits;

    memcpy(&bits, &loss, sizeof bits);
    printf("%s %d loss %.6f bits %08x\n", what, step, loss, bits);
}

static void print_arena(struct network *net)
{
    shapecache_arena_info info;

    if (!net->activations.arena ||
        shapecache_arena_stats(net->activations.arena, &info) != SHAPECACHE_OK)
        return;
    printf("arena capacity %llu used-peak %llu demand-peak %llu offloads %llu onloads %llu kept "
           "%llu pageable %llu "
           "prefetched %llu rewound %llu given %llu\n",
           (unsigned long long)info.capacity, (unsigned long long)info.used_peak,
           (unsigned long long)info.demand_peak, (unsigned long long)info.offloads,
           (unsigned long long)info.onloads, (unsigned long long)(info.kept_full + info.kept_dry),
           (unsigned long long)info.went_pageable, (unsigned long long)info.prefetched,
           (unsigned long long)info.rewound, (unsigned long long)info.given);
}

static size_t number(const char *text)
{
    char *end;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;

    if (!text || end == text || *end)
        fail("a number is missing, see the top of main.cu");
    return (size_t)value;
}

static struct options read_options(char **argv)
{
    struct options options = {};

    options.steps = 20, options.layers = 12, options.rows = 1024, options.ahead = 2,
    options.behind = 2;
    while (*++argv)
        if (strcmp(*argv, "--keep") == 0)
            options.full = SHAPECACHE_ARENA_FULL_KEEP;
        else if (strcmp(*argv, "--pageable") == 0)
            options.full = SHAPECACHE_ARENA_FULL_PAGEABLE;
        else if (strcmp(*argv, "--background") == 0)
            options.flags = SHAPECACHE_ARENA_BACKGROUND;
        else if (strcmp(*argv, "--steps") == 0)
            options.steps = (int)number(*++argv);
        else if (strcmp(*argv, "--layers") == 0)
            options.layers = (int)number(*++argv);
        else if (strcmp(*argv, "--rows") == 0)
            options.rows = (int)number(*++argv);
        else if (strcmp(*argv, "--ahead") == 0)
            options.ahead = (int)number(*++argv);
        else if (strcmp(*argv, "--behind") == 0)
            options.behind = (int)number(*++argv);
        else if (strcmp(*argv, "--offload") == 0)
            options.has_arena = true, options.capacity = number(*++argv);
        else
            fail("unknown option, see the top of main.cu");
    if (options.layers < 1 || options.layers > LAYERS_MOST || options.rows < 1)
        fail("--layers 1 to 256, --rows at least 1");
    return options;
}

int main(int, char **argv)
{
    static struct network net;
    struct options options = read_options(argv);

    kernels_register();
    create(&net, &options);
    for (int step = 0; step < options.steps; step++) {
        print("step", step, train_step(&net, (unsigned)step));
        if ((step + 1) % EVALUATE_EVERY == 0)
            print("evaluation", step, evaluate(&net, 999));
    }
    print_arena(&net);
    destroy(&net);
    return 0;
}
