#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python side of the arena, without PyTorch: a stand-in for it on the simulated GPU."""

import collections
import ctypes
import gc
import os
import random
import threading
import time
import types
import unittest

import fake_torch
import shapecache
from shapecache import arena as arena_module
from shapecache import offload

fake_torch.install()
KIB = 1024
SIZE = 64 * KIB
SEED = int(os.environ.get("SC_SEED", time.time_ns()))


def tensor(byte, size=SIZE):
    """A tensor full of one byte, on a stream that runs later."""
    return fake_torch.Tensor((size // 4,), (1,)).fill(byte)


class Case(unittest.TestCase):
    def setUp(self):
        fake_torch.cuda.current_stream()
        self.arena = shapecache.Arena(4 << 20, name="test")
        self.addCleanup(self.arena.close)

    def forward(self, count, first=1, **options):
        """What so many layers save; nothing else holds the tensors."""
        with self.arena.offload_activations(**options) as activations:
            return [fake_torch.Saved(tensor(first + i)) for i in range(count)], activations

    def expect_stack(self, depth):
        self.assertEqual(self.arena.stats().depth, depth)


class Pointers(Case):
    def test_bytes_come_back_by_pointer(self):
        one, two = tensor(1), tensor(2)
        stream = fake_torch.cuda.current_stream().cuda_stream
        tickets = [self.arena.offload(t.data_ptr(), SIZE, i, stream) for i, t in enumerate((one, two))]
        self.assertEqual([t.place for t in tickets], [arena_module.PINNED] * 2)
        with self.assertRaisesRegex(shapecache.ArenaOrderError, "arena test: wrong order of offload/onload: onload asked for "
                                                                "ticket 1, but ticket 2 is on top"):
            self.arena.onload(tickets[0], one.data_ptr(), SIZE, 0, stream)
        for t, ticket in zip((one, two), tickets):
            self.arena.fence(ticket, stream)
            t.fill(9)
        self.assertTrue(self.arena.prefetch(tickets[0], one.data_ptr(), SIZE, stream))
        self.arena.onload(tickets[1], two.data_ptr(), SIZE, 1, stream)
        self.arena.onload(tickets[0], one.data_ptr(), SIZE, 0, stream)
        self.assertEqual(two.bytes(), bytes([2]) * SIZE)
        self.assertEqual(one.bytes(), bytes([1]) * SIZE)

    def test_a_free_waits_for_the_copy_out_parked_or_not(self):
        stream = fake_torch.cuda.current_stream().cuda_stream
        runtime, must = fake_torch._runtime, fake_torch.must
        for byte in range(1, 12):  # the last ones are parked
            source, back = (fake_torch._POINTER() for _ in range(2))
            must(runtime.cudaMalloc(ctypes.byref(source), SIZE))
            must(runtime.cudaMemsetAsync(source, byte, SIZE, stream))
            ticket = self.arena.offload(source.value, SIZE, 0, stream)
            must(runtime.cudaFree(source))
            must(runtime.cudaMalloc(ctypes.byref(back), SIZE))
            must(runtime.cudaMemsetAsync(back, 99, SIZE, None))
            must(runtime.cudaStreamSynchronize(None))
            self.arena.onload(ticket, back.value, SIZE, 0, stream)
            out = ctypes.create_string_buffer(SIZE)
            must(runtime.cudaMemcpyAsync(out, back, SIZE, 2, stream))
            must(runtime.cudaStreamSynchronize(stream))
            self.assertEqual(out.raw, bytes([byte]) * SIZE)
            must(runtime.cudaFree(back))
            shapecache.step()
        self.assertEqual(shapecache.phase(), "fixed")

    def test_a_full_arena_is_an_error_where_asked_for(self):
        with shapecache.Arena("64KiB", full="fail") as small:
            kept = tensor(1)
            small.offload(kept.data_ptr(), SIZE)
            with self.assertRaisesRegex(shapecache.ArenaFullError, "activation arena is full: need 64.0 KiB"):
                small.offload(kept.data_ptr(), SIZE)

    def test_a_dry_run_measures_the_demand(self):
        with shapecache.Arena() as dry:
            kept = tensor(1)
            self.assertEqual(dry.offload(kept.data_ptr(), 1000).place, arena_module.DEVICE)
            self.assertEqual(dry.stats().demand_peak, 1024)

    def test_sizes_are_read_as_settings_are(self):
        self.assertEqual([arena_module._bytes(s) for s in ("1.5GiB", "64k", "12", "3 MB", 7)],
                         [3 << 29, 64 << 10, 12, 3 << 20, 7])
        with self.assertRaises(ValueError):
            arena_module._bytes("much")

    def test_no_size_is_negative(self):
        with self.assertRaisesRegex(ValueError, "^the capacity must not be negative: -1$"):
            shapecache.Arena(-1)
        for option in ("least", "keep_last", "prefetch_most", "given_most"):
            with self.assertRaisesRegex(ValueError, f"^{option} must not be negative"):
                shapecache.Arena(**{option: -1})

    def test_the_arena_of_the_process_is_a_dry_run_unless_set(self):
        process = shapecache.Arena.of_process()
        self.assertEqual(process.stats().capacity, 0)
        process.close()

    def test_a_closed_arena_says_so(self):
        self.arena.close()
        with self.assertRaises(ValueError):
            self.arena.stats()


class Threads(unittest.TestCase):
    """Each thread's bytes come back to it, whatever others do meanwhile."""

    def setUp(self):
        fake_torch.cuda.current_stream()
        self.wrong = []

    def passes(self, arena, number, lock):
        """Forward and backward passes of random lengths."""
        runtime, must, chance = fake_torch._runtime, fake_torch.must, random.Random(SEED + number)
        must(runtime.cudaFree(None))
        stream = fake_torch._Stream().cuda_stream
        for _ in range(12):
            with lock:
                away = []
                for _ in range(chance.randrange(1, 9)):
                    byte, source = chance.randrange(256), fake_torch._POINTER()
                    must(runtime.cudaMalloc(ctypes.byref(source), SIZE))
                    must(runtime.cudaMemsetAsync(source, byte, SIZE, stream))
                    away.append((arena.offload_free(source.value, SIZE, byte, stream), byte))
                for ticket, byte in reversed(away):
                    self.bring_back(arena, ticket, byte, stream)

    def bring_back(self, arena, ticket, byte, stream):
        runtime, must = fake_torch._runtime, fake_torch.must
        target, host = fake_torch._POINTER(), ctypes.create_string_buffer(SIZE)
        must(runtime.cudaMalloc(ctypes.byref(target), SIZE))
        arena.onload(ticket, target.value, SIZE, byte, stream)
        must(runtime.cudaMemcpyAsync(host, target, SIZE, 2, stream))
        must(runtime.cudaStreamSynchronize(stream))
        must(runtime.cudaFree(target))
        if host.raw != bytes([byte]) * SIZE:
            self.wrong.append((ticket.number, byte))

    def run_threads(self, works):
        errors = []

        def guarded(work, *arguments):
            try:
                work(*arguments)
            except Exception as error:  # pylint: disable=broad-except
                errors.append(error)
        threads = [threading.Thread(target=guarded, args=work) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((errors, self.wrong), ([], []), f"SC_SEED={SEED}")

    def test_arenas_of_several_threads_do_not_disturb_each_other(self):
        def own(number):
            fake_torch.must(fake_torch._runtime.cudaFree(None))
            with shapecache.Arena(1 << 20, name=f"thread{number}") as arena:
                self.passes(arena, number, threading.Lock())
                self.assertEqual(arena.stats().busy, 0)
        self.run_threads([(own, number) for number in range(4)])

    def test_threads_that_take_turns_may_share_one(self):
        with shapecache.Arena(1 << 20, name="shared") as arena:
            self.run_threads([(self.passes, arena, number, arena.lock) for number in range(4)])
            self.assertEqual((arena.stats().busy, arena.stats().depth), (0, 0))


class Summary(unittest.TestCase):
    """The line at the end of `run --torch --offload`."""

    def line(self, out, back, unasked=0, unknown=0, **counts):
        told = offload.Offload(None, "1MiB", None)
        stats = types.SimpleNamespace(bytes_out=out, bytes_in=back, used_peak=3 << 20, demand_peak=1, capacity=1,
                                      spared=2 << 20, live_without=9 << 20, spared_unknown=unknown)
        told._arenas = [types.SimpleNamespace(stats=lambda: stats)]
        told._devices = {0: types.SimpleNamespace(counts=collections.Counter(counts), unasked=lambda: unasked)}
        return told.summary()

    def test_its_counts_add_up_to_all_that_was_saved(self):
        text = self.line(8 << 20, 8 << 20, saved=20, offloaded=8, early=2, shared=3, kept=1, failed=2, skipped_leaf=5, skipped_small=1)
        self.assertEqual(text, "offloaded 8 of 20 saved tensors (2 of them came back early), 9 stayed, 3 had been saved before; 8 MiB out "
                               "and 8 MiB back; the arena held at most 3 MiB; that spared the device 2 MiB at the peak (7 MiB live, 9 MiB "
                               "without); streams waited 0.000 s for copies")

    def test_it_says_why_it_is_not_known_what_the_device_was_spared(self):
        for unknown, why in enumerate(arena_module.SPARED_UNKNOWN[1:], 1):
            self.assertIn(f"; what that spared the device is not known: {why}; ",
                          self.line(8 << 20, 8 << 20, saved=7, offloaded=7, unknown=unknown))
        self.assertNotIn("spared", self.line(0, 0, saved=7))

    def test_it_says_where_few_bytes_or_none_came_back_and_why(self):
        self.assertIn("; none of the bytes came back: of all tensors 7 were never asked for, and 0 were still",
                      self.line(8 << 20, 0, 7, saved=7, offloaded=7))
        self.assertIn("; few of the bytes came back: of all tensors 0 were never asked for, and 6 were still on the device when they were",
                      self.line(8 << 20, 1 << 20, saved=7, offloaded=7, held=6))
        self.assertNotIn("of the bytes", self.line(8 << 20, 2 << 20, saved=7, offloaded=7))
        self.assertNotIn("of the bytes", self.line(0, 0, saved=7))


class Activations(Case):
    def test_a_backward_pass_gets_every_byte_and_empties_the_stack(self):
        saved, activations = self.forward(12)
        self.assertEqual(activations.counts["offloaded"], 12)
        for i in range(12, 0, -1):
            self.assertEqual(saved.pop().get().bytes(), bytes([i]) * SIZE)
        gc.collect()
        self.expect_stack(0)
        self.assertEqual((activations.counts["returned"], activations.counts["early"]), (12, 0))
        self.assertGreater(self.arena.stats().prefetched, 0)

    def forgotten(self):
        """Numbers of the tickets that the arena is told nobody holds, from now on."""
        told, forget = [], self.arena.forget

        def note(ticket):
            told.append(ticket.number)
            forget(ticket)
        self.arena.forget = note
        return told

    def test_what_nobody_holds_is_told_at_once_and_dropped_in_its_turn(self):
        saved, _ = self.forward(12)
        told = self.forgotten()
        del saved[3]
        gc.collect()
        self.assertEqual(told, [4])
        self.expect_stack(12)
        while saved:
            saved.pop().get()
        self.expect_stack(0)
        self.assertEqual(told, [4])

    def test_what_nobody_holds_while_another_thread_has_the_lock_is_told_by_the_next_call(self):
        saved, _ = self.forward(3)
        told, has_lock, may_go = self.forgotten(), threading.Event(), threading.Event()

        def hold():
            with self.arena.lock:
                has_lock.set()
                may_go.wait()
        other = threading.Thread(target=hold)
        other.start()
        has_lock.wait()
        del saved[0]
        gc.collect()
        self.assertEqual(told, [])
        may_go.set()
        other.join()
        saved.pop().get()
        self.assertEqual(told, [1])

    def test_memory_of_what_was_offloaded_is_free_for_the_next_layer(self):
        fake_torch.CACHE.clear()
        before = {id(m) for m in gc.get_objects() if isinstance(m, fake_torch._Memory)}
        saved, _ = self.forward(12, behind=3)
        held = [m for m in gc.get_objects() if isinstance(m, fake_torch._Memory) and id(m) not in before]
        self.assertEqual(len(held), 3)
        del saved

    def test_a_graph_that_is_not_LIFO_is_right_and_counted(self):
        saved, activations = self.forward(8)
        for i, one in enumerate(saved):  # the first one first
            self.assertEqual(one.get().bytes(), bytes([i + 1]) * SIZE)
        self.assertGreater(activations.counts["early"], 0)
        del saved, one
        self.forward(1)
        self.expect_stack(1)

    def test_a_graph_that_is_kept_can_be_asked_twice(self):
        saved, _ = self.forward(8)
        for _ in range(2):
            for i in range(7, -1, -1):
                self.assertEqual(saved[i].get().bytes(), bytes([i + 1]) * SIZE)

    def test_a_forward_without_a_backward_is_dropped(self):
        saved, activations = self.forward(8)
        del saved
        saved, activations = self.forward(2, first=50)
        self.expect_stack(2)
        self.assertEqual(activations.counts["dropped"], 8)
        self.assertEqual(saved[1].get().bytes(), bytes([51]) * SIZE)
        self.assertEqual(saved[0].get().bytes(), bytes([50]) * SIZE)

    def test_what_nobody_asks_for_is_counted(self):
        saved, activations = self.forward(8)
        saved.pop().get()
        self.assertEqual(activations.unasked(), 7)
        del saved
        self.assertEqual(activations.unasked(), 7)
        self.forward(1)
        self.assertEqual(activations.unasked(), 8)

    def test_what_is_asked_for_while_it_is_still_here_is_counted(self):
        saved, activations = self.forward(8, behind=3)
        while saved:
            saved.pop().get()
        self.assertEqual((activations.counts["offloaded"], activations.counts["held"]), (8, 3))
        self.assertEqual(activations.unasked(), 0)

    def test_what_two_neighbours_save_is_offloaded_once(self):
        with self.arena.offload_activations() as activations:
            shared = tensor(5)
            saved = [fake_torch.Saved(shared) for _ in range(3)]
            shared._version += 1
            saved.append(fake_torch.Saved(shared))
        self.assertEqual((activations.counts["offloaded"], activations.counts["shared"]), (2, 2))
        self.assertEqual(len({id(one.packed) for one in saved[:3]}), 1)
        del shared
        while saved:
            self.assertEqual(saved.pop().get().bytes(), bytes([5]) * SIZE)

    def test_what_is_not_an_activation_stays_and_is_counted(self):
        leaf, parameter, view, host = tensor(1), fake_torch.Parameter((16384,), (1,)), tensor(2), tensor(3)
        gaps, small = fake_torch.Tensor((64, 128), (256, 1), fake_torch._Memory(SIZE)), tensor(4, 1024)
        leaf.is_leaf, view._base, host.device.type = True, parameter, "cpu"
        with self.arena.offload_activations() as activations:
            for one in (leaf, parameter, view, host, gaps, small):
                self.assertIs(fake_torch.Saved(one).get(), one)
        self.assertEqual({name: n for name, n in activations.counts.items() if n},
                         {"saved": 6, "skipped_leaf": 3, "skipped_device": 1, "skipped_layout": 1, "skipped_small": 1})

    def test_layouts_come_back_as_they_were(self):
        with self.arena.offload_activations():
            saved = fake_torch.Saved(fake_torch.Tensor((64, 256), (1, 64)).fill(6))
            self.forward(5)
        back = saved.get()
        self.assertEqual((back.shape, back.stride()), ((64, 256), (1, 64)))
        self.assertEqual(back.bytes(), bytes([6]) * SIZE)

    def test_what_does_not_fit_stays_on_the_device(self):
        with shapecache.Arena(4 * SIZE) as small:
            self.arena.close()
            self.arena = small
            saved, activations = self.forward(10)
            self.assertEqual((activations.counts["offloaded"], activations.counts["kept"]), (4, 6))
            for i in range(10, 0, -1):
                self.assertEqual(saved.pop().get().bytes(), bytes([i]) * SIZE)
            self.expect_stack(0)

    def test_random_graphs_get_their_bytes(self):
        print(f"SC_SEED={SEED}")
        chance = random.Random(SEED)
        alive, byte = [], 0
        for _ in range(600):
            choice = chance.random()
            if choice < 0.5 and len(alive) < 40:
                byte = byte % 250 + 1
                saved, _ = self.forward(1, first=byte, ahead=chance.randrange(4), behind=chance.randrange(6))
                alive.append([saved[0], byte])
            elif alive and choice < 0.85:
                saved, expected = alive.pop()
                self.assertEqual(saved.get().bytes(), bytes([expected]) * SIZE)
            elif alive and choice < 0.95:  # out of order, and perhaps again
                saved, expected = chance.choice(alive)
                self.assertEqual(saved.get().bytes(), bytes([expected]) * SIZE)
            elif alive:
                alive.pop(chance.randrange(len(alive)))
            saved = None
        alive.clear()
        self.forward(1)
        self.expect_stack(1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
