#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole programs with and without the cache, on the simulated GPU: test_whole.py LIBRARY PROGRAM SIM"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "support"))
import logs  # noqa: E402

LIBRARY, PROGRAM, SIM = sys.argv[1:4]


def run(name, **settings):
    """Output, the log's records, and the simulator's report."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SHAPECACHE", "SIMCUDA"))}
    with tempfile.TemporaryDirectory() as folder:
        log, report = pathlib.Path(folder, "log.jsonl"), pathlib.Path(folder, "report.json")
        done = subprocess.run([PROGRAM, name], cwd=folder, timeout=120, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**kept, "LD_LIBRARY_PATH": SIM, "SIMCUDA_REPORT": str(report),
                                   "SHAPECACHE_LOG": str(log), "SHAPECACHE_LOG_LEVEL": "event", **settings})
        if done.returncode != 0:
            raise AssertionError(f"{name} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        records = logs.read(log)
        return done.stdout, records, json.loads(report.read_text())


class Whole(unittest.TestCase):
    def both(self, name, **settings):
        """The program as it is and under the cache, which changes nothing it can see."""
        output, _, report = run(name, **settings)
        cached, records, seen = run(name, LD_PRELOAD=LIBRARY, **settings)
        self.assertTrue(output.endswith("done\n"))
        self.assertNotIn("not usable", output)
        self.assertEqual(cached, output)
        self.assertEqual(seen["violations"], report["violations"])
        self.assertFalse([record for record in records if record["ev"] == "warn"])
        end = next(record for record in records if record["ev"] == "end")
        self.assertGreater(end["hits"], 0)
        self.assertIn("fixed", {record["to"] for record in records if record["ev"] == "phase"})
        return output, report, records, end

    def test_a_capture_goes_on_while_another_thread_allocates(self):
        for name in ("capture-thread-local", "capture-thread-local-blocking", "capture-relaxed"):
            with self.subTest(program=name):
                output, report, _, end = self.both(name)
                self.assertEqual(report["violations"], {})
                self.assertEqual(output.count("end: CUDA_SUCCESS"), 3)
                self.assertEqual(output.count("the graph wrote 43"), 3)
                self.assertEqual(output.count("other thread: CUDA_SUCCESS"), 12)
                self.assertGreaterEqual(end["bypassed"], 3 * 12)  # what was asked for during the captures

    def test_a_capture_that_forbids_allocating_is_as_strict_as_before(self):
        output, report, _, _ = self.both("capture-global")
        self.assertEqual(report["violations"], {"capture": 3})
        self.assertIn("other thread: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", output)
        self.assertEqual(output.count("end: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"), 3)

    def test_a_thread_may_allocate_inside_its_own_relaxed_capture(self):
        output, report, _, _ = self.both("capture-own")
        self.assertEqual(report["violations"], {})
        self.assertEqual(output.count("allocate: CUDA_SUCCESS"), 3)
        self.assertEqual(output.count("the graph wrote 42"), 3)

    def test_no_buffer_outlives_its_context(self):
        for name in ("contexts", "resets"):
            with self.subTest(program=name):
                output, report, _, _ = self.both(name)
                self.assertEqual(report["violations"], {})
                self.assertIn("free of what went with its context: CUDA_ERROR_INVALID_VALUE", output)

    def test_a_free_needs_no_context_of_its_own(self):
        output, report, _, end = self.both("frees")
        self.assertEqual(report["violations"], {})
        self.assertEqual(output.count("second free: CUDA_ERROR_INVALID_VALUE"), 8)
        self.assertEqual(output.count("a thread without a context has none still"), 4)
        self.assertEqual(output.count("the current context is the same"), 4)
        self.assertGreater(end["hits"], end["requests"] // 2)

    def test_what_is_idle_is_there_for_other_allocators_of_the_driver(self):
        output, report, records, _ = self.both("others", SIMCUDA_MEMORY="8MiB")
        self.assertEqual(report["violations"], {})
        self.assertEqual(output.count("6 MiB of 8: CUDA_SUCCESS"), 3)
        self.assertEqual(output.count("10 MiB of 8: CUDA_ERROR_OUT_OF_MEMORY"), 3)
        given = [record for record in records if record["ev"] == "phase" and record["reason"] == "oom"]
        self.assertGreaterEqual(len(given), 3)
        self.assertTrue(all(record["to"] == "fallback" for record in given))


unittest.main(argv=sys.argv[:1], verbosity=2)
