#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache export: what each format makes of a log, and what it says of one that does not hold enough."""

import csv
import io
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile

from tool import DATA, TOOL, Case, call, clean_environment, main

LOG = DATA / "events.jsonl"
RECORDS = [json.loads(line) for line in LOG.read_text().splitlines()]


class Export(Case):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def log(self, records, name="log.jsonl"):
        path = self.folder / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def exported(self, form, *options, log=LOG):
        answer = call("export", "--to", form, *options, log)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return answer.stdout, answer.stderr

    def refused(self, form, log, *words):
        self.fails(call("export", "--to", form, log), 3, *words)

    def test_a_trace(self):
        text, said = self.exported("trace")
        self.expect("events.trace", text)
        self.assertIn("left out 1 requests of devices other than 0 (see --dev)", said)
        self.assertIn("the steps are those that the cache inferred (live)", said)

    def test_a_log_as_of_rmm(self):
        self.expect("events.rmm.csv", self.exported("rmm")[0])

    def test_tables_of_steps_and_of_other_records(self):
        self.assertTrue(self.exported("csv")[0].startswith("rank,t,step,dev,dur_ns,phase,"))
        self.assertEqual(self.exported("csv")[0], self.exported("csv", "--rows", "step")[0])
        self.assertIn(',"train, ""odd""+0x1",', self.exported("csv", "--rows", "phase")[0])
        for kind in {record["ev"] for record in RECORDS} - {"run"}:
            rows = list(csv.DictReader(io.StringIO(self.exported("csv", "--rows", kind)[0])))
            records = [record for record in RECORDS if record["ev"] == kind]
            self.assertEqual(len(rows), len(records), kind)
            self.assertLessEqual({row["rank"] for row in rows}, {"1"}, kind)
            for row, record in zip(rows, records):
                told = {name: value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
                        for name, value in record.items() if name != "ev"}
                self.assertEqual({name: value for name, value in row.items() if value}, told | {"rank": "1"})

    def test_a_timeline(self):
        text, said = self.exported("chrome")
        self.expect("events.chrome.json", text)
        self.assertEqual(said, "")
        events = json.loads(text)["traceEvents"]
        spans = [e for e in events if e["ph"] == "X" and e["tid"] == 0]
        self.assertEqual([(e["name"], e["ts"], e["ts"] + e["dur"]) for e in spans],
                         [("warmup", 0, 5), ("fixed", 5, 13.5), ("fallback", 13.5, 20)])
        self.assertEqual([e["args"] for e in events if e["ph"] == "C" and e["name"] == "device 0 held"],
                         [{"live": r["live"], "idle": r["idle"]} for r in RECORDS if r["ev"] == "step"])

    def test_ranks_share_one_clock_of_a_timeline(self):
        run = self.folder / "run"
        run.mkdir()
        for rank, late in (0, 3000), (1, 0):
            records = [dict(record) for record in RECORDS]
            records[0] |= {"rank": rank, "t0_unix_ns": records[0]["t0_unix_ns"] + late}
            self.log(records, f"run/r{rank}.jsonl")
        events = json.loads(self.exported("chrome", log=run)[0])["traceEvents"]
        first = [next(e for e in events if e["pid"] == pid and e["ph"] == "C") for pid in (0, 1)]
        self.assertEqual([e["ts"] for e in first], [8, 5])
        self.assertEqual([e["args"]["name"] for e in events if e["name"] == "process_name"],
                         ["rank 0: process 4242 on box", "rank 1: process 4242 on box"])
        rows = list(csv.DictReader(io.StringIO(self.exported("csv", log=run)[0])))
        self.assertEqual([row["rank"] for row in rows], ["0"] * 3 + ["1"] * 3)

    def test_stacks(self):
        records = [dict(record) for record in RECORDS if record["ev"] not in ("alloc", "free")]
        shape = {"ev": "shape", "t": 17000, "step": 3, "dev": 0, "id": 0, "bytes": 1000, "site": "main+0x1 > net+0x2 > op;x+0x3", "requests": 9, "high": 1}
        records += [shape, shape | {"t": 18000, "high": 3}, shape | {"id": 1, "bytes": 50, "site": "main+0x1"}, shape | {"id": 2, "bytes": 7, "high": 2},
                    shape | {"id": 3, "dev": 1, "bytes": 11}]
        no_site = {name: value for name, value in shape.items() if name != "site"} | {"id": 4, "high": 5}
        log = self.log([*records, no_site])
        self.assertEqual(self.exported("collapsed", log=log)[0],
                         "main+0x1 50\nmain+0x1;net+0x2;op:x+0x3 3025\nunknown 5000\n")
        self.assertEqual(self.exported("collapsed", "--dev", "1", log=log)[0], "main+0x1;net+0x2;op:x+0x3 11\n")
        document = json.loads(self.exported("speedscope", log=log)[0])
        frames, profile = [frame["name"] for frame in document["shared"]["frames"]], document["profiles"][0]
        self.assertEqual([[frames[i] for i in stack] for stack in profile["samples"]],
                         [["main+0x1"], ["main+0x1", "net+0x2", "op;x+0x3"], ["unknown"]])
        self.assertEqual((profile["weights"], profile["endValue"], profile["unit"]), ([50, 3025, 5000], 8075, "bytes"))
        self.assertEqual(self.exported("collapsed", log=self.log(RECORDS))[0], "")
        self.refused("collapsed", self.log([*records, shape | {"id": 1 << 32}]), f"line {len(records) + 1}: expected a shape below 2^32")

    def test_a_name_with_ends_of_lines_is_one_line(self):
        shape = {"ev": "shape", "t": 1, "step": 0, "dev": 0, "id": 0, "bytes": 5, "requests": 1, "high": 1, "site": "a\n7;\x1b[31mb 3\r"}
        self.assertEqual(self.exported("collapsed", log=self.log([*RECORDS, shape]))[0], "a?7:?[31mb 3? 5\n")

    def test_totals(self):
        self.expect("late.openmetrics", self.exported("openmetrics", log=DATA / "late.jsonl")[0])
        late = [json.loads(line) for line in (DATA / "late.jsonl").read_text().splitlines()]
        whole = self.exported("openmetrics", log=self.log(late))[0]
        killed, said = self.exported("openmetrics", log=self.log(late[:-1]))
        self.assertIn("device 0 has no end: its figures are those of its steps", said)
        differ = {line.split("{")[0] for line in set(whole.splitlines()) ^ set(killed.splitlines())}
        steps = [record for record in late if record["ev"] == "step"]
        for name in "requests", "hits", "misses", "bypassed":
            self.assertIn(f'shapecache_{name}_total{{run="{late[0]["run"]}",rank="0",pid="4711",device="0"}} {sum(r[name] for r in steps)}\n', killed)
        self.assertLessEqual(differ, {"shapecache_driver_allocs_total", "shapecache_driver_frees_total"}, "the log's own end and steps differ in these")
        late[0]["run"] = 'a "b"\\c'
        self.assertIn('{run="a \\"b\\"\\\\c",rank="0",pid="4711",device="0"}', self.exported("openmetrics", log=self.log(late))[0])
        text = self.exported("openmetrics", log=DATA / "ranks")[0]
        self.assertEqual(len(set(re.findall(r'^shapecache_requests_total\{.*rank="(\d+)"', text, re.M))), len(list((DATA / "ranks").glob("r*.jsonl"))))
        self.assertEqual(len(re.findall("^# TYPE ", text, re.M)), len(set(re.findall(r"^# TYPE (\S+)", text, re.M))))
        self.assertTrue(text.endswith("\n# EOF\n"))

    def test_two_processes_of_a_rank_are_two_series(self):
        late = [json.loads(line) for line in (DATA / "late.jsonl").read_text().splitlines()]
        second = self.folder / "second.jsonl"
        second.write_text("".join(json.dumps(record | {"pid": 9} if record["ev"] == "run" else record) + "\n" for record in late))
        text = call("export", "--to", "openmetrics", DATA / "late.jsonl", second).stdout
        series = [line.rpartition(" ")[0] for line in text.splitlines() if line[0] != "#"]
        self.assertEqual(len(series), 2 * len(re.findall("^# TYPE ", text, re.M)))
        self.assertEqual(len(set(series)), len(series))

    def test_of_one_device_only(self):
        self.assertEqual(self.exported("trace", "--dev", "1")[0], "# shapecache 0.1.0, device 1\n# step 0\na 0 64\n")
        self.assertEqual(self.exported("csv", "--rows", "alloc", "--dev", "1")[0].count("\n"), 2)
        self.assertEqual(len(json.loads(self.exported("chrome", "--dev", "3")[0])["traceEvents"]), 2)
        self.fails(call("export", "--to", "trace", "--dev", "3", LOG), 3, "has no request on device 3")

    def test_a_log_without_requests_says_which_level_has_them(self):
        for form in "trace", "rmm":
            self.refused(form, DATA / "late.jsonl", "late.jsonl has no record of a request", "SHAPECACHE_LOG_LEVEL=event")
        records = [dict(record) for record in RECORDS if record["ev"] not in ("alloc", "free")]
        records[0]["config"] = {"SHAPECACHE_LOG_LEVEL": {"value": "step", "from": "default"}}
        self.refused("trace", self.log(records), "log.jsonl was written at level step, and trace needs a record of every request",
                     "SHAPECACHE_LOG_LEVEL=event")
        self.fails(call("export", "--to", "csv", "--rows", "alloc", self.log(records)), 3, "SHAPECACHE_LOG_LEVEL=event")
        records[0]["config"] = {"SHAPECACHE_LOG_LEVEL": {"value": "event", "from": "env"}}
        self.refused("trace", self.log(records), "has no record of a request", "SHAPECACHE_LOG_LEVEL=event")
        del records[0]["config"]
        self.refused("rmm", self.log(records), "has no record of a request", "SHAPECACHE_LOG_LEVEL=event")
        records[0]["config"] = {"SHAPECACHE_LOG_LEVEL": {"value": "summary", "from": "env"}}
        for form in "csv", "chrome":
            self.refused(form, self.log(records), "level summary", "a record of every step", "SHAPECACHE_LOG_LEVEL=step")
        self.assertEqual(self.exported("csv", "--rows", "phase", log=self.log(records))[0].count("\n"), 3)

    def test_what_is_missing_in_a_log_is_said(self):
        number = next(i for i, r in enumerate(RECORDS) if r["ev"] == "free" and r["n"] == 3)
        text, said = self.exported("trace", log=self.log(RECORDS[:number] + RECORDS[number + 1:]))
        self.assertIn("1 requests are missing", said)
        self.assertIn("# step 1\nf 1\na 2 512\n", text)  # freed at the latest where its address is handed out again
        text, said = self.exported("trace", log=self.log(RECORDS[:12]))
        self.assertIn("the log has no end: the run was killed, or is not over; step 1 is the last", said)
        self.assertEqual(text, "".join(line + "\n" for line in self.exported("trace")[0].splitlines()[:text.count("\n")]))
        warn = {"ev": "warn", "t": 8500, "text": "full", "level": "step"}
        records = [r for r in RECORDS if r["ev"] not in ("alloc", "free") or r["t"] < 8500]
        said = self.exported("trace", log=self.log(records[:-2] + [warn] + records[-2:]))[1]
        self.assertIn("the requests end in step 1, where the log was three quarters full", said)
        self.assertNotIn("no end", said)

    def test_a_cut_last_line_is_left_out_and_said(self):
        text = LOG.read_text()
        path = self.folder / "cut.jsonl"
        path.write_text(text[:text.rindex('"elsewhere"')])
        out, said = self.exported("trace", log=path)
        self.assertIn("the last line is cut short and left out", said)
        self.assertIn("a 4 4194304\n", out)
        self.assertNotIn("f 0\n", out)

    def test_a_malformed_log_is_refused_with_its_line(self):
        number = next(i for i, r in enumerate(RECORDS) if r["ev"] == "alloc") + 1
        for change, words in [({"address": "7f00"}, "expected an address in hexadecimal digits, found \"7f00\""),
                              ({"address": "0x"}, "expected an address"), ({"address": "0x0"}, "expected an address"),
                              ({"address": "0x12345678123456781"}, "expected an address"), ({"address": 5}, "expected a text as \"address\""),
                              ({"bytes": -1}, "expected a whole number as \"bytes\""), ({"bytes": None}, "expected a whole number"),
                              ({"step": "x"}, "expected a whole number")]:
            records = [dict(record) for record in RECORDS]
            records[number - 1] |= change
            for form in "trace", "rmm":
                answer = call("export", "--to", form, self.log(records))
                self.assertEqual(answer.returncode, 3, change)
                self.assertIn(f"line {number}: {words}", answer.stderr)
        for field in "address", "bytes", "dev":
            records = [{name: value for name, value in record.items() if record["ev"] != "alloc" or name != field} for record in RECORDS]
            self.refused("trace", self.log(records), f'a alloc record lacks "{field}"')
        for change, words in [({"step": 0}, "expected step 3 or a later one, found 0"), ({"n": 2}, "expected request 11 or a later one, found 2")]:
            records = [dict(record) for record in RECORDS]
            last = max(i for i, r in enumerate(records) if r["ev"] == "free")
            records[last] |= change
            answer = call("export", "--to", "trace", self.log(records))
            self.assertEqual(answer.returncode, 3)
            self.assertIn(f"line {last + 1}: {words}", answer.stderr)
        self.refused("trace", self.folder / "none", "none: No such file")
        (self.folder / "empty").write_text("")
        self.refused("chrome", self.folder / "empty", "the log is empty")
        self.refused("csv", DATA / "late.txt", "late.txt, line 1")

    def test_random_damage_never_does_more_than_fail(self):
        import random
        seed = int(os.environ.get("SC_SEED", "20261129"))
        print(f"SC_SEED={seed}")
        dice = random.Random(seed)
        whole = LOG.read_bytes()
        for _ in range(60):
            bad = bytearray(whole)
            for _ in range(dice.randrange(1, 6)):
                at = dice.randrange(len(bad))
                bad[at:at + dice.randrange(0, 30)] = bytes(dice.choice(b'{}[],:"0x9\\\n\xff-e') for _ in range(dice.randrange(0, 6)))
            path = self.folder / "bad.jsonl"
            path.write_bytes(bad)
            for form in "trace", "rmm", "csv", "chrome", "collapsed", "speedscope", "openmetrics":
                done = subprocess.run([str(TOOL), "export", "--to", form, str(path)], capture_output=True, timeout=60, env=clean_environment(), check=False)
                self.assertIn(done.returncode, (0, 3), (form, bytes(bad)))
                self.assertTrue(done.returncode == 0 or done.stderr.splitlines()[-1].startswith(b"shapecache: export: "), done.stderr)

    def test_a_file_is_written_whole_or_not_at_all(self):
        path = self.folder / "out"
        path.write_text("before")
        text = self.exported("trace")[0]
        answer = call("export", "--to", "trace", "--out", path, LOG)
        self.assertEqual((answer.returncode, answer.stdout, path.read_text()), (0, "", text), answer.stderr)
        self.fails(call("export", "--to", "trace", "--out", path, DATA / "late.jsonl"), 3)
        self.fails(call("export", "--to", "trace", "--out", path, DATA / "cut.jsonl"), 3)
        self.assertEqual(path.read_text(), text)
        self.fails(call("export", "--to", "csv", "--out", self.folder / "no" / "out", LOG), 3, "cannot write", "No such file")
        self.fails(call("export", "--to", "csv", "--out", self.folder, LOG), 3, "cannot write", "Is a directory")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["out"])
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
            self.assertEqual(call("export", "--to", "trace", "--out", pipe, LOG).returncode, 0)
            self.assertEqual(reader.communicate(timeout=60)[0], text)
        self.assertTrue(pipe.is_fifo())

    def test_a_log_that_is_read_is_never_written_over(self):
        log = self.folder / "r1.jsonl"
        shutil.copy(LOG, log)
        for read in [log], [self.folder], [LOG, log]:
            self.fails(call("export", "--to", "csv", "--out", log, *read), 2, f"export: {log} is the log that is read")
        self.assertEqual(log.read_bytes(), pathlib.Path(LOG).read_bytes())

    def test_what_cannot_be_understood_is_refused(self):
        self.fails(call("export", LOG), 2, "--to wants trace, rmm, csv, chrome, collapsed, speedscope, openmetrics or torch-snapshot")
        self.fails(call("export", "--to", "pdf", LOG), 2, "--to wants")
        self.fails(call("export", "--to"), 2, "--to wants")
        self.fails(call("export", "--to", "csv"), 2, "which log")
        for kind in "lines", "run":
            self.fails(call("export", "--to", "csv", "--rows", kind, LOG), 2, "--rows wants")
        self.fails(call("export", "--to", "csv", "--dev", "x", LOG), 2, "--dev wants")
        self.fails(call("export", "--to", "csv", LOG, "--out"), 2, "--out wants")
        self.fails(call("export", "--ot", "csv", LOG), 2, '"--ot"')
        self.fails(call("export", "--to", "trace", LOG, DATA / "late.jsonl"), 2, "trace takes one log")
        self.fails(call("export", "--to", "csv", self.folder), 3, "has no log in it")

    def test_a_log_comes_from_standard_input_too(self):
        with LOG.open() as log:
            answer = call("export", "--to", "trace", "-", stdin=log)
        self.assertEqual((answer.returncode, answer.stdout), (0, self.exported("trace")[0]))

    def test_a_long_log_needs_the_memory_of_what_is_live(self):
        block = [r for r in RECORDS if r["ev"] in ("alloc", "free")][:1][0]
        path = self.folder / "long.jsonl"
        with path.open("w") as file:
            file.write(json.dumps(RECORDS[0]) + "\n")
            for i in range(100000):
                address = hex(0x7f0000000000 + i * 4096)
                file.write(json.dumps(block | {"n": 2 * i, "address": address}) + "\n")
                file.write(json.dumps(block | {"ev": "free", "n": 2 * i + 1, "address": address}) + "\n")
        least = path.stat().st_size // 4

        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (least, least))

        self.assertGreater(least, 4 << 20)
        answer = call("export", "--to", "trace", path, preexec_fn=limit)
        self.assertEqual((answer.returncode, answer.stdout.count("\n")), (0, 200002), answer.stderr)


main()
