#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings replayed under the cache on the simulated GPU, by bench/score.py's own figures: test_score.py CASE BUILD."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import score  # noqa: E402

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def expect(is_true, otherwise):
    if not is_true:
        sys.exit(f"not so: {otherwise}")


def replayed(build, name):
    run = score.replay(build, next((ROOT / "bench/traces").glob(f"{name}.*")))
    expect(run.status == 0 and run.records("end"), f"{name}: exit status {run.status}: {run.stderr}")
    problems = list(score.Score(run).problems())
    expect(not problems, f"{name}: {problems}")
    return run, score.Score(run)


def ends_in_each_pass(scored):
    """How many inferred steps end in each pass. What is unfinished when the program is done has no end."""
    ends = [stretch[1] for stretch in scored.stretches[:-1]]
    return [sum(first < end <= after for end in ends) for first, after in zip(scored.bounds, scored.bounds[1:])]


@case
def resnet50_is_one_step_a_pass_after_its_second_and_all_hits_at_the_same_addresses(build):
    _, scored = replayed(build, "somas-resnet50")
    expect(set(ends_in_each_pass(scored)[2:-1]) == {1}, f"ends: {ends_in_each_pass(scored)}")
    expect(all(scored.in_fixed[score.SETTLED:]), f"fixed: {scored.in_fixed}")
    expect(float(scored.hits_after_settling()) >= 99.9, f"{scored.hits_after_settling()}% hits")
    expect(float(scored.same_addresses()) >= 99, f"{scored.same_addresses()}% of addresses as before")


@case
def pangu_is_one_step_a_pass_after_its_first_and_nearly_all_hits_under_the_cap(build):
    _, scored = replayed(build, "somas-pangu_2.6B")
    expect(set(ends_in_each_pass(scored)[1:]) == {1}, f"ends: {ends_in_each_pass(scored)}")
    expect(all(scored.in_fixed[score.SETTLED:]), f"fixed: {scored.in_fixed}")
    expect(float(scored.hits_after_settling()) >= 97 and float(scored.hits_in_fixed()) >= 97, f"{scored.cells()}")


@case
def several_resolutions_stay_within_the_cap_and_each_change_of_phase_is_told(build):
    for name in "darknet-alexeyab-yolov4tiny-random", "darknet-pjreddie-yolov3tiny-random", "pytorch-gpt12-ten-random", "pytorch-resnet-ten-random":
        run, _ = replayed(build, name)
        phases = [(record["from"], record["to"]) for record in run.records("phase")]
        told = ["warmup"] + [to for _, to in phases]
        expect([before for before, _ in phases] == told[:-1] and run.records("end")[0]["phase"] == told[-1], f"{name}: {phases}")


if __name__ == "__main__":
    CASES[sys.argv[1]](sys.argv[2])
