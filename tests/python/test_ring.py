#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python's Ring, in a process with the cache: shapecache run [--sim] -- test_ring.py. Neither numpy nor PyTorch is needed:
stand-ins have the few public names of theirs that a ring uses."""

import array
import ctypes
import gc
import math
import os
import pathlib
import struct
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

import shapecache
from card import touch
from shapecache import Ring


def item(*values, shape=None, form="f"):
    """A buffer of floats."""
    view = memoryview(array.array(form, values))
    return view.cast("B").cast(form, shape=list(shape)) if shape else view


def small(**settings):
    return Ring((2,), quiet=True, **{"buckets": 4, "timesteps": 4, "modulation": 0, "capacity": 3, **settings})


class Tensor:
    """Of the stand-in for PyTorch: a one-dimensional one, in the host's memory or not, contiguous or not."""

    def __init__(self, dtype, data, device="cpu", is_contiguous=True):
        self.dtype, self.data, self.device, self._is_contiguous = dtype, bytearray(data), device, is_contiguous
        self.shape = (len(self.data) // dtype.size,)

    def detach(self):
        return self

    def cpu(self):
        return self if self.device == "cpu" else Tensor(self.dtype, self.data, is_contiguous=self._is_contiguous)

    def contiguous(self):
        return self if self._is_contiguous else Tensor(self.dtype, self.data, self.device)

    def data_ptr(self):
        if self.device != "cpu" or not self._is_contiguous:
            raise AssertionError("an address that must not be read")
        self._held = (ctypes.c_char * len(self.data)).from_buffer(self.data)
        return ctypes.addressof(self._held)

    def numpy(self):
        return self.data


def stand_in_for_torch():
    torch = types.SimpleNamespace(Tensor=Tensor, **{
        name: types.SimpleNamespace(name=name, size=size)
        for name, size in (("float32", 4), ("float16", 2), ("bfloat16", 2), ("uint8", 1), ("float64", 8))})
    torch.frombuffer = lambda data, dtype: Tensor(dtype, data)
    torch.empty = lambda shape, dtype: Tensor(dtype, bytes(shape[0] * dtype.size))
    return unittest.mock.patch.dict(sys.modules, torch=torch), torch


class Adding(unittest.TestCase):
    def test_what_is_added_comes_back(self):
        ring = Ring((2, 2), buckets=4, timesteps=4, modulation=0, quiet=True)
        self.assertTrue(ring.add(item(1, 2, 3, 4, shape=(2, 2)), 3))
        drawn = ring.sample(3)
        self.assertEqual(drawn.tolist(), [[1, 2], [3, 4]])
        self.assertEqual(ring.drawn, (3, None, 1))
        self.assertIsNone(ring.sample(0))

    def test_an_item_is_copied(self):
        ring, mine = small(), array.array("f", (1, 2))
        ring.add(mine, 0)
        mine[0] = 77
        drawn = ring.sample()
        drawn[1] = 88
        self.assertEqual(ring.sample().tolist(), [1, 2])

    def test_buffers_that_cannot_be_read_in_place_are_copied_first(self):
        ring = small()
        ring.add(memoryview(bytes(item(1, 2))).cast("f"), 0)
        ring.add(item(3, 9, 4, 9)[::2], 1)
        self.assertEqual((ring.sample(0).tolist(), ring.sample(1).tolist()), ([1, 2], [3, 4]))

    def test_half_precision_and_the_bits_of_bfloat16(self):
        for dtype, one, three, number in (("f16", 0x3c00, 0x4200, lambda bits: struct.unpack("<e", bits)),
                                          ("bf16", 0x3f80, 0x4040, lambda bits: struct.unpack("<f", b"\0\0" + bits))):
            ring = Ring((2,), dtype, modulation=0, quiet=True)
            ring.add(array.array("H", (one, three)), 0)
            self.assertEqual(ring.sample().tolist(), [one, three])
            ring = Ring((1,), dtype, modulation=1, quiet=True)  # scaled as a number, and rounded
            ring.add(array.array("H", (three,)), 0)
            for _ in range(50):
                drawn = number(bytes(ring.sample()))[0]
                self.assertAlmostEqual(drawn, 3 * ring.drawn.factor, delta=0.02)

    def test_another_shape_or_dtype_is_refused_with_both(self):
        ring = small()
        with self.assertRaisesRegex(shapecache.Error, r"f32 \(3,\) does not fit into a ring of f32 \(2,\)"):
            ring.add(item(1, 2, 3), 0)
        with self.assertRaisesRegex(shapecache.Error, r"bf16 \(2,\) does not fit into a ring of f32 \(2,\)"):
            ring.add(array.array("H", (1, 2)), 0)
        with self.assertRaisesRegex(TypeError, "format 'd'"):
            ring.add(array.array("d", (1, 2)), 0)
        with self.assertRaises(TypeError):
            ring.add([1, 2], 0)
        self.assertEqual((len(ring), ring.stats()["refused"]), (0, 2))

    def test_blocks_are_needed_where_there_are_blocks(self):
        ring = small(blocks=2)
        self.assertTrue(ring.add(item(1, 2), 3, 1))
        for block in (None, 2, -5):
            with self.assertRaises(shapecache.Error):
                ring.add(item(1, 2), 3, block)
        self.assertEqual(ring.sample(block=1).tolist(), [1, 2])
        self.assertEqual(ring.drawn.block, 1)
        self.assertIsNone(ring.sample(block=0))
        self.assertEqual((ring.entries(0), ring.entries(1), ring.entries()), (0, 1, 1))
        with self.assertRaises(shapecache.Error):
            ring.sample(timestep=math.nan, block=0)

    def test_gathered_items_are_chosen_alike_by_all_ranks(self):
        items = [(item(i, i), i % 4) for i in range(12)]
        for seed in range(20):
            rings = [small(shard=shard, shards=3) for shard in range(3)]
            self.assertEqual(sum(ring.add_gathered(items, 5, seed) for ring in rings), 5)
        self.assertEqual(small().add_gathered([], 5, 0), 0)

    def test_more_ranks_than_buckets_is_no_error(self):
        ring = small(shard=7, shards=8)
        self.assertFalse(ring.add(item(1, 2), 3))
        self.assertIsNone(ring.sample(3))
        self.assertTrue(ring.is_empty())
        self.assertEqual(ring.stats()["filled_buckets"], "0/0")

    def test_the_modulation_is_what_drawn_says(self):
        ring = small(modulation=0.3)
        ring.add(item(1, 2), 0)
        for _ in range(100):
            drawn = ring.sample()
            self.assertTrue(0.7 - 1e-6 <= ring.drawn.factor <= 1.3 + 1e-6)
            self.assertAlmostEqual(drawn[1], 2 * ring.drawn.factor, 5)


class Settings(unittest.TestCase):
    def test_defaults_are_the_librarys(self):
        stats = Ring((1,), quiet=True).stats()
        self.assertEqual((stats["owned"], stats["bytes_worst"], stats["bytes_mapped"]), (40, 40 * 50 * 4, 0))

    def test_what_cannot_be_is_refused(self):
        for settings in ({"buckets": 0}, {"capacity": 1 << 25}, {"shard": 1}, {"modulation": 2.0}, {"bytes_most": 1}):
            with self.assertRaises(shapecache.Error):
                small(**settings)
        for settings in ({"buckets": -1}, {"buckets": 1 << 32}, {"replacement": "lifo"}, {"dtype": "f64"}):
            with self.assertRaises(ValueError):
                small(**settings)
        with self.assertRaisesRegex(TypeError, "no 'colour'; there are block_offset"):
            small(colour=1)
        for shape in ((), (1,) * 9):
            with self.assertRaises(ValueError):
                Ring(shape)

    def test_a_refused_ring_says_why_in_the_librarys_words(self):
        with self.assertRaisesRegex(shapecache.Error, "^ring: .*buckets") as first:
            Ring((3,), "f32", buckets=0)
        self.assertEqual(first.exception.status, 4)
        with self.assertRaisesRegex(shapecache.Error, "^ring errors: bytes_most must have room for one entry at least$"):
            small(name="errors", bytes_most=1)

    def test_a_closed_ring_says_so(self):
        with small() as ring:
            ring.add(item(1, 2), 0)
        for use in (ring.sample, ring.stats, lambda: ring.add(item(1, 2), 0)):
            with self.assertRaisesRegex(ValueError, "closed"):
                use()
        ring.close()

    def test_memory_is_page_locked_where_there_is_a_device(self):
        touch(1)
        with small(pinned=True) as ring:
            ring.add(item(1, 2), 0)
            self.assertTrue(ring.stats()["is_pinned"])

    def test_threads_share_a_ring(self):
        ring = small(capacity=50)

        def work(value):
            for turn in range(300):
                ring.add(item(value, value), turn % 4)
                first, second = ring.sample()
                self.assertEqual(first, second)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(ring.stats()["added"], 1200)


class Files(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.path = pathlib.Path(held.name, "ring")

    def test_a_state_goes_on_exactly(self):
        first, second = small(modulation=0.3), small(modulation=0.3)
        for turn in range(30):
            first.add(item(turn, turn), turn % 4)
        self.assertEqual(second.load_state_dict(first.state_dict()).taken, 12)
        for turn in range(30):
            first.add(item(turn, turn), turn % 4)
            second.add(item(turn, turn), turn % 4)
            self.assertEqual(first.sample().tolist(), second.sample().tolist())
        self.assertEqual({**first.stats(), "bytes_mapped": 0}, {**second.stats(), "bytes_mapped": 0})

    def test_a_state_of_another_kind_is_refused_with_both_values(self):
        first = small()
        first.add(item(1, 2), 3)
        state = first.state_dict()
        for other, words in ((small(buckets=8), "bucket count 4 in the file, 8 here"),
                             (small(shards=2), "shard layout 0 of 1 in the file, 0 of 2 here"),
                             (small(timesteps=5), "timestep count 4 in the file, 5 here")):
            with self.assertRaisesRegex(shapecache.Error, "^Refusing to load .*" + words):
                other.load_state_dict(state)
            self.assertTrue(other.is_empty())
            self.assertEqual(sum(other.load_state_dict(state, strict=False)), 1)
            self.assertEqual(other.is_empty(), other.stats()["added"] == 0)

    def test_files_are_whole_or_refused(self):
        ring = small()
        ring.add(item(1, 2), 3)
        ring.save(self.path)
        data = self.path.read_bytes()
        self.path.write_bytes(data[:-3])
        with self.assertRaisesRegex(shapecache.Error, "^Refusing to load .*torn"):
            ring.load(self.path)
        self.assertEqual(len(ring), 1)
        self.path.write_bytes(data)
        self.assertEqual(ring.load(self.path, merge=True).taken, 1)
        self.assertEqual(len(ring), 2)
        with self.assertRaisesRegex(shapecache.Error, "No such file"):
            ring.load(self.path.parent / "none")
        with self.assertRaisesRegex(shapecache.Error, "cannot save"):
            ring.save(self.path.parent / "none" / "ring")

    def test_what_happens_is_in_the_log(self):
        touch(1)
        ring = small(name="errors")
        ring.add(item(1, 2), 3)
        ring.report()
        rows = [row for row in logs.read(os.environ["SHAPECACHE_LOG"]) if row["ev"] == "ring" and row["name"] == "errors"]
        self.assertEqual([(row["what"], row["entries"]) for row in rows], [("start", 0), ("report", 1)])


class Kinds(unittest.TestCase):
    def test_a_ring_of_tensors_gives_tensors(self):
        patch, torch = stand_in_for_torch()
        with patch:
            ring = Ring((2,), "bf16", modulation=0, quiet=True)
            for turn, tensor in enumerate((Tensor(torch.bfloat16, b"\x80\x3f\x00\x40"),
                                           Tensor(torch.bfloat16, b"\x81\x3f\x00\x40", device="cuda"),
                                           Tensor(torch.bfloat16, b"\x82\x3f\x00\x40", is_contiguous=False))):
                ring.add(tensor, turn * 100)
                drawn = ring.sample(turn * 100)
                self.assertIsInstance(drawn, Tensor)
                self.assertIs(drawn.dtype, torch.bfloat16)
                self.assertEqual((drawn.data, drawn.shape), (tensor.data, (2,)))
            with self.assertRaises(TypeError):
                ring.add(Tensor(torch.float64, bytes(16)), 0)
            state = ring.state_dict()
            self.assertIs(state["ring"].dtype, torch.uint8)
            other = Ring((2,), "bf16", modulation=0, quiet=True)
            self.assertEqual(other.load_state_dict(state).taken, 3)

    def test_a_ring_of_arrays_gives_arrays(self):
        class Array:
            """A one-dimensional one, whose address is only to be had where it may be used."""

            def __init__(self, data, dtype, is_contiguous=True):
                self.data, self.shape = data, (len(data),)
                self.dtype = types.SimpleNamespace(str=dtype)
                self.flags = types.SimpleNamespace(c_contiguous=is_contiguous)

            @property
            def __array_interface__(self):
                return {"data": (self.data.buffer_info()[0], False)}
        numpy = types.SimpleNamespace(
            ndarray=Array, empty=lambda shape, dtype: Array(array.array({"float32": "f", "uint16": "H"}[dtype], [0] * shape[0]),
                                                            dtype))
        with unittest.mock.patch.dict(sys.modules, numpy=numpy):
            ring = small()
            ring.add(Array(array.array("f", (1, 2)), "<f4"), 0)
            self.assertIsInstance(ring.sample(), Array)
            self.assertEqual(ring.sample().data.tolist(), [1, 2])
            with Ring((2,), "bf16", modulation=0, quiet=True) as bits:
                bits.add(Array(array.array("H", (3, 4)), "<u2"), 0)
                self.assertEqual(bits.sample().data.tolist(), [3, 4])
            with self.assertRaises(TypeError):  # not in one piece, and no buffer either
                ring.add(Array(array.array("f", (1, 2)), "<f4", is_contiguous=False), 0)

    def test_neither_library_is_imported(self):
        self.assertFalse({"numpy", "torch"} & set(sys.modules))


class Release(unittest.TestCase):
    def test_a_ring_that_is_dropped_gives_its_memory_back(self):
        def mapped():
            with open("/proc/self/statm", encoding="ascii") as sizes:
                return int(sizes.read().split()[0]) * os.sysconf("SC_PAGESIZE")
        before = mapped()
        for _ in range(50):
            ring = Ring((1 << 20,), capacity=4, quiet=True)
            ring.add(array.array("f", bytes(4 << 20)), 0)
            del ring
        gc.collect()
        self.assertLess(mapped() - before, 10 * (16 << 20))


unittest.main(verbosity=2)
