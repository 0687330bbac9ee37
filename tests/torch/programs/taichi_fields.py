# SPDX-License-Identifier: MIT
"""Taichi: a kernel over a field, and an array that is made and dropped each step. --seen: opened without RTLD_DEEPBIND."""
import os
import sys

if "--seen" in sys.argv:
    set_flags = sys.setdlopenflags
    sys.setdlopenflags = lambda flags: set_flags(flags & ~os.RTLD_DEEPBIND)

import taichi as ti

STEPS = 20


def main():
    ti.init(arch=ti.cuda, offline_cache=False)
    field = ti.field(ti.f32, shape=1 << 20)

    @ti.kernel
    def fill(value: ti.f32):
        for i in field:
            field[i] = value * i

    for step in range(STEPS):
        fill(step)
        scratch = ti.ndarray(ti.f32, shape=1 << 18)
        del scratch
    ti.sync()
    assert ti.lang.impl.current_cfg().arch == ti.cuda
    print("taichi_fields: done")


if __name__ == "__main__":
    main()
