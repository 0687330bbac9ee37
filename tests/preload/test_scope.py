#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Memory scopes of a whole program, witnessed by the simulated GPU: test_scope.py LIBRARY PROGRAM SIM

The witness is SIMCUDA_SAMPLES: what the program holds, as the simulated libcudart above the cache sees it, and what the
device has mapped, as the simulated driver below it does, after each allocation call."""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

LIBRARY, PROGRAM, SIM = sys.argv[1:4]
STEPS = 40
FIGURES = ("depth", "first", "last", "live_before", "idle_before", "live_peak", "held_peak", "live", "idle", "trimmed")


def run(**settings):
    """Output, the log's records, and the samples: (live, mapped, most that was mapped since the line before)."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SHAPECACHE", "SIMCUDA"))}
    with tempfile.TemporaryDirectory() as folder:
        log, samples = pathlib.Path(folder, "log.jsonl"), pathlib.Path(folder, "samples.csv")
        done = subprocess.run([PROGRAM, str(STEPS)], cwd=folder, timeout=120, text=True, check=False, stdin=subprocess.DEVNULL,
                              capture_output=True, env={**kept, "LD_LIBRARY_PATH": SIM, "SIMCUDA_SAMPLES": str(samples),
                                                        "SHAPECACHE_LOG": str(log), **settings})
        if done.returncode != 0:
            raise AssertionError(f"it ended with {done.returncode}\n{done.stdout}{done.stderr}")
        records = logs.read(log)
        with samples.open() as file:
            rows = [(int(row["live_mapped"]), int(row["device_mapped"]), int(row["device_most"])) for row in csv.DictReader(file)]
        return done.stdout.splitlines(), records, rows


def scopes_of(output):
    """(name, figures) of each scope, in the order in which they ended."""
    rows = [line.split() for line in output if len(line.split()) == 1 + len(FIGURES)]
    return [(row[0], dict(zip(FIGURES, map(int, row[1:])))) for row in rows]


class Scope(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.output, cls.records, cls.samples = run(LD_PRELOAD=LIBRARY)
        cls.scopes = scopes_of(cls.output)

    def test_every_scope_saw_the_peaks_that_the_device_saw(self):
        self.assertEqual(len(self.scopes), 3 * STEPS + 2)
        for name, seen in self.scopes:
            before = (0, 0, 0) if seen["first"] == 0 else self.samples[seen["first"] - 1]
            within = self.samples[seen["first"]:seen["last"]]
            with self.subTest(name=name, first=seen["first"]):
                self.assertEqual(seen["live_before"], before[0])
                self.assertEqual(seen["live_before"] + seen["idle_before"], before[0] if seen["trimmed"] else before[1])
                self.assertEqual(seen["live_peak"], max([before[0], *(live for live, _, _ in within)]))
                self.assertEqual((seen["live"], seen["live"] + seen["idle"]), within[-1][:2])
                held = [seen["live_before"] + seen["idle_before"], *(mapped for _, mapped, _ in within)]
                if not seen["trimmed"]:  # else the first line's most is from before the trim
                    held += [most for _, _, most in within]
                self.assertEqual(seen["held_peak"], max(held))

    def test_the_cache_was_at_work_and_let_go_for_a_while(self):
        self.assertTrue(any(seen["idle"] > 0 for _, seen in self.scopes))
        self.assertIn("fallback", [record["to"] for record in self.records if record["ev"] == "phase"])
        outlier = [seen for name, seen in self.scopes if name == "step"][20]
        others = {seen["live_peak"] for name, seen in self.scopes if name == "step"} - {outlier["live_peak"]}
        self.assertEqual(len(others), 1)
        self.assertEqual(outlier["live_peak"] - others.pop(), 30 << 20)

    def test_the_log_has_the_scopes_that_asked_for_it(self):
        logged = [(record["name"], {name: record[name] for name in FIGURES if name in record})
                  for record in self.records if record["ev"] == "scope"]
        printed = [(name, {field: value for field, value in seen.items() if field not in ("first", "last")})
                   for name, seen in self.scopes if name != "forward"]
        self.assertEqual(logged, printed)

    def test_the_logs_marks_are_the_devices(self):
        (end,) = [record for record in self.records if record["ev"] == "end"]
        self.assertEqual(end["live_peak"], max(live for live, _, _ in self.samples))
        self.assertEqual(end["held_peak"], max(most for _, _, most in self.samples))
        peaks = [record["held_peak"] for record in self.records if record["ev"] == "step"]
        self.assertEqual(max(peaks), end["held_peak"])

    def test_a_mark_says_where_steps_begin(self):
        mark, trim = [record for record in self.records if record["ev"] == "mark"]
        self.assertEqual((trim["name"], trim["automatic"]), ("trim", 1))
        self.assertEqual((mark["name"], mark["automatic"], mark["step"]), ("steps begin", 1, 1))
        self.assertEqual(mark["live"], 20 << 20)

    def test_a_log_of_every_seventh_step_misses_no_peak(self):
        _, records, samples = run(LD_PRELOAD=LIBRARY, SHAPECACHE_LOG_EVERY="7")
        steps = [record for record in records if record["ev"] == "step"]
        self.assertEqual([record["step"] for record in steps], list(range(0, STEPS, 7)))
        high = max(live for live, _, _ in samples)
        self.assertEqual([record["step"] for record in steps if record["live_peak"] == high], [21])  # of step 20

    def test_after_a_trim_nothing_but_what_is_live_is_mapped(self):
        self.assertIn("trim 0", self.output)
        self.assertGreater(self.samples[-3][1], 20 << 20)
        self.assertEqual(self.samples[-2][:2], (2 << 20, 2 << 20))

    def test_the_program_runs_without_the_library_and_with_a_cache_that_is_off(self):
        self.assertEqual(run()[0], ["done"])
        output, records, samples = run(LD_PRELOAD=LIBRARY, SHAPECACHE="observe")
        self.assertEqual({seen["idle"] for _, seen in scopes_of(output)}, {0})
        self.assertEqual(max(most for _, _, most in samples), max(live for live, _, _ in samples))
        self.assertTrue(records)


unittest.main(argv=sys.argv[:1])
