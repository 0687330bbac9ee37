#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The training program itself, without the cache, on the simulated GPU: test_train.py CASE BUILD. Other tests judge the
cache by what this program prints, so first it has to be what it says."""

import collections
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LINE = re.compile(r"^(step|evaluation) (\d+) length (\d+) loss (\d+\.\d{9}) bits ([0-9a-f]{8}) pointers ([0-9a-f]{16}) requests (\d+)$")
DONE = re.compile(r"^done steps (\d+) requests (\d+) seconds \d+\.\d\d$")
SMALL = ("--length", "2048")
PAGE = 2 << 20
SETUP_REQUESTS = 21  # 7 parameters, and two tensors of optimizer state for each
STEP_REQUESTS = 7  # gradients
BATCH_REQUESTS = 17

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def expect(is_true, otherwise):
    if not is_true:
        sys.exit(f"not so: {otherwise}")


class Run:
    def __init__(self, build, *arguments, status=0, **sim):
        build = pathlib.Path(build).resolve()
        report = pathlib.Path(tempfile.mkdtemp(prefix="train-test-")) / "report.json"
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SIMCUDA_", "SHAPECACHE", "LD_"))}
        environment |= {"LD_LIBRARY_PATH": str(build / "sim"), "SIMCUDA_REPORT": str(report)}
        environment |= {"SIMCUDA_" + name: str(value) for name, value in sim.items()}
        done = subprocess.run([str(build / "tests/programs/train"), *arguments], env=environment, capture_output=True, text=True, check=False)
        self.stdout, self.stderr = done.stdout, done.stderr
        expect(done.returncode == status, f"train {' '.join(arguments)}: exit status {done.returncode}: {self.stderr}")
        lines = [m.groups() for m in map(LINE.match, self.stdout.splitlines()) if m]
        self.steps = [line[1:] for line in lines if line[0] == "step"]
        self.evaluations = [line[1:] for line in lines if line[0] == "evaluation"]
        self.report = json.loads(report.read_text()) if report.exists() else None
        last = DONE.match(self.stdout.splitlines()[-1]) if self.stdout else None
        self.requests = int(last[2]) if last else None
        if status == 0 and "--help" not in arguments:
            expect(last, f"the last line is {self.stdout.splitlines()[-1:]}")
            expect(self.report is not None, "the simulated GPU wrote no report")

    def lengths(self):
        return [int(step[1]) for step in self.steps]

    def bits(self):
        return [step[3] for step in self.steps]

    def requests_of_steps(self):
        """What each step asked for beyond the step before it; the first one's includes the set-up."""
        totals = [0] + [int(step[5]) for step in self.steps]
        return [after - before for before, after in zip(totals, totals[1:])]


@case
def losses_fall_with_every_kind_of_length(build):
    for lengths in "fixed", "buckets:4", "random", "late-change", "rare:9":
        losses = [float(step[2]) for step in Run(build, "--lengths", lengths, "--steps", "120").steps]
        first, last = sum(losses[:5]) / 5, sum(losses[-5:]) / 5
        expect(len(losses) == 120, f"{len(losses)} steps")
        expect(last < first / 4, f"the loss went from {first:.3f} to {last:.3f} with lengths {lengths}")


@case
def losses_are_the_same_bits_in_every_run(build):
    arguments = ["--wide", "--accumulate", "2", "--lengths", "random", "--steps", "20", *SMALL]
    plain = Run(build, *arguments).bits()
    expect(len(set(plain)) == 20, "losses repeat")
    for sim in {}, {"DELAY_NS": 100000}, {"KERNEL_NS": 50000}, {"STREAM_DELAY_NS": "1:5000000"}:
        expect(Run(build, *arguments, **sim).bits() == plain, f"another run has other losses, with {sim}")


@case
def the_seed_changes_losses_and_lengths(build):
    one, two = (Run(build, "--lengths", "random", *SMALL, "--seed", seed) for seed in "12")
    expect(one.bits() != two.bits() and one.lengths() != two.lengths(), "seeds 1 and 2 give the same run")


@case
def the_simulated_gpu_finds_nothing_wrong_and_checks_every_launch(build):
    for arguments in [], ["--wide"], ["--lengths", "random", "--accumulate", "2"], ["--eval-every", "3", "--lazy-state", "--short-last-batch"]:
        report = Run(build, *arguments, DELAY_NS=50000).report
        expect(sum(report["violations"].values()) == 0, f"violations {report['violations']} with {arguments}")
        expect(report["unchecked"] == 0, f"{report['unchecked']} unchecked launches with {arguments}")
        expect(not report["unsupported"], f"not supported: {report['unsupported']}")
        expect(report["live"] == 0, f"{report['live']} bytes were never freed")


@case
def a_step_allocates_and_frees_each_of_its_tensors(build):
    requests = Run(build).requests_of_steps()
    expect(requests[0] == SETUP_REQUESTS + STEP_REQUESTS + BATCH_REQUESTS, f"the first step ends after {requests[0]} requests")
    expect(set(requests[1:]) == {STEP_REQUESTS + BATCH_REQUESTS}, f"steps make {set(requests[1:])} requests")


@case
def fixed_lengths_stay(build):
    expect(set(Run(build).lengths()) == {49152}, "the default length is not 49152")
    expect(set(Run(build, "--length", "2000").lengths()) == {2000}, "--length 2000 gives another one")


@case
def buckets_are_as_many_as_asked_for(build):
    for count in 1, 5:
        lengths = set(Run(build, "--lengths", f"buckets:{count}", *SMALL).lengths())
        expect(len(lengths) == count and max(lengths) == 2048 and min(lengths) > 1024, f"{count} buckets are {sorted(lengths)}")


@case
def random_lengths_never_repeat(build):
    lengths = Run(build, "--lengths", "random", "--steps", "600", *SMALL).lengths()
    expect(len(set(lengths)) == 600, f"{len(set(lengths))} lengths in 600 steps")
    expect(1024 <= min(lengths) and max(lengths) <= 3072, f"they go from {min(lengths)} to {max(lengths)}")


@case
def late_change_is_fixed_for_40_steps_and_random_from_there_on(build):
    lengths = Run(build, "--lengths", "late-change", *SMALL).lengths()
    expect(set(lengths[:40]) == {2048}, f"the first 40 are {lengths[:40]}")
    expect(len(set(lengths[40:] + [2048])) == 21, f"the rest is {lengths[40:]}")


@case
def rare_lengths_come_once_in_so_many_steps(build):
    lengths = Run(build, "--lengths", "rare:7", *SMALL).lengths()
    new = [i for i, length in enumerate(lengths) if length != 2048]
    expect(new == list(range(7, 60, 7)), f"other lengths came in steps {new}")
    expect(len({lengths[i] for i in new}) == len(new), "a rare length came twice")


@case
def accumulation_runs_its_micro_batches_in_one_step(build):
    run = Run(build, "--accumulate", "4", *SMALL)
    expect(set(run.requests_of_steps()[1:]) == {STEP_REQUESTS + 4 * BATCH_REQUESTS}, f"steps make {set(run.requests_of_steps()[1:])} requests")
    expect(run.bits() != Run(build, *SMALL).bits(), "it changes no loss")


@case
def lazy_state_is_allocated_in_the_first_optimizer_step(build):
    eager, lazy = Run(build), Run(build, "--lazy-state")
    expect(lazy.bits() == eager.bits(), "it changes the losses")
    expect(lazy.requests == eager.requests, "it changes the number of requests")
    expect(lazy.steps[0][4] != eager.steps[0][4], "the first step's own allocations are the same")


@case
def evaluation_has_buffers_of_its_own_and_changes_no_loss(build):
    plain, run = Run(build, *SMALL), Run(build, "--eval-every", "5", *SMALL)
    expect(run.bits() == plain.bits(), "it changes the losses")
    expect([int(e[0]) for e in run.evaluations] == list(range(4, 60, 5)), f"evaluations after steps {[e[0] for e in run.evaluations]}")
    expect({int(e[1]) for e in run.evaluations} == {1664}, "its length is not thirteen sixteenths")
    expect(run.requests == plain.requests + 12 * 7, f"{run.requests - plain.requests} requests more for 12 evaluations")


@case
def the_last_batch_of_an_epoch_is_shorter_by_the_same_length(build):
    lengths = Run(build, "--short-last-batch", *SMALL).lengths()
    expect([i for i, length in enumerate(lengths) if length != 2048] == [15, 31, 47], f"{lengths}")
    expect({lengths[i] for i in (15, 31, 47)} == {1408}, f"{lengths}")


@case
def a_kept_output_lives_until_the_next_batch_has_its_own(build):
    length = 2048
    plain, plain_live = live_at_ends_of_steps(build, *SMALL)
    kept, kept_live = live_at_ends_of_steps(build, *SMALL, "--keep-output")
    expect(kept.bits() == plain.bits() and kept.requests == plain.requests, "it changes losses or requests")
    output = length * 12 * 4
    expect({b - a for a, b in zip(plain_live, kept_live)} == {output}, f"live at the ends of steps: {plain_live[:3]} without, {kept_live[:3]} with it")


def live_at_ends_of_steps(build, *arguments):
    """The run, and its live bytes before the first request of each step but the first."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="train-test-")) / "samples.csv"
    run, live, before, asked = Run(build, *arguments, SAMPLES=path), [], 0, 0
    firsts = {int(step[5]) + 1 for step in run.steps}
    with path.open() as file:
        for row in csv.DictReader(file):
            asked += row["op"] == "malloc"
            if row["op"] == "malloc" and asked in firsts:
                live.append(before)
            before = int(row["live"])
    expect(len(live) == len(run.steps) - 1, f"{len(live)} steps began, {len(run.steps)} ended")
    return run, live


@case
def a_leak_is_never_freed(build):
    plain, run = Run(build, *SMALL), Run(build, "--leak", str(PAGE), *SMALL)
    expect(run.bits() == plain.bits(), "it changes the losses")
    expect(run.requests == plain.requests + 60, f"{run.requests - plain.requests} requests more in 60 steps")
    expect(run.report["live"] == 60 * PAGE, f"{run.report['live']} bytes were left")


@case
def each_thread_trains_a_network_of_its_own(build):
    plain, run = Run(build, *SMALL), Run(build, "--threads", "3", *SMALL)
    expect(run.bits() == plain.bits(), "other threads change the losses of the first")
    expect(run.requests == 3 * plain.requests, f"{run.requests} requests, {plain.requests} of one thread")
    expect(sum(run.report["violations"].values()) == 0 and run.report["live"] == 0, f"{run.report['violations']}, {run.report['live']} bytes live")


@case
def wide_asks_for_more_than_twice_its_peak(build):
    path = pathlib.Path(tempfile.mkdtemp(prefix="train-test-")) / "samples.csv"
    run = Run(build, "--wide", "--steps", "4", SAMPLES=path)
    with path.open() as file:
        samples = list(csv.DictReader(file))
    peak = max(int(sample["live_mapped"]) for sample in samples)
    kept = bytes_that_a_cache_of_every_size_keeps(samples)
    expect(set(run.requests_of_steps()[1:]) == {STEP_REQUESTS + BATCH_REQUESTS + 8 * 37}, f"steps make {run.requests_of_steps()} requests")
    expect(kept > 2 * peak, f"every size kept is {kept} bytes, the peak {peak}")


def bytes_that_a_cache_of_every_size_keeps(samples):
    """Of each size as many buffers as were ever live at once, in the driver's pages of 2 MiB."""
    live, most = collections.Counter(), collections.Counter()
    for sample in samples:
        size = int(sample["bytes"])
        live[size] += 1 if sample["op"] == "malloc" else -1
        most[size] = max(most[size], live[size])
    return sum(-(-size // PAGE) * PAGE * count for size, count in most.items() if size >= PAGE // 2)


@case
def quiet_prints_the_last_line_only(build):
    expect(len(Run(build, "--quiet", "--eval-every", "7", *SMALL).stdout.splitlines()) == 1, "there is more")


@case
def help_says_every_option(build):
    text = Run(build, "--help").stdout
    for name in "steps length lengths accumulate lazy-state eval-every short-last-batch keep-output leak threads wide seed quiet".split():
        expect(f"--{name} " in text, f"no --{name}")


@case
def bad_input_exits_2_with_the_value_and_what_was_expected(build):
    for arguments, value in [
        (["--steps", "0"], '"0"'), (["--steps", "-3"], '"-3"'), (["--steps", "ten"], '"ten"'), (["--steps", ""], '""'),
        (["--steps", "99999999999999999999"], '"99999999999999999999"'), (["--length", "63"], '"63"'), (["--length", "1e4"], '"1e4"'),
        (["--lengths", "sometimes"], '"sometimes"'), (["--lengths", "buckets:0"], '"buckets:0"'), (["--lengths", "rare"], '"rare"'),
        (["--lengths", "rare:"], '"rare:"'), (["--lengths", "buckets:100", "--length", "128"], "100"), (["--accumulate", "2x"], '"2x"'),
        (["--eval-every", "0"], '"0"'), (["--leak", "0"], '"0"'), (["--threads", "0"], '"0"'), (["--threads", "17"], '"17"'), (["--seed", "-1"], '"-1"'), (["--seed", "18446744073709551616"], '"18446744073709551616"'),
        (["--lengths", "random", "--length", "64", "--steps", "100"], "100"), (["stray"], '"stray"'), (["--no-such"], "--no-such"), (["--steps"], "--steps"),
    ]:
        run = Run(build, *arguments, status=2)
        expect(value in run.stderr and "expected" in run.stderr, f"train {arguments} says: {run.stderr}")
        expect(run.stdout == "", f"train {arguments} prints: {run.stdout}")


@case
def out_of_memory_exits_1_with_the_call_and_its_place(build):
    run = Run(build, status=1, MEMORY="40MiB")
    expect(re.search(r"^train: \w+\.cu:\d+: cudaMalloc\(.*\): out of memory$", run.stderr, re.M), f"it says: {run.stderr}")


@case
def the_program_does_not_know_the_cache(build):
    program = (pathlib.Path(build) / "tests/programs/train").read_bytes().lower()
    expect(b"cudamalloc" in program, "this is not the program")
    for path in pathlib.Path(__file__).with_name("train").iterdir():
        expect("shapecache" not in path.read_text().lower(), f"{path.name} names the cache")


if __name__ == "__main__":
    CASES[sys.argv[1]](sys.argv[2])
