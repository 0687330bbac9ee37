#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What docs/rings.md shows is what happens: test_docs.py SOURCE BUILD [--write]

Each block of output begins with its command. Programs above are compiled, or run, under the names that the commands use. Output
is taken from a terminal, so that both streams come in their order; the number of the process is one of many."""

import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

SOURCE, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
DOCUMENT = SOURCE / "docs/rings.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def run(command, folder):
    """What a person sees, with process numbers as 4711."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SHAPECACHE", "LD_", "PYTHON"))}
    process = subprocess.Popen(["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                               env={**kept, "SHAPECACHE_LIBRARY": str(BUILD / "libshapecache.so"), "PYTHONDONTWRITEBYTECODE": "1"})
    os.close(theirs)
    said = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        said += piece
    os.close(ours)
    process.wait()
    return re.sub(r"shapecache\[\d+\]", "shapecache[4711]", said.decode().replace("\r\n", "\n"))


def shown(text, folder):
    """The document with true output in each of its blocks."""
    def true(block):
        language, body = block.groups()
        if language:
            (folder / {"c": "ring.c", "python": "ring.py"}[language]).write_text(body)
            return block.group(0)
        if not body.startswith("$ "):
            raise SystemExit(f"a block without a command: {body}")
        command = body.splitlines()[0][2:]
        return f"```\n$ {command}\n{run(command, folder)}```"
    return BLOCK.sub(true, text)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for link, to in (("build", BUILD), ("include", SOURCE / "include"), ("hooks", SOURCE / "hooks")):
            (folder / link).symlink_to(to)
        (folder / "checkpoint").mkdir()
        (folder / "new").mkdir()
        text = DOCUMENT.read_text()
        now = shown(text, folder)
    if "--write" in sys.argv:
        DOCUMENT.write_text(now)
    elif now != text:
        for there, here in zip(text.splitlines(), now.splitlines()):
            if there != here:
                raise SystemExit(f"docs/rings.md says\n  {there}\nbut it is\n  {here}")
        raise SystemExit("docs/rings.md has more or less lines than there are")
    print(len(BLOCK.findall(text)), "blocks are true")


main()
