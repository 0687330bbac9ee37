# SPDX-License-Identifier: MIT
"""What `shapecache run --torch --offload` does inside the program: its saved tensors go through an arena.

The hooks are pushed once, when torch has been imported, below any of the program's own. An arena for a device is made when
the first of its tensors is saved. Whatever fails in here leaves tensors where they are. At the end one line tells what
moved, what stayed, how much the arenas held, what the devices were spared by it at the peak, and how long streams waited for
copies."""

import atexit
import os

from shapecache import _library
from shapecache.activations import COUNTS, Activations
from shapecache.arena import SPARED_UNKNOWN, Arena, _bytes


def _available():
    """Bytes that this process may count on: of the host, or of its control group."""
    sizes = []
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            sizes += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
            sizes.append(int(limit.read()))
    except (OSError, ValueError):
        pass
    return min(sizes, default=4 << 30)


def capacity_of(setting):
    """A size, or a quarter of what there is for each rank of this host."""
    if setting != "auto":
        return _bytes(setting)
    return _available() // 4 // max(int(os.environ.get("LOCAL_WORLD_SIZE", "1") or 1), 1)


class Waits:
    """How long streams waited: pairs of events around what makes them wait, read when they have come."""

    def __init__(self, cuda):
        self._cuda, self._pairs, self.seconds = cuda, [], 0.0

    def around(self, call, *arguments):
        pair = self._cuda.Event(enable_timing=True), self._cuda.Event(enable_timing=True)
        pair[0].record()
        answer = call(*arguments)
        pair[1].record()
        self._pairs.append(pair)
        if len(self._pairs) >= 64:
            self.read()
        return answer

    def read(self):
        while self._pairs and self._pairs[0][1].query():
            before, after = self._pairs.pop(0)
            self.seconds += before.elapsed_time(after) / 1000


class _Timed:
    """An arena whose calls that make a stream wait are timed."""

    def __init__(self, arena, waits):
        self._arena, self._waits = arena, waits
        self.lock = arena.lock

    def __getattr__(self, name):
        return getattr(self._arena, name)

    def onload(self, *arguments):
        return self._waits.around(self._arena.onload, *arguments)

    def fence(self, *arguments):
        return self._waits.around(self._arena.fence, *arguments)


class Offload:
    """pack and unpack of a whole process: an Activations for each device, or None where there could be no arena."""

    def __init__(self, torch, setting, say):
        self._torch, self._setting, self._say = torch, setting, say
        self._devices, self._arenas, self._waits = {}, [], []
        self._pid = os.getpid()

    def _make(self, index):
        """Of a device that is current."""
        try:
            arena = Arena(capacity_of(self._setting), name=f"activations:{index}", full="keep", background=True, quiet=True)
        except (_library.Error, _library.NotFound, ValueError) as error:
            self._say(f"--offload has no effect: {error}")
            return None
        waits = Waits(self._torch.cuda)
        self._arenas.append(arena)
        self._waits.append(waits)
        activations = Activations(_Timed(arena, waits))
        activations.use(self._torch, index)
        return activations

    def pack(self, tensor):
        device = tensor.device
        if device.type != "cuda" or os.getpid() != self._pid:
            return tensor
        if device.index not in self._devices:
            with self._torch.cuda.device(device):
                self._devices[device.index] = self._make(device.index)
        activations = self._devices[device.index]
        if activations is None or self._torch.cuda.is_current_stream_capturing():
            return tensor
        packed = activations.pack(tensor)
        return packed if packed is tensor else (activations, packed)

    def unpack(self, packed):
        if not isinstance(packed, tuple):
            return packed
        activations, saved = packed
        return activations.unpack(saved)

    def summary(self):
        """One line; "" where nothing was saved."""
        stats = [arena.stats() for arena in self._arenas]
        counts = {name: sum(one.counts[name] for one in self._devices.values() if one) for name in COUNTS}
        if not counts["saved"]:
            return ""
        for waits in self._waits:
            waits.read()
        out, back = sum(s.bytes_out for s in stats), sum(s.bytes_in for s in stats)
        stayed = counts["kept"] + counts["failed"] + sum(n for name, n in counts.items() if name.startswith("skipped_"))
        text = (f"offloaded {counts['offloaded']} of {counts['saved']} saved tensors ({counts['early']} of them came back early), "
                f"{stayed} stayed, {counts['shared']} had been saved before; {_size(out)} out and {_size(back)} back; "
                f"the arena held at most {_size(sum(s.used_peak for s in stats))}; {_spared(stats) if out else ''}"
                f"streams waited {sum(w.seconds for w in self._waits):.3f} s for copies")
        if back < out // 4:
            unasked = sum(one.unasked() for one in self._devices.values() if one)
            text += (f"; {'few' if back else 'none'} of the bytes came back: of all tensors {unasked} were never asked for, "
                     f"and {counts['held']} were still on the device when they were")
        demand, capacity = sum(s.demand_peak for s in stats), sum(s.capacity for s in stats)
        return text + (f"; --offload={demand} would hold all" if demand > capacity else "")

    def finish(self):
        """At the end of the process."""
        if os.getpid() != self._pid:
            return
        try:
            text = self.summary()
        except _library.Error as error:
            text = f"no figures: {error}"
        if text:
            self._say(text)


def _spared(stats):
    """What the devices were spared at their peaks, or why that is not known. Each has one arena."""
    unknown = next((s.spared_unknown for s in stats if s.spared_unknown), 0)
    if unknown:
        return f"what that spared the device is not known: {SPARED_UNKNOWN[unknown]}; "
    spared, without = sum(s.spared for s in stats), sum(s.live_without for s in stats)
    return f"that spared the device {_size(spared)} at the peak ({_size(without - spared)} live, {_size(without)} without); "


def _size(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.4g} {unit}"
        count /= 1024


def start(torch, setting, say):
    """torch has just been imported."""
    offload = Offload(torch, setting, say)
    torch.autograd.graph.saved_tensors_hooks(offload.pack, offload.unpack).__enter__()
    atexit.register(offload.finish)
    return offload
