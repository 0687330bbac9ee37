#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One and the same loop through every libcudart a program may have, under the cache: test_doors.py BUILD.

Whatever brings libcudart into the process, each request is to be served as in any other, and counted once. The witness is
the simulated libcudart's own count of calls."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
SIM = BUILD / "sim"
LOOP = pathlib.Path(__file__).with_name("loop.py")
STEPS = 40
SHAPES = [3 << 20, 64 << 10, 5 << 20, 3 << 20, 1 << 20, 200 << 10, 8 << 20, 64 << 10]
SAME = ("requests", "hits", "misses", "bypassed", "evicted", "driver_allocs", "driver_frees", "live_peak", "held_peak", "steps", "steps_fixed")


def added_up(pairs):
    """Two libcudart in one process each report their calls."""
    sums = {}
    for name, value in pairs:
        sums[name] = sums[name] + value if isinstance(value, int) and name in sums else value
    return sums


def run(command, *, preload=True, wrap=()):
    """Output, the log's records, and the simulator's report."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SHAPECACHE", "SIMCUDA", "LD_PRELOAD"))}
    with tempfile.TemporaryDirectory() as folder:
        log, report = pathlib.Path(folder, "log.jsonl"), pathlib.Path(folder, "report.json")
        settings = {"LD_LIBRARY_PATH": str(SIM), "SIMCUDA_REPORT": str(report), "SHAPECACHE_LOG": str(log)}
        if preload and not wrap:
            settings["LD_PRELOAD"] = str(BUILD / "libshapecache.so")
        done = subprocess.run([*wrap, *map(str, command), str(STEPS), *map(str, SHAPES)], cwd=folder, timeout=120, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, env={**kept, **settings}, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        records = logs.read(log)
        return done.stdout, records, json.loads(report.read_text(), object_pairs_hook=added_up)


def end_of(records):
    (end,) = [record for record in records if record["ev"] == "end"]
    return end


def python(libraries, how="own"):
    return [sys.executable, LOOP, libraries, how]


class Doors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected = end_of(run([BUILD / "tests/doors/loop-13"])[1])

    def served_alike(self, command, version, **options):
        output, records, report = run(command, **options)
        end = end_of(records)
        self.assertEqual(output, f"version {version}\n")
        self.assertEqual({name: end[name] for name in SAME}, {name: self.expected[name] for name in SAME})
        self.assertEqual(report["calls"]["cudaMalloc"], end["requests"])
        self.assertEqual(report["calls"]["cuMemAlloc_v2"], end["driver_allocs"])
        self.assertEqual([record for record in records if record["ev"] == "warn"], [])
        return end

    def test_the_loop_is_one_that_the_cache_serves(self):
        self.assertEqual(self.expected["requests"], STEPS * len(SHAPES))
        self.assertGreater(self.expected["hits"], self.expected["requests"] * 3 // 4)
        self.assertIn("runtime", self.expected["doors"])
        self.assertEqual(run([BUILD / "tests/doors/loop-13"], preload=False)[1], [])

    def test_a_shared_libcudart_of_each_version_is_served_alike(self):
        for suffix, version in (("11", 11080), ("12", 12090), ("13", 13000)):
            with self.subTest(version=version):
                end = self.served_alike([BUILD / f"tests/doors/loop-{suffix}"], version)
                self.assertIn("runtime", end["doors"])

    def test_a_static_libcudart_is_served_alike_without_the_runtime_layer(self):
        end = self.served_alike([BUILD / "tests/doors/loop-static"], 13000)
        self.assertNotIn("runtime", end["doors"])

    def test_a_library_that_python_opened_for_itself_is_served_alike(self):
        for suffix, version in (("11.0", 11080), ("12", 12090), ("13", 13000)):
            for name in (f"libcudart.so.{suffix}", str(SIM / f"libcudart.so.{suffix}")):
                with self.subTest(name=name):
                    self.served_alike(python(name), version)

    def test_a_call_by_the_process_wide_name_finds_a_library_opened_locally(self):
        end = self.served_alike(python("libcudart.so.13", "global"), 13000)
        self.assertIn("runtime", end["doors"])

    def test_two_versions_in_one_process_are_served_as_one_program(self):
        self.served_alike(python("libcudart.so.12,libcudart.so.13"), 12090)

    def test_run_takes_programs_of_every_kind_to_the_simulator(self):
        for command, version in (([BUILD / "tests/doors/loop-static"], 13000), ([BUILD / "tests/doors/loop-13"], 13000),
                                 ([BUILD / "tests/doors/loop-12"], 12090), ([BUILD / "tests/doors/loop-11"], 11080),
                                 (python("libcudart.so.13"), 13000)):
            with self.subTest(command=command):
                self.served_alike(command, version, wrap=(str(BUILD / "shapecache"), "run", "--sim", "--"))

    def test_a_program_reaches_one_libcudart_with_all_its_calls(self):
        report = run([BUILD / "tests/doors/loop-11"], wrap=(str(BUILD / "shapecache"), "run", "--sim", "--"))[2]
        self.assertNotIn("cuGetProcAddress_v2", report["calls"])  # by which a 13 that was asked for something binds


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
