#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One unmodified training program, run without the cache and with it, where it helps and where it must let go.
Prints one table; exits 1 if any row is not as it should be."""

import argparse
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile

from runs import MIB, Run, source_of

TITLES = ("run", "steps", "hits", "fixed", "driver calls/step", "live peak MiB", "held peak MiB", "speed", "true")
COSTS = {"MALLOC_NS": 50_000, "FREE_NS": 7_000, "KERNEL_NS": 20_000}


def has_gpu():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        count = ctypes.c_int(0)
        return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    except OSError:
        return False


class Row:
    """One line of the table: a run, and what must be true of it."""

    def __init__(self, name, run, plain=None):
        self.name, self.run, self.plain = name, run, plain
        self.speed = None
        self.checks = []
        self.check(run.status == 0, "the program ends in the ordinary way", f"exit status {run.status}")
        self.check(run.violations() == 0, "the simulated GPU saw no violation", f"{run.report.get('violations')}")

    def check(self, is_true, claim, otherwise):
        self.checks.append((bool(is_true), claim, otherwise))

    def same_losses(self, other):
        self.check(self.run.bits() == other.bits() and self.run.steps, "losses bit-identical to the plain run", "losses differ")

    def under_cap(self):
        over = self.run.over_cap()
        self.check(not over, "held never above 1.25 x the live peak",
                   f"{len(over)} of {len(self.run.samples)} requests above the cap, first at step {over[0].step if over else 0}")

    def time(self, pairs):
        """The plain run and this one, in turn: the fastest of each. One alone tells more of the machine than of the cache."""
        if self.plain in (None, self.run):
            return
        pairs = [(self.plain.again().seconds, self.run.again().seconds) for _ in range(pairs)]
        if pairs and all(a and b for a, b in pairs):
            self.speed = min(a for a, _ in pairs) / min(b for _, b in pairs)

    def is_true(self):
        return all(ok for ok, _, _ in self.checks)

    def cells(self):
        run = self.run
        steps = len(run.steps)
        calls = run.report.get("calls", {})
        driver = calls.get("cuMemAlloc_v2", 0) + calls.get("cuMemFree_v2", 0)
        cached = bool(run.log)
        return [self.name, str(steps),
                f"{run.hit_percent(10):.1f}%" if cached and steps > 10 else "-",
                f"{run.fixed_percent():.0f}%" if cached else "-",
                f"{driver / steps:.1f}" if steps and calls else "-",
                f"{run.live_peak() / MIB:.0f}" if run.samples else "-",
                f"{run.device_peak() / MIB:.0f}" if run.samples else "-",
                f"{self.speed:.2f} x" if self.speed else "-",
                "yes" if self.is_true() else "NO"]


def fixed_rows(start):
    plain = start("plain, fixed lengths", ["--lengths", "fixed"], None)
    row = Row("no preload, fixed lengths", plain, plain)
    yield row

    run = start("cached, fixed lengths", ["--lengths", "fixed"], {})
    row = Row("fixed lengths", run, plain)
    row.same_losses(plain)
    row.check(run.hit_percent(10) >= 99, "from step 10 on at least 99% hits", f"{run.hit_percent(10):.2f}% hits")
    row.check(run.driver_allocations(10) == 0, "and no driver allocation", f"{run.driver_allocations(10)} driver allocations")
    hashes = {s.pointers for s in run.steps if s.number >= 10}
    row.check(len(hashes) == 1, "and the same pointers each step", f"{len(hashes)} different sets of pointers")
    row.under_cap()
    yield row


def wide_rows(start):
    options = ["--wide"]
    plain = start("plain, more shapes than fit", options, None)
    yield Row("no preload, --wide", plain, plain)
    run = start("cached, more shapes than fit", options, {})
    row = Row("--wide: more shapes than fit", run, plain)
    row.same_losses(plain)
    row.check(run.hit_percent(10) >= 95, "from step 10 on at least 95% hits", f"{run.hit_percent(10):.2f}% hits")
    row.under_cap()
    yield row


def late_rows(start, build):
    options = ["--lengths", "late-change", "--steps", "60"]
    plain = start("plain, lengths change at step 40", options, None)
    yield Row("no preload, late change", plain, plain)
    run = start("cached, lengths change at step 40", options, {})
    row = Row("late change, from step 40 on", run, plain)
    row.same_losses(plain)
    row.under_cap()
    falls = run.fallbacks()
    row.check(run.first_fixed_step() is not None and run.first_fixed_step() <= 10, "cached by step 10", f"fixed at step {run.first_fixed_step()}")
    row.check(len(falls) == 1 and falls[0]["reason"] == "new-shape", "one fallback, at the first new shape", f"fallbacks: {falls}")
    if falls:
        place = source_of(build, falls[0].get("site"))
        row.check(".cu:" in place, f"its call site named: {falls[0].get('site')} = {place}", f"call site {falls[0].get('site')} is not in the program")
        row.check(falls[0]["step"] in (40, 41), "at the step where lengths change", f"at step {falls[0]['step']}")
    if run.samples:
        held = run.held_after_new_size(40)
        row.check(held == [], "held beyond live is 0 from the next free on", "no new size came" if held is None else f"{len(held)} requests with idle memory")
    yield row

    run = start("cached with a gate per call site, lengths change at step 40", options, {"SCOPE": "site", "LOG_LEVEL": "event"})
    row = Row("late change, SCOPE=site", run, plain)
    row.same_losses(plain)
    row.under_cap()
    kept, fallen = run.sites_kept(), run.sites_fallen()
    row.check(kept and not kept & fallen, f"{len(kept)} call sites never fell back", f"of {len(kept)} none is left")
    row.check(fallen, f"{len(fallen)} with varying sizes did", "none fell back")
    row.check(run.hit_percent_of(kept, 45) == 100, "and from step 45 on all requests of the others are hits",
              f"{run.hit_percent_of(kept, 45):.1f}% hits of the others from step 45 on")
    row.check(run.hit_percent_of(fallen, 45) == 0, "none of theirs", f"{run.hit_percent_of(fallen, 45):.1f}% of theirs")
    yield row


def random_rows(start):
    options = ["--lengths", "random"]
    plain = start("plain, random lengths", options, None)
    row = Row("no preload, random lengths", plain, plain)
    yield row
    if not plain.samples:
        return
    memory = plain.device_peak() * 2
    ungated = start(f"every shape cached (SHAPECACHE_GATE=0), {memory // MIB} MiB device", options, {"GATE": "0"}, MEMORY=memory)
    row = Row(f"GATE=0, random, {memory // MIB} MiB device", ungated)
    row.checks = [(ungated.status == 1 and "out of memory" in ungated.stderr, f"dies of out of memory at step {len(ungated.steps)}",
                   f"does not die: exit status {ungated.status}")]
    yield row
    run = start(f"cached, random lengths, {memory // MIB} MiB device", options, {}, MEMORY=memory)
    row = Row(f"ours, random, {memory // MIB} MiB device", run, plain)
    row.same_losses(plain)
    row.under_cap()
    row.check(run.device_peak() <= plain.device_peak(), "device peak no higher than the plain run's",
              f"device peak {run.device_peak() // MIB} MiB against {plain.device_peak() // MIB} MiB")
    yield row


def table(rows):
    cells = [list(TITLES), *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(TITLES))]
    for number, line in enumerate(cells):
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths))))
        if number == 0:
            print("  ".join("-" * w for w in widths))


def stale_rows(page, rows):
    """Rows that the page shows otherwise than they are now, but for the speed, which is the machine's."""
    def without_speed(cells):
        return [cell for cell, title in zip(cells, TITLES) if title != "speed"]

    shown = [without_speed(re.split(r" {2,}", line.strip())) for line in page.read_text().splitlines()]
    return [row for row in rows if without_speed(row.cells()) not in shown]


def main():
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__)
    parser.add_argument("--build", default="build", help=argparse.SUPPRESS)
    parser.add_argument("--sim", action="store_true", help="the simulated GPU even where there is a real one")
    parser.add_argument("--pairs", type=int, default=3, metavar="N", help="runs without and with the cache that are timed, in turn (%(default)s)")
    parser.add_argument("--page", type=pathlib.Path, help=argparse.SUPPRESS)  # must show the table as it is on the simulator
    options = parser.parse_args()
    on_sim = options.sim or not has_gpu()
    work = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-demo-"))
    number = 0

    def start(what, arguments, cache, **sim):
        nonlocal number
        number += 1
        print(f"[{number}/10] {what} ...", file=sys.stderr, flush=True)
        folder = work / f"{number:02d}"
        folder.mkdir()
        settings = {"cache": cache, "sim": COSTS | sim if on_sim else None}
        run = Run(options.build, arguments, keep=folder, **settings)
        run.again = lambda: Run(options.build, arguments, **settings)
        return run

    where = "the simulated GPU (cudaMalloc 50 us, cudaFree 7 us, kernels 20 us)" if on_sim else "the GPU of this machine"
    print(f"build/tests/programs/train on {where}, unmodified; logs in {work}\n", file=sys.stderr)
    rows = [*fixed_rows(start), *wide_rows(start)]
    late = list(late_rows(start, options.build))
    rows += late + list(random_rows(start))
    if options.pairs > 0:
        print("timing ...", file=sys.stderr, flush=True)
    for row in rows:
        row.time(options.pairs)

    print()
    table(rows)
    print("\nhits: from step 10 on. driver calls: cuMemAlloc and cuMemFree that reached the device. held: mapped on the device,\n"
          "by the simulator's own count. speed: the plain run's time over this one's, the fastest of some in turn.\n")
    for row in rows:
        for is_true, claim, otherwise in row.checks:
            print(f"{'ok ' if is_true else 'NOT'}  {row.name}: {claim if is_true else otherwise}")
    print(f"\n$ shapecache report {late[-1].run.log_path()}", flush=True)
    told = subprocess.run([str(pathlib.Path(options.build) / "shapecache"), "report", str(late[-1].run.log_path())], check=False)
    is_true = all(row.is_true() for row in rows) and told.returncode == 0
    if not is_true:
        print("\nsomething above is not as it should be", file=sys.stderr)
    for row in stale_rows(options.page, rows) if options.page else []:
        print(f"{options.page.name} shows \"{row.name}\" otherwise than above", file=sys.stderr)
        is_true = False
    return 0 if is_true else 1


if __name__ == "__main__":
    sys.exit(main())
