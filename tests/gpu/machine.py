# SPDX-License-Identifier: MIT
"""Runs the programs of a check, without the cache and with it, and keeps what they said; and the rows of the table."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

OK, NO, DIFFERS, MEASURED, UNSUPPORTED, NOT_RUN = "ok", "NO", "differs", "measured", "not supported here", "not run"


@dataclasses.dataclass
class Row:
    what: str
    expected: str
    found: str
    verdict: str

    def __post_init__(self):
        found = " ".join(self.found.split())  # one line of a table; a program's own words are kept in full elsewhere
        self.found = found if len(found) <= 160 else found[:157] + "..."


def must(what, expected, found, is_so):
    """A promise or what one stands on."""
    return Row(what, expected, found, OK if is_so else NO)


def fact(what, expected, found, is_so):
    """What the simulator assumes: nothing breaks where the card is otherwise, but it has to be known."""
    return Row(what, expected, found, OK if is_so else DIFFERS)


def figure(what, found):
    return Row(what, "-", found, MEASURED)


class Said:
    """What one program said: facts by name, and how it ended."""

    def __init__(self, title, status, output, log=()):
        self.title, self.status, self.output, self.log = title, status, output, log
        self.facts, self.unsupported = {}, []
        for line in output.splitlines():
            words = line.split()
            if len(words) == 3 and words[1:] == ["-", "unsupported"]:
                self.unsupported.append(words[0])
            elif len(words) == 3:
                self.facts[words[0]] = words[1]

    def number(self, name):
        return float(self.facts.get(name, "nan"))

    def records(self, event):
        return [record for record in self.log if record["ev"] == event]

    def end(self):
        return next(iter(self.records("end")), {})

    def trouble(self):
        """A row if the program could not say anything, else None."""
        if self.status == "late":
            return Row(self.title, "to run", "no time was left", NO)
        if self.status != 0:
            last = (self.output.strip().splitlines() or ["no output"])[-1]
            return Row(self.title, "ends with 0", f"ends with {self.status}: {last[:100]}", NO)
        return Row(self.title, "-", "-", UNSUPPORTED) if self.unsupported and not self.facts else None


class Machine:
    """Where programs run: the card, or with `options.sim` the simulated GPU."""

    LIMIT = 60  # seconds for one program

    def __init__(self, options, folder, deadline):
        self.options, self.folder, self.deadline = options, folder, deadline
        self.build = pathlib.Path(options.build).resolve()
        self.library = options.library or str(self.build / "libshapecache.so")
        self.said, self.number = [], 0
        libraries = [str(self.build / "sim")] if options.sim else [
            folder for folder in (f"{options.cuda}/lib64", f"{options.cuda}/targets/x86_64-linux/lib", f"{options.cuda}/lib", str(self.build / "lib"))
            if pathlib.Path(folder, "libcudart.so.13").exists()]
        kept = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = ":".join([*libraries, *([kept] if kept else [])])
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHAPECACHE", "SIMCUDA_", "LD_PRELOAD"))}

    @property
    def is_simulated(self):
        return self.options.sim

    def left(self):
        return self.deadline - time.monotonic()

    def program(self, name):
        return str(self.build / "tests/gpu" / name)

    def run(self, title, command, cache=None, **environment):
        """cache: None for none, or SHAPECACHE_ settings without the prefix."""
        return self.finish(self.start(title, command, cache, **environment))

    def start(self, title, command, cache=None, **environment):
        self.number += 1
        log = self.folder / f"{self.number}.jsonl"
        environment = self.environment | environment
        if cache is not None:
            environment |= {"LD_PRELOAD": self.library, "SHAPECACHE_LOG": str(log), "SHAPECACHE_SUMMARY": "off"}
            environment |= {"SHAPECACHE_" + name: str(value) for name, value in cache.items()}
            title += ", cached"
        if self.left() <= 0:
            return title, None, log
        process = subprocess.Popen(command, env=environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        return title, process, log

    def finish(self, started):
        title, process, log = started
        if process is None:
            return Said(title, "late", "")
        try:
            output, _ = process.communicate(timeout=max(1, min(self.LIMIT, self.left() + 20)))
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            status = f"a kill, after {self.LIMIT} s"
        records = logs.read(log)
        kept = [record for record in records if record["ev"] in ("phase", "warn", "oom", "end")]
        self.said.append((title, "\n".join([output.rstrip(), *(json.dumps(record) for record in kept)])))
        return Said(title, status, output, records)
