/* SPDX-License-Identifier: MIT
 * unsupported.h - what every function of libcudart that is not modelled does. Included by the file
 * made from the list of names, which knows none of CUDA's types. */
#ifndef SIMRT_UNSUPPORTED_H
#define SIMRT_UNSUPPORTED_H

#include "cudart_names.h"

/* Counts the call, makes cudaErrorNotSupported the thread's last error and returns it. */
int simrt_unsupported(enum simrt_call call);

#endif
