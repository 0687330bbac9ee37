/* SPDX-License-Identifier: MIT
 * cudnn_rnn.c - where the weights of a recurrent network lie in the one buffer that holds them:
 *
 *     | layer 0: input matrices, recurrent matrices | layer 1: ... | biases of layer 0 | ...
 *
 * A network in both directions has twice the layers: forward, backward, forward, ... The real
 * library's order is its own; programs ask, as they must. */
#include "cudnn.h"

#include <stdbool.h>

typedef struct network {
    int cell; /* 0, 1: one gate; 2: LSTM, 3: GRU */
    int bias; /* 0: none, 2: two for each gate, 1 and 3: one */
    int directions;
    int type;
    int input, hidden, projected, layers;
} network;

typedef struct matrix {
    size_t rows, columns;
} matrix;

SIMLIB_API int cudnnSetRNNDescriptor_v8(uintptr_t descriptor, int algorithm, int cell, int bias,
                                        int direction, int input_mode, int type, int precision,
                                        int math, int32_t input, int32_t hidden, int32_t projected,
                                        int32_t layers, uintptr_t dropout, uint32_t flags);
SIMLIB_API int cudnnGetRNNWeightSpaceSize(uintptr_t handle, uintptr_t descriptor, size_t *bytes);
SIMLIB_API int cudnnGetRNNWeightParams(uintptr_t handle, uintptr_t descriptor, int32_t layer,
                                       size_t bytes, char *space, int32_t linear,
                                       uintptr_t matrix_descriptor, void **matrix_address,
                                       uintptr_t bias_descriptor, void **bias_address);

int cudnnSetRNNDescriptor_v8(uintptr_t descriptor, int algorithm, int cell, int bias, int direction,
                             int input_mode, int type, int precision, int math, int32_t input,
                             int32_t hidden, int32_t projected, int32_t layers, uintptr_t dropout,
                             uint32_t flags)
{
    network *set = simlib_data(descriptor, sizeof *set, NULL);

    (void)algorithm;
    (void)input_mode;
    (void)precision;
    (void)math;
    (void)dropout;
    (void)flags;
    simlib_ok(SIMLIB_cudnnSetRNNDescriptor_v8);
    if (!set || input < 1 || hidden < 1 || layers < 1 || cell < 0 || cell > 3)
        return SIMCUDNN_BAD_PARAM;
    *set = (network){.cell = cell,
                     .bias = bias,
                     .directions = direction == 1 ? 2 : 1,
                     .type = type,
                     .input = input,
                     .hidden = hidden,
                     .projected = projected,
                     .layers = layers};
    return SIMLIB_SUCCESS;
}

static int gates(const network *of)
{
    return of->cell == 2 ? 4 : of->cell == 3 ? 3 : 1;
}

static bool is_projected(const network *of)
{
    return of->projected > 0 && of->projected != of->hidden;
}

/* Elements of what a layer gives to the next, in one direction. */
static int given(const network *of)
{
    return is_projected(of) ? of->projected : of->hidden;
}

/* Matrix `linear` of a layer; that of the projection comes last. */
static matrix matrix_of(const network *of, int layer, int linear)
{
    int input = layer < of->directions ? of->input : given(of) * of->directions;

    if (linear >= 2 * gates(of))
        return (matrix){(size_t)of->projected, (size_t)of->hidden};
    return (matrix){(size_t)of->hidden, (size_t)(linear < gates(of) ? input : given(of))};
}

static int matrices(const network *of)
{
    return 2 * gates(of) + is_projected(of);
}

/* Elements before matrix `linear` of a layer. */
static size_t matrices_before(const network *of, int layer, int linear)
{
    size_t elements = 0;

    for (int l = 0; l <= layer; l++)
        for (int i = 0; i < (l < layer ? matrices(of) : linear); i++) {
            matrix it = matrix_of(of, l, i);

            elements += it.rows * it.columns;
        }
    return elements;
}

/* Has this gate a bias? Where there is one for each, it is the input's (1) or the recurrent (3). */
static bool has_bias(const network *of, int linear)
{
    if (linear >= 2 * gates(of))
        return false;
    return of->bias == 2 || (of->bias == 1 && linear < gates(of)) ||
           (of->bias == 3 && linear >= gates(of));
}

static size_t biases_before(const network *of, int layer, int linear)
{
    size_t count = 0;

    for (int l = 0; l <= layer; l++)
        for (int i = 0; i < (l < layer ? matrices(of) : linear); i++)
            count += has_bias(of, i);
    return count * (size_t)of->hidden;
}

int cudnnGetRNNWeightSpaceSize(uintptr_t handle, uintptr_t descriptor, size_t *bytes)
{
    const network *of = simlib_data(descriptor, sizeof *of, NULL);
    int layers;

    (void)handle;
    simlib_ok(SIMLIB_cudnnGetRNNWeightSpaceSize);
    if (!of || of->layers == 0 || !bytes)
        return SIMCUDNN_BAD_PARAM;
    layers = of->layers * of->directions;
    *bytes = (matrices_before(of, layers, 0) + biases_before(of, layers, 0)) *
             simcudnn_type_bytes(of->type);
    return SIMLIB_SUCCESS;
}

static int describe(uintptr_t descriptor, int type, size_t rows, size_t columns)
{
    const int extent[3] = {1, (int)rows, (int)columns};
    const int strides[3] = {(int)(rows * columns), (int)columns, 1};

    return descriptor ? simcudnn_set_tensor(descriptor, type, 3, extent, strides) : SIMLIB_SUCCESS;
}

int cudnnGetRNNWeightParams(uintptr_t handle, uintptr_t descriptor, int32_t layer, size_t bytes,
                            char *space, int32_t linear, uintptr_t matrix_descriptor,
                            void **matrix_address, uintptr_t bias_descriptor, void **bias_address)
{
    const network *of = simlib_data(descriptor, sizeof *of, NULL);
    size_t element, first_bias;
    matrix it;

    (void)handle;
    (void)bytes;
    simlib_ok(SIMLIB_cudnnGetRNNWeightParams);
    if (!of || layer < 0 || layer >= of->layers * of->directions || linear < 0 ||
        linear >= matrices(of))
        return SIMCUDNN_BAD_PARAM;
    it = matrix_of(of, layer, linear);
    element = simcudnn_type_bytes(of->type);
    first_bias = matrices_before(of, of->layers * of->directions, 0);
    if (matrix_address)
        *matrix_address = space + matrices_before(of, layer, linear) * element;
    if (bias_address)
        *bias_address = has_bias(of, linear)
                            ? space + (first_bias + biases_before(of, layer, linear)) * element
                            : NULL;
    if (describe(matrix_descriptor, of->type, it.rows, it.columns) != SIMLIB_SUCCESS)
        return SIMCUDNN_BAD_PARAM;
    return describe(bias_descriptor, of->type, has_bias(of, linear) ? it.rows : 0, 1);
}
