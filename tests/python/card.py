# SPDX-License-Identifier: MIT
"""Memory of the GPU, real or simulated, by ctypes: what a framework would do."""

import ctypes

MIB = 1 << 20

_runtime = ctypes.CDLL("libcudart.so.13")
_runtime.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
_runtime.cudaFree.argtypes = [ctypes.c_void_p]
_runtime.cudaStreamCreate.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
_runtime.cudaStreamBeginCapture.argtypes = [ctypes.c_void_p, ctypes.c_int]
_runtime.cudaStreamEndCapture.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]


def must(error):
    if error != 0:
        raise RuntimeError(f"CUDA error {error}")


class Block:
    """So many MiB, until free() or the garbage collector."""

    def __init__(self, mib):
        self.pointer = ctypes.c_void_p()
        must(_runtime.cudaMalloc(ctypes.byref(self.pointer), mib * MIB))

    def free(self):
        must(_runtime.cudaFree(self.pointer))
        self.pointer = None

    def __del__(self):
        if self.pointer:
            self.free()


def touch(*sizes):
    """Blocks of so many MiB, all at once, and none after."""
    blocks = [Block(mib) for mib in sizes]
    for block in reversed(blocks):
        block.free()


class Capture:
    """A stream capture that records nothing."""

    def __enter__(self):
        self.stream = ctypes.c_void_p()
        must(_runtime.cudaStreamCreate(ctypes.byref(self.stream)))
        must(_runtime.cudaStreamBeginCapture(self.stream, 2))  # relaxed

    def __exit__(self, *error):
        must(_runtime.cudaStreamEndCapture(self.stream, ctypes.byref(ctypes.c_void_p())))
