#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Replays recordings of real programs on the simulated GPU, under the cache with its default settings, runs the training
program in the ways that make a step hard to see, and says how well the cache's steps fit the true ones and what it held.
Exits 1 if a run fails or the device ever held more than the cap allows, by the simulator's own samples and the true
steps."""

import argparse
import bisect
import csv
import pathlib
import sys
import time

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH.parent / "tests/demo"))

from runs import MIB, Run, Step  # noqa: E402

TRACES = sorted(f for f in (BENCH / "traces").iterdir() if f.name.endswith((".trace.xz", ".csv.xz")))
STEPS = 60  # what a recording with marked steps is looped to
PASSES = 10  # over lifetimes
MEMORY = "16GiB"
LABELLED = [  # runs of the training program, whose own lines are the true steps
    "", "--accumulate 4", "--accumulate 16", "--lazy-state", "--lazy-state --accumulate 4", "--eval-every 10", "--eval-every 2 --accumulate 2",
    "--short-last-batch", "--keep-output", "--leak 4096", "--leak 1000000", "--threads 2", "--threads 3", "--wide",
    "--accumulate 4 --lazy-state --eval-every 10 --short-last-batch --keep-output --leak 4096",
    "--lengths buckets:4", "--lengths buckets:16", "--lengths late-change", "--lengths random", "--lengths random --accumulate 8",
    "--lengths random --threads 2", "--lengths random --lazy-state --keep-output --eval-every 10",
]
SETTLED = 4  # hits count from the step after this one
SMALL = 64 << 10  # SHAPECACHE_SMALL


class Scored(Run):
    """A run whose steps are the true ones."""

    repeats = []  # requests made before, and those that got the same address again, at the end of each step

    def stretches(self):
        """(first request, request after the last, hits, phase) of each inferred step, the unfinished last one too."""
        found, first, hits = [], 0, 0
        for record in self.records("step"):
            found.append((first, first + record["requests"], record["hits"], record["phase"]))
            first += record["requests"]
            hits += record["hits"]
        end = self.records("end")[0]
        if end["requests"] > first:
            found.append((first, end["requests"], end["hits"] - hits, end["phase"]))
        return found


class Labelled(Scored):
    """A run of the training program."""

    def __init__(self, build, options):
        self.name = f"train {options}".strip()
        self.is_leaking = "--leak" in options
        super().__init__(build, ["--steps", str(STEPS), *options.split()], cache={}, sim={"MEMORY": MEMORY})


class Replay(Scored):
    """A recording, replayed. A recording without marks has no steps."""

    PROGRAMS = "bench"
    is_leaking = False

    def __init__(self, build, file, *options, **keywords):
        self.name = file.name.removesuffix(".xz")
        super().__init__(build, [str(file.resolve()), "--steps-to", "steps.csv", "--progress", "60", *options],
                         program="replay", **keywords)

    def _read_steps(self):
        path = self.folder / "steps.csv"
        rows = []
        if path.exists():
            with path.open() as file:
                rows = list(csv.DictReader(file))
        self.repeats = [(int(row["repeats"]), int(row["same"])) for row in rows]  # at the end of each step
        return [Step(int(row["step"]), 0, "", "", "", int(row["requests"])) for row in rows]


class Score:
    def __init__(self, run):
        self.run = run
        self.bounds = [0] + [s.requests for s in run.steps]
        self.stretches = run.stretches()
        self.in_fixed = [self._is_fixed(a, b) for a, b in zip(self.bounds, self.bounds[1:])]

    def _is_fixed(self, first, after):
        """Was every inferred step that has a part of these requests in `fixed`? (A step without requests is as the last.)"""
        starts = [s[0] for s in self.stretches]
        begin = max(bisect.bisect_right(starts, first) - 1, 0)
        end = bisect.bisect_left(starts, after)
        return all(s[3] == "fixed" for s in self.stretches[begin:max(end, begin + 1)])

    def hits_after_settling(self):
        since = self.bounds[SETTLED + 1] if self.run.steps and len(self.bounds) > SETTLED + 1 else None
        if not self.run.steps and len(self.stretches) > SETTLED + 1:
            since = self.stretches[SETTLED + 1][0]
        later = [s for s in self.stretches if since is not None and s[0] >= since]
        requests = sum(s[1] - s[0] for s in later)
        return f"{100 * sum(s[2] for s in later) / requests:.1f}" if requests else "-"

    def hits_in_fixed(self):
        end = self.run.records("end")[0]
        asked = end["hits"] + end["misses"]
        return f"{100 * end['hits'] / asked:.1f}" if asked else "-"

    def same_addresses(self):
        """Of the requests after settling that an earlier turn has made too, those that got the same address again."""
        if len(self.run.repeats) <= SETTLED + 1:
            return "-"
        (first, first_same), (last, last_same) = self.run.repeats[SETTLED], self.run.repeats[-1]
        return f"{100 * (last_same - first_same) / (last - first):.1f}" if last > first else "-"

    def last_new_size(self):
        """The last true step that asked for a size that counts and had not been there before."""
        seen, step = set(), 0
        for sample in self.run.samples:
            if sample.op == "malloc" and sample.bytes >= SMALL and sample.bytes not in seen:
                seen.add(sample.bytes)
                step = sample.step
        return step

    def fallbacks(self):
        for record in self.run.fallbacks():
            first = self.stretches[min(record["step"], len(self.stretches) - 1)][0]
            true = bisect.bisect_right(self.bounds, first) - 1
            yield (f"{self.run.name}: {record['reason']}"
                   + (f" of {record['bytes']} bytes" if "bytes" in record else "")
                   + f" in inferred step {record['step']}" + (f", true step {min(true, len(self.in_fixed) - 1)}" if self.run.steps else ""))

    def spurious(self):
        """Fallbacks for a shape of the first true step: before its end, nothing can have been fixed."""
        return sum(record["reason"] == "new-shape" and self.stretches[record["step"]][0] < self.bounds[1] for record in self.run.fallbacks())

    def cells(self):
        run, steps = self.run, len(self.run.steps)
        end = run.records("end")[0]
        calls = run.report["calls"]
        driver = calls.get("cuMemAlloc_v2", 0) + calls.get("cuMemFree_v2", 0)
        first = next((i for i, fixed in enumerate(self.in_fixed) if fixed), None)
        return [run.name, str(end["requests"]), str(steps) if steps else "-", str(end["steps"]),
                str(self.last_new_size()) if steps else "-", "-" if not steps else "never" if first is None else str(first), str(end["fallbacks"]),
                str(self.spurious()) if steps else "-",
                f"{100 * sum(self.in_fixed) / steps:.0f}" if steps else "-",
                self.hits_after_settling(), self.hits_in_fixed(), self.same_addresses(),
                f"{run.live_peak() / MIB:.0f}", f"{run.device_peak() / MIB:.0f}", f"{run.device_peak() / run.live_peak():.3f}",
                f"{driver / steps:.1f}" if steps else "-", f"{100 * driver / (2 * end['requests']):.1f}"]

    def problems(self):
        run = self.run
        over = run.over_cap()
        if over:
            worst = max(over, key=lambda s: s.most)
            yield (f"{len(over)} of {len(run.samples)} requests above the cap, the first in true step {over[0].step}, "
                   f"the worst {worst.most} bytes held for {worst.live} live in step {worst.step}")
        if run.violations():
            yield f"the simulated GPU saw violations: {run.report['violations']}"
        if run.samples[-1].live and not run.is_leaking:
            yield f"{run.samples[-1].live} bytes live at the end"


HEAD = ["recording", "requests", "true steps", "inferred", "last new", "first fixed", "fallbacks", "spurious", "fixed %", "hits %", "in fixed %", "same %",
        "live MiB", "held MiB", "held/live", "calls/step", "calls %"]

LEGEND = f"""true steps: marked in the recording, looped to {STEPS} where they can be, or passes ({PASSES}) over lifetimes; -: not marked.
inferred: steps that the cache saw. last new: the last true step, from 0, with a size of 64 KiB or more that had not been there.
first fixed: the first true step all of whose requests came in phase `fixed`; fixed %: of true steps, those. spurious: of the
fallbacks, those for a shape of the first true step, before whose end nothing can have been fixed. hits %: of requests after
true step {SETTLED} (not marked: after inferred step {SETTLED}). in fixed %: hits of the requests in `fixed`. same %: of requests after true
step {SETTLED} that an earlier turn of a recording has made too, those that got the same address again. live, held: most bytes the
program had and most mapped on the device, by the simulator. calls: cuMemAlloc and cuMemFree that reached the driver, for
each true step, and of those without a cache."""


def replay(build, file):
    """As many steps as are wanted, if the recording can be looped; else the recording."""
    if ".csv" in file.name:
        return Replay(build, file, "--passes", str(PASSES), cache={}, sim={"MEMORY": MEMORY})
    run = Replay(build, file, "--loop-to", str(STEPS), cache={}, sim={"MEMORY": MEMORY})
    if run.status == 2 and "for --loop-to, found none" in run.stderr:
        run = Replay(build, file, cache={}, sim={"MEMORY": MEMORY})
    return run


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    for number, row in enumerate(rows):
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))))
        if number == 0:
            print("  ".join("-" * w for w in widths))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE", help="recordings (default: all of bench/traces, and the training program)")
    options = parser.parse_args()
    jobs = [(file.name, replay, file) for file in options.files or TRACES]
    jobs += [(f"train {arguments}", Labelled, arguments) for arguments in LABELLED if not options.files]
    rows, falls, problems = [HEAD], [], []
    for number, (name, run_it, what) in enumerate(jobs, 1):
        print(f"[{number}/{len(jobs)}] {name} ...", end="", file=sys.stderr, flush=True)
        started = time.monotonic()
        run = run_it(options.build, what)
        if run.status != 0 or not run.records("end") or not run.samples:
            problems.append(f"{name}: exit status {run.status}: {run.stderr.strip()}")
        else:
            score = Score(run)
            rows.append(score.cells())
            falls += score.fallbacks()
            problems += [f"{name}: {problem}" for problem in score.problems()]
        print(f" {time.monotonic() - started:.1f} s", file=sys.stderr)
    table(rows)
    print(f"\n{LEGEND}\n")
    print("Fallbacks:\n  " + "\n  ".join(falls or ["none"]) + "\n")
    print("\n".join(problems) if problems else "No run held more than the cap allows at any request; none had a violation, or at its end anything live that it did not leak.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
