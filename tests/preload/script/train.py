# SPDX-License-Identifier: MIT
"""A training script that allocates by ctypes, which gives the interpreter's lock away as PyTorch does."""

import ctypes
import os
import sys
import threading

cudart = ctypes.CDLL("libcudart.so.13")
cudart.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
cudart.cudaFree.argtypes = [ctypes.c_void_p]
names = ctypes.CDLL(None)
names.cudaMalloc.argtypes = cudart.cudaMalloc.argtypes
step = names.shapecache_step
MIB = 1 << 20


def new(size):
    pointer = ctypes.c_void_p()
    return names.cudaMalloc(ctypes.byref(pointer), size), pointer  # LINE new


def batch(sizes):
    for pointer in [new(size)[1] for size in sizes]:
        cudart.cudaFree(pointer)
    step(-1)


def generated(size):
    yield new(size)


def wait_for(target):
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()


def foreign_thread(size):
    """One that never runs a line of Python, as those of a framework's backward pass."""
    room = ctypes.CDLL(sys.argv[1])
    room.start.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    room.start(ctypes.cast(names.cudaMalloc, ctypes.c_void_p), size)  # LINE foreign


for _ in range(6):
    batch([3 * MIB, 4 * MIB])
exec(compile("new(5 * MIB)", "/elsewhere/site-packages/torch/nn/linear.py", "exec"))  # LINE torch
exec(compile("\n\n\nnew(6 * MIB)", "/elsewhere/site-packages/model/layer.py", "exec"))
list(generated(7 * MIB))
wait_for(lambda: new(8 * MIB))
foreign_thread(9 * MIB)
exec(compile("new(10 * MIB)", os.path.join(os.getcwd(), "caf\u00e9 \u8f66.py"), "exec"))
print(new(1 << 40)[0])
