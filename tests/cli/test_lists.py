#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache steps and sites: what they list of a log, and in which order."""

import json
import pathlib
import resource
import shutil
import tempfile

from tool import DATA, Case, call, main

LOG = DATA / "late.jsonl"
LATE = [json.loads(line) for line in LOG.read_text().splitlines()]
STEPS = [record for record in LATE if record["ev"] == "step"]


class Lists(Case):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def log(self, records, name="log.jsonl"):
        path = self.folder / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def listed(self, command, *options, log=LOG):
        answer = call(command, *options, log)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        for line in answer.stdout.splitlines():
            if "--json" not in options:
                self.assertLessEqual(len(line), 80, line)
        return answer.stdout


class Steps(Lists):
    def test_the_list(self):
        self.expect("steps.txt", self.listed("steps"))
        self.expect("steps-every.txt", self.listed("steps", "--every", "5"))

    def test_every_step_is_a_line_of_what_its_record_says(self):
        document = json.loads(self.listed("steps", "--json"))
        self.assertEqual((document["v"], document["dev"], document["every"]), (1, 0, 1))
        for line, record in zip(document["steps"], STEPS, strict=True):
            self.assertEqual({name: value for name, value in line.items() if name in record},
                             {name: value for name, value in record.items() if name in line})
            self.assertGreater(len(line), 15)

    def test_a_line_for_every_so_many_adds_up(self):
        for every in 1, 3, 5, 1000:
            lines = json.loads(self.listed("steps", "--json", "--every", str(every)))["steps"]
            self.assertEqual(len(lines), -(-len(STEPS) // every))
            for name in "requests", "hits", "misses", "driver_allocs", "driver_ns", "dur_ns":
                self.assertEqual(sum(line[name] for line in lines), sum(record[name] for record in STEPS), name)
            for line in lines:
                mine = [r for r in STEPS if r["step"] // every == line["step"] // every]
                self.assertEqual(line["rows"], len(mine))
                self.assertEqual(line["held_peak"], max(r["held_peak"] for r in mine))
                phases = {r["phase"] for r in mine}
                self.assertEqual(line["phase"], phases.pop() if len(phases) == 1 else "mixed")

    def test_steps_of_other_devices_are_left_out_and_said(self):
        records = LATE + [record | {"dev": 1} for record in STEPS[:2]]
        answer = call("steps", self.log(records))
        self.assertEqual((answer.returncode, answer.stdout), (0, self.listed("steps")))
        self.assertIn("left out 2 steps of devices other than 0 (see --dev)", answer.stderr)
        answer = call("steps", "--dev", "1", self.folder / "log.jsonl")
        self.assertEqual(answer.stdout.count("\n"), 3)
        self.fails(call("steps", "--dev", "2", self.folder / "log.jsonl"), 3, "has no step of device 2")

    def test_a_log_without_steps_says_which_level_has_them(self):
        self.fails(call("steps", self.log([r for r in LATE if r["ev"] != "step"])), 3, "has no record of a step", "SHAPECACHE_LOG_LEVEL=step")

    def test_a_long_log_needs_the_memory_of_a_line(self):
        path = self.folder / "long.jsonl"
        with path.open("w") as file:
            file.write(json.dumps(LATE[0]) + "\n")
            for i in range(50000):
                file.write(json.dumps(STEPS[0] | {"step": i}) + "\n")
        least = path.stat().st_size // 4

        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (least, least))

        self.assertGreater(least, 4 << 20)
        answer = call("steps", path, preexec_fn=limit)
        self.assertEqual((answer.returncode, answer.stdout.count("\n")), (0, 50001), answer.stderr)

    def test_what_cannot_be_understood_is_refused(self):
        self.fails(call("steps"), 2, "which log?")
        self.fails(call("steps", LOG, LOG), 2, "one log at a time")
        self.fails(call("steps", "--every", "0", LOG), 2, "--every wants")
        self.fails(call("steps", LOG, "--every"), 2, "--every wants")
        self.fails(call("steps", "--dev", "x", LOG), 2, "--dev wants")
        self.fails(call("steps", "--evrey", LOG), 2, '"--evrey"')
        self.fails(call("steps", self.folder), 3, "has no log in it")
        self.fails(call("steps", self.folder / "none"), 3, "No such file")
        self.fails(call("steps", DATA / "late.txt"), 3, "late.txt, line 1")
        answer = call("steps", self.log([LATE[0], STEPS[3], STEPS[2]]))
        self.assertEqual(answer.returncode, 3)
        self.assertIn("line 3: expected step 4 or a later one, found 2", answer.stderr)


class Sites(Lists):
    def test_the_list(self):
        self.expect("sites-list.txt", self.listed("sites"))

    def test_the_shapes_of_a_site_add_up(self):
        last = {record["id"]: record for record in LATE if record["ev"] == "shape"}
        sites = json.loads(self.listed("sites", "--json"))["sites"]
        self.assertEqual({site["site"] for site in sites}, {record["site"] for record in last.values()})
        for site in sites:
            mine = [record for record in last.values() if record["site"] == site["site"]]
            self.assertEqual(site["shapes"], len(mine))
            self.assertEqual(site["most_bytes"], sum(r["bytes"] * r["high"] for r in mine))
            for name in "requests", "hits", "misses", "evicted":
                self.assertEqual(site[name], sum(r[name] for r in mine), name)
            self.assertEqual((site["first_step"], site["last_step"]), (min(r["first_step"] for r in mine), max(r["last_step"] for r in mine)))

    def test_it_is_sorted_by_what_is_asked_for_most_first(self):
        for option, name in ("high", "most_bytes"), ("shapes", "shapes"), ("requests", "requests"), ("hits", "hits"), ("misses", "misses"):
            values = [site[name] for site in json.loads(self.listed("sites", "--json", "--sort", option))["sites"]]
            self.assertEqual(values, sorted(values, reverse=True), option)
        self.assertEqual(self.listed("sites", "--top", "1"), "".join(self.listed("sites").splitlines(True)[:2]))
        self.assertEqual(self.listed("sites", "--top", "0"), "")

    def test_shapes_of_no_site_are_one_line(self):
        records = [{name: value for name, value in record.items() if name != "site"} if record["ev"] == "shape" else record for record in LATE]
        lines = self.listed("sites", log=self.log(records)).splitlines()
        self.assertEqual(len(lines), 2)
        self.assertTrue(lines[1].endswith("  unknown"), lines)

    def test_what_cannot_be_understood_is_refused(self):
        self.fails(call("sites"), 2, "which log?")
        self.fails(call("sites", LOG, LOG), 2, "one log at a time")
        self.fails(call("sites", "--sort", "bytes", LOG), 2, "--sort wants")
        self.fails(call("sites", LOG, "--top"), 2, "--top wants")
        self.fails(call("sites", "--jsno", LOG), 2, '"--jsno"')
        self.fails(call("sites", DATA / "late.txt"), 3, "late.txt, line 1")


main()
