#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A log as the cache writes it, from a training program on the simulated GPU, against record.def and the report."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

from tool import BUILD, ROOT, TOOL, Case, call, clean_environment, main

TRAIN = BUILD / "tests/programs/train"


def schema():
    """event -> (fields it must have, fields it may have)"""
    table = (ROOT / "src/log/record.def").read_text()
    name = dict(re.findall(r'^(?:EVENT|FIELD)\((\w+),\s+"(\w+)"', table, re.M))
    events = dict(re.findall(r'^EVENT\((\w+),\s+"(\w+)"', table, re.M))
    fields = dict(re.findall(r'^FIELD\((\w+),\s+"(\w+)"', table, re.M))
    rows = {event: ({"ev", "t"}, set()) for event in events.values()}
    assert len(name) > 10
    for kind, event, field in re.findall(r"\b(MUST|MAY)\((\w+), (\w+)\)", (ROOT / "src/cli/schema.def").read_text()):
        if event in events:
            rows[events[event]][kind == "MAY"].add(fields[field])
    return rows


class Real(Case):
    def setUp(self):
        self.assertTrue(TRAIN.exists(), f"{TRAIN} is not built")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.log = self.folder / "log.jsonl"

    def environment(self):
        return clean_environment(SHAPECACHE_LOG=str(self.log), SHAPECACHE_LOG_LEVEL="event")

    def train(self, *options):
        answer = call("run", "--sim", "--", TRAIN, "--quiet", *options, environment=self.environment(), cwd=self.folder)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return logs.read(self.log)

    def report(self):
        answer = call("report", "--json", self.log)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return json.loads(answer.stdout)["runs"][0]["processes"][0]

    def test_every_record_has_the_fields_its_page_lists_and_no_others(self):
        rows = schema()
        records = self.train("--lengths", "late-change", "--steps", "50")
        for record in records:
            must, may = rows[record["ev"]]
            self.assertLessEqual(must, record.keys(), record)
            self.assertLessEqual(record.keys(), must | may, record)
        self.assertLessEqual({"run", "phase", "step", "shape", "site", "alloc", "free", "end"}, {r["ev"] for r in records})

    def test_the_report_says_what_the_log_says(self):
        records = self.train("--lengths", "late-change", "--steps", "50")
        end = [r for r in records if r["ev"] == "end"][-1]
        changes = [r for r in records if r["ev"] == "phase"]
        process = self.report()
        device = process["devices"][0]
        for name in ("steps", "requests", "hits", "misses", "bypassed", "live_peak", "held_peak", "driver_ns", "wait_ns"):
            self.assertEqual(device[name], end[name], name)
        self.assertEqual([(c["step"], c["to"], c["reason"]) for c in device["changes"]],
                         [(c["step"], c["to"], c["reason"]) for c in changes])
        self.assertTrue(process["is_complete"])
        self.assertEqual(sum(p["step_rows"] for p in device["by_phase"]), end["steps"])

    def strictly(self, *options, **settings):
        """What a program prints but for the time it took, and what the report answers, with and without SHAPECACHE_STRICT."""
        said, told = {}, {}
        for strict in "0", "1":
            self.log.unlink(missing_ok=True)
            environment = self.environment() | {"SHAPECACHE_STRICT": strict, "SHAPECACHE_LOG_LEVEL": "step"} | settings
            answer = call("run", "--sim", "--", TRAIN, *options, environment=environment, cwd=self.folder)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            logs.read(self.log)
            said[strict] = re.sub(r"seconds .*", "", answer.stdout)
            told[strict] = call("report", "--json", self.log)
        self.assertEqual(re.sub("pointers [0-9a-f]+", "", said["0"]), re.sub("pointers [0-9a-f]+", "", said["1"]))
        self.assertEqual((told["0"].returncode, told["0"].stderr), (0, ""))
        self.assertNotIn('"strict"', told["0"].stdout)
        return told["1"]

    def test_a_driver_allocation_of_a_settled_cache_fails_the_report_and_not_the_program(self):
        answer = self.strictly("--lengths", "rare:13", "--steps", "20")
        self.assertEqual(answer.returncode, 1)
        self.assertRegex(answer.stderr, r"^shapecache: report: SHAPECACHE_STRICT: rank 0: 1 driver allocation in phase fixed that a settled cache should "
                         r"have served, the first of shape \d+, 1.82 MiB, at step 13 from .+\n$")
        device = json.loads(answer.stdout)["runs"][0]["processes"][0]["devices"][0]
        fall = next(c for c in device["changes"] if c["to"] == "fallback")
        self.assertEqual(device["strict"], 1)
        row = device["strict_shapes"][0]
        self.assertEqual((row["step"], row["shape"], row["bytes"], row["site"], row["lapse"]),
                         (fall["step"], fall["shape"], fall["bytes"], fall["site"], "new-shape"))

    def test_a_fixed_set_passes_and_one_that_the_cap_evicts_does_not(self):
        answer = self.strictly("--steps", "20")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        answer = self.strictly("--wide", "--steps", "30", SHAPECACHE_OVERHEAD="1%")
        self.assertEqual(answer.returncode, 1, answer.stderr)
        device = json.loads(answer.stdout)["runs"][0]["processes"][0]["devices"][0]
        self.assertGreater(device["strict"], len(device["strict_shapes"]))
        self.assertEqual(len({row["shape"] for row in device["strict_shapes"]}), len(device["strict_shapes"]))
        self.assertIn("gone", {row["lapse"] for row in device["strict_shapes"]})

    def test_ranks_started_apart_are_one_run_and_the_odd_one_is_found(self):
        environment = clean_environment(SHAPECACHE_RUN_ID="apart", WORLD_SIZE="4", SHAPECACHE_SUMMARY="off")
        started = [subprocess.Popen([TOOL, "run", "--sim", "--", TRAIN, "--quiet", "--steps", "16", *(("--lengths", "rare:9") if rank == 2 else ())],
                                    env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)}, cwd=self.folder, stdout=subprocess.DEVNULL)
                   for rank in range(4)]
        self.assertEqual([process.wait(timeout=60) for process in started], [0] * 4)
        run = self.folder / "shapecache-run.apart"
        told = json.loads(call("ranks", "--json", run).stdout)["runs"]
        self.assertEqual([(one["run"], [line["rank"] for line in one["ranks"]]) for one in told], [("apart", [0, 1, 2, 3])])
        odd = {(one["rank"], one["what"]) for one in told[0]["outliers"] if one["what"] not in ("alloc", "wait")}  # times are those of the machine
        self.assertEqual(odd, {(2, "phases"), (2, "hit"), (2, "shapes")})
        answer = call("report", "--fail-on", "fallback>0,oom>0", run)
        self.assertEqual((answer.returncode, answer.stderr), (1, "shapecache: report: --fail-on fallback>0: rank 2 has 1\n"))
        self.assertIn("ranks that differ\n", answer.stdout)

    def test_a_saved_set_lets_the_next_run_cache_from_its_first_step_on(self):
        for key in ("bytes", "bytes+site"):
            with self.subTest(key=key):
                self.log.unlink(missing_ok=True)
                environment = self.environment() | {"SHAPECACHE_KEY": key, "SHAPECACHE_OVERHEAD": "100%"}
                answer = call("run", "--sim", "--", TRAIN, "--steps", "12", environment=environment, cwd=self.folder)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                call("shapes", "--save", self.folder / "set", self.log)
                self.log.unlink()
                environment |= {"SHAPECACHE_SHAPES": str(self.folder / "set"), "SHAPECACHE_LOG_LEVEL": "step"}
                answer = call("run", "--sim", "--", TRAIN, "--steps", "12", environment=environment, cwd=self.folder)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                records = logs.read(self.log)
                self.assertEqual([(r["step"], r["to"], r["reason"]) for r in records if r["ev"] == "phase"],
                                 [(0, "fixed", "declared")])
                self.assertEqual([r for r in records if r["ev"] == "warn"], [])
                steps = [r for r in records if r["ev"] == "step"]
                self.assertEqual(sum(r["hits"] for r in steps[2:]), sum(r["requests"] for r in steps[2:]))

    def test_the_phases_of_the_report_are_those_of_the_step_rows(self):
        records = self.train("--lengths", "late-change", "--steps", "50")
        device = self.report()["devices"][0]
        for row in (r for r in records if r["ev"] == "step"):
            inside = [p["phase"] for p in device["phases"] if p["first_step"] <= row["step"] <= p.get("last_step", row["step"])]
            self.assertEqual(inside, [row["phase"]], row)

    def test_a_killed_program_leaves_a_log_that_is_told_to_its_last_step(self):
        child = subprocess.Popen([TOOL, "run", "--sim", "--", TRAIN, "--steps", "100000"], stdout=subprocess.PIPE, text=True,
                                 env=self.environment(), cwd=self.folder, stderr=subprocess.DEVNULL)
        for line in child.stdout:
            if line.startswith("step 20 "):
                break
        os.kill(child.pid, signal.SIGKILL)
        child.stdout.close()
        child.wait()
        process = self.report()
        self.assertFalse(process["is_complete"])
        self.assertGreaterEqual(process["devices"][0]["steps"], 15)
        self.assertIn("has no end", call("report", self.log).stdout)


main()
