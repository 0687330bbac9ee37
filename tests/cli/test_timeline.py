#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache report --timeline: memory over the steps of several logs, side by side."""

import json
import pathlib
import tempfile

from tool import DATA, Case, call, main

MIB = 1 << 20


def step(number, live, held, dev=0):
    return {"ev": "step", "t": 10 * number, "step": number, "dev": dev, "phase": "fixed", "requests": 1, "hits": 1, "misses": 0,
            "live": 0, "idle": 0, "live_peak": live * MIB, "held_peak": held * MIB}


def scope(name, live, held, trimmed=0, dev=0):
    return {"ev": "scope", "t": 1, "step": 0, "dev": dev, "name": name, "depth": 0, "live_peak": live * MIB,
            "held_peak": held * MIB, "trimmed": trimmed * MIB}


class Timeline(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shapecache-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def log(self, name, *records, **run):
        first = {"ev": "run", "t": 0, "v": 1, "pid": 7, "run": "r", "rank": 0, "world": 1, "argv": ["./" + name]}
        path = self.folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in [{**first, **run}, *records]))
        return path

    def told(self, *logs, options=()):
        answer = call("report", "--timeline", *options, *logs)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        return answer.stdout

    def rows(self, text):
        """The cells of the table of steps, without units."""
        lines = text.split("most at once, within a step\n")[1].split("\n\n")[0].splitlines()[1:]
        return [line.replace(" MiB", "").split() for line in lines]

    def test_steps_that_needed_the_same_are_one_row(self):
        log = self.log("a", *[step(i, 2 if i < 3 else 4, 4 if i < 3 else 6) for i in range(1000)])
        self.assertEqual(self.rows(self.told(log)), [["0-2", "2.00", "4.00"], ["3-999", "4.00", "6.00"]])

    def test_two_logs_stand_side_by_side_though_one_is_shorter(self):
        longer = self.log("longer", *[step(i, 2, 2) for i in range(10)])
        shorter = self.log("shorter", *[step(i, 4, 6) for i in range(7)])
        self.assertEqual(self.rows(self.told(longer, shorter)), [["0-6", "2.00", "2.00", "4.00", "6.00"], ["7-9", "2.00", "2.00", "-", "-"]])
        self.assertEqual(self.rows(self.told(shorter, longer)), [["0-6", "4.00", "6.00", "2.00", "2.00"], ["7-9", "-", "-", "2.00", "2.00"]])

    def test_many_different_steps_are_grouped_and_no_peak_is_lost(self):
        log = self.log("a", *[step(i, 2 + i % 7, 900 if i == 613 else 10) for i in range(1000)])
        rows = self.rows(self.told(log))
        self.assertLessEqual(len(rows), 25)
        self.assertEqual([row[0] for row in rows if row[2] == "900"], ["600-639"])
        self.assertEqual({row[1] for row in rows}, {"8.00"})

    def test_a_log_of_every_fourth_step_is_told_where_its_rows_are(self):
        log = self.log("a", *[step(i, 2 + i, 9) for i in range(0, 9, 4)])
        self.assertEqual(self.rows(self.told(log)), [["0", "2.00", "9.00"], ["1-3", "-", "-"], ["4", "6.00", "9.00"],
                                                     ["5-7", "-", "-"], ["8", "10.0", "9.00"]])

    def test_each_lane_says_what_it_is_and_its_most(self):
        mark = {"ev": "mark", "t": 2, "step": 1, "dev": 0, "name": "steps begin", "automatic": 1, "live": 3 * MIB}
        own = {**mark, "name": "mine", "automatic": 0, "live": 77 * MIB}
        text = self.told(self.log("plain", step(0, 2, 4), mark, own, step(1, 6, 8)))
        self.assertIn("A  ./plain\n   2 rows; live at most 6.00 MiB, held 8.00 MiB; live after step 0 3.00 MiB\n", text)
        self.assertNotIn("77", text)

    def test_devices_and_ranks_are_lanes_of_their_own(self):
        two = self.log("two", step(0, 2, 2, dev=0), step(0, 4, 4, dev=1))
        ranked = self.log("ranked", step(0, 6, 6), rank=3, world=4)
        text = self.told(two, ranked)
        self.assertEqual(self.rows(text), [["0", "2.00", "2.00", "4.00", "4.00", "6.00", "6.00"]])
        for head in ("A  rank 0 dev 0: ./two\n", "B  rank 0 dev 1: ./two\n", "C  rank 3 dev 0: ./ranked\n"):
            self.assertIn(head, text)

    def test_a_folder_stands_for_all_its_logs(self):
        text = self.told(DATA / "ranks")
        self.assertIn("D  rank 3 dev 0: ", text)

    def test_scopes_are_told_by_name_with_the_most_of_all_times(self):
        one = self.log("one", scope("load", 9, 9), scope("validate", 2, 4, 3), scope("validate", 6, 5, 2), step(0, 2, 2))
        other = self.log("other", step(0, 2, 2), scope("load", 8, 8))
        table = self.told(one, other).split("scopes, with the most of all times\n")[1].replace(" MiB", "").splitlines()
        self.assertEqual([line.split() for line in table[1:]], [
            ["A", "1", "9.00", "9.00", "0", "B", "load"], ["A", "2", "6.00", "5.00", "5.00", "validate"],
            ["B", "1", "8.00", "8.00", "0", "B", "load"]])

    def test_more_names_of_scopes_than_are_kept_are_counted(self):
        text = self.told(self.log("a", step(0, 2, 2), *[scope(f"name {i}", 2, 2) for i in range(40)]))
        self.assertIn("8 scopes left out", text)
        self.assertIn(" name 31\n", text)

    def test_json_has_every_step_and_scope(self):
        logs = [self.log("a", step(0, 2, 4), step(1, 6, 8), scope("s", 1, 2)), self.log("b", step(0, 3, 3))]
        lanes = json.loads(self.told(*logs, options=["--json"]))["lanes"]
        self.assertEqual([lane["program"] for lane in lanes], ["./a", "./b"])
        self.assertEqual(lanes[0]["steps"][1], {"step": 1, "live": 0, "idle": 0, "live_peak": 6 * MIB, "held_peak": 8 * MIB})
        self.assertEqual(lanes[0]["scopes"], [{"name": "s", "times": 1, "live_peak": MIB, "held_peak": 2 * MIB, "trimmed": 0}])
        self.assertEqual(lanes[1]["scopes"], [])

    def test_a_run_that_was_killed_is_told_up_to_its_last_step(self):
        self.assertTrue(self.rows(self.told(DATA / "killed.jsonl")))

    def test_what_cannot_be_told_is_refused(self):
        good = self.log("a", step(0, 2, 2))
        self.fails(call("report", "--timeline"), 2, "which log")
        self.fails(call("report", "--timeline", "-"), 2, "it wants files")
        self.fails(call("report", "--timeline", *[self.log(name, step(0, 2, 2)) for name in "abcdef"]), 2, "room for 5 devices")
        self.fails(call("report", "--timeline", good, self.folder / "none"), 3, "No such file")
        self.fails(call("report", "--timeline", self.log("empty")), 3, "no step has ended")
        self.log("bad", {"ev": "step"})
        self.fails(call("report", "--timeline", good, self.folder / "bad.jsonl"), 3, "bad.jsonl")


if __name__ == "__main__":
    main()
