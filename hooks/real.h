/* SPDX-License-Identifier: MIT
 * real.h - the driver behind the hooks: one table of its functions, made once libcuda.so.1 is
 * loaded.
 *
 * The table is built aside and published by one pointer, so readers take no lock and no lock of
 * ours is held while the loader is asked. Threads that race each build one; the first to publish
 * wins. libcuda is pinned: the program's dlclose no longer unloads it, and no pointer in here
 * ever dangles.
 *
 * Looking does not load: without a libcuda in the process, every function of the table answers
 * CUDA_ERROR_NOT_INITIALIZED, as it does for a function that the loaded driver lacks. */
#ifndef SC_HOOKS_REAL_H
#define SC_HOOKS_REAL_H

#include <cudaTypedefs.h>
#include <stdbool.h>
#include <stddef.h>

/* cuda.h gives the newest variant the plain name. Here a name means the symbol that libcuda
 * exports under it. */
#undef cuArray3DCreate
#undef cuArrayCreate
#undef cuCtxDestroy
#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuEventDestroy
#undef cuGetProcAddress
#undef cuMemAlloc
#undef cuMemAllocPitch
#undef cuMemFree
#undef cuMemGetAddressRange
#undef cuMemGetInfo
#undef cuMemHostRegister
#undef cuMemcpy2D
#undef cuMemcpy2DUnaligned
#undef cuMemcpy3D
#undef cuMemcpyDtoDAsync
#undef cuMemcpyDtoH
#undef cuMemcpyDtoHAsync
#undef cuMemcpyHtoD
#undef cuMemcpyHtoDAsync
#undef cuStreamBeginCapture
#undef cuStreamDestroy
#undef cuStreamGetCtx

/* The header keeps the types of retired functions to itself; all but the first are their
 * successors'. */
typedef CUresult (*PFN_cuStreamBeginCapture_v10000)(CUstream stream);
typedef PFN_cuStreamBeginCapture_v10000 PFN_cuStreamBeginCapture_v10000_ptsz;
typedef PFN_cuStreamDestroy_v4000 PFN_cuStreamDestroy_v2000;
typedef PFN_cuCtxDestroy_v4000 PFN_cuCtxDestroy_v2000;
typedef PFN_cuDevicePrimaryCtxReset_v11000 PFN_cuDevicePrimaryCtxReset_v7000;
typedef PFN_cuDevicePrimaryCtxRelease_v11000 PFN_cuDevicePrimaryCtxRelease_v7000;

#define SC_TYPE_PLAIN(base, version)   PFN_##base##_v##version
#define SC_TYPE_LEGACY(base, version)  PFN_##base##_v##version
#define SC_TYPE_THREAD(base, version)  PFN_##base##_v##version##_ptsz
#define SC_TYPE_DEFAULT(base, version) PFN_##base##_v##version##_ptds
#define SC_TYPE(base, version, stream) SC_TYPE_##stream(base, version)

typedef struct sc_real {
    bool serves; /* everything the engine needs is there, and the engine knows it */
#define HOOK(name, base, version, stream) SC_TYPE(base, version, stream) name;
#define NEED(name, base, version, stream) SC_TYPE(base, version, stream) name;
#include "hooks.def"
} sc_real;

/* Our exported functions: defining one with another type than the driver's does not compile. */
#define SC_EXPORT __attribute__((visibility("default")))

#define HOOK(name, base, version, stream)                                                          \
    SC_EXPORT extern __typeof__(*(SC_TYPE(base, version, stream))0) name;
#define SERVE(name, base, version, stream)                                                         \
    SC_EXPORT extern __typeof__(*(SC_TYPE(base, version, stream))0) name;                          \
    extern __typeof__(*(SC_TYPE(base, version, stream))0) sc_found_##name;
#include "hooks.def"

/* Never NULL. */
const sc_real *sc_real_find(void);

/* May the engine be told of this call? Not without one, and not of calls that it makes itself. */
bool sc_real_is_watched(const sc_real *real);

/* What to hand out instead of the driver's function at `found`; NULL: itself. */
void *sc_real_hook_of(const sc_real *real, const void *found);

/* The same for what the resolver gave for the base name `symbol`, should its pointers differ
 * from dlsym's. */
void *sc_real_hook_of_resolved(const sc_real *real, const char *symbol, const void *found);

#endif
