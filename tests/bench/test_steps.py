#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Step inference on every recording in bench/traces, played to the cache itself by build/bench/steps: test_steps.py CASE BUILD."""

import pathlib
import subprocess
import sys

TRACES = pathlib.Path(__file__).resolve().parents[2] / "bench/traces"
CASES = {}

# Recordings by what their shapes do; what is in none of these is not marked, or has no step of the kind.
FIXED = ["pytorch-gpt-ten-fixed", "pytorch-gpt12-ten-fixed", "pytorch-gpt-ten-ckpt", "pytorch-gpt-ten-accum-eval", "tinygrad-conv-fixed-nolru-noplan",
         "somas-resnet50", "somas-pangu_2.6B"]
BUCKETS = ["pytorch-lstm-ten-buckets", "pytorch-resnet-ten-random", "pytorch-unet-ten-buckets"]
NEVER_THE_SAME = ["pytorch-gpt12-ten-random", "tinygrad-transformer-varlen-nolru-noplan"]
SILENT = ["hijkzzz-mnist-thrust", "darknet-pjreddie-yolov3tiny-random"]
COLUMNS = ["requests", "true", "seen", "cover", "exact", "hits", "first", "falls", "spurious", "fixed", "told_first", "told_falls", "told_spurious", "told_fixed"]


def case(function):
    CASES[function.__name__] = function
    return function


def expect(is_true, otherwise):
    if not is_true:
        sys.exit(f"not so: {otherwise}")


def number(text):
    return None if text == "-" else float("inf") if text == "never" else float(text)


def score(build, names):
    """Of each recording, what `steps` prints, by column."""
    files = [next(TRACES.glob(f"{name}.*")) for name in names]
    program = pathlib.Path(build) / "bench/steps"
    done = subprocess.run([str(program), *map(str, files)], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"exit status {done.returncode}: {done.stderr}")
    rows = [line.replace("|", " ").split()[1:] for line in done.stdout.splitlines()[1:]]
    expect(len(rows) == len(names), f"{len(rows)} rows for {len(names)} recordings")
    return {name: dict(zip(COLUMNS, map(number, row))) for name, row in zip(names, rows)}


@case
def a_fixed_recording_is_fixed_as_soon_as_if_its_steps_were_told(build):
    for name, row in score(build, FIXED).items():
        expect(row["first"] <= row["told_first"] <= 6, f"{name}: {row}")
        expect(row["fixed"] >= row["told_fixed"] and row["falls"] == 0, f"{name}: {row}")


@case
def a_fixed_recording_has_as_many_steps_seen_as_there_are(build):
    for name, row in score(build, FIXED).items():
        expect(abs(row["seen"] - (row["true"] - 1)) <= 7, f"{name}: {row}")


@case
def fixed_transformers_and_convolutions_have_an_end_at_each_true_step_but_the_first_ones(build):
    for name in "pytorch-gpt-ten-fixed", "pytorch-gpt12-ten-fixed", "pytorch-gpt-ten-ckpt", "tinygrad-conv-fixed-nolru-noplan", "somas-resnet50":
        row = score(build, [name])[name]
        expect(row["exact"] >= row["true"] - 3, f"{name}: {row}")


@case
def bucketed_recordings_fall_back_no_more_often_than_if_their_steps_were_told(build):
    for name, row in score(build, BUCKETS).items():
        expect(row["falls"] <= row["told_falls"] and row["spurious"] == 0, f"{name}: {row}")
        expect(row["fixed"] >= row["told_fixed"] - 4, f"{name}: {row}")


@case
def lengths_that_never_return_are_never_fixed(build):
    for name, row in score(build, NEVER_THE_SAME).items():
        expect(row["first"] == float("inf") and row["falls"] == 0 and row["hits"] == 0, f"{name}: {row}")


@case
def where_live_bytes_are_silent_the_shapes_end_steps(build):
    for name, row in score(build, SILENT).items():
        expect(row["cover"] >= 5 and row["hits"] > 10 and row["falls"] == 0, f"{name}: {row}")


@case
def bad_input_exits_2(build):
    program = str(pathlib.Path(build) / "bench/steps")
    for arguments in [], ["--steps", "0", "x"], ["--steps", "3x", "x"], ["/nowhere"], [__file__]:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        expect(done.returncode == 2 and done.stderr, f"{arguments}: exit status {done.returncode}, it says {done.stderr!r}")


if __name__ == "__main__":
    CASES[sys.argv[1]](sys.argv[2])
