#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The training example whose activations go through the arena, on the simulated GPU: test_offload.py CASE BUILD. Whatever
is delayed, wherever the activations lie, the losses are the same bits."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

LINE = re.compile(r"^(step|evaluation) \d+ loss \d+\.\d{6} bits ([0-9a-f]{8})$")
LAYERS, ROWS, STEPS, COLUMNS = 12, 8192, 11, 64
TENSOR = ROWS * COLUMNS * 4  # 2 MiB, a page of the device
ALL = LAYERS * TENSOR
PASSES = STEPS + STEPS // 5
MS = 1000000

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def expect(is_true, otherwise):
    if not is_true:
        sys.exit(f"not so: {otherwise}")


class Run:
    def __init__(self, build, *arguments, program="offload", library=True, rows=ROWS, status=0, **environment):
        build = pathlib.Path(build).resolve()
        with tempfile.TemporaryDirectory(prefix="offload-test-") as folder:
            report, log = pathlib.Path(folder) / "report.json", pathlib.Path(folder) / "log.jsonl"
            preloads = [build / "sim/libcuda.so.1"] + [build / "libshapecache.so"] * (library and program == "offload")
            inherited = {k: v for k, v in os.environ.items() if not k.startswith(("SIMCUDA_", "SHAPECACHE", "LD_"))}
            done = subprocess.run(
                [build / "tests/programs" / program, "--steps", str(STEPS), "--layers", str(LAYERS), "--rows", str(rows), *arguments],
                env=inherited | {"LD_LIBRARY_PATH": str(build / "sim"), "LD_PRELOAD": " ".join(map(str, preloads)),
                                 "SIMCUDA_REPORT": str(report), "SIMCUDA_JUDGE": "deferred", "SHAPECACHE_LOG": str(log)} | environment,
                capture_output=True, text=True, check=False)
            self.stderr = done.stderr
            expect(done.returncode == status, f"{arguments}: exit status {done.returncode}: {done.stderr}")
            self.bits = [m[2] for m in map(LINE.match, done.stdout.splitlines()) if m]
            self.report = json.loads(report.read_text()) if report.exists() else None
            self.log = logs.read(log)
        words = next((line.split()[1:] for line in done.stdout.splitlines() if line.startswith("arena ")), [])
        self.arena = {name: int(value) for name, value in zip(words[::2], words[1::2])}
        if status == 0:
            expect(len(self.bits) == PASSES, f"{len(self.bits)} losses")
            expect(not self.report["violations"], f"violations: {self.report['violations']}")
            expect(self.report["unchecked"] == 0, "kernels that nobody watched")


def offloaded(build, capacity=ALL, *more, **other):
    return Run(build, "--offload", str(capacity), *more, **other)


@case
def losses_are_the_same_bits_with_and_without_the_cache_and_the_arena(build):
    plain = Run(build, library=False)
    cached = Run(build)
    through = offloaded(build)
    linked = offloaded(build, program="offload-linked")
    expect(len(set(plain.bits)) > STEPS // 2, "the network learns nothing")
    expect(plain.bits == cached.bits, "the cache changes losses")
    expect(plain.bits == through.bits, "the arena changes losses")
    expect(plain.bits == linked.bits, "linked, the arena changes losses")
    for run in (through, linked):
        expect(run.arena["offloads"] == PASSES * LAYERS, run.arena)
        expect(run.arena["onloads"] == STEPS * LAYERS, run.arena)
        expect(run.arena["rewound"] == (PASSES - STEPS) * LAYERS, run.arena)
        expect(run.arena["used-peak"] == ALL, run.arena)
        expect(run.arena["given"] == run.arena["offloads"], run.arena)


@case
def losses_are_the_same_bits_whichever_stream_is_late(build):
    plain = Run(build, library=False, rows=512)
    for stream in 1, 2, 3:  # the program's, out, in
        late = offloaded(build, rows=512, SIMCUDA_STREAM_DELAY_NS=f"{stream}:{MS}")
        expect(plain.bits == late.bits, f"losses change when stream {stream} is late")
        expect(late.arena["prefetched"] > 0, late.arena)
        early = offloaded(build, ALL, "--ahead", "0", "--behind", "1000", rows=512, SIMCUDA_STREAM_DELAY_NS=f"{stream}:{MS}")
        expect(plain.bits == early.bits, f"losses change without prefetches when stream {stream} is late")


@case
def a_pass_through_the_arena_needs_less_device_memory(build):
    plain, through = Run(build), offloaded(build)
    expect(plain.report["peak"] >= (LAYERS + 1) * TENSOR, plain.report["peak"])
    expect(through.report["peak"] <= plain.report["peak"] - (LAYERS - 6) * TENSOR,
           f"{through.report['peak']} bytes at most, {plain.report['peak']} without the arena")


def end(run):
    """The record of totals."""
    return next(row for row in reversed(run.log) if row["ev"] == "end")


@case
def what_one_run_says_that_the_device_was_spared_is_the_difference_of_two(build):
    plain = end(Run(build))["live_peak"]
    for more in (), ("--ahead", "0"), ("--behind", "1000"), ("--pageable",):
        run = offloaded(build, ALL // 3 if more == ("--pageable",) else ALL, *more)
        told = end(run)
        expect(told["live_without"] == plain, f"{more}: {told['live_without']} bytes without the arena, in truth {plain}")
        expect(told["spared"] == plain - told["live_peak"], f"{more}: {told}")
        expect(told["spared"] > TENSOR or "1000" in more, f"{more}: {told}")
        if not more:
            expect(f"; spared the device {told['spared'] / 2**20:.1f} MiB: at most " in run.stderr, run.stderr)
    half = offloaded(build, ALL // 2, "--keep")
    expect(end(half)["live_without"] == plain, end(half))


@case
def what_does_not_fit_stays_on_the_device_or_is_an_error(build):
    plain = Run(build, library=False)
    half = offloaded(build, ALL // 2, "--keep")
    dry = offloaded(build, 0)
    expect(plain.bits == half.bits and plain.bits == dry.bits, "losses change")
    expect(half.arena["kept"] == PASSES * LAYERS // 2, half.arena)
    expect(dry.arena["kept"] == PASSES * LAYERS, dry.arena)
    expect(half.arena["demand-peak"] == dry.arena["demand-peak"] == ALL, "the peak demand depends on what there is")
    full = offloaded(build, ALL // 2, status=1)
    expect(f"activation arena is full: need {TENSOR >> 20}.00 MiB ({TENSOR} bytes), have 0 B of" in full.stderr, full.stderr)


@case
def pageable_memory_and_memory_locked_meanwhile_hold_the_same_bytes(build):
    plain = Run(build, library=False)
    pageable = offloaded(build, ALL // 2, "--pageable")
    expect(plain.bits == pageable.bits, "losses change")
    expect(pageable.arena["pageable"] == PASSES * LAYERS // 2, pageable.arena)
    late = offloaded(build, ALL, "--background", SIMCUDA_DELAY_NS=str(MS // 10))
    expect(plain.bits == late.bits, "losses change while memory is page-locked")


@case
def the_log_and_the_last_line_tell_what_moved(build):
    run = offloaded(build)
    rows = [row for row in run.log if row["ev"] == "arena"]
    expect([row["what"] for row in rows if row["what"] != "pass"] == ["start", "end"], rows)
    expect(rows[-1]["bytes_out"] == PASSES * ALL and rows[-1]["bytes_in"] == STEPS * ALL, rows[-1])
    expect(f"arena: {PASSES * LAYERS} tensors offloaded, " in run.stderr, run.stderr)


@case
def memory_that_cannot_be_page_locked_is_said_to_be_that(build):
    run = offloaded(build, status=1, SIMCUDA_FAIL="cuMemHostRegister:1")
    expect("of host memory could not be page-locked (this is not GPU memory)" in run.stderr, run.stderr)


if __name__ == "__main__":
    CASES[sys.argv[1]](sys.argv[2])
