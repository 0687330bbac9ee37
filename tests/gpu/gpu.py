#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks on a real card what the simulated GPU can only assume: one table, a dated file of it in bench/results, exit
status 1 if something that must hold does not."""

import argparse
import ctypes
import datetime
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from checks import SECTIONS  # noqa: E402
from machine import Machine, must  # noqa: E402
import logs  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def card_of_driver():
    """Name, CUDA version of the driver and bytes of device 0, or None."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device, version, total = ctypes.c_int(0), ctypes.c_int(0), ctypes.c_size_t(0)
    name = ctypes.create_string_buffer(128)
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0):
        return None
    driver.cuDeviceGetName(name, len(name), device)
    driver.cuDriverGetVersion(ctypes.byref(version))
    driver.cuDeviceTotalMem_v2(ctypes.byref(total), device)
    return name.value.decode(), f"{version.value // 1000}.{version.value % 1000 // 10}", total.value


def driver_version():
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True,
                              timeout=20, check=True)
        return done.stdout.split()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        pass
    try:
        found = re.search(r"\b(\d+\.\d+(\.\d+)?)\b", pathlib.Path("/proc/driver/nvidia/version").read_text())
        return found[1] if found else "unknown"
    except OSError:
        return "unknown"


def toolkit():
    """Folder of the CUDA toolkit; one that is not there does no harm."""
    nvcc = shutil.which("nvcc")
    return str(pathlib.Path(nvcc).resolve().parent.parent) if nvcc else "/usr/local/cuda"


def nvcc_version(cuda_root):
    try:
        done = subprocess.run([f"{cuda_root}/bin/nvcc", "--version"], capture_output=True, text=True, check=True)
        return re.search(r"V([0-9.]+)", done.stdout)[1]
    except (OSError, subprocess.SubprocessError, TypeError):
        return "unknown"


def plain_table(rows):
    head = ["what", "expected", "found", "verdict"]
    lines = [head, *([row.what, row.expected, row.found, row.verdict] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    text = ["  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), line[3]]) for line in lines]
    return "\n".join([text[0], "  ".join("-" * width for width in [*widths, 7]), *text[1:]])


def markdown(rows, facts, machine, verdict):
    lines = [f"# {facts['card']}, driver {facts['driver']}", "", f"`./dev gpu` on {facts['date']}: {verdict}.", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in facts.items()]
    lines += ["", "| what | expected | found | verdict |", "|---|---|---|---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in (r.what, r.expected, r.found, r.verdict)) + " |" for r in rows]
    lines += ["", "## What the programs said", ""]
    for title, output in machine.said:
        lines += [f"### {title}", "", "```", output.rstrip(), "```", ""]
    return "\n".join(lines) + "\n"


def write_result(folder, text, facts):
    card = re.sub(r"[^a-z0-9]+", "-", facts["card"].lower()).strip("-")
    path = folder / f"{facts['date']}-{card}-driver{facts['driver']}.md"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def facts_of(options):
    found = ("the simulated GPU", "13.0", 0) if options.sim else card_of_driver()
    if found is None:
        sys.exit("gpu: no CUDA driver with a device here; --sim tries the check itself on the simulated GPU")
    card, cuda, total = found
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    return {"card": card, "memory": f"{total >> 20} MiB" if total else "-", "driver": "-" if options.sim else driver_version(),
            "CUDA of the driver": cuda, "nvcc": nvcc_version(options.cuda), "date": datetime.date.today().isoformat(),
            "commit": commit or "unknown"}


def judge(section, machine):
    """A card may say what nobody thought of: that must not cost the other sections."""
    try:
        return section(machine)
    except (ArithmeticError, LookupError, OSError, ValueError) as error:
        return [must(section.__doc__, "can be judged", f"{type(error).__name__}: {error}", False)]


def main():
    parser = argparse.ArgumentParser(prog="./dev gpu", description=__doc__)
    parser.add_argument("--build", default="build", help=argparse.SUPPRESS)
    parser.add_argument("--cuda", default=toolkit(), help=argparse.SUPPRESS)
    parser.add_argument("--library", help=argparse.SUPPRESS)
    parser.add_argument("--sim", action="store_true", help="try the check itself on the simulated GPU; writes no file")
    parser.add_argument("--quick", action="store_true", help="shorter training runs, no demo")
    parser.add_argument("--seconds", type=float, default=150, help="what has not begun by then is not begun (150)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench/results", help="folder of the dated file (bench/results)")
    options = parser.parse_args()
    logs.is_checked = options.sim
    started = time.monotonic()
    facts = facts_of(options)
    print(f"{facts['card']}, driver {facts['driver']}, CUDA {facts['CUDA of the driver']}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="shapecache-gpu-") as folder:
        machine = Machine(options, pathlib.Path(folder), deadline=started + (options.seconds if not options.sim else 3600))
        rows = []
        for section in SECTIONS:
            print(f"  {section.__doc__} ...", file=sys.stderr, flush=True)
            rows += judge(section, machine)
    facts["seconds"] = f"{time.monotonic() - started:.0f}"
    wrong = [row for row in rows if row.verdict == "NO"]
    verdict = f"{len(wrong)} of what must hold does not" if wrong else "everything that must hold does"
    print(plain_table(rows))
    print(f"\n{verdict}; {facts['seconds']} s")
    if not options.sim:
        print(f"written to {write_result(options.out, markdown(rows, facts, machine, verdict), facts)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
