/* SPDX-License-Identifier: MIT */
#include "physical.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "settings.h"

#define MAGIC 0x53434d454d4f5259ull
#define DATA  (1ull << 40) /* where the memory begins, behind the notes */

/* At the position of a shared descriptor. */
struct note {
    uint64_t magic;
    uint64_t offset, bytes;
    uint64_t number;
    int64_t device;
};

#define MAX_DEVICES 16

static struct file {
    int descriptor; /* 0: not made yet */
    struct stat identity;
    uint64_t end;
} files[MAX_DEVICES];

static struct sim_physical *all;
static uint64_t last_number;

/* Only device memory of the plain kind, exported as a file descriptor or not at all. */
CUresult sim_physical_allowed(const CUmemAllocationProp *properties, struct sim_device **device)
{
    unsigned types = (unsigned)properties->requestedHandleTypes;

    if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (properties->location.type == CU_MEM_LOCATION_TYPE_HOST ||
        properties->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    *device = sim_device_find(properties->location.id);
    if (!*device)
        return CUDA_ERROR_INVALID_DEVICE;
    if ((types & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0 ||
        properties->allocFlags.usage != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

/* The file of a device; NULL: the kernel has none for us. */
static struct file *file_of(const struct sim_device *device)
{
    struct file *file = &files[device->ordinal];
    char name[32];

    if (file->descriptor > 0)
        return file;
    snprintf(name, sizeof name, "simcuda-device-%d", device->ordinal);
    file->descriptor = memfd_create(name, MFD_CLOEXEC);
    if (file->descriptor <= 0 || fstat(file->descriptor, &file->identity) != 0)
        return NULL;
    file->end = DATA;
    return file;
}

static void list(struct sim_physical *physical)
{
    physical->next = all;
    if (all)
        all->previous = physical;
    all = physical;
}

static void unlist(const struct sim_physical *physical)
{
    if (physical->previous)
        physical->previous->next = physical->next;
    else
        all = physical->next;
    if (physical->next)
        physical->next->previous = physical->previous;
}

/* A new part at the end of the device's file. */
static bool place(struct sim_physical *physical)
{
    struct file *file = file_of(physical->device);

    if (!file || ftruncate(file->descriptor, (off_t)(file->end + physical->bytes)) != 0)
        return false;
    physical->file = file->descriptor;
    physical->offset = file->end;
    file->end += physical->bytes;
    return true;
}

CUresult sim_physical_new_locked(struct sim_device *device, const CUmemAllocationProp *properties,
                                 size_t bytes, struct sim_physical **out)
{
    struct sim_physical *physical;

    if (!sim_device_take_locked(device, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    physical = calloc(1, sizeof *physical);
    if (!physical)
        goto give_back;
    *physical = (struct sim_physical){.object = {.kind = SIM_PHYSICAL},
                                      .device = device,
                                      .properties = *properties,
                                      .bytes = bytes,
                                      .number = ++last_number};
    if (!place(physical) || !sim_physical_hold_locked(physical))
        goto free_physical;
    list(physical);
    *out = physical;
    return CUDA_SUCCESS;

free_physical:
    free(physical);
give_back:
    sim_device_give_locked(device, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

struct sim_physical *sim_physical_find_locked(CUmemGenericAllocationHandle handle)
{
    const void *object = (const void *)(uintptr_t)handle; /* NOLINT(performance-no-int-to-ptr) */

    return sim_handle_find_locked(object, SIM_PHYSICAL);
}

static void end_unused(struct sim_physical *physical)
{
    if (physical->handles > 0 || physical->maps > 0)
        return;
    if (!physical->exported && !physical->imported)
        (void)fallocate(physical->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        (off_t)physical->offset, (off_t)physical->bytes);
    if (physical->imported)
        close(physical->file);
    else
        sim_device_give_locked(physical->device, physical->bytes);
    unlist(physical);
    free(physical);
}

bool sim_physical_hold_locked(struct sim_physical *physical)
{
    if (physical->handles == 0 && !sim_handle_add_locked(&physical->object))
        return false;
    physical->handles++;
    return true;
}

void sim_physical_release_locked(struct sim_physical *physical)
{
    if (--physical->handles == 0)
        sim_handle_remove_locked(&physical->object);
    end_unused(physical);
}

void sim_physical_map_locked(struct sim_physical *physical)
{
    physical->maps++;
}

void sim_physical_unmap_locked(struct sim_physical *physical)
{
    physical->maps--;
    end_unused(physical);
}

/* A second opening of the file, which has a position of its own. */
CUresult sim_physical_export_locked(struct sim_physical *physical, int *file)
{
    struct note note = {MAGIC, physical->offset, physical->bytes, physical->number,
                        physical->device->ordinal};
    off_t position = (off_t)(physical->number * sizeof note);
    char path[40];
    int opened;

    if (physical->imported || (uint64_t)position >= DATA - sizeof note)
        return CUDA_ERROR_NOT_SUPPORTED;
    snprintf(path, sizeof path, "/proc/self/fd/%d", physical->file);
    opened = open(path, O_RDWR | O_CLOEXEC);
    if (opened < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    if (pwrite(opened, &note, sizeof note, position) != (ssize_t)sizeof note ||
        lseek(opened, position, SEEK_SET) != position) {
        close(opened);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    physical->exported = true;
    *file = opened;
    return CUDA_SUCCESS;
}

/* Memory of this very process that is still there. */
static struct sim_physical *find_own(const struct stat *identity, const struct note *note)
{
    const struct file *file = &files[note->device];
    struct sim_physical *physical = all;

    if (file->descriptor <= 0 || file->identity.st_ino != identity->st_ino ||
        file->identity.st_dev != identity->st_dev)
        return NULL;
    while (physical && (physical->imported || physical->number != note->number))
        physical = physical->next;
    return physical;
}

static bool read_note(int file, struct stat *identity, struct note *note)
{
    off_t position = lseek(file, 0, SEEK_CUR);

    return position >= 0 && fstat(file, identity) == 0 &&
           pread(file, note, sizeof *note, position) == (ssize_t)sizeof *note &&
           note->magic == MAGIC && note->device >= 0 && sim_device_find((CUdevice)note->device);
}

/* Memory of another process, or of this one that was freed since. */
static CUresult adopt(int file, const struct note *note, struct sim_physical **out)
{
    struct sim_physical *physical = calloc(1, sizeof *physical);

    if (!physical)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *physical = (struct sim_physical){
        .object = {.kind = SIM_PHYSICAL},
        .device = sim_device_find((CUdevice)note->device),
        .properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                       .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)note->device}},
        .bytes = note->bytes,
        .file = fcntl(file, F_DUPFD_CLOEXEC, 0),
        .offset = note->offset,
        .number = note->number,
        .imported = true};
    if (physical->file < 0) {
        free(physical);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    list(physical);
    *out = physical;
    return CUDA_SUCCESS;
}

CUresult sim_physical_import_locked(int file, struct sim_physical **out)
{
    CUresult status = CUDA_SUCCESS;
    struct sim_physical *physical;
    struct stat identity;
    struct note note;

    if (!read_note(file, &identity, &note))
        return CUDA_ERROR_INVALID_VALUE;
    physical = find_own(&identity, &note);
    if (!physical)
        status = adopt(file, &note, &physical);
    if (status != CUDA_SUCCESS)
        return status;
    if (!sim_physical_hold_locked(physical)) {
        end_unused(physical);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = physical;
    return CUDA_SUCCESS;
}
