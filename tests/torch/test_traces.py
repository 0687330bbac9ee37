#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings of PyTorch programs: what `shapecache export --to trace` makes of a log at level event is what the simulator
saw, call by call, and those in bench/traces are what their programs still do."""

import argparse
import csv
import lzma
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import views

TRACES = views.HERE.parents[1] / "bench/traces"
ARGS = None


class Recording:
    """One run of a program in the view of tensors: its trace, and the simulator's samples."""

    def __init__(self, program, arguments):
        with tempfile.TemporaryDirectory(prefix="shapecache-trace-") as name:
            folder = pathlib.Path(name)
            log, samples, trace = folder / "log.jsonl", folder / "samples.csv", folder / "one.trace"
            views.run(ARGS.build, ARGS.python, program, arguments, SHAPECACHE_LOG=str(log), SHAPECACHE_LOG_LEVEL="event",
                      SIMCUDA_SAMPLES=str(samples))
            subprocess.run([str(ARGS.build / "shapecache"), "export", "--to", "trace", "--out", str(trace), str(log)], check=True)
            self.lines = trace.read_text().splitlines()
            with samples.open() as file:
                self.seen = [(row["op"], int(row["bytes"])) for row in csv.DictReader(file) if int(row["bytes"])]


def calls(lines):
    sizes = {}
    for kind, block, *size in (line.split() for line in lines if not line.startswith("#")):
        if kind == "a":
            sizes[block] = int(*size)
        yield ("malloc" if kind == "a" else "free", sizes[block])


def committed(name):
    return lzma.decompress((TRACES / f"{name}.trace.xz").read_bytes()).decode().splitlines()


class Traces(unittest.TestCase):
    def test_a_trace_is_what_the_simulator_saw(self):
        for program, arguments in ("gpt", "--steps 6 --lengths random"), ("lstm", "--steps 2"), ("resnet", "--steps 4"):
            with self.subTest(program=program):
                one = Recording(program, arguments)
                self.assertGreater(len(one.seen), 300)
                self.assertEqual(list(calls(one.lines)), one.seen)

    def test_a_step_of_a_trace_is_the_optimizers(self):
        marks = [line for line in Recording("gpt", "--steps 5").lines if line.startswith("# step ")]
        self.assertEqual(marks, [f"# step {i}" for i in range(7)])  # before the optimizer, 5, and the program's end

    def test_the_recordings_are_what_their_programs_do(self):
        page = (TRACES / "README.md").read_text().replace("\\\n", "")
        commands = re.findall(r"^shapecache run --sim --torch -- \S+ tests/torch/programs/(\w+)\.py (.*)$", page, re.M)
        names = re.findall(r"^\| `(torch-[\w-]+)\.trace`", page, re.M)
        self.assertEqual(len(commands), len(names))
        self.assertGreaterEqual(len(names), 3)
        for name, (program, arguments) in zip(names, commands):
            with self.subTest(name=name):
                # autocast drops what it has cast in the order of a hash of addresses: frees may change places
                now, then = (list(calls(lines)) for lines in (Recording(program, arguments).lines, committed(name)))
                self.assertEqual([size for kind, size in now if kind == "malloc"], [size for kind, size in then if kind == "malloc"])
                self.assertEqual(sorted(now), sorted(then))


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--python", type=pathlib.Path, default=pathlib.Path("build/torch/bin/python"))
    parser.add_argument("names", nargs="*", help="as unittest takes them: Traces.test_...")
    ARGS = parser.parse_args()
    ARGS.build, ARGS.python = ARGS.build.resolve(), ARGS.python.absolute()
    unittest.main(argv=[sys.argv[0], *ARGS.names], verbosity=2)


if __name__ == "__main__":
    main()
