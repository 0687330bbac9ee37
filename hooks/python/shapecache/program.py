# SPDX-License-Identifier: MIT
"""What a program tells of its run: where a step ends, and what happens now."""

import ctypes

from shapecache import _library


def step(device=-1):
    """One training step of `device` (-1: the current one) ended. False where there is no cache to tell."""
    end = _library.function("shapecache_step", [ctypes.c_int])
    return end is not None and _library.is_done(end(device))


def mark(name):
    """A `mark` record in the log, here and now. False where there is no log."""
    if not isinstance(name, str):
        raise TypeError(f"a mark's name is a str, not {type(name).__name__}")
    write = _library.function("shapecache_mark", [ctypes.c_char_p])
    return write is not None and _library.is_done(write(name.encode()))


def phase(device=-1):
    """The phase of `device` now: "off", "warmup", "fixed" or "fallback"."""
    ask = _library.function("shapecache_phase", [ctypes.c_int])
    return ("off", "warmup", "fixed", "fallback")[ask(device) if ask is not None else 0]
