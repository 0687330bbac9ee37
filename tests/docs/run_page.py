#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs what a page of docs/ shows and compares what it prints: run_page.py PAGE SOURCE BUILD [NVCC]

A block is fenced. One with a language after a paragraph that ends in `NAME`: is a file of that name. In one without, lines
after "$ " are commands for one shell, and what follows up to the next of them is what it prints, on standard output; a
block without any "$ " is commands alone. Everything runs in an empty folder in which the source's folders can be reached as
from its top, build being BUILD."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

MARK = "--- end of example ---"


class Wrong(Exception):
    pass


def blocks(text):
    """(language, the line before, lines) of each."""
    lines, found, inside, before = text.splitlines(), None, None, ""
    for line in lines:
        if line.startswith("```"):
            if inside is None:
                inside, found = line[3:], []
            else:
                yield inside, before, found
                inside = None
        elif inside is not None:
            found.append(line)
        elif line.strip():
            before = line
    if inside is not None:
        raise Wrong("a block is not closed")


def examples(lines):
    """(command, what it prints) of each."""
    if not any(line.startswith("$ ") for line in lines):
        return [(line, []) for line in lines]
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif not found:
            raise Wrong(f"output before any command: {line}")
        else:
            found[-1][1].append(line)
    return found


class Shell:
    def __init__(self, folder, environment):
        self._shell = subprocess.Popen(["bash"], cwd=folder, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, command):
        """What it printed, and its exit status."""
        self._shell.stdin.write(f"{command}\necho '{MARK}' $?\n")
        self._shell.stdin.flush()
        printed = []
        for line in self._shell.stdout:
            if line.startswith(MARK):
                return printed, int(line.split()[-1])
            printed.append(line.rstrip("\n"))
        raise Wrong(f"the shell has ended in: {command}")

    def close(self):
        self._shell.stdin.close()
        self._shell.stdout.close()
        self._shell.wait(timeout=60)


def check(page, source, folder, shell):
    count = 0
    for language, before, lines in blocks(page.read_text()):
        if language:
            name = re.search(r"`([\w.]+)`:$", before)
            if not name:
                raise Wrong(f"a block of {language} has no name")
            (folder / name[1]).write_text("\n".join(lines) + "\n")
            continue
        for command, wanted in examples(lines):
            printed, status = shell.run(command)
            if printed != wanted or status != 0:
                raise Wrong("\n".join([f"$ {command}", f"exit status {status}, printed:", *printed, "instead of:", *wanted]))
            count += bool(wanted)
    if not count:
        raise Wrong("no example prints anything")
    print(f"{page.name}: {count} examples print what the page says")


def main():
    page, source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    tools = [str(build)] + [str(pathlib.Path(nvcc).parent) for nvcc in sys.argv[4:]]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SHAPECACHE", "SIMCUDA", "LD_"))}
    kept |= {"PATH": os.pathsep.join([*tools, kept["PATH"]]), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory(prefix="shapecache-docs-") as name:
        folder = pathlib.Path(name)
        for entry in ("include", "hooks", "src", "tests", "docs"):
            (folder / entry).symlink_to(source / entry)
        (folder / "build").symlink_to(build)
        shell = Shell(folder, kept)
        try:
            check(page, source, folder, shell)
        except Wrong as wrong:
            sys.exit(f"{page}: {wrong}")
        finally:
            shell.close()


if __name__ == "__main__":
    main()
