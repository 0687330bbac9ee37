#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache ranks and oom: several logs of one run side by side, and every out-of-memory of them. data/four and data/oom are
recorded runs of the training program, each rank a process; rank 2 of four has other lengths, rank 3 was killed, and rank 4
left no log; rank 1 of oom ran out of memory twice."""

import json
import pathlib
import shutil
import tempfile

from tool import DATA, Case, call, main


def records(log):
    return [json.loads(line) for line in (DATA / log).read_text().splitlines()]


class Logs(Case):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, lines):
        path = self.folder / name
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return path

    def told(self, *arguments):
        answer = call(*arguments, cwd=DATA)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        if "--json" not in arguments:
            for line in answer.stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)
                self.assertEqual(line, line.rstrip())
        return answer.stdout

    def run_of(self, command, *arguments):
        document = json.loads(self.told(command, "--json", *arguments))
        self.assertEqual(document["v"], 1)
        self.assertEqual(len(document["runs"]), 1)
        return document["runs"][0]

    def copies(self, count, change=lambda rank, lines: None):
        """So many ranks with the records of rank 0 of data/four, each changed."""
        for rank in range(count):
            lines = records("four/r0.jsonl")
            lines[0] |= {"rank": rank, "world": count, "pid": 7000 + rank}
            change(rank, lines)
            self.write(f"r{rank}.jsonl", lines)
        return self.folder


class Ranks(Logs):
    def test_the_list_of_a_recorded_run(self):
        self.expect("four-ranks.txt", self.told("ranks", "four"))
        self.expect("oom-ranks.txt", self.told("ranks", "oom"))

    def test_a_log_that_is_named_twice_is_one(self):
        (self.folder / "link").symlink_to(DATA / "four/r2.jsonl")
        for command in "ranks", "oom", "report", "arena":
            wanted = call(command, "four", cwd=DATA)
            for again in ("four/r2.jsonl",), ("four",), ("./four/r0.jsonl", self.folder / "link"):
                answer = call(command, "four", *again, cwd=DATA)
                self.assertEqual((answer.returncode, answer.stdout), (wanted.returncode, wanted.stdout), (command, again))

    def test_a_line_says_what_the_log_says(self):
        run = self.run_of("ranks", "four")
        for line in run["ranks"]:
            log = records(f"four/r{line['rank']}.jsonl")
            ends = [record for record in log if record["ev"] == "end"]
            steps = [record for record in log if record["ev"] == "step"]
            self.assertEqual((line["pid"], line["host"]), (log[0]["pid"], log[0]["host"]))
            self.assertEqual(line["is_complete"], bool(ends))
            self.assertEqual(line["held"], max(step["held_peak"] for step in steps))
            self.assertEqual(line["last_step"], steps[-1]["step"])
            for end in ends:
                self.assertEqual((line["steps"], line["fallback"], line["oom"], line["strict"], line["wait"], line["requests"]),
                                 (end["steps"], end["fallbacks"], end["ooms"], end["strict"], end["wait_ns"], end["requests"]))
                self.assertEqual(line["hit"], 10000 * end["hits"] // (end["hits"] + end["misses"]))
            fixed = [step for step in steps if step["phase"] == "fixed"]
            settled = [step for step in fixed if step["step"] > fixed[0]["step"]]
            self.assertEqual(line["settled"], 10000 * sum(s["hits"] for s in settled) // sum(s["hits"] + s["misses"] for s in settled))

    def test_those_that_differ_are_named_with_what_and_by_how_much(self):
        run = self.run_of("ranks", "four")
        self.assertEqual(run["ranks_without_log"], "4")
        self.assertEqual([line["differs"] for line in run["ranks"]], [False, False, True, True])
        odd = {(one["rank"], one["what"]): (one.get("value"), one.get("usual")) for one in run["outliers"]}
        self.assertEqual(odd[2, "phases"], (9, None))
        self.assertEqual(odd[2, "shapes"], (4, 0))
        self.assertEqual(odd[2, "strict"], (1, 0))
        self.assertEqual(odd[3, "end"], (8, 15))
        self.assertEqual({what for rank, what in odd if rank == 3}, {"end"})  # no figure of a log that ends early is compared

    def test_ranks_that_agree_are_not_marked(self):
        run = self.run_of("ranks", self.copies(5))
        self.assertEqual(run["outliers"], [])
        self.assertEqual([line["differs"] for line in run["ranks"]], [False] * 5)
        self.assertNotIn("!", self.told("ranks", self.folder))

    def test_a_run_in_which_all_differ_has_no_odd_one(self):
        def spread(rank, lines):
            lines[-1]["held_peak"] = (rank + 1) << 30

        self.assertEqual([one["what"] for one in self.run_of("ranks", self.copies(7, spread))["outliers"]], [])

    def test_one_that_holds_more_than_the_others_is_told(self):
        def more(rank, lines):
            lines[-1]["held_peak"] = 96 << 20 if rank == 5 else (72 << 20) + rank

        run = self.run_of("ranks", self.copies(7, more))
        self.assertEqual([(one["rank"], one["what"], one["value"]) for one in run["outliers"]], [(5, "held", 96 << 20)])
        self.assertIn("peak held 96.0 MiB; the median is 72.0 MiB (+33%)", self.told("ranks", self.folder))

    def test_of_two_ranks_the_second_is_held_against_the_first(self):
        def more(rank, lines):
            lines[-1]["held_peak"] = (96 if rank else 72) << 20

        run = self.run_of("ranks", self.copies(2, more))
        self.assertEqual([(one["rank"], one["what"]) for one in run["outliers"]], [(1, "held")])
        self.assertIn("peak held 96.0 MiB; the other's is 72.0 MiB (+33%)", self.told("ranks", self.folder))

    def test_what_a_rank_lacks_and_what_most_have_alone_is_told(self):
        def without(rank, lines):
            if rank == 1:
                lines[:] = [line for line in lines if line["ev"] != "shape" or line["bytes"] != 6 << 20]

        self.assertIn("it lacks 1 shape that all others have, the largest 6.00 MiB", " ".join(self.told("ranks", self.copies(4, without)).split()))

        def own(rank, lines):
            shape = next(line for line in lines if line["ev"] == "shape")
            lines.insert(-1, shape | {"id": 900, "bytes": (9 << 20) + rank})

        run = self.run_of("ranks", self.copies(4, own))
        self.assertEqual(run["most_differ"], "4 of 4 ranks have shapes that no other has: what they train on differs")
        self.assertEqual(run["outliers"], [])

    def test_sizes_that_never_change_the_phase_are_not_compared(self):
        def own(rank, lines):
            shape = next(line for line in lines if line["ev"] == "shape")
            lines.insert(-1, shape | {"id": 900, "bytes": 5000 + rank})

        run = self.run_of("ranks", self.copies(4, own))
        self.assertEqual((run["outliers"], run.get("most_differ")), ([], None))

    def test_it_is_sorted_by_what_is_asked_for_most_first(self):
        for name in ("steps", "hit", "fallback", "oom", "live", "held", "alloc", "wait"):
            values = [line[name] for line in self.run_of("ranks", "--sort", name, "four")["ranks"]]
            self.assertEqual(values, sorted(values, reverse=True), name)
        self.assertEqual(self.told("ranks", "--sort", "rank", "four"), self.told("ranks", "four"))
        self.assertEqual([line["rank"] for line in self.run_of("ranks", "--sort", "held", "--top", "1", "four")["ranks"]], [2])

    def test_several_runs_are_told_one_after_another(self):
        document = json.loads(self.told("ranks", "--json", "four/r2.jsonl", "late.jsonl", "four/r0.jsonl", self.write_other_run()))
        self.assertEqual([[line["rank"] for line in run["ranks"]] for run in document["runs"]], [[0, 0, 2], [0]])

    def write_other_run(self):
        lines = records("late.jsonl")
        lines[0]["run"] = "another"
        return self.write("another.jsonl", lines)

    def test_hundreds_of_ranks_on_many_hosts_fit(self):
        def place(rank, lines):
            lines[0]["host"] = f"node{rank // 8}"

        text = self.told("ranks", self.copies(64, place))
        self.assertIn("host      node7: rank 56-63\n", text)
        self.assertEqual(len([line for line in text.splitlines() if " fixed " in line]), 64)

    def test_a_long_list_of_missing_ranks_ends_between_two_of_them(self):
        def sparse(rank, lines):
            lines[0] |= {"rank": 10000 * (2 * rank + 1), "world": 2**64 - 1}

        missing = self.run_of("ranks", self.copies(80, sparse))["ranks_without_log"].split(", ")
        self.assertEqual(missing[-1], "...")
        for i, part in enumerate(missing[1:-1]):
            self.assertEqual(part, f"{10000 * (2 * i + 1) + 1}-{10000 * (2 * i + 3) - 1}")
        self.assertGreater(len(missing), 20)

    def test_what_cannot_be_understood_is_refused(self):
        self.fails(call("ranks"), 2, "ranks: which log", "help ranks")
        self.fails(call("ranks", "--sort", "size", "x"), 2, "--sort wants rank, steps, hit")
        self.fails(call("ranks", "--sort"), 2, "--sort wants")
        self.fails(call("ranks", "--top", "few", "x"), 2, "--top wants")
        self.fails(call("ranks", "--jsno", "x"), 2, '"--jsno"')
        self.fails(call("ranks", self.folder), 3, "has no log in it")
        self.fails(call("ranks", DATA / "four", self.folder / "none"), 3, "No such file")
        broken = self.write("r0.jsonl", [*records("four/r0.jsonl")[:30], "{"])
        self.assertEqual(call("ranks", broken, cwd=DATA).returncode, 3)


class OneOfMany(Logs):
    """Commands that read one log find that of a rank in the folder of a run."""

    def test_a_rank_stands_for_its_log(self):
        for command in ("steps", "sites", "shapes"):
            for rank in range(4):
                self.assertEqual(self.told(command, "--rank", rank, "four"), self.told(command, f"four/r{rank}.jsonl"))
        answer = call("diff", "--rank", "2", "four", "four/r0.jsonl", cwd=DATA)
        self.assertEqual(answer.stdout, call("diff", "four/r2.jsonl", "four/r0.jsonl", cwd=DATA).stdout)
        self.assertEqual(answer.returncode, 1)

    def told(self, *arguments):
        return super().told(*map(str, arguments))

    def test_it_goes_by_what_the_logs_say_and_not_by_their_names(self):
        self.copies(3)
        (self.folder / "r0.jsonl").rename(self.folder / "r77.jsonl")
        self.assertEqual(self.told("sites", "--rank", "0", self.folder), self.told("sites", self.folder / "r77.jsonl"))

    def test_without_one_and_where_it_does_not_decide_the_logs_are_named(self):
        self.fails(call("steps", "four", cwd=DATA), 2, "four has 4 logs: name one, four/r0.jsonl to four/r3.jsonl, or its --rank")
        self.fails(call("steps", "--rank", "7", "four", cwd=DATA), 3, "none of the 4 logs of four is of rank 7")
        self.fails(call("diff", "--rank", "7", "four", "four", cwd=DATA), 2, "none of the 4 logs of four is of rank 7")
        self.copies(2, lambda rank, lines: lines[0].update(rank=5))
        self.fails(call("steps", "--rank", "5", self.folder), 2, "has 2 logs of that rank: name one")
        for command in ("steps", "sites", "shapes", "diff"):
            self.fails(call(command, "--rank", "x", "four"), 2, "--rank wants the number of a rank")
            self.fails(call(command, "four", "--rank"), 2, "--rank wants the number of a rank")

    def test_a_single_log_is_of_whatever_rank_it_is(self):
        self.assertEqual(self.told("steps", "--rank", "9", "late.jsonl"), self.told("steps", "late.jsonl"))


class Oom(Logs):
    def test_the_list_of_a_recorded_run(self):
        self.expect("oom-list.txt", self.told("oom", "oom"))

    def test_an_older_log_lacks_what_was_there_and_that_is_said(self):
        self.expect("oom-old.txt", self.told("oom", "gate-off.jsonl"))

    def test_a_run_that_never_ran_out_says_so(self):
        self.assertIn("the driver never ran out of memory\n", self.told("oom", "four"))
        self.assertEqual(self.run_of("oom", "four")["ooms"], [])

    def test_a_line_says_what_its_record_says(self):
        wanted = [record for record in records("oom/r1.jsonl") if record["ev"] == "oom"]
        self.assertEqual(len(wanted), 2)
        for line, record in zip(self.run_of("oom", "oom")["ooms"], wanted, strict=True):
            for name in record.keys() - {"ev", "holders", "changed"}:
                self.assertEqual(line[name], record[name], name)
            self.assertEqual(line["answer"], "refused" if record["result"] else "recovered")
            self.assertEqual([[row["shape"], row["bytes"], row["live"], row["mapped"]] for row in line["holders"]], record["holders"])
            self.assertEqual([[row["shape"], row["bytes"], row["most_before"], row["live"]] for row in line.get("changed", [])],
                             record.get("changed", []))
            self.assertEqual(line["rank"], 1)

    def log(self, *ooms):
        lines = records("late.jsonl")
        lines[-1:-1] = [{"ev": "oom", "t": 479000000 + i, "step": 11, "dev": 0} | oom for i, oom in enumerate(ooms)]
        return self.write("r0.jsonl", lines)

    def test_what_became_of_another_allocators_call_is_not_known_once_it_was_tried_again(self):
        log = self.log({"bytes": 0, "retried": 1, "result": 2}, {"bytes": 0, "retried": 0, "result": 2}, {"bytes": 4096, "retried": 1, "result": 0},
                       {"bytes": 4096})
        self.assertEqual([one["answer"] for one in self.run_of("oom", log)["ooms"]], ["unknown", "refused", "recovered", "unknown"])
        text = self.told("oom", log)
        self.assertIn("an allocation of another kind, whose size is not told", text)

    def test_the_last_ones_are_listed_and_the_rest_counted(self):
        log = self.log(*[{"bytes": i + 1, "retried": 0, "result": 2} for i in range(50)])
        text = self.told("oom", log)
        self.assertIn("30 earlier ones left out (--top)\n", text)
        self.assertEqual(text.count(" refused "), 20)
        self.assertEqual(len(self.run_of("oom", log)["ooms"]), 50)
        last = self.run_of("oom", "--top", "1", log)
        self.assertEqual(([one["bytes"] for one in last["ooms"]], last["left_out"]), ([50], 49))

    def test_of_more_than_are_kept_the_last_ones_are(self):
        log = self.log(*({"bytes": i + 1, "result": 2, "verdict": "too-big" if i < 9999 else "fragmented"} for i in range(10000)))
        run = self.run_of("oom", "--top", "1", log)
        self.assertEqual(([one["bytes"] for one in run["ooms"]], run["left_out"]), ([10000], 9999))
        text = self.told("oom", log)
        self.assertIn("  asked    9.77 KiB (10,000 bytes)", text)
        self.assertIn("why      fragmented: ", text)

    def test_those_of_several_ranks_are_told_in_the_order_in_which_they_came(self):
        def add(rank, lines):
            lines[0]["t0_unix_ns"] = 10**18
            lines[-1:-1] = [{"ev": "oom", "t": 100 * i + (3 - rank), "step": i, "dev": 0, "bytes": 4096, "result": 2} for i in range(2)]

        run = self.run_of("oom", self.copies(3, add))
        self.assertEqual([(one["step"], one["rank"]) for one in run["ooms"]], [(0, 2), (0, 1), (0, 0), (1, 2), (1, 1), (1, 0)])

    def test_hostile_lists_are_passed_over(self):
        log = self.log({"bytes": 4096, "result": 2, "total": 5, "holders": [[1, 2], "x", {}], "changed": [[2**64 - 1] * 4, [1, 2, 3, 4, 5]],
                        "verdict": "\u001b[2J" * 50, "advice": "a\u009bb\u0007", "site": "x" * 3000})
        for arguments in (("oom", log), ("oom", "--json", log)):
            answer = call(*arguments)
            self.assertEqual((answer.returncode, answer.stderr), (0, ""))
            self.assertNotIn("\u001b", answer.stdout)
            self.assertNotIn("\u0007", answer.stdout)
        self.assertEqual(json.loads(answer.stdout)["runs"][0]["ooms"][0]["holders"], [])

    def test_what_cannot_be_understood_is_refused(self):
        self.fails(call("oom"), 2, "oom: which log", "help oom")
        self.fails(call("oom", "--top", "few", "x"), 2, "--top wants")
        self.fails(call("oom", "--jsno", "x"), 2, '"--jsno"')
        self.fails(call("oom", self.folder), 3, "has no log in it")
        self.fails(call("oom", DATA / "late.txt"), 3, "late.txt, line 1")


main()
