#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/reading-a-log.md is true of PyTorch: its runs are made again, and what they print is what the page says.

The page's own test reads the logs that lie in tests/docs; --record makes them anew. Times and the process's number differ from run
to run, everything else must not."""

import argparse
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/docs"))
import run_page  # noqa: E402
import views  # noqa: E402

PAGE = ROOT / "docs/reading-a-log.md"
LOGS = ROOT / "tests/docs"
RUNS = {"ragged": ("--torch", (), 1), "bucketed": ("--torch", ("--cut", "256", "--bucket", "64"), 0), "segments": ("--torch=segments", (), 1)}
KEPT = tuple(RUNS)  # logs that the page reads
TIME = re.compile(r"\d+(\.\d+)? (ns|us|ms|s)\b")
# How well the cap chooses whom to evict is no matter of the page's.
SKILL = re.compile(r"[\d.]+% hits|saved [^(]*|evicted [\d,]+ buffers|on [\d.]+% of|held at most [^,]*, live|^(served|driver calls|held peak) .*")
OPTIONS = None


def make(name, folder):
    """Runs the program in `folder`; its standard error."""
    view, arguments, status = RUNS[name]
    shutil.copy(ROOT / "tests/torch/programs/ragged.py", folder / "train.py")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SHAPECACHE", "SIMCUDA", "LD_", "PYTORCH", "PYTHON"))}
    kept |= {"SIMCUDA_MEMORY": "512MiB", "SHAPECACHE_LOG": f"{name}.jsonl", "SHAPECACHE_RUN_ID": "RUN", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [OPTIONS.build / "shapecache", "run", "--sim", view, "--", OPTIONS.python, "train.py", *arguments]
    for _ in range(views.TRIES):
        (folder / f"{name}.jsonl").unlink(missing_ok=True)
        done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False, timeout=900)
        if not views.is_exit_race(done.returncode, done.stderr):
            break
    if done.returncode != status:
        raise AssertionError(f"{name} ended with {done.returncode}\n{done.stderr[-4000:]}")
    return done.stderr


def scrubbed(log):
    """The log without what names the machine it was made on."""
    for line in log.splitlines():
        record = json.loads(line)
        if record["ev"] == "run":
            record |= {"pid": 4711, "host": "host", "argv": ["python", *record["argv"][1:]], "t0_unix_ns": 1764460800000000000}
            record["config"]["SHAPECACHE_LIBRARY"]["value"] = ""
        yield json.dumps(record, separators=(",", ":"), ensure_ascii=False)


def plain(line):
    """What must be the same each time."""
    line = re.sub(r"\s+", " ", re.sub(r"shapecache\[\d+\] ", "", line))
    return SKILL.sub("FIGURE", TIME.sub("TIME", line)).strip()


def said(err):
    return [line for line in err.splitlines() if line.startswith("shapecache[")]


class Page(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="shapecache-reading-")
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.err = {name: make(name, cls.folder) for name in RUNS}
        for entry in ("include", "hooks", "src", "tests", "docs"):
            (cls.folder / entry).symlink_to(ROOT / entry)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_what_the_runs_say_is_what_the_page_shows(self):
        shown = {re.search(r"`(\w+)\.txt`:$", before)[1]: lines for language, before, lines in run_page.blocks(PAGE.read_text()) if language}
        self.assertEqual(set(shown), set(RUNS))
        for name, lines in shown.items():
            with self.subTest(run=name):
                self.assertEqual([plain(line) for line in lines], [plain(line) for line in said(self.err[name])])

    def test_what_the_page_reads_in_its_logs_is_in_those_of_new_runs(self):
        shell = run_page.Shell(self.folder, os.environ | {"PATH": f"{OPTIONS.build}{os.pathsep}{os.environ['PATH']}"})
        count = 0
        try:
            for language, _, lines in run_page.blocks(PAGE.read_text()):
                for command, wanted in () if language else run_page.examples(lines):
                    if not wanted:
                        continue
                    with self.subTest(command=command):
                        printed, status = shell.run(command)
                        self.assertEqual(([plain(line) for line in printed], status), ([plain(line) for line in wanted], 0))
                        count += 1
        finally:
            shell.close()
        self.assertGreater(count, 5)


def record():
    with tempfile.TemporaryDirectory(prefix="shapecache-reading-") as name:
        folder = pathlib.Path(name)
        for run in RUNS:
            print(f"--- {run}.txt", *said(make(run, folder)), sep="\n")
            if run in KEPT:
                lines = "\n".join(scrubbed((folder / f"{run}.jsonl").read_text())) + "\n"
                (LOGS / f"{run}.jsonl.xz").write_bytes(lzma.compress(lines.encode(), preset=9))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--python", type=pathlib.Path)
    parser.add_argument("--record", action="store_true", help="make the logs of the page anew, and print what the runs say")
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.build = OPTIONS.build.resolve()
    OPTIONS.python = (OPTIONS.python or OPTIONS.build / "torch/bin/python").absolute()
    if OPTIONS.record:
        record()
    else:
        unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
