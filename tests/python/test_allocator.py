#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an allocator above the cache says of itself, in a process with the cache: shapecache run [--sim] -- test_allocator.py. The
allocator is a PyTorch of a few lines, which runs out of memory when it is told to."""

import atexit
import os
import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

import shapecache
from card import MIB, touch
from shapecache import allocator


class Torch:
    """As much of it as is asked."""

    def __init__(self, expandable=False, broken=False):
        self.observers, self.waiting = [], []
        stats = {"reserved_bytes.all.current": 40 * MIB, "allocated_bytes.all.current": 12 * MIB,
                 "reserved_bytes.all.peak": 41 * MIB, "allocated_bytes.all.peak": 39 * MIB}

        def memory_stats(_):
            if broken:
                raise RuntimeError("no figures")
            return stats

        snapshot = {"allocator_settings": {"expandable_segments": expandable}}
        self._C = types.SimpleNamespace(_cuda_attach_out_of_memory_observer=self.observers.append)
        self.cuda = types.SimpleNamespace(memory_stats=memory_stats, memory=types.SimpleNamespace(_snapshot=lambda: snapshot),
                                          is_initialized=lambda: True, device_count=lambda: 1, _lazy_call=self.waiting.append)

    def start(self):
        for call in self.waiting:
            call()

    def run_out(self):
        (observer,) = self.observers
        observer(0, 30 * MIB, 64 * MIB, 2 * MIB)


def records():
    touch(4)
    shapecache.step()
    return [record for record in logs.read(os.environ["SHAPECACHE_LOG"]) if record["ev"] == "allocator"]


class Allocator(unittest.TestCase):
    def setUp(self):
        touch(4)
        self.said = []
        self.before = len(records())
        self.addCleanup(setattr, atexit, "register", atexit.register)
        self.ends = []
        atexit.register = self.ends.append

    def new(self):
        return records()[self.before:]

    def test_nothing_is_attached_before_cuda_is_in_use(self):
        torch = Torch()
        allocator.watch(torch, self.said.append)
        self.assertEqual(torch.observers, [])
        torch.start()
        self.assertEqual(len(torch.observers), 1)

    def test_where_it_gives_up_its_figures_are_in_the_log(self):
        torch = Torch()
        allocator.watch(torch, self.said.append)
        torch.start()
        torch.run_out()
        (record,) = self.new()
        self.assertEqual([record[name] for name in ("what", "reserved", "allocated", "reserved_peak", "allocated_peak", "expandable")],
                         ["oom", 40 * MIB, 12 * MIB, 41 * MIB, 39 * MIB, 0])
        self.assertEqual(self.said, [])

    def test_at_the_end_they_are_there_again(self):
        torch = Torch(expandable=True)
        allocator.watch(torch, self.said.append)
        torch.start()
        (end,) = self.ends
        end()
        (record,) = self.new()
        self.assertEqual((record["what"], record["expandable"]), ("end", 1))

    def test_figures_that_cannot_be_had_are_no_reason_to_fail(self):
        torch = Torch(broken=True)
        allocator.watch(torch, self.said.append)
        torch.start()
        torch.run_out()
        self.assertEqual(self.new(), [])
        self.assertEqual(self.said, ["PyTorch's allocator could not be asked: RuntimeError: no figures"])

    def test_a_pytorch_without_that_observer_is_asked_at_its_end(self):
        torch = Torch()
        del torch._C._cuda_attach_out_of_memory_observer
        allocator.watch(torch, self.said.append)
        torch.start()
        self.assertEqual((len(self.ends), self.said), (1, []))


if __name__ == "__main__":
    unittest.main()
