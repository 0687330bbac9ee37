#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""export --to torch-snapshot as PyTorch's own reader sees it."""

import argparse
import os
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PARSER = argparse.ArgumentParser()
PARSER.add_argument("--build", default=str(HERE.parent.parent / "build"))
ARGS, REST = PARSER.parse_known_args()
BUILD = pathlib.Path(ARGS.build).resolve()
PYTHON = HERE.parent.parent / "build/torch/bin/python"


class Snapshot(unittest.TestCase):
    def viewed(self, folder, *arguments):
        done = subprocess.run([PYTHON, "-m", "torch.cuda._memory_viz", *arguments], cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_memory_viz_reads_it_and_adds_up_to_the_same(self):
        with tempfile.TemporaryDirectory(prefix="shapecache-snapshot-") as folder:
            log = pathlib.Path(folder, "log.jsonl")
            kept = {k: v for k, v in os.environ.items() if not k.startswith(("SIMCUDA_", "SHAPECACHE", "LD_"))}
            # Killed in a fixed step, with live and idle blocks.
            with subprocess.Popen([BUILD / "shapecache", "run", "--sim", "--", BUILD / "tests/programs/train", "--steps", "100000"],
                                  cwd=folder, stdout=subprocess.PIPE, text=True,
                                  env=kept | {"SHAPECACHE_LOG": str(log), "SHAPECACHE_LOG_LEVEL": "event", "SHAPECACHE_SUMMARY": "off"}) as child:
                for line in child.stdout:
                    if line.startswith("step 30 "):
                        break
                child.kill()
            subprocess.run([BUILD / "shapecache", "export", "--to", "torch-snapshot", "--out", "snapshot.pickle", log], cwd=folder, check=True,
                           capture_output=True)
            self.assertRegex(self.viewed(folder, "stats", "snapshot.pickle"), r"(?m)^segments: [1-9]\d*$")
            trace = self.viewed(folder, "trace", "snapshot.pickle")
            for words in ("= cudaMalloc(", "del ", "# free completed for", "TOTAL MEM"):
                self.assertIn(words, trace)
            for plot in ("trace_plot", "segment_plot"):
                self.viewed(folder, plot, "snapshot.pickle", "-o", f"{plot}.html")
                self.assertIn("snapshot.pickle", pathlib.Path(folder, f"{plot}.html").read_text())


unittest.main(argv=["test_snapshot.py", *REST])
