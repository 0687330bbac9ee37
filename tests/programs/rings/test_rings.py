#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A trainer of several ranks that keeps its errors in rings: test_rings.py RING_RANKS RING_WEAK LIBRARY"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

RANKS, WEAK, LIBRARY = sys.argv[1:4]


def environment(**more):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("SHAPECACHE") and name != "LD_PRELOAD"}
    return {**kept, **more}


class Outcome:
    def __init__(self, *arguments):
        # A rank that waits for another which will never come would be ended here.
        done = subprocess.run([RANKS, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=60, env=environment())
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def ranks(self):
        """For each rank, what it printed of itself and of its rings."""
        found = []
        for text in self.out.split("rank ")[1:]:
            steps, clean, gathered = map(int, re.search(r"; (\d+) steps, (\d+) clean, (\d+) gathered", text).groups())
            injected = list(map(int, re.search(r"injected (\d+) .* (\d+) into the latent, (\d+) .*; (\d+) times", text).groups()))
            rings = {name: dict(zip(("entries", "filled", "owned", "added", "not_owned"), map(int, numbers)))
                     for name, *numbers in re.findall(
                         r"(\w+) +(\d+) entries in +(\d+)/(\d+) buckets, (\d+) added, (\d+) not owned", text)}
            found.append({"steps": steps, "clean": clean, "gathered": gathered, "injected": injected, **rings})
        return found


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())}


class Ranks(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = held.name

    def run_ranks(self, *arguments, status=0):
        outcome = Outcome(*arguments)
        self.assertEqual(outcome.status, status, outcome.err)
        return outcome

    def test_every_rank_does_every_step_and_injects_at_three_points(self):
        ranks = self.run_ranks("--noise", 0.5).ranks()
        self.assertEqual(len(ranks), 4)
        for rank in ranks:
            self.assertEqual((rank["steps"], rank["gathered"]), (200, 50))
            self.assertTrue(all(rank["injected"][:3]), rank)
            self.assertEqual(rank["latent"]["filled"], rank["latent"]["owned"])

    def test_gathering_stops_after_the_warm_up(self):
        during = self.run_ranks("--steps", 50, "--warmup", 50, "--clean", 0).ranks()
        after = self.run_ranks("--steps", 50, "--warmup", 0, "--clean", 0).ranks()
        for rank in during:  # items of both ranks with these blocks
            self.assertEqual(rank["latent"]["added"] + rank["latent"]["not_owned"], 100)
        for rank in after:
            self.assertEqual(rank["latent"]["added"] + rank["latent"]["not_owned"], 50)
        for first, second in ((0, 2), (1, 3)):  # which between them own every item exactly once
            self.assertEqual(during[first]["latent"]["added"] + during[second]["latent"]["added"], 100)

    def test_ranks_keep_the_same_choice_of_what_was_gathered(self):
        ranks = self.run_ranks("--steps", 50, "--keep", 1, "--clean", 0).ranks()
        for first, second in ((0, 2), (1, 3)):
            self.assertEqual(ranks[first]["latent"]["added"] + ranks[second]["latent"]["added"], 50)

    def test_no_rank_waits_for_one_whose_step_is_a_clean_one(self):
        for clean in (0, 0.5, 1):
            for chance in (0, 1):
                ranks = self.run_ranks("--clean", clean, "--context", chance, "--latent", chance, "--warmup", 200).ranks()
                self.assertEqual([rank["gathered"] for rank in ranks], [200] * 4)

    def test_a_resumed_run_is_the_run_that_was_never_stopped(self):
        whole, halves = self.folder + "/whole", self.folder + "/halves"
        os.mkdir(whole)
        os.mkdir(halves)
        self.run_ranks("--steps", 200, whole)
        self.run_ranks("--steps", 90, halves)
        self.run_ranks("--first", 90, "--steps", 110, "--resume", halves)
        self.assertEqual(len(files(whole)), 8)
        self.assertEqual(files(whole), files(halves))

    def test_reports_come_periodically(self):
        outcome = self.run_ranks("--every", 50)
        self.assertEqual(len(re.findall(r"ring latent: \d+ entries, .* added", outcome.err)), 4 * 4)
        self.assertEqual(len(re.findall(r"ring noise: shard \d of 2, owns 5 of 10 buckets, blocks \[[03], [36]\)", outcome.err)), 4)

    def test_a_changed_world_is_refused_and_nothing_is_lost(self):
        self.run_ranks(self.folder)
        before = files(self.folder)
        outcome = self.run_ranks("--ranks", 2, "--resume", self.folder, status=3)
        self.assertIn("Refusing to load " + self.folder + "/latent.rank0: shard layout 0 of 2 in the file, 0 of 1 here",
                      outcome.err)
        self.assertEqual(files(self.folder), before)
        outcome = self.run_ranks("--ranks", 2, "--sequence", 1, "--resume", self.folder, status=3)
        self.assertIn("block count 3 in the file, 6 here", outcome.err)
        outcome = self.run_ranks("--ranks", 6, "--sequence", 3, "--resume", self.folder, status=3)
        self.assertIn("block offset 3 in the file, 2 here", outcome.err)

    def test_an_overlapping_resume_takes_every_entry_to_its_new_owner(self):
        before = self.run_ranks(self.folder).ranks()
        with tempfile.TemporaryDirectory() as to:  # what others still load must not be saved over
            for ranks, sequence in ((2, 2), (2, 1), (6, 3), (12, 6), (1, 1)):
                after = self.run_ranks("--ranks", ranks, "--sequence", sequence, "--resume", "--overlap", "--old-ranks", 4,
                                       "--steps", 0, self.folder, to).ranks()
                for ring in ("latent", "noise"):
                    self.assertEqual(sum(rank[ring]["entries"] for rank in after),
                                     sum(rank[ring]["entries"] for rank in before))

    def test_more_ranks_than_buckets_train_all_the_same(self):
        outcome = self.run_ranks("--ranks", 13, "--sequence", 1)
        self.assertEqual(outcome.err.count("owns none of 10 buckets"), 2 * 3)
        for rank in outcome.ranks()[10:]:
            self.assertEqual((rank["latent"]["entries"], rank["injected"][:3]), (0, [0, 0, 0]))

    def test_a_torn_file_is_refused(self):
        self.run_ranks(self.folder)
        path = pathlib.Path(self.folder, "latent.rank3")
        path.write_bytes(path.read_bytes()[:-1])
        outcome = self.run_ranks("--resume", self.folder, status=3)
        self.assertRegex(outcome.err, r"Refusing to load \S+latent.rank3: it is torn: \d+ bytes of \d+")

    def test_a_program_finds_rings_where_the_library_is_preloaded(self):
        def said(**more):
            return subprocess.run([WEAK], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60,
                                  env=environment(**more)).stdout
        self.assertEqual(said(), "no library\n")
        self.assertEqual(said(LD_PRELOAD=LIBRARY), "drawn 1 2\n")


unittest.main(argv=sys.argv[:1], verbosity=2)
