/* SPDX-License-Identifier: MIT
 * physical.h - memory without an address (cuMemCreate), to be mapped at as many as the program
 * likes.
 *
 * A device's physical memory is one file in memory (memfd), made at first use; an allocation is a
 * part of it that no other ever was, so that freeing is punching a hole. Mapping it is mmap,
 * shared: aliases are real. It is counted in the device's memory from creation until the last
 * handle has been released and the last mapping is gone, whichever comes last.
 *
 * A shareable handle is a file descriptor of that file whose position is the place of a short note
 * (the front of the file is all notes) saying where the memory lies. It works in a forked child,
 * over a socket, and after the exporter's end. What was exported keeps its pages as long as the
 * file lives, since nobody here knows who else has it.
 *
 * All functions expect the lock to be held. */
#ifndef SC_SIM_PHYSICAL_H
#define SC_SIM_PHYSICAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "handle.h"

struct sim_device;

struct sim_physical {
    struct sim_object object;
    struct sim_physical *next, *previous; /* all there are */
    struct sim_device *device;
    CUmemAllocationProp properties;
    size_t bytes;
    unsigned handles; /* times it was given to the program and not released */
    unsigned maps;
    int file;
    uint64_t offset;
    uint64_t number;
    bool exported;
    bool imported; /* another process's: not counted here, and `file` is its own */
};

/* CUDA_SUCCESS where memory of these properties can be had; *device is where. */
CUresult sim_physical_allowed(const CUmemAllocationProp *properties, struct sim_device **device);

CUresult sim_physical_new_locked(struct sim_device *device, const CUmemAllocationProp *properties,
                                 size_t bytes, struct sim_physical **out);

/* The memory a handle names, NULL: none. */
struct sim_physical *sim_physical_find_locked(CUmemGenericAllocationHandle handle);

/* One handle more: false, out of memory; one less; one mapping more or less. */
bool sim_physical_hold_locked(struct sim_physical *physical);
void sim_physical_release_locked(struct sim_physical *physical);
void sim_physical_map_locked(struct sim_physical *physical);
void sim_physical_unmap_locked(struct sim_physical *physical);

CUresult sim_physical_export_locked(struct sim_physical *physical, int *file);
CUresult sim_physical_import_locked(int file, struct sim_physical **out);

#endif
