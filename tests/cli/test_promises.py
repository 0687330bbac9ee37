#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What docs/log.md promises of every log, of a training program on the simulated GPU: bounded, whole to the last step whatever
ends the program, one file for each rank and process, and readable while it is written."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from tool import BUILD, TOOL, Case, call, clean_environment, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

TRAIN = BUILD / "tests/programs/train"
MIB = 1 << 20


def of(records, kind):
    return [record for record in records if record["ev"] == kind]


class Promises(Case):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-log-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.log = self.folder / "log.jsonl"

    def environment(self, **more):
        return clean_environment(SHAPECACHE_LOG=str(self.log), SHAPECACHE_SUMMARY="off") | more

    @contextlib.contextmanager
    def training(self, *options, until, **settings):
        """A program that has told the end of step `until`, and goes on."""
        with subprocess.Popen([TOOL, "run", "--sim", "--", TRAIN, "--steps", "1000000", *options], stdout=subprocess.PIPE, text=True,
                              env=self.environment(**settings), cwd=self.folder, stderr=subprocess.DEVNULL) as child:
            try:
                for line in child.stdout:
                    if line.startswith(f"step {until} "):
                        break
                yield child
            finally:
                child.kill()
                child.stdout.close()

    def train(self, *options, **settings):
        answer = call("run", "--sim", "--", TRAIN, "--quiet", *options, environment=self.environment(**settings), cwd=self.folder)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return logs.read(self.log)

    def test_a_program_that_is_killed_leaves_whole_lines_to_its_last_step(self):
        """The end of a step is found at the next request, and written at the next free."""
        for level in ("step", "event"):
            with self.subTest(level=level):
                self.log.unlink(missing_ok=True)
                with self.training(until=40, SHAPECACHE_LOG_LEVEL=level) as child:
                    os.kill(child.pid, signal.SIGKILL)
                    child.wait()
                self.assertEqual(self.log.read_bytes()[-1:], b"\n")
                records = logs.read(self.log)
                steps = [record["step"] for record in of(records, "step")]
                self.assertEqual(steps, list(range(len(steps))))
                self.assertGreaterEqual(steps[-1], 39)
                self.assertEqual(of(records, "end"), [])

    def test_it_can_be_read_while_it_is_written(self):
        with self.training(until=30) as child:
            os.kill(child.pid, signal.SIGSTOP)  # so that two readers see the same
            text = self.log.read_text()
            self.assertGreaterEqual(len(of(logs.parse(text), "step")), 29)
            for command in (["report"], ["steps"], ["shapes"], ["sites"], ["export", "--to", "csv"]):
                answer = call(*command, self.log)
                self.assertEqual(answer.returncode, 0, answer.stderr)
            self.assertIn("has no end", call("report", self.log).stdout)
            os.kill(child.pid, signal.SIGCONT)
            for line in child.stdout:
                if line.startswith("step 60 "):
                    break
            self.assertGreater(len(self.log.read_text()), len(text))
            self.assertTrue(self.log.read_text().startswith(text))
            self.assertEqual(call("report", self.log).returncode, 0)

    def test_it_stays_below_its_bound_and_says_what_it_left_out(self):
        records = self.train("--steps", "3000", SHAPECACHE_LOG_LEVEL="event", SHAPECACHE_LOG_MAX="2MiB")
        self.assertLessEqual(self.log.stat().st_size, 2 * MIB)
        self.assertGreater(self.log.stat().st_size, MIB // 2)
        (warning,) = [record for record in of(records, "warn") if "level" in record]
        self.assertEqual(warning["level"], "step")
        self.assertIn("three quarters full", warning["text"])
        last = max(i for i, record in enumerate(records) if record["ev"] in ("alloc", "free"))
        self.assertLess(last, len(records) - 100)
        rows = [record["step"] for record in of(records, "step")]
        self.assertEqual(rows[:100], list(range(100)))
        (end,) = of(records, "end")
        self.assertGreaterEqual(end["steps"], 2999)
        self.assertGreater(rows[-1], 1500)
        self.assertEqual(call("report", self.log).returncode, 0)

    def test_a_log_of_steps_thins_out_and_still_has_its_end(self):
        records = self.train("--steps", "9000", SHAPECACHE_LOG_MAX="2MiB")
        self.assertLessEqual(self.log.stat().st_size, 2 * MIB)
        rows = [record["step"] for record in of(records, "step")]
        apart = [b - a for a, b in zip(rows, rows[1:])]
        self.assertEqual(apart, sorted(apart))
        self.assertEqual((apart[0], max(apart) > 1), (1, True))
        (end,) = of(records, "end")
        self.assertGreaterEqual(end["steps"], 8999)

    def test_ranks_and_processes_have_a_file_each_and_overwrite_none(self):
        settings = {"SHAPECACHE_LOG": "run/r%r.jsonl", "SHAPECACHE_SUMMARY": "off", "WORLD_SIZE": "3"}
        children = [subprocess.Popen([TOOL, "run", "--sim", "--", TRAIN, "--quiet", "--steps", "20"], cwd=self.folder, stdout=subprocess.DEVNULL,
                                     env=clean_environment(RANK=str(rank), **settings)) for rank in (0, 1, 2, 1)]
        self.assertEqual([child.wait(timeout=120) for child in children], [0] * 4)
        files = sorted(path.name for path in (self.folder / "run").iterdir())
        self.assertEqual(files, ["r0.jsonl", "r1.jsonl", "r1.jsonl.1", "r2.jsonl"])
        first = {name: logs.read(self.folder / "run" / name) for name in files}
        self.assertEqual({name: of(records, "run")[0]["rank"] for name, records in first.items()},
                         {"r0.jsonl": 0, "r1.jsonl": 1, "r1.jsonl.1": 1, "r2.jsonl": 2})
        self.assertEqual(len({of(records, "run")[0]["pid"] for records in first.values()}), 4)
        for records in first.values():
            self.assertEqual((len(of(records, "run")), len(of(records, "end"))), (1, 1))
        again = subprocess.run([TOOL, "run", "--sim", "--", TRAIN, "--quiet", "--steps", "20"], cwd=self.folder, stdout=subprocess.DEVNULL, check=False,
                               env=clean_environment(RANK="0", **settings))
        self.assertEqual(again.returncode, 0)
        self.assertEqual({name: logs.read(self.folder / "run" / name) for name in files}, first)
        self.assertIn("r0.jsonl.1", os.listdir(self.folder / "run"))
        self.assertEqual(call("report", self.folder / "run").returncode, 0)


main()
