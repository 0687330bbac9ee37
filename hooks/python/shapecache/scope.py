# SPDX-License-Identifier: MIT
"""Memory of a device: how much there is, what a part of the program needs, and giving back what the cache keeps."""

import ctypes
import dataclasses
import functools
import gc
import inspect
import threading

from shapecache import _library

_TRIM_BEFORE, _TRIM_AFTER, _LOG = 1, 2, 4
_CAPTURE = 7  # SHAPECACHE_ECAPTURE


class _MemoryInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in
                ("live", "idle", "held", "live_peak", "held_peak", "driver_free", "driver_total")]


class _ScopeInfo(ctypes.Structure):
    _fields_ = [("device", ctypes.c_int), ("depth", ctypes.c_uint)] + [
        (name, ctypes.c_uint64) for name in
        ("live_before", "idle_before", "live_peak", "held_peak", "live", "idle", "trimmed", "ns")]


_FIGURES = [name for name, _ in _ScopeInfo._fields_ if name != "ns"]


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes in the driver's pages. live: the program's; idle: the cache's; held: both; the peaks are the most since the
    program began; driver_free and driver_total are the driver's own figures. Where there is no cache, or nothing has been
    allocated yet, all are 0 and is_known is False."""
    live: int = 0
    idle: int = 0
    held: int = 0
    live_peak: int = 0
    held_peak: int = 0
    driver_free: int = 0
    driver_total: int = 0
    is_known: bool = False


def memory(device=-1):
    """The Memory of `device` (-1: the current one) now."""
    ask = _library.function("shapecache_memory", [ctypes.c_int, ctypes.POINTER(_MemoryInfo)])
    info = _MemoryInfo()
    if ask is None or not _library.is_done(ask(device, ctypes.byref(info))):
        return Memory()
    return Memory(**{name: getattr(info, name) for name, _ in _MemoryInfo._fields_}, is_known=True)


def trim(device=-1, *, collect=False):
    """Gives everything idle of `device` (-1: the current one) back to the driver; with `collect`, Python's garbage
    collector runs first. False where there is no cache, or a stream capture forbids it."""
    if collect:
        gc.collect()
    give_back = _library.function("shapecache_trim", [ctypes.c_int])
    if give_back is None:
        return False
    status = give_back(device)
    return status != _CAPTURE and _library.is_done(status)


class _Open(threading.local):
    """The scopes this thread has open, innermost last."""

    def __init__(self):
        self.scopes = []


_open = _Open()


class Scope:
    """What scope() returns: enter it, or put it before a function. After its end it tells, in bytes: device, depth (scopes
    around it), live_before, idle_before, live_peak, held_peak (the most at once within it), live and idle (at its end),
    trimmed, and seconds; is_known is False where there was no cache to tell, and then all are 0."""

    def __init__(self, name, **options):
        self.name = name
        self.is_known = False
        self._options = options
        self._is_begun = False
        self._take(_ScopeInfo())

    def _take(self, info):
        self.device, self.depth = info.device, info.depth
        self.live_before, self.idle_before = info.live_before, info.idle_before
        self.live_peak, self.held_peak = info.live_peak, info.held_peak
        self.live, self.idle, self.trimmed = info.live, info.idle, info.trimmed
        self.seconds = info.ns * 1e-9

    def __repr__(self):
        if not self.is_known:
            return f"<Scope {self.name!r}: {'open' if self in _open.scopes else 'no figures'}>"
        figures = ", ".join(f"{name}={getattr(self, name)}" for name in _FIGURES)
        return f"<Scope {self.name!r}: {figures}, seconds={self.seconds:.6f}>"

    def _flags(self):
        options = self._options
        return _TRIM_BEFORE * options["trim_before"] | _TRIM_AFTER * options["trim_after"] | _LOG * options["log"]

    def __enter__(self):
        if not self.name:
            raise ValueError("a scope needs a name")
        if self in _open.scopes:
            raise RuntimeError(f'scope "{self.name}" is open already')
        if self._options["collect"] and self._options["trim_before"]:
            gc.collect()
        begin = _library.function("shapecache_scope_begin", [ctypes.c_char_p, ctypes.c_uint])
        self.is_known = False
        self._is_begun = begin is not None and _library.is_done(begin(self.name.encode(errors="replace"), self._flags()))
        _open.scopes.append(self)
        return self

    def __exit__(self, *error):
        if not _open.scopes or _open.scopes[-1] is not self:
            raise RuntimeError(f'scope "{self.name}" is not the innermost one that is open in this thread')
        _open.scopes.pop()
        if self._options["collect"] and self._options["trim_after"]:
            gc.collect()
        if self._is_begun:
            end = _library.need("shapecache_scope_end", [ctypes.POINTER(_ScopeInfo)])
            info = _ScopeInfo()
            self._is_begun = False
            self.is_known = _library.is_done(end(ctypes.byref(info)))
            self._take(info)

    def __call__(self, function):
        if any(goes_on(function) for goes_on in _GOES_ON):
            raise TypeError(f"{function.__qualname__} goes on after it has returned, and a scope would have ended")

        @functools.wraps(function)
        def within(*arguments, **named):
            with Scope(self.name or function.__qualname__, **self._options):
                return function(*arguments, **named)
        return within


_GOES_ON = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


def scope(name=None, *, trim_before=False, trim_after=False, log=True, collect=False):
    """A part of the program whose memory is of interest: a context manager, and a decorator.

        with shapecache.scope("validation", trim_after=True) as seen:
            validate()
        print(seen.live_peak)

        @shapecache.scope(trim_before=True)     # named after the function
        def load(): ...

    Scopes nest, each with high-water marks of its own, which are exact: kept where memory is allocated, not sampled. They
    end when their block is left, by an exception too, which goes on its way. trim_before and trim_after give everything
    idle back, as trim() does; collect runs Python's garbage collector before each of these; log writes a `scope` record.
    A scope belongs to one thread. Where there is no cache it does nothing."""
    options = {"trim_before": trim_before, "trim_after": trim_after, "log": log, "collect": collect}
    if callable(name):  # @scope
        return Scope(None, **options)(name)
    return Scope(name, **options)
