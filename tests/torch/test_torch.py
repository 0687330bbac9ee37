#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Unmodified PyTorch on the simulated GPU, without and with the cache; and frameworks that make the driver's calls.

Each program of programs/ runs to its end under each of PyTorch's allocators, twice: with the simulator's libraries
preloaded, and by `shapecache run --sim`. The simulator's report of each run is what is judged. Programs run at the same
time, as many as there are CPUs; a test waits for its own two."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import views

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ARGS = None

# Name, program, arguments. A program whose allocations depend on how far the device has got when the allocator asks
# (record_stream, the watchdog of NCCL) is named in TIMED.
PROGRAMS = (
    ("gpt", "gpt.py", "--clip"),
    ("gpt_bf16", "gpt.py", "--precision bf16"),
    ("gpt_fp16_scaler", "gpt.py", "--precision fp16 --clip"),
    ("gpt_accumulated", "gpt.py", "--accumulate 3 --steps 6"),
    ("gpt_checkpointed", "gpt.py", "--checkpoint"),
    ("gpt_random", "gpt.py", "--lengths random --evaluate 5 --short-last 4"),
    ("gpt_bucketed", "gpt.py", "--lengths bucketed --optimizer sgd"),
    ("resnet", "resnet.py", ""),
    ("resnet_random", "resnet.py", "--sizes random --channels-last --precision bf16"),
    ("lstm", "lstm.py", ""),
    ("lstm_bidirectional", "lstm.py", "--bidirectional --lengths random"),
    ("lstm_native", "lstm.py", "--native"),
    ("graphs", "graphs.py", ""),
    ("streams", "streams.py", ""),
    ("loader", "loader.py", ""),
    ("memory", "memory.py", ""),
    ("ddp", "ddp.py", ""),
    ("compiled", "compiled.py", ""),
    ("trainer", "trainer.py", ""),
    ("vision", "vision.py", ""),
    ("diffusion", "diffusion.py", ""),
)
TIMED = {"streams", "ddp"}
VARIABLES = {"ddp.py": {"SIMCUDA_DEVICES": "2"}}

# Not PyTorch: no libcudart, and no allocator but the driver, so the cache serves them.
DRIVER_PROGRAMS = (
    ("tinygrad", "tinygrad_net.py", ""),
    ("numba", "numba_kernels.py", ""),
    ("cuda_core", "core_resources.py", ""),
    ("pycuda", "pycuda_arrays.py", ""),
)

ALLOCATORS = {
    "default": {},
    "expandable": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
    "async": {"PYTORCH_ALLOC_CONF": "backend:cudaMallocAsync"},
    "uncached": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
    "driver": {"DEV": "CUDA", "LRU": "0", "NO_MEMORY_PLANNER": "1"},  # tinygrad without a cache of its own
}

# Pairs that PyTorch itself refuses, each with why.
REFUSED = {
    ("graphs", "uncached"): "a capture forbids cudaMalloc, and without its cache PyTorch has no other memory",
    ("ddp", "async"): "PyTorch's NCCL group asks for the allocator's segments, which this backend refuses to tell",
}

# What may answer "not supported", and why it does not matter.
HARMLESS = {
    "cuGetExportTable": "NVIDIA's nvrtc and nvJitLink ask for a table of the driver's, and go on without",
    "cuLogsRegisterCallback": "PyTorch asks for the driver's own log; there is none",
    "nvmlDeviceGetGpuFabricInfoV": "a device of compute capability 8.0 has no fabric",
    "nvmlDeviceGetNvLinkRemoteDeviceType": "there is no NVLink",
    "nvmlDeviceGetNvLinkRemotePciInfo_v2": "there is no NVLink",
}

SIMULATOR = ("libcuda.so.1", "libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libnccl.so.2",
             "libcusparse.so.12", "libcufft.so.12", "libcusolver.so.12", "libnvidia-ml.so.1")
ALLOCATIONS = ("cudaMalloc", "cudaFree", "cudaMallocAsync", "cudaFreeAsync")


def environment(allocator, folder):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SIMCUDA_", "SHAPECACHE", "PYTORCH_", "LD_"))}
    kept["CUDA_HOME"] = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    kept["PATH"] = f"{kept['CUDA_HOME']}/bin:{kept['PATH']}"  # PyCUDA calls nvcc
    return {**kept, **ALLOCATORS[allocator], "SIMCUDA_REPORT": str(folder / "report.%p.json"), "OMP_NUM_THREADS": "1",
            "SHAPECACHE_LOG": str(folder / "log.jsonl"), "SHAPECACHE_SUMMARY": "off", "PYTHONDONTWRITEBYTECODE": "1"}


def requests_in(log):
    """How many requests for memory the cache counted."""
    records = logs.read(log)
    return sum(record["requests"] for record in records if record["ev"] == "end")


def summed(reports):
    """The reports of a program's processes as one; None: no process called the simulated driver."""
    total = {part: collections.Counter() for part in ("calls", "unsupported", "violations")}
    for report in reports:
        for part, counts in total.items():
            counts.update(report[part])
    return total if total["calls"] else None


def run(program, arguments, allocator, cached):
    """Runs one program to its end: how it ended, the simulator's report of it, and the requests in the cache's log."""
    for _ in range(views.TRIES):
        answer, report, requests = run_once(program, arguments, allocator, cached)
        if not views.is_exit_race(answer.returncode, answer.stderr):
            break
    return answer, report, requests


def run_once(program, arguments, allocator, cached):
    build = pathlib.Path(ARGS.build).resolve()
    command = [str(ARGS.python), str(HERE / "programs" / program), *arguments.split()]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        variables = environment(allocator, folder) | VARIABLES.get(program, {})
        if cached:
            command = [str(build / "shapecache"), "run", "--sim", "--", *command]
        else:
            variables["LD_PRELOAD"] = ":".join(str(build / "sim" / library) for library in SIMULATOR)
            variables["LD_LIBRARY_PATH"] = str(build / "sim")
        answer = subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True, timeout=ARGS.timeout)
        reports = [json.loads(report.read_text()) for report in folder.glob("report.*.json")]
        return answer, summed(reports), sum(requests_in(log) for log in folder.glob("log.jsonl*"))


class Suite(unittest.TestCase):
    """One test for each program and allocator, made by load_tests."""

    def __init__(self, name, program, arguments, allocator, pool):
        super().__init__("check")
        self.name, self.program, self.allocator = name, program, allocator
        self.runs = {cached: pool.submit(run, program, arguments, allocator, cached) for cached in (False, True)}

    def id(self):
        return f"{self.name} with the allocator {self.allocator}"

    __str__ = id

    def shortDescription(self):
        return None

    def check(self):
        reports, requests = {}, None
        for cached, future in self.runs.items():
            with self.subTest(cached=cached):
                answer, report, requests = future.result()
                self.assertEqual(answer.returncode, 0, answer.stderr[-3000:])
                self.assertRegex(answer.stdout, rf"(?m)^{self.program[:-3]}: .*done$")
                self.assertIsNotNone(report, "the program never called the simulated driver")
                self.assertEqual(report["violations"], {}, answer.stderr[-3000:])
                self.assertLessEqual(set(report["unsupported"]), set(HARMLESS))
                reports[cached] = report
        if len(reports) < 2:
            return
        if self.allocator == "driver":
            self.assertEqual(requests, reports[False]["calls"].get("cuMemAlloc_v2", 0), "an allocation the cache did not see")
        elif self.name not in TIMED:
            counts = [{call: report["calls"].get(call, 0) for call in ALLOCATIONS} for report in reports.values()]
            self.assertEqual(counts[0], counts[1], "allocations with the cache differ from those without")


def tests_of(names, pool):
    suite = unittest.TestSuite()
    for allocator in ALLOCATORS:
        for name, program, arguments in DRIVER_PROGRAMS if allocator == "driver" else PROGRAMS:
            if names and not {name, allocator, f"{name}/{allocator}"} & set(names):
                continue
            if (name, allocator) not in REFUSED:
                suite.addTest(Suite(name, program, arguments, allocator, pool))
    return suite


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="folder with shapecache and sim/")
    parser.add_argument("--python", type=pathlib.Path, default=pathlib.Path("build/torch/bin/python"),
                        help="the Python that has what requirements.txt lists")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=600, help="seconds for one program")
    parser.add_argument("names", nargs="*", help="only these programs or allocators, or pairs as gpt/async")
    ARGS = parser.parse_args()
    ARGS.python = ARGS.python.absolute()  # not resolved: the link is what makes it the venv's
    with concurrent.futures.ThreadPoolExecutor(ARGS.jobs) as pool:
        suite = tests_of(ARGS.names, pool)
        if suite.countTestCases() == 0:
            sys.exit(f"no test is named {' or '.join(ARGS.names)}")
        result = unittest.TextTestRunner(verbosity=2).run(suite)
        pool.shutdown(cancel_futures=True)
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
