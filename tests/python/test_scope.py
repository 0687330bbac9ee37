#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python's memory(), trim() and scope(), in a process with the cache: shapecache run [--sim] -- test_scope.py."""

import gc
import os
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

import shapecache
from card import MIB, Block, Capture, touch


def fixed():
    """The cache holds 10 MiB idle, in two blocks."""
    shapecache.trim()
    for _ in range(1000):  # after a new shape it waits longer each time
        touch(4, 6)
        shapecache.step()
        if shapecache.phase() == "fixed" and shapecache.memory().idle == 10 * MIB:
            return
    raise AssertionError(shapecache.memory())


def records(kind):
    """Of the log, once what waits has been written: where a step ends it is."""
    touch(4)
    shapecache.step()
    return [record for record in logs.read(os.environ["SHAPECACHE_LOG"]) if record["ev"] == kind]


class Figures(unittest.TestCase):
    def setUp(self):
        touch(4)
        shapecache.trim()

    def test_memory_tells_what_is_live_idle_and_held(self):
        block = Block(8)
        seen = shapecache.memory()
        self.assertTrue(seen.is_known)
        self.assertEqual((seen.live, seen.idle, seen.held), (8 * MIB, 0, 8 * MIB))
        self.assertGreaterEqual(seen.live_peak, 8 * MIB)
        self.assertGreaterEqual(seen.driver_total, seen.driver_free)
        self.assertGreater(seen.driver_free, 0)
        block.free()

    def test_trim_gives_back_what_is_idle(self):
        fixed()
        self.assertEqual(shapecache.phase(), "fixed")
        before = shapecache.memory()
        self.assertEqual(before.idle, 10 * MIB)
        self.assertTrue(shapecache.trim())
        after = shapecache.memory()
        self.assertEqual((after.idle, after.live), (0, 0))
        self.assertEqual(after.driver_free - before.driver_free, 10 * MIB)

    def test_trim_says_so_where_a_capture_forbids_it(self):
        fixed()
        with Capture():
            self.assertFalse(shapecache.trim())
            self.assertEqual(shapecache.memory().driver_total, 0)
        self.assertEqual(shapecache.memory().idle, 10 * MIB)
        self.assertTrue(shapecache.trim())

    def test_trim_can_collect_garbage_first(self):
        gc.disable()
        try:
            fixed()
            loop = [Block(4)]
            loop.append(loop)
            del loop
            shapecache.trim()
            self.assertEqual(shapecache.memory().live, 4 * MIB)
            shapecache.trim(collect=True)
            self.assertEqual(shapecache.memory().held, 0)
        finally:
            gc.enable()

    def test_a_device_that_does_not_exist_is_an_error(self):
        for ask in (shapecache.memory, shapecache.trim, shapecache.step):
            with self.subTest(ask=ask.__name__), self.assertRaisesRegex(shapecache.Error, "no such device") as caught:
                ask(1000)
            self.assertEqual(caught.exception.status, 2)


class Scopes(unittest.TestCase):
    def setUp(self):
        shapecache.trim()

    def test_a_block_sees_its_own_peak(self):
        touch(50)
        with shapecache.scope("block") as seen:
            touch(20, 2)
            kept = Block(4)
        touch(60)
        self.assertTrue(seen.is_known)
        self.assertEqual((seen.live_before, seen.live_peak, seen.live), (0, 22 * MIB, 4 * MIB))
        self.assertGreater(seen.seconds, 0)
        kept.free()

    def test_nested_blocks_each_see_their_own(self):
        with shapecache.scope("outer") as outer:
            touch(20)
            with shapecache.scope("inner") as inner:
                touch(6)
        self.assertEqual((outer.live_peak, inner.live_peak), (20 * MIB, 6 * MIB))
        self.assertEqual((outer.depth, inner.depth), (0, 1))

    def test_a_function_is_a_scope_each_time_it_is_called(self):
        @shapecache.scope("load")
        def load(mib, *, more=0):
            """Loads."""
            touch(mib, more) if more else touch(mib)
            return mib

        self.assertEqual(load(4), 4)
        self.assertEqual(load(6, more=2), 6)
        self.assertEqual((load.__name__, load.__doc__), ("load", "Loads."))
        seen = [record["live_peak"] for record in records("scope") if record["name"] == "load"]
        self.assertEqual(seen, [4 * MIB, 8 * MIB])

    def test_a_function_that_calls_itself_nests(self):
        @shapecache.scope
        def descend(depth):
            touch(2 * depth + 2)
            if depth:
                descend(depth - 1)

        descend(3)
        mine = [record for record in records("scope") if record["name"].endswith("descend")]
        self.assertEqual([record["depth"] for record in mine], [3, 2, 1, 0])
        self.assertEqual([record["live_peak"] for record in mine], [2 * MIB, 4 * MIB, 6 * MIB, 8 * MIB])
        self.assertIn("test_a_function_that_calls_itself_nests", mine[0]["name"])

    def test_an_exception_ends_the_scope_and_goes_on(self):
        fixed()

        @shapecache.scope("raises", trim_after=True)
        def raises():
            touch(4)
            raise KeyError("gone")

        with self.assertRaisesRegex(KeyError, "gone"):
            raises()
        self.assertEqual(shapecache.memory().idle, 0)  # trimmed all the same
        with self.assertRaisesRegex(KeyError, "too"):
            with shapecache.scope("outer") as outer, shapecache.scope("inner") as inner:
                touch(2)
                raise KeyError("too")
        self.assertEqual((outer.live_peak, inner.depth), (2 * MIB, 1))
        with shapecache.scope("after") as after:
            pass
        self.assertEqual(after.depth, 0)

    def test_trims_go_where_they_were_asked_for(self):
        fixed()
        with shapecache.scope("before", trim_before=True) as seen:
            touch(4, 6)
        self.assertEqual((seen.trimmed, seen.idle_before, seen.idle), (10 * MIB, 0, 10 * MIB))
        with shapecache.scope("after", trim_after=True) as seen:
            touch(4, 6)
        self.assertEqual((seen.trimmed, seen.idle_before, seen.idle), (10 * MIB, 10 * MIB, 0))

    def test_a_scope_that_does_not_log_is_in_no_log(self):
        with shapecache.scope("silent", log=False) as seen:
            touch(2)
        self.assertEqual(seen.live_peak, 2 * MIB)
        self.assertNotIn("silent", [record["name"] for record in records("scope")])

    def test_scopes_of_threads_do_not_nest_in_each_other_and_see_the_same_memory(self):
        seen = []

        def work():
            with shapecache.scope("thread") as mine:
                touch(8)
            seen.append(mine)

        with shapecache.scope("main") as main:
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual([mine.depth for mine in seen], [0] * 4)
        self.assertEqual(main.live_peak, max(mine.live_peak for mine in seen))

    def test_ends_in_the_wrong_order_change_nothing(self):
        outer, inner = shapecache.scope("outer"), shapecache.scope("inner")
        outer.__enter__()
        inner.__enter__()
        with self.assertRaisesRegex(RuntimeError, '"outer" is not the innermost'):
            outer.__exit__(None, None, None)
        touch(2)
        inner.__exit__(None, None, None)
        outer.__exit__(None, None, None)
        self.assertEqual((inner.live_peak, outer.live_peak), (2 * MIB, 2 * MIB))
        with self.assertRaises(RuntimeError):
            outer.__exit__(None, None, None)

    def test_one_scope_is_not_open_twice_but_can_be_entered_again(self):
        again = shapecache.scope("again")
        with again:
            with self.assertRaisesRegex(RuntimeError, "open already"):
                again.__enter__()
            touch(6)
        self.assertEqual(again.live_peak, 6 * MIB)
        with again:
            touch(2)
        self.assertEqual(again.live_peak, 2 * MIB)

    def test_too_deep_is_an_error_that_opens_nothing(self):
        deep = [shapecache.scope(f"level {i}", log=False) for i in range(32)]
        for one in deep:
            one.__enter__()
        with self.assertRaisesRegex(shapecache.Error, "memory scope"):
            shapecache.scope("too deep").__enter__()
        for one in reversed(deep):
            one.__exit__(None, None, None)
        self.assertEqual([one.depth for one in deep], list(range(32)))

    def test_what_goes_on_after_it_returned_cannot_be_a_scope(self):
        async def coroutine():
            pass

        def generator():
            yield

        async def both():
            yield

        for function in (coroutine, generator, both):
            with self.subTest(function=function.__name__), self.assertRaisesRegex(TypeError, function.__name__):
                shapecache.scope("name")(function)

    def test_a_scope_shows_its_figures_once_it_is_closed(self):
        seen = shapecache.scope("shown")
        self.assertEqual(repr(seen), "<Scope 'shown': no figures>")
        with seen:
            self.assertEqual(repr(seen), "<Scope 'shown': open>")
            touch(6)
        self.assertRegex(repr(seen), rf"^<Scope 'shown': device=0, depth=0, live_before=0, .*live_peak={6 * MIB}, .*seconds=\d+\.\d+>$")

    def test_a_block_without_a_name_is_an_error(self):
        for name in (None, ""):
            with self.assertRaises(ValueError), shapecache.scope(name):
                pass


class Program(unittest.TestCase):
    def test_a_mark_has_a_name(self):
        for name in (3, b"bytes", None):
            with self.assertRaisesRegex(TypeError, f"a mark's name is a str, not {type(name).__name__}"):
                shapecache.mark(name)

    def test_steps_and_marks_are_in_the_log(self):
        before = len(records("step"))
        self.assertTrue(shapecache.mark("validation begins"))
        touch(4)
        self.assertTrue(shapecache.step())
        self.assertEqual(len(records("step")), before + 2)
        self.assertIn("validation begins", [record["name"] for record in records("mark")])


if __name__ == "__main__":
    unittest.main()
