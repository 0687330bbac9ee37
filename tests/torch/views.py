# SPDX-License-Identifier: MIT
"""Runs a PyTorch program on the simulated GPU in one of its views, and reads what the log and the simulator say of it.

Shared by test_views.py, which holds what must be so, and bench/torch_views.py, which prints what is."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from logs import read as read_log  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
MIB = 1 << 20

# How a program is started: options of `shapecache run --sim`, or None for the simulator alone; variables.
HOW = {
    "default": (None, {}),
    "uncached": (None, {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}),
    "segments": ((), {}),
    "segments and steps": (("--torch=segments",), {}),
    "tensors": (("--torch",), {}),
    "tensors, insisted": (("--torch=tensors",), {}),
    "pluggable": (("--torch=pluggable",), {}),
}
PRELOADED = ("libcuda.so.1", "libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libnccl.so.2", "libcusparse.so.12",
             "libcufft.so.12", "libcusolver.so.12", "libnvidia-ml.so.1")


# How often a program is run that dies of is_exit_race(), before that counts.
TRIES = 4


def is_exit_race(status, err):
    """PyTorch's threads may want the interpreter's lock while it ends, which aborts the process after its last line (issue 38228
    of PyTorch). On a busy machine that is one run in forty, with nothing but the simulator preloaded, too."""
    return status == -signal.SIGABRT and err.rstrip().endswith("terminate called without an active exception")


class Failed(AssertionError):
    pass


class ExitRace(Failed):
    pass


class Run:
    """A run that is over: `status`, `out`, `err`, the simulator's `report`, and the log's records by process."""

    def __init__(self, status, out, err, report, logs, reserved):
        self.status, self.out, self.err, self.report, self.logs, self.reserved = status, out, err, report, logs, reserved

    @property
    def records(self):
        (only,) = self.logs.values()
        return only

    def of(self, kind):
        return [record for record in self.records if record["ev"] == kind]

    @property
    def end(self):
        (end,) = self.of("end")
        return end

    def fixed_at(self):
        """The step in which the set was first fixed; None: never."""
        return next((r["step"] for r in self.of("phase") if r["to"] == "fixed"), None)

    def settled(self):
        """Rows of steps in `fixed` but for the first of each stretch, in which the cache fills."""
        rows = self.of("step")
        return [row for before, row in zip(rows, rows[1:]) if row["phase"] == before["phase"] == "fixed"]

    def hit_rate(self):
        """Of the requests in settled steps; None where there are none."""
        rows = self.settled()
        return sum(row["hits"] for row in rows) / sum(row["requests"] for row in rows) if rows else None


def environment(build, how, folder, settings):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SIMCUDA_", "SHAPECACHE", "PYTORCH_", "LD_", "PYTHONPATH"))}
    made = {**kept, **HOW[how][1], "SIMCUDA_REPORT": str(folder / "report.json"), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
            "SHAPECACHE_LOG": "log.%r.jsonl", "SHAPECACHE_SUMMARY": "off"}
    if HOW[how][0] is None:
        made["LD_PRELOAD"] = ":".join(str(build / "sim" / name) for name in PRELOADED)
        made["LD_LIBRARY_PATH"] = str(build / "sim")
    return made | settings


def run(build, python, program, arguments="", how="tensors", timeout=900, launcher=(), **settings):
    """`program` is a name in programs/, or the text of one. Raises Failed where it ends with another status than 0, unless
    `status` is among the settings."""
    for left in reversed(range(TRIES)):
        try:
            return run_once(build, python, program, arguments, how, timeout, launcher, **settings)
        except ExitRace:
            if not left:
                raise


def run_once(build, python, program, arguments, how, timeout, launcher, **settings):
    build, wanted = pathlib.Path(build).resolve(), settings.pop("status", 0)
    options = HOW[how][0]
    with tempfile.TemporaryDirectory(prefix="shapecache-view-") as name:
        folder = pathlib.Path(name)
        path = PROGRAMS / f"{program}.py" if "\n" not in program else folder / "train.py"
        if "\n" in program:
            path.write_text(program)
        before = () if options is None else (str(build / "shapecache"), "run", "--sim", *options, "--")
        teller = (str(HERE / "reserved.py"), "reserved") if how == "default" else ()
        command = [*before, str(python), *(launcher or teller), str(path), *arguments.split()]
        done = subprocess.run(command, cwd=folder, env=environment(build, how, folder, settings), capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, check=False)
        if done.returncode != wanted:
            kind = ExitRace if is_exit_race(done.returncode, done.stderr) else Failed
            raise kind(f"{program} {arguments} ({how}) ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        logs = {path.name: read_log(path) for path in sorted(folder.glob("log.*"))}
        report = json.loads((folder / "report.json").read_text()) if (folder / "report.json").exists() else None
        told = folder / "reserved"
        return Run(done.returncode, done.stdout, done.stderr, report, logs, int(told.read_text()) if told.exists() else None)
