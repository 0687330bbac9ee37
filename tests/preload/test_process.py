#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole processes under the real preload and a driver that does nothing: test_process.py LIBRARY PROGRAM FAKES"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

LIBRARY, PROGRAM, FAKES = sys.argv[1:4]
DONE = 7  # the program's own status when all was well


def run(case, before=None, **settings):
    """The case's records and what it said on stderr; its status must be the one it chose. `before` runs in the new
    process first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SHAPECACHE")}
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.jsonl")
        done = subprocess.run([PROGRAM, case], cwd=folder, timeout=120, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=before,
                              env={**kept, "LD_PRELOAD": LIBRARY, "LD_LIBRARY_PATH": FAKES, "SHAPECACHE_LOG": log,
                                   **settings})
        if done.returncode != DONE:
            raise AssertionError(f"{case} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        if os.listdir(folder) not in ([], ["log.jsonl"]):
            raise AssertionError(f"{case} left {os.listdir(folder)}")
        records = logs.read(log)
    return records, done.stderr


def of(records, kind):
    return [record for record in records if record["ev"] == kind]


class Process(unittest.TestCase):
    def check_ends_once(self, records):
        self.assertEqual(len(of(records, "run")), 1)
        self.assertEqual(len(of(records, "end")), 1)

    def test_frees_keep_their_errors(self):
        self.check_ends_once(run("frees")[0])

    def test_a_thread_without_context_frees(self):
        self.check_ends_once(run("no_context")[0])

    def test_children_are_inert_and_write_nothing(self):
        records, said = run("children")
        self.check_ends_once(records)
        self.assertEqual(said.count("requests,"), 1, said)
        self.assertEqual(of(records, "warn"), [])

    def test_destructors_still_free_and_the_status_is_the_programs(self):
        self.check_ends_once(run("destructor")[0])

    def test_a_closed_driver_stays_usable(self):
        self.check_ends_once(run("closed")[0])

    def test_nothing_is_given_back_at_exit(self):
        records, _ = run("exit")
        end = of(records, "end")[0]
        self.assertEqual(end["live"], 0)
        self.assertGreater(end["idle"], 0)
        self.assertEqual(end["doors"], ["dlsym"])
        self.assertEqual(end["requests"], 21 * 6)

    def test_no_address_has_two_owners_among_64_threads(self):
        records, _ = run("threads")
        self.check_ends_once(records)
        self.assertEqual(of(records, "warn"), [])
        self.assertEqual(of(records, "end")[0]["live"], 0)

    def test_only_the_program_writes_to_its_files(self):
        records, said = run("files")
        self.assertEqual(len(of(records, "run")), 1)
        self.assertEqual(said.count("the log could not be written"), 1, said)

    def test_started_without_stderr_there_is_none(self):
        records, said = run("files", before=lambda: os.close(2))
        self.assertEqual(len(of(records, "run")), 1)
        self.assertEqual(said, "")
        self.check_ends_once(run("exit", before=lambda: os.close(2))[0])

    def test_off_is_the_plain_driver(self):
        for case in ("exit", "frees"):
            with self.assertRaises(AssertionError):  # the program itself counts the driver's calls
                run(case, SHAPECACHE="off")


unittest.main(argv=sys.argv[:1], verbosity=2)
