#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Broken logs by the thousand, each through a command of the tool: it tells a result or says what is wrong, in bounded time and
memory, and whatever it writes for programs is well-formed.

SC_SEED=N repeats a run, SC_FUZZ=N tries N logs instead of 1000. In a build with SC_SANITIZE the tool looks at itself too."""

import json
import os
import pathlib
import pickle
import random
import re
import resource
import shutil
import signal
import tempfile

from tool import DATA, TOOL, Case, clean_environment, main

SEED = int(os.environ.get("SC_SEED", "20261130"))
COUNT = int(os.environ.get("SC_FUZZ", "1000"))
SANITIZED = b"__asan_init" in TOOL.read_bytes() or b"__ubsan_handle" in TOOL.read_bytes()
MEMORY = 64 << 10  # KiB resident, of a log of a few: the longest line is 4 MiB
FOUND = 99  # what a sanitizer ends with
LOG, OTHER, OUT = "LOG", "OTHER", "OUT"
COMMANDS = (
    ("report", LOG), ("report", "--json", LOG), ("report", "--top", "3", LOG, OTHER), ("report", "--timeline", LOG),
    ("report", "--timeline", "--json", LOG), ("report", "--fail-on", "hit<95,fallback>0", LOG), ("report", "--html", OUT, LOG),
    ("shapes", LOG), ("shapes", "--json", LOG), ("shapes", "--save", OUT, LOG), ("steps", LOG), ("steps", "--json", LOG),
    ("steps", "--every", "3", LOG), ("sites", LOG), ("sites", "--json", LOG), ("ranks", LOG), ("ranks", "--json", LOG, OTHER), ("oom", LOG),
    ("oom", "--json", LOG), ("diff", LOG, OTHER), ("diff", "--json", OTHER, LOG), ("export", "--to", "trace", LOG), ("export", "--to", "rmm", LOG),
    ("export", "--to", "csv", LOG), ("export", "--to", "csv", "--rows", "alloc", LOG), ("export", "--to", "chrome", LOG),
    ("export", "--to", "collapsed", LOG), ("export", "--to", "speedscope", LOG), ("export", "--to", "openmetrics", LOG),
    ("export", "--to", "torch-snapshot", "--out", OUT, LOG), ("export", "--to", "torch-snapshot", "--last", "3", "--out", OUT, LOG))
JSON = {("export", "--to", "chrome"), ("export", "--to", "speedscope")}
NUMBERS = ("0", "-1", "1.5", "1e999", "18446744073709551615", "18446744073709551616", "9" * 400, "4294967296", "9223372036854775807", "00", "0x10")
VALUES = ("null", "true", '"x"', "[]", "{}", '""', "[[[1]]]", '{"a":{"b":[1,2,{}]}}', '"\\u0000"', '"\\ud800"', '"' + "y" * 5000 + '"', '" > "', '"+0x1 > +0x2"')


def recorded():
    """The logs that the others are made of, small and large."""
    return [path.read_bytes() for path in sorted(DATA.rglob("*.jsonl"))]


class Fuzz(Case):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-fuzz-"))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        cls.log, cls.out, cls.written = cls.top / "broken.jsonl", cls.top / "out", None
        cls.environment = clean_environment(ASAN_OPTIONS=f"exitcode={FOUND}:detect_leaks=0", UBSAN_OPTIONS=f"exitcode={FOUND}:halt_on_error=1")
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
        if not SANITIZED:  # a runaway must not take the machine with it
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    def run_once(self, command, text):
        """Status, what it wrote and said, KiB."""
        if self.written is not text:  # some are large, and go through every command
            self.log.write_bytes(text)
            type(self).written = text
        words = [{LOG: str(self.log), OTHER: str(DATA / "late.jsonl"), OUT: str(self.out)}.get(word, word) for word in command]
        wrote, said = self.top / "stdout", self.top / "stderr"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        child = os.posix_spawn(TOOL, [str(TOOL), *words], self.environment,
                               file_actions=[(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, str(wrote), flags, 0o600),
                                             (os.POSIX_SPAWN_OPEN, 2, str(said), flags, 0o600)])
        before = signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
        signal.alarm(60)
        _, status, usage = os.wait4(child, 0)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        return os.waitstatus_to_exitcode(status), wrote.read_bytes(), said.read_text(errors="replace"), usage.ru_maxrss

    def check(self, command, text, what, also=()):
        status, wrote, said, memory = self.run_once(command, text)
        try:
            trouble = 2 if command[0] == "diff" else 3
            self.assertIn(status, (0, 1, trouble, *also), said[-2000:])
            self.assertTrue(SANITIZED or memory < MEMORY + resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, f"{memory} KiB")  # it begins as a copy
            if status == trouble:
                self.assertRegex(said, r"(?m)^shapecache: \S+: .*\S")
                self.assertTrue(all(line.startswith("shapecache: ") or line.startswith("try: ") for line in said.splitlines()), said)
            elif status in also:
                self.assertIn("shapecache: ", said)
            elif "--json" in command or command[:3] in JSON:
                json.loads(wrote.decode("utf-8"))
            elif "torch-snapshot" in command:
                self.assertEqual(pickle.loads(self.out.read_bytes()).keys(), {"segments", "device_traces"})
        except (AssertionError, ValueError, pickle.UnpicklingError) as error:
            kept = pathlib.Path(tempfile.gettempdir(), "shapecache-fuzz.jsonl")
            kept.write_bytes(text)
            raise AssertionError(f"{what} (SC_SEED={SEED}): {' '.join(command)} with {kept}: {error}") from error
        return status

    def test_a_log_cut_anywhere_is_told_up_to_there_or_refused(self):
        """Where the first record is whole, the rest of a line is no fault of the log's."""
        text = (DATA / "events.jsonl").read_bytes()
        first = text.index(b"\n")
        for length in range(len(text)):
            command = COMMANDS[length % len(COMMANDS)]
            status = self.check(command, text[:length], f"cut at byte {length}")
            if length <= first - 1:
                self.assertEqual(status, 2 if command[0] == "diff" else 3, length)

    def test_a_log_changed_at_random_is_told_or_refused(self):
        chance, logs = random.Random(SEED), recorded()
        told = 0
        for number in range(COUNT):
            text = chance.choice(logs)
            for _ in range(chance.randrange(1, 4)):
                text = chance.choice(CHANGES)(chance, text)
            told += self.check(COMMANDS[number % len(COMMANDS)], text, f"log {number}") in (0, 1)
        self.assertGreater(told, COUNT // 20)  # not all are refused at once
        self.assertLess(told, COUNT)

    def test_what_is_too_much_is_refused(self):
        run = b'{"ev":"run","t":0,"v":1,"pid":1}\n'
        for what, text in (("nested lists", run + b'{"ev":"x","t":1,"a":' + b"[" * 200000 + b"]" * 200000 + b"}\n"),
                           ("nested objects", run + b'{"ev":"x","t":1,"a":' + b'{"a":' * 200000 + b"1" + b"}" * 200000 + b"}\n"),
                           ("open lists", run + b"[" * 3000000), ("a long line", run + b'{"ev":"warn","t":1,"text":"' + b"x" * (5 << 20) + b'"}\n'),
                           ("a long name", run + b'{"' + b"n" * (5 << 20) + b'":1}\n'), ("no newline", b"x" * (6 << 20)), ("zeros", b"\0" * (6 << 20)),
                           ("nothing", b""), ("newlines", b"\n" * 100000), ("half a line", run[:-1])):
            for command in COMMANDS:
                status = self.check(command, text, what)
                if what not in ("open lists", "half a line"):
                    self.assertIn(status, (2, 3), (what, command))

    def test_more_of_everything_than_is_kept_is_counted_and_told(self):
        """Devices, changes, notes, shapes and sites without end take no memory without end."""
        lines = ['{"ev":"run","t":0,"v":1,"pid":1}']
        for i in range(6000):
            lines += [f'{{"ev":"phase","t":{i},"step":{i},"dev":0,"from":"p{i}","to":"q{i}","reason":"r{i}","scope":"s{i}"}}',
                      f'{{"ev":"phase","t":{i},"step":{i},"dev":{i},"from":"p{i}","to":"q{i}","reason":"r{i}"}}',
                      f'{{"ev":"site","t":{i},"site":"a+0x{i:x}","object":"/nowhere/{i}","build_id":"{i:x}"}}',
                      f'{{"ev":"warn","t":{i},"text":"t{i}"}}', f'{{"ev":"mark","t":{i},"name":"m{i}"}}',
                      f'{{"ev":"oom","t":{i},"step":{i},"dev":0,"bytes":{i},"result":2,"site":"a+0x{i:x}"}}',
                      f'{{"ev":"step","t":{i},"step":{i * 10**15},"dev":0,"phase":"q{i}","requests":1,"hits":0,"misses":1}}',
                      f'{{"ev":"shape","t":{i},"step":{i},"dev":{i % 100},"id":{i * 7},"bytes":{i},"requests":1,"site":"a+0x{i:x}"}}',
                      f'{{"ev":"alloc","t":{i},"step":{i * 10**15},"dev":0,"address":"0x{i * 4096 + 4096:x}","bytes":{1 << i % 64},"site":"a+0x{i:x}"}}',
                      f'{{"ev":"scope","t":{i},"step":{i},"dev":0,"name":"n{i}"}}']
        text = "\n".join(lines).encode() + b"\n"
        for command in COMMANDS:
            self.check(command, text, "more than is kept", also=(2,))  # --timeline has room for five devices


def flip(chance, text):
    text = bytearray(text)
    for _ in range(chance.randrange(1, 5)):
        if text:
            text[chance.randrange(len(text))] ^= 1 << chance.randrange(8)
    return bytes(text)


def cut(chance, text):
    return text[:chance.randrange(len(text) + 1)]


def noise(chance, text):
    at = chance.randrange(len(text) + 1)
    what = chance.choice((b"\0", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\r\n", b"\n", b"\n\n", b"\xef\xbb\xbf", b"{", b"}", b"[", b'"', b"\\", b",", b"\x1b[2J"))
    return text[:at] + what * chance.choice((1, 1, 1, 100)) + text[at:]


def whole_lines(chance, text):
    """Lines lost, twice, or elsewhere."""
    lines = text.split(b"\n")
    i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
    how = chance.randrange(4)
    if how == 0:
        del lines[i]
    elif how == 1:
        lines.insert(j, lines[i])
    elif how == 2:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines[i:] = lines[j:]
    return b"\n".join(lines)


def replaced(chance, text, pattern, what):
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    at = chance.choice(found)
    return text[:at.start(1)] + what + text[at.end(1):]


def number(chance, text):
    return replaced(chance, text, rb'":(\d+)', chance.choice(NUMBERS).encode())


def value(chance, text):
    return replaced(chance, text, rb'":("[^"]*"|\d+|\[[^\]]*\])', chance.choice(VALUES).encode())


def name(chance, text):
    """A field under another's name, which may be there already."""
    names = re.findall(rb'"(\w+)":', text) or [b"ev"]
    return replaced(chance, text, rb'"(\w+)":', chance.choice(names))


def field(chance, text):
    """A field lost, or one of another line added."""
    found = list(re.finditer(rb',"\w+":(?:"[^"]*"|\d+)', text))
    if not found:
        return text
    at, other = chance.choice(found), chance.choice(found)
    return text[:at.start()] + (other[0] if chance.randrange(2) else b"") + text[at.end():]


CHANGES = (flip, cut, noise, whole_lines, number, number, value, value, name, field)

main()
