#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmarks of rings measure what they say: test_rings.py NAME BUILD. Times are not looked at."""

import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def the_benchmark_of_rings_has_a_row_for_each_operation(build):
    done = subprocess.run([build + "/bench/rings", "--quick"], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    rows = re.findall(r"^(\w+ \w+) +256 +(\d+) +(\d+) +\d+\.\d\d x$", done.stdout, re.M)
    assert [row[0] for row in rows] == ["add random", "sample bucket", "sample any", "add fifo", "add nearest"], done.stdout
    assert all(int(row[1]) > 0 and int(row[2]) > 0 for row in rows), done.stdout


def the_benchmark_of_rings_knows_its_options(build):
    done = subprocess.run([build + "/bench/rings", "--slow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "usage: rings [--quick]\n"), done


def the_one_in_python_says_what_it_lacks(build):
    done = subprocess.run([sys.executable, "-S", "-E", SOURCE / "bench/rings/rings.py"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.returncode == 1 and done.stdout == "", done
    assert done.stderr == "rings.py: neither PyTorch nor numpy is installed; build/bench/rings measures without them\n", done


globals()[sys.argv[1]](sys.argv[2])
