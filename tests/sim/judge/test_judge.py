#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the simulated GPU's judge says of programs that use memory wrongly, and of a cache that does:
test_judge.py CASE SINNER PARKS LIBSHAPECACHE BUILD. "parks" is a cache that does not wait (parks.c)."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DELAY = {"STREAM_DELAY_NS": "1:20000000"}  # the first stream created: its work is late


class Run:
    """`violations` by kind, `leaks`, `calls` by name, and what stderr says."""

    def __init__(self, sinner, what, preload, build, sim, more):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHAPECACHE", "SIMCUDA_", "LD_PRELOAD"))}
        environment["LD_LIBRARY_PATH"] = str(pathlib.Path(build) / "sim")
        environment |= {"SIMCUDA_" + name: value for name, value in sim.items()} | more
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.json"
            environment |= {"SIMCUDA_REPORT": str(path), "SHAPECACHE_LOG": "off", "SHAPECACHE_SUMMARY": "off", "LD_PRELOAD": " ".join(preload)}
            done = subprocess.run([sinner, what], env=environment, capture_output=True, text=True, check=False)
            self.stderr = done.stderr
            expect(done.returncode == 0, f"{what}: exit status {done.returncode}: {self.stderr}")
            report = json.loads(path.read_text())
        self.violations, self.leaks, self.calls = report["violations"], (report["leaks"], report["leaked_bytes"]), report["calls"]


class Judge:
    def __init__(self, sinner, parks, cache, build):
        self.sinner, self.build = sinner, build
        self.preloads = {"no cache": [], "parks": [parks], "cache": [cache], "shim": [build + "/sim/libsimshim.so"]}

    def of(self, what, *under, more=None, **sim):
        preload = [file for name in under for file in self.preloads[name]]
        return Run(self.sinner, what, preload, self.build, sim, more or {})

    def expect(self, what, expected, *under, **sim):
        run = self.of(what, *under, **sim)
        expect(run.violations == expected, f"{what} under {under} with {sim}: {run.violations}, not {expected}: {run.stderr}")
        return run

    def expect_kind(self, what, kind, *under, **sim):
        """On a busy machine late work may find its memory freed where it should have found it given out again."""
        run = self.of(what, *under, **sim)
        expect({kind} <= set(run.violations) <= {kind, "use-after-free"}, f"{what} under {under} with {sim}: {run.violations}, not {kind}: {run.stderr}")
        return run


def expect(is_true, otherwise):
    if not is_true:
        sys.exit(f"not so: {otherwise}")


def a_cache_that_does_not_wait_is_found_out_when_it_hands_memory_out_again(judge):
    run = judge.expect_kind("hand-over", "use-after-reuse", "parks", **DELAY)
    line = r"^simcuda: use-after-reuse: cuMemsetD8Async writes 1048576 bytes at offset 0 of allocation (\d+) " \
           r"\(1048576 bytes at 0x[0-9a-f]+\) on stream 1: given out again before this ran, as allocation (\d+)$"
    said = re.search(line, run.stderr, re.M)
    expect(said and int(said[2]) == int(said[1]) + 3, run.stderr)


def a_cache_that_does_not_wait_is_found_out_even_when_nobody_gets_the_memory(judge):
    judge.expect_kind("let-go", "use-after-free", "parks", **DELAY)


def the_same_programs_are_clean_without_a_cache_and_under_ours(judge):
    for what in "hand-over", "hand-over-in-order", "let-go":
        for under in "no cache", "cache":
            run = judge.expect(what, {}, under, **DELAY)
            expect(run.leaks == (0, 0), f"{what} leaves {run.leaks}")
    expect_served(judge.of("hand-over", "cache", **DELAY), "cudaMalloc")


def threads_that_pass_memory_to_each_other_are_clean_under_our_cache(judge):
    for delay in {}, {"DELAY_NS": "200000"}, {"STREAM_DELAY_NS": "2:500000"}:
        for mode in "sync", "deferred":
            expect_served(judge.expect("threads", {}, "cache", JUDGE=mode, **delay), "cudaMalloc")


def a_thread_inside_the_driver_holds_up_no_other_thread(judge):
    for under in "no cache", "cache":
        judge.expect("held-thread", {}, under)


def expect_served(run, call):
    """The cache had hits: fewer of the program's requests than that reached the driver."""
    requests, reached = run.calls.get(call, 0), run.calls["cuMemAlloc_v2"]
    expect(reached < requests / 2, f"of {requests} requests {reached} reached the driver")


def work_that_was_running_when_its_memory_was_given_back_is_found_out(judge):
    run = judge.expect_kind("kernel", "use-after-free", "parks", KERNEL_NS="50000000")
    expect("freed while this ran" in run.stderr, run.stderr)
    judge.expect("kernel", {}, "no cache", KERNEL_NS="50000000")


def a_free_that_need_not_wait_is_judged_by_the_next_owners_work_alone(judge):
    judge.expect("hand-over-in-order", {}, "parks", JUDGE="deferred", **DELAY)
    judge.expect("let-go", {}, "parks", JUDGE="deferred", **DELAY)
    run = judge.expect_kind("hand-over", "early-reuse", "parks", JUDGE="deferred", **DELAY)
    expect(re.search(r"on stream 2: before operations were done of allocation \d+$", run.stderr, re.M), run.stderr)
    judge.expect("use-after-free", {"use-after-free": 1}, "no cache", JUDGE="deferred")


def one_stream_is_no_excuse_for_a_free_that_must_wait(judge):
    judge.expect_kind("hand-over-in-order", "use-after-reuse", "parks", **DELAY)


def memory_that_two_owners_have_is_found_out(judge):
    judge.expect("two-owners", {"handed-out-twice": 1}, "parks", more={"PARKS": "twice"})
    judge.expect("two-owners", {}, "cache")


def a_copy_to_memory_freed_before_is_found_out_whether_it_is_still_mapped_or_not(judge):
    for under in "no cache", "parks", "cache":
        run = judge.expect("use-after-free", {"use-after-free": 1}, under)
        expect("allocation 1 (1048576 bytes" in run.stderr and "freed before this was enqueued" in run.stderr, run.stderr)


def the_bounds_are_those_of_what_the_program_asked_for(judge):
    run = judge.expect("out-of-bounds", {"out-of-bounds": 2}, "no cache")
    expect("writes 1001 bytes at offset 0 of allocation 1 (1000 bytes" in run.stderr, run.stderr)
    expect("reads 5 bytes at offset 996 of allocation 1 (1000 bytes" in run.stderr, run.stderr)


def a_launch_is_judged_by_the_accesses_its_kernel_was_registered_with(judge):
    run = judge.expect("launch-wrongly", {"out-of-bounds": 1, "use-after-free": 1}, "no cache")
    expect("fill writes 1048580 bytes at offset 0 of allocation 1" in run.stderr, run.stderr)


def a_graph_is_judged_by_whose_memory_it_is_when_it_is_launched(judge):
    for under in "no cache", "cache":
        judge.expect("replay", {"use-after-free": 2}, under)


def a_second_free_is_found_out(judge):
    for under in "no cache", "parks", "cache":
        run = judge.expect("free-twice", {"double-free": 2}, under)
        expect("allocation 1 (1048576 bytes at" in run.stderr, run.stderr)


def a_free_of_what_was_never_allocated_is_found_out(judge):
    run = judge.expect("free-what-is-not", {"invalid-free": 2}, "no cache")
    expect("is inside allocation 1" in run.stderr and "was never allocated" in run.stderr, run.stderr)


def what_was_never_freed_is_counted_and_a_violation_when_asked_for(judge):
    run = judge.expect("leak", {}, "no cache")
    expect(run.leaks == (3, 6000), f"leaks {run.leaks}")
    expect(judge.expect("leak", {}, "cache").leaks == (3, 6000), "another number under the cache")
    run = judge.expect("leak", {"leak": 3}, "no cache", LEAKS="1")
    expect("allocation 2 (2000 bytes" in run.stderr, run.stderr)


def a_capture_broken_by_an_unsafe_call_is_found_out(judge):
    run = judge.expect("break-capture", {"capture": 1}, "no cache")
    expect(run.leaks == (0, 0), f"the free that failed was taken for one: {run.leaks}")


def a_program_of_the_drivers_door_is_judged_through_the_shim(judge):
    for what in "linked-driver", "resolved-driver":
        run = judge.of(what, "shim", "parks", **DELAY)
        expect(run.violations.get("use-after-reuse", 0) > 0 and run.violations.get("double-free") == 1, f"{run.violations}: {run.stderr}")
        for under in "no cache", "cache":
            judge.expect(what, {"double-free": 1}, "shim", under, **DELAY)
        reached = judge.of(what, "shim", "cache").calls["cuMemAlloc_v2"]
        expect(reached < 60, f"of 120 requests {reached} reached the driver")
    judge.expect("hand-over", {}, "shim", "cache", **DELAY)


def a_judge_that_is_off_says_nothing_of_owners(judge):
    judge.expect("hand-over", {}, "parks", JUDGE="off", **DELAY)
    judge.expect("free-twice", {}, "no cache", JUDGE="off")


if __name__ == "__main__":
    globals()[sys.argv[1]](Judge(*sys.argv[2:]))
    print("so it is")
