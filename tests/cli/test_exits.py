#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exit statuses, of every command that there is: what docs/ranks.md and the help texts say."""

import pathlib
import re
import shutil
import subprocess
import tempfile

from tool import DATA, ROOT, TOOL, Case, call, clean_environment, main

READERS = {"report": (), "steps": (), "shapes": (), "sites": (), "ranks": (), "oom": (), "arena": (), "export": ("--to", "csv"), "diff": (DATA / "late.jsonl",)}
OTHERS = {"env": (), "completion": ("bash",)}


class Exits(Case):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def named(self):
        return set(re.findall(r"^  ([a-z]+) ", call("--help").stdout, re.M)) - {"help", "run"}

    def test_every_command_but_run_is_tried_here(self):
        self.assertLessEqual(READERS.keys() | OTHERS.keys(), self.named())
        self.assertLessEqual({"report", "steps", "shapes", "sites", "ranks", "oom", "diff"}, READERS.keys())
        page = (ROOT / "docs/ranks.md").read_text()
        for command in READERS.keys() | OTHERS.keys():
            self.assertRegex(page, rf"(?m)^\|.*`{command}`.*\|", command)

    def test_every_help_text_tells_them_and_exits_with_0(self):
        for command in self.named() | {"run"}:
            for arguments in (("help", command), (command, "--help"), (command, "-h")):
                answer = call(*arguments)
                self.assertEqual((answer.returncode, answer.stderr), (0, ""), arguments)
                self.assertRegex(answer.stdout, r"exit status: ", command)
        for command, options in {**READERS, **OTHERS}.items():
            for word in "--help", "-h":
                answer = call(command, *options, word)
                self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (0, call("help", command).stdout, ""), command)
        self.assertNotEqual(call("steps", "--", "--help").returncode, 0)
        self.assertNotEqual(call("shapes", "--sort", "--help", DATA / "late.jsonl").returncode, 0)
        for arguments in (("--help",), ("--version",), ("help",)):
            self.assertEqual(call(*arguments).returncode, 0)

    def test_what_follows_two_dashes_is_a_path(self):
        shutil.copy(DATA / "late.jsonl", self.folder / "--json")
        for command, options in READERS.items():
            answer = call(command, *options, "--", "--json", cwd=self.folder)
            self.assertEqual((answer.returncode, answer.stderr), (0, ""), command)
            self.assertNotIn("{", answer.stdout.splitlines()[0], command)
            self.assertEqual(call(command, *options, "--", "--top", cwd=self.folder).returncode, 2 if command == "diff" else 3, command)

    def test_done_is_0(self):
        for command, options in READERS.items():
            self.assertEqual(call(command, *options, DATA / "late.jsonl").returncode, 0, command)
        for command, options in OTHERS.items():
            self.assertEqual(call(command, *options).returncode, 0, command)

    def test_a_log_with_nothing_in_it_is_told_in_words(self):
        log = self.folder / "r0.jsonl"
        log.write_text((DATA / "late.jsonl").read_text().splitlines()[0] + "\n")
        for command in "report", "shapes", "sites", "ranks", "oom", "arena":
            answer = call(command, log)
            self.assertEqual(answer.returncode, 0, command)
            self.assertRegex(answer.stdout, r"\b(no|never|nothing)\b", command)

    def test_usage_is_2(self):
        for command in self.named():
            self.assertEqual(call(command, "--no-such-option", "x").returncode, 2, command)
        for command in READERS:
            self.assertEqual(call(command).returncode, 2, command)
        for arguments in ((), ("no-such-command",), ("--no-such-option",), ("help", "no-such-command")):
            answer = call(*arguments)
            self.assertEqual((answer.returncode, answer.stdout), (2, ""), arguments)

    def test_what_cannot_be_read_is_3_and_of_diff_2(self):
        malformed = self.folder / "malformed.jsonl"
        malformed.write_text((DATA / "late.jsonl").read_text().splitlines()[0] + "\n{\n{}\n")
        for command, options in READERS.items():
            for log in (self.folder / "none", malformed, DATA / "late.txt", self.folder):
                answer = call(command, *options, log)
                self.assertEqual(answer.returncode, 2 if command == "diff" else 3, (command, log))
                if command not in ("export", "steps"):  # which write while they read
                    self.assertEqual(answer.stdout, "")
                self.assertIn(str(log), answer.stderr)

    def test_an_output_that_cannot_be_written_is_3_and_of_diff_2(self):
        for command, options in {**READERS, **OTHERS}.items():
            for more in ([*options, DATA / "late.jsonl"] if command in READERS else options), ["--help"], [*options, "--help"]:
                words = [TOOL, command, *more]
                with open("/dev/full", "w") as full:
                    answer = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, env=clean_environment(), timeout=60, check=False)
                self.assertEqual(answer.returncode, 2 if command == "diff" else 3, words)
                self.assertEqual(answer.stderr.count("No space left"), 1, words)

    def test_talk_goes_to_stderr_and_data_to_stdout(self):
        for command, options in READERS.items():
            answer = call(command, *options, DATA / "killed.jsonl")
            self.assertIn(answer.returncode, (0, 1), command)
            self.assertNotIn("shapecache: ", answer.stdout)
            for line in answer.stderr.splitlines():
                self.assertTrue(line.startswith(("shapecache: ", "try: ")), line)

    def test_nothing_is_coloured_whatever_is_asked_for(self):
        for settings in ({}, {"CLICOLOR_FORCE": "1"}, {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}):
            for command, options in READERS.items():
                answer = call(command, *options, DATA / "late.jsonl", environment=clean_environment(**settings))
                self.assertNotIn("\x1b", answer.stdout + answer.stderr)


main()
