#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A new shape or an out-of-memory in a Python program is told by its line: test_script.py LIBRARY SIM ROOM.

Under this interpreter and every other that lies around: python3.N on PATH, and pyenv's."""

import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

LIBRARY, SIM, ROOM = sys.argv[1:4]
PROGRAM = pathlib.Path(__file__).parent / "script/train.py"
MIB = 1 << 20
KNOWN = range(10, 14)  # minor versions, as hooks/script_layout.def


def interpreters():
    """{minor version: path}"""
    found = {sys.version_info.minor: sys.executable}
    places = [shutil.which(f"python3.{minor}") for minor in range(9, 16)] + glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    for path in filter(None, places):
        try:
            asked = subprocess.run([path, "-c", "import ctypes, sys; print(sys.version_info.minor)"], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        found.setdefault(int(asked.stdout), path)
    return found


def run(python, folder, wrap=(), **settings):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SHAPECACHE", "SIMCUDA", "LD_", "PYTHON"))}
    log = pathlib.Path(folder, "log.jsonl")
    done = subprocess.run([python, *wrap, PROGRAM, ROOM], cwd=folder, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False,
                          env=kept | {"LD_PRELOAD": LIBRARY, "LD_LIBRARY_PATH": SIM, "SHAPECACHE_LOG": str(log), "SHAPECACHE_STEP": "api",
                                      "PYTHONIOENCODING": "utf-8"} | settings)
    if done.returncode != 0:
        raise AssertionError(f"{python} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done, logs.read(log)


def line_of(mark):
    lines = PROGRAM.read_text().splitlines()
    (found,) = [i + 1 for i, line in enumerate(lines) if line.endswith("# LINE " + mark)]
    return found


class Script(unittest.TestCase):
    def sites(self, python, **settings):
        """{MiB: site of its shape}, and that of the out-of-memory."""
        with tempfile.TemporaryDirectory() as folder:
            done, records = run(python, folder, **settings)
        self.assertEqual(done.stdout, "2\n")
        return done, {r["bytes"] // MIB: r["site"] for r in records if r["ev"] == "shape"}, [r["site"] for r in records if r["ev"] == "oom"]

    def test_a_new_shape_and_an_out_of_memory_are_told_by_the_programs_line(self):
        new = f"{PROGRAM}:{line_of('new')}"
        for minor, python in interpreters().items():
            with self.subTest(minor=minor):
                done, sites, oom = self.sites(python)
                if minor not in KNOWN:
                    self.assertTrue(all(re.fullmatch(r"\S+\+0x[0-9a-f]+", site) for site in sites.values()), sites)
                    continue
                for size in (3, 4, 5, 6, 7, 8, 10):
                    self.assertEqual(sites[size], new, size)
                self.assertEqual(oom, [new])
                self.assertIn(f"new shape 5.00 MiB from {new}", done.stderr)

    def test_callers_are_lines_too(self):
        for minor, python in interpreters().items():
            if minor not in KNOWN:
                continue
            with self.subTest(minor=minor):
                new = f"{PROGRAM}:{line_of('new')}"
                _, sites, _ = self.sites(python, SHAPECACHE_STACKS="2")
                self.assertEqual(sites[6], f"model/layer.py:4 > {new}")
                self.assertEqual(sites[10], f"caf\u00e9 \u8f66.py:1 > {new}")
                self.assertEqual(sites[5], f"{PROGRAM}:{line_of('torch')} > {new}")

    def test_a_thread_without_python_is_told_by_where_the_main_one_waits(self):
        for minor, python in interpreters().items():
            if minor not in KNOWN:
                continue
            with self.subTest(minor=minor):
                _, sites, _ = self.sites(python)
                self.assertEqual(sites[9], f"{PROGRAM}:{line_of('foreign')} (another thread)")

    def test_where_only_the_framework_calls_its_innermost_line_is_told(self):
        for minor, python in interpreters().items():
            if minor not in KNOWN:
                continue
            with self.subTest(minor=minor):
                program = "import ctypes, sys\nexec(compile('ctypes.CDLL(None).cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(3145728))', " \
                          "'/x/site-packages/torch/only.py', 'exec'))\n"
                with tempfile.TemporaryDirectory() as folder:
                    log = pathlib.Path(folder, "log")
                    inner = f"import ctypes; ctypes.CDLL('libcudart.so.13'); exec(compile({program!r}, '<frozen runner>', 'exec'))"
                    subprocess.run([python, "-c", f"exec(compile({inner!r}, '<string>', 'exec'))"], cwd=folder, check=True, timeout=60,
                                   stderr=subprocess.DEVNULL,
                                   env={"LD_PRELOAD": LIBRARY, "LD_LIBRARY_PATH": SIM, "SHAPECACHE_LOG": str(log)})
                    sites = [r["site"] for r in logs.read(log) if r["ev"] == "shape"]
                self.assertEqual(set(sites), {"torch/only.py:1"})

    def test_where_reading_memory_is_forbidden_the_code_is_told(self):
        forbidding = "import ctypes, os, struct, sys\n" \
            "steps = ((0x20, 0, 0, 0), (0x15, 0, 1, 310), (6, 0, 0, 0x50001), (6, 0, 0, 0x7fff0000))  # process_vm_readv: EPERM\n" \
            "code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))\n" \
            "program = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', len(steps), ctypes.addressof(code)))\n" \
            "prctl = ctypes.CDLL(None, use_errno=True).prctl\n" \
            "assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()\n" \
            "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
        with tempfile.TemporaryDirectory() as folder:
            done, records = run(sys.executable, folder, wrap=("-c", forbidding))
        self.assertEqual(done.stdout, "2\n")
        for record in records:
            if record["ev"] in ("shape", "oom"):
                self.assertRegex(record["site"], r"^\S+\+0x[0-9a-f]+$")


unittest.main(argv=sys.argv[:1])
