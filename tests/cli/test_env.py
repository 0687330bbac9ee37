#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache env, help and version; and that the generated pages of docs/ are what the tables say."""

import json
import re

from tool import ROOT, Case, call, clean_environment, main


class Env(Case):
    def test_every_setting_of_the_table_is_shown_with_its_default(self):
        rows = re.findall(r'^OPTION\(\w+,\s+"(\w*)"', (ROOT / "src/base/options.def").read_text(), re.M)
        answer = call("env")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        shown = re.findall(r"^(SHAPECACHE\w*) .*\(default\)$", answer.stdout, re.M)
        self.assertEqual(shown, ["SHAPECACHE" + ("_" + row if row else "") for row in rows])
        self.assertGreater(len(rows), 10)

    def test_a_value_that_is_set_says_so_and_shows_its_default(self):
        answer = call("env", environment=clean_environment(SHAPECACHE_WARMUP="7", SHAPECACHE_LIMIT="1.5GiB", SHAPECACHE="0"))
        self.assertRegex(answer.stdout, r"(?m)^SHAPECACHE_WARMUP +7  \(set; default 3\)$")
        self.assertRegex(answer.stdout, r"(?m)^SHAPECACHE_LIMIT +1536MiB  \(set; default 90%\)$")
        self.assertRegex(answer.stdout, r"(?m)^SHAPECACHE +off  \(set; default on\)$")
        self.assertRegex(answer.stdout, r"(?m)^SHAPECACHE_REARM +14  \(default\)$")

    def test_unknown_names_and_bad_values_are_told_on_stderr(self):
        answer = call("env", environment=clean_environment(SHAPECACHE_WARMPU="7", SHAPECACHE_STEP="sometimes"))
        self.assertEqual(answer.returncode, 0)
        self.assertIn('"SHAPECACHE_WARMPU" is not a setting and is ignored; the nearest is SHAPECACHE_WARMUP.', answer.stderr)
        self.assertIn('SHAPECACHE_STEP is "sometimes", which is not auto, api or requests:N with N from 1 to 1000000000; the default is used: auto.', answer.stderr)

    def test_a_log_name_with_an_unknown_placeholder_is_told(self):
        answer = call("env", environment=clean_environment(SHAPECACHE_LOG="a/%q.jsonl"))
        self.assertIn("placeholder", answer.stderr)

    def test_settings_can_be_asked_for_by_name(self):
        for names in (["SHAPECACHE_LIMIT", "SHAPECACHE"], ["limit", "shapecache"], ["Limit", "LIMIT", "SHAPECACHE"]):
            answer = call("env", *names, environment=clean_environment(SHAPECACHE_LIMIT="2GiB"))
            self.assertEqual((answer.returncode, answer.stderr), (0, ""))
            self.assertEqual(re.findall(r"(?m)^SHAPECACHE\w* .*$", answer.stdout)[1], "SHAPECACHE_LIMIT       2GiB  (set; default 90%)")
            self.assertEqual(len(re.findall(r"(?m)^SHAPECACHE", answer.stdout)), 2)
        self.fails(call("env", "limti"), 2, 'no setting "limti"; the nearest is SHAPECACHE_LIMIT')
        self.fails(call("env", "SHAPECACHE_WARMPU"), 2, 'no setting "SHAPECACHE_WARMPU"; the nearest is SHAPECACHE_WARMUP')
        self.fails(call("env", "--markdown", "LIMIT"), 2, '"--markdown" beside another argument')

    def test_programs_get_the_same_as_json(self):
        answer = json.loads(call("env", "--json", environment=clean_environment(SHAPECACHE_WARMUP="7")).stdout)["settings"]
        rows = {row["name"]: row for row in answer}
        self.assertEqual([row["name"] for row in answer], re.findall(r"(?m)^(SHAPECACHE\w*) .*\(default\)$", call("env").stdout))
        self.assertEqual({key: rows["SHAPECACHE_WARMUP"][key] for key in ("value", "from", "default", "values")},
                         {"value": "7", "from": "env", "default": "3", "values": "1 to 1000000"})
        self.assertEqual(rows["SHAPECACHE_LIMIT"]["from"], "default")

    def test_no_line_is_wider_than_80_columns(self):
        for line in call("env").stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_the_page_of_settings_is_what_the_table_says(self):
        answer = call("env", "--markdown", environment=clean_environment(SHAPECACHE_WARMUP="7"))
        self.assertEqual(answer.stdout, (ROOT / "docs/options.md").read_text(), "run ./dev docs")

    def test_the_page_of_the_log_is_what_the_tables_say(self):
        page = (ROOT / "docs/log.md").read_text()
        mark = re.search(r"^<!-- Generated .*-->\n", page, re.M)
        self.assertIsNotNone(mark)
        self.assertEqual(page[mark.end():], call("report", "--fields").stdout, "run ./dev docs")


class Help(Case):
    def test_help_names_every_command(self):
        for arguments in (["--help"], ["-h"], ["help"]):
            answer = call(*arguments)
            self.assertEqual((answer.returncode, answer.stderr), (0, ""))
            for command in re.findall(r"^  ([a-z]+) ", call("--help").stdout, re.M)[:-1]:
                self.assertRegex(answer.stdout, rf"(?m)^  {command} ")

    def test_help_of_a_command_is_the_same_both_ways(self):
        for command in re.findall(r"^  ([a-z]+) ", call("--help").stdout, re.M)[:-1]:
            answer = call("help", command)
            self.assertEqual(answer.returncode, 0)
            self.assertTrue(answer.stdout.startswith(f"usage: shapecache {command}"))
            self.assertEqual(call(command, "--help").stdout, answer.stdout)
            for line in answer.stdout.splitlines():
                self.assertLessEqual(len(line), 84, line)

    def test_version_is_one_line(self):
        self.assertRegex(call("--version").stdout, r"^shapecache \d+\.\d+\.\d+\n$")

    def test_an_unknown_command_names_the_nearest_or_all(self):
        self.fails(call("reprot"), 2, '"reprot"', '"report"')
        self.fails(call("rnu", "x"), 2, '"run"')
        self.fails(call("help", "envv"), 2, '"env"')
        for name in ("train.py", "python", "x", ""):
            answer = call(name)
            all_of_them = ", ".join(re.findall(r"^  ([a-z]+) ", call("--help").stdout, re.M))
            self.assertIn("export, env, ", all_of_them)
            self.fails(answer, 2, f'no command "{name}"; there are {all_of_them}\n')
            self.assertNotIn("nearest", answer.stderr)
        self.fails(call("--verison"), 2, '"--verison"')
        self.fails(call(), 2, "command is missing")
        self.fails(call("env", "x"), 2, '"x"')


main()
