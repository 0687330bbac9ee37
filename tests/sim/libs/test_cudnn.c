/* SPDX-License-Identifier: MIT
 * test_cudnn.c - the parts of cuDNN that are kept: attributes, tensors, weights of networks. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, FLOAT = 0, HALF = 2 };
enum { INT64 = 3, DESCRIPTOR = 15 }; /* types of attributes */

typedef struct opaque *handle;

int cudnnCreate(handle *out);
int cudnnCreateRNNDescriptor(handle *out);
int cudnnCreateTensorDescriptor(handle *out);
int cudnnDestroyTensorDescriptor(handle it);
int cudnnSetTensorNdDescriptor(handle it, int type, int dims, const int *extent,
                               const int *strides);
int cudnnGetTensorNdDescriptor(handle it, int wanted, int *type, int *dims, int *extent,
                               int *strides);
int cudnnSetRNNDescriptor_v8(handle it, int algorithm, int cell, int bias, int direction,
                             int input_mode, int type, int precision, int math, int32_t input,
                             int32_t hidden, int32_t projected, int32_t layers, handle dropout,
                             uint32_t flags);
int cudnnGetRNNWeightSpaceSize(handle cudnn, handle it, size_t *bytes);
int cudnnGetRNNWeightParams(handle cudnn, handle it, int32_t layer, size_t bytes, void *space,
                            int32_t linear, handle matrix, void **matrix_at, handle bias,
                            void **bias_at);
int cudnnBackendCreateDescriptor(int type, handle *out);
int cudnnBackendDestroyDescriptor(handle it);
int cudnnBackendSetAttribute(handle it, int name, int type, int64_t count, const void *values);
int cudnnBackendGetAttribute(handle it, int name, int type, int64_t wanted, int64_t *count,
                             void *values);
int cudnnBackendExecute(handle cudnn, handle plan, handle pack);

START_TEST(a_tensor_is_read_back_as_it_was_set)
{
    const int extent[3] = {2, 3, 5}, strides[3] = {15, 5, 1};
    int type, dims, seen[3], apart[3];
    handle tensor;

    ANSWERS(SUCCESS, cudnnCreateTensorDescriptor(&tensor));
    ANSWERS(SUCCESS, cudnnSetTensorNdDescriptor(tensor, HALF, 3, extent, strides));
    ANSWERS(SUCCESS, cudnnGetTensorNdDescriptor(tensor, 3, &type, &dims, seen, apart));
    ck_assert_int_eq(type, HALF);
    ck_assert_int_eq(dims, 3);
    ck_assert_mem_eq(seen, extent, sizeof extent);
    ck_assert_mem_eq(apart, strides, sizeof strides);
    ck_assert_int_ne(cudnnSetTensorNdDescriptor(tensor, HALF, 9, extent, strides), SUCCESS);
    ANSWERS(SUCCESS, cudnnDestroyTensorDescriptor(tensor));
    ck_assert_int_ne(cudnnGetTensorNdDescriptor(tensor, 3, &type, &dims, seen, apart), SUCCESS);
}
END_TEST

START_TEST(attributes_are_kept_and_one_engine_is_offered_with_a_workspace)
{
    const int64_t pair[2] = {7, 9};
    int64_t count = -1, number = -1, read[2] = {0};
    handle it, filled = NULL;

    ANSWERS(SUCCESS, cudnnBackendCreateDescriptor(3, &it));
    ANSWERS(SUCCESS, cudnnBackendSetAttribute(it, 900, INT64, 1, &number));
    ANSWERS(SUCCESS, cudnnBackendSetAttribute(it, 900, INT64, 2, pair));
    ANSWERS(SUCCESS, cudnnBackendGetAttribute(it, 900, INT64, 2, &count, read));
    ck_assert_int_eq(count, 2);
    ck_assert_mem_eq(read, pair, sizeof pair);
    ANSWERS(SUCCESS, cudnnBackendGetAttribute(it, 901, INT64, 2, &count, read));
    ck_assert_int_eq(count, 0);
    ANSWERS(SUCCESS, cudnnBackendGetAttribute(it, 202, DESCRIPTOR, 0, &count, NULL));
    ck_assert_int_eq(count, 1);
    ANSWERS(SUCCESS, cudnnBackendGetAttribute(it, 202, DESCRIPTOR, 1, &count, &filled));
    ck_assert_ptr_null(filled);
    ANSWERS(SUCCESS, cudnnBackendGetAttribute(it, 402, INT64, 1, &count, &number));
    ck_assert_int_eq(number, 4 * (int64_t)MIB);
    ANSWERS(SUCCESS, cudnnBackendDestroyDescriptor(it));
    ck_assert_int_ne(cudnnBackendSetAttribute(it, 900, INT64, 2, pair), SUCCESS);
}
END_TEST

START_TEST(executing_a_plan_is_work)
{
    handle cudnn, plan, pack;

    start();
    ANSWERS(SUCCESS, cudnnCreate(&cudnn));
    ANSWERS(SUCCESS, cudnnBackendCreateDescriptor(4, &plan));
    ANSWERS(SUCCESS, cudnnBackendCreateDescriptor(10, &pack));
    ANSWERS(SUCCESS, cudnnBackendExecute(cudnn, plan, pack));
    ck_assert_int_ne(cudnnBackendExecute(NULL, plan, pack), SUCCESS);
    OK(cuCtxSynchronize());
}
END_TEST

typedef struct shape {
    int cell, bias, direction, type, input, hidden, projected, layers;
} shape;

static const shape shapes[] = {
    {0, 2, 0, FLOAT, 3, 4, 0, 1}, {2, 2, 0, FLOAT, 5, 7, 0, 2}, {2, 2, 1, HALF, 5, 7, 0, 3},
    {3, 2, 1, HALF, 6, 4, 0, 2},  {2, 0, 0, FLOAT, 5, 7, 0, 2}, {2, 1, 1, FLOAT, 5, 7, 0, 2},
    {3, 3, 0, FLOAT, 5, 7, 0, 2}, {2, 2, 1, FLOAT, 9, 8, 3, 2},
};

/* Marks the bytes of a part; each must be free. */
static void mark(unsigned char *taken, size_t bytes, size_t at, handle tensor, size_t element)
{
    int type, dims, extent[3], strides[3];
    size_t size = element;

    ANSWERS(SUCCESS, cudnnGetTensorNdDescriptor(tensor, 3, &type, &dims, extent, strides));
    for (int i = 0; i < dims; i++)
        size *= (size_t)extent[i];
    ck_assert_uint_le(at + size, bytes);
    for (size_t i = at; i < at + size; i++)
        ck_assert_int_eq(taken[i]++, 0);
}

START_TEST(weights_lie_side_by_side_and_fill_their_space)
{
    const shape *of = &shapes[_i];
    int gates = of->cell == 2 ? 4 : of->cell == 3 ? 3 : 1;
    int linear = 2 * gates + (of->projected > 0), layers = of->layers * (of->direction + 1);
    size_t element = of->type == HALF ? 2 : 4, bytes = 0;
    unsigned char *taken;
    handle cudnn, it, matrix, bias;

    start();
    ANSWERS(SUCCESS, cudnnCreate(&cudnn));
    ANSWERS(SUCCESS, cudnnCreateRNNDescriptor(&it));
    ck_assert_int_ne(cudnnGetRNNWeightSpaceSize(cudnn, it, &bytes), SUCCESS);
    ANSWERS(SUCCESS, cudnnCreateTensorDescriptor(&matrix));
    ANSWERS(SUCCESS, cudnnCreateTensorDescriptor(&bias));
    ANSWERS(SUCCESS,
            cudnnSetRNNDescriptor_v8(it, 0, of->cell, of->bias, of->direction, 0, of->type, 0, 0,
                                     of->input, of->hidden, of->projected, of->layers, NULL, 0));
    ANSWERS(SUCCESS, cudnnGetRNNWeightSpaceSize(cudnn, it, &bytes));
    taken = calloc(1, bytes);
    for (int l = 0; l < layers; l++)
        for (int i = 0; i < linear; i++) {
            void *matrix_at, *bias_at;

            ANSWERS(SUCCESS, cudnnGetRNNWeightParams(cudnn, it, l, bytes, taken, i, matrix,
                                                     &matrix_at, bias, &bias_at));
            mark(taken, bytes, (size_t)((unsigned char *)matrix_at - taken), matrix, element);
            if (bias_at)
                mark(taken, bytes, (size_t)((unsigned char *)bias_at - taken), bias, element);
        }
    ck_assert_ptr_null(memchr(taken, 0, bytes));
    ck_assert_int_ne(
        cudnnGetRNNWeightParams(cudnn, it, layers, bytes, taken, 0, matrix, NULL, NULL, NULL),
        SUCCESS);
    free(taken);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("libs.cudnn");
    TCase *tests = tcase_create("cudnn");
    SRunner *runner;
    int failed;

    tcase_add_test(tests, a_tensor_is_read_back_as_it_was_set);
    tcase_add_test(tests, attributes_are_kept_and_one_engine_is_offered_with_a_workspace);
    tcase_add_test(tests, executing_a_plan_is_work);
    tcase_add_loop_test(tests, weights_lie_side_by_side_and_fill_their_space, 0,
                        (int)(sizeof shapes / sizeof *shapes));
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
