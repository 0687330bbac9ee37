#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache arena, and the report's section: the pinned arenas of a run."""

import json
import pathlib
import shutil
import tempfile

from tool import DATA, Case, call, main

LOG = DATA / "arena.jsonl"
RECORDS = [json.loads(line) for line in LOG.read_text().splitlines()]
ARENAS = [record for record in RECORDS if record["ev"] == "arena"]
LAST = ARENAS[-1]


class Arena(Case):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def log(self, records, name="log.jsonl"):
        path = self.folder / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def listed(self, *arguments, command="arena"):
        answer = call(command, *arguments)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        for line in answer.stdout.splitlines():
            if "--json" not in arguments:
                self.assertLessEqual(len(line), 80, line)
        return answer.stdout

    def device(self, log):
        return json.loads(self.listed("--json", log))["runs"][0]["devices"][0]

    def changed(self, **fields):
        """The log with another last record of the arena."""
        return self.log([record | fields if record is LAST else record for record in RECORDS])

    def test_the_list_of_a_recorded_run(self):
        self.expect("arena.txt", self.listed(LOG))

    def test_the_report_of_a_run_with_arenas_has_them(self):
        self.expect("arena-report.txt", self.listed(LOG, command="report"))
        document = json.loads(self.listed("--json", LOG, command="report"))
        self.assertEqual(document["runs"][0]["processes"][0]["devices"][0]["arenas"], self.device(LOG)["arenas"])
        self.assertNotIn("pinned arenas", self.listed(DATA / "late.jsonl", command="report"))

    def test_a_line_says_what_the_last_record_says(self):
        (arena,) = self.device(LOG)["arenas"]
        self.assertEqual({name: value for name, value in arena.items() if name in LAST},
                         {name: value for name, value in LAST.items() if name in arena})
        self.assertGreater(len(arena), 25)
        self.assertTrue(arena["has_ended"])

    def test_every_record_is_told_with_its_step(self):
        device = self.device(LOG)
        self.assertEqual([(row["step"], row["what"], row["tickets_peak"], row["used_peak"]) for row in device["records"]],
                         [(row["step"], row["what"], row["tickets_peak"], row["used_peak"]) for row in ARENAS])

    def test_what_the_device_was_spared_is_that_of_the_end(self):
        end = RECORDS[-1] if RECORDS[-1]["ev"] == "end" else next(r for r in reversed(RECORDS) if r["ev"] == "end")
        device = self.device(LOG)
        self.assertEqual((device["spared"], device["live_without"]), (end["spared"], end["live_without"]))
        killed = self.log([record for record in RECORDS if record["ev"] != "end" and record is not LAST])
        self.assertEqual(self.device(killed)["spared"], ARENAS[-2]["spared"])

    def test_why_it_is_not_known_is_told(self):
        def unknown(word):
            return self.log([{name: value for name, value in record.items() if name not in ("spared", "live_without")}
                             | {"spared_unknown": word} if "spared" in record else record for record in RECORDS])
        for word, why in ("unseen", "in memory that the cache does not see"), ("old", "had been there for long"), ("new-word", "new-word"):
            text = " ".join(self.listed(unknown(word)).split())
            self.assertIn("what the device was spared is not known: ", text)
            self.assertIn(why, text)
            self.assertEqual(self.device(self.folder / "log.jsonl")["spared_unknown"], word)

    def test_misuse_is_told_by_kind(self):
        text = " ".join(self.listed(self.changed(errors=6, wrong_order=1, full=2, mismatched=1, busy=2)).split())
        self.assertIn("calls with an error: 1 in the wrong order, 2 of a full arena, 1 with another size, tag or address, "
                      "2 while another thread's call was running", text)
        self.assertNotIn("calls with an error", self.listed(LOG))

    def test_an_arena_that_begins_anew_under_its_name_is_another(self):
        first = [record for record in ARENAS if record["what"] != "end"]
        twice = self.device(self.log(RECORDS + first))
        self.assertEqual([arena["has_ended"] for arena in twice["arenas"]], [True, False])
        self.assertEqual([row["arena"] for row in twice["records"]], [0] * len(ARENAS) + [1] * len(first))

    def test_arenas_of_ranks_and_of_devices_have_lines_of_their_own(self):
        other = self.log([record | {"rank": 1, "world": 2} if record["ev"] == "run" else record for record in RECORDS], "r1.jsonl")
        text = self.listed(LOG, other)
        self.assertIn("rank  capacity", text)
        self.assertIn("rank 1: spared", text)
        both = self.log(RECORDS + [record | {"dev": 1} for record in ARENAS], "two.jsonl")
        self.assertEqual([len(device["arenas"]) for device in json.loads(self.listed("--json", both))["runs"][0]["devices"]], [1, 1])

    def test_a_long_name_and_more_arenas_than_are_kept_fit(self):
        many = [ARENAS[0] | {"name": f"{'n' * 60}{i}"} for i in range(300)]
        text = self.listed(self.log([RECORDS[0], *many]))
        self.assertIn("more arenas than this tool keeps: 44 records left out", text)

    def test_a_run_without_an_arena_says_so(self):
        self.assertIn("no arena was made", self.listed(DATA / "late.jsonl"))
        self.assertEqual(json.loads(self.listed("--json", DATA / "late.jsonl"))["runs"][0]["devices"][0].get("arenas"), None)

    def test_what_cannot_be_understood_is_refused(self):
        self.fails(call("arena"), 2, "which log, or folder of a run?")
        self.fails(call("arena", "--jsno", LOG), 2, '"--jsno"')
        self.fails(call("arena", self.folder), 3, "has no log in it")
        self.fails(call("arena", self.folder / "none"), 3, "No such file")
        self.fails(call("arena", DATA / "arena.txt"), 3, "arena.txt")


if __name__ == "__main__":
    main()
