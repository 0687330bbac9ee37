#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What shapecache claims of whole runs of an unmodified program, one case a claim:
test_claims.py CASE BUILD. The cap is judged by the simulated GPU's samples, not by the cache's own log."""

import os
import pathlib
import re
import sys
import tempfile

from runs import Run

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def cached(build, *arguments, cache=None, program="train", **sim):
    run = Run(build, list(arguments), cache=cache or {}, sim=sim, program=program)
    expect(run.status == 0, f"exit status {run.status}: {run.stderr}")
    expect(run.log, f"no log was written: {run.stderr}")
    expect(run.violations() == 0, f"violations: {run.report.get('violations')}")
    return run


def expect(is_true, otherwise):
    if not is_true:
        sys.exit(f"not so: {otherwise}")


def expect_under_cap(run):
    expect(len(run.samples) > 100, f"only {len(run.samples)} samples")
    over = run.over_cap()
    expect(not over, f"{len(over)} of {len(run.samples)} requests above the cap, the first {over[:1]}")


@case
def held_stays_under_the_cap_with_fixed_lengths(build):
    expect_under_cap(cached(build, "--steps", "120"))


@case
def held_stays_under_the_cap_with_more_shapes_than_fit(build):
    run = cached(build, "--steps", "120", "--wide")
    expect_under_cap(run)
    expect(run.hit_percent(10) >= 95, f"{run.hit_percent(10):.1f}% hits")
    expect(sum(r["evicted"] for r in run.records("shape")) > 0, "nothing was ever evicted: the program is not wide")


@case
def held_stays_under_the_cap_when_lengths_change_late(build):
    run = cached(build, "--steps", "80", "--lengths", "late-change")
    expect_under_cap(run)
    expect(run.held_after_new_size(40) == [], "idle memory was held after the fallback")


@case
def with_a_gate_per_site_fixed_sizes_stay_cached_and_the_cap_holds(build):
    run = cached(build, "--steps", "80", "--lengths", "late-change", cache={"SCOPE": "site", "LOG_LEVEL": "event"})
    expect_under_cap(run)
    kept, fallen = run.sites_kept(), run.sites_fallen()
    expect(len(kept) >= 3 and len(fallen) >= 3, f"kept {kept}, fallen {fallen}")
    expect(run.hit_percent_of(kept, 45) == 100, f"{run.hit_percent_of(kept, 45)}% hits where sizes are fixed")
    expect(run.hit_percent_of(fallen, 45) == 0, f"{run.hit_percent_of(fallen, 45)}% hits where they vary")
    expect({r["reason"] for r in run.fallbacks()} == {"new-shape"}, f"fallbacks: {run.fallbacks()}")
    idle = [s for s in run.samples if s.step >= 45 and s.device > s.live]
    expect(idle, "nothing was kept after lengths changed")


@case
def a_gate_per_site_costs_a_fixed_run_nothing(build):
    run = cached(build, "--steps", "60", cache={"SCOPE": "site", "OVERHEAD": "100%"})
    expect(run.hit_percent(10) == 100, f"{run.hit_percent(10):.1f}% hits")
    expect(not run.fallbacks(), f"fallbacks: {run.fallbacks()}")


@case
def held_stays_under_the_cap_with_random_lengths(build):
    run = cached(build, "--steps", "80", "--lengths", "random")
    expect_under_cap(run)


@case
def held_stays_under_the_cap_with_buckets(build):
    expect_under_cap(cached(build, "--steps", "200", "--lengths", "buckets:5"))


@case
def the_cap_check_itself_sees_an_uncapped_cache(build):
    run = cached(build, "--steps", "60", "--lengths", "random", cache={"GATE": "0"})
    expect(run.over_cap(), "the check found nothing wrong with a cache of every shape")


@case
def one_new_shape_in_a_thousand_steps_leaves_95_percent_fixed(build):
    run = cached(build, "--steps", "5000", "--lengths", "rare:1000", "--length", "16384")
    expect(len(run.steps) == 5000, f"{len(run.steps)} steps")
    expect(run.fixed_percent() >= 95, f"{run.fixed_percent():.1f}% of steps in fixed")
    expect(len(run.fallbacks()) >= 4, f"only {len(run.fallbacks())} fallbacks: were there new shapes?")


@case
def one_new_shape_in_a_hundred_steps_is_forgiven_every_time(build):
    run = cached(build, "--steps", "2000", "--lengths", "rare:100", "--length", "16384")
    expect(run.fixed_percent() >= 85, f"{run.fixed_percent():.1f}% of steps in fixed")
    expect(len(run.fallbacks()) >= 18, f"only {len(run.fallbacks())} fallbacks: were there new shapes?")


def expect_fixed_early(run):
    first = run.first_fixed_step()
    expect(first is not None, "never fixed")
    true_step = true_step_of_first_hit(run)
    expect(true_step <= 10, f"fixed only at true step {true_step}")
    expect(len(run.fallbacks()) <= 1, f"{len(run.fallbacks())} fallbacks: {run.fallbacks()}")


def true_step_of_first_hit(run):
    """The step of the program in which the device first held more than the program: something was parked."""
    return next((s.step for s in run.samples if s.device > s.live), 10**9)


@case
def accumulation_is_fixed_by_step_10(build):
    expect_fixed_early(cached(build, "--steps", "60", "--accumulate", "4"))


@case
def lazy_optimizer_state_is_fixed_by_step_10(build):
    expect_fixed_early(cached(build, "--steps", "60", "--lazy-state"))


@case
def evaluation_is_fixed_by_step_10(build):
    expect_fixed_early(cached(build, "--steps", "60", "--eval-every", "10"))


@case
def a_short_last_batch_is_fixed_by_step_10(build):
    expect_fixed_early(cached(build, "--steps", "60", "--short-last-batch"))


@case
def losses_are_bit_identical_with_and_without_the_cache(build):
    for options in (["--accumulate", "2"], ["--lengths", "buckets:3"], ["--lengths", "random"], ["--lazy-state", "--eval-every", "7"]):
        plain = Run(build, ["--steps", "40", *options], sim={})
        run = cached(build, "--steps", "40", *options)
        expect(plain.steps and plain.bits() == run.bits(), f"losses differ with {options}")


def expect_unharmed_by_late_streams(build, streams, *options):
    plain = Run(build, ["--steps", "30", *options], sim={})
    for stream in range(streams):
        run = cached(build, "--steps", "30", *options, STREAM_DELAY_NS=f"{stream}:200000")
        expect(run.report["unchecked"] == 0, f"{run.report['unchecked']} launches were not judged")
        expect(plain.steps and run.bits() == plain.bits(), f"losses differ with {options} and stream {stream} late")


@case
def no_work_finds_its_memory_given_back_whichever_stream_is_late(build):
    for options in [], ["--accumulate", "4"], ["--lengths", "buckets:4"], ["--lengths", "random"], ["--lengths", "rare:9"]:
        expect_unharmed_by_late_streams(build, 3, *options)


@case
def no_work_of_a_wide_or_changing_set_finds_its_memory_given_back(build):
    for options in ["--wide"], ["--lengths", "late-change", "--steps", "50"], ["--eval-every", "5", "--lazy-state", "--keep-output"]:
        expect_unharmed_by_late_streams(build, 3, *options)


@case
def no_work_of_another_thread_finds_its_memory_given_back(build):
    for options in [], ["--lengths", "random"]:
        expect_unharmed_by_late_streams(build, 5, "--threads", "2", *options)


@case
def the_judge_sees_a_cache_that_does_not_wait(build):
    run = Run(build, ["--steps", "10"], sim={"STREAM_DELAY_NS": "2:1000000"}, preload="tests/sim/judge/libsim_parks.so")
    expect(run.violations() > 100, f"violations {run.report.get('violations')} in work that ran after its memory was given back")


@case
def every_driver_allocation_in_the_log_is_one_the_device_saw(build):
    for options in (["--lengths", "late-change"], ["--wide"]):
        run = cached(build, "--steps", "60", *options)
        end = run.records("end")
        expect(len(end) == 1, f"{len(end)} end records")
        calls = run.report["calls"]
        expect(end[0]["driver_allocs"] == calls["cuMemAlloc_v2"], f"{end[0]['driver_allocs']} in the log, {calls['cuMemAlloc_v2']} on the device")
        expect(end[0]["driver_frees"] == calls["cuMemFree_v2"], f"{end[0]['driver_frees']} in the log, {calls['cuMemFree_v2']} on the device")
        expect(end[0]["requests"] == run.steps[-1].requests, f"{end[0]['requests']} requests in the log, {run.steps[-1].requests} by the program")


@case
def a_static_libcudart_is_served_as_a_shared_one_and_counted_once(build):
    for options in (["--lengths", "late-change"], ["--wide"], ["--eval-every", "10"]):
        shared, static = (cached(build, "--steps", "60", *options, program=program) for program in ("train", "train-static"))
        ends = [run.records("end")[0] for run in (shared, static)]
        expect("runtime" in ends[0]["doors"] and "runtime" not in ends[1]["doors"], f"doors: {[end['doors'] for end in ends]}")
        for name in ("requests", "hits", "misses", "bypassed", "evicted", "driver_allocs", "driver_frees", "live_peak", "held_peak"):
            expect(ends[0][name] == ends[1][name], f"{name} with {options}: {ends[0][name]} shared, {ends[1][name]} static")
        expect(static.report["calls"]["cudaMalloc"] == ends[1]["requests"] > ends[1]["hits"] > 0, f"counted: {ends[1]}")
        expect(shared.bits() == static.bits(), f"losses differ with {options}")


@case
def a_call_site_may_be_told_with_its_callers(build):
    plain = cached(build, "--steps", "20")
    run = cached(build, "--steps", "20", cache={"STACKS": "3"})
    sites = {r["site"] for r in run.records("shape") if "site" in r}
    expect(sites, "no shape has a site")
    for site in sites:
        expect(re.fullmatch(r"train\+0x[0-9a-f]+( > train\+0x[0-9a-f]+){2}", site), f"not three places of the program: {site}")
    expect({site.split(" > ")[-1] for site in sites} == {r["site"] for r in plain.records("shape")}, "the places themselves differ")
    expect(run.bits() == plain.bits() and not run.records("warn"), f"warnings: {run.records('warn')}")
    for name in ("requests", "hits", "misses", "driver_allocs"):
        expect(run.records("end")[0][name] == plain.records("end")[0][name], f"{name} differs")


@case
def without_libunwind_call_sites_are_told_alone(build):
    with tempfile.TemporaryDirectory(prefix="shapecache-claims-") as folder:
        (pathlib.Path(folder) / "libunwind.so.8").touch()  # found first, and no library
        os.environ["LD_LIBRARY_PATH"] = folder
        run = cached(build, "--steps", "20", cache={"STACKS": "3"})
    expect([r["text"] for r in run.records("warn")] == [
        "SHAPECACHE_STACKS asks for callers, and libunwind.so.8 is not to be found: call sites are told without them."],
        f"warnings: {run.records('warn')}")
    expect(all(" > " not in r.get("site", "") for r in run.records("shape")), "some are told with callers")
    expect(run.hit_percent(10) == 100, f"{run.hit_percent(10)}% hits")


@case
def observe_changes_nothing(build):
    run = cached(build, "--steps", "40", cache={"": "observe"})
    expect(run.first_fixed_step() is not None, "the gate did not run")
    expect(all(s.device == s.live for s in run.samples), "something was parked")


@case
def off_leaves_no_trace(build):
    run = Run(build, ["--steps", "12"], cache={"": "off"}, sim={})
    expect(run.status == 0 and len(run.steps) == 12, run.stderr)
    expect(not run.log and run.stderr == "", f"output: {run.stderr}")


@case
def an_out_of_memory_with_idle_memory_gives_it_back_and_tries_again(build):
    plain = Run(build, ["--steps", "40", "--wide"], sim={})
    calls = cached(build, "--steps", "40", "--wide").report["calls"]["cuMemAlloc_v2"]
    run = cached(build, "--steps", "40", "--wide", FAIL=f"cuMemAlloc_v2:{calls * 9 // 10}")
    expect(run.bits() == plain.bits(), "losses differ")
    expect([r["retried"] for r in run.records("oom")] == [1], f"oom records: {run.records('oom')}")
    expect([r["reason"] for r in run.fallbacks()] == ["oom"], f"fallbacks: {run.fallbacks()}")


@case
def an_out_of_memory_with_nothing_idle_reaches_the_program(build):
    run = Run(build, ["--steps", "40", "--lengths", "random"], cache={}, sim={"FAIL": "cuMemAlloc_v2:200"})
    expect(run.status == 1 and "out of memory" in run.stderr, f"exit status {run.status}: {run.stderr}")
    expect([r.get("retried", 0) for r in run.records("oom")] == [0], f"oom records: {run.records('oom')}")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in CASES:
        sys.exit("usage: test_claims.py CASE BUILD, CASE one of:\n  " + "\n  ".join(CASES))
    CASES[sys.argv[1]](sys.argv[2])
    print("so it is")
