#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A library named as PyTorch's allocator is: what it asks for passes, unless it is told not to keep it:
test_segments.py LIBRARY SIM C10."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

LIBRARY, SIM, C10 = sys.argv[1:4]
MIB = 1 << 20
PROGRAM = f"""
import ctypes, sys
cudart = ctypes.CDLL("libcudart.so.13", mode=ctypes.RTLD_GLOBAL)
c10 = ctypes.CDLL({C10!r})
names = ctypes.CDLL(None)
for call in (c10.c10_segment, names.cudaMalloc):
    call.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
for call in (c10.c10_give_back, names.cudaFree):
    call.argtypes = [ctypes.c_void_p]

def ask(call, size):
    pointer = ctypes.c_void_p()
    assert call(ctypes.byref(pointer), size) == 0
    return pointer

segments = []
for step in range(10):
    segments.append(ask(c10.c10_segment, (2 + step) << 20))
    names.cudaFree(ask(names.cudaMalloc, 3 << 20))
    names.shapecache_step(-1)
for segment in segments:
    c10.c10_give_back(segment)
free, total = ctypes.c_size_t(), ctypes.c_size_t()
cudart.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
print((total.value - free.value) >> 20)
"""


def run(**settings):
    """MiB in use at last, the end of the log, and stderr."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SHAPECACHE", "SIMCUDA", "LD_", "PYTORCH"))}
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, timeout=60, check=False,
                              env=kept | {"LD_PRELOAD": LIBRARY, "LD_LIBRARY_PATH": SIM, "SHAPECACHE_LOG": str(log)} | settings)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        records = logs.read(log)
        (end,) = [record for record in records if record["ev"] == "end"]
        return int(done.stdout), end, done.stderr


class Segments(unittest.TestCase):
    def test_they_pass_and_are_given_back_while_others_are_cached(self):
        in_use, end, said = run()
        self.assertEqual(in_use, 4)  # the idle block of 3 MiB, in its pages
        self.assertEqual((end["shapes"], end["phase"], end["requests"]), (1, "fixed", 20))
        self.assertGreaterEqual(end["hits"], 5)
        self.assertEqual(said.count("libc10_cuda.so+0x"), 1)

    def test_all_makes_them_shapes_like_any_other(self):
        _, end, said = run(SHAPECACHE="all")
        self.assertEqual((end["shapes"], end["phase"]), (10, "warmup"))  # 3 MiB is one of theirs, too
        self.assertNotIn("libc10_cuda", said)

    def test_without_its_cache_what_it_asks_for_is_cached(self):
        _, end, said = run(PYTORCH_NO_CUDA_MEMORY_CACHING="1")
        self.assertEqual(end["shapes"], 10)
        self.assertNotIn("libc10_cuda", said)


unittest.main(argv=sys.argv[:1])
