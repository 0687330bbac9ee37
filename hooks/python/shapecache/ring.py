# SPDX-License-Identifier: MIT
"""Bucket rings: a bounded store of tensors by timestep, on the host. docs/rings.md tells what they are for.

    errors = Ring((16, 8, 48, 44), "bf16", buckets=50, capacity=500, shard=rank, shards=world)
    errors.add(error, timestep)
    drawn = errors.sample(timestep)             # None where there is nothing to draw from

Items are what has the buffer protocol (array.array, memoryview, numpy arrays) or tensors of PyTorch; neither library is
needed or imported. Items are copied: those that are not contiguous, not in host memory or read-only are copied twice."""

import collections
import ctypes
import os
import sys
import tempfile

from shapecache import _library

_VALUE, _MISMATCH, _EMPTY = 4, 8, 9  # SHAPECACHE_EVALUE, SHAPECACHE_EMISMATCH, SHAPECACHE_EEMPTY
_FAILED = (10, 11, 12)  # EREFUSED, EFORMAT, EFILE: the ring has a sentence for these
_NO_BLOCK = -1
_DIMS_MOST = 8
_DTYPES = ("f32", "f16", "bf16")
_FORMATS = ("f", "H", "H")  # of what is drawn, as a memoryview: Python's know no numbers of 16 bits, so those are bits
_ARRAYS = {"<f4": "f", "<f2": "e", "<u2": "H"}  # the same in numpy's words
_REPLACEMENTS = ("random", "fifo", "nearest")
_PINNED, _QUIET = 1, 2
_OVERLAP, _MERGE = 1, 2

Loaded = collections.namedtuple("Loaded", "taken left_block left_bucket left_shard left_capacity")
Loaded.__doc__ = """Entries of a file that the ring now holds, and that were left: of blocks not covered here, of buckets that
lie across two here, of buckets that other shards own, beyond what a bucket or bytes_most holds."""

Drawn = collections.namedtuple("Drawn", "bucket block factor")
Drawn.__doc__ = """Where the last sample came from (block None where the ring has none), and what it was multiplied with."""


class _Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("buckets", ctypes.c_uint32),
                ("capacity", ctypes.c_uint32), ("timesteps", ctypes.c_uint32), ("blocks", ctypes.c_uint32),
                ("block_offset", ctypes.c_uint32), ("shard", ctypes.c_uint32), ("shards", ctypes.c_uint32),
                ("modulation", ctypes.c_float), ("replacement", ctypes.c_int), ("dtype", ctypes.c_int),
                ("dims", ctypes.c_size_t * _DIMS_MOST), ("dim_count", ctypes.c_size_t), ("bytes_most", ctypes.c_uint64),
                ("seed", ctypes.c_uint64), ("flags", ctypes.c_uint32)]


class _Item(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("dims", ctypes.POINTER(ctypes.c_size_t)),
                ("dim_count", ctypes.c_size_t), ("timestep", ctypes.c_double), ("block", ctypes.c_long)]


class _Drawn(ctypes.Structure):
    _fields_ = [("bucket", ctypes.c_uint32), ("block", ctypes.c_long), ("factor", ctypes.c_double)]


class _Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("entries", "bytes", "bytes_mapped", "bytes_worst")] + [
        ("filled", ctypes.c_uint32), ("owned", ctypes.c_uint32)] + [
        (name, ctypes.c_uint64) for name in ("added", "evicted", "refused", "not_owned", "sampled", "remapped")] + [
        ("entry_bytes", ctypes.c_size_t), ("is_pinned", ctypes.c_int)]


class _Loaded(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in Loaded._fields]


_RING = ctypes.c_void_p
_PROTOTYPES = {
    "defaults": ([ctypes.c_void_p], None),
    "create": ([ctypes.POINTER(_RING), ctypes.POINTER(_Config)], ctypes.c_int),
    "destroy": ([_RING], None),
    "add": ([_RING, ctypes.POINTER(_Item), ctypes.POINTER(ctypes.c_uint)], ctypes.c_int),
    "add_gathered": ([_RING, ctypes.POINTER(_Item), ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint64,
                      ctypes.POINTER(ctypes.c_uint)], ctypes.c_int),
    "sample": ([_RING, ctypes.c_double, ctypes.c_long, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Drawn)],
               ctypes.c_int),
    "sample_block": ([_RING, ctypes.c_long, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Drawn)], ctypes.c_int),
    "sample_any": ([_RING, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Drawn)], ctypes.c_int),
    "entries": ([_RING, ctypes.c_long], ctypes.c_uint64),
    "stats": ([_RING, ctypes.POINTER(_Info)], None),
    "report": ([_RING], None),
    "save": ([_RING, ctypes.c_char_p], ctypes.c_int),
    "load": ([_RING, ctypes.c_char_p, ctypes.c_uint, ctypes.POINTER(_Loaded)], ctypes.c_int),
    "error": ([_RING, ctypes.c_char_p, ctypes.c_size_t], None),
}


_functions = {}


def _call(name, *arguments):
    if name not in _functions:
        _functions[name] = _library.need("shapecache_ring_" + name, *_PROTOTYPES[name])
    return _functions[name](*arguments)


def _sentence(ring):
    """The library's own, of what a ring last failed at; None: of the ring that was not made."""
    text = ctypes.create_string_buffer(4096)
    _call("error", ring, text, len(text))
    return text.value.decode(errors="replace")


def _block(block):
    return _NO_BLOCK if block is None else block


def _number(word, words, what):
    if word not in words:
        raise ValueError(f"{what} is {word!r}, not one of {', '.join(words)}")
    return words.index(word)


def _torch():
    return sys.modules.get("torch")


def _is_tensor(item):
    return _torch() is not None and isinstance(item, _torch().Tensor)


def _is_array(item):
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(item, numpy.ndarray)


def _number_of(form, dtype):
    """The dtype of a buffer; bits are the ring's, if it is one of 16 bits."""
    return {"f": 0, "e": 1, "H": dtype or 2}[form]


class _Source:
    """An item as C sees it: an address, a dtype and dimensions; keeps alive what they are of."""

    def __init__(self, item, dtype):
        if _is_tensor(item):
            self._take_tensor(item)
        elif _is_array(item) and item.flags.c_contiguous and item.dtype.str in _ARRAYS:
            self.kept, self.dims = item, item.shape
            self.dtype = _number_of(_ARRAYS[item.dtype.str], dtype)
            self.address = item.__array_interface__["data"][0]
        else:
            self._take_buffer(item, dtype)

    def _take_tensor(self, item):
        torch = _torch()
        dtypes = (torch.float32, torch.float16, torch.bfloat16)
        if item.dtype not in dtypes:
            raise TypeError(f"a tensor of {item.dtype}; rings hold {', '.join(_DTYPES)}")
        self.kept = item.detach().cpu().contiguous()
        self.dtype = dtypes.index(item.dtype)
        self.dims = tuple(item.shape)
        self.address = self.kept.data_ptr()

    def _take_buffer(self, item, dtype):
        view = memoryview(item)
        form = view.format.lstrip("@=<")
        if form not in ("f", "e", "H"):
            raise TypeError(f"a buffer of format {view.format!r}; rings hold f (f32), e (f16), and H (bits of f16 or bf16)")
        self.dtype = _number_of(form, dtype)
        self.dims = view.shape
        if view.readonly or not view.c_contiguous:
            view = memoryview(bytearray(view.tobytes()))
        self.kept = (ctypes.c_char * view.nbytes).from_buffer(view)
        self.address = ctypes.addressof(self.kept)


class Ring:
    """A ring of entries of one shape and dtype ("f32", "f16", "bf16").

    Keys are buckets of the schedule, or (block, bucket) where `blocks` is not 0; each keeps at most `capacity` entries and
    replaces by `replacement` ("random", "fifo", "nearest"). Of several ranks each owns the buckets with
    bucket % shards == shard. Samples are multiplied with a number that is uniform in [1 - modulation, 1 + modulation].
    `pinned`: in page-locked memory where a CUDA driver is in use. `quiet`: no lines on stderr but warnings and refusals.
    Safe to use from several threads, which wait for each other; a context manager, which closes it."""

    _handle = None

    def __init__(self, shape, dtype="f32", *, pinned=False, quiet=False, replacement="random", name=None, **settings):
        room = ctypes.create_string_buffer(4096)  # should the library's be longer than ours
        _call("defaults", room)
        config = _Config.from_buffer(room)
        if config.size != ctypes.sizeof(_Config):
            raise _library.NotFound("this libshapecache.so is of another version than this package")
        self.shape = tuple(shape)
        if not 1 <= len(self.shape) <= _DIMS_MOST:
            raise ValueError(f"a shape of {len(self.shape)} dimensions, not 1 to {_DIMS_MOST}")
        self.dtype = dtype
        config.dtype = _number(dtype, _DTYPES, "dtype")
        config.replacement = _number(replacement, _REPLACEMENTS, "replacement")
        config.dims[:len(self.shape)] = self.shape
        config.dim_count = len(self.shape)
        config.flags = (_PINNED if pinned else 0) | (_QUIET if quiet else 0)
        if name is not None:
            config.name = name.encode()
        known = {"buckets", "capacity", "timesteps", "blocks", "block_offset", "shard", "shards", "modulation",
                 "bytes_most", "seed"}
        for setting, value in settings.items():
            if setting not in known:
                raise TypeError(f"there is no {setting!r}; there are {', '.join(sorted(known))}")
            if value < 0:
                raise ValueError(f"{setting} is {value}")
            setattr(config, setting, value)
            if setting != "modulation" and getattr(config, setting) != value:
                raise ValueError(f"{setting} is {value}")
        handle = _RING()
        status = _call("create", ctypes.byref(handle), ctypes.byref(config))
        if status == _VALUE:
            raise _library.Error(status, _sentence(None))
        _library.check(status)
        self._handle = handle
        self._dtype = config.dtype
        self._dims = (ctypes.c_size_t * len(self.shape))(*self.shape)
        self._bytes = self.stats()["entry_bytes"]
        self._new = _new_buffer
        self.drawn = None

    def close(self):
        """Gives the memory back. The ring cannot be used any more."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _call("destroy", handle)

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _live(self):
        if self._handle is None:
            raise ValueError("the ring is closed")
        return self._handle

    def _fill(self, row, source, timestep, block):
        row.data, row.dtype, row.dim_count = source.address, source.dtype, len(source.dims)
        row.dims = self._dims if source.dims == self.shape else (ctypes.c_size_t * len(source.dims))(*source.dims)
        row.timestep, row.block = timestep, _NO_BLOCK if block is None else block

    def _check_added(self, status, sources):
        if status == _MISMATCH:
            raise _library.Error(status, self._mismatch(sources))
        _library.check(status)

    def add(self, item, timestep, block=None):
        """Copies an item in. False: another shard owns its bucket."""
        source, row, added = _Source(item, self._dtype), _Item(), ctypes.c_uint()
        self._fill(row, source, timestep, block)
        self._check_added(_call("add", self._live(), row, added), [source])
        self._new = _maker_of(item)
        return added.value == 1

    def add_gathered(self, items, keep, seed):
        """Copies in a random choice of `keep` of the items, each (item, timestep) or (item, timestep, block). Ranks that
        pass the same number of items and the same seed choose the same; each adds what it owns. How many those were."""
        items = list(items)
        sources = [_Source(item[0], self._dtype) for item in items]
        rows, added = (_Item * len(items))(), ctypes.c_uint()
        for row, source, item in zip(rows, sources, items):
            self._fill(row, source, item[1], item[2] if len(item) > 2 else None)
        self._check_added(_call("add_gathered", self._live(), rows, len(items), keep, seed, added), sources)
        if items:
            self._new = _maker_of(items[0][0])
        return added.value

    def _mismatch(self, sources):
        """Both values, of the first item that does not fit."""
        ours = (self._dtype, self.shape)
        dtype, dims = next((s.dtype, tuple(s.dims)) for s in sources if (s.dtype, tuple(s.dims)) != ours)
        return f"an item of {_DTYPES[dtype]} {dims} does not fit into a ring of {self.dtype} {self.shape}"

    def sample(self, timestep=None, block=None):
        """A random entry: of the timestep's bucket (or, where another shard owns that, of the nearest owned one); without a
        timestep, of any bucket of the block; without either, of all. None where there is nothing to draw from. What was
        added last decides what comes: a tensor, a numpy array (of uint16 for bf16), or a memoryview (of format H, bits, for
        f16 and bf16). `drawn` tells where the last one that any thread drew came from."""
        ring, drawn = self._live(), _Drawn()
        out, address = self._new(self.shape, self._dtype, self._bytes)
        if timestep is not None:
            status = _call("sample", ring, timestep, _block(block), address, self._bytes, drawn)
        elif block is not None:
            status = _call("sample_block", ring, block, address, self._bytes, drawn)
        else:
            status = _call("sample_any", ring, address, self._bytes, drawn)
        if status == _EMPTY:
            return None
        _library.check(status)
        self.drawn = Drawn(drawn.bucket, None if drawn.block == _NO_BLOCK else drawn.block, drawn.factor)
        return out

    def entries(self, block=None):
        """How many entries there are now: of a block, or of all."""
        return _call("entries", self._live(), _block(block))

    def __len__(self):
        return self.entries()

    def is_empty(self):
        """True when there is no entry, whatever was ever added or loaded."""
        return len(self) == 0

    def stats(self):
        """A dict: entries, bytes, bytes_mapped, bytes_worst (when everything is full), filled and owned buckets and the two
        as text, added, evicted, refused, not_owned, sampled, remapped, entry_bytes, is_pinned."""
        info = _Info()
        _call("stats", self._live(), ctypes.byref(info))
        found = {name: getattr(info, name) for name, _ in _Info._fields_}
        found["is_pinned"] = bool(found["is_pinned"])
        found["filled_buckets"] = f"{info.filled}/{info.owned}"
        return found

    def report(self):
        """The same as a line on stderr and a record in the log."""
        _call("report", self._live())

    def _check_file(self, status):
        if status not in _FAILED:
            return _library.check(status)
        raise _library.Error(status, _sentence(self._live()))

    def save(self, path):
        """Writes the ring to a file, which is there whole or not at all."""
        self._check_file(_call("save", self._live(), os.fsencode(path)))

    def load(self, path, *, overlap=False, merge=False):
        """Replaces what the ring holds by a file's entries; what was Loaded. Raises Error, with a text that begins with
        "Refusing to load" and has both values, where the file is of another kind than the ring. overlap: take what fits.
        merge: add to what the ring holds."""
        loaded = _Loaded()
        flags = (_OVERLAP if overlap else 0) | (_MERGE if merge else 0)
        self._check_file(_call("load", self._live(), os.fsencode(path), flags, ctypes.byref(loaded)))
        return Loaded(*(getattr(loaded, name) for name in Loaded._fields))

    def state_dict(self):
        """The ring as {"ring": bytes}, or a tensor of bytes where it holds tensors: to put into a checkpoint. It goes
        through a temporary file, and is in memory twice then; save() is better for large ones."""
        with tempfile.TemporaryDirectory(prefix="shapecache-") as folder:
            path = os.path.join(folder, "ring")
            self.save(path)
            with open(path, "rb") as file:
                data = file.read()
        if self._new is _new_tensor:
            return {"ring": _torch().frombuffer(bytearray(data), dtype=_torch().uint8)}
        return {"ring": data}

    def load_state_dict(self, state, strict=True, *, merge=False):
        """What state_dict() gave. strict=False is load()'s overlap."""
        data = state["ring"]
        if _is_tensor(data):
            data = data.numpy()
        with tempfile.TemporaryDirectory(prefix="shapecache-") as folder:
            path = os.path.join(folder, "state_dict")
            with open(path, "wb") as file:
                file.write(data)
            return self.load(path, overlap=not strict, merge=merge)


# What a sample is drawn into, and where it lies.

def _new_buffer(shape, dtype, size):
    data = bytearray(size)
    return (memoryview(data).cast(_FORMATS[dtype], shape=list(shape)),
            ctypes.addressof((ctypes.c_char * size).from_buffer(data)))


def _new_array(shape, dtype, _):
    out = sys.modules["numpy"].empty(shape, ("float32", "float16", "uint16")[dtype])
    return out, out.__array_interface__["data"][0]


def _new_tensor(shape, dtype, _):
    torch = _torch()
    out = torch.empty(shape, dtype=(torch.float32, torch.float16, torch.bfloat16)[dtype])
    return out, out.data_ptr()


def _maker_of(item):
    """What makes samples of the kind that the item is of."""
    if _is_tensor(item):
        return _new_tensor
    return _new_array if _is_array(item) else _new_buffer
