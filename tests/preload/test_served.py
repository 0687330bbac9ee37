#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same steps through every door, on the simulated GPU: test_served.py LIBRARY PROGRAM SIM"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

LIBRARY, PROGRAM, SIM = sys.argv[1:4]
STEPS, BUFFERS = 40, 8
PT_NOTE = 4
DOORS = {"runtime": {"dlsym", "resolver", "runtime"}, "elf": {"elf"}, "dlsym": {"dlsym"}, "resolver": {"resolver"}}


def run(door, program=PROGRAM, stack=(), **settings):
    """Output, the log's records, and what the simulated driver saw."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SHAPECACHE", "SIMCUDA"))}
    with tempfile.TemporaryDirectory() as folder:
        log, report = pathlib.Path(folder, "log.jsonl"), pathlib.Path(folder, "report.json")
        done = subprocess.run([program, door, str(STEPS), str(BUFFERS), *stack], cwd=folder, timeout=120, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**kept, "LD_LIBRARY_PATH": SIM, "SIMCUDA_REPORT": str(report),
                                   "SHAPECACHE_LOG": str(log), **settings})
        if done.returncode != 0:
            raise AssertionError(f"{door} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        records = logs.read(log)
        return done.stdout, records, json.loads(report.read_text())


def with_notes_nowhere(program, copy):
    """As a tool leaves it that moves what the notes lie in: the loader and the kernel do not mind."""
    image = bytearray(pathlib.Path(program).read_bytes())
    at, (size, count) = *struct.unpack_from("<Q", image, 32), struct.unpack_from("<HH", image, 54)
    moved = 0
    for header in range(at, at + size * count, size):
        kind, _, _, _, _, _, _, alignment = struct.unpack_from("<IIQQQQQQ", image, header)
        if kind == PT_NOTE and alignment == 4:
            struct.pack_into("<Q", image, header + 16, 1 << 40)
            moved += 1
    copy.write_bytes(image)
    copy.chmod(0o755)
    return moved


class Served(unittest.TestCase):
    def test_every_request_is_served_and_counted_once_at_every_door(self):
        for door, doors in DOORS.items():
            with self.subTest(door=door):
                plain = run(door)
                self.assertEqual(plain[1], [])
                self.assertEqual(plain[2]["calls"]["cuMemAlloc_v2"], STEPS * BUFFERS)
                output, records, seen = run(door, LD_PRELOAD=LIBRARY)
                end = next(record for record in records if record["ev"] == "end")
                self.assertEqual(output, plain[0])
                self.assertEqual(end["requests"], STEPS * BUFFERS)
                self.assertEqual(end["driver_allocs"], seen["calls"]["cuMemAlloc_v2"])
                self.assertEqual(end["driver_frees"], seen["calls"]["cuMemFree_v2"])
                self.assertLess(end["driver_allocs"], STEPS * BUFFERS // 4)
                self.assertEqual(set(end["doors"]) & {"elf", "dlsym", "resolver", "runtime"}, doors)
                self.assertFalse([record for record in records if record["ev"] == "warn"])

    def test_notes_that_are_not_loaded_are_not_read(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "test_served")
            self.assertGreater(with_notes_nowhere(PROGRAM, program), 0)
            _, records, _ = run("elf", program=str(program), LD_PRELOAD=LIBRARY)
            sites = [record for record in records if record["ev"] == "site"]
            self.assertEqual({record["object"] for record in sites}, {str(program)})
            self.assertFalse([record for record in sites if "build_id" in record])

    def test_the_smallest_stack_is_large_enough(self):
        for door in DOORS:
            for settings in ({}, {"SHAPECACHE": "off"}, {"SHAPECACHE_LOG_LEVEL": "event"}):
                with self.subTest(door=door, **settings):
                    stack = (str(os.sysconf("SC_THREAD_STACK_MIN")),)
                    plain = run(door, stack=stack)
                    self.assertEqual(run(door, stack=stack, LD_PRELOAD=LIBRARY, **settings)[0], plain[0])

    def test_a_call_site_is_in_the_program(self):
        for door in DOORS:
            with self.subTest(door=door):
                _, records, _ = run(door, LD_PRELOAD=LIBRARY)
                sites = {record["site"] for record in records if record["ev"] == "shape"}
                self.assertTrue(sites)
                for site in sites:
                    self.assertRegex(site, r"^test_served\+0x[0-9a-f]+$")


unittest.main(argv=sys.argv[:1], verbosity=2)
