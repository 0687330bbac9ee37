#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a run's logs fit for data/: scrub.py RUN FOLDER [RANK=LINES]...

What names the machine and the moment goes (host, process, clock, paths); figures stay as they were recorded. RANK=LINES keeps
only so many lines of that rank's log, as a process leaves it that was killed."""

import json
import pathlib
import sys


def scrub(record):
    if record["ev"] == "run":
        rank = record["rank"]
        name = pathlib.Path(record["argv"][0]).name
        record |= {"pid": 5000 + rank, "host": f"node{7 + rank // 2}", "run": "20260713-142530-4711",
                   "t0_unix_ns": 1783952730123456789 + rank, "argv": [f"./{name}", *record["argv"][1:]]}
        record["config"]["SHAPECACHE_RUN_ID"]["value"] = record["run"]
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n"


def main():
    run, folder = map(pathlib.Path, sys.argv[1:3])
    kept = dict(argument.split("=") for argument in sys.argv[3:])
    folder.mkdir(exist_ok=True)
    for log in sorted(run.glob("r*.jsonl")):
        records = [json.loads(line) for line in log.read_text().splitlines()]
        most = int(kept.get(str(records[0]["rank"]), len(records)))
        (folder / log.name).write_text("".join(map(scrub, records[:most])))


main()
