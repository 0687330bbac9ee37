# SPDX-License-Identifier: MIT
"""A pinned LIFO arena: activations wait in host memory for their backward pass. docs/arena.md tells more.

    with Arena("8GiB") as arena:
        for batch in batches:
            with arena.offload_activations():
                loss = model(batch)
            loss.backward()

offload_activations() needs PyTorch; the rest works on device pointers and needs nothing. All calls of one Arena take its
lock, so threads may share it."""

import ctypes
import dataclasses
import re
import threading

from shapecache import _library

_FULL = ("fail", "keep", "pageable")
_BACKGROUND, _QUIET = 1, 2
_ORDER, _FULL_STATUS = 13, 14  # SHAPECACHE_EORDER, SHAPECACHE_EFULL
PINNED, DEVICE, PAGEABLE = range(3)  # where a ticket's tensor is
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


class _Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("capacity", ctypes.c_uint64), ("full", ctypes.c_int),
                ("bytes_least", ctypes.c_uint64), ("keep_last", ctypes.c_uint32), ("prefetch_most", ctypes.c_uint64),
                ("given_most", ctypes.c_uint64), ("chunk", ctypes.c_uint64), ("flags", ctypes.c_uint32)]


class Ticket(ctypes.Structure):
    """One offloaded tensor: its number, its depth in the stack, and its place (PINNED, DEVICE or PAGEABLE)."""
    _fields_ = [("number", ctypes.c_uint64), ("index", ctypes.c_uint32), ("place", ctypes.c_int)]


class _Moment(ctypes.Structure):
    _fields_ = [("number", ctypes.c_uint64), ("depth", ctypes.c_uint32)]


_COUNTERS = ("capacity", "mapped", "pinned", "pin_ns", "node", "used", "used_peak", "demand_peak", "pageable", "depth",
             "depth_peak", "passes", "offloads", "onloads", "bytes_out", "bytes_in", "kept_ignored", "kept_small", "kept_last",
             "kept_full", "kept_dry", "kept_bytes", "went_pageable", "prefetched", "prefetch_refused", "rewound", "given",
             "waits", "wait_ns", "given_pending", "wrong_order", "full", "mismatched", "driver_errors", "busy", "live_without",
             "spared", "spared_unknown")
_TYPES = {"node": ctypes.c_int64, "spared_unknown": ctypes.c_int}
# what spared_unknown means
SPARED_UNKNOWN = ("", "a tensor lay, or came back, in memory that the cache does not see",
                  "a tensor came back to another place of a block that was not freed",
                  "a tensor came back into a block that had been there for long",
                  "tensors of several blocks came back into one",
                  "no block was freed while a tensor of it was away")


class _Info(ctypes.Structure):
    _fields_ = [(name, _TYPES.get(name, ctypes.c_uint64)) for name in _COUNTERS]


ArenaStats = dataclasses.make_dataclass("ArenaStats", [(name, int) for name in _COUNTERS], frozen=True)
ArenaStats.__doc__ = """The fields of shapecache_arena_info, see shapecache/arena.h: bytes and counts."""


class ArenaError(_library.Error):
    """A call was refused; the message is the arena's whole sentence."""


class ArenaOrderError(ArenaError):
    """Wrong order of offload/onload."""


class ArenaFullError(ArenaError):
    """The activation arena is full."""


def _bytes(size, what="a size"):
    """12, "12", "1.5GiB", "64k": as the settings of shapecache read sizes."""
    if isinstance(size, int):
        if size < 0:
            raise ValueError(f"{what} must not be negative: {size}")
        return size
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", size, re.IGNORECASE)
    if not found:
        raise ValueError(f"not a size: {size!r}")
    return int(float(found[1]) * (1 << _UNITS[found[2].upper()]))


_POINTER, _SIZE, _NUMBER = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64
_OFFLOAD = [_POINTER, _POINTER, _SIZE, _NUMBER, _POINTER, ctypes.POINTER(Ticket)]
_PROTOTYPES = {
    "create": [ctypes.POINTER(_POINTER), ctypes.POINTER(_Config)],
    "of_process": [ctypes.POINTER(_POINTER)],
    "destroy": [_POINTER],
    "offload": _OFFLOAD,
    "offload_free": _OFFLOAD,
    "onload": [_POINTER, Ticket, _POINTER, _SIZE, _NUMBER, _POINTER],
    "prefetch": [_POINTER, Ticket, _POINTER, _SIZE, _POINTER, ctypes.POINTER(ctypes.c_uint)],
    "peek": [_POINTER, ctypes.c_uint32, ctypes.POINTER(Ticket)],
    "fence": [_POINTER, Ticket, _POINTER],
    "mark": [_POINTER, ctypes.POINTER(_Moment)],
    "rewind": [_POINTER, _Moment, _POINTER],
    "ignore": [_POINTER, _POINTER],
    "heed": [_POINTER, _POINTER],
    "forget": [_POINTER, Ticket],
    "stats": [_POINTER, ctypes.POINTER(_Info)],
    "report": [_POINTER],
}


def _function(name):
    return _library.need("shapecache_arena_" + name, _PROTOTYPES[name])


def _check(arena, status):
    if status == _library.OK:
        return
    text = ctypes.create_string_buffer(700)
    _library.need("shapecache_arena_error", [_POINTER, ctypes.c_char_p, _SIZE], None)(arena, text, len(text))
    kind = {_ORDER: ArenaOrderError, _FULL_STATUS: ArenaFullError}.get(status, ArenaError)
    raise kind(status, text.value.decode(errors="replace") or _library.text(status))


class Arena:
    """An arena of `capacity` bytes (0: a dry run) of page-locked memory for the current CUDA device. full: what happens to
    a tensor that does not fit, "keep" (it stays on the device), "fail" or "pageable". least: smaller tensors stay.
    Pointers and streams are integers (tensor.data_ptr(), stream.cuda_stream); sizes are bytes."""

    def __init__(self, capacity=0, *, name="arena", full="keep", least=0, keep_last=0, prefetch_most=1 << 30,
                 given_most=2**64 - 1, background=False, quiet=False):
        config = _Config()
        _library.need("shapecache_arena_defaults", [ctypes.POINTER(_Config)], None)(ctypes.byref(config))
        if config.size != ctypes.sizeof(_Config):
            raise _library.NotFound("the library is of another version than this package")
        config.name = name.encode()
        config.capacity, config.bytes_least = _bytes(capacity, "the capacity"), _bytes(least, "least")
        config.prefetch_most, config.given_most = _bytes(prefetch_most, "prefetch_most"), _bytes(given_most, "given_most")
        config.keep_last, config.full = _bytes(keep_last, "keep_last"), _FULL.index(full)
        config.flags = _BACKGROUND * background | _QUIET * quiet
        self._start()
        _check(None, _function("create")(ctypes.byref(self._arena), ctypes.byref(config)))

    def _start(self):
        self._arena = _POINTER()
        self.lock = threading.RLock()
        self._is_process = False
        self._activations = None

    @classmethod
    def of_process(cls):
        """The process's own arena, of SHAPECACHE_ARENA bytes."""
        arena = cls.__new__(cls)
        arena._start()
        arena._is_process = True
        _check(None, _function("of_process")(ctypes.byref(arena._arena)))
        return arena

    def _call(self, name, *arguments):
        with self.lock:
            if not self._arena:
                raise ValueError("the arena is closed")
            _check(self._arena, _function(name)(self._arena, *arguments))

    def offload(self, data, size, tag=0, stream=0):
        """The ticket of `size` bytes at device address `data`; nothing may overwrite them until fence()."""
        ticket = Ticket()
        self._call("offload", data, size, tag, stream, ctypes.byref(ticket))
        return ticket

    def offload_free(self, data, size, tag=0, stream=0):
        """The same, and the allocation is the arena's, unless the ticket's place is DEVICE."""
        ticket = Ticket()
        self._call("offload_free", data, size, tag, stream, ctypes.byref(ticket))
        return ticket

    def onload(self, ticket, data, size, tag=0, stream=0):
        """Brings the top tensor back to `data`. ArenaOrderError: it is not the top one."""
        self._call("onload", ticket, data, size, tag, stream)

    def prefetch(self, ticket, data, size, stream=0):
        """Begins to bring a tensor back; whether it did."""
        started = ctypes.c_uint()
        self._call("prefetch", ticket, data, size, stream, ctypes.byref(started))
        return bool(started.value)

    def peek(self, depth=0):
        """The ticket so far below the top."""
        ticket = Ticket()
        self._call("peek", depth, ctypes.byref(ticket))
        return ticket

    def fence(self, ticket, stream=0):
        """Work enqueued on `stream` from now on may overwrite the source."""
        self._call("fence", ticket, stream)

    def mark(self):
        """This moment of the stack, for rewind()."""
        moment = _Moment()
        self._call("mark", ctypes.byref(moment))
        return moment

    def rewind(self, moment, stream=0):
        """Drops what has come since."""
        self._call("rewind", moment, stream)

    def ignore(self, data):
        """Tensors at this address stay on the device until the stack is next empty."""
        self._call("ignore", data)

    def heed(self, data):
        """Takes ignore() back."""
        self._call("heed", data)

    def forget(self, ticket):
        """Nobody holds the tensor any more: without the arena its memory would be free from now on."""
        self._call("forget", ticket)

    def stats(self):
        """ArenaStats: bytes and counts."""
        info = _Info()
        self._call("stats", ctypes.byref(info))
        return ArenaStats(*(getattr(info, name) for name in _COUNTERS))

    def report(self):
        """An `arena` record in the log, where there is one."""
        self._call("report")

    def offload_activations(self, **options):
        """A context in which PyTorch's saved tensors go through the arena; see Activations."""
        from shapecache.activations import Activations  # pylint: disable=import-outside-toplevel
        with self.lock:
            if self._activations is None:
                self._activations = Activations(self, **options)
            elif options:
                self._activations.set(**options)
            return self._activations.hooks()

    @property
    def activations(self):
        """The Activations of offload_activations(); None before its first use."""
        return self._activations

    def close(self):
        """Waits for the copies and gives the memory back. Tensors that are still in it are lost."""
        with self.lock:
            if self._arena and not self._is_process:
                self._call("destroy")
            self._arena = _POINTER()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def __del__(self):
        if getattr(self, "_arena", None):
            try:
                self.close()
            except Exception:  # pylint: disable=broad-except
                pass  # the interpreter is ending
