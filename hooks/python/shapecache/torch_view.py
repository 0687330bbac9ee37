# SPDX-License-Identifier: MIT
"""What `shapecache run --torch` does inside the program, once torch has been imported.

A step ends with the optimizer's step, by PyTorch's own hook for all optimizers. Of several optimizers that take turns (a GAN's
two, or one a layer), the first of a round ends it: a step is what lies between two steps of the same optimizer. So gradient
accumulation, which calls step() once in several batches, is one step, and a step that GradScaler skips is one with the next.

From the first optimizer on, nothing else ends a step: before it steps for the first time, several batches may pass, which
look like steps.

Whatever takes memory past the cache is told once, on stderr and as a mark in the log. Capturing a CUDA graph is refused: with
PyTorch's cache off there is no pool for a graph's memory to stay in, so a replay would use memory that others have been
given, and a tensor that is freed while a capture is open is a cudaFree, which ends the process. (Switching PyTorch's cache on
for the capture leaves that.)"""

import ctypes
import functools
import os
import sys

from shapecache import _library, allocator, program

REFUSED = ("shapecache run --torch: CUDA graphs cannot be captured in the tensor view, where a graph has no memory of its own "
           "that stays: run with --torch=segments, or without graphs")
_said = set()


def say(text):
    """Once in a process."""
    if text in _said:
        return
    _said.add(text)
    print(f"shapecache: --torch: {text}", file=sys.stderr, flush=True)
    program.mark(text)


def end_step(device):
    """False where there is none to end. Whatever is wrong is told, and no reason for the optimizer to fail."""
    try:
        return program.step(device)
    except _library.Error as error:
        say(f"a step of device {device} could not be ended: {error}")
        return False


class Steps:
    """Called after each optimizer's step."""

    def __init__(self, torch, view):
        self._torch, self._view = torch, view
        self._round = set()  # optimizers that have stepped since a step last ended
        self._has_looked = False

    def __call__(self, optimizer, args, kwargs):
        if self._round and id(optimizer) not in self._round:
            self._round.add(id(optimizer))
            return
        self._round = {id(optimizer)}
        cuda = self._torch.cuda
        if not cuda.is_initialized():
            return
        for device in range(cuda.device_count()):
            end_step(device)
        if not self._has_looked:
            self._has_looked = True
            look_for_bypasses(cuda, self._view)


def expect_steps(cuda, optimizer_class):
    """Once there is an optimizer, steps will be named: no guess is needed."""
    create = optimizer_class.__init__

    @functools.wraps(create)
    def first(self, *arguments, **named):
        optimizer_class.__init__ = create
        create(self, *arguments, **named)
        devices = range(cuda.device_count()) if cuda.is_initialized() else ()
        if not any([end_step(device) for device in devices]):
            os.environ.setdefault("SHAPECACHE_STEP", "api")  # read when the first memory is asked for

    optimizer_class.__init__ = first


def look_for_bypasses(cuda, view):
    if _library.function("shapecache_step", [ctypes.c_int]) is None:
        say("libshapecache.so is not in this process: nothing is cached")
    if view == "segments":
        return
    backend = cuda.memory.get_allocator_backend()
    wanted = "native" if view == "tensors" else "pluggable"
    if backend != wanted:
        say(f"PyTorch's allocator is {backend}, not {wanted}: what it does about its tensors' memory goes past the cache")
    elif view == "tensors" and cuda.memory.memory_reserved() > 0:
        say("PyTorch's own cache is on (PYTORCH_NO_CUDA_MEMORY_CACHING was taken away, or its memory is a pool's): its segments "
            "are all that the cache sees")


def _refuse(*_, **__):
    raise RuntimeError(REFUSED)


def refuse_captures(cuda):
    cuda.graph.__enter__ = _refuse  # before it changes the current stream
    cuda.CUDAGraph.capture_begin = _refuse


def plug_in(cuda):
    """Ours as PyTorch's allocator; it may not have one yet that has been used."""
    path = beside("libshapecache_torch.so")
    allocator = cuda.memory.CUDAPluggableAllocator(path, "shapecache_torch_malloc", "shapecache_torch_free")
    record = ctypes.cast(ctypes.CDLL(path).shapecache_torch_record_stream, ctypes.c_void_p).value
    allocator.allocator().set_record_stream_fn(record)
    cuda.memory.change_current_allocator(allocator)


def beside(name):
    """A file in the folder of the libshapecache.so in this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].rstrip("\n")
            if os.path.basename(path) == "libshapecache.so":
                return os.path.join(os.path.dirname(path), name)
    raise OSError("libshapecache.so is not in this process")


def start_offload(torch):
    """Of no effect without --offload. Whatever fails, the rest goes on."""
    setting = os.environ.get("SHAPECACHE_OFFLOAD")
    if not setting:
        return
    try:
        from shapecache import offload  # imports what others need not have
        offload.start(torch, setting, say)
    except Exception as error:
        say(f"--offload has no effect: {type(error).__name__}: {error}")


def watch_allocator(torch):
    """Whatever fails, the rest goes on."""
    try:
        allocator.watch(torch, say)
    except Exception as error:
        say(f"PyTorch's allocator cannot be asked: {type(error).__name__}: {error}")


def start(torch):
    view = os.environ.get("SHAPECACHE_TORCH")
    if not torch.backends.cuda.is_built():
        return
    from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook  # no attribute of torch.optim
    if view == "pluggable":
        plug_in(torch.cuda)
    if view != "segments":
        refuse_captures(torch.cuda)
    else:
        watch_allocator(torch)
    start_offload(torch)
    register_optimizer_step_post_hook(Steps(torch, view))
    expect_steps(torch.cuda, Optimizer)
