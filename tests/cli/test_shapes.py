#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache shapes: what it lists, what it saves, and that a page's example is a set."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

from tool import DATA, ROOT, TOOL, Case, call, clean_environment, main

LATE = [json.loads(line) for line in (DATA / "late.jsonl").read_text().splitlines()]


class Shapes(Case):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def log(self, records):
        path = self.folder / "log.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def listed(self, *options, log=DATA / "late.jsonl"):
        answer = call("shapes", *options, log)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        return answer.stdout

    def ids(self, *options):
        return [int(line.split()[0]) for line in self.listed(*options).splitlines()[1:]]

    def saved(self, *options, log=DATA / "late.jsonl", name="set"):
        answer = call("shapes", "--save", self.folder / name, *options, log)
        self.assertEqual((answer.returncode, answer.stdout), (0, ""), answer.stderr)
        return (self.folder / name).read_text(), answer.stderr

    def test_the_list(self):
        self.expect("shapes.txt", self.listed())

    def test_it_is_sorted_by_what_is_asked_for_most_first(self):
        rows = {record["id"]: record for record in LATE if record["ev"] == "shape"}
        self.assertEqual(self.ids("--sort", "seen"), sorted(rows))
        for name in ("bytes", "requests", "hits", "misses", "evicted"):
            values = [rows[i][name] for i in self.ids("--sort", name)]
            self.assertEqual(values, sorted(values, reverse=True), name)
        self.assertEqual(self.ids(), self.ids("--sort", "high"))
        self.assertEqual(self.ids("--sort", "requests", "--top", "2"), self.ids("--sort", "requests")[:2])
        self.assertEqual(self.listed("--top", "0"), "")

    def test_a_document_holds_the_last_row_of_each_shape(self):
        rows = {record["id"]: record for record in LATE if record["ev"] == "shape"}
        document = json.loads(self.listed("--json", "--sort", "bytes"))
        self.assertEqual(document["v"], 1)
        self.assertEqual([shape["id"] for shape in document["shapes"]], self.ids("--sort", "bytes"))
        for shape in document["shapes"]:
            self.assertEqual(shape | {"ev": "shape"}, {name: value for name, value in rows[shape["id"]].items() if name not in ("t", "step")})
        records = [record | {"label": "keys", "dims": [2, 3]} if record["ev"] == "shape" else record for record in LATE]
        shape = json.loads(self.listed("--json", "--top", "1", log=self.log(records)))["shapes"][0]
        self.assertEqual((shape["label"], shape["dims"]), ("keys", [2, 3]))

    def test_a_saved_set_is_what_the_page_says(self):
        text, said = self.saved()
        self.expect("shapes.set", text)
        self.assertIn("saved 7 shapes", said)
        answer = call("env", environment=clean_environment(SHAPECACHE_SHAPES=str(self.folder / "set")))
        self.assertEqual(answer.stderr, "")

    def test_words_of_the_program_are_saved_with_its_shapes(self):
        records = [dict(record) for record in LATE]
        for record in records:
            if record["ev"] == "shape" and record["id"] == 1:
                record |= {"label": 'queries "and" keys', "dims": [16, 512, 384], "site": "my program+0x1"}
        text, _ = self.saved(log=self.log(records))
        self.assertIn('shape 16777216 label "queries \\"and\\" keys" dims 16x512x384 site "my program+0x1"  #', text)
        self.assertIn("what", self.listed(log=self.folder / "log.jsonl"))

    def test_with_sites_in_the_key_each_is_saved_and_none_twice(self):
        records = [dict(record) for record in LATE]
        records[0]["config"]["SHAPECACHE_KEY"] = {"value": "bytes+site", "from": "env"}
        one = next(record for record in records if record["ev"] == "shape" and record["id"] == 1)
        for i, site in enumerate(["train+0x1", "train+0x2", "train+0x1"]):
            records.append(one | {"id": 100 + i, "site": site, "dev": i % 2})
        records.append({name: value for name, value in one.items() if name != "site"} | {"id": 200})
        text, _ = self.saved(log=self.log(records))
        self.assertIn("\nkey bytes+site\n", text)
        sites = re.findall(r"^shape 16777216 site (\S+)", text, re.M)
        self.assertEqual(sorted(sites), ["train+0x1", "train+0x2", "train+0x4f31"])
        records[0]["config"]["SHAPECACHE_KEY"] = {"value": "bytes", "from": "env"}
        text, _ = self.saved(log=self.log(records))
        self.assertEqual(text.count("\nshape 16777216 "), 1)
        self.assertNotIn("\nmemory ", text)  # of the second device it is not told

    def test_shapes_of_one_step_alone_are_saved_and_said(self):
        records = [dict(record) for record in LATE]
        rows = [record for record in records if record["ev"] == "shape"]
        for row in rows:
            row |= {"first_step": 0, "last_step": 9}
        self.assertNotIn("alone", "".join(self.saved(log=self.log(records))))
        for row in rows:
            if row["id"] == 1:
                row |= {"first_step": 7, "last_step": 7}
        text, said = self.saved(log=self.log(records))
        self.assertRegex(text, r"(?m)^shape 16777216 .*, in step 7 alone$")
        self.assertEqual(text.count("alone"), 1)
        self.assertIn("1 of them came in one step alone", said)

    def test_a_log_that_does_not_name_all_shapes_says_so(self):
        records = [dict(record) for record in LATE]
        next(record for record in records if record["ev"] == "end")["shapes"] = 9
        self.assertIn("9 shapes, and its log names 7", self.saved(log=self.log(records))[1])
        self.assertIn("has no end", self.saved(log=self.log([r for r in LATE if r["ev"] != "end"]))[1])

    def test_a_file_is_replaced_whole_or_left_alone(self):
        (self.folder / "set").write_text("before")
        self.assertIn("shapecache shapes 1\n", self.saved()[0])
        self.fails(call("shapes", "--save", self.folder / "no" / "set", DATA / "late.jsonl"), 3, "cannot write", "No such file")
        (self.folder / "taken").mkdir()
        self.fails(call("shapes", "--save", self.folder / "taken", DATA / "late.jsonl"), 3, "cannot write")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["set", "taken"])

    def test_what_is_no_regular_file_is_written_to_and_stays_what_it_is(self):
        pipe, read = self.folder / "pipe", []
        os.mkfifo(pipe)
        reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
        reader.start()
        answer = call("shapes", "--save", pipe, DATA / "late.jsonl")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertTrue(pipe.is_fifo())
        reader.join(60)
        self.assertEqual(read, [self.saved()[0]])

    def test_the_log_that_is_read_is_never_written_over(self):
        log = self.log(LATE)
        before = log.read_bytes()
        (self.folder / "link").symlink_to(log)
        (self.folder / "run").mkdir()
        inside = self.folder / "run" / "r0.jsonl"
        os.link(log, inside)
        for save, read in (log, log), (self.folder / "link", log), (inside, self.folder / "run"):
            self.fails(call("shapes", read, "--save", save), 2, f"shapes: {save} is the log that is read")
        with log.open() as stdin:
            self.fails(call("shapes", "-", "--save", log, stdin=stdin), 2, "is the log that is read")
        self.assertEqual((log.read_bytes(), inside.read_bytes()), (before, before))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["link", "log.jsonl", "run"])
        self.assertIn("replacing what is there", call("help", "shapes").stdout)

    def test_what_cannot_be_understood_is_refused(self):
        log = DATA / "late.jsonl"
        self.fails(call("shapes"), 2, "which log?")
        self.fails(call("shapes", log, log), 2, "one log at a time")
        self.fails(call("shapes", "--sort", "name", log), 2, "--sort wants")
        self.fails(call("shapes", log, "--sort"), 2, "--sort wants")
        self.fails(call("shapes", "--top", "many", log), 2, "--top wants")
        self.fails(call("shapes", log, "--save"), 2, "--save wants")
        self.fails(call("shapes", "--svae", "x", log), 2, '"--svae"')
        self.fails(call("shapes", self.folder / "none"), 3, "No such file")
        self.fails(call("shapes", "--save", self.folder / "set", DATA / "late.txt"), 3, "late.txt, line 1")

    def test_the_folder_of_a_run_stands_for_its_only_log(self):
        run = self.folder / "shapecache-run.one"
        run.mkdir()
        self.fails(call("shapes", run), 3, f"shapes: {run} has no log in it")
        shutil.copy(DATA / "late.jsonl", run / "r0.jsonl")
        (run / "readme").write_text("no log")
        self.assertEqual(self.listed(log=run), self.listed())
        self.assertEqual(self.saved(log=run), self.saved(log=run / "r0.jsonl"))
        shutil.copy(DATA / "late.jsonl", run / "r10.jsonl")
        self.fails(call("shapes", run), 2, "has 2 logs: name one", str(run / "r0.jsonl"), str(run / "r10.jsonl"))

    def test_the_command_of_the_page_works_when_two_runs_exist(self):
        page = (ROOT / "docs/shapes.md").read_text()
        command = re.search(r"^shapecache (shapes .*)$", page, re.M)[1]
        for run in ("first", "second"):
            (self.folder / f"shapecache-run.{run}").mkdir()
            shutil.copy(DATA / "late.jsonl", self.folder / f"shapecache-run.{run}" / "r0.jsonl")
        answer = subprocess.run(["sh", "-c", f"exec {TOOL} {command.replace('RUN', 'second')}"], cwd=self.folder,
                                env=clean_environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("saved 7 shapes", answer.stderr)

    def test_the_example_of_the_page_is_a_set(self):
        page = (ROOT / "docs/shapes.md").read_text()
        example = next(block for block in re.findall(r"```\n(.*?)```", page, re.S) if block.startswith("shapecache shapes 1"))
        path = self.folder / "set"
        path.write_text(example)
        environment = clean_environment(SHAPECACHE_SHAPES=str(path))
        self.assertEqual(call("env", environment=environment).stderr, "")
        path.write_text(example + "shape 48MP\n")
        self.assertIn(f"{path}, line {example.count(chr(10)) + 1}: expected a size", call("env", environment=environment).stderr)
        environment = clean_environment(SHAPECACHE_SHAPES="x/%q")
        self.assertIn("placeholder", call("env", environment=environment).stderr)


main()
