#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What docs/reading-a-log.md shows of standard error is what the runs of its logs said.

Each block `NAME.txt` ends with a summary whose every figure is also in the last record of tests/docs/NAME.jsonl.xz."""

import json
import lzma
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/docs"))
import run_page  # noqa: E402

UNITS = ("B", "KiB", "MiB", "GiB")


def size(number):
    for unit in UNITS:
        if number < 999.5 or unit == UNITS[-1]:
            break
        number /= 1024
    digits = 0 if unit == "B" or number >= 99.95 else 1 if number >= 9.995 else 2
    return f"{number:.{digits}f} {unit}"


def seconds(ns):
    return f"{(ns + 5_000_000) // 10_000_000 / 100:.2f} s"


def summary(end):
    """The first two lines that a run with this last record ends with, without the process."""
    lines = [f"{end['requests']} requests"]
    is_passed = end["bypassed"] == end["requests"] and not end["shapes"]
    if is_passed:
        lines[0] += ", all passed by"
    else:
        fixed = end["hits"] + end["misses"]
        lines[0] += f", {end['hits'] * 1000 // fixed / 10}% hits while fixed" if fixed else ""
        lines[0] += f", fixed in {end['steps_fixed']} of {end['steps']} steps"
    lines[0] += f"; {seconds(end['driver_ns'])} in driver allocations and frees"
    if end["hits"]:
        lines[0] += f", saved {seconds(int(end['driver_ns'] / end['driver_allocs'] * end['hits']) - end['wait_ns'])} (an estimate)"
    if is_passed:
        return [*lines, "no memory held; what passed by is its asker's"]
    held = f"held at most {size(end['held_peak'])}, live and idle, for {size(end['live_peak'])} live at most"
    return [*lines, f"{held}; frees waited {seconds(end['wait_ns'])}"]


class Said(unittest.TestCase):
    def test_each_summary_has_the_figures_of_its_log(self):
        page = (SOURCE / "docs/reading-a-log.md").read_text()
        shown = {re.search(r"`(\w+)\.txt`:$", before)[1]: lines for language, before, lines in run_page.blocks(page) if language}
        self.assertEqual(set(shown), {path.name.split(".")[0] for path in (SOURCE / "tests/docs").glob("*.jsonl.xz")})
        for name, lines in shown.items():
            with self.subTest(run=name):
                records = lzma.decompress((SOURCE / f"tests/docs/{name}.jsonl.xz").read_bytes()).decode().splitlines()
                pid = json.loads(records[0])["pid"]
                plain = [line.removeprefix(f"shapecache[{pid}] ") for line in lines]
                self.assertEqual(plain[-4:-2], summary(json.loads(records[-1])))


if __name__ == "__main__":
    unittest.main(verbosity=2)
