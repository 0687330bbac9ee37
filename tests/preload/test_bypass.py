#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An object opened with RTLD_DEEPBIND calls the driver past every preload: that is noticed and said once.

test_bypass.py LIBRARY SIMULATOR PLUGINS. The simulated driver's own count of calls tells what really went past."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

LIBRARY, SIMULATOR, PLUGINS = sys.argv[1:4]
DONE = 7  # the program's own status
STEPS, KEYS = 20, 8  # of deep.c
SAID = "was opened with RTLD_DEEPBIND"

# `deep` as Taichi opens its core: by Python, at once, and bound to its own libraries first.
START = f"""
import ctypes, os, sys
NOW, LAZY, DEEP = os.RTLD_NOW, os.RTLD_LAZY, os.RTLD_DEEPBIND
libc = ctypes.CDLL(None)
libc.dlopen.restype = ctypes.c_void_p
def opened(name, flags):
    handle = libc.dlopen(os.path.join({PLUGINS!r}, name).encode(), flags)
    assert handle, name
    return ctypes.CDLL(name, handle=handle)
def train(name, flags):
    assert opened(name, flags).deep_steps({STEPS}) == 0
"""


def run(program, preload=LIBRARY, **settings):
    """What the program said, the log's records (None: no log), and how often the device was asked for memory."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SHAPECACHE", "SIMCUDA", "LD_"))}
    with tempfile.TemporaryDirectory() as folder:
        log, report = pathlib.Path(folder, "log.jsonl"), pathlib.Path(folder, "report.json")
        done = subprocess.run([sys.executable, "-c", f"{START}{program}\nsys.exit({DONE})\n"], cwd=folder, timeout=120, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              env={**kept, "LD_PRELOAD": preload, "LD_LIBRARY_PATH": SIMULATOR, "SHAPECACHE_LOG": str(log),
                                   "SIMCUDA_REPORT": str(report), **settings})
        if done.returncode != DONE or done.stdout:
            raise AssertionError(f"ended with {done.returncode}\n{done.stdout}{done.stderr}")
        records = logs.read(log) if log.exists() else None
        return done.stderr, records, json.loads(report.read_text())["calls"].get("cuMemAlloc_v2", 0)


def warnings(records):
    return [record["text"] for record in records if record["ev"] == "warn"]


class Bypass(unittest.TestCase):
    def check_told(self, said, name):
        self.assertEqual(said.count("\n"), 1, said)
        self.assertRegex(said, rf"^shapecache\[\d+\] warn: {name} {SAID}")

    def test_such_an_object_is_named_once_at_the_end_of_the_process(self):
        for name in ("libdeep.so", "libdeepnoplt.so", "libdeeplinked.so"):
            for flags in ("NOW | DEEP", "LAZY | DEEP"):
                with self.subTest(name=name, flags=flags):
                    said, records, asked = run(f"train('{name}', {flags})")
                    self.check_told(said, name)
                    self.assertIsNone(records)
                    self.assertEqual(asked, STEPS * KEYS)

    def test_a_libcudart_that_came_with_such_an_object_is_named(self):
        program = "held = ctypes.c_void_p()\nassert opened('libdeepruntime.so', {}).plugin_malloc(ctypes.byref(held), ctypes.c_size_t(1 << 20)) == 0"
        said, records, asked = run(program.format("NOW | DEEP"))
        self.check_told(said, "libcudart.so.13")
        self.assertIsNone(records)
        self.assertEqual(asked, 1)
        self.assertEqual(run(program.format("NOW"))[1][-1]["requests"], 1)

    def test_opened_otherwise_it_is_cached(self):
        for name in ("libdeep.so", "libdeepnoplt.so", "libdeeplinked.so"):
            with self.subTest(name=name):
                said, records, asked = run(f"train('{name}', NOW)")
                self.assertNotIn(SAID, said)
                self.assertEqual(warnings(records), [])
                self.assertLess(asked, STEPS * KEYS)

    def test_beside_memory_that_is_cached_it_is_in_the_log_too(self):
        said, records, asked = run("train('libdeepnoplt.so', NOW); train('libdeep.so', NOW | DEEP)")
        self.assertEqual(said.count(SAID), 1)
        (warning,) = warnings(records)
        self.assertIn(f"libdeep.so {SAID}", warning)
        self.assertEqual(records[-1]["ev"], "end")
        self.assertEqual(records[-1]["requests"], STEPS * KEYS)
        self.assertGreater(asked, STEPS * KEYS)

    def test_forked_children_say_nothing(self):
        said, _, _ = run("train('libdeep.so', NOW | DEEP)\npid = os.fork()\nif pid == 0: libc.exit(0)\n"
                         "assert os.waitpid(pid, 0)[1] == 0")
        self.check_told(said, "libdeep.so")

    def test_switched_off_it_says_nothing(self):
        said, records, _ = run("train('libdeep.so', NOW | DEEP)", SHAPECACHE="off")
        self.assertEqual((said, records), ("", None))

    def test_an_object_that_does_not_know_the_driver_is_nobodys_business(self):
        said, records, _ = run("opened('librung1.so', NOW | DEEP); train('libdeep.so', NOW)")
        self.assertNotIn(SAID, said)
        self.assertEqual(warnings(records), [])

    def test_the_driver_itself_may_be_opened_in_any_way(self):
        said, records, _ = run("ctypes.CDLL('libcuda.so.1', mode=NOW | DEEP); train('libdeep.so', NOW)")
        self.assertNotIn(SAID, said)
        self.assertEqual(records[-1]["requests"], STEPS * KEYS)

    def test_a_library_that_was_not_preloaded_expects_to_be_passed_by(self):
        for flags in ("NOW", "NOW | DEEP"):
            said, records, _ = run(f"opened({LIBRARY!r}, NOW); train('libdeep.so', {flags})", preload="")
            self.assertEqual((said, records), ("", None))


unittest.main(argv=sys.argv[:1], verbosity=2)
