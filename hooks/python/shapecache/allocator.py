# SPDX-License-Identifier: MIT
"""What PyTorch's own allocator says of itself, for the log and for the post-mortem of an out-of-memory.

Below it nobody can see how much of its segments tensors use. So it is asked: where it gives up, by PyTorch's own observer for
that, and at the end of the program."""

import atexit
import ctypes

from shapecache import _library


class _Info(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("reserved", ctypes.c_uint64), ("allocated", ctypes.c_uint64),
                ("reserved_peak", ctypes.c_uint64), ("allocated_peak", ctypes.c_uint64), ("is_expandable", ctypes.c_int)]


def note(device, reserved, allocated, reserved_peak, allocated_peak, is_expandable, at_end=False):
    """An allocator above the cache ran out of memory, or is about to end: bytes it has from the driver, those of them in use,
    and the most of both. False where there is no log."""
    tell = _library.function("shapecache_allocator", [ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Info)])
    if tell is None:
        return False
    info = _Info(ctypes.sizeof(_Info), reserved, allocated, reserved_peak, allocated_peak, is_expandable)
    return _library.is_done(tell(device, at_end, ctypes.byref(info)))


def _is_expandable(cuda):
    """By PyTorch's own word: its settings may have changed since the environment was read."""
    try:
        return bool(cuda.memory._snapshot()["allocator_settings"]["expandable_segments"])
    except Exception:  # an interface that PyTorch may change
        return False


def _note_of(cuda, device, at_end):
    stats = cuda.memory_stats(device)

    def bytes_of(kind, which):
        return stats.get(f"{kind}_bytes.all.{which}", 0)

    note(device, bytes_of("reserved", "current"), bytes_of("allocated", "current"), bytes_of("reserved", "peak"),
         bytes_of("allocated", "peak"), _is_expandable(cuda), at_end)


def watch(torch, say):
    """Once CUDA is in use. Whatever fails in here is said, and no reason for the program to fail."""
    cuda = torch.cuda

    def try_note(device, at_end=False):
        try:
            _note_of(cuda, device, at_end)
        except Exception as error:
            say(f"PyTorch's allocator could not be asked: {type(error).__name__}: {error}")

    def gave_up(device, *_):
        try_note(device)

    def end():
        if cuda.is_initialized():
            for device in range(cuda.device_count()):
                try_note(device, at_end=True)

    def attach():
        attach_observer = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)
        if attach_observer is not None:
            attach_observer(gave_up)
        atexit.register(end)

    cuda._lazy_call(attach)
