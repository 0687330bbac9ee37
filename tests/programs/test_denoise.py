#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sampler, without the cache and under it, on the simulated GPU: test_denoise.py BUILD"""

import csv
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
PROGRAM = BUILD / "tests/programs/denoise"
LATENT = 2 << 20  # bytes; a page of the device
LINE = re.compile(r"(gradient-estimating Euler|Euler), (\d+) steps: off by (\d\.\d{4})")


class Run:
    def __init__(self, *arguments, preload, **settings):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SHAPECACHE", "SIMCUDA", "LD_PRELOAD"))}
        with tempfile.TemporaryDirectory(prefix="denoise-test-") as folder:
            log, report, samples = (pathlib.Path(folder, name) for name in ("log.jsonl", "report.json", "samples.csv"))
            settings |= {"LD_LIBRARY_PATH": str(BUILD / "sim"), "SIMCUDA_REPORT": str(report), "SIMCUDA_SAMPLES": str(samples),
                         "SHAPECACHE_LOG": str(log)}
            if preload:
                settings["LD_PRELOAD"] = str(BUILD / "libshapecache.so")
            done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, timeout=120, text=True, check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True, env=kept | settings)
            if done.returncode != 0:
                raise AssertionError(f"it ended with {done.returncode}\n{done.stdout}{done.stderr}")
            self.output = done.stdout.splitlines()
            self.records = logs.read(log)
            self.report = json.loads(report.read_text())
            with samples.open() as file:
                self.samples = list(csv.DictReader(file))
        method, steps, error = LINE.fullmatch(self.output[-1]).groups()
        self.method, self.steps, self.error = method, int(steps), float(error)

    def of(self, kind):
        return [record for record in self.records if record["ev"] == kind]

    def live_peak(self):
        return max(int(sample["live_mapped"]) for sample in self.samples)

    def held_peak(self):
        return max(int(sample["device_most"]) for sample in self.samples)


@functools.lru_cache(maxsize=None)
def run(*arguments, preload=False):
    return Run(*arguments, preload=preload)


def euler(*arguments, **options):
    return run(*arguments, "--sampler", "euler", **options)


def estimating(*arguments, **options):
    return run(*arguments, "--sampler", "ge", **options)


class Sampler(unittest.TestCase):
    def test_each_method_has_its_own_number_of_steps(self):
        self.assertEqual((euler().method, euler().steps), ("Euler", 50))
        self.assertEqual((estimating().method, estimating().steps), ("gradient-estimating Euler", 35))
        self.assertEqual(run().output, euler().output)

    def test_35_corrected_steps_are_as_good_as_50_plain_ones(self):
        self.assertLess(estimating().error, euler().error)
        self.assertGreater(euler("--steps", 35).error, euler().error * 1.3)

    def test_with_evenly_spaced_noise_levels_they_are_not_quite(self):
        even = [method("--shift", 1, *more).error for method, more in ((euler, ()), (estimating, ()), (euler, ("--steps", 35)))]
        self.assertEqual(even, sorted(even))

    def test_more_steps_come_closer_to_the_exact_answer(self):
        errors = [euler("--steps", steps).error for steps in (9, 18, 35)]
        self.assertGreater(errors[0], 1.7 * errors[1])
        self.assertGreater(errors[1], 1.7 * errors[2])

    def test_a_gamma_of_1_corrects_nothing(self):
        self.assertAlmostEqual(estimating("--steps", 50, "--gamma", 1).error, euler().error, places=3)

    def test_another_seed_is_another_field(self):
        self.assertNotEqual(euler("--steps", 5, "--seed", 2).output, euler("--steps", 5).output)

    def test_the_memory_is_that_of_a_latent_more(self):
        self.assertEqual(estimating().live_peak() - euler().live_peak(), LATENT)

    def test_each_step_asks_for_the_same_but_the_last(self):
        for one, each in ((euler(), 3), (estimating(), 4)):
            sizes = [int(sample["bytes"]) for sample in one.samples if sample["op"] == "malloc"][3:]  # model, x
            steps = [sizes[at:at + each] for at in range(0, each * (one.steps - 1), each)]
            self.assertEqual(len(set(map(tuple, steps))), 1)
            self.assertEqual(sizes[each * (one.steps - 1):], steps[0][:3])  # no velocity

    def test_the_judge_has_nothing_to_say(self):
        for one in (euler(), estimating(), euler(preload=True), estimating(preload=True)):
            self.assertEqual(sum(one.report["violations"].values()), 0)
            self.assertEqual(one.report["unchecked"], 0)
        self.assertEqual((euler().report["live"], estimating().report["live"]), (0, 0))

    def test_options_that_make_no_sense_are_refused(self):
        for arguments in (["--sampler", "heun"], ["--steps", "1"], ["--steps", "ten"], ["--gamma", "0"], ["--shift", "x"], ["more"],
                          ["--none"], ["--seed"]):
            with self.subTest(arguments=arguments):
                done = subprocess.run([PROGRAM, *arguments], text=True, capture_output=True, check=False, timeout=60,
                                      env=os.environ | {"LD_LIBRARY_PATH": str(BUILD / "sim")})
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertTrue(done.stderr.startswith("denoise: "))


class Cached(unittest.TestCase):
    def test_the_answer_is_the_same(self):
        for method in (euler, estimating):
            self.assertEqual(method(preload=True).output[-1], method().output[-1])

    def test_steps_are_the_programs_and_served(self):
        for one in (euler(preload=True), estimating(preload=True)):
            (end,) = one.of("end")
            self.assertEqual(end["steps"], one.steps)
            self.assertGreater(end["hits"], 0.95 * (end["hits"] + end["misses"]))
            self.assertEqual(end["fallbacks"], 0)

    def test_the_scope_around_the_sampling_saw_its_peaks(self):
        for one in (euler(preload=True), estimating(preload=True)):
            (scope,) = one.of("scope")
            self.assertEqual((scope["name"], scope["live_before"]), ("sample", 3 * LATENT))
            self.assertEqual((scope["live_peak"], scope["held_peak"]), (one.live_peak(), one.held_peak()))
            self.assertEqual(one.output[0], f"memory before 6 MiB, live at most {one.live_peak() >> 20} MiB, "
                                            f"held at most {one.held_peak() >> 20} MiB")

    def test_steps_are_saved_and_the_peak_is_not(self):
        plain, other = euler(preload=True), estimating(preload=True)
        self.assertEqual((len(plain.of("step")), len(other.of("step"))), (50, 35))
        highest = [max(record["live_peak"] for record in one.of("step")) for one in (plain, other)]
        self.assertEqual(highest[1] - highest[0], LATENT)

    def test_every_step_but_the_first_and_last_has_the_same_memory(self):
        for one in (euler(preload=True), estimating(preload=True)):
            self.assertEqual(len({record["live_peak"] for record in one.of("step")[1:-1]}), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
