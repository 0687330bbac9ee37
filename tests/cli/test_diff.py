#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache diff: what it says of two runs."""

import json
import pathlib
import shutil
import subprocess
import tempfile

from tool import DATA, TOOL, Case, call, main

LOG = DATA / "late.jsonl"
LATE = [json.loads(line) for line in LOG.read_text().splitlines()]


class Diff(Case):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def changed(self, name="log.jsonl", without=None, more=(), **changes):
        """The log, with other last words about its shapes: {id: fields}."""
        records = [record | changes.get(f"shape_{record['id']}", {}) if record["ev"] == "shape" else record for record in LATE]
        records = [record for record in records if record["ev"] != "shape" or record["id"] != without]
        end = records.pop()
        path = self.folder / name
        path.write_text("".join(json.dumps(record) + "\n" for record in [*records, *more, end]))
        return path

    def compared(self, *arguments):
        answer = call("diff", *arguments)
        self.assertIn(answer.returncode, (0, 1), answer.stderr)
        self.assertEqual(answer.stderr, "")
        for line in answer.stdout.splitlines():
            if "--json" not in arguments:
                self.assertLessEqual(len(line), 80, line)
        return answer.stdout

    def shapes(self, a, b):
        document = json.loads(self.compared("--json", a, b))
        self.assertEqual(document["v"], 1)
        return [(s["change"], s["bytes"]) for s in document["shapes"]], document

    def other(self):
        last = {record["id"]: record for record in LATE if record["ev"] == "shape"}
        new = last[1] | {"id": 99, "bytes": 5 << 20, "high": 2}
        more = [new, last[2] | {"miss_ns_avg": 9000000}]
        return self.changed(without=3, more=more, shape_1={"high": 9})

    def test_the_tables(self):
        self.expect("diff.txt", self.compared(LOG, self.other()).replace(str(self.folder), "FOLDER"))

    def test_a_run_is_the_same_as_itself(self):
        shapes, document = self.shapes(LOG, LOG)
        self.assertEqual(shapes, [])
        self.assertEqual(document["shapes_same"], 7)
        self.assertEqual({k: v for k, v in document["a"].items()}, document["b"])
        end = LATE[-1]
        for name in "steps", "requests", "hits", "misses", "live_peak", "held_peak", "driver_ns", "wait_ns", "fallbacks", "ooms":
            self.assertEqual(document["a"][name], end[name], name)

    def test_each_change_is_told_and_told_the_other_way_round(self):
        rows = {record["id"]: record for record in LATE if record["ev"] == "shape"}
        one = rows[1]
        for change, back, log in [
                ("larger", "smaller", self.changed("l", shape_1={"high": one["high"] + 1})),
                ("gone", "new", self.changed("g", without=1)),
                ("new", "gone", self.changed("n", more=[one | {"id": 50, "bytes": 77777}]))]:
            size = 77777 if change == "new" else one["bytes"]
            self.assertEqual(self.shapes(LOG, log)[0], [(change, size)])
            self.assertEqual(self.shapes(log, LOG)[0], [(back, size)])

    def test_slower_is_by_more_than_half_and_of_more_than_a_few(self):
        busy = next(r for r in reversed(LATE) if r["ev"] == "shape" and r["requests"] - r["hits"] >= 8)
        few = next(r for r in reversed(LATE) if r["ev"] == "shape" and r["requests"] - r["hits"] < 8)
        slow = [r | {"miss_ns_avg": 3 * r["miss_ns_avg"] + 10000} for r in (busy, few)]
        self.assertEqual(self.shapes(LOG, self.changed(more=slow))[0], [("slower", busy["bytes"])])
        self.assertEqual(self.shapes(LOG, self.changed(more=[busy | {"miss_ns_avg": busy["miss_ns_avg"] * 5 // 4}]))[0], [])

    def test_sites_tell_shapes_apart_where_both_logs_do(self):
        one = next(record for record in reversed(LATE) if record["ev"] == "shape")
        paths = []
        for name, site in ("a", "here+0x1"), ("b", "there+0x2"):
            path = self.changed(name, **{f"shape_{one['id']}": {"site": site}})
            run, rest = path.read_text().split("\n", 1)
            run = json.loads(run)
            run["config"]["SHAPECACHE_KEY"] = {"value": "bytes+site", "from": "env"}
            path.write_text(json.dumps(run) + "\n" + rest)
            paths.append(path)
        shapes, document = self.shapes(*paths)
        self.assertEqual(sorted(shapes), [("gone", one["bytes"]), ("new", one["bytes"])])
        self.assertEqual({s["site"] for s in document["shapes"]}, {"here+0x1", "there+0x2"})
        self.assertEqual(self.shapes(paths[0], LOG)[0], [])

    def test_only_so_many_are_shown(self):
        other = self.other()
        rows = self.compared(LOG, other).splitlines()
        start = next(i for i, line in enumerate(rows) if line.startswith("change"))
        top = self.compared("--top", "1", LOG, other).splitlines()
        self.assertEqual(top[:start], rows[:start])
        self.assertEqual([line.split()[0] for line in top[start:]], ["change", "larger", "3"])
        self.assertEqual(top[-1], "3 more changed; 4 shapes are the same in both")

    def test_a_run_that_was_killed_is_compared_by_its_steps_and_said(self):
        answer = call("diff", LOG, DATA / "killed.jsonl")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("killed.jsonl has no end: its figures are those of its steps", answer.stderr)

    def test_it_exits_as_diff_does(self):
        end = LATE[-1]
        for status, a, b in ((0, LOG, LOG), (1, LOG, self.other()), (1, self.other(), LOG)):
            self.assertEqual(call("diff", a, b).returncode, status)
            self.assertEqual(call("diff", "--json", "--top", "0", a, b).returncode, status)
        for field, status in (("fallbacks", 1), ("ooms", 1), ("driver_ns", 0), ("wait_ns", 0)):
            path = self.folder / "end.jsonl"
            path.write_text("".join(json.dumps(record) + "\n" for record in [*LATE[:-1], end | {field: 77}]))
            self.assertEqual(call("diff", LOG, path).returncode, status, field)
        with open("/dev/full", "w") as full:
            answer = subprocess.run([TOOL, "diff", LOG, LOG], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((answer.returncode, "No space left" in answer.stderr), (2, True))

    def test_what_cannot_be_understood_is_refused(self):
        self.fails(call("diff"), 2, "which two logs?")
        self.fails(call("diff", LOG), 2, "which two logs?")
        self.fails(call("diff", LOG, LOG, LOG), 2, "two logs, no more")
        self.fails(call("diff", "--top", "x", LOG, LOG), 2, "--top wants")
        self.fails(call("diff", "--jsno", LOG, LOG), 2, '"--jsno"')
        self.fails(call("diff", LOG, self.folder), 2, "has no log in it")
        self.fails(call("diff", LOG, self.folder / "none"), 2, "No such file")
        self.fails(call("diff", DATA / "late.txt", LOG), 2, "late.txt, line 1")


main()
