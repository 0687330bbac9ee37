# SPDX-License-Identifier: MIT
"""Runs a script as it is and writes what PyTorch's allocator reserved at most, in bytes: reserved.py FILE SCRIPT ARGUMENT..."""

import pathlib
import runpy
import sys

import torch

path = pathlib.Path(sys.argv[1]).resolve()
sys.argv = sys.argv[2:]
sys.path[0] = str(pathlib.Path(sys.argv[0]).resolve().parent)
runpy.run_path(sys.argv[0], run_name="__main__")
path.write_text(str(torch.cuda.max_memory_reserved()))
