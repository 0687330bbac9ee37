#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes rules out of the sources, one at a time, and looks whether a test misses them.

Each NAME.patch beside this file removes one rule and is named after what is missing then. Above its diff it says in
prose which rule that is and where it is written down, and in lines that are read here:

    Builds: TARGET...
    Caught-by: ctest -R 'REGEX'

Where there are several Caught-by, each must catch it: a rule may be held by a test of its own and by a whole run.

With --sample N, for a run before every change, only N of them are built and tested, other ones for each commit; the
rest must still apply.

Two copies of the sources, kept between runs, are built and tested side by side, a patch at a time. A patch that no
longer applies, does not compile, or leaves every test of a line standing is a failure; so is a test that fails
without any."""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import queue
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COPIES = 2
BUILD_SECONDS, TEST_SECONDS = 600, 180  # a mutant may hang: that counts as caught


@dataclasses.dataclass
class Mutant:
    name: str
    patch: pathlib.Path
    files: list
    targets: list
    regexes: list


@dataclasses.dataclass
class Verdict:
    name: str
    is_caught: bool
    what: str  # the tests that caught it, or what is wrong
    seconds: float = 0


class Refused(Exception):
    pass


def header(text, key):
    """The words of each line for `key` above the diff."""
    found = re.findall(rf"^{key}: (.+)$", text.partition("\n--- ")[0], re.MULTILINE)
    if not found:
        raise Refused(f"wants a line that begins with {key}:")
    return [shlex.split(line) for line in found]


def read(patch):
    text = patch.read_text()
    caught = header(text, "Caught-by")
    if any(len(words) != 3 or words[:2] != ["ctest", "-R"] for words in caught):
        raise Refused("Caught-by: is not of the form ctest -R 'REGEX'")
    files = re.findall(r"^--- a/(\S+)$", text, re.MULTILINE)
    if not files:
        raise Refused("has no diff")
    targets = [target for words in header(text, "Builds") for target in words]
    return Mutant(patch.stem, patch, files, targets, [words[2] for words in caught])


def end_session(leader):
    """Whatever is left of what `leader` started: tests put their children into process groups of their own."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            pass  # gone already


def run(command, seconds, **more):
    """Status and output; no status where it did not end in time. Nothing it started outlives it."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors="replace", start_new_session=True, **more)
    try:
        output, _ = child.communicate(timeout=seconds)
        return child.returncode, output
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        if child.poll() is None:
            end_session(child.pid)
            child.communicate()


def must(command, what, seconds=BUILD_SECONDS, **more):
    status, output = run(command, seconds, **more)
    if status != 0:
        raise Refused(f"{what}\n{output[-3000:]}")
    return output


def listed(command):
    return [name for name in subprocess.check_output(command, cwd=ROOT).decode().split("\0") if name]


class Copy:
    """One copy of the sources with its build folder."""

    def __init__(self, folder, number):
        self.source = folder / str(number) / "source"
        self.build = folder / str(number) / "build"

    def take(self, names, origin):
        """Becomes what `origin` is; a file that is the same already keeps its time, and so what was built of it."""
        wanted = set(names)
        self.source.mkdir(parents=True, exist_ok=True)
        for there in [path for path in self.source.rglob("*") if path.is_file() or path.is_symlink()]:
            if str(there.relative_to(self.source)) not in wanted:
                there.unlink()
        for name in names:
            here, there = origin / name, self.source / name
            if not here.exists():
                continue  # deleted, and git has not been told yet
            if not there.exists() or there.read_bytes() != here.read_bytes():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(here, there)
                shutil.copymode(here, there)

    def configure(self, cuda):
        must(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", f"-DSC_CUDA_ROOT={cuda}",
              f"-DCMAKE_C_COMPILER={os.environ.get('CC') or 'gcc'}"], "cmake fails on the sources as they are")

    def make(self, targets):
        return run(["ninja", "-C", self.build, "-j", "1", *sorted(targets)], BUILD_SECONDS)

    def test(self, regex, *more, seconds=TEST_SECONDS):
        environment = {**os.environ, "CK_TIMEOUT_MULTIPLIER": "50", "SC_SEED": "1"}
        return run(["ctest", "--test-dir", self.build, "--output-on-failure", "-R", regex, *more], seconds,
                   env=environment)

    def tests(self, regex):
        output = must(["ctest", "--test-dir", self.build, "-N", "-R", regex], "ctest -N fails")
        return re.findall(r"^ *Test +#\d+: (.+)$", output, re.MULTILINE)

    def apply(self, patch, *more):
        # outside any repository, for git takes paths to be its own there
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(self.source.parent)}
        return run(["git", "apply", *more, patch], 60, cwd=self.source, env=environment)


def failed_tests(output):
    """What went wrong, as precisely as the tests say it."""
    tests = re.findall(r"^\s*\d+ - (\S+) \((?!Not Run)[^)]*\)", output, re.MULTILINE)
    if not tests:
        return ""
    cases = re.findall(r":[FES]:[^:]*:(\w+):", output)  # check
    cases += re.findall(r"^(?:FAIL|ERROR): (?:test_)?(\w+)", output, re.MULTILINE)  # unittest
    cases += re.findall(r": not true: (.+)$", output, re.MULTILINE)  # tests/preload/check.h
    return tests[0] + (f": {cases[0]}" if cases else "")


def judge(copy, mutant):
    status, output = copy.apply(mutant.patch)
    if status != 0:
        return Verdict(mutant.name, False, "no longer applies\n" + output)
    status, output = copy.make(mutant.targets)
    if status != 0:
        return Verdict(mutant.name, False, "does not compile\n" + output[-3000:])
    caught = []
    for regex in mutant.regexes:
        status, output = copy.test(regex, "--stop-on-failure")
        caught.append(f"{regex} does not end" if status is None else failed_tests(output))
        if not caught[-1]:
            return Verdict(mutant.name, False, f"survives ctest -R '{regex}'" + ("" if status == 0 else f"\n{output}"))
    return Verdict(mutant.name, True, "; ".join(caught))


def try_out(copy, mutant):
    began = time.monotonic()
    before = {name: (copy.source / name).read_bytes() for name in mutant.files if (copy.source / name).exists()}
    try:
        verdict = judge(copy, mutant)
    finally:
        for name, content in before.items():
            if (copy.source / name).read_bytes() != content:
                (copy.source / name).write_bytes(content)
    verdict.seconds = time.monotonic() - began
    return verdict


def groups(mutants):
    """Those of one file together: one copy takes them all and builds what depends on it once less each time."""
    by_file = {}
    for mutant in mutants:
        by_file.setdefault(mutant.files[0], []).append(mutant)
    return sorted(by_file.values(), key=len, reverse=True)


def work(copy, waiting, tell):
    while True:
        try:
            group = waiting.get_nowait()
        except queue.Empty:
            return
        for mutant in group:
            tell(try_out(copy, mutant))


def prepare(copies, mutants, names, origin, cuda):
    targets = {target for mutant in mutants for target in mutant.targets}
    print(f"building {len(targets)} targets twice ...", flush=True)

    def one(copy):
        copy.take(names, origin)
        copy.configure(cuda)
        status, output = copy.make(targets)
        if status != 0:
            raise Refused("the sources as they are do not build\n" + output[-3000:])

    with concurrent.futures.ThreadPoolExecutor(len(copies)) as pool:
        list(pool.map(one, copies))
    regexes = {regex: mutant.name for mutant in mutants for regex in mutant.regexes}
    for regex, name in regexes.items():
        if not copies[0].tests(regex):
            raise Refused(f"{name}: no test is called {regex}")
    print("testing the sources as they are ...", flush=True)
    status, output = copies[0].test("|".join(sorted(regexes)), "-j", str(len(copies)), seconds=BUILD_SECONDS)
    if status != 0:
        raise Refused("a test fails without any mutant\n" + output[-3000:])


def extract(commit, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE)
    subprocess.check_call(["tar", "-x", "-C", folder], stdin=archive.stdout)
    if archive.wait() != 0:
        raise Refused(f"git archive {commit} fails")
    return folder


def chosen(wanted):
    patches = {path.stem: path for path in sorted(HERE.glob("*.patch"))}
    unknown = [name for name in wanted if name not in patches]
    if unknown:
        raise Refused(f"no mutant is called {unknown[0]}; there are:\n  " + "\n  ".join(patches))
    mutants, verdicts = [], []
    for name in wanted or patches:
        try:
            mutants.append(read(patches[name]))
        except Refused as why:
            verdicts.append(Verdict(name, False, str(why)))
    return mutants, verdicts


def sample(mutants, count):
    """So many of them, which ones the commit decides, and those left out."""
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    drawn = {mutant.name for mutant in random.Random(commit).sample(mutants, min(count, len(mutants)))}
    return [one for one in mutants if one.name in drawn], [one for one in mutants if one.name not in drawn]


def stale(copy, mutants):
    """A verdict for each that no longer applies."""
    checks = [(mutant, copy.apply(mutant.patch, "--check")) for mutant in mutants]
    return [Verdict(mutant.name, False, "no longer applies\n" + output) for mutant, (status, output) in checks if status != 0]


def print_table(verdicts):
    width = max([len("mutant")] + [len(verdict.name) for verdict in verdicts])
    print(f"\n{'mutant':{width}}  seconds  caught by\n{'-' * width}  -------  {'-' * 40}")
    for verdict in sorted(verdicts, key=lambda verdict: (verdict.is_caught, verdict.name)):
        what = verdict.what.splitlines()[0]
        print(f"{verdict.name:{width}}  {verdict.seconds:7.1f}  {'' if verdict.is_caught else 'NOT CAUGHT: '}{what}")


def try_all(copies, mutants, verdicts):
    waiting, lock, total = queue.Queue(), threading.Lock(), len(mutants)
    count = 0
    for group in groups(mutants):
        waiting.put(group)

    def tell(verdict):
        nonlocal count
        with lock:
            count += 1
            verdicts.append(verdict)
            print(f"[{count}/{total}] {verdict.name}: {'' if verdict.is_caught else 'NOT CAUGHT: '}{verdict.what}",
                  flush=True)

    with concurrent.futures.ThreadPoolExecutor(len(copies)) as pool:
        for job in [pool.submit(work, copy, waiting, tell) for copy in copies]:
            job.result()


def main():
    parser = argparse.ArgumentParser(prog="dev mutants", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True, type=pathlib.Path, help="folder for the copies")
    parser.add_argument("--cuda", required=True, type=pathlib.Path, help="root of a CUDA 13 toolkit")
    parser.add_argument("--commit", help="mutate this commit instead of the working tree")
    parser.add_argument("--sample", type=int, metavar="N", help="try N of them, which ones HEAD decides; the others must apply")
    parser.add_argument("name", nargs="*", help="mutants to try; all without")
    arguments = parser.parse_args()
    folder = arguments.build.resolve()
    began = time.monotonic()
    try:
        mutants, verdicts = chosen(arguments.name)
        if arguments.commit:
            origin = extract(arguments.commit, folder / "commit")
            names = listed(["git", "ls-tree", "-r", "-z", "--name-only", arguments.commit])
        else:
            origin = ROOT
            names = listed(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        copies = [Copy(folder, number + 1) for number in range(COPIES)]
        mutants, others = sample(mutants, arguments.sample) if arguments.sample is not None else (mutants, [])
        if mutants:
            prepare(copies, mutants, names, origin, arguments.cuda.resolve())
            verdicts += stale(copies[0], others)
            try_all(copies, mutants, verdicts)
    except Refused as why:
        sys.exit(f"mutants: {why}")
    print_table(verdicts)
    escaped = sum(not verdict.is_caught for verdict in verdicts)
    print(f"\n{len(verdicts) - escaped} of {len(verdicts)} caught in {time.monotonic() - began:.0f} s")
    sys.exit(escaped != 0)


if __name__ == "__main__":
    main()
