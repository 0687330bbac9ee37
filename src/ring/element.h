/* SPDX-License-Identifier: MIT
 * element.h - arithmetic on entries: IEEE binary32 and binary16, and bfloat16, all little-endian.
 *
 * Conversions round to the nearest, ties to even; infinities and NaNs stay what they are. Pure. */
#ifndef SC_RING_ELEMENT_H
#define SC_RING_ELEMENT_H

#include <stddef.h>
#include <stdint.h>

float sc_element_from_f16(uint16_t bits);
uint16_t sc_element_to_f16(float value);
float sc_element_from_bf16(uint16_t bits);
uint16_t sc_element_to_bf16(float value);

/* out = from x factor, rounded once from the product of floats; `count` elements of `dtype`. */
void sc_element_scale(uint32_t dtype, void *out, const void *from, size_t count, double factor);

/* The square of the L2 distance; infinity where a NaN is in it. Both are aligned to an element. */
double sc_element_distance(uint32_t dtype, const void *a, const void *b, size_t count);

#endif
