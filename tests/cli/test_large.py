#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Large logs: every command reads one in less address space than it has bytes, and shows how far it is on a terminal alone.

SC_LARGE_MIB=1024 tries a log of 1 GiB."""

import os
import pathlib
import pty
import re
import resource
import shutil
import subprocess
import tempfile

from tool import TOOL, Case, clean_environment, main

MIB = 1 << 20
SIZE = int(os.environ.get("SC_LARGE_MIB", "48")) * MIB
ROOM = 32 * MIB  # address space, code and C library included
STEP = ('{"ev":"step","t":%d,"step":%d,"dev":0,"dur_ns":1077769,"phase":"%s","live":20971520,"idle":48234496,"requests":24,"hits":24,"misses":0,'
        '"bypassed":0,"evicted":0,"expired":0,"live_peak":65011712,"held_peak":69206016,"driver_allocs":0,"driver_frees":0,"malloc_frees":0,'
        '"driver_ns":0,"wait_ns":850523,"hit_ns":0,"sampled":0}\n')
PHASE = '{"ev":"phase","t":%d,"step":%d,"dev":0,"from":"%s","to":"%s","reason":"%s","shape":1,"bytes":4096,"site":"train+0x1","set_size":7,"idle_released":9}\n'
SHAPE = '{"ev":"shape","t":%d,"step":%d,"dev":0,"id":%d,"bytes":%d,"site":"train+0x%x","requests":60,"hits":35,"misses":1,"high":1,"first_step":%d,"last_step":%d}\n'
EVENTS = ('{"ev":"alloc","t":%d,"step":%d,"dev":0,"n":%d,"address":"0x7f%07x000","bytes":4096,"shape":1,"site":"train+0x1","hit":0,"outcome":"bypassed","ns":900}\n'
          '{"ev":"free","t":%d,"step":%d,"dev":0,"n":%d,"address":"0x7f%07x000","hit":0,"outcome":"driver","ns":800}\n')
MARK = '{"ev":"mark","t":%d,"step":%d,"dev":0,"name":"epoch %d"}\n{"ev":"warn","t":%d,"text":"number %d"}\n'


def blocks():
    """The log, piece by piece, a thousand steps each: rows of steps and requests, and now and then what else there is."""
    yield ('{"ev":"run","t":0,"v":1,"pid":7,"t0_unix_ns":1700000000000000000,"rank":0,"world":1,"devices":[{"dev":0,"total":8589934592}],'
           '"config":{"SHAPECACHE_LOG_LEVEL":{"value":"event","from":"env"}}}\n')
    step = n = 0
    while True:
        fixed = step // 1000 % 2
        words = ("warmup", "fixed", "set-fixed") if fixed else ("fixed", "warmup", "rearm")
        lines = [PHASE % (1000 * step, step, *words), MARK % (1000 * step, step, step, 1000 * step, step)]
        lines += [SHAPE % (1000 * step, step, (step // 1000 * 100 + i) % 20000, 4096 * i + step, i, step, step) for i in range(100)]
        for i in range(1000):
            lines.append(EVENTS % (1000 * (step + i), step + i, n, i, 1000 * (step + i) + 1, step + i, n + 1, i))
            lines.append(STEP % (1000 * (step + i) + 2, step + i, words[1]))
            n += 2
        step += 1000
        yield "".join(lines)


class Large(Case):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-large-"))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        cls.log = cls.top / "r0.jsonl"
        with cls.log.open("w") as file:
            for block in blocks():
                file.write(block)
                if file.tell() >= SIZE:
                    break

    def run_bounded(self, *arguments, **more):
        return subprocess.run([TOOL, *map(str, arguments)], text=True, capture_output=True, timeout=1200, env=clean_environment(), check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM)), **more)

    def test_every_command_reads_it_in_less_room_than_it_takes(self):
        self.assertGreater(self.log.stat().st_size, ROOM)
        report = self.top / "out"
        for command in (["report"], ["report", "--json"], ["report", "--timeline"], ["shapes"], ["steps", "--every", "1000"], ["sites"],
                        ["ranks"], ["oom"], ["report", "--html", report], ["export", "--to", "trace", "--out", report], ["export", "--to", "rmm", "--out", report],
                        ["export", "--to", "csv", "--out", report], ["export", "--to", "chrome", "--out", report],
                        ["export", "--to", "collapsed"], ["export", "--to", "speedscope"], ["export", "--to", "openmetrics"],
                        ["export", "--to", "torch-snapshot", "--last", "10000", "--out", report]):
            with self.subTest(command=command):
                answer = self.run_bounded(*command, self.log)
                self.assertEqual(answer.returncode, 0, answer.stderr[-500:])
                self.assertNotIn("reading", answer.stderr)

    def test_steps_that_are_alike_take_no_room_each(self):
        log = self.top / "alike.jsonl"
        with log.open("w") as file:
            file.write('{"ev":"run","t":0,"v":1,"pid":7}\n')
            file.writelines(STEP % (1000 * step, step, "fixed") for step in range(600000))
        for command in (["report", "--timeline"], ["report", "--timeline", "--json"]):
            answer = subprocess.run(["sh", "-c", 'exec "$@" | tail -n 3', "sh", TOOL, *command, log], text=True, capture_output=True, timeout=300,
                                    env=clean_environment(), check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM)))
            self.assertEqual((answer.stderr, bool(answer.stdout)), ("", True), command)
        log.unlink()

    def test_a_large_log_is_read_from_a_pipe_too(self):
        with self.log.open() as file:
            answer = self.run_bounded("steps", "--every", "10000", "-", stdin=file)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))

    def on_terminal(self, *arguments, size=None, **environment):
        """What the terminal that is stderr gets; stdout goes elsewhere."""
        log = self.log
        if size:
            log = self.top / "small.jsonl"
            with self.log.open("rb") as file:
                text = file.read(size)
            log.write_bytes(text[:text.rindex(b"\n") + 1])
        master, slave = pty.openpty()
        with subprocess.Popen([TOOL, *arguments, log], stdout=subprocess.DEVNULL, stderr=slave,
                              env=clean_environment(TERM="xterm") | environment) as child:
            os.close(slave)
            said = b""
            try:
                while piece := os.read(master, 65536):
                    said += piece
            except OSError:  # the other end is closed
                pass
        os.close(master)
        self.assertEqual(child.returncode, 0, said)
        return said.decode()

    def test_on_a_terminal_it_shows_how_far_it_is_and_leaves_nothing(self):
        said = self.on_terminal("shapes")
        draws = re.findall(r"\rreading r0\.jsonl \[#*-*\] +(\d+)% of [\d.]+ [MG]iB\x1b\[K", said)
        self.assertGreaterEqual(len(draws), 1, said)
        self.assertEqual(draws, sorted(draws, key=int))
        self.assertTrue(said.endswith("\r\x1b[K"), said[-100:])
        self.assertEqual(re.sub(r"\r[^\r]*\x1b\[K", "", said), "")
        self.assertLess(max(map(len, re.findall(r"reading [^\x1b]*", said))), 80)

    def test_it_is_not_shown_where_it_is_not_wanted(self):
        self.assertEqual(self.on_terminal("shapes", "-q"), "")
        self.assertEqual(self.on_terminal("shapes", "--quiet"), "")
        self.assertEqual(self.on_terminal("shapes", TERM="dumb"), "")
        self.assertEqual(self.on_terminal("shapes", size=8 * MIB), "")

    def test_what_is_said_meanwhile_has_a_line_of_its_own(self):
        said = self.on_terminal("export", "--to", "openmetrics")
        self.assertRegex(said, r"\r\x1b\[Kshapecache: export: [^\r\n]+ has no end[^\r\n]*\r\n")


main()
