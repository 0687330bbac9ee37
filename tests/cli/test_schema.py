#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/log.schema.json: what the tables say, valid itself, and a check that lets nothing wrong pass."""

import copy
import json
import pathlib
import sys

from tool import ROOT, Case, call, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

STEP = {"ev": "step", "t": 5, "step": 0, "dev": 0, "phase": "fixed", "requests": 3, "hits": 2, "misses": 1}
RUN = {"ev": "run", "t": 0, "v": 1, "pid": 7, "devices": [{"dev": 0, "total": 1 << 33}], "argv": ["a"],
       "config": {"SHAPECACHE": {"value": "on", "from": "env"}}}


class Schema(Case):
    def wrong(self, record, words, **changes):
        record = {name: value for name, value in (record | changes).items() if value is not ...}
        with self.assertRaises(logs.Invalid) as caught:
            logs.check(record)
        self.assertIn(words, str(caught.exception))

    def test_the_schema_is_what_the_tables_say(self):
        answer = call("report", "--schema")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertEqual(answer.stdout, (ROOT / "docs/log.schema.json").read_text(), "run ./dev docs")

    def test_every_list_and_object_says_what_it_holds(self):
        for name, field in logs.validator(False).schema["$defs"].items():
            if name.startswith("field-"):
                self.assertIn(field["type"], ("integer", "string", "array", "object"), name)
            if field.get("type") in ("array", "object"):
                self.assertTrue({"items", "additionalProperties"} & field.keys(), name)

    def test_a_good_record_passes(self):
        self.assertEqual(logs.check(STEP), STEP)
        self.assertEqual(logs.check(RUN), RUN)

    def test_a_wrong_type_is_an_error(self):
        for name in STEP:
            for value in (None, 1.5, -1, 1 << 64, True, [], {}) if isinstance(STEP[name], int) else (None, 3, True, [], {}):
                with self.subTest(name=name, value=value):
                    self.wrong(STEP, name, **{name: value})
        self.wrong(RUN, "devices", devices=[{"dev": 0}])
        self.wrong(RUN, "devices", devices=[{"dev": 0, "total": "8 GiB"}])
        self.wrong(RUN, "config", config={"SHAPECACHE": "on"})
        self.wrong(RUN, "argv", argv=[1])
        self.wrong(RUN, "v", v=2)

    def test_a_missing_field_is_an_error(self):
        for name in STEP:
            with self.subTest(name=name):
                self.wrong(STEP, name, **{name: ...})

    def test_what_nobody_listed_is_an_error_here_and_none_for_readers(self):
        later = STEP | {"colour": "blue"}
        self.wrong(later, "colour")
        self.wrong({"ev": "spark", "t": 1}, "spark")
        self.wrong(STEP, "phase", phase="asleep")
        for record in (later, {"ev": "spark", "t": 1, "x": None}, STEP | {"phase": "asleep"}):
            self.assertTrue(logs.validator(False).is_valid(record), record)

    def test_a_record_that_was_valid_once_is_no_excuse_for_another(self):
        logs.check(STEP)
        self.wrong(STEP, "hits", hits="2")
        self.wrong(STEP, "hits", hits=-2)

    def test_what_is_no_record_or_says_a_thing_twice_is_an_error(self):
        for text in ("[]\n", "1\n", '{"ev":"warn","t":0,"t":0,"text":"x"}\n', '{"ev":["warn"],"t":0}\n'):
            with self.subTest(text=text), self.assertRaises(logs.Invalid):
                logs.parse(text)

    def test_readers_take_less_than_the_strict_schema_and_never_more(self):
        """A line that the reader refuses is no valid one."""
        base = [RUN, STEP]
        for name in STEP:
            for value in (..., None, 1.5, -1, [], {}, "x", 3):
                record = {key: item for key, item in (copy.deepcopy(STEP) | {name: value}).items() if item is not ...}
                text = "".join(json.dumps(line) + "\n" for line in [base[0], record])
                if call("report", "-", input=text).returncode == 3:
                    self.assertFalse(logs.validator(False).is_valid(record), record)

    def test_the_recorded_logs_are_valid(self):
        count = 0
        for path in sorted((ROOT / "tests").rglob("*.jsonl")):
            text = path.read_text(encoding="utf-8")
            for number, line in enumerate(text[:text.rfind("\n")].split("\n"), 1):
                record = json.loads(line)
                if record["ev"] == "spark":  # as a later version may write it: readers must pass over it
                    self.assertTrue(logs.validator(False).is_valid(record))
                else:
                    logs.check(record, f"{path}, line {number}")
                count += 1
        self.assertGreater(count, 200)


main()
