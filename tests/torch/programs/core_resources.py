# SPDX-License-Identifier: MIT
"""cuda.core: a program compiled at run time, a stream, an event, and buffers of its memory resources."""
import sys

from cuda.core import (Device, DeviceMemoryResource, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions,
                       launch)

CODE = 'extern "C" __global__ void scale(float *x, float by, int n) { int i = threadIdx.x; if (i < n) x[i] *= by; }'


def main():
    device = Device()
    device.set_current()
    stream = device.create_stream()
    kernel = Program(CODE, "c++", ProgramOptions(arch=f"sm_{device.arch}")).compile("cubin").get_kernel("scale")
    pinned = LegacyPinnedMemoryResource()
    pooled = DeviceMemoryResource(device) if "--pool" in sys.argv else device.memory_resource
    for step in range(6):
        buffer, host = pooled.allocate(1 << 20, stream=stream), pinned.allocate(1 << 20)
        launch(stream, LaunchConfig(grid=1, block=256), kernel, buffer, 2.0, 256)
        host.copy_from(buffer, stream=stream)
        stream.record().sync()
        buffer.close(stream)
        host.close()
    stream.sync()
    print("core_resources: done")


if __name__ == "__main__":
    main()
