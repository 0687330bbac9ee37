#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that never use CUDA cannot tell that the preload is there: test_inert.py LIBRARY"""

import os
import subprocess
import sys
import tempfile
import unittest

LIBRARY = sys.argv[1]
COMMANDS = [
    ["/bin/true"],
    ["/bin/false"],
    ["bash", "-c", "echo out; echo err >&2; exit 3"],
    ["bash", "-c", "(exit 5); echo $?; ls / | sort | head -3"],
    ["git", "--version"],
    ["python3", "-c", "pass"],
    ["python3", "-c", "import ctypes, threading, subprocess, sys; subprocess.run(['true']); sys.exit(7)"],
    # its own threads and open files
    ["python3", "-c", "import os; print(len(os.listdir('/proc/self/task')), sorted(os.listdir('/proc/self/fd')))"],
    ["python3", "-c", "import os; pid = os.fork(); os._exit(4) if pid == 0 else print(os.waitpid(pid, 0)[1])"],
]


def environment(**more):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("SHAPECACHE") and name not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
    return {**kept, **more}


def outcome(command, **more):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, env=environment(**more), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        return done.returncode, done.stdout, done.stderr, os.listdir(folder)


class Inert(unittest.TestCase):
    def test_same_output_and_status_no_file_no_thread(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                plain = outcome(command)
                self.assertEqual(plain[3], [])
                self.assertEqual(outcome(command, LD_PRELOAD=LIBRARY), plain)

    def test_settings_however_wrong_say_nothing_there(self):
        wrong = {"SHAPECACHE": "perhaps", "SHAPECACHE_NO_SUCH": "1", "SHAPECACHE_LOG": "/nonexistent/%z"}
        self.assertEqual(outcome(["/bin/true"], LD_PRELOAD=LIBRARY, **wrong), (0, b"", b"", []))

    def test_the_preload_is_really_there(self):
        maps = outcome(["cat", "/proc/self/maps"], LD_PRELOAD=LIBRARY)[1].decode()
        self.assertIn(os.path.basename(LIBRARY), maps)


unittest.main(argv=sys.argv[:1], verbosity=2)
