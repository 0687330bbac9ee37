/* SPDX-License-Identifier: MIT
 * export_api.c - cuGetExportTable, which there is nothing to answer from.
 *
 * Its tables are undocumented. NVIDIA's own libcudart does not start without them, and tells the
 * program no more than an error code; other libraries of NVIDIA's ask and go on without. Who asks
 * cannot be told from here, so the one line says what is so for both. */
#include "api.h"
#include "unsupported.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* The folder of the simulator's own file, as the loader found it; "." where it does not say. */
static void own_folder(char *out, size_t bytes)
{
    static const char within; /* any address of ours will do */
    const char *slash;
    Dl_info info;

    if (!dladdr(&within, &info) || !info.dli_fname || !(slash = strrchr(info.dli_fname, '/'))) {
        snprintf(out, bytes, ".");
        return;
    }
    snprintf(out, bytes, "%.*s", (int)(slash - info.dli_fname), info.dli_fname);
}

static void advise(void)
{
    char folder[4096];

    own_folder(folder, sizeof folder);
    fprintf(stderr,
            "simcuda: cuGetExportTable is not simulated: a program that stops here carries or "
            "loads NVIDIA's own libcudart, which a simulated driver cannot serve: build it with "
            "nvcc -cudart shared and put %s first in LD_LIBRARY_PATH, or relink it with "
            "%s/libcudart_static.a\n",
            folder, folder);
}

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    static atomic_flag is_said = ATOMIC_FLAG_INIT;
    CUresult status = (CUresult)sim_unsupported(CALL_cuGetExportTable);

    (void)table;
    (void)id;
    if (status == CUDA_ERROR_NOT_SUPPORTED && !atomic_flag_test_and_set(&is_said))
        advise();
    return status;
}
