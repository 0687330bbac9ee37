#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The check for a real card, run on the simulated GPU: test_gpu.py CASE BUILD"""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parent.parent / "bench/results"


def check(build, *options):
    before = set(RESULTS.iterdir())
    done = subprocess.run([sys.executable, str(HERE / "gpu.py"), "--sim", "--quick", "--build", build, *options],
                          capture_output=True, text=True, check=False)
    expect(set(RESULTS.iterdir()) == before, "a result of the simulator was written to bench/results", done)
    return done


def expect(is_true, otherwise, done):
    if not is_true:
        sys.exit(f"not so: {otherwise}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def passes(build):
    done = check(build)
    expect(done.returncode == 0, "something that must hold does not", done)
    expect("not supported here" in done.stdout, "the simulator models everything?", done)
    expect(done.stdout.count("  ok\n") > 30, "fewer than 30 rows hold", done)


def notices(build):
    """With another object in the library's place nothing reaches the cache, and rows that must hold do not."""
    with tempfile.TemporaryDirectory() as folder:
        empty = pathlib.Path(folder, "libshapecache.so")
        subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", str(empty)], check=True)
        done = check(build, "--library", str(empty))
    expect(done.returncode == 1, "the check passes without a cache", done)
    for row in "cudaMalloc, shared libcudart", "hooked functions", "held with more shapes":
        lines = [line for line in done.stdout.splitlines() if line.startswith(row)]
        expect(lines and lines[0].endswith("  NO"), f"'{row}' is not NO", done)


{"passes": passes, "notices": notices}[sys.argv[1]](sys.argv[2])
