#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""There and back: a program's log at level event, exported, is replayed as the program ran. test_export.py CASE BUILD."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/demo")]

from runs import Run  # noqa: E402
from score import TRACES, Replay  # noqa: E402

CASES = {}
MEMORY = {"MEMORY": "16GiB"}
EVENT = {"LOG_LEVEL": "event"}


def case(function):
    CASES[function.__name__] = function
    return function


def expect(is_true, otherwise):
    if not is_true:
        sys.exit(f"not so: {otherwise}")


def calls(run):
    return [(sample.op, sample.bytes) for sample in run.samples]


def trained(build, *arguments, **cache):
    run = Run(build, [*arguments, "--steps", "30"], cache=EVENT | cache, sim=MEMORY)
    expect(run.status == 0, run.stderr)
    return run


def exported(build, run, form="trace"):
    path = run.folder / f"exported.{form}"
    done = subprocess.run([str(pathlib.Path(build) / "shapecache"), "export", "--to", form, "--out", str(path), str(run.log_path())],
                          capture_output=True, text=True, check=False)
    expect(done.returncode == 0, done.stderr)
    return path, done.stderr


def replayed(build, path, cache=None):
    run = Replay(build, path, cache=cache, sim=MEMORY)
    expect(run.status == 0, run.stderr)
    return run


@case
def a_replay_makes_the_calls_of_the_program_in_their_order(build):
    for options in ("--lengths", "late-change"), ("--lengths", "random"), ("--leak", "4096"), ("--accumulate", "4", "--lazy-state"):
        run = trained(build, *options)
        path, _ = exported(build, run)
        again = replayed(build, path)
        made, left = calls(run), calls(again)[len(calls(run)):]
        expect(calls(again)[:len(made)] == made, f"{options}: other calls")
        expect({op for op, _ in left} <= {"free"}, f"{options}: more than what was left live: {left}")


@case
def a_replay_begins_steps_where_the_log_does(build):
    for cache in {"STEP": "requests:50"}, {"STEP": "auto"}:
        run = trained(build, **cache)
        path, said = exported(build, run)
        again = replayed(build, path)
        expect(("inferred" in said) == (cache["STEP"] == "auto"), said)
        requests = [record["requests"] for record in run.records("step")]
        made = [step.requests for step in again.steps]
        expect(len(requests) > 5 and made[:len(requests)] == [sum(requests[:i + 1]) for i in range(len(requests))], f"{cache}: {made}")
        expect(made[-1] == run.records("end")[0]["requests"], f"{cache}: {made}")


@case
def the_log_as_of_rmm_is_replayed_with_the_same_calls(build):
    run = trained(build, "--lengths", "late-change")
    expect(calls(replayed(build, exported(build, run, "rmm")[0])) == calls(run), "other calls")


@case
def requests_of_several_threads_are_all_there(build):
    run = trained(build, "--threads", "3")
    again = replayed(build, exported(build, run)[0])
    expect(sorted(calls(again)) == sorted(calls(run)), "other calls")


@case
def a_recording_comes_back_as_it_was(build):
    """What is replayed at level event and exported is the recording again, but for the names of the blocks."""
    for name in "pytorch-gpt-ten-fixed", "gpumd-gnep-varied", "eagea-cudann":
        path = next(path for path in TRACES if path.name.startswith(name))
        run = replayed(build, path, cache=EVENT)
        again = replayed(build, exported(build, run)[0])
        expect(len(calls(run)) > 1000 and calls(again) == calls(run), f"{name}: other calls")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in CASES:
        sys.exit("usage: test_export.py CASE BUILD, CASE one of:\n  " + "\n  ".join(CASES))
    CASES[sys.argv[1]](sys.argv[2])
    print("so it is")
