# SPDX-License-Identifier: MIT
"""The steps of doors.cu in a Python process that opens libcudart by itself, with its names hidden from everybody else."""

import ctypes
import os

STEPS, BUFFERS = 40, 8
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2

runtime = ctypes.CDLL("libcudart.so.13", mode=os.RTLD_LOCAL | os.RTLD_NOW)
preload = ctypes.CDLL(None)
runtime.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
runtime.cudaFree.argtypes = [ctypes.c_void_p]
runtime.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def need(code):
    if code:
        raise SystemExit(f"error {code}")


def is_wrong(address, text):
    back = ctypes.create_string_buffer(len(text))
    need(runtime.cudaMemcpy(address, text, len(text), HOST_TO_DEVICE))
    need(runtime.cudaMemcpy(back, address, len(text), DEVICE_TO_HOST))
    return back.raw != text


wrong = 0
for step in range(STEPS):
    held = [ctypes.c_void_p() for _ in range(BUFFERS)]
    for i, address in enumerate(held):
        need(runtime.cudaMalloc(ctypes.byref(address), (i + 1) << 18))
    wrong += sum(is_wrong(address, f"step {step} buffer {i}".encode()) for i, address in enumerate(held))
    for address in held:
        need(runtime.cudaFree(address))
    if hasattr(preload, "shapecache_step"):
        preload.shapecache_step(-1)
print("requests", STEPS * BUFFERS, "calls")
print("wrong", wrong, "words")
