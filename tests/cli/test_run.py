#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache run: what the program gets, and how it ends when there is nothing to start.

The tool is copied beside stand-ins for the preloaded object and the simulator, as an installed tree has them."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from tool import ARGS, TOOL, Case, call, clean_environment, main

TELL = """import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "pid": os.getpid(), "env": dict(os.environ), "cwd": os.getcwd(),
                  "maps": sorted({line.split()[-1] for line in open("/proc/self/maps") if "/" in line})}))"""


NO_DRIVER = "shapecache: no libcuda.so.1 found on this machine: --sim runs on the simulated GPU\n"


def has_driver():
    """What the loader itself says."""
    probe = [sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"]
    return subprocess.run(probe, env=clean_environment(), stderr=subprocess.DEVNULL).returncode == 0


class Run(Case):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-cli-"))
        self.addCleanup(shutil.rmtree, self.top)
        self.tool = self.install("bin", "lib", "lib/shapecache/sim")

    def install(self, tool, library, sim):
        for folder in (tool, library, sim):
            (self.top / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(TOOL, self.top / tool / "shapecache")
        for name in (f"{library}/libshapecache.so", f"{sim}/libcuda.so.1", f"{sim}/libcudart.so.13"):
            shutil.copy(ARGS.stand_in, self.top / name)
        return self.top / tool / "shapecache"

    def told(self, *options, environment=None):
        """What a program that `run` started saw of its world."""
        answer = call("run", *options, "--", sys.executable, "-c", TELL, tool=self.tool, environment=environment)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn(answer.stderr, ("",) if "--sim" in options else ("", NO_DRIVER))
        return json.loads(answer.stdout)

    def test_the_library_is_preloaded_before_what_was_there(self):
        ours = str(self.top / "lib/libshapecache.so")
        self.assertEqual(self.told()["env"]["LD_PRELOAD"], ours)
        theirs = [str(self.top / name) for name in ("a.so", "b.so")]
        for path in theirs:
            shutil.copy(ARGS.stand_in, path)
        told = self.told(environment=clean_environment(LD_PRELOAD=" ".join(theirs)))
        self.assertEqual(told["env"]["LD_PRELOAD"], ":".join([ours, *theirs]))
        self.assertLessEqual({ours, *theirs}, set(told["maps"]))

    def test_the_simulator_comes_after_what_was_there(self):
        other = str(self.top / "other.so")
        shutil.copy(ARGS.stand_in, other)
        told = self.told("--sim", environment=clean_environment(LD_PRELOAD=other, LD_LIBRARY_PATH="/opt/x"))
        sim = self.top / "lib/shapecache/sim"
        self.assertEqual(told["env"]["LD_PRELOAD"].split(":"),
                         [str(self.top / "lib/libshapecache.so"), other, str(sim / "libcuda.so.1"), str(sim / "libcudart.so.13")])
        self.assertEqual(told["env"]["LD_LIBRARY_PATH"], f"{sim}:/opt/x")
        self.assertIn(str(sim / "libcuda.so.1"), told["maps"])

    def test_stand_ins_that_are_there_are_preloaded_by_path_too(self):
        sim = self.top / "lib/shapecache/sim"
        shutil.copy(ARGS.stand_in, sim / "libcublas.so.13")
        preloads = self.told("--sim")["env"]["LD_PRELOAD"].split(":")
        self.assertEqual(preloads[2:], [str(sim / "libcudart.so.13"), str(sim / "libcublas.so.13")])
        self.assertEqual(self.told()["env"]["LD_PRELOAD"], str(self.top / "lib/libshapecache.so"))

    def test_a_value_that_an_option_cannot_have_is_named_with_what_it_can(self):
        for options, words in ((["--torch=foo"], ('"--torch=foo"', "--torch wants tensors, pluggable or segments")),
                               (["--torch", "--torch=foo"], ('"--torch=foo"', "--torch wants")),
                               (["--torch", "--offload=lots"], ('"--offload=lots"', "--offload wants a size such as 16GiB")),
                               (["--sim=x"], ('"--sim=x"', "--sim takes no value")),
                               (["--dry-run="], ('"--dry-run="', "--dry-run takes no value")),
                               (["--simx=1"], ('no option "--simx=1"',))):
            self.fails(call("run", *options, "--", "true", tool=self.tool), 2, *words)

    def test_the_working_directory_never_enters_the_library_path(self):
        self.assertEqual(self.told("--sim")["env"]["LD_LIBRARY_PATH"], str(self.top / "lib/shapecache/sim"))

    def test_a_built_tree_is_found_beside_the_tool(self):
        self.tool = self.install("build", "build", "build/sim")
        self.assertEqual(self.told("--sim")["env"]["LD_PRELOAD"].split(":")[0], str(self.top / "build/libshapecache.so"))

    def test_run_inside_run_preloads_once(self):
        answer = call("run", "--sim", "--", self.tool, "run", "--sim", "--", sys.executable, "-c", TELL, tool=self.tool)
        told = json.loads(answer.stdout)["env"]
        self.assertEqual(len(told["LD_PRELOAD"].split(":")), 3)

    def test_nothing_else_of_the_environment_changes(self):
        before = clean_environment(SHAPECACHE_WARMUP="5", ODD="a b=c", EMPTY="")
        after = self.told(environment=before)["env"]
        changed = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
        self.assertLessEqual(changed, {"LD_PRELOAD", "SHAPECACHE_RUN_ID", "LC_CTYPE"})

    def test_arguments_arrive_as_given(self):
        arguments = ["--sim", "a b", "", "--", "-n", "\u00fc", "'\"$x"]
        answer = call("run", "--", sys.executable, "-c", TELL, *arguments, tool=self.tool)
        self.assertEqual(json.loads(answer.stdout)["argv"], arguments)

    def test_options_end_at_the_program(self):
        answer = call("run", sys.executable, "-c", TELL, "--sim", tool=self.tool)
        self.assertEqual(json.loads(answer.stdout)["argv"], ["--sim"])

    def test_the_program_replaces_the_tool(self):
        child = subprocess.Popen([self.tool, "run", "--", sys.executable, "-c", TELL], stdout=subprocess.PIPE, text=True,
                                 env=clean_environment())
        told = json.loads(child.communicate(timeout=60)[0])
        self.assertEqual(told["pid"], child.pid)

    def test_exit_status_and_signals_are_the_programs_own(self):
        self.assertEqual(call("run", "--", "sh", "-c", "exit 42", tool=self.tool).returncode, 42)
        self.assertEqual(call("run", "--", "sh", "-c", "kill -9 $$", tool=self.tool).returncode, -9)

    def test_what_cannot_be_started_is_127_or_126(self):
        self.fails(call("run", "--", "no-such-program", tool=self.tool), 127, "no-such-program", "No such file")
        plain = self.top / "plain"
        plain.write_text("text\n")
        plain.chmod(0o644)
        self.fails(call("run", "--", plain, tool=self.tool), 126, str(plain), "Permission denied")
        self.fails(call("run", "--", self.top, tool=self.tool), 126, "Permission denied")

    def test_a_missing_library_is_125_and_says_what_to_do(self):
        (self.top / "lib/libshapecache.so").unlink()
        self.fails(call("run", "--", "true", tool=self.tool), 125, "libshapecache.so", str(self.top / "lib"), "build it")

    def test_a_missing_simulator_is_125_and_only_with_sim(self):
        (self.top / "lib/shapecache/sim/libcudart.so.13").unlink()
        self.fails(call("run", "--sim", "--", "true", tool=self.tool), 125, "simulated GPU", "leave out --sim")
        self.assertEqual(call("run", "--", "true", tool=self.tool).returncode, 0)

    def test_a_machine_without_a_driver_is_told_of_the_simulator_and_the_program_runs(self):
        said = "" if has_driver() else NO_DRIVER
        answer = call("run", "--", "echo", "ran", tool=self.tool)
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (0, "ran\n", said))
        sim = self.top / "lib/shapecache/sim"
        for environment in (clean_environment(LD_LIBRARY_PATH=f"/nowhere:{sim}"),
                            clean_environment(LD_PRELOAD=str(sim / "libcuda.so.1"))):
            answer = call("run", "--", "echo", "ran", tool=self.tool, environment=environment)
            self.assertEqual((answer.stdout, answer.stderr), ("ran\n", ""))
        answer = call("run", "--sim", "--", "echo", "ran", tool=self.tool)
        self.assertEqual((answer.stdout, answer.stderr), ("ran\n", ""))

    def test_a_path_the_loader_cannot_express_is_125(self):
        tool = self.install("a b/bin", "a b/lib", "a b/lib/shapecache/sim")
        self.fails(call("run", "--", "true", tool=tool), 125, "blank or colon")

    def test_wrong_use_is_2(self):
        self.fails(call("run", tool=self.tool), 2, "which program")
        self.fails(call("run", "--", tool=self.tool), 2, "which program")
        self.fails(call("run", "--simm", "true", tool=self.tool), 2, '"--simm"')

    def test_the_run_gets_a_name_of_time_and_process_unless_it_has_one(self):
        told = self.told()
        self.assertRegex(told["env"]["SHAPECACHE_RUN_ID"], rf"^20\d{{6}}-\d{{6}}-{told['pid']}$")
        self.assertEqual(self.told(environment=clean_environment(SHAPECACHE_RUN_ID="mine"))["env"]["SHAPECACHE_RUN_ID"], "mine")

    def test_the_run_takes_the_launchers_name(self):
        for name in ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"):
            self.assertEqual(self.told(environment=clean_environment(**{name: "j7"}))["env"]["SHAPECACHE_RUN_ID"], "j7")

    def test_ranks_that_each_come_through_run_agree_on_its_name(self):
        names = set()
        for rank in "01":
            answer = subprocess.run([self.tool, "run", "--", "sh", "-c", "echo $SHAPECACHE_RUN_ID"], capture_output=True, text=True,
                                    env=clean_environment(RANK=rank, WORLD_SIZE="2"), start_new_session=True)
            names.add(answer.stdout)
        self.assertEqual(len(names), 1, names)
        self.assertIn(str(os.getpid()), names.pop())

    def test_a_dry_run_prints_what_a_shell_would_do(self):
        arguments = [sys.executable, "-c", TELL, "a b", "it's"]
        answer = call("run", "-n", "--", *arguments, tool=self.tool, environment=clean_environment(LD_PRELOAD=""))
        self.assertEqual(answer.returncode, 0)
        again = subprocess.run(["bash", "-c", answer.stdout], capture_output=True, text=True, env=clean_environment())
        told = json.loads(again.stdout)
        self.assertEqual(told["argv"], ["a b", "it's"])
        self.assertEqual(told["env"]["LD_PRELOAD"], str(self.top / "lib/libshapecache.so"))
        self.assertTrue(re.match("LD_PRELOAD=.*\\\\\nSHAPECACHE_RUN_ID=", answer.stdout))


main()
