/* SPDX-License-Identifier: MIT
 * torch.h - what `run --torch` does to a PyTorch program that it starts.
 *
 * PyTorch keeps what it asks the driver for and cuts tensors out of it, so that the cache sees a
 * few segments and then nothing. Here each tensor becomes a request, by PyTorch's own switch or by
 * its interface for other allocators, and a module that Python runs at its start (sitecustomize, in
 * hooks/python/startup) ends a step after each optimizer step. With --offload it also sends what
 * autograd saves through a pinned arena. */
#ifndef SC_CLI_TORCH_H
#define SC_CLI_TORCH_H

#include "base/path.h"
#include <stdbool.h>

typedef enum sc_torch_view {
    SC_TORCH_NONE,      /* not asked for */
    SC_TORCH_TENSORS,   /* PyTorch's caching off */
    SC_TORCH_PLUGGABLE, /* ours as PyTorch's allocator */
    SC_TORCH_SEGMENTS,  /* PyTorch's own, which passes: only its steps are wanted */
} sc_torch_view;

typedef struct sc_torch {
    sc_torch_view view;
    bool is_named;               /* --torch=VIEW: the user has chosen it */
    const char *offload;         /* what --offload said: a size, "auto", or NULL */
    char startup[SC_PATH_BYTES]; /* the folder of the module */
} sc_torch;

/* --torch, --torch=VIEW, --offload or --offload=SIZE. False: it is none. */
bool sc_torch_parse(sc_torch *torch, const char *option);

/* Finds the module: beside the tool, as built, or in ../lib, as installed; says what is missing. */
bool sc_torch_find(sc_torch *torch, const char *folder, const char *above);

/* Settings of PyTorch under which the cache would see nothing; says which. */
bool sc_torch_is_bypassed(const sc_torch *torch);

/* The script of `command` captures CUDA graphs, by its own text, and nobody has insisted on a view
 * that forbids it; says where. */
bool sc_torch_is_capturing(const sc_torch *torch, char *const *command);

/* Each variable that the program gets. */
typedef void sc_torch_set(void *self, const char *name, const char *value);
void sc_torch_variables(const sc_torch *torch, sc_torch_set *set, void *self);

/* Two lines on stderr: what was done, and what to know. */
void sc_torch_say(const sc_torch *torch);

#endif
