/* SPDX-License-Identifier: MIT
 * module_api.c - modules and libraries of the driver API. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context.h"
#include "lock.h"
#include "module.h"

#define STANDARD_DYNAMIC_SHARED (48 << 10)

struct sim_function *sim_function_find_locked(const void *handle)
{
    struct sim_function *function = sim_handle_find_locked(handle, SIM_FUNCTION);

    return function ? function : sim_handle_find_locked(handle, SIM_KERNEL);
}

/* Frees the module, whose own handle has been removed, and its functions with their handles. */
static void close_module(struct sim_object *object)
{
    struct sim_module *module = (struct sim_module *)object;
    struct sim_function *next;

    for (struct sim_function *function = module->functions; function; function = next) {
        next = function->next;
        sim_handle_remove_locked(&function->object);
        free(function->name);
        free(function);
    }
    free(module);
}

/* A function is closed by its module, which the same sweep meets before or after it. */
static void close_function(struct sim_object *object)
{
    (void)object;
}

static struct sim_module *new_module(enum sim_kind kind, struct sim_context *context)
{
    struct sim_module *module = calloc(1, sizeof *module);

    if (!module)
        return NULL;
    module->object = (struct sim_object){kind, context, close_module};
    if (!sim_handle_add_locked(&module->object)) {
        free(module);
        return NULL;
    }
    return module;
}

/* The function `name` of a module or library; NULL: out of memory. */
static struct sim_function *function_of(struct sim_module *module, const char *name)
{
    struct sim_function *function;

    for (function = module->functions; function; function = function->next)
        if (strcmp(function->name, name) == 0)
            return function;
    function = calloc(1, sizeof *function);
    if (!function)
        return NULL;
    function->object =
        (struct sim_object){module->object.kind == SIM_LIBRARY ? SIM_KERNEL : SIM_FUNCTION,
                            module->object.context, close_function};
    function->name = strdup(name);
    if (!function->name || !sim_handle_add_locked(&function->object)) {
        free(function->name);
        free(function);
        return NULL;
    }
    function->module = module;
    function->most_dynamic_shared = STANDARD_DYNAMIC_SHARED;
    function->carveout = -1;
    function->next = module->functions;
    module->functions = function;
    return function;
}

/* An image, or the name of a file that has one: what is in it is of no interest. */
static CUresult load(enum sim_call call, CUmodule *out, const void *image, bool is_file)
{
    struct sim_context *context;
    CUresult status = sim_enter_unsafe(call, &context);
    struct sim_module *module;

    if (status != CUDA_SUCCESS)
        return status;
    if (!out || !image)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_file && access(image, R_OK) != 0)
        return CUDA_ERROR_FILE_NOT_FOUND;
    sim_lock();
    module = new_module(SIM_MODULE, context);
    sim_unlock();
    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUmodule)module;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
    return load(CALL_cuModuleLoad, module, fname, true);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    return load(CALL_cuModuleLoadData, module, image, false);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                            CUjit_option *options, void **optionValues)
{
    (void)numOptions;
    (void)options;
    (void)optionValues;
    return load(CALL_cuModuleLoadDataEx, module, image, false);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return load(CALL_cuModuleLoadFatBinary, module, fatCubin, false);
}

static CUresult unload_locked(const void *handle, enum sim_kind kind)
{
    struct sim_module *module = sim_handle_find_locked(handle, kind);

    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_handle_remove_locked(&module->object);
    close_module(&module->object);
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule hmod)
{
    struct sim_context *context;
    CUresult status = sim_enter_unsafe(CALL_cuModuleUnload, &context);

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    status = unload_locked(hmod, SIM_MODULE);
    sim_unlock();
    return status;
}

static CUresult get_function_locked(void **out, const void *handle, enum sim_kind kind,
                                    const char *name)
{
    struct sim_module *module = sim_handle_find_locked(handle, kind);
    struct sim_function *function;

    if (!out || !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    function = function_of(module, name);
    if (!function)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = function;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuModuleGetFunction, &context);

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    status = get_function_locked((void **)hfunc, hmod, SIM_MODULE, name);
    sim_unlock();
    return status;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    CUresult status = sim_enter_ready(CALL_cuModuleGetLoadingMode);

    if (status != CUDA_SUCCESS)
        return status;
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}

/* Libraries need no context. */
CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                           void **jitOptionsValues, unsigned int numJitOptions,
                           CUlibraryOption *libraryOptions, void **libraryOptionValues,
                           unsigned int numLibraryOptions)
{
    CUresult status = sim_enter_ready(CALL_cuLibraryLoadData);
    struct sim_module *module;

    (void)jitOptions;
    (void)jitOptionsValues;
    (void)numJitOptions;
    (void)libraryOptions;
    (void)libraryOptionValues;
    (void)numLibraryOptions;
    if (status != CUDA_SUCCESS)
        return status;
    if (!library || !code)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    module = new_module(SIM_LIBRARY, NULL);
    sim_unlock();
    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *library = (CUlibrary)module;
    return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary library)
{
    CUresult status = sim_enter_ready(CALL_cuLibraryUnload);

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    status = unload_locked(library, SIM_LIBRARY);
    sim_unlock();
    return status;
}

CUresult cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    CUresult status = sim_enter_ready(CALL_cuLibraryGetKernel);

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    status = get_function_locked((void **)pKernel, library, SIM_LIBRARY, name);
    sim_unlock();
    return status;
}

/* The library's module in `context`. One found there earlier may have ended with its context, and
 * its address may belong to another module since: only one that is live and of this context will
 * do. */
static struct sim_module *module_in(struct sim_module *library, struct sim_context *context)
{
    const struct sim_module *loaded = sim_handle_find_locked(library->loaded, SIM_MODULE);

    if (!loaded || loaded->object.context != context)
        library->loaded = new_module(SIM_MODULE, context);
    return library->loaded;
}

CUresult cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuLibraryGetModule, &context);
    struct sim_module *found, *module = NULL;

    if (status != CUDA_SUCCESS)
        return status;
    if (!pMod)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    found = sim_handle_find_locked(library, SIM_LIBRARY);
    if (found)
        module = module_in(found, context);
    sim_unlock();
    if (!module)
        return found ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_HANDLE;
    *pMod = (CUmodule)module;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuKernelGetFunction, &context);
    struct sim_function *found, *function = NULL;
    struct sim_module *module;

    if (status != CUDA_SUCCESS)
        return status;
    if (!pFunc)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    found = sim_handle_find_locked(kernel, SIM_KERNEL);
    if (found) {
        module = module_in(found->module, context);
        function = module ? function_of(module, found->name) : NULL;
    }
    sim_unlock();
    if (!function)
        return found ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_HANDLE;
    *pFunc = (CUfunction)function;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    CUresult status = sim_enter_ready(CALL_cuKernelGetLibrary);
    struct sim_function *found;

    if (status != CUDA_SUCCESS)
        return status;
    if (!pLib)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    found = sim_handle_find_locked(kernel, SIM_KERNEL);
    if (found)
        *pLib = (CUlibrary)found->module;
    sim_unlock();
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
