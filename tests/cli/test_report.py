#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache report: what it tells, and what it does with logs that are not as they should be."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from tool import DATA, TOOL, Case, call, clean_environment, main

RUN = (DATA / "late.jsonl").read_text().splitlines()[0]


class Goldens(Case):
    def told(self, log, *options):
        answer = call("report", *options, log, cwd=DATA)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(answer.stderr, "")
        return answer.stdout

    def test_the_story_of_a_late_change_is_told(self):
        self.expect("late.txt", self.told("late.jsonl"))

    def test_a_killed_run_is_told_up_to_its_last_step(self):
        self.expect("killed.txt", self.told("killed.jsonl"))

    def test_half_a_line_at_the_end_is_left_out_and_said(self):
        self.expect("cut.txt", self.told("cut.jsonl"))

    def test_a_run_without_gate_and_out_of_memory_is_told(self):
        self.expect("gate-off.txt", self.told("gate-off.jsonl"))

    def test_many_changes_of_phase_and_two_devices_are_told_in_few_lines(self):
        self.expect("flapping.txt", self.told("flapping.jsonl"))

    def test_ranks_that_agree_are_told_once_and_the_odd_one_apart(self):
        self.expect("ranks.txt", self.told("ranks"))

    def test_ranks_that_differ_are_named_with_what_and_by_how_much(self):
        answer = call("report", "four", cwd=DATA)
        self.expect("four.txt", answer.stdout)
        for line in answer.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
        run = json.loads(call("report", "--json", "four", cwd=DATA).stdout)["runs"][0]
        self.assertEqual(run["ranks_without_log"], "4")
        self.assertEqual({(one["rank"], one["what"]) for one in run["outliers"]},
                         {(2, "phases"), (2, "hit"), (2, "strict"), (2, "shapes"), (3, "end")})
        self.assertNotIn("outliers", json.loads(self.told("four/r0.jsonl", "--json"))["runs"][0])

    def test_a_run_that_passed_by_is_told_with_the_reason_and_without_peaks(self):
        text = self.told("segments.jsonl")
        self.expect("segments.txt", text)
        happened = " ".join(text.split("what happened\n")[1].split())
        self.assertTrue(happened.startswith("5 requests, and all passed the cache by. PyTorch's allocator keeps a cache"), text)
        self.assertEqual(text.count("PyTorch's"), 1)
        for claim in ("0 B", "requests:N", "worth knowing"):
            self.assertNotIn(claim, text)

    def test_with_a_gate_per_call_site_each_is_told(self):
        self.expect("sites.txt", self.told("sites.jsonl"))
        device = json.loads(self.told("sites.jsonl", "--json"))["runs"][0]["processes"][0]["devices"][0]
        self.assertEqual((device["sites"], device["fallbacks"]), (4, 1))
        self.assertEqual({s["site"]: (s["phase"], s["fallbacks"], s["requests"], s["hits"]) for s in device["top_sites"]},
                         {"train+0x4f31": ("fixed", 0, 12, 7), "train+0x5010": ("fallback", 1, 12, 3),
                          "train+0x51aa": ("fixed", 0, 12, 7), "train+0x60cc": ("warmup", 0, 12, 0)})
        self.assertEqual([c["to"] for c in device["changes"]], ["fixed"])  # of the device as a whole
        self.assertIn("1 of 4", self.told("sites.jsonl", "--top", "1"))

    def test_what_stops_every_gate_stops_those_of_sites(self):
        lines = (DATA / "sites.jsonl").read_text().splitlines()
        for to, reason, phases in (("fallback", "oom", {"fallback": 3, "warmup": 1}), ("off", "user", {"off": 4})):
            change = {"ev": "phase", "t": 1, "step": 11, "dev": 0, "from": "fixed", "to": to, "reason": reason}
            with tempfile.TemporaryDirectory(prefix="shapecache-cli-") as folder:
                log = pathlib.Path(folder) / "log.jsonl"
                log.write_text("\n".join([*lines[:-1], json.dumps(change)]) + "\n")
                device = json.loads(call("report", "--json", log).stdout)["runs"][0]["processes"][0]["devices"][0]
            told = [site["phase"] for site in device["top_sites"]]
            self.assertEqual({phase: told.count(phase) for phase in told}, phases)
            self.assertEqual(device["fallbacks"], 3 if reason == "oom" else 1)

    def test_json_holds_the_same_in_integers(self):
        text = self.told("late.jsonl", "--json")
        self.expect("late.json", text)
        device = json.loads(text)["runs"][0]["processes"][0]["devices"][0]
        self.assertEqual([(p["phase"], p["first_step"], p["last_step"]) for p in device["phases"]],
                         [("warmup", 0, 3), ("fixed", 4, 7), ("fallback", 8, 11)])
        self.assertEqual(device["changes"][1]["site"], "train+0x51aa")

    def test_every_log_is_valid_json_under_json(self):
        for log in [*DATA.glob("*.jsonl"), DATA / "ranks"]:
            self.assertEqual(json.loads(self.told(log, "--json"))["v"], 1)

    def test_no_line_is_wider_than_80_columns_or_ends_in_blanks(self):
        for log in [*DATA.glob("*.jsonl"), DATA / "ranks"]:
            for line in self.told(os.path.relpath(log, DATA)).splitlines():
                self.assertLessEqual(len(line), 80, line)
                self.assertEqual(line, line.rstrip())

    def test_top_bounds_the_shapes(self):
        self.assertIn("1 of 7", self.told("late.jsonl", "--top", "1"))
        self.assertNotIn("shapes by", self.told("late.jsonl", "--top", "0"))

    def test_a_log_can_come_through_a_pipe(self):
        with open(DATA / "late.jsonl", "rb") as log:
            answer = call("report", "-", stdin=log)
        self.assertEqual(answer.stdout, self.told("late.jsonl"))


class Words(Case):
    def test_what_the_program_said_is_told(self):
        with tempfile.TemporaryDirectory(prefix="shapecache-cli-") as folder:
            log = pathlib.Path(folder) / "log.jsonl"
            lines = [json.loads(line) for line in (DATA / "late.jsonl").read_text().splitlines()]
            for line in lines:
                if line["ev"] == "shape" and line["id"] == 1:
                    line |= {"label": "keys", "dims": [16, 512, 384]}
                if line["ev"] == "shape" and line["id"] == 2:
                    line |= {"dims": [7] * 20, "label": "x" * 500}
            lines.insert(-1, {"ev": "mark", "t": 5, "step": 3, "dev": 0, "name": "evaluation begins"})
            lines[1:1] = [{"ev": "mark", "t": 5, "name": f"mark {i}"} for i in range(100)]
            log.write_text("".join(json.dumps(line) + "\n" for line in lines))
            text = call("report", log).stdout
            told = json.loads(call("report", "--json", log).stdout)["runs"][0]["processes"][0]
        self.assertRegex(text, r"(?m)^ +1 16.0 MiB .* keys 16x512x384$")
        self.assertIn("mark: mark 31\n", text)
        self.assertIn("... and 69 more", text)
        self.assertIn("something is not as it should be", text)
        shapes = {shape["id"]: shape for shape in told["devices"][0]["top_shapes"]}
        self.assertEqual((shapes[1]["label"], shapes[1]["dims"]), ("keys", [16, 512, 384]))
        self.assertEqual(shapes[2]["label"], "x" * 63)
        self.assertNotIn("dims", shapes[2])
        self.assertNotIn("label", shapes[3])


class Explained(Case):
    def told(self, records):
        with tempfile.TemporaryDirectory(prefix="shapecache-cli-") as folder:
            log = pathlib.Path(folder) / "r0.jsonl"
            log.write_text("".join(json.dumps(record) + "\n" for record in records))
            answer = call("report", log)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        return answer.stdout

    def warmup(self, steps, **settings):
        records = [json.loads(line) for line in (DATA / "late.jsonl").read_text().splitlines()]
        for name, value in settings.items():
            records[0]["config"][name] = {"value": value, "from": "env"}
        kept = [r for r in records if r["ev"] != "step" or r["step"] < steps]
        kept = [r for r in kept if r["ev"] != "phase" and r.get("first_step", 0) == 0]
        return self.told([r | {"steps": steps, "phase": "warmup"} if r["ev"] == "end" else r for r in kept])

    def test_a_run_that_never_left_warmup_is_told_why(self):
        reason = "a step is inferred and is at least 8 requests: SHAPECACHE_STEP=requests:N or shapecache_step() make it exact"
        for steps, seen in {0: "0 steps", 1: "1 step", 3: "3 steps"}.items():
            text = self.warmup(steps)
            self.assertIn(f"{seen} seen, 4 needed; {reason}", " ".join(text.split()))
            self.assertNotRegex(text, r"(?m)^phases.* 0-$")
        self.assertIn("phases    warmup, no step ended\n", self.warmup(0))
        self.assertIn("5 steps seen, 8 needed; ", self.warmup(5, SHAPECACHE_WARMUP="7"))
        self.assertIn("3 steps seen, 4 needed\n", self.warmup(3, SHAPECACHE_STEP="api"))
        self.assertNotIn("needed", self.warmup(4))

    def test_hits_in_fallback_have_a_footnote(self):
        records = [json.loads(line) for line in (DATA / "late.jsonl").read_text().splitlines()]
        footnote = "the step in which the phase changed counts under the new phase."
        self.assertNotIn(footnote, " ".join(self.told(records).split()))
        next(r for r in records if r["ev"] == "step" and r["phase"] == "fallback")["hits"] = 3
        self.assertIn(footnote, " ".join(self.told(records).split()))


    def test_shapes_are_sorted_by_the_bytes_and_counts_that_are_shown(self):
        records = [json.loads(line) for line in (DATA / "late.jsonl").read_text().splitlines()]
        one = next(r for r in records if r["ev"] == "shape")
        # by their pages 100 would come first; 100 and 102 are equal but for the bytes of one
        for i, (size, high, mapped) in enumerate([(300, 10, 20 << 20), (500, 9, 18 << 20), (1500, 2, 4 << 20)]):
            records.insert(-1, one | {"id": 100 + i, "bytes": size << 10, "high": high, "bytes_high": mapped})
        rows = self.told(records).split("\nshape ")[1].split("\n\n")[0].splitlines()[1:]
        self.assertEqual([int(row.split()[0]) for row in rows], [1, 7, 6, 5, 4, 2, 101, 102, 100, 3])


class Refused(Case):
    def told(self, *logs):
        with tempfile.TemporaryDirectory(prefix="shapecache-cli-") as folder:
            for rank, records in enumerate(logs):
                records[0]["rank"] = rank
                (pathlib.Path(folder) / f"r{rank}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
            answer = call("report", folder)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        return " ".join(answer.stdout.split("what happened\n")[1].split())

    def log(self, *ooms):
        records = [json.loads(line) for line in (DATA / "late.jsonl").read_text().splitlines()]
        records[-1:-1] = [{"ev": "oom", "t": 479000000, "step": 11, "dev": 0} | oom for oom in ooms]
        return records

    def test_out_of_memory_that_reached_the_program_comes_first(self):
        recovered = {"bytes": 1 << 20, "retried": 1, "result": 0}
        lost = {"bytes": 512 << 20, "site": "train+0x51aa", "retried": 1, "result": 2}
        other = {"bytes": 0, "retried": 0, "result": 2}
        tried_again = {"bytes": 0, "retried": 1, "result": 2}  # nobody knows how that went
        self.assertTrue(self.told(self.log(recovered, tried_again)).startswith("step 4 warmup"))
        self.assertTrue(self.told(self.log(recovered, lost, recovered)).startswith(
            "1 out-of-memory answer reached the program, at step 11, for 512 MiB, asked for at train+0x51aa. step 4 warmup"))
        self.assertTrue(self.told(self.log(lost, other)).startswith(
            "2 out-of-memory answers reached the program, the last at step 11, for an allocation of another kind. step 4"))

    def test_out_of_memory_of_one_rank_is_told_though_its_phases_are_those_of_another(self):
        lost = {"bytes": 3 << 20, "retried": 0, "result": 2}
        self.assertTrue(self.told(self.log(), self.log(lost)).startswith(
            "rank 1: 1 out-of-memory answer reached the program, at step 11, for 3.00 MiB. step 4"))


class Capped(Case):
    def told(self, step, **settings):
        records = [json.loads(line) for line in (DATA / "late.jsonl").read_text().splitlines()]
        for name, value in settings.items():
            records[0]["config"]["SHAPECACHE_" + name] = {"value": value, "from": "env"}
        for record in records:
            if record["ev"] == "step" and record["phase"] == "fixed":
                record |= {"requests": 100, "misses": 100 - step["hits"], "live_peak": 64 << 20, "held_peak": 78 << 20} | step
        with tempfile.TemporaryDirectory(prefix="shapecache-cli-") as folder:
            log = pathlib.Path(folder) / "r0.jsonl"
            log.write_text("".join(json.dumps(record) + "\n" for record in records))
            answer = call("report", log)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        return " ".join(answer.stdout.split("what happened\n")[1].split("totals\n")[0].split())

    def test_a_cap_that_costs_hits_is_told_with_the_setting_that_widens_it(self):
        self.assertTrue(self.told({"hits": 90, "evicted": 10}).endswith(
            "In phase fixed the cap (1.25 x peak) evicted 40 buffers, which later requests had to get from the driver; "
            "SHAPECACHE_OVERHEAD=50% would let it keep more."))
        text = self.told({"hits": 90, "evicted": 10, "held_peak": 110 << 20}, OVERHEAD="75%")
        self.assertIn("the cap (1.75 x peak) evicted 40 buffers", text)
        self.assertIn("SHAPECACHE_OVERHEAD=150%", text)

    def test_evictions_that_cost_little_or_that_the_cap_did_not_make_are_not_told(self):
        for step, settings in (({"hits": 97, "evicted": 10}, {}), ({"hits": 90, "evicted": 5}, {}),
                               ({"hits": 90, "evicted": 10, "held_peak": 65 << 20}, {}),  # the driver was short of memory
                               ({"hits": 90, "evicted": 10}, {"LIMIT": "70M"}), ({"hits": 90, "evicted": 10}, {"GATE": "0"}),
                               ({"hits": 90, "evicted": 10, "held_peak": 6000 << 20}, {"OVERHEAD": "10000%"})):
            self.assertNotIn("SHAPECACHE_OVERHEAD", self.told(step, **settings))


class Observed(Case):
    def test_a_run_that_only_observed_is_not_said_to_have_cached(self):
        records = [json.loads(line) for line in (DATA / "late.jsonl").read_text().splitlines()]
        records[0]["config"]["SHAPECACHE"] = {"value": "observe", "from": "env"}
        for record in records:
            if "hits" in record:
                record |= {"hits": 0, "misses": 0, "idle": 0}
                if "bypassed" in record:
                    record["bypassed"] = record["requests"]
            if "idle_released" in record:
                record["idle_released"] = 0
        with tempfile.TemporaryDirectory(prefix="shapecache-cli-") as folder:
            log = pathlib.Path(folder) / "r0.jsonl"
            log.write_text("".join(json.dumps(record) + "\n" for record in records))
            text = " ".join(call("report", log).stdout.split())
        self.assertIn("With SHAPECACHE=observe nothing is cached: no buffer was parked", text)
        self.assertIn("with SHAPECACHE=on, from here on: frees park buffers", text)
        self.assertIn("56 of 168 requests came in phase fixed and would have been eligible", text)
        for claim in ("From here on", "no request came in phase fixed", "Nothing was idle", "did not cache again", "went back to the driver."):
            self.assertNotIn(claim, text)


class Folders(Case):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, *lines, end="\n"):
        path = self.folder / name
        path.write_text("\n".join(lines) + end)
        return path

    def test_a_folder_without_a_log_is_named(self):
        self.fails(call("report", self.folder), 3, str(self.folder), "no log")

    def test_what_is_not_there_is_named(self):
        self.fails(call("report", self.folder / "x.jsonl"), 3, "x.jsonl", "No such file")

    def test_an_empty_log_is_refused(self):
        self.fails(call("report", self.write("r0.jsonl", end="")), 3, "empty")

    def test_another_process_of_a_rank_counts_and_other_files_do_not(self):
        for name in ("r0.jsonl", "r0.jsonl.1", "r10.jsonl", "r2.jsonl"):
            shutil.copy(DATA / "late.jsonl", self.folder / name)
        self.write("r0.jsonl.bak", "no log")
        self.write("readme", "no log")
        told = json.loads(call("report", "--json", self.folder).stdout)
        logs = [pathlib.Path(p["log"]).name for p in told["runs"][0]["processes"]]
        self.assertEqual(logs, ["r0.jsonl", "r0.jsonl.1", "r2.jsonl", "r10.jsonl"])

    def test_two_runs_are_told_one_after_the_other(self):
        other = self.write("other.jsonl", RUN.replace("20260713-142530-4711", "second"))
        told = json.loads(call("report", "--json", DATA / "late.jsonl", other, DATA / "cut.jsonl").stdout)
        self.assertEqual([(r["run"], len(r["processes"])) for r in told["runs"]],
                         [("20260713-142530-4711", 2), ("second", 1)])

    def test_a_run_that_allocated_nothing_is_no_error(self):
        answer = call("report", self.write("r0.jsonl", RUN))
        self.assertEqual(answer.returncode, 0)
        self.assertIn("nothing was allocated", answer.stdout)

    def test_malformed_records_are_named_by_file_and_line(self):
        step = '{"ev":"step","t":1,"step":0,"dev":0,"phase":"warmup","requests":1,"hits":0,"misses":0'
        for line, words in {
            "nonsense": ("expected an object",),
            step: ("byte", "expected ','"),
            step + "} x": ("something follows",),
            step.replace('"t":1,', "") + "}": ('lacks "t"',),
            step.replace('"ev":"step",', "") + "}": ('lacks "ev"',),
            step.replace('"hits":0,', "") + "}": ("a step record lacks", '"hits"'),
            step.replace('"hits":0', '"hits":-1') + "}": ("a whole number", '"hits"'),
            step.replace('"hits":0', '"hits":1.5') + "}": ("a whole number", '"hits"'),
            step.replace('"hits":0', '"hits":18446744073709551616') + "}": ("a whole number", '"hits"'),
            step.replace('"hits":0', '"hits":"0"') + "}": ("a whole number", '"hits"'),
            step.replace('"hits":0', '"hits":null') + "}": ("a whole number", '"hits"'),
            step.replace('"hits":0', '"hits":01') + "}": ("starts with 0",),
            step.replace('"warmup"', "7") + "}": ("a text", '"phase"'),
            step.replace('"warmup"', '"a\\qb"') + "}": ("escape",),
            step.replace('"warmup"', '"a\\u12g4"') + "}": ("hexadecimal",),
            step.replace('"warmup"', '"a\tb"') + "}": ("control character",),
            step + ',"deep":' + "[" * 100 + "]" * 100 + "}": ("nested too deep",),
            step + ',"list":[1,]}': ("expected a value",),
            step + ',"object":{"a" 1}}': ("':'",),
            RUN: ("second record", '"run"'),
            "": ("expected an object",),
            "\0": ("expected an object",),
        }.items():
            with self.subTest(line=line[:100]):
                log = self.write("r0.jsonl", RUN, line)
                self.fails(call("report", log), 3, f"{log}, line 2: ", *words)

    def test_a_log_begins_with_run_of_a_known_version(self):
        for line, words in {
            '{"ev":"step","t":1,"step":0,"dev":0,"phase":"warmup","requests":1,"hits":0,"misses":0}': ("does not begin",),
            '{"ev":"later","t":1}': ("does not begin",),
            RUN.replace('"v":1', '"v":2'): ("format 2", "reads format 1"),
        }.items():
            self.fails(call("report", self.write("r0.jsonl", line)), 3, "line 1", *words)

    def test_events_and_fields_of_later_versions_are_passed_over(self):
        log = self.write("r0.jsonl", RUN, '{"ev":"aurora","t":5,"x":{"y":[1,"a",{"z":null}]}}',
                         '{"ev":"step","t":9,"step":0,"dev":0,"phase":"warmup","requests":1,"hits":0,"misses":0,"new":[[]]}',
                         '{"ev":"phase","t":9,"step":1,"dev":0,"from":"warmup","to":"dusk","reason":"tired"}')
        answer = call("report", log)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("warmup 0  dusk 1-", answer.stdout)
        self.assertIn("warmup -> dusk: tired.", answer.stdout)

    def test_a_last_line_that_lacks_only_its_newline_counts(self):
        log = self.write("r0.jsonl", *(DATA / "late.jsonl").read_text().splitlines(), end="")
        self.assertTrue(json.loads(call("report", "--json", log).stdout)["runs"][0]["processes"][0]["is_complete"])

    def test_every_prefix_of_a_log_is_told_or_refused_without_a_crash(self):
        whole = (DATA / "late.jsonl").read_bytes()
        for length in range(0, len(whole), 53):
            path = self.folder / "r0.jsonl"
            path.write_bytes(whole[:length])
            self.assertIn(call("report", path).returncode, (0, 3), f"prefix of {length} bytes")

    def test_any_byte_may_be_wrong_without_a_crash(self):
        whole = bytearray((DATA / "late.jsonl").read_bytes())
        for at in range(0, len(whole), 41):
            path = self.folder / "r0.jsonl"
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1:])
            self.assertIn(call("report", path).returncode, (0, 3), f"byte {at}")

    def test_a_line_longer_than_any_of_a_log_is_refused_in_bounded_memory(self):
        log = self.write("r0.jsonl", RUN, '{"ev":"warn","t":1,"text":"' + "x" * (5 << 20) + '"}')
        self.fails(call("report", log), 3, "line 2", "longer")

    def test_texts_of_a_log_cannot_drive_a_terminal(self):
        log = self.write("r0.jsonl", RUN.replace("./train", "\\u001b[2J"), '{"ev":"warn","t":1,"text":"a\\u001b]0;x\\u0007b"}')
        self.assertNotIn("\x1b", call("report", log).stdout)

    def test_the_widest_numbers_do_not_break_the_report(self):
        most = 2**64 - 1
        sums = ",".join(f'"{n}":{most}' for n in ("requests", "hits", "misses", "bypassed", "live_peak", "held_peak",
                                                  "driver_allocs", "driver_frees", "driver_ns", "wait_ns", "dur_ns"))
        log = self.write("r0.jsonl", RUN, f'{{"ev":"step","t":{most},"step":{most - 1},"dev":{most},"phase":"fixed",{sums}}}',
                         f'{{"ev":"shape","t":1,"step":0,"dev":{most},"id":{most},"bytes":{most},"requests":{most}}}')
        self.assertEqual(call("report", log).returncode, 0)
        self.assertEqual(call("report", "--json", log).returncode, 0)


class FailOn(Case):
    def judged(self, conditions, *logs, status=1):
        answer = call("report", "--fail-on", conditions, *(logs or ["ranks"]), cwd=DATA)
        self.assertEqual(answer.returncode, status, answer.stderr)
        self.assertEqual(answer.stdout, call("report", *(logs or ["ranks"]), cwd=DATA).stdout)
        return answer.stderr

    def test_nothing_is_said_where_no_condition_holds(self):
        self.assertEqual(self.judged("hit<70,oom>0,refused!=0,held>=73MiB,live<64MiB,alloc>1s,wait>=511us,steps!=12,shapes>7", status=0), "")

    def test_what_trips_is_named_with_rank_and_figure(self):
        self.assertEqual(self.judged("hit<80"), "shapecache: report: --fail-on hit<80: rank 0 has 75.00%, rank 1 has 75.00%, rank 2 has 75.00%, "
                                     "rank 3 has 75.00%\n")
        self.assertEqual(self.judged("hit>99,fallback>0,oom>0", "oom"), "shapecache: report: --fail-on fallback>0: rank 1 has 2\n"
                         "shapecache: report: --fail-on oom>0: rank 1 has 2\n")
        self.assertIn("--fail-on held > 71.5MiB: rank 0 has 72.0 MiB", self.judged(" held > 71.5MiB "))
        self.assertIn("rank 0 has 75.00%", self.judged("hit<80", "late.jsonl"))

    def test_every_relation_means_what_it_says(self):
        for relation, below, same, above in (("<", 0, 0, 1), ("<=", 0, 1, 1), (">", 1, 0, 0), (">=", 1, 1, 0), ("==", 0, 1, 0), ("!=", 1, 0, 1)):
            for value, status in ((11, below), (12, same), (13, above)):
                self.judged(f"steps{relation}{value}", status=status)

    def test_values_have_units(self):
        for condition, status in (("held>=72MiB", 1), ("held>=75497472", 1), ("held>75497472B", 0), ("wait>=510us", 1), ("wait>0.51ms", 0),
                                  ("wait>=0.00051s", 1), ("hit<75.01%", 1), ("hit<75", 0), ("alloc<1h", 1)):
            self.judged(condition, status=status)

    def test_settled_leaves_out_the_step_in_which_the_cache_fills(self):
        for log in "four/r0.jsonl", "late.jsonl":
            lines = [json.loads(line) for line in (DATA / log).read_text().splitlines()]
            fixed = [line for line in lines if line["ev"] == "step" and line["phase"] == "fixed"][1:]
            rate = 10000 * sum(s["hits"] for s in fixed) // sum(s["hits"] + s["misses"] for s in fixed)
            self.judged(f"settled!={rate / 100:.2f}", log, status=0)

    def test_a_figure_that_a_log_does_not_have_is_not_passed(self):
        self.assertEqual(self.judged("strict>0", "late.jsonl"), "shapecache: report: --fail-on strict>0: rank 0 has none in its log\n")
        self.assertIn("hit<1: rank 0 has none in its log", self.judged("hit<1", "segments.jsonl"))
        self.assertIn("held>1TiB: rank 0 has none in its log", self.judged("held>1TiB", "segments.jsonl"))

    def test_a_run_that_used_no_device_is_not_passed(self):
        with tempfile.TemporaryDirectory(prefix="shapecache-cli-") as folder:
            log = pathlib.Path(folder) / "r0.jsonl"
            log.write_text(RUN + "\n")
            answer = call("report", "--fail-on", "oom>0", log)
        self.assertEqual((answer.returncode, "no device was used" in answer.stderr), (1, True))

    def test_many_ranks_are_counted_not_listed(self):
        with tempfile.TemporaryDirectory(prefix="shapecache-cli-") as folder:
            for rank in range(40):
                lines = [json.loads(line) for line in (DATA / "late.jsonl").read_text().splitlines()]
                lines[0] |= {"rank": rank, "world": 40}
                (pathlib.Path(folder) / f"r{rank}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
            answer = call("report", "--fail-on", "hit<99", folder)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("rank 7 has 75.00% and 32 more\n", answer.stderr)

    def test_runs_are_told_apart(self):
        text = self.judged("steps>0", "late.jsonl", "sites.jsonl", status=1)
        names = {json.loads((DATA / log).read_text().splitlines()[0])["run"] for log in ("late.jsonl", "sites.jsonl")}
        self.assertEqual(len(names) > 1, any(f"{name} rank 0 has 12" in text for name in names))

    def test_json_is_judged_too_and_stays_valid(self):
        answer = call("report", "--json", "--fail-on=hit<99", "late.jsonl", cwd=DATA)
        self.assertEqual((answer.returncode, json.loads(answer.stdout)["v"]), (1, 1))

    def test_what_is_wrong_with_a_condition_is_said_with_what_was_expected(self):
        for condition, *words in (("hti<95", 'there is no figure "hti"; the nearest is "hit" of hit, settled, ', ", wait\n"),
                                  ("hit", "expected one of hit, settled, ", "then one of < <= > >= == !=, then a value"),
                                  ("hit=95", "then one of < <= > >= == !="), ("<95", "expected one of hit"), ("", "expected one of hit"),
                                  ("hit<95,", 'report: --fail-on "": expected'), ("hit<lots", 'expected a percentage', 'such as 95 or 99.5, found "lots"'),
                                  ("hit<95.123", "at most two decimals"), ("hit<-1", "expected a percentage"), ("hit<1e2", "expected a percentage"),
                                  ("hit<nan", "expected a percentage"), ("held>many", 'expected bytes, such as 1.5GiB or 4096, found "many"'),
                                  ("wait>2", "expected a time with its unit (ns, us, ms, s, m or h)", 'found "2"'), ("wait>2.s", 'found "2.s"'),
                                  ("oom>-1", 'expected a whole number, found "-1"'), ("oom>1.5", "expected a whole number"),
                                  ("\u001b[2Jx<3", "there is no figure"), ("x" * 3000 + "<3", "there is no figure"), ("hit<" + "9" * 400, "expected")):
            answer = call("report", "--fail-on", condition, "late.jsonl", cwd=DATA)
            self.assertEqual((answer.returncode, answer.stdout), (2, ""), condition)
            for word in words:
                self.assertIn(word, answer.stderr, condition)
            self.assertNotIn("\u001b", answer.stderr)
        self.fails(call("report", "--fail-on"), 2, "--fail-on wants conditions")
        self.fails(call("report", "--fail-on", "hit<1", "--timeline", "late.jsonl", cwd=DATA), 2, "--fail-on judges figures")

    def test_help_lists_every_figure(self):
        text = call("help", "report").stdout
        for name in ("hit", "settled", "served", "fixed", "fallback", "oom", "refused", "strict", "miss", "live", "held", "alloc", "wait"):
            self.assertRegex(text, rf"(?m)^  {name}: ")


class Strict(Case):
    def test_a_settled_cache_that_asked_the_driver_is_named_and_exits_with_1(self):
        answer = call("report", "four", cwd=DATA)
        self.assertEqual(answer.returncode, 1)
        self.assertEqual(answer.stderr, "shapecache: report: SHAPECACHE_STRICT: rank 2: 1 driver allocation in phase fixed that a settled cache "
                         "should have served, the first of shape 15, 1.82 MiB, at step 9 from train+0x6d0c\n")
        told = " ".join(answer.stdout.split())
        self.assertIn("(SHAPECACHE_STRICT), the first of each shape: step 9 1.82 MiB, shape 15, asked for at train+0x6d0c: its shape was never seen "
                      "before.", told)
        device = json.loads(call("report", "--json", "four/r2.jsonl", cwd=DATA).stdout)["runs"][0]["processes"][0]["devices"][0]
        self.assertEqual(device["strict"], 1)
        self.assertEqual(device["strict_shapes"], [{"step": 9, "shape": 15, "bytes": 1908352, "site": "train+0x6d0c", "lapse": "new-shape"}])

    def test_one_that_kept_to_it_exits_with_0(self):
        answer = call("report", "four/r0.jsonl", cwd=DATA)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertNotIn("SHAPECACHE_STRICT)", answer.stdout)

    def test_of_a_killed_run_what_has_a_record_counts(self):
        lines = (DATA / "four/r2.jsonl").read_text().splitlines()
        at = next(i for i, line in enumerate(lines) if '"ev":"strict"' in line)
        more = [json.dumps(json.loads(lines[at]) | {"shape": 100 + i, "lapse": word}) for i, word in enumerate(["more", "gone", "later"] * 5)]
        with tempfile.TemporaryDirectory(prefix="shapecache-cli-") as folder:
            log = pathlib.Path(folder) / "r0.jsonl"
            log.write_text("\n".join([*lines[:at + 1], *more]) + "\n")
            answer = call("report", log)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("at least 16 driver allocations in phase fixed", answer.stderr)
        for words in ("more buffers of its shape were live than ever before.", "a buffer that would have served it had gone back to the driver.",
                      "train+0x6d0c: later.", "... and 8 more shapes; --json has them"):
            self.assertIn(words, " ".join(answer.stdout.split()))


class Ends(Case):
    def test_wrong_use_is_told_with_status_2(self):
        self.fails(call("report"), 2, "which log", "help report")
        self.fails(call("report", "--jsno", "x"), 2, '"--jsno"')
        self.fails(call("report", "--top", "many", "x"), 2, "--top")
        self.fails(call("report", "--top"), 2, "--top")
        self.fails(call("report", "--top=many", "x"), 2, "report: --top wants a number")
        self.fails(call("report", "--json=yes", "x"), 2, 'report: "--json=yes": --json takes no value')
        self.fails(call("report", "--jsno=yes", "x"), 2, 'no option "--jsno=yes"')

    def test_a_value_may_stand_behind_its_option_or_be_joined_to_it(self):
        late, events = DATA / "late.jsonl", DATA / "events.jsonl"
        for command, option, value, *more in (("report", "--top", "3", late), ("steps", "--every", "2", late), ("steps", "--dev", "0", late),
                                              ("shapes", "--sort", "hits", late), ("sites", "--top", "1", late), ("diff", "--top", "1", late, late),
                                              ("export", "--to", "trace", events), ("export", "--rows", "shape", "--to=csv", events)):
            apart, joined = call(command, option, value, *more), call(command, f"{option}={value}", *more)
            self.assertEqual((apart.returncode, joined.returncode, joined.stdout), (0, 0, apart.stdout), joined.stderr)
            self.assertEqual(joined.stderr, apart.stderr)

    def test_a_file_of_another_kind_is_no_log(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mine"
            for text in (b"#include <cuda.h>\n", b"{\n", b'{"name":"x"}\n', b"\x7fELF\0\x01\n", b"x" * (5 << 20), b"[]\n"):
                path.write_bytes(text)
                self.fails(call("report", path), 3, f"report: not a shapecache log: {path}, line 1: ")
            path.write_bytes(b"shapecache shapes 1\nkey bytes\n")
            self.fails(call("report", path), 3, f"report: not a shapecache log: {path} is a set of shapes, for SHAPECACHE_SHAPES")
            first = (DATA / "late.jsonl").read_bytes().splitlines(True)[0]
            for text in (first[:40], first + b"x\n", first.replace(b'"v":1', b'"v":9')):
                path.write_bytes(text)
                answer = call("report", path)
                self.fails(answer, 3, f"report: {path}, line ")

    def test_a_folder_that_holds_runs_is_told_its_newest(self):
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder)
            self.fails(call("report", ".", cwd=folder), 3, "report: . has no log in it (r*.jsonl)\n")
            for name, second in ("shapecache-run.9", 1000), ("shapecache-run.new", 3000), ("shapecache-run.1", 2000), ("other", 4000):
                (top / name).mkdir()
                os.utime(top / name, (second, second))
            (top / "shapecache-run.file").write_text("")
            self.fails(call("report", ".", cwd=folder), 3, "has no log in it (r*.jsonl); the newest run here is ./shapecache-run.new\n")
            self.fails(call("shapes", f"{folder}/"), 3, f"the newest run here is {folder}/shapecache-run.new\n")

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            answer = subprocess.run([TOOL, "report", DATA / "late.jsonl"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(answer.returncode, 3)
        self.assertIn("No space left", answer.stderr)

    def test_a_reader_that_leaves_early_is_none(self):
        ends = os.pipe()
        os.close(ends[0])
        answer = subprocess.run([TOOL, "report", DATA / "late.jsonl"], stdout=ends[1], stderr=subprocess.PIPE, text=True,
                                env=clean_environment(), preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
        os.close(ends[1])
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))


main()
