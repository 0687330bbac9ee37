#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How a real program ends under the cache: with its own words and status, and what is said of it adds up. test_ending.py BUILD"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

BUILD = None
LEAK = ("--leak", "2000000", "--steps", "60")
DEVICE = re.compile(r"device +(\d+) MiB = (\d+) live \+ (\d+) idle \+ (\d+) other \+ (\d+) free; (\d+) MiB short")
OURS = re.compile(r"^shapecache\[\d+\] ")


class Run:
    """A run of the training program on a small device. `own`: what it said itself, `ours`: the lines about it."""

    def __init__(self, folder, *arguments, preloaded=True, memory="128MiB", sim=(), until=None, **settings):
        build = BUILD
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SHAPECACHE", "SIMCUDA_", "LD_"))}
        kept |= {"SIMCUDA_MEMORY": memory, "LD_LIBRARY_PATH": str(build / "sim"), "SHAPECACHE_LOG": "log.jsonl"}
        kept |= {"SHAPECACHE_" + name: value for name, value in settings.items()}
        kept |= {"SIMCUDA_" + name: value for name, value in dict(sim).items()}
        before = [str(build / "shapecache"), "run", "--sim", "--"] if preloaded else []
        self.folder = folder
        process = subprocess.Popen([*before, str(build / "tests/programs/train"), *arguments], cwd=folder, env=kept, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = ""
        if until:
            first = process.stdout.readline()
            process.send_signal(until)
        out, err = process.communicate(timeout=120)
        self.status, self.stdout = process.returncode, first + out
        self.own = [line for line in err.splitlines() if not OURS.match(line)]
        self.ours = [OURS.sub("", line) for line in err.splitlines() if OURS.match(line)]

    def steps(self):
        """Number, length and loss of each; the pointers may differ."""
        return [line.split(" bits ")[0] for line in self.stdout.splitlines() if line.startswith("step ")]

    def records(self, kind):
        with (self.folder / "log.jsonl").open() as log:
            return [record for record in map(json.loads, log) if record["ev"] == kind]

    def tool(self, *arguments):
        return subprocess.run([str(BUILD / "shapecache"), *arguments], cwd=self.folder, capture_output=True, text=True, check=False)


class Ending(unittest.TestCase):
    def setUp(self):
        self._scratch = tempfile.TemporaryDirectory(prefix="shapecache-ending-")
        self.addCleanup(self._scratch.cleanup)
        self.folder = pathlib.Path(self._scratch.name)

    def test_a_program_that_runs_out_of_memory_ends_as_it_would_without_us(self):
        plain = Run(self.folder, *LEAK, preloaded=False)
        ours = Run(self.folder, *LEAK)
        self.assertEqual((ours.status, ours.steps(), ours.own), (plain.status, plain.steps(), plain.own))
        self.assertEqual(ours.status, 1)
        self.assertTrue(ours.own[0].endswith("out of memory"))

    def test_its_post_mortem_adds_up_as_it_stands_there(self):
        run = Run(self.folder, *LEAK)
        (head,) = [line for line in run.ours if line.startswith("OUT OF MEMORY: ")]
        self.assertIn("asked for at train+0x", head)
        total, live, idle, other, free, _ = map(int, next(filter(None, map(DEVICE.search, run.ours))).groups())
        self.assertEqual((total, live + idle + other + free), (128, 128))
        record = run.records("oom")[-1]
        self.assertEqual(record["total"], sum(record[name] for name in ("live", "idle", "passed", "other", "driver_free")))
        self.assertEqual((record["live"], record["verdict"]), (live << 20, "too-big"))
        self.assertEqual(run.records("end")[0]["unrecovered"], 1)
        self.assertIn("from step to step", record["advice"])  # it leaks

    def test_what_it_survives_is_not_told(self):
        run = Run(self.folder, "--lengths", "late-change", "--steps", "60", sim={"FAIL": "cuMemAlloc_v2:135"})  # buffers are idle then
        self.assertEqual(run.status, 0)
        self.assertEqual([record["verdict"] for record in run.records("oom")], ["trimmed"])
        self.assertFalse([line for line in run.ours if "OUT OF MEMORY" in line])
        self.assertNotIn("unrecovered", run.records("end")[0])

    def test_a_cache_without_a_gate_is_named_as_the_cause(self):
        run = Run(self.folder, "--lengths", "random", "--steps", "60", memory="160MiB", GATE="0")
        self.assertEqual(run.status, 1)
        self.assertTrue(any(line.startswith("  why      gate-off: ") for line in run.ours), run.ours)
        self.assertIn("  try      run it without SHAPECACHE_GATE=0: then idle memory goes back first", run.ours)

    def test_the_commands_that_are_named_can_be_typed(self):
        run = Run(self.folder, *LEAK)
        typed = [line.split(" ", 1)[1] for line in run.ours if line.startswith("next: ")] + \
                [line.split(maxsplit=1)[1] for line in run.ours if line.startswith("  all ")]
        self.assertEqual(typed, ["shapecache report log.jsonl", "shapecache oom log.jsonl"])
        for command in typed:
            done = run.tool(*command.split()[1:])
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("too-big", done.stdout)

    def test_with_the_summary_off_nothing_is_said(self):
        run = Run(self.folder, *LEAK, SUMMARY="off")
        self.assertEqual((run.status, run.ours), (1, []))

    def test_a_signal_ends_it_as_ever_and_the_log_is_whole(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(signal=number), tempfile.TemporaryDirectory() as name:
                run = Run(pathlib.Path(name), "--steps", "1000000", "--length", "2048", until=number)
                self.assertEqual((run.status, run.own), (-number, []))
                self.assertFalse([line for line in run.ours if line.startswith(("next: ", "OUT"))])
                self.assertFalse(run.records("end"))


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
