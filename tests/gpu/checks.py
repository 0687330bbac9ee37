# SPDX-License-Identifier: MIT
"""What is checked: functions that run programs on a Machine and give rows of the table."""

import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from machine import NOT_RUN, UNSUPPORTED, Row, fact, figure, must

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "demo"))
from runs import Run  # noqa: E402

MIB = 1 << 20
PAGE = 2 * MIB
AT_ONCE = {"WARMUP": "2"}  # fixed after a few steps of a program that tells its steps


def mib(value):
    return f"{value / MIB:.2f} MiB"


def bytes_of(size):
    units = {"KiB": 1 << 10, "MiB": MIB, "B": 1}
    unit = next(u for u in units if size.endswith(u))
    return int(size[:-len(unit)]) * units[unit]


# --- doors ------------------------------------------------------------------------------------------------------------

DOORS = [  # row, program, its argument, the door the log must name
    ("cudaMalloc, shared libcudart", "doors", "runtime", "runtime"),
    ("cudaMalloc, static libcudart", "doors-static", "runtime", "resolver"),
    ("cuMemAlloc by dlsym", "doors", "dlsym", "dlsym"),
    ("cuMemAlloc by cuGetProcAddress", "doors", "resolver", "resolver"),
    ("cuMemAlloc by cudaGetDriverEntryPoint", "doors", "entry", "resolver"),
    ("cuMemAlloc bound by the linker", "doors-linked", "elf", "elf"),
]


def door_row(what, said, door):
    trouble = said.trouble()
    if trouble:
        return trouble
    if "requests" not in said.facts:
        return Row(what, "-", "-", UNSUPPORTED)
    end, warnings = said.end(), [record["text"] for record in said.records("warn")]
    asked, wrong = int(said.number("requests")), int(said.number("wrong"))
    found = f"{end.get('requests', 0)} of {asked} seen, {end.get('hits', 0)} hits, {wrong} wrong words, {'+'.join(end.get('doors', [])) or 'no door'}"
    is_so = (end.get("requests") == asked and end.get("hits", 0) > asked / 2 and wrong == 0 and door in end.get("doors", []) and not warnings)
    return must(what, f"each seen once and most served, by {door}", found + "".join(f"; warns: {text}" for text in warnings), is_so)


def doors(machine):
    """every way in, and whether substituted pointers serve"""
    rows = []
    for what, program, argument, door in DOORS:
        if machine.is_simulated and program == "doors-static":
            rows.append(Row(what, "-", "-", UNSUPPORTED))  # NVIDIA's own libcudart inside needs NVIDIA's driver
            continue
        rows.append(door_row(what, machine.run(what, [machine.program(program), argument], AT_ONCE), door))
    what = "cudaMalloc, libcudart opened by Python's ctypes"
    rows.append(door_row(what, machine.run(what, [sys.executable, str(HERE / "ctypes_door.py")], AT_ONCE), "resolver"))
    return rows


def pointers(machine):
    """the driver's two tables of functions"""
    plain = machine.run("resolve", [machine.program("resolve")])
    cached = machine.run("resolve", [machine.program("resolve")], {})
    trouble = plain.trouble() or cached.trouble()
    if trouble:
        return [trouble]
    names = sorted({name.rsplit(".", 1)[0] for name in plain.facts})
    kinds = {}
    for name in names:
        kinds.setdefault(plain.facts[name + ".pointers"], []).append(name)
    found = ", ".join(f"{len(members)} {kind}" for kind, members in sorted(kinds.items()))
    others = [f"{kind}: {' '.join(kinds[kind])}" for kind in kinds if kind != "same"]
    rows = [fact("symbol and resolver give one function", "same", "; ".join([found, *others]), not others)]
    given = {name: owner for name, owner in cached.facts.items() if not name.endswith(".pointers")}
    past = [name for name, owner in given.items() if owner != "cache"]
    return [*rows, must("hooked functions, by symbol and resolver", "all lead into the cache",
                        f"{len(given) - len(past)} of {len(given)}" + "".join(f", not {name}" for name in past), given and not past)]


# --- the driver's own rules ---------------------------------------------------------------------------------------------


def pages(machine):
    """the driver's pages"""
    said = machine.run("pages", [machine.program("pages")])
    if said.trouble():
        return [said.trouble()]
    rows = []
    for size in (name.removeprefix("mapped.") for name in said.facts if name.startswith("mapped.")):
        mapped, rule, count = (said.number(f"{name}.{size}") for name in ("mapped", "rule", "count"))
        what, expected, found = f"mapped by {count:.0f} x {size}", mib(rule), mib(mapped)
        # More than the cache reckons with breaks its cap; less makes it cautious. One page: of small ones, shared.
        rows.append(must(what, expected, found, False) if mapped > rule + PAGE else fact(what, expected, found, mapped >= rule - PAGE))
    kept = {name.removeprefix("kept."): said.number(name) for name in said.facts if name.startswith("kept.")}
    small = [(s, said.number(f"stride.{s}")) for s in kept if bytes_of(s) < MIB]
    rows.append(fact("unit of small blocks", "512 B", ", ".join(f"{s}: {stride:.0f}" for s, stride in small), all(
        stride == -(-bytes_of(s) // 512) * 512 for s, stride in small)))
    rows.append(fact("addresses are multiples of", "512 B at least", f"{min(said.number(f'align.{s}') for s in kept):.0f} B",
                     all(said.number(f"align.{s}") >= 512 for s in kept)))
    rows.append(fact("kept by the driver after all is freed", "at most 1 page", mib(max(kept.values())), max(kept.values()) <= PAGE))
    rows.append(fact("cudaMemGetInfo moves in units of", mib(PAGE), mib(said.number("granularity")), said.number("granularity") == PAGE))
    return rows


COSTS = {"WARMUP": "30", "LIMIT": "90%"}


def cost_of(runs, name):
    return min(run.number(name) for run in runs)


def costs(machine):
    """what calls cost"""
    runs = {False: [], True: []}
    for cached in (False, True, False, True):  # side by side, so that a drift shows in both
        runs[cached].append(machine.run("costs", [machine.program("costs")], COSTS if cached else None))
    trouble = next((run.trouble() for run in runs[False] + runs[True] if run.trouble()), None)
    if trouble:
        return [trouble]
    plain, cached, rows = runs[False], runs[True], []
    for size in (name.removeprefix("malloc.early.") for name in plain[0].facts if name.startswith("malloc.early.")):
        pair = [cost_of(kind, f"malloc.{when}.{size}") + cost_of(kind, f"free.{when}.{size}")
                for kind, when in ((plain, "late"), (cached, "early"), (cached, "late"))]
        rows.append(figure(f"cudaMalloc + cudaFree of {size}",
                           f"{cost_of(plain, f'malloc.late.{size}'):.2f} + {cost_of(plain, f'free.late.{size}'):.2f} us; through the hooks "
                           f"{pair[1]:.2f} us; served {pair[2]:.2f} us, {pair[0] / pair[2] if pair[2] else 0:.1f} x faster"))
    for what, name in (("cuCtxSynchronize, idle", "wait.idle"), ("cudaDeviceSynchronize, idle", "wait.idle_runtime"),
                       ("an empty kernel and a wait", "launch_and_wait"), ("cudaMemGetInfo", "mem_get_info")):
        rows.append(figure(what, f"{cost_of(plain, name):.2f} us; under the hooks {cost_of(cached, name):.2f} us"))
    hits = [run.end().get("hits", 0) for run in cached]
    return [*rows, must("those runs were served", "hits", f"{hits[0]} and {hits[1]} hits", all(hits))]


def waits(machine):
    """what waits for a running kernel"""
    plain = machine.run("wait", [machine.program("wait")])
    cached = machine.run("wait", [machine.program("wait")], AT_ONCE)
    trouble = plain.trouble() or cached.trouble()
    if trouble:
        return [trouble]
    rows = []
    for name, found in plain.facts.items():
        call, stream, size = name.split(".")
        what = {"free": "cudaFree", "malloc": "cudaMalloc", "free_host": "cudaFreeHost"}[call] + f" of {size}, a kernel runs" + (
            " on it" if stream == "same" else " on another stream")
        if call == "free_host":
            rows.append(figure(what, found))
            continue
        expected = "returned" if call == "malloc" else "waited"
        rows.append(fact(what, expected, found, found == expected))
        found = cached.facts.get(name, "nothing")
        if call == "free":
            rows.append(must(what + ", cached", "waited", found, found == "waited"))
        else:
            rows.append(fact(what + ", cached", "returned", found, found == "returned"))
    return [*rows, must("those frees were parked", "hits", f"{cached.end().get('hits', 0)} hits", cached.end().get("hits", 0) > 0)]


def launches(machine):
    """work that is enqueued through pointers of the driver's resolver"""
    said = machine.run("launches", [machine.program("launches")], LD_PRELOAD=machine.program("libgpu_count.so"))
    if said.trouble():
        return [said.trouble()]
    kinds = [name.removesuffix(".asked") for name in said.facts if name.endswith(".asked")]
    asked, counted = ([said.number(f"{kind}.{what}") for kind in kinds] for what in ("asked", "counted"))
    return [fact(f"counted by a stub: {kind.replace('_', ' ')}", f"{a:.0f}", f"{c:.0f}", c >= a) for kind, a, c in zip(kinds, asked, counted)]


ANSWERS = {  # what the simulator answers, from CUDA's documentation and header; codes are CUresult
    "alloc_0_bytes": "1", "runtime_alloc_0_bytes": "0", "runtime_alloc_0_bytes.pointer": "null", "free_null": "0", "free_unknown": "1",
    "free_interior.4MiB": "1", "free_interior.256KiB": "1", "free_again.4MiB": "1", "free_again.256KiB": "1",
    "range_of_interior.4MiB": "0", "range_of_interior.base.4MiB": "the-block", "range_of_interior.size.4MiB": "4194304",
    "range_of_interior.size.256KiB": "262144", "runtime_free_again.4MiB": "1", "alloc_without_context": "201",
    "free_without_context.4MiB": "0", "free_in_a_new_thread": "0", "free_with_another_context": "0", "alloc_more_than_there_is": "2",
    "alloc_SIZE_MAX": "2", "attributes.type": "2", "visible.attributes_of_freed.type": "0", "visible.range_of_freed.4MiB": "500",
}


def differences(plain, cached):
    same = [name for name in plain.facts if not name.startswith("visible.")]
    return same, [f"{name} {plain.facts[name]} / {cached.facts.get(name)}" for name in same if plain.facts[name] != cached.facts.get(name)]


def answers(machine):
    """what the driver answers"""
    plain = machine.run("answers", [machine.program("answers")])
    cached = machine.run("answers", [machine.program("answers")], AT_ONCE)
    trouble = plain.trouble() or cached.trouble()
    if trouble:
        return [trouble]
    rows = [fact(f"answer: {name}", expected, plain.facts.get(name, "-"), plain.facts.get(name) == expected) for name, expected in ANSWERS.items()
            if name not in plain.unsupported]
    same, other = differences(plain, cached)
    rows.append(must("answers with the cache and without", "the same", f"{len(same) - len(other)} of {len(same)}" + "".join(f"; {o}" for o in other),
                     not other and cached.end().get("hits", 0) > 0))
    rows.append(figure("cudaPointerGetAttributes of a freed block",
                       f"type {plain.facts['visible.attributes_of_freed.type']}; cached: {cached.facts['visible.attributes_of_freed.type']}"))
    return rows


def capture(machine):
    """what a capture forbids"""
    plain = machine.run("capture", [machine.program("capture")])
    cached = machine.run("capture", [machine.program("capture")], AT_ONCE)
    trouble = plain.trouble() or cached.trouble()
    if trouble:
        return [trouble]
    rows = []
    calls = sorted({name.split(".")[2] for name in plain.facts})
    for call in calls:
        cells = [f"{mode} {plain.facts[f'{mode}.same.{call}']}/{plain.facts[f'{mode}.same.{call}.end']} "
                 f"({plain.facts[f'{mode}.other.{call}']}/{plain.facts[f'{mode}.other.{call}.end']})" for mode in ("global", "thread", "relaxed")]
        rows.append(figure(f"in a capture: {call}", "; ".join(cells)))
    same, other = differences(plain, cached)
    rows.append(must("captures with the cache and without", "the same", f"{len(same) - len(other)} of {len(same)}" + "".join(f"; {o}" for o in other),
                     not other))
    return rows


VMM_COSTS = ["reserve_512_pages", "create", "map", "set_access", "set_access_of_256_pages_each", "unmap", "map_again", "remap", "release",
             "unreserve_512_pages"]


def virtual_memory(machine):
    """pages mapped by hand"""
    said = machine.run("virtual memory", [machine.program("vmm")])
    if said.trouble():
        return [said.trouble()]
    return [
        fact("granularity of cuMemCreate", mib(PAGE), mib(said.number("granularity.recommended")), said.number("granularity.recommended") == PAGE),
        fact("one page at two addresses", "one-memory", said.facts.get("alias", "-"), said.facts.get("alias") == "one-memory"),
        fact("the second mapping takes", "0.00 MiB", mib(said.number("alias.device_bytes")), said.number("alias.device_bytes") == 0),
        fact("unmapped at the first address, the page is", "still-there", said.facts.get("alias.after_the_first_is_unmapped", "-"),
             said.facts.get("alias.after_the_first_is_unmapped") == "still-there"),
        *(figure(f"{name.replace('_', ' ')}, a page" if "512" not in name else name.replace("_", " "), f"{said.number(name):.2f} us")
          for name in VMM_COSTS if name in said.facts),
    ]


# --- what the cache promises --------------------------------------------------------------------------------------------


def held(machine):
    """the cap, by the card's own count"""
    plain = machine.run("held", [machine.program("held")])
    cached = machine.run("held", [machine.program("held")], AT_ONCE)
    trouble = plain.trouble() or cached.trouble()
    if trouble:
        return [trouble]
    own = max(0, plain.number("held_peak") - plain.number("live_peak"))  # what the driver keeps for itself
    cap = 1.25 * plain.number("live_peak") + own + PAGE
    after = plain.number("held_after") + PAGE
    hits, evicted = (cached.end().get(name, 0) for name in ("hits", "evicted"))
    return [
        must("held with more shapes than fit", f"at most {mib(cap)}", f"{mib(cached.number('held_peak'))}, {hits} hits, {evicted} evicted",
             hits > 0 and cached.number("held_peak") <= cap),
        must("held after a new shape and a free", f"at most {mib(after)}", mib(cached.number("held_after")),
             hits > 0 and cached.number("held_after") <= after),
    ]


TRAINING = {"fixed": ["--lengths", "fixed"], "late-change": ["--lengths", "late-change"], "random": ["--lengths", "random"],
            "--wide": ["--wide"], "--accumulate 4": ["--accumulate", "4"]}


def training_row(machine, name, arguments):
    sim = {} if machine.is_simulated else None
    arguments = [*arguments, "--steps", "60", *(["--length", "2048"] if machine.options.quick else [])]
    plain = Run(machine.build, arguments, sim=sim)
    cached = Run(machine.build, arguments, cache={}, sim=sim)
    machine.said.append((f"train {name}", "\n".join([*plain.stdout.splitlines()[-2:], "cached:", *cached.stdout.splitlines()[-2:], cached.stderr])))
    if plain.status or cached.status:
        return [must(f"losses, {name}", "bit-identical", f"exit {plain.status} and {cached.status}: {(plain.stderr + cached.stderr)[-100:]}", False)]
    same = sum(a == b for a, b in zip(plain.bits(), cached.bits()))
    speed = f"{plain.seconds / cached.seconds:.2f} x" if plain.seconds and cached.seconds else "too short to time"
    rows = [must(f"losses, {name}", "bit-identical", f"{same} of {len(plain.steps)} steps; {cached.hit_percent(10):.1f}% hits from step 10 on; "
                 f"speed {speed}", same == len(plain.steps) == len(cached.steps) > 0 and cached.log)]
    if name == "fixed" and not machine.is_simulated and (machine.build / "sim/libcudart.so.13").exists():
        bits = Run(machine.build, arguments, sim={}).bits()
        same = sum(a == b for a, b in zip(plain.bits(), bits))
        rows.append(fact("losses on the card and on the simulator", "bit-identical", f"{same} of {len(bits)} steps", bits == plain.bits()))
    return rows


def training(machine):
    """losses with the cache and without"""
    if machine.left() <= 0:
        return [must("losses", "bit-identical", "no time was left", False)]
    return [row for name, arguments in TRAINING.items() for row in training_row(machine, name, arguments)]


def demo(machine):
    """the demo"""
    if machine.options.quick:
        return [Row("./dev demo", "-", "-", NOT_RUN)]
    command = [sys.executable, str(HERE.parent / "demo/demo.py"), "--pairs", "1", "--build", str(machine.build), *(["--sim"] if machine.is_simulated else [])]
    said = machine.run("demo", command)
    if said.status == "late":
        return [said.trouble()]
    wrong = [line for line in said.output.splitlines() if line.startswith("NOT")]
    return [must("./dev demo", "every row is true", "every row is true" if said.status == 0 else "; ".join(wrong) or f"ends with {said.status}",
                 said.status == 0)]


def has_torch():
    return subprocess.run([sys.executable, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"], check=False).returncode == 0


def torch(machine):
    """PyTorch"""
    if machine.is_simulated or not has_torch():
        return [Row("PyTorch, its own caching off", "-", "-", UNSUPPORTED if machine.is_simulated else "not run: no PyTorch here")]
    command = [sys.executable, str(HERE / "torch_train.py")]
    uncached = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    started = [machine.start("PyTorch", command, cache, **uncached) for cache in (None, None, {})]
    with ThreadPoolExecutor() as pool:
        first, second, cached = pool.map(machine.finish, started)
    trouble = first.trouble() or second.trouble() or cached.trouble()
    if trouble:
        return [trouble]
    losses = [[v for k, v in run.facts.items() if k.startswith("loss.")] for run in (first, second, cached)]
    end, found = cached.end(), sum(a == b for a, b in zip(losses[0], losses[2]))
    text = f"{found} of {len(losses[0])} steps; {end.get('hits', 0)} of {end.get('requests', 0)} hits"
    if losses[0] != losses[1]:
        return [figure("PyTorch, its own caching off: losses", text + "; two plain runs differ, so this says nothing")]
    return [must("PyTorch, its own caching off: losses", "bit-identical", text, losses[0] == losses[2] and end.get("requests", 0) > 0)]


SECTIONS = [doors, pointers, launches, pages, waits, answers, capture, virtual_memory, held, costs, training, demo, torch]
