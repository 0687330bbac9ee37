// SPDX-License-Identifier: MIT
// torch.cpp - the functions that PyTorch's CUDAPluggableAllocator takes, in a library of their own:
// PyTorch expects an exception where memory runs out, and libshapecache.so needs no C++.
//
// They ask libcudart, and thereby the cache that is preloaded. PyTorch says which stream a block is
// for; a cached free waits for the whole device before the block is handed out again, so that
// neither that stream nor the others it records matters to safety. PyTorch wants the function for
// them nevertheless: without one it drops what it is told.
//
// Thread-safe; the only state is the functions, looked up once.
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <typeinfo>

namespace __cxxabiv1
{
extern "C" void *__cxa_allocate_exception(std::size_t) noexcept;
extern "C" [[noreturn]] void __cxa_throw(void *, std::type_info *, void (*)(void *));
} // namespace __cxxabiv1

namespace
{

using stream = struct CUstream_st *;

constexpr int success = 0, out_of_memory = 2;

struct runtime {
    int (*malloc)(void **, std::size_t);
    int (*free)(void *);
    int (*get_device)(int *);
    int (*set_device)(int);
    int (*last_error)();
    int (*mem_info)(std::size_t *, std::size_t *);
};

template <typename function> void look_up(function &out, const char *name)
{
    out = reinterpret_cast<function>(dlsym(RTLD_DEFAULT, name));
    if (out == nullptr)
        throw std::runtime_error(std::string("shapecache: no ") + name + " in this process");
}

const runtime &cuda()
{
    static const runtime found = [] {
        runtime made;

        look_up(made.malloc, "cudaMalloc");
        look_up(made.free, "cudaFree");
        look_up(made.get_device, "cudaGetDevice");
        look_up(made.set_device, "cudaSetDevice");
        look_up(made.last_error, "cudaGetLastError");
        look_up(made.mem_info, "cudaMemGetInfo");
        return made;
    }();

    return found;
}

// The device of a call, and back.
class on_device
{
  public:
    explicit on_device(int device)
    {
        if (cuda().get_device(&before) != success || before == device)
            before = device;
        else
            cuda().set_device(device);
        now = device;
    }
    ~on_device()
    {
        if (before != now)
            cuda().set_device(before);
    }
    on_device(const on_device &) = delete;
    on_device &operator=(const on_device &) = delete;

  private:
    int before = 0, now = 0;
};

// What is thrown where PyTorch's own exception cannot be made.
class no_memory : public std::bad_alloc
{
  public:
    explicit no_memory(const std::string &text) : said(text)
    {
    }
    const char *what() const noexcept override
    {
        return said.c_str();
    }

  private:
    std::string said;
};

// As c10 declares it: the place that an error names.
struct source_location {
    const char *function, *file;
    std::uint32_t line;
};

void destroy(void *thrown)
{
    static_cast<std::exception *>(thrown)->~exception(); // virtual
}

// torch.OutOfMemoryError is made of c10::OutOfMemoryError and of nothing else. Its constructor is
// called by name, on more room than it takes; its layout is not assumed, but that it begins as a
// std::exception.
void throw_as_torch(const std::string &text)
{
    void *const c10 = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);

    if (c10 == nullptr)
        return;
    void *const made = dlsym(c10, "_ZN3c1016OutOfMemoryErrorC1ENS_14SourceLocationENSt7__"
                                  "cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
    void *const type = dlsym(c10, "_ZTIN3c1016OutOfMemoryErrorE");

    if (made == nullptr || type == nullptr)
        return;
    constexpr std::size_t room = 4096;
    void *const thrown = __cxxabiv1::__cxa_allocate_exception(room);

    reinterpret_cast<void (*)(void *, source_location, std::string)>(made)(
        thrown, {__func__, "shapecache", 0}, text);
    __cxxabiv1::__cxa_throw(thrown, static_cast<std::type_info *>(type), destroy);
}

[[noreturn]] void throw_no_memory(std::size_t bytes, int device)
{
    std::size_t free_bytes = 0, total = 0;
    char text[256];
    constexpr double mib = 1 << 20;

    cuda().last_error(); // PyTorch would take it for a later call's
    cuda().mem_info(&free_bytes, &total);
    std::snprintf(
        text, sizeof text,
        "CUDA out of memory. Tried to allocate %.2f MiB. GPU %d has %.2f MiB free of %.2f MiB.",
        static_cast<double>(bytes) / mib, device, static_cast<double>(free_bytes) / mib,
        static_cast<double>(total) / mib);
    throw_as_torch(text);
    throw no_memory(text);
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void *shapecache_torch_malloc(ssize_t bytes, int device, stream)
{
    void *address = nullptr;

    if (bytes <= 0)
        return nullptr;
    on_device here(device);
    const int result = cuda().malloc(&address, static_cast<std::size_t>(bytes));

    if (result == out_of_memory)
        throw_no_memory(static_cast<std::size_t>(bytes), device);
    if (result != success)
        throw std::runtime_error("shapecache: cudaMalloc answers " + std::to_string(result));
    return address;
}

EXPORT void shapecache_torch_free(void *address, ssize_t, int device, stream)
{
    if (address == nullptr)
        return;
    on_device here(device);

    cuda().free(address);
}

EXPORT void shapecache_torch_record_stream(void *, stream)
{
}
