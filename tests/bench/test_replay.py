#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The replay of recordings: what it makes of a file, and that every recording in bench/traces can be played under the
cache. test_replay.py CASE BUILD [MODULE], MODULE: the preload that hands out one block twice."""

import gzip
import lzma
import os
import pathlib
import pty
import random
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/demo")]

from score import HEAD, TRACES, Replay, Score, replay  # noqa: E402

CASES = {}
SCRATCH = tempfile.TemporaryDirectory(prefix="replay-test-")
LIFETIMES = "id,lower,upper,size\nx,3,9,100\ny,0,5,200\nz,5,7,300\n"
EVENTS = "# made by hand\na 1 4096\n# step 0\na 2 512\nf 2\n\n# step 1\na 2 1024\r\nf 1\nf 2\na 1 8\n"
RMM = """Thread,Time,Action,Pointer,Size,Stream
17,10:00:00:000001,allocate,0x7f0000000000,1048576,0x0
18,10:00:00:000002,allocate failure,0x0,99999999999,0x2
18,10:00:00:000003,allocate,0x7F0000100000,256,0x2
17,10:00:00:000004,allocate,(nil),0,0x0
17,10:00:00:000005,free,(nil),0,0x0
18,10:00:00:000006,free,0x7f0000000000,1048576,0x2
17,10:00:00:000007,allocate,0x7f0000000000,512,0x0
18,10:00:00:000008,deallocate,0x7f0000100000,256,0x2
"""


def case(function):
    CASES[function.__name__] = function
    return function


def expect(is_true, otherwise):
    if not is_true:
        sys.exit(f"not so: {otherwise}")


def written(content, name="trace"):
    path = pathlib.Path(SCRATCH.name) / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def played(build, content, *options, status=0, cache=None, **sim):
    path = content if isinstance(content, pathlib.Path) else written(content)
    run = Replay(build, path, *options, cache=cache, sim={"MEMORY": "16GiB"} | sim)
    expect(run.status == status, f"exit status {run.status} of {path.name} {options}: {run.stderr}{run.stdout}")
    return run


def calls(run):
    return [(sample.op, sample.bytes) for sample in run.samples]


def refused(build, content, where, expected, *options):
    """Ends with 2 and says where and what was expected, before any call."""
    run = played(build, content, *options, status=2)
    path = str(content if isinstance(content, pathlib.Path) else written(content))
    expect(run.stderr.startswith(f"replay: {path}{where}"), f"it says {run.stderr!r}, not where: {where}")
    expect(f"expected {expected}" in run.stderr and run.stderr.count("\n") == 1, f"{run.stderr!r} says nothing of {expected!r}")
    expect(not run.report and not run.samples, "it made a call before it refused")


@case
def lifetimes_end_before_others_begin_at_the_same_time(build):
    run = played(build, LIFETIMES, "--passes", "2")
    one = [("malloc", 200), ("malloc", 100), ("free", 200), ("malloc", 300), ("free", 300), ("free", 100)]
    expect(calls(run) == 2 * one, calls(run))
    expect([s.requests for s in run.steps] == [3, 6], f"true steps: {run.steps}")


@case
def events_are_played_in_the_order_of_the_file_and_the_rest_is_freed(build):
    run = played(build, EVENTS)
    expect(calls(run) == [("malloc", 4096), ("malloc", 512), ("free", 512), ("malloc", 1024), ("free", 4096), ("free", 1024),
                          ("malloc", 8), ("free", 8)], calls(run))
    expect([s.requests for s in run.steps] == [2, 4], f"true steps: {run.steps}")


@case
def a_log_of_rmm_is_played_whatever_its_threads_and_streams(build):
    run = played(build, RMM)
    expect(calls(run) == [("malloc", 1048576), ("malloc", 256), ("free", 1048576), ("malloc", 512), ("free", 256), ("free", 512)], calls(run))
    expect("left out 2\n" in run.stdout, run.stdout)
    expect(run.steps == [], "it has true steps")


@case
def requests_of_no_bytes_are_left_out_with_their_frees(build):
    run = played(build, "a 1 0\na 2 7\nf 1\na 1 0\nf 2\n")
    expect(calls(run) == [("malloc", 7), ("free", 7)], calls(run))
    expect("left out 2\n" in run.stdout, run.stdout)


@case
def a_packed_file_is_the_same_trace(build):
    for pack in lzma.compress, gzip.compress:
        expect(calls(played(build, pack(EVENTS.encode()))) == calls(played(build, EVENTS)), f"{pack.__module__}: other calls")


@case
def malformed_input_is_refused_with_line_and_what_was_expected(build):
    wanted = '"a ID BYTES", "f ID" or a comment'
    for line in "a 1", "a 1 2 3", "f", "f 1 2", "a x 5", "a 1 -5", "a 1 0x10", "a 1 5 ", " a 1 5", "A 1 5", "a  1 5", "b 1", "a 1 5\t":
        refused(build, f"a 9 64\n{line}\nf 9\n", ":2: ", wanted)
    refused(build, "a 9 64\nf 8\n", ":2: ", "the free of something live")
    refused(build, "a 9 64\nf 9\nf 9\n", ":3: ", "the free of something live")
    refused(build, "a 9 64\na 9 64\n", ":2: ", "a free before what is live is allocated again")
    refused(build, "# step 0\na 9 64\n# step 2\n", ":3: ", '"# step 1"')
    refused(build, "# step 0\na 9 64\n# step 1 of 2\n", ":3: ", '"# step 1"')
    for line in "q,1,2", "q,1,2,3,4", "q,2,1,5", "q,2,2,5", ",1,2,5", "q,a,2,5", "q,1,2,", "q,1.5,2,5":
        refused(build, f"{LIFETIMES}{line}\n", ":5: ", "")
    refused(build, LIFETIMES + "x,1,2,5\n", ":5: ", "an id that no other line has")
    for line in "1,2,allocate,0x10,5", "1,2,allocate,0x10,5,0,0", "1,2,grow,0x10,5,0", "1,2,allocate,ten,5,0", "1,2,allocate,0x0,5,0":
        refused(build, f"{RMM}{line}\n", ":10: ", "")
    refused(build, RMM + "1,2,free,0x7f0000000000,513,0\n", ":10: ", "the size that was allocated")
    refused(build, RMM + "1,2,free,0x7f0000100000,256,0\n", ":10: ", "the free of something live")


@case
def a_file_that_is_no_trace_is_refused(build):
    refused(build, "", ": ", "a trace, found an empty file")
    refused(build, "# only a comment\n", ": ", "requests, found none")
    refused(build, "id,lower,upper,size\n", ": ", "lifetimes after the first line, found none")
    refused(build, "id,size\n1,2\n", ":1: ", '"id,lower,upper,size"')
    refused(build, bytes(range(256)) * 20 + b"\n", ":1: ", '"id,lower,upper,size"')
    refused(build, "a 9 64\nf 9", ":2: ", "a newline at the end of the last line: the file is cut off")
    for path, reason in (pathlib.Path("/nowhere/at/all"), "No such file"), (pathlib.Path("/"), "Is a directory"):
        run = played(build, path, status=2)
        expect(f"replay: {path}: {reason}" in run.stderr, run.stderr)


@case
def a_damaged_packed_file_is_refused(build):
    for pack, tool in (lzma.compress, "xz"), (gzip.compress, "gzip"):
        whole = pack(b"".join(b"a %d 64\n" % i for i in range(20000)))
        run = played(build, written(whole[:len(whole) // 2]), status=2)
        expect(f"{tool} could not unpack it whole" in run.stderr, run.stderr)
        expect(not run.report, "it made a call before it refused")


@case
def numbers_that_do_not_fit_are_refused(build):
    refused(build, "a 1 18446744073709551616\n", ":1: ", "")
    refused(build, "a 18446744073709551616 1\n", ":1: ", "")
    refused(build, "a 18446744073709551615 1\n", ":1: ", "an id below")
    refused(build, "a 1 4611686018427387904\na 2 1\n", ":2: ", "at most 2^31 - 1 blocks and 2^62 bytes live at once")
    refused(build, "id,lower,upper,size\n1,0,9,4611686018427387904\n2,1,9,1\n", ": ", "at most 2^62 bytes live at once")
    played(build, "a 18446744073709551614 64\nf 18446744073709551614\n")
    for option in ("--passes", "0"), ("--passes", "-1"), ("--passes", "2147483648"), ("--loop-to", "x"), ("--scale", "1/0"), ("--scale", "0.5"):
        run = played(build, EVENTS, *option, status=2)
        expect(f"{option[0]}: expected a number from" in run.stderr, run.stderr)


@case
def a_text_that_fits_no_memory_is_refused(build):
    packed = written(lzma.compress(b"a" * (150 << 20), preset=0))
    done = subprocess.run([str(pathlib.Path(build) / "bench/replay"), str(packed)], capture_output=True, text=True, check=False,
                          env=os.environ | {"LD_LIBRARY_PATH": str(pathlib.Path(build).resolve() / "sim")},
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20)))
    expect(done.returncode == 2 and "no memory for more than" in done.stderr, f"{done.returncode} {done.stderr}")


@case
def no_change_to_a_file_makes_it_crash(build):
    seed = int(os.environ.get("SC_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"SC_SEED={seed}")
    dice = random.Random(seed)
    originals = [text.encode() for text in (LIFETIMES, EVENTS, RMM)] + [lzma.compress(EVENTS.encode()), gzip.compress(RMM.encode())]
    environment = os.environ | {"LD_LIBRARY_PATH": str(pathlib.Path(build).resolve() / "sim")}
    refusals = 0
    for _ in range(300):
        content = bytearray(dice.choice(originals))
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(content))
            content[at:at + dice.randint(0, 3)] = bytes(dice.choice(b"0123456789,af #\nx-\xff\0") for _ in range(dice.randint(0, 3)))
            content = content or bytearray(b"?")
        done = subprocess.run([str(pathlib.Path(build) / "bench/replay"), str(written(bytes(content))), "--loop-to", "3"],
                              env=environment, capture_output=True, text=True, check=False)
        expect(done.returncode in (0, 1, 2), f"exit status {done.returncode} of {bytes(content)!r}: {done.stderr}")
        expect(done.returncode == 0 or "replay: " in done.stderr, f"no word of {bytes(content)!r}")
        refusals += done.returncode == 2
    expect(50 < refusals < 300, f"{refusals} of 300 changed files were refused")


def steps_of(*steps, before="", after=""):
    return before + "".join(f"# step {i}\n{step}" for i, step in enumerate(steps)) + after


@case
def a_loop_repeats_the_shortest_period_of_the_last_steps(build):
    long, short = "a 1 4096\na 2 512\nf 1\nf 2\n", "a 1 4096\nf 1\n"
    run = played(build, steps_of("a 0 64\n" + long, short, long, short, short, long, short, short, long), "--loop-to", "60")
    expect("loop steps 6 to 8, which repeat" in run.stdout, run.stdout)
    sizes = [b for op, b in calls(run) if op == "malloc"]
    expect(len(run.steps) == 60 and len(sizes) == 1 + 60 + 1 + sum(i % 3 == 2 for i in range(60)), f"{len(sizes)} requests")
    pattern = [a.requests - b.requests for a, b in zip(run.steps[1:], run.steps)]
    expect(pattern == [2 if i % 3 == 2 else 1 for i in range(1, 60)], pattern)


@case
def a_loop_without_a_period_has_the_same_sizes_live_at_both_ends(build):
    run = played(build, steps_of("a 0 64\n", "a 1 100\n", "f 1\na 2 200\n", "f 2\na 3 300\n", "a 4 8\nf 4\nf 3\na 5 100\n"), "--loop-to", "30", "--verify")
    expect("loop steps 2 to 4, with the same sizes live at both ends; 2 blocks" in run.stdout, run.stdout)
    live = {100: 0, 200: 0, 300: 0}
    for op, size in calls(run):
        if size in live:
            live[size] += 1 if op == "malloc" else -1
        expect(sum(live.values()) <= 1, f"{live} live at once")


@case
def what_outlives_a_turn_of_the_loop_is_freed_in_the_next(build):
    """The output of each batch is kept for two steps, so what is freed is always the oldest."""
    steps = [f"a {10 + i} 4096\nf {8 + i}\n" for i in range(6)]
    run = played(build, steps_of(*steps, before="a 8 4096\na 9 4096\n"), "--loop-to", "200", "--verify",
                 cache={"": "observe", "LOG_LEVEL": "event"})
    expect("loop steps 5 to 5, which repeat" in run.stdout and "2 blocks live at its begin, 0 left" in run.stdout, run.stdout)
    kept = []
    for record in run.log:
        if record["ev"] == "alloc":
            kept.append(record["address"])
            expect(len(kept) <= 3, f"{len(kept)} kept")
        elif record["ev"] == "free":
            expect(kept.pop(0) == record["address"], f"{record['address']} is not the oldest block")
    expect(not kept and len(calls(run)) == 2 * 202, f"{len(calls(run))} calls")


@case
def a_loop_may_leave_a_block_of_each_turn_as_a_program_that_leaks(build):
    run = played(build, steps_of(*(f"a {i} 4096\na 100 512\nf 100\n" for i in range(5))), "--loop-to", "50")
    expect("1 left by each turn" in run.stdout, run.stdout)
    sizes = calls(run)
    expect(sizes.count(("malloc", 4096)) == 50 and sizes[-50:] == [("free", 4096)] * 50, "the leak is not as recorded")


@case
def a_loop_ends_before_what_the_program_did_at_its_end(build):
    step = "a 1 4096\nf 1\n"
    run = played(build, steps_of(step, step, step, step, before="a 0 64\n", after="f 0\n"), "--loop-to", "9")
    expect("loop steps 2 to 2," in run.stdout, run.stdout)
    expect(calls(run) == [("malloc", 64)] + 9 * [("malloc", 4096), ("free", 4096)] + [("free", 64)], calls(run))


@case
def fewer_steps_than_recorded_need_no_loop(build):
    run = played(build, steps_of("a 1 1\n", "a 2 2\n", "a 3 3\n"), "--loop-to", "2")
    expect(calls(run) == [("malloc", 1), ("malloc", 2), ("free", 1), ("free", 2)] and len(run.steps) == 2, calls(run))


@case
def what_cannot_be_looped_is_refused(build):
    refused(build, "a 1 1\n", ": ", '"# step N" lines for --loop-to, found none', "--loop-to", "5")
    growing = steps_of("a 1 1\n", "a 2 2\n", "a 3 3\n")
    refused(build, growing, ": ", "steps to repeat for --loop-to, found none", "--loop-to", "5")
    shrinking = steps_of(*3 * ["a 9 5\nf 9\n"], "f 1\na 9 5\nf 9\n", "f 2\na 9 5\nf 9\n", before="a 1 64\na 2 64\n")
    refused(build, shrinking, ": ", "steps to repeat for --loop-to, found none", "--loop-to", "9")


@case
def sizes_can_be_scaled(build):
    sizes = [size for op, size in calls(played(build, "a 1 1000\na 2 1\n", "--scale", "1/3")) if op == "malloc"]
    expect(sizes == [334, 1], sizes)
    sizes = [size for op, size in calls(played(build, "a 1 1000\na 2 1\n", "--scale", "1024")) if op == "malloc"]
    expect(sizes == [1024000, 1024], sizes)


@case
def a_block_that_is_handed_out_twice_is_noticed(build, module):
    trace = written("a 1 65536\na 2 65536\nf 2\nf 1\n")
    environment = os.environ | {"LD_LIBRARY_PATH": str(pathlib.Path(build).resolve() / "sim"), "LD_PRELOAD": module}
    done = subprocess.run([str(pathlib.Path(build) / "bench/replay"), str(trace), "--verify"], env=environment, capture_output=True, text=True, check=False)
    expect(done.returncode == 1 and "was overwritten while it was live" in done.stderr, f"{done.returncode} {done.stdout} {done.stderr}")


@case
def an_out_of_memory_ends_it_with_1_and_the_request(build):
    run = played(build, "a 1 1048576\na 2 68719476736\n", status=1)
    expect("cudaMalloc of 68719476736 bytes, after 1 requests and with 1048576 bytes live: out of memory" in run.stderr, run.stderr)


@case
def it_says_how_far_it_is(build):
    run = played(build, LIFETIMES, "--passes", "3", "--progress", "0")
    expect([line.split(",")[0] for line in run.stderr.splitlines()] == [f"replay: {i} of 3 passes" for i in (1, 2, 3)], run.stderr)
    ours, theirs = pty.openpty()
    subprocess.run([str(pathlib.Path(build) / "bench/replay"), str(written(LIFETIMES)), "--passes", "3", "--progress", "0"], stderr=theirs,
                   stdout=subprocess.DEVNULL, env=os.environ | {"LD_LIBRARY_PATH": str(pathlib.Path(build).resolve() / "sim")}, check=True)
    os.close(theirs)
    text = b""
    while True:
        try:
            text += os.read(ours, 65536)
        except OSError:
            break
    expect(b"\n" not in text and text.count(b"\r\x1b[K") == 4 and text.endswith(b"\r\x1b[K") and b"3 of 3 passes" in text, text[-200:])


@case
def every_recording_ends_with_nothing_live_and_no_violation(build):
    expect(len(TRACES) >= 25, f"only {len(TRACES)} recordings")
    for path in TRACES:
        is_small = path.stat().st_size < 20000
        for cache in None, {}:
            run = played(build, path, *(["--verify"] if is_small else []), cache=cache)
            expect(run.violations() == 0, f"{path.name}: {run.report['violations']}")
            expect(run.samples and run.samples[-1].live == 0, f"{path.name}: {run.samples[-1]}")
            expect(cache is not None or run.report["live"] == 0, f"{path.name}: {run.report['live']} bytes on the device at the end")
            expect(not run.over_cap(), f"{path.name}: above the cap: {run.over_cap()[:1]}")
            expect(run.records("end") if cache is not None else not run.log, f"{path.name}: the cache was there or not there")


def scored(build, name):
    run = replay(build, next(path for path in TRACES if path.name == f"{name}.trace.xz"))
    expect(run.status == 0 and len(run.steps) == 60, run.stderr)
    return run, dict(zip(HEAD, Score(run).cells()))


@case
def a_model_of_fixed_shapes_is_fixed_by_step_6_and_served_97_percent_under_the_cap(build):
    run, row = scored(build, "torch-gpt-fixed")
    expect(row["first fixed"] != "never" and int(row["first fixed"]) <= 6 and row["fallbacks"] == "0", row)
    expect(float(row["in fixed %"]) >= 97 and float(row["fixed %"]) >= 90, row)
    expect(not run.over_cap() and run.device_peak() <= 1.25 * run.live_peak(), row)


@case
def a_model_of_random_lengths_never_holds_more_than_without_the_cache(build):
    run, row = scored(build, "torch-gpt-random")
    plain = played(build, next(path for path in TRACES if path.name == "torch-gpt-random.trace.xz"), "--loop-to", "60")
    expect(len(calls(run)) == len(calls(plain)) > 40000, f"{len(calls(run))} calls, {len(calls(plain))} without the cache")
    expect(run.device_peak() <= plain.device_peak(), f"{run.device_peak()} bytes held, {plain.device_peak()} without the cache")
    expect(row["fixed %"] == "0" and row["fallbacks"] == "0", row)


@case
def the_score_counts_hits_and_phases_by_true_steps(build):
    step = "".join(f"a {i} 4194304\n" for i in range(1, 11)) + "".join(f"f {i}\n" for i in range(1, 11))
    path = written(steps_of(*30 * [step], before="a 0 64\n"), "steps.trace")
    done = subprocess.run([sys.executable, str(ROOT / "bench/score.py"), "--build", build, str(path)], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, done.stdout + done.stderr)
    lines = done.stdout.splitlines()
    row = dict(zip([cell.strip() for cell in lines[0].split("  ") if cell.strip()], lines[2].split()))
    log = Replay(build, path, "--loop-to", "60", cache={}, sim={})
    phase = log.records("phase")[0]
    before = sum(r["requests"] for r in log.records("step") if r["step"] < phase["step"])
    fixed = next(i for i, s in enumerate([0] + [s.requests for s in log.steps]) if s >= before)
    expect(row["true steps"] == "60" and row["fallbacks"] == "0", row)
    expect(int(row["first fixed"]) == fixed and fixed <= 6, f"{row} but fixed at request {before}, step {fixed}")
    expect(row["hits %"] == "100.0" and row["same %"] == "100.0", row)
    expect(row["fixed %"] == f"{100 * (60 - fixed) / 60:.0f}", row)


@case
def the_score_fails_when_a_run_does(build):
    done = subprocess.run([sys.executable, str(ROOT / "bench/score.py"), "--build", build, str(written("a 1\n", "bad.trace"))],
                          capture_output=True, text=True, check=False)
    expect(done.returncode == 1 and "bad.trace: exit status 2" in done.stdout, done.stdout + done.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in CASES:
        sys.exit("usage: test_replay.py CASE BUILD [MODULE], CASE one of:\n  " + "\n  ".join(CASES))
    CASES[sys.argv[1]](*sys.argv[2:])
    print("so it is")
