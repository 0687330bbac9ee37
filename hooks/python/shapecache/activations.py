# SPDX-License-Identifier: MIT
"""PyTorch's saved tensors through an arena, by torch.autograd.graph.saved_tensors_hooks.

What autograd saves in a forward pass is offloaded and comes back when the backward pass asks for it. Autograd asks in
the opposite order, mostly; an arena is a stack and takes nothing else. Where a graph asks in another order, the tensors
above the one it wants are brought back first and stay on the device until their turn, which is counted (`early`), and
never wrong. A tensor that autograd drops without asking (no backward pass, an exception, a branch without gradient) is
dropped from the arena as soon as it is on top.

Not offloaded, and counted: parameters and other leaves that want gradients, tensors of other devices, with gaps or
overlaps in memory or of a kind of their own, and small ones. A tensor saved twice in a row by neighbouring operations is
offloaded once."""

import collections
import contextlib
import warnings
import weakref

from shapecache import _library

_DEVICE = 1  # SHAPECACHE_ARENA_DEVICE
_FULL = 14  # SHAPECACHE_EFULL


class _Entry:
    """One tensor on the stack. tensor: on the device again, or still; target: on its way there."""
    __slots__ = ("ticket", "size", "shape", "stride", "dtype", "device", "stream", "tensor", "target", "saved", "key", "is_in",
                 "is_dead", "is_returned")


class _Saved:
    """What autograd keeps in the tensor's place. When it is dropped, so may be the tensor."""
    __slots__ = ("entry", "died", "__weakref__")

    def __init__(self, entry, died):
        self.entry, self.died = entry, died

    def __del__(self):  # by any thread, at any time: nobody is waited for
        self.entry.is_dead = True
        self.died(self.entry)


COUNTS = ("saved", "offloaded", "kept", "shared", "returned", "held", "early", "dropped", "failed",
          "skipped_leaf", "skipped_device", "skipped_layout", "skipped_small")


class Activations:
    """Options: ahead, so many tensors down the stack are on their way back before they are asked for; behind, so many whose
    copy may not be done are kept alive meanwhile; least, bytes below which a tensor stays where it is.

    counts tells what happened: saved (tensors that autograd saved) = offloaded + kept (by the arena: full, a dry run) +
    shared (saved before) + failed (the arena refused, which is warned of once) + skipped_...; returned (asked for), held
    (offloaded in vain: still on the device when first asked for), early (offloaded, and brought back before they were asked
    for, since one below them was), dropped (never asked for)."""

    def __init__(self, arena, *, ahead=1, behind=4, least=4096):
        self.counts = collections.Counter({name: 0 for name in COUNTS})
        self._arena = arena
        self._stack = []  # entries in the arena, as its own stack is
        self._recent = collections.deque()  # entries whose source is held until its copy is done
        self._dead = collections.deque()  # entries that died while another thread had the lock
        self._ahead = self._behind = self._least = 0
        self._torch = self._device = None
        self.set(ahead=ahead, behind=behind, least=least)

    def set(self, *, ahead=None, behind=None, least=None):
        """Changes options from here on."""
        self._ahead = self._ahead if ahead is None else ahead
        self._behind = self._behind if behind is None else behind
        self._least = self._least if least is None else least

    def use(self, torch, device):
        """The module, and the device of the arena."""
        self._torch, self._device = torch, device

    @contextlib.contextmanager
    def hooks(self):
        """The context; may be entered many times, and around backward as well."""
        import torch  # pylint: disable=import-outside-toplevel
        if self._torch is None:
            self.use(torch, torch.cuda.current_device())
        with torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack):
            yield self

    def unasked(self):
        """How many tensors no backward pass has asked for: dropped, or still on the stack."""
        with self._arena.lock:
            return self.counts["dropped"] + sum(not entry.is_returned for entry in self._stack)

    def _died(self, entry):
        """Without the arena its memory would be free now; see shapecache_arena_forget(). Never waits, never fails."""
        self._dead.append(entry)
        if not self._arena.lock.acquire(blocking=False):
            return  # whoever has the lock comes by
        try:
            self._forget_dead()
        finally:
            self._arena.lock.release()

    def _forget_dead(self):
        while self._dead:
            entry = self._dead.popleft()
            if not entry.is_in:
                continue
            try:
                self._arena.forget(entry.ticket)
            except (_library.Error, ValueError):  # a forked child, or a closed arena
                self._dead.clear()

    # --- on the way out ---

    def _why_not(self, tensor):
        """The counter of why this tensor stays, or None."""
        torch = self._torch
        if tensor.device.type != "cuda" or tensor.device.index != self._device:
            return "skipped_device"
        if any(one is not None and (one.is_leaf and one.requires_grad or isinstance(one, torch.nn.Parameter))
               for one in (tensor, tensor._base)):
            return "skipped_leaf"
        if type(tensor) is not torch.Tensor or tensor.layout is not torch.strided or not _is_dense(tensor):
            return "skipped_layout"
        if tensor.is_complex() and tensor.is_conj() or tensor.is_neg():
            return "skipped_layout"
        return "skipped_small" if tensor.numel() * tensor.element_size() < max(self._least, 1) else None

    def pack(self, tensor):
        """What autograd is to keep in the tensor's place."""
        with self._arena.lock:
            self._forget_dead()
            self.counts["saved"] += 1
            reason = self._why_not(tensor)
            if reason:
                self.counts[reason] += 1
                return tensor
            shared = self._find_recent(tensor)
            if shared is not None:
                self.counts["shared"] += 1
                return shared
            try:
                return self._offload(tensor.detach())
            except _library.Error as error:
                if error.status == _FULL:
                    raise
                if not self.counts["failed"]:
                    warnings.warn(f"shapecache: {error}; the tensor stays on the device", RuntimeWarning, stacklevel=2)
                self.counts["failed"] += 1
                return tensor

    def _find_recent(self, tensor):
        key = _key(tensor)
        for entry in self._recent:
            saved = entry.saved()
            if entry.key == key and saved is not None:
                return saved
        return None

    def _stream(self):
        return self._torch.cuda.current_stream().cuda_stream

    def _offload(self, tensor):
        self._drop_dead()
        entry = _Entry()
        entry.size = tensor.numel() * tensor.element_size()
        entry.shape, entry.stride = tuple(tensor.shape), tuple(tensor.stride())
        entry.dtype, entry.device, entry.key = tensor.dtype, tensor.device, _key(tensor)
        entry.tensor, entry.target, entry.stream = tensor, None, self._stream()
        entry.is_in, entry.is_dead, entry.is_returned = True, False, False
        entry.ticket = self._arena.offload(tensor.data_ptr(), entry.size, 0, entry.stream)
        saved = _Saved(entry, self._died)
        entry.saved = weakref.ref(saved)
        self._stack.append(entry)
        if entry.ticket.place == _DEVICE:  # it stays, and so must the tensor
            self.counts["kept"] += 1
            return saved
        self.counts["offloaded"] += 1
        self._recent.append(entry)
        while len(self._recent) > self._behind:
            self._forget(self._recent.popleft())
        return saved

    def _forget(self, entry):
        """The source's memory may be used again, by work behind the copy."""
        if entry.is_in:
            self._arena.fence(entry.ticket, entry.stream)
            entry.tensor = None

    # --- on the way back ---

    def unpack(self, saved):
        """The tensor that was packed."""
        if not isinstance(saved, _Saved):
            return saved
        with self._arena.lock:
            self._forget_dead()
            entry = saved.entry
            if entry.tensor is None:
                self._bring_back(entry)
            elif entry.is_in and not entry.is_returned and entry.ticket.place != _DEVICE:
                self.counts["held"] += 1
            self.counts["returned"] += 1
            entry.is_returned = True
            if self._stack and self._stack[-1] is entry:
                self._pop()  # its source was here all along
            self._drop_dead()
            self._prefetch()
            return entry.tensor

    def _bring_back(self, wanted):
        while wanted.tensor is None:
            top = self._stack[-1]
            if top is not wanted and not top.is_dead and top.tensor is None:
                self.counts["early"] += 1
            self._pop()

    def _empty(self, entry):
        return self._torch.empty_strided(entry.shape, entry.stride, dtype=entry.dtype, device=entry.device)

    def _pop(self):
        """The top entry is on the device from now on, or nobody wants it."""
        top = self._stack[-1]
        if top.is_dead or (top.tensor is not None and top.ticket.place != _DEVICE):
            self._rewind(len(self._stack) - 1)
            return
        target = next((one for one in (top.tensor, top.target) if one is not None), None)
        if target is None:
            target = self._empty(top)
        self._arena.onload(top.ticket, target.data_ptr(), top.size, 0, self._stream())
        top.tensor, top.target, top.is_in = target, None, False
        self._stack.pop()

    def _rewind(self, depth):
        """Only what is above is not in the arena any more; sources and targets are tensors, which find their own end."""
        moment = self._arena.mark()
        dropped = len(self._stack) - depth
        moment.depth -= dropped
        moment.number = self._arena.peek(dropped).number if moment.depth else 0
        for entry in self._stack[depth:]:
            if entry in self._recent:
                self._arena.fence(entry.ticket, entry.stream)
                self._recent.remove(entry)
        self._arena.rewind(moment, self._stream())
        for entry in self._stack[depth:]:
            self.counts["dropped"] += entry.is_dead and not entry.is_returned
            entry.target, entry.is_in = None, False
        del self._stack[depth:]

    def _drop_dead(self):
        depth = len(self._stack)
        while depth and self._stack[depth - 1].is_dead:
            depth -= 1
        if depth < len(self._stack):
            self._rewind(depth)

    def _prefetch(self):
        for entry in self._stack[-self._ahead:] if self._ahead else ():
            if entry.tensor is not None or entry.target is not None or entry.is_dead or entry.ticket.place == _DEVICE:
                continue
            target = self._empty(entry)
            if not self._arena.prefetch(entry.ticket, target.data_ptr(), entry.size, self._stream()):
                break
            entry.target = target


def _key(tensor):
    return (tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype, tensor._version)


def _is_dense(tensor):
    """Its bytes are one piece of memory, each used once."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return tensor.numel() > 0
