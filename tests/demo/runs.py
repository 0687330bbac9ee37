# SPDX-License-Identifier: MIT
"""Runs a program, by default the training program, with or without the cache, and reads back what every witness says of
it: the program's own output, the simulated GPU's report and samples, and the cache's log."""

import csv
import dataclasses
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

MIB = 1 << 20
STEP = re.compile(r"^step (\d+) length (\d+) loss (\S+) bits (\w+) pointers (\w+) requests (\d+)$")


@dataclasses.dataclass
class Step:
    number: int
    length: int
    loss: str
    bits: str
    pointers: str
    requests: int  # cudaMalloc calls since the program began


@dataclasses.dataclass(slots=True)
class Sample:
    """One cudaMalloc or cudaFree as the simulated libcudart and device saw it, in bytes."""
    op: str
    bytes: int
    live: int  # the program's, mapped
    device: int  # mapped on the device after the call
    most: int  # most mapped at once since the sample before
    step: int  # true step of the program


class Run:
    """One finished run. `log` is empty without the cache; `samples` and `report` without the simulator."""

    PROGRAMS = "tests/programs"  # where `program` is, below the build folder

    def __init__(self, build, arguments, *, cache=None, sim=None, keep=None, program="train", preload=None):
        """cache: None, or SHAPECACHE_ settings without the prefix. sim: None (real GPU) or SIMCUDA_ settings.
        keep: where the run's files stay; by default they go with this object. preload: another library than ours."""
        build = pathlib.Path(build).resolve()
        self._scratch = None if keep else tempfile.TemporaryDirectory(prefix="shapecache-run-")
        self.folder = pathlib.Path(keep or self._scratch.name)
        self.arguments = arguments
        program = str(build / self.PROGRAMS / program)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHAPECACHE", "SIMCUDA_", "LD_PRELOAD"))}
        if sim is not None:
            environment["LD_LIBRARY_PATH"] = ":".join([str(build / "sim"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
            environment |= {"SIMCUDA_REPORT": str(self.folder / "report.json"), "SIMCUDA_SAMPLES": str(self.folder / "samples.csv")}
            environment |= {"SIMCUDA_" + name: str(value) for name, value in sim.items()}
        environment |= {"LD_PRELOAD": str(build / preload)} if preload else {}
        command = [program, *arguments]
        if cache is not None:
            environment["SHAPECACHE_LOG"] = str(self.folder / "log.jsonl")
            environment |= {("SHAPECACHE_" + name if name else "SHAPECACHE"): str(value) for name, value in cache.items()}
            command = [str(build / "shapecache"), "run", *(["--sim"] if sim is not None else []), "--", *command]
        done = subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, text=True, check=False)
        self.status, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.steps = self._read_steps()
        finish = re.search(r"^done steps \d+ requests \d+ seconds ([0-9.]+)$", self.stdout, re.M)
        self.seconds = float(finish[1]) if finish else None
        self.report = self._read_report()
        self.samples = self._read_samples()
        self.log = self._read_log()

    def _read_steps(self):
        return [Step(int(m[1]), int(m[2]), m[3], m[4], m[5], int(m[6])) for m in map(STEP.match, self.stdout.splitlines()) if m]

    def _read_report(self):
        path = self.folder / "report.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def _read_samples(self):
        path = self.folder / "samples.csv"
        if not path.exists():
            return []
        samples, asked, step = [], 0, 0
        with path.open() as file:
            for row in csv.DictReader(file):
                asked += row["op"] == "malloc"
                while step < len(self.steps) - 1 and asked > self.steps[step].requests:
                    step += 1
                samples.append(Sample(row["op"], int(row["bytes"]), int(row["live_mapped"]), int(row["device_mapped"]),
                                      int(row["device_most"]), self.steps[step].number if self.steps else 0))
        return samples

    def _read_log(self):
        lines = []
        for path in glob.glob(str(self.folder / "log.jsonl*")):
            lines += logs.read(path)
        return lines

    def records(self, event):
        return [r for r in self.log if r["ev"] == event]

    def log_path(self):
        return self.folder / "log.jsonl"

    def bits(self):
        return [s.bits for s in self.steps]

    # What the witnesses say; each is a figure, the caller compares.

    def hit_percent(self, since=0):
        rows = [r for r in self.records("step") if r["step"] >= since]
        requests = sum(r["requests"] for r in rows)
        return 100.0 * sum(r["hits"] for r in rows) / requests if requests else 0.0

    def driver_allocations(self, since=0):
        return sum(r["driver_allocs"] for r in self.records("step") if r["step"] >= since)

    def fixed_percent(self):
        rows = self.records("step")
        return 100.0 * sum(r["phase"] == "fixed" for r in rows) / len(rows) if rows else 0.0

    def first_fixed_step(self):
        return next((r["step"] for r in self.records("phase") if r["to"] == "fixed"), None)

    def fallbacks(self):
        return [r for r in self.records("phase") if r["to"] == "fallback"]

    def sites_fallen(self):
        """Call sites whose own gate fell back (SCOPE=site)."""
        return {r["scope"] for r in self.fallbacks() if "scope" in r}

    def sites_kept(self):
        """Those whose gate opened and that never fell back."""
        return {r["scope"] for r in self.records("phase") if "scope" in r and r["to"] == "fixed"} - self.sites_fallen()

    def hit_percent_of(self, sites, since):
        """Hits of these call sites from a step on; needs LOG_LEVEL=event."""
        rows = [r for r in self.records("alloc") if r["step"] >= since and r.get("site") in sites]
        return 100.0 * sum(r["hit"] for r in rows) / len(rows) if rows else 0.0

    def live_peak(self):
        return max((s.live for s in self.samples), default=0)

    def device_peak(self):
        return max((s.most for s in self.samples), default=0)

    def over_cap(self, overhead_percent=25, window=64):
        """The samples at which the device held more than the cap allows: (1 + overhead) x the most the program
        held live in the last `window` steps (and the one that just ended: the cap is enforced at frees)."""
        peaks = {}
        for sample in self.samples:
            peaks[sample.step] = max(peaks.get(sample.step, 0), sample.live)
        before = {step: max(peaks.get(step - age, 0) for age in range(1, window + 2)) for step in peaks}
        over, running = [], {}
        for sample in self.samples:
            running[sample.step] = max(running.get(sample.step, 0), sample.live)
            peak = max(running[sample.step], before[sample.step])
            if sample.most * 100 > peak * (100 + overhead_percent):
                over.append(sample)
        return over

    def held_after_new_size(self, from_step):
        """Samples at which the device held more than the program's live bytes, from the first free after the first
        size that is new at or after `from_step`. None: no such size came."""
        seen, is_new, from_free = set(), False, None
        for i, sample in enumerate(self.samples):
            if sample.op == "malloc":
                is_new = is_new or (sample.step >= from_step and sample.bytes >= 64 << 10 and sample.bytes not in seen)
                seen.add(sample.bytes)
            elif is_new:
                from_free = i
                break
        if from_free is None:
            return None
        return [s for s in self.samples[from_free:] if s.device != s.live]

    def violations(self):
        return sum(self.report.get("violations", {}).values())


def source_of(build, site):
    """'file:line' of a call site 'train+0x1a2b' where addr2line finds it, else ''. A return address belongs to the
    instruction before it."""
    match = re.fullmatch(r"train\+0x([0-9a-f]+)", site or "")
    if not match:
        return ""
    address = hex(int(match[1], 16) - 1)
    done = subprocess.run(["addr2line", "-e", str(pathlib.Path(build) / "tests/programs/train"), address],
                          capture_output=True, text=True, check=False)
    text = done.stdout.strip().split(" ")[0]
    return "" if text.startswith("??") or text.endswith(":?") else os.path.basename(text)
