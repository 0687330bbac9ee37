#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`shapecache report --html`: what is in the page, how large it may be, what no log can do to it. tests/browser looks at it
in a browser."""

import json
import os
import pathlib
import re
import resource
import subprocess
import tempfile

import tool

MIB = 1 << 20
PAGES = tool.ROOT / "src/cli/html"
HOSTILE = ["</script><script>alert(1)</script>", "<!--", "<img src=x onerror=alert(1)>", "a\u2028b\u2029c", "&amp;\"'\\", "\u0001\u001b[31m",
           "{{data}}", "=cmd()", "]]>"]


def line(ev, **fields):
    return json.dumps({"ev": ev, "t": fields.pop("t", 1)} | fields, ensure_ascii=False) + "\n"


def run_line(**more):
    return line("run", **({"v": 1, "pid": 7, "run": "made", "rank": 0, "world": 1, "devices": [{"dev": 0, "total": 8 << 30}]} | more))


def step_line(step, **more):
    return line("step", **({"step": step, "dev": 0, "phase": "fixed", "requests": 4, "hits": 3, "misses": 1, "live": MIB, "idle": MIB,
                            "live_peak": 2 * MIB, "held_peak": 3 * MIB, "driver_allocs": 1, "driver_frees": 1, "driver_ns": 50000} | more))


def shape_line(step, shape, **more):
    return line("shape", **({"step": step, "dev": 0, "id": shape, "bytes": MIB, "site": "a.out+0x10", "requests": 4, "hits": 3,
                             "misses": 1, "high": 2, "first_step": 0, "last_step": step} | more))


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def lane_of(page, number=0):
    return [lane for process in data_of(page)["processes"] for lane in process["lanes"]][number]


class Html(tool.Case):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="shapecache-html-")
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)
        self.page = self.folder / "page.html"

    def log(self, *lines, name="log.jsonl"):
        path = self.folder / name
        path.write_text("".join(lines))
        return path

    def make(self, *lines):
        answer = tool.call("report", "--html", self.page, self.log(*lines))
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (0, "", ""))
        return self.page.read_text()

    def test_the_page_is_one_file_that_names_no_other(self):
        page = self.make(run_line(), step_line(0))
        ours = page.replace((PAGES / "echarts/echarts.min.js").read_text(), "")
        self.assertEqual(re.findall(r'(?:src|href)=(?!"#|"data:,")[^ >]*|@import|url\(', ours), [])
        self.assertIn("default-src 'none'", ours)
        self.assertNotIn("{{", re.sub(r'id="data">.*?</script>', "", ours, flags=re.S))

    def test_the_licence_of_the_library_is_in_the_page(self):
        page = self.make(run_line(), step_line(0))
        for words in ("Apache License", "Copyright 2017-2025 The Apache Software Foundation", "Mike Bostock", "Baidu"):
            self.assertIn(words, page)

    def test_nothing_in_a_log_leaves_the_element_of_the_data(self):
        for text in HOSTILE:
            page = self.make(run_line(run=text, host=text, argv=[text], config={text: {"value": text, "from": text}}), step_line(0, phase="warmup"),
                             line("phase", step=1, dev=0, **{"from": "fixed", "to": "fallback", "reason": "new-shape"}, shape=0, bytes=MIB, site=text),
                             shape_line(0, 0, site=text, label=text), line("mark", step=0, dev=0, name=text), line("warn", text=text),
                             line("arena", dev=0, name=text, what="end", capacity=1, used=1, used_peak=1, demand_peak=1, offloads=1, onloads=1),
                             line("oom", step=0, dev=0, bytes=1, site=text, result=2))
            data = re.search(r'id="data">(.*?)</script>', page, re.S)[1]
            self.assertEqual(page.count("</script>"), 3, text)
            for c in "<>&\u2028\u2029":
                self.assertNotIn(c, data)
            lane = lane_of(page)
            self.assertEqual((lane["shapes"]["site"][0], lane["changes"][0]["site"]), (text, text))
            self.assertEqual(json.loads(data)["run"], text)

    def test_long_texts_of_a_log_are_cut_between_two_characters(self):
        page = self.make(run_line(argv=["\u00e9" * 500000]), step_line(0), shape_line(0, 0, site="\u00e9" * 1000000),
                         line("mark", step=0, dev=0, name="\u00e9" * 1000000))
        self.assertLess(len(page), 2 * MIB)
        self.assertEqual(lane_of(page)["shapes"]["site"][0], "\u00e9" * 200 + "...")

    def test_a_log_of_a_million_steps_makes_a_small_page_in_little_memory(self):
        path, steps = self.folder / "big.jsonl", 1000000
        with path.open("w") as file:
            file.write(run_line())
            for first in range(0, steps, 10000):
                file.write("".join(
                    f'{{"ev":"step","t":{i},"step":{i},"dev":0,"phase":"fixed","requests":24,"hits":{23 if i == 777777 else 24},'
                    f'"misses":{int(i == 777777)},"live":{i},"live_peak":{MIB + i},"held_peak":{2 * MIB + i},"driver_ns":1}}\n'
                    for i in range(first, first + 10000)))
            file.writelines(shape_line(steps, shape, first_step=shape, last_step=steps - 1) for shape in range(5000))
        done = subprocess.run([tool.TOOL, "report", "--html", self.page, path], capture_output=True, text=True, timeout=110, check=False,
                              env=tool.clean_environment(), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (64 * MIB, 64 * MIB)))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLess(self.page.stat().st_size, 5 * MIB)
        lane = lane_of(self.page.read_text())
        series = lane["series"]
        self.assertLessEqual(series["count"], 2000)
        self.assertEqual(sum(series["rows"]), steps)
        self.assertEqual(sum(series["misses"]), 1)  # the one step that was different is still seen
        self.assertEqual(min(series["rate_least"]), 9583)
        self.assertEqual(max(x for x in series["live_peak"] if x is not None), MIB + steps - 1)
        self.assertEqual((lane["shapes_seen"], lane["shapes"]["left_out"]), (5000, 4000))

    def test_of_many_ranks_the_page_stays_small(self):
        paths = [self.log(run_line(rank=rank, world=200, pid=rank + 1), *(step_line(s, held_peak=(100 + rank) * MIB) for s in range(300)),
                          *(shape_line(299, shape) for shape in range(300)), name=f"r{rank}.jsonl") for rank in range(200)]
        answer = tool.call("report", "--html", self.page, *paths)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertLess(self.page.stat().st_size, 5 * MIB)
        data = data_of(self.page.read_text())
        self.assertEqual(len(data["processes"]), 200)
        self.assertEqual(sum("series" in p["lanes"][0] for p in data["processes"]), 16)
        self.assertEqual((data["envelope"]["held_peak"]["least"][0], data["envelope"]["held_peak"]["most"][0]), (100 * MIB, 299 * MIB))

    def test_a_step_that_never_ended_has_its_events(self):
        lane = lane_of(self.make(run_line(), step_line(0), line("oom", step=1, dev=0, bytes=MIB, result=2), shape_line(1, 0, first_step=1, last_step=1)))
        self.assertEqual(lane["events"], [{"step": 1, "kind": "oom", "text": "no memory for 1.00 MiB: the program got the error"}])
        self.assertEqual(lane["series"]["new_shapes"], [0, 1])
        self.assertEqual(lane["series"]["live_peak"], [2 * MIB, None])

    def test_requests_between_two_records_of_a_shape_lie_in_the_steps_they_tell_of(self):
        lane = lane_of(self.make(run_line(), *map(step_line, range(8)), shape_line(0, 0, requests=2, first_step=0, last_step=0),
                                 shape_line(4, 0, requests=2, last_step=0), shape_line(8, 0, requests=6, last_step=5)))
        self.assertEqual(lane["presence"]["cells"], ["b...bb..."])
        self.assertFalse(lane["presence"]["is_exact"])

    def test_at_level_event_every_request_lies_in_its_step(self):
        alloc = [line("alloc", step=step, dev=0, address="0x1", bytes=MIB, shape=0) for step in (0, 2, 2, 2, 5)]
        lane = lane_of(self.make(run_line(), *map(step_line, range(6)), shape_line(0, 0, requests=1, last_step=0), *alloc,
                                 shape_line(6, 0, requests=5, last_step=5)))
        self.assertEqual(lane["presence"]["cells"], ["a.c..a."])
        self.assertTrue(lane["presence"]["is_exact"])

    def test_the_shape_that_broke_the_set_is_shown_however_small(self):
        shapes = [shape_line(9, shape, bytes=(shape + 1) * MIB) for shape in range(1, 400)]
        lane = lane_of(self.make(run_line(), *map(step_line, range(9)), line("phase", step=8, dev=0, **{"from": "fixed", "to": "fallback"},
                                                                             reason="new-shape", shape=0, bytes=65536),
                                 shape_line(9, 0, bytes=65536, high=1, first_step=8), *shapes))
        self.assertIn(0, lane["presence"]["ids"])

    def test_the_verdict_has_the_figures_of_the_report(self):
        path = self.log(run_line(), *map(step_line, range(10)))
        tool.call("report", "--html", self.page, path)
        data = data_of(self.page.read_text())
        self.assertEqual(data["verdict"]["grade"], "partly")
        self.assertIn("30 of 40 requests (75.00%)", data["verdict"]["text"])
        self.assertEqual(data["text"], tool.call("report", path).stdout)

    def test_the_verdict_of_a_run_that_never_was_fixed_is_no(self):
        data = data_of(self.make(run_line(), *(step_line(s, phase="warmup", hits=0, misses=0, bypassed=4) for s in range(9)), shape_line(8, 0)))
        self.assertEqual(data["verdict"]["grade"], "no")
        self.assertIn("never became fixed in 9 steps", data["verdict"]["text"])

    def test_a_log_without_a_step_or_a_device_has_a_page(self):
        data = data_of(self.make(run_line()))
        self.assertEqual((data["verdict"]["grade"], data["processes"][0]["lanes"]), ("none", []))

    def test_a_log_cut_short_is_shown_up_to_there(self):
        text = "".join([run_line(), *map(step_line, range(5))])
        page = self.make(text[:-20])
        self.assertTrue(data_of(page)["processes"][0]["is_cut"])
        self.assertEqual(sum(lane_of(page)["series"]["rows"]), 4)

    def test_a_malformed_log_is_named_and_leaves_no_page(self):
        path = self.log(run_line(), step_line(0), '{"ev":"step","t":1,"step":"x"}\n')
        self.fails(tool.call("report", "--html", self.page, path), 3, "log.jsonl, line 3")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["log.jsonl"])

    def test_absurd_numbers_do_not_break_the_page(self):
        most = (1 << 64) - 1
        lane = lane_of(self.make(run_line(), step_line(most - 1, requests=most, hits=most, live_peak=most, driver_ns=most), step_line(0),
                                 shape_line(most, most - 1, bytes=most, high=most, requests=most, first_step=most, last_step=0)))
        self.assertLessEqual(lane["series"]["count"], 2000)

    def test_a_page_goes_to_standard_output(self):
        answer = tool.call("report", "--html", "-", self.log(run_line(), step_line(0)))
        self.assertEqual(answer.returncode, 0)
        self.assertTrue(answer.stdout.startswith("<!doctype html>"))
        self.assertEqual(lane_of(answer.stdout)["steps"], 1)

    def test_a_page_is_replaced_whole_but_never_the_log(self):
        path = self.log(run_line(), step_line(0))
        self.page.write_text("old")
        self.assertEqual(tool.call("report", "--html", self.page, path).returncode, 0)
        self.assertNotEqual(self.page.read_text(), "old")
        self.fails(tool.call("report", "--html", path, path), 2, "is the log that is read")
        self.assertEqual(path.read_text(), run_line() + step_line(0))

    def test_standard_input_and_two_runs_are_refused_with_the_reason(self):
        one, two = self.log(run_line(run="one"), name="a.jsonl"), self.log(run_line(run="two"), name="b.jsonl")
        self.fails(tool.call("report", "--html", self.page, "-"), 2, "reads a log twice")
        pipe, writer = os.pipe()
        os.close(writer)
        self.fails(tool.call("report", "--html", self.page, f"/dev/fd/{pipe}", pass_fds=(pipe,)), 2, "reads a log twice")
        os.close(pipe)
        for other in "--json", "--timeline":
            self.fails(tool.call("report", other, "--html", self.page, one), 2, f"--html or {other}")
        self.fails(tool.call("report", "--html", self.page, one, two), 2, "one and two", "diff")
        self.fails(tool.call("report", "--html"), 2, "--html wants the name of a file")
        self.assertFalse(self.page.exists())

    def test_every_script_is_in_the_table_and_none_ends_its_element(self):
        scripts = sorted(PAGES.glob("*.js"))
        self.assertGreater(len(scripts), 5)
        named = re.findall(r'^SCRIPT\(\w+, "(.*)"\)', (tool.ROOT / "src/cli/html_files.def").read_text(), re.M)
        self.assertEqual(sorted(named), [path.name for path in scripts])
        for path in scripts:
            self.assertNotIn("</script", path.read_text())


if __name__ == "__main__":
    tool.main()
