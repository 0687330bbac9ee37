#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package where there is no library, an old one, or a cache that is off: test_without.py BUILD."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = SOURCE / "hooks/python/shapecache"

HARMLESS = """
import shapecache
from shapecache import _library
assert not shapecache.step() and not shapecache.mark("here") and not shapecache.trim(collect=True)
assert shapecache.phase() == "off"
assert shapecache.memory() == shapecache.Memory() and not shapecache.memory().is_known
with shapecache.scope("outer", trim_after=True) as outer, shapecache.scope("inner") as inner:
    pass
assert not outer.is_known and outer.held_peak == 0
@shapecache.scope
def called():
    return 7
assert called() == 7
print("harmless", _library.library() is not None)
"""


def python(program, folder, **environment):
    """What it printed, on both. The package is a copy, so that no library lies near it."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("SHAPECACHE", "SIMCUDA", "LD_PRELOAD", "PYTHON"))}
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, text=True, timeout=120, check=False, capture_output=True,
                          env={**kept, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environment})
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout, done.stderr


class Without(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copytree(PACKAGE, self.folder / "shapecache", ignore=shutil.ignore_patterns("__pycache__"))

    def test_without_a_library_everything_is_harmless(self):
        self.assertEqual(python(HARMLESS, self.folder), ("harmless False\n", ""))

    def test_a_library_is_found_where_a_setting_says(self):
        library = str(BUILD / "libshapecache.so")
        self.assertEqual(python(HARMLESS, self.folder, SHAPECACHE_LIBRARY=library), ("harmless True\n", ""))

    def test_a_library_is_found_beside_the_package(self):
        shutil.copy(BUILD / "libshapecache.so", self.folder / "shapecache")
        self.assertEqual(python(HARMLESS, self.folder), ("harmless True\n", ""))

    def test_a_library_that_is_preloaded_is_found(self):
        library = str(BUILD / "libshapecache.so")
        self.assertEqual(python(HARMLESS, self.folder, LD_PRELOAD=library), ("harmless True\n", ""))
        self.assertEqual(python(HARMLESS, self.folder, LD_PRELOAD=library, SHAPECACHE="off"), ("harmless True\n", ""))

    def test_a_library_that_somebody_opened_for_himself_is_found(self):
        opened = f"import ctypes; kept = ctypes.CDLL({str(BUILD / 'libshapecache.so')!r})\n"
        self.assertEqual(python(opened + HARMLESS, self.folder), ("harmless True\n", ""))

    def test_a_setting_that_names_no_library_warns_once_and_is_harmless(self):
        for path in ("/nowhere/libshapecache.so", sys.executable, str(BUILD / "sim/libcuda.so.1")):
            with self.subTest(path=path):
                output, warned = python(HARMLESS, self.folder, SHAPECACHE_LIBRARY=path)
                self.assertEqual(output, "harmless False\n")
                self.assertEqual(warned.count("RuntimeWarning: shapecache: "), 1, warned)
                self.assertIn("going on without", warned)

    def test_what_makes_no_sense_without_a_library_says_what_is_missing(self):
        program = """
import shapecache
from shapecache import _library
for name in ("shapecache_step", "shapecache_not_yet"):
    try:
        _library.need(name)
        print("found")
    except shapecache.NotFound as error:
        print(error)
"""
        first, second = python(program, self.folder)[0].splitlines()
        self.assertIn("SHAPECACHE_LIBRARY", first)
        self.assertEqual(first, second)
        library = str(BUILD / "libshapecache.so")
        found, old = python(program, self.folder, SHAPECACHE_LIBRARY=library)[0].splitlines()
        self.assertEqual(found, "found")
        self.assertIn("no shapecache_not_yet", old)

    def test_an_error_has_the_librarys_own_sentence_for_every_status(self):
        rows = re.findall(r'^STATUS\(\w+,\s*(\d+), "(.*)"\)$', (SOURCE / "include/shapecache/status.def").read_text(), re.M)
        self.assertGreater(len(rows), 7)
        program = f"""
import shapecache
from shapecache import _library
for status in {[int(value) for value, _ in rows]}:
    try:
        _library.check(status)
        print("done")
    except shapecache.Error as error:
        assert error.status == status
        print(error)
"""
        output = python(program, self.folder, SHAPECACHE_LIBRARY=str(BUILD / "libshapecache.so"))[0]
        self.assertEqual(output.splitlines(), [text for _, text in rows])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
