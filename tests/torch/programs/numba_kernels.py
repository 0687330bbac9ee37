# SPDX-License-Identifier: MIT
"""numba-cuda: kernels compiled from Python, arrays that come and go, streams and pinned memory."""
import numpy as np
from numba import cuda


@cuda.jit
def add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


def main():
    stream = cuda.stream()
    for step in range(6):
        size = 100_000 + 1000 * (step % 2)
        a, b = cuda.to_device(np.ones(size, np.float32)), cuda.to_device(np.ones(size, np.float32))
        out = cuda.device_array(size, np.float32)
        add[(size + 255) // 256, 256](a, b, out)
        with cuda.pinned(host := np.zeros(size, np.float32)):
            out.copy_to_host(host, stream=stream)
            stream.synchronize()
    assert cuda.current_context().get_memory_info().total > 0
    cuda.synchronize()
    print("numba_kernels: done")


if __name__ == "__main__":
    main()
