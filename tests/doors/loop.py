#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What loop.c does, by ctypes: loop.py LIBRARY,... HOW STEPS BYTES...

Each LIBRARY is opened as Python does by default, RTLD_LOCAL, and a step's requests go to them in turn. HOW: "own", by the
library's own handle, or "global", by the process's names, where no libcudart is, only what is preloaded."""

import ctypes
import sys


def opened(name, how):
    library = ctypes.CDLL(name, mode=ctypes.RTLD_LOCAL)
    names = library if how == "own" else ctypes.CDLL(None)
    for function, types in (("cudaMalloc", [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]), ("cudaFree", [ctypes.c_void_p])):
        getattr(names, function).argtypes = types
    library.cudaMemset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    return library, names


def must(error, what):
    if error != 0:
        sys.exit(f"loop.py: {what}: {error}")


def main():
    libraries = [opened(name, sys.argv[2]) for name in sys.argv[1].split(",")]
    for step in range(int(sys.argv[3]), 0, -1):
        held = []
        for i, size in enumerate(map(int, sys.argv[4:])):
            library, names = libraries[i % len(libraries)]
            pointer = ctypes.c_void_p()
            must(names.cudaMalloc(ctypes.byref(pointer), size), "cudaMalloc")
            must(library.cudaMemset(pointer, step % 256, size), "cudaMemset")
            held.append((names, pointer))
        for names, pointer in reversed(held):
            must(names.cudaFree(pointer), "cudaFree")
    version = ctypes.c_int()
    must(libraries[0][0].cudaRuntimeGetVersion(ctypes.byref(version)), "cudaRuntimeGetVersion")
    print("version", version.value)


main()
