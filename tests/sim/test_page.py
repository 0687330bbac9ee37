#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/simulator.md says what the simulator's sources say: its settings, what it reports, and what the judge calls a
mistake."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
SIM = ROOT / "src/sim"
PAGE = (ROOT / "docs/simulator.md").read_text()
SETTING = re.compile(r'^SETTING\(\w+,\s*(\w+),\s*\w+,\s*"([^"]*)",\s*[^"]+"([^"]*)",\s*"([^"]*)"\)$', re.M)


def code(value):
    return f"`{value}`" if value else ""


def section(title):
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    return found.group(1) if found else ""


def first_cells(title):
    return re.findall(r"^\| `([\w-]+)` \|", section(title), re.M)


class Page(unittest.TestCase):
    maxDiff = None

    def test_the_table_of_settings_is_what_settings_def_says(self):
        table = (SIM / "driver/settings.def").read_text()
        settings = SETTING.findall(table)
        self.assertEqual(len(settings), len(re.findall(r"^SETTING\(", table, re.M)))
        self.assertGreater(len(settings), 0)
        rows = [f"| `SIMCUDA_{name}` | {form} | {code(standard)} | {purpose} |"
                for name, standard, form, purpose in settings]
        self.assertEqual(re.findall(r"^\| `SIMCUDA_.*$", section("Settings"), re.M), rows)

    def test_every_key_of_the_report_has_its_row(self):
        source = (SIM / "driver/report.c").read_text()
        keys = re.findall(r'\\"(\w+)\\": ?(?:%llu|\{"|\[)', source) + re.findall(r'write_calls\(out, "(\w+)"', source)
        self.assertIn("violations", keys)
        self.assertEqual(sorted(set(keys)), sorted(first_cells("The report")))

    def test_every_column_of_the_samples_has_its_row(self):
        source = (SIM / "runtime/sample.c").read_text()
        columns = re.search(r'header\[\] = "([\w,]+)\\n"', source).group(1).split(",")
        self.assertEqual(columns, first_cells("The samples"))

    def test_every_kind_of_violation_has_its_row(self):
        source = "".join(path.read_text() for path in sorted(SIM.rglob("*.c")))
        said = r'(?:simcuda_violation\(|sim_report_locked\(|\bkind = |\(struct verdict\)\{)\s*"([a-z-]+)"'
        kinds = set(re.findall(said, source))
        self.assertIn("early-reuse", kinds)
        self.assertEqual(sorted(kinds), sorted(first_cells("The judge")))


if __name__ == "__main__":
    unittest.main()
