#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A real transformer's activations through the arena, on the simulated GPU: every byte that autograd saved comes back, with
activation checkpointing too, and where a graph is asked twice."""
import argparse
import json
import os
import pathlib
import subprocess
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = None


def offload(*arguments):
    """The last line of the program, which is one object."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHAPECACHE", "SIMCUDA", "LD_", "PYTHON"))}
    environment |= {"PYTHONPATH": str(ROOT / "hooks/python"), "PYTHONDONTWRITEBYTECODE": "1", "SHAPECACHE_LOG": "off",
                    "SIMCUDA_DELAY_NS": "20000"}
    done = subprocess.run([BUILD / "shapecache", "run", "--sim", "--", ROOT / "build/torch/bin/python",
                           HERE / "programs/offload.py", *arguments],
                          env=environment, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


class unmodified:
    """gpt.py, or another program, under `run --sim --torch`."""

    def __init__(self, *arguments, options=(), program=(HERE / "programs/gpt.py", "--steps", "3")):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHAPECACHE", "SIMCUDA", "LD_", "PYTHON"))}
        with tempfile.TemporaryDirectory(prefix="shapecache-offload-") as folder:
            report, log = pathlib.Path(folder) / "report.json", pathlib.Path(folder) / "log.jsonl"
            done = subprocess.run([BUILD / "shapecache", "run", "--sim", "--torch", *options, "--", ROOT / "build/torch/bin/python",
                                   *program, *arguments],
                                  env=environment | {"PYTHONDONTWRITEBYTECODE": "1", "SHAPECACHE_LOG": str(log), "SIMCUDA_REPORT": str(report)},
                                  capture_output=True, text=True, check=False, timeout=600)
            if done.returncode != 0:
                raise AssertionError(done.stderr)
            self.err, self.report = done.stderr, json.loads(report.read_text())
            records = logs.read(log)
            self.end = next(record for record in reversed(records) if record["ev"] == "end")


class Offload(unittest.TestCase):
    def expect_whole(self, told):
        self.assertEqual(told["wrong"], 0, told)
        self.assertGreater(told["compared"], 0)
        self.assertEqual(told["wrong_order"], 0, told)
        self.assertEqual(told["failed"], 0, told)

    def test_every_byte_comes_back_in_LIFO_order(self):
        told = offload()
        self.expect_whole(told)
        self.assertEqual(told["kept"], 0)
        self.assertLess(told["early"], told["returned"] // 5)  # LIFO but for neighbours that one operation saves

    def test_every_byte_comes_back_with_activation_checkpointing(self):
        told, plain = offload("--checkpoint"), offload()
        self.expect_whole(told)
        self.assertLess(told["used_peak"], plain["used_peak"] // 4)

    def test_a_graph_that_is_kept_is_asked_twice(self):
        once, twice = offload(), offload("--twice")
        self.expect_whole(twice)
        self.assertEqual(twice["compared"], 2 * once["compared"])
        self.assertEqual(twice["bytes_in"], once["bytes_in"])

    def test_an_unmodified_program_needs_less_of_the_device_under_run_offload(self):
        for arguments in ((), ("--checkpoint",)):
            plain, through = unmodified(*arguments), unmodified(*arguments, options=("--offload=512MiB",))
            told = re.search(r"offloaded (\d+) of (\d+) saved tensors \(\d+ of them came back early\), (\d+) stayed, (\d+) had been saved "
                             r"before; .* out and .* back; the arena held at most [\d.]+ MiB; that spared the device [\d.]+ MiB at the "
                             r"peak \([\d.]+ MiB live, [\d.]+ MiB without\); streams waited [\d.]+ s for copies(; few of .*)?$",
                             through.err, re.MULTILINE)
            self.assertTrue(told, through.err)
            offloaded, saved, stayed, shared = map(int, told.groups()[:4])
            self.assertGreater(offloaded, 0)
            self.assertEqual(offloaded + stayed + shared, saved)
            self.assertLess(through.report["peak"], plain.report["peak"])
            self.assertFalse(through.report["violations"])
            self.assertNotIn("tensors offloaded, ", through.err)  # the arena's own line, which would say it twice

    def test_what_one_run_says_that_the_device_was_spared_is_the_difference_of_two(self):
        unasked = ("import torch\n"
                   "weights = [torch.randn(512, 512, device='cuda', requires_grad=True) for _ in range(8)]\n"
                   "for step in range(4):\n"
                   "    y = torch.ones(4096, 512, device='cuda')\n"
                   "    for weight in weights: y = (y @ weight).tanh()\n"
                   "    loss = y.sum()\n"  # which drops the graph of the step before, unasked
                   "loss.backward()\n")
        gpt, resnet = HERE / "programs/gpt.py", HERE / "programs/resnet.py"
        for program in (gpt, "--steps", "3"), (gpt, "--steps", "3", "--checkpoint"), (resnet, "--steps", "2"), ("-c", unasked):
            plain, through = unmodified(program=program), unmodified(program=program, options=("--offload=512MiB",))
            self.assertEqual(through.end["live_without"], plain.end["live_peak"], through.err)
            self.assertEqual(through.end["spared"], plain.end["live_peak"] - through.end["live_peak"], through.err)
            self.assertGreater(through.end["spared"], 1 << 20, through.err)

    def test_where_tensors_lie_in_segments_it_is_not_known_what_the_device_was_spared(self):
        told = unmodified(options=("--torch=segments", "--offload=512MiB"))
        self.assertIn("what that spared the device is not known: a tensor lay, or came back, in memory that the cache does not see",
                      told.err)

    def test_what_no_backward_pass_asks_for_is_told(self):
        program = ("import torch; x = torch.ones(256, 256, device='cuda', requires_grad=True)\n"
                   "for _ in range(20): x = (x * 2).exp()\n"
                   "print('forward')")
        self.assertRegex(unmodified(options=("--offload=64MiB",), program=("-c", program)).err,
                         r"none of the bytes came back: of all tensors \d+ were never asked for")

    def test_a_size_that_holds_not_all_says_which_would(self):
        self.assertRegex(unmodified(options=("--offload=16MiB",)).err, r"--offload=\d+ would hold all")

    def test_what_does_not_fit_stays_on_the_device(self):
        told = offload("--capacity", "2MiB")
        self.expect_whole(told)
        self.assertGreater(told["kept"], 0)
        self.assertGreater(told["offloaded"], 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    BUILD = options.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
