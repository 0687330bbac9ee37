#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual pages of docs/man: well-formed, and what the tables say."""

import re
import subprocess

from tool import ROOT, Case, call, main

PAGES = sorted((ROOT / "docs/man").iterdir())
MARK = re.compile(r'^\.\\" Generated .*\n', re.M)


def rendered(page):
    return subprocess.run(["mandoc", "-Tutf8", "-Owidth=78", page], capture_output=True, text=True, check=True).stdout


class Man(Case):
    def test_the_pages_are_clean_mdoc(self):
        self.assertEqual([page.name for page in PAGES], ["shapecache-log.5", "shapecache.1"])
        for page in PAGES:
            done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_the_records_of_the_page_are_those_of_the_tables(self):
        page = (ROOT / "docs/man/shapecache-log.5").read_text()
        answer = call("report", "--man")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertEqual(page[MARK.search(page).end():], answer.stdout, "run ./dev docs")

    def test_every_record_and_field_is_on_the_page_as_it_is_shown(self):
        shown = re.sub(".\b", "", rendered(ROOT / "docs/man/shapecache-log.5"))
        table = (ROOT / "src/log/record.def").read_text()
        for kind in re.findall(r'^EVENT\(\w+,\s+"(\w+)"', table, re.M):
            self.assertRegex(shown, rf"(?m)^   {kind}$")
        for field in re.findall(r"\b(?:MUST|MAY)\(\w+, (\w+)\)", (ROOT / "src/cli/schema.def").read_text()):
            name = re.search(rf'^FIELD\({field},\s+"(\w+)"', table, re.M)
            if name:
                self.assertRegex(shown, rf"(?m)^     {name[1]} \((integer|text|list|object)")

    def test_every_command_is_on_the_page_of_the_tool(self):
        page = (ROOT / "docs/man/shapecache.1").read_text()
        wanted = re.findall(r"^  ([a-z]+) ", call("--help").stdout, re.M)[:-1]
        self.assertEqual(re.findall(r"^\.It Cm (\w+)$", page, re.M), wanted)
        for status in re.findall(r"\b(\d+) ", re.search(r"exit status: (.*)", call("--help").stdout, re.S)[1]):
            self.assertRegex(page, rf"(?m)^\.It .*\b{status}\b")


main()
