#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Logs that mean harm, or are not whole: no command lets a byte of theirs drive a terminal, none crashes, and each says with file
and line what is wrong."""

import json
import os
import pathlib
import random
import re
import shutil
import tempfile

from tool import DATA, Case, call, main

LATE = [json.loads(line) for line in (DATA / "oom/r1.jsonl").read_text().splitlines()]
EVENTS = [json.loads(line) for line in (DATA / "events.jsonl").read_text().splitlines()]
# An escape sequence, a bell, CSI as one character, right-to-left, a line separator, a zero-width mark, and DEL.
EVIL = "\u001b]0;x\u0007\u009b2J\u202e\u2028\u200f\u007f"
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]")
COMMANDS = (("report",), ("report", "--json"), ("report", "--timeline"), ("report", "--timeline", "--json"), ("steps",), ("steps", "--json"),
            ("shapes",), ("shapes", "--json"), ("sites",), ("sites", "--json"), ("ranks",), ("ranks", "--json"), ("oom",), ("oom", "--json"))


def poisoned(value):
    """Every text that is a name, with something evil in it."""
    if isinstance(value, dict):
        return {name: inner if name in ("ev", "phase", "from", "to", "level", "what", "step_source") else poisoned(inner)
                for name, inner in value.items()}
    if isinstance(value, list):
        return [poisoned(inner) for inner in value]
    return f"a{EVIL}b{value}" if isinstance(value, str) else value


class Hostile(Case):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, lines, name="r0.jsonl", ascii_only=False):
        path = self.folder / name
        path.write_text("".join(json.dumps(line, ensure_ascii=ascii_only) + "\n" for line in lines))
        return path

    def harmless(self, answer):
        for text in (answer.stdout, answer.stderr):
            self.assertIsNone(FORBIDDEN.search(text), repr(FORBIDDEN.search(text)))

    def test_no_name_in_a_log_reaches_the_terminal_as_it_is(self):
        for ascii_only in (True, False):
            lines = [poisoned(line) for line in LATE]
            lines[-1:-1] = [{"ev": "strict", "t": 1, "step": 5, "dev": 0, "shape": 1, "bytes": 4096, "site": EVIL, "lapse": EVIL},
                            {"ev": "scope", "t": 1, "step": 5, "dev": 0, "name": EVIL}, {"ev": "mark", "t": 1, "name": EVIL},
                            {"ev": "warn", "t": 1, "text": EVIL}]
            log = self.write(lines, ascii_only=ascii_only)
            other = self.write([line | {"rank": 1} if line["ev"] == "run" else line for line in lines[:-40]], "r1.jsonl", ascii_only)
            for command in COMMANDS:
                logs = [log, other] if command[0] in ("report", "ranks", "oom") else [log]
                answer = call(*command, *logs)
                self.assertIn(answer.returncode, (0, 1), (command, answer.stderr))
                self.assertGreater(len(answer.stdout), 100, command)
                self.harmless(answer)
            answer = call("diff", log, DATA / "late.jsonl")
            self.assertEqual(answer.returncode, 1)
            self.harmless(answer)

    def test_no_name_of_a_file_or_an_argument_does_either(self):
        for command in ("report", "steps", "shapes", "sites", "ranks", "oom", "diff", "export"):
            for arguments in ((f"none{EVIL}",), (f"--no{EVIL}",), ("--top", EVIL, "x")):
                answer = call(command, *arguments)
                self.assertIn(answer.returncode, (2, 3))
                self.assertEqual(answer.stdout, "")
                self.harmless(answer)
        self.harmless(call(f"rep{EVIL}"))

    def test_bytes_that_are_no_utf8_do_not_either(self):
        text = json.dumps(LATE[0]).replace("train", "tr\\u00ffain").encode() + b"\n"
        for line in LATE[1:]:
            text += json.dumps(line).encode().replace(b"train", b"\x9btr\xff\xc3") + b"\n"
        (self.folder / "r0.jsonl").write_bytes(text)
        for command in COMMANDS:
            answer = call(*command, self.folder / "r0.jsonl")
            self.assertIn(answer.returncode, (0, 1, 3), command)
            self.harmless(answer)

    def test_names_of_other_scripts_are_shown_and_stay_in_their_columns(self):
        lines = [dict(line) for line in LATE]
        for line in lines:
            if "site" in line:
                line["site"] = line["site"].replace("train", "обучение_модели_ひらがな")
        log = self.write(lines)
        text = call("report", log).stdout
        self.assertIn("обучение_модели", text)
        for command in ("report", "sites", "oom"):
            for row in call(command, log).stdout.splitlines():
                self.assertLessEqual(len(row), 80, row)
        table = call("report", log).stdout.split("\nshape ")[1].splitlines()[1:]
        self.assertTrue(all("�" not in row for row in table))

    def test_a_log_that_stops_anywhere_is_told_or_refused_with_its_line(self):
        whole = (DATA / "oom/r1.jsonl").read_bytes()
        path = self.folder / "r0.jsonl"
        for length in range(1, len(whole), 997):
            path.write_bytes(whole[:length])
            for command in (("ranks",), ("oom",), ("steps",), ("sites", "--json")):
                answer = call(*command, path)
                self.assertIn(answer.returncode, (0, 3), (command, length, answer.stderr))
                if answer.returncode == 3:
                    self.assertIn(str(path), answer.stderr)

    def test_a_log_with_any_byte_changed_is_told_or_refused(self):
        seed = int(os.environ.get("SC_SEED", random.randrange(2**32)))
        print(f"SC_SEED={seed}")
        chance = random.Random(seed)
        whole = (DATA / "oom/r1.jsonl").read_bytes()
        path = self.folder / "r0.jsonl"
        for _ in range(60):
            text = bytearray(whole)
            for _ in range(chance.randrange(1, 4)):
                text[chance.randrange(len(text))] = chance.randrange(256)
            path.write_bytes(text)
            for command in (("report",), ("ranks", "--json"), ("oom",)):
                answer = call(*command, path)
                self.assertIn(answer.returncode, (0, 1, 3), (seed, command, answer.stderr))
                self.harmless(answer)

    def test_what_is_malformed_is_said_with_line_and_what_was_expected(self):
        good = [json.dumps(line) for line in LATE[:20]]
        for line, words in (('{"ev":"oom","t":1,"step":1,"dev":0}', "lacks"), ('{"ev":"oom","t":1,"step":"x","dev":0,"bytes":1}', "expected a whole number"),
                            ('{"ev":"strict","t":1,"step":1,"dev":0,"shape":0,"bytes":1}', "lacks"), ('{"ev":"oom",', "no valid JSON at byte"),
                            ("[]", ""), ("\u001b[31m", "no valid JSON")):
            path = self.folder / "r0.jsonl"
            path.write_text("\n".join([*good, line, good[-1]]) + "\n")
            for command in ("report", "ranks", "oom"):
                answer = call(command, path)
                self.assertEqual((answer.returncode, answer.stdout), (3, ""), line)
                self.assertIn(f"{path}, line 21: ", answer.stderr)
                self.assertIn(words, answer.stderr)
                self.harmless(answer)

    def test_the_widest_numbers_break_no_command(self):
        most = 2**64 - 1
        sums = {name: most for name in ("requests", "hits", "misses", "bypassed", "live_peak", "held_peak", "driver_allocs", "driver_frees",
                                        "driver_ns", "wait_ns", "dur_ns", "evicted", "live", "idle")}
        lines = [LATE[0] | {"rank": most, "world": most, "pid": most},
                 {"ev": "step", "t": most, "step": most - 1, "dev": most, "phase": "fixed"} | sums,
                 {"ev": "shape", "t": 1, "step": 0, "dev": most, "id": most, "bytes": most, "requests": most, "high": most},
                 {"ev": "strict", "t": 1, "step": most, "dev": most, "shape": most, "bytes": most, "lapse": "gone"},
                 {"ev": "oom", "t": most, "step": most, "dev": most, "bytes": most, "result": most, "total": most, "live": most, "passed": most,
                  "other": most, "holders": [[most] * 4] * 99, "changed": [[most] * 4] * 99}]
        log, other = self.write(lines), self.write([lines[0] | {"rank": 3}, *lines[1:3]], "r1.jsonl")
        for command in COMMANDS:
            logs = [log, other] if command[0] in ("report", "ranks", "oom") else [log]
            answer = call(*command, *logs)
            self.assertIn(answer.returncode, (0, 1, 3), (command, answer.stderr))
        answer = call("report", "--fail-on", "hit<1,held>0,wait>0ns,strict>0,steps>0", log, other)
        self.assertEqual(answer.returncode, 1)


main()
