# SPDX-License-Identifier: MIT
"""PyCUDA: a module compiled by nvcc, device and pinned memory, and a pool of its own."""
import numpy as np
import pycuda.autoinit  # noqa: F401  makes a context, and ends it
import pycuda.driver as cuda
from pycuda.compiler import SourceModule
from pycuda.tools import DeviceMemoryPool

CODE = "__global__ void twice(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }"


def main():
    twice = SourceModule(CODE).get_function("twice")
    stream = cuda.Stream()
    host = cuda.pagelocked_zeros(4096, np.float32)
    for step in range(6):
        memory = cuda.mem_alloc(host.nbytes + 4096 * (step % 2))
        cuda.memcpy_htod_async(memory, host, stream)
        twice(memory, np.int32(4096), block=(256, 1, 1), stream=stream)
        cuda.memcpy_dtoh_async(host, memory, stream)
        stream.synchronize()
        memory.free()
    pool = DeviceMemoryPool()
    held = [pool.allocate(1 << 20) for _ in range(3)]
    del held
    pool.free_held()
    assert sum(cuda.mem_get_info()) > 0
    print("pycuda_arrays: done")


if __name__ == "__main__":
    main()
