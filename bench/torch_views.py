#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the cache does under `shapecache run --torch`, program by program, as the table in docs/pytorch.md.

Each program of tests/torch/programs runs three times on the simulated GPU: in the tensor view, with PyTorch's caching off and
no cache at all (the plain driver), and with PyTorch's own allocator. All memory is in MiB of the driver's pages: what the
simulated device had mapped, but for "reserved", which is PyTorch's own figure. `./dev torch` sets up what it needs."""

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH.parent / "tests/torch"))

import views  # noqa: E402

ROWS = (
    ("GPT, fixed lengths", "gpt", ""),
    ("GPT, bucketed lengths", "gpt", "--lengths bucketed"),
    ("GPT, random lengths", "gpt", "--lengths random"),
    ("GPT, every 4th batch smaller (drop_last=False)", "gpt", "--short-last 4"),
    ("GPT, evaluation every 5 steps", "gpt", "--evaluate 5"),
    ("GPT, 4 batches a step", "gpt", "--accumulate 4"),
    ("GPT, random lengths, 4 batches a step", "gpt", "--lengths random --accumulate 4"),
    ("GPT, recomputed blocks", "gpt", "--checkpoint"),
    ("GPT, fp16 with GradScaler, clipped", "gpt", "--precision fp16 --clip"),
    ("ResNet, fixed sizes", "resnet", ""),
    ("ResNet, random sizes", "resnet", "--sizes random"),
    ("LSTM, by time step", "lstm", "--native"),
    ("EfficientNet of timm, fixed sizes", "vision", "--sizes fixed"),
    ("EfficientNet of timm, three sizes in turn", "vision", ""),
    ("U-Net of diffusers", "diffusion", ""),
    ("GPT-2 by Transformers' Trainer, fixed lengths", "trainer", "--lengths fixed"),
    ("GPT-2 by Transformers' Trainer, random lengths", "trainer", ""),
)
HOWS = ("tensors", "uncached", "default")


def mib(count):
    return f"{count / views.MIB:,.0f}"


def phases(run):
    """warmup 0-4, fixed 5-24; where they change often: steps in each."""
    rows = run.of("step")
    stretches = [(phase, [row["step"] for row in group]) for phase, group in itertools.groupby(rows, lambda row: row["phase"])]
    if len(stretches) > 4:
        count = {phase: sum(len(steps) for name, steps in stretches if name == phase) for phase, _ in stretches}
        return ", ".join(f"{phase} in {steps}" for phase, steps in count.items())
    return ", ".join(f"{phase} {steps[0]}-{steps[-1]}" for phase, steps in stretches)


def row(name, runs):
    cached, plain, own = (runs[how] for how in HOWS)
    end, rows = cached.end, cached.of("step")[1:]
    same = all(cached.report["calls"].get(call) == plain.report["calls"].get(call) for call in ("cudaMalloc", "cudaFree"))
    rate = cached.hit_rate()
    return (name, f"{sum(r['requests'] for r in rows) / len(rows):,.0f}", "-" if rate is None else f"{100 * rate:.1f}%",
            f"{100 * end['hits'] / end['requests']:.0f}%", phases(cached), mib(end["live_peak"]), mib(cached.report["peak"]), mib(plain.report["peak"]),
            mib(own.reserved), "yes" if same else "NO")


HEAD = ("run", "requests a step", "hits, settled", "hits, all", "phases by step", "peak live", "held", "plain driver", "PyTorch reserved", "same calls")


def versions(python):
    asked = "import importlib.metadata as m, json, platform, torch\nnames = 'torchvision', 'timm', 'diffusers', 'transformers', 'accelerate'\n" \
            "print(json.dumps({'Python': platform.python_version(), 'torch': torch.__version__, **{name: m.version(name) for name in names}}))"
    found = json.loads(subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout)
    return ", ".join(f"{name} {version}" for name, version in found.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=BENCH.parent / "build")
    parser.add_argument("--python", type=pathlib.Path, default=BENCH.parent / "build/torch/bin/python")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("names", nargs="*", help="only rows whose names contain one of these")
    options = parser.parse_args()
    wanted = [r for r in ROWS if not options.names or any(name in r[0] for name in options.names)]
    print(f"<!-- bench/torch_views.py --steps {options.steps}: {versions(options.python)}; simulated GPU -->")
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD), flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        started = [(name, {how: pool.submit(views.run, options.build, options.python.absolute(), program, f"--steps {options.steps} {arguments}", how)
                           for how in HOWS}) for name, program, arguments in wanted]
        for name, futures in started:
            try:
                print("| " + " | ".join(row(name, {how: future.result() for how, future in futures.items()})) + " |", flush=True)
            except views.Failed as error:
                failed += 1
                print(f"{name}: {error}", file=sys.stderr)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
