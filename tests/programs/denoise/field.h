/* SPDX-License-Identifier: MIT
 * field.h - the field that is sampled, on the host: its model, the noise it begins with, and the
 * exact answer. */
#ifndef DENOISE_FIELD_H
#define DENOISE_FIELD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each of `count` floats. */
void field_model(float *mean, float *spread, int count);
void field_noise(float *noise, int count, uint64_t seed);

/* How far `answer` is from where the exact path from `noise` ends: root of the mean square. */
double field_error(const float *answer, const float *noise, int count);

#ifdef __cplusplus
}
#endif

#endif
