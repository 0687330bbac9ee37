/* SPDX-License-Identifier: MIT
 * pickle.h - writes Python's pickle, protocol 2: dictionaries, lists, texts, whole numbers.
 *
 * Only opcodes that the unpickler of PyTorch's memory_viz knows too. What is used again is numbered
 * (`put`) and taken by its number (`get`); the numbers are the caller's. */
#ifndef SC_CLI_PICKLE_H
#define SC_CLI_PICKLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void sc_pickle_begin(FILE *out);
void sc_pickle_end(FILE *out);

void sc_pickle_dict(FILE *out);
/* The key and the value that were written last belong to the dictionary before them. */
void sc_pickle_set(FILE *out);
void sc_pickle_list(FILE *out);
/* The value that was written last belongs to the list before it. */
void sc_pickle_append(FILE *out);
/* The two values that were written last, as one. */
void sc_pickle_pair(FILE *out);

void sc_pickle_u64(FILE *out, uint64_t value);
void sc_pickle_bool(FILE *out, bool value);
/* What is not UTF-8 in it becomes '?', as the readers would refuse the whole file. */
void sc_pickle_text(FILE *out, const char *text);

void sc_pickle_put(FILE *out, uint32_t number);
void sc_pickle_get(FILE *out, uint32_t number);

#endif
