#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adding to and drawing from an error buffer in Python: a Ring, and the way it replaces, a list of tensors for each bucket.

That way copies each entry to the host, drops the oldest from the front of a list, stacks a whole bucket to find the nearest,
lists all entries before one of them is drawn, and multiplies into a new tensor. With PyTorch where it is installed, else with
numpy, else not at all. Both do the same in turn; a figure is the median of many turns."""

import argparse
import pathlib
import random
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "hooks/python"))
from shapecache import Ring  # noqa: E402

BUCKETS, CAPACITY = 10, 50


class Torch:
    def __init__(self):
        import torch
        torch.set_num_threads(1)  # a ring uses one
        self.torch, self.name = torch, f"PyTorch {torch.__version__}"

    def new(self, shape):
        return self.torch.randn(shape)

    def copy(self, item):
        return item.detach().to("cpu", copy=True)

    def nearest(self, entries, item):
        stacked = self.torch.stack(entries)
        return int((stacked - item).flatten(1).norm(dim=1).argmin())


class Numpy:
    def __init__(self):
        import numpy
        self.numpy, self.name = numpy, f"numpy {numpy.__version__}"

    def new(self, shape):
        return self.numpy.random.standard_normal(shape).astype("float32")

    def copy(self, item):
        return item.copy()

    def nearest(self, entries, item):
        apart = (self.numpy.stack(entries) - item).reshape(len(entries), -1)
        return int((apart * apart).sum(axis=1).argmin())


class Lists:
    """The way of lists."""

    def __init__(self, library, replacement):
        self.library, self.replacement = library, replacement
        self.buckets = [[] for _ in range(BUCKETS)]

    def add(self, item, bucket):
        entries = self.buckets[bucket]
        if len(entries) < CAPACITY:
            entries.append(self.library.copy(item))
        elif self.replacement == "fifo":
            entries.pop(0)
            entries.append(self.library.copy(item))
        elif self.replacement == "nearest":
            entries[self.library.nearest(entries, item)] = self.library.copy(item)
        else:
            entries[random.randrange(CAPACITY)] = self.library.copy(item)

    def sample(self, bucket=None):
        entries = self.buckets[bucket] if bucket is not None else [e for entries in self.buckets for e in entries]
        return random.choice(entries) * random.uniform(0.7, 1.3) if entries else None


def measure(name, size, turns, first, second):
    """One row: the median of both in ns."""
    times = ([], [])
    for turn in range(turns):
        for at, work in enumerate((first, second)):
            began = time.perf_counter_ns()
            work(turn % BUCKETS)
            times[at].append(time.perf_counter_ns() - began)
    old, ours = map(statistics.median, times)
    print(f"{name:<16} {size:>10} {old:>12.0f} {ours:>12.0f} {old / ours:>7.2f} x", flush=True)


def run(library, shape, turns):
    item = library.new(shape)
    for replacement in ("random", "fifo", "nearest"):
        lists = Lists(library, replacement)
        with Ring(shape, buckets=BUCKETS, timesteps=BUCKETS, capacity=CAPACITY, replacement=replacement, quiet=True) as ring:
            for turn in range(BUCKETS * CAPACITY):  # full: from now on every add replaces
                fresh = library.new(shape) if turn < 20 else item
                lists.add(fresh, turn % BUCKETS)
                ring.add(fresh, turn % BUCKETS)
            size = ring.stats()["entry_bytes"]
            measure("add " + replacement, size, turns // 10 if replacement == "nearest" else turns,
                    lambda bucket: lists.add(item, bucket), lambda bucket: ring.add(item, bucket))
            if replacement == "random":
                measure("sample bucket", size, turns, lists.sample, ring.sample)
                measure("sample any", size, turns, lambda _: lists.sample(), lambda _: ring.sample())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--with", dest="library", choices=("torch", "numpy"), help="instead of what is installed")
    parser.add_argument("--quick", action="store_true", help="small entries only, a few times")
    options = parser.parse_args()
    for found in {"torch": [Torch], "numpy": [Numpy], None: [Torch, Numpy]}[options.library]:
        try:
            library = found()
            break
        except ImportError:
            continue
    else:
        sys.exit("rings.py: neither PyTorch nor numpy is installed; build/bench/rings measures without them")
    print(library.name)
    print(f"{'operation':<16} {'bytes':>10} {'lists ns':>12} {'ring ns':>12} {'ratio':>9}")
    run(library, (64,), 20 if options.quick else 2000)
    if not options.quick:
        run(library, (8, 2048), 1000)
        run(library, (8, 48, 44, 40), 100)


main()
