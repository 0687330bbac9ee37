#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""export --to torch-snapshot: a pickle whose events and segments are those of the log, for readers that trust it."""

import json
import pathlib
import pickle
import pickletools
import pty
import shutil
import subprocess
import sys
import tempfile
import os

from tool import BUILD, DATA, TOOL, Case, call, clean_environment, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

TRAIN = BUILD / "tests/programs/train"
RUN = {"ev": "run", "t": 0, "v": 1, "pid": 1, "t0_unix_ns": 5_000_000}
# What the unpickler of memory_viz knows, of what is of use here.
KNOWN = {"PROTO", "EMPTY_DICT", "EMPTY_LIST", "SETITEM", "APPEND", "BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "BINPUT", "BINGET",
         "LONG_BINPUT", "LONG_BINGET", "TUPLE2", "NEWFALSE", "NEWTRUE", "STOP"}


def walked_back(snapshot, device=0):
    """What memory_viz draws: from the segments at the end back through the events. An error where they do not fit."""
    segments = {s["address"]: s["total_size"] for s in snapshot["segments"]}
    blocks = {b["address"]: b["size"] for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"}
    for event in reversed(snapshot["device_traces"][device]):
        address, size = event["addr"], event["size"]
        if event["action"] == "free_completed":
            assert address not in blocks, event
            blocks[address] = size
        elif event["action"] == "free_requested":
            assert blocks[address] == size, event
        elif event["action"] == "alloc":
            assert blocks.pop(address) == size, event
        elif event["action"] == "segment_free":
            assert address not in segments, event
            segments[address] = size
        elif event["action"] == "segment_alloc":
            assert segments.pop(address) == size, event
        assert all(a in segments and segments[a] == s for a, s in blocks.items()), event
    return segments, blocks


class Snapshot(Case):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-snapshot-"))
        self.addCleanup(shutil.rmtree, self.top)

    def exported(self, log, *options, said=""):
        out = self.top / "snapshot.pickle"
        answer = call("export", "--to", "torch-snapshot", "--out", out, *options, log)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn(said, answer.stderr)
        data = out.read_bytes()
        self.assertLessEqual({op.name for op, _, _ in pickletools.genops(data)}, KNOWN)
        return pickle.loads(data)

    def written(self, records):
        log = self.top / "log.jsonl"
        log.write_text("".join(json.dumps(record) + "\n" for record in [RUN, *records]))
        return log

    def rows(self, *rows, first=0):
        """(op, address, bytes, outcome)"""
        return [{"ev": op, "t": 1000 * (number + 1), "step": 0, "dev": 0, "address": hex(address), "n": number,
                 "outcome": outcome, **({"bytes": size} if op == "alloc" else {})}
                for number, (op, address, size, outcome) in enumerate(rows, first)]

    def test_each_request_is_its_events_and_what_is_held_is_a_segment(self):
        snapshot = self.exported(self.written(self.rows(
            ("alloc", 0x10000, 4096, "bypassed"), ("alloc", 0x20000, 2 << 20, "miss"), ("free", 0x10000, 0, "parked"),
            ("alloc", 0x10000, 4096, "hit"), ("free", 0x10000, 0, "parked"), ("free", 0x20000, 0, "driver"),
            ("alloc", 1 << 63, 1 << 33, "bypassed"))))
        self.assertEqual([(e["action"], e["addr"], e["size"], e["time_us"]) for e in snapshot["device_traces"][0]], [
            ("segment_alloc", 0x10000, 4096, 5001), ("alloc", 0x10000, 4096, 5001),
            ("segment_alloc", 0x20000, 2 << 20, 5002), ("alloc", 0x20000, 2 << 20, 5002),
            ("free_requested", 0x10000, 4096, 5003), ("free_completed", 0x10000, 4096, 5003),
            ("alloc", 0x10000, 4096, 5004),
            ("free_requested", 0x10000, 4096, 5005), ("free_completed", 0x10000, 4096, 5005),
            ("free_requested", 0x20000, 2 << 20, 5006), ("free_completed", 0x20000, 2 << 20, 5006), ("segment_free", 0x20000, 2 << 20, 5006),
            ("segment_alloc", 1 << 63, 1 << 33, 5007), ("alloc", 1 << 63, 1 << 33, 5007)])
        self.assertEqual([(s["address"], s["total_size"], s["allocated_size"], s["active_size"], s["segment_type"], s["blocks"][0]["state"])
                          for s in snapshot["segments"]],
                         [(0x10000, 4096, 0, 0, "small", "inactive"), (1 << 63, 1 << 33, 1 << 33, 1 << 33, "large", "active_allocated")])
        self.assertEqual(walked_back(snapshot), ({}, {}))

    def test_idle_buffers_go_with_the_phase_and_when_their_place_is_used(self):
        parked = self.rows(("alloc", 0x10000, 4096, "bypassed"), ("free", 0x10000, 0, "parked"))
        phase = {"ev": "phase", "t": 3000, "step": 1, "dev": 0, "from": "fixed", "to": "fallback", "reason": "new-shape"}
        snapshot = self.exported(self.written([*parked, phase]))
        self.assertEqual((snapshot["device_traces"][0][-1]["action"], snapshot["segments"]), ("segment_free", []))
        for outcome, size, places in (("bypassed", 8192, {0x10000: 8192}), ("bypassed", 4096, {0x10000: 4096}), ("hit", 4096, {0x10000: 4096}),
                                      ("bypassed", 1, {0x10000: 1})):
            snapshot = self.exported(self.written([*parked, *self.rows(("alloc", 0x10000, size, outcome), first=2)]))
            self.assertEqual({s["address"]: s["total_size"] for s in snapshot["segments"]}, places)
            self.assertEqual(sum(e["action"] == "segment_free" for e in snapshot["device_traces"][0]), outcome != "hit")
            walked_back(snapshot)
        snapshot = self.exported(self.written([*parked, *self.rows(("alloc", 0xf000, 0x3000, "bypassed"), first=2)]))
        self.assertEqual([s["address"] for s in snapshot["segments"]], [0xf000])
        self.assertEqual(walked_back(snapshot), ({}, {}))

    def test_only_the_last_events_are_kept_and_they_still_fit(self):
        log = DATA / "events.jsonl"
        whole = self.exported(log)
        events = whole["device_traces"][0]
        for last in (1, 2, 5, len(events) - 1):
            part = self.exported(log, "--last", str(last), said=f"the last {last} of {len(events)} events")
            self.assertEqual(part["device_traces"][0], events[-last:])
            self.assertEqual(part["segments"], whole["segments"])
            walked_back(part)
        self.assertEqual(self.exported(log, "--last", str(len(events)))["device_traces"][0], events)

    def test_frames_are_innermost_first_and_shared(self):
        sites = ["main main.cu:9 > f a.cu:7", "train.py:31", "odd+0x40", "x:y", "a b:3", "\udcff:1", "Ü > " * 3 + "z"]
        records = [row | {"site": site} for site, row in zip(sites, self.rows(*[("alloc", 0x10000 * (i + 1), 8, "bypassed") for i in range(len(sites))]))]
        log = self.written([])
        log.write_bytes(b"".join(json.dumps(r, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n" for r in [RUN, *records]))
        snapshot = self.exported(log)
        frames = [[(f["name"], f["filename"], f["line"]) for f in e["frames"]] for e in snapshot["device_traces"][0] if e["action"] == "alloc"]
        self.assertEqual(frames[:5], [[("f", "a.cu", 7), ("main", "main.cu", 9)], [("", "train.py", 31)], [("odd+0x40", "??", 0)], [("x:y", "??", 0)],
                                      [("a", "b", 3)]])
        self.assertEqual([f[0] for f in frames[6]], ["z", "Ü", "Ü", "Ü"])
        first, second = snapshot["device_traces"][0][:2]
        self.assertIs(first["frames"], second["frames"])

    def test_an_out_of_memory_is_an_event_with_what_was_free(self):
        oom = {"ev": "oom", "t": 9000, "step": 0, "dev": 0, "bytes": 1 << 34, "result": 2, "driver_free": 12345}
        snapshot = self.exported(self.written([*self.rows(("alloc", 0x10000, 8, "bypassed")), oom, oom | {"result": 0}, oom | {"dev": 1}]))
        self.assertEqual([(e["size"], e["device_free"]) for e in snapshot["device_traces"][0] if e["action"] == "oom"], [(1 << 34, 12345)])

    def test_another_device_has_its_place_in_the_list(self):
        log = self.written([row | {"dev": 3} for row in self.rows(("alloc", 0x10000, 8, "bypassed"))])
        snapshot = self.exported(log)
        self.assertEqual([len(trace) for trace in snapshot["device_traces"]], [0, 0, 0, 2])
        self.assertEqual(snapshot["segments"][0]["device"], 3)

    def test_a_real_run_is_told_to_its_last_byte(self):
        log = self.top / "real.jsonl"
        answer = call("run", "--sim", "--", TRAIN, "--quiet", "--steps", "50", "--lengths", "late-change", cwd=self.top,
                      environment=clean_environment(SHAPECACHE_LOG=str(log), SHAPECACHE_LOG_LEVEL="event", SHAPECACHE_SUMMARY="off"))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        records = logs.read(log)
        snapshot = self.exported(log)
        events = snapshot["device_traces"][0]
        self.assertEqual(walked_back(snapshot), ({}, {}))
        self.assertEqual([(e["addr"], e["size"]) for e in events if e["action"] == "alloc"],
                         [(int(r["address"], 16), r["bytes"]) for r in records if r["ev"] == "alloc"])
        self.assertEqual(sum(e["action"] == "segment_alloc" for e in events), sum(r["ev"] == "alloc" and r["outcome"] != "hit" for r in records))
        self.assertTrue(all(e["frames"][0]["filename"].endswith(".cu") for e in events))

    def test_it_is_no_text_for_a_terminal_and_needs_every_request(self):
        master, slave = pty.openpty()
        done = subprocess.run([TOOL, "export", "--to", "torch-snapshot", DATA / "events.jsonl"], stdout=slave, stderr=subprocess.PIPE, text=True,
                              timeout=60, check=False)
        os.close(slave)
        os.close(master)
        self.assertEqual(done.returncode, 2)
        self.assertIn("name a file with --out", done.stderr)
        self.fails(call("export", "--to", "torch-snapshot", DATA / "late.jsonl"), 3, "SHAPECACHE_LOG_LEVEL=event")
        self.fails(call("export", "--to", "torch-snapshot", "--last", "0", DATA / "events.jsonl"), 2, "--last wants a number of events")


main()
