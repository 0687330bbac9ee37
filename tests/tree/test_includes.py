#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data flows one way: reads every #include of the tree and fails on one that points upwards or sideways."""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()

# room -> rooms it may include
ALLOWED = {
    "base": {"base"},
    "cache": {"base", "cache"},
    "log": {"base", "log"},
    "ring": {"base", "ring", "shapecache"},
    "arena": {"base", "arena", "shapecache"},
    "engine": {"base", "cache", "log", "ring", "arena", "engine", "shapecache"},
    "cli": {"base", "log", "cache/phase.def", "cache/doubt.def", "cli"},
    "sim": {"sim"},
}
HOOKS_MAY = {"base/driver.h", "engine/engine.h", "shapecache/shapecache.h"}
CUDA = re.compile(r"^(cuda|crt/|driver_types|vector_types|builtin_types|library_types)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
FIXED_TOP = {"CMakeLists.txt", "src", "include", "hooks", "tests", "bench", "docs", "README.md", "LICENSE",
             "CHANGELOG.md", "CMakePresets.json", "dev"}


def room_of(path):
    parts = path.relative_to(ROOT).parts
    return parts[1] if parts[0] == "src" else parts[0]


def problems():
    files = [p for d in ("src", "hooks", "include") for p in (ROOT / d).rglob("*") if p.suffix in (".c", ".h", ".def", ".S")]
    if len(files) < 20:
        yield f"only {len(files)} files found under {ROOT}: wrong folder?"
    for path in files:
        room = room_of(path)
        for quote, name in INCLUDE.findall(path.read_text()):
            where = f"{path.relative_to(ROOT)} includes {name}"
            first = name.split("/")[0]
            if CUDA.match(name) and room not in ("hooks", "sim"):
                yield f"{where}: CUDA's headers are for hooks and sim"
            if quote == "<":
                continue
            if room == "hooks":
                if "/" in name and name not in HOOKS_MAY and not name.startswith("hooks/"):
                    yield f"{where}: hooks may include {', '.join(sorted(HOOKS_MAY))} and its own"
            elif room in ALLOWED and "/" in name and first not in ALLOWED[room] and name not in ALLOWED[room]:
                if not (room == "sim" and first in ("driver", "runtime", "names", "..")):
                    yield f"{where}: {room} may include {', '.join(sorted(ALLOWED[room]))}"


def top_level():
    for path in ROOT.iterdir():
        if not path.name.startswith((".", "build")) and path.name not in FIXED_TOP and not path.name.startswith("shapecache-run"):
            yield f"{path.name} stands at the top level, which is fixed"


found = list(problems()) + list(top_level())
print("\n".join(found) if found else "every include points down")
sys.exit(1 if found else 0)
