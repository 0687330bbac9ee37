# SPDX-License-Identifier: MIT
"""What the tests of the tool share: where it is, how it is called, what is compared."""

import argparse
import difflib
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DATA = HERE / "data"

_parser = argparse.ArgumentParser()
_parser.add_argument("--build", default=str(ROOT / "build"))
_parser.add_argument("--stand-in", default="")
_parser.add_argument("--rewrite", action="store_true", help="take what the tool says now as expected")
ARGS, REST = _parser.parse_known_args()
BUILD = pathlib.Path(ARGS.build).resolve()
TOOL = BUILD / "shapecache"


def clean_environment(**more):
    dropped = ("SHAPECACHE", "LD_PRELOAD", "LD_LIBRARY_PATH", "SIMCUDA_", "RANK", "WORLD_SIZE", "LOCAL_RANK", "SLURM_",
               "OMPI_", "PMI_", "TORCHELASTIC_")
    return {k: v for k, v in os.environ.items() if not k.startswith(dropped)} | more


def call(*arguments, tool=TOOL, environment=None, **more):
    return subprocess.run([str(tool), *map(str, arguments)], text=True, capture_output=True, timeout=60,
                          env=clean_environment() if environment is None else environment, **more)


class Case(unittest.TestCase):
    def expect(self, name, text):
        """The golden file data/NAME holds exactly `text`."""
        path = DATA / name
        if ARGS.rewrite:
            path.write_text(text)
        wanted = path.read_text()
        if text != wanted:
            self.fail("\n" + "".join(difflib.unified_diff(wanted.splitlines(True), text.splitlines(True), str(path), "now")))

    def fails(self, answer, status, *words):
        self.assertEqual(answer.returncode, status, answer.stderr)
        self.assertEqual(answer.stdout, "")
        for word in words:
            self.assertIn(word, answer.stderr)


def main():
    unittest.main(argv=[sys.argv[0], *REST])
