#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache run --torch: what a Python program gets, tried on a module that looks like PyTorch and on the simulated GPU.

The real PyTorch is for tests/torch, which needs gigabytes."""

import ast
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

from tool import BUILD, TOOL, Case, call, clean_environment, main

SAID = 2  # lines

# As little of PyTorch as the hook looks at: its optimizers' hook, its allocator's name, its graphs; tensors are cudaMalloc.
FAKE = {
    "torch/__init__.py": """
import ctypes
from . import backends, cuda, optim
__version__ = "0.fake"
""",
    "torch/backends.py": """
class cuda:
    @staticmethod
    def is_built():
        return True
""",
    "torch/optim/__init__.py": "from .optimizer import Optimizer\ndel optimizer\n",
    "torch/optim/optimizer.py": """
hooks = []

def register_optimizer_step_post_hook(hook):
    hooks.append(hook)

class Optimizer:
    def __init__(self, *parameters):
        pass

    def step(self):
        for hook in hooks:
            hook(self, (), {})
""",
    "torch/cuda/__init__.py": """
import ctypes
import os
from . import memory
names = ctypes.CDLL(None)
names.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
names.cudaFree.argtypes = [ctypes.c_void_p]

def is_initialized():
    return True

def device_count():
    return int(os.environ.get("FAKE_DEVICES", 1))

def batch(sizes):
    held = []
    for size in sizes:
        held.append(ctypes.c_void_p())
        assert names.cudaMalloc(ctypes.byref(held[-1]), size) == 0
    for pointer in held:
        names.cudaFree(pointer)

class CUDAGraph:
    def capture_begin(self, *arguments):
        print("captured")

class graph:
    def __init__(self, cuda_graph):
        self.cuda_graph = cuda_graph

    def __enter__(self):
        self.cuda_graph.capture_begin()

    def __exit__(self, *arguments):
        pass
""",
    "torch/cuda/memory.py": """
import os
backend, reserved = os.environ.get("FAKE_BACKEND", "native"), int(os.environ.get("FAKE_RESERVED", 0))

def get_allocator_backend():
    return backend

def memory_reserved():
    return reserved
""",
}

STEPS = """
import torch
optimizer = torch.optim.Optimizer()
for _ in range(8):
    for _ in range({batches}):
        torch.cuda.batch([3 << 20, 4 << 20, 3 << 20])
    optimizer.step()
"""


class Torch(Case):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-torch-"))
        self.addCleanup(shutil.rmtree, self.top)
        for name, text in FAKE.items():
            path = self.top / "packages" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run_program(self, program, *options, arguments=(), **settings):
        """The answer and the records of the log, which may be none."""
        script, log = self.top / "train.py", self.top / "log.jsonl"
        script.write_text(program)
        log.unlink(missing_ok=True)
        environment = clean_environment(PYTHONPATH=str(self.top / "packages"), SHAPECACHE_LOG=str(log)) | settings
        answer = call("run", "--sim", *(options or ("--torch",)), "--", sys.executable, *arguments, script, environment=environment, cwd=self.top)
        return answer, logs.read(log)

    def ended(self, program, *options, **settings):
        answer, records = self.run_program(program, *options, **settings)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        (end,) = [record for record in records if record["ev"] == "end"]
        return answer, records, end

    def test_a_step_ends_with_each_optimizer_step(self):
        answer, records, end = self.ended(STEPS.format(batches=1))
        self.assertEqual(end["steps"], 8)
        self.assertEqual({r["step_source"] for r in records if r["ev"] == "phase"}, {"api"})
        self.assertEqual([r["requests"] for r in records if r["ev"] == "step"], [3] * 8)
        self.assertEqual(end["phase"], "fixed")

    def test_batches_that_accumulate_are_one_step(self):
        _, records, end = self.ended(STEPS.format(batches=4))
        self.assertEqual(end["steps"], 8)
        self.assertEqual([r["requests"] for r in records if r["ev"] == "step"], [12] * 8)

    def test_from_the_first_optimizer_on_no_step_is_guessed(self):
        program = """
import torch
torch.cuda.batch([1 << 20])
optimizer = torch.optim.Optimizer()
for _ in range(30):
    torch.cuda.batch([3 << 20, 4 << 20, 3 << 20, 5 << 20] * 2)
optimizer.step()
torch.optim.Optimizer()
"""
        _, records, end = self.ended(program)
        self.assertEqual([r["requests"] for r in records if r["ev"] == "step"], [1, 240])

    def test_of_several_optimizers_that_take_turns_one_ends_the_step(self):
        program = """
import torch
one, other, third = (torch.optim.Optimizer() for _ in range(3))
for i in range(10):
    for optimizer in (one, other) if i < 5 else (third,):
        torch.cuda.batch([3 << 20])
        optimizer.step()
"""
        _, records, _ = self.ended(program)
        # the first step has one batch; from then on one and other; at last third alone, once it comes again
        self.assertEqual([r["requests"] for r in records if r["ev"] == "step"], [1, 2, 2, 2, 2, 3, 1, 1, 1])

    def test_the_log_names_the_view_and_the_lines_of_the_program(self):
        _, records, _ = self.ended(STEPS.format(batches=1))
        self.assertEqual(records[0]["config"]["SHAPECACHE_TORCH"], {"value": "tensors", "from": "env"})
        program = "import torch\ntorch.cuda.batch([3 << 20])\n"
        (self.top / "site-packages").mkdir()
        shutil.move(self.top / "packages/torch", self.top / "site-packages/torch")
        _, records, _ = self.ended(program, PYTHONPATH=str(self.top / "site-packages"))
        is_known = sys.version_info[:2] in ((3, 10), (3, 11), (3, 12), (3, 13))  # hooks/script_layout.def
        self.assertEqual([r["site"] == "train.py:2" for r in records if r["ev"] == "site"], [is_known])

    def test_two_lines_say_what_was_done(self):
        answer, _ = self.run_program("pass")
        lines = answer.stderr.splitlines()
        self.assertEqual(len(lines), SAID)
        self.assertIn("PYTORCH_NO_CUDA_MEMORY_CACHING=1", lines[0])
        answer, _ = self.run_program("pass", RANK="1", WORLD_SIZE="2")
        self.assertEqual(answer.stderr, "")

    def test_a_program_without_pytorch_notices_nothing(self):
        program = "import os, sys\nprint(sorted(sys.modules), sys.path, [type(f).__name__ for f in sys.meta_path if hasattr(f, 'x')])\n"
        for packages in ("", str(self.top / "packages")):
            (self.top / "packages/sitecustomize.py").write_text("")
            environment = clean_environment(PYTHONPATH=packages)
            plain = call("run", "--sim", "--", sys.executable, "-c", program, environment=environment)
            told = call("run", "--sim", "--torch", "--", sys.executable, "-c", program, environment=environment)
            modules = [set(ast.literal_eval(answer.stdout.split("]")[0] + "]")) for answer in (plain, told)]
            self.assertEqual(modules[1] - modules[0], {"sitecustomize"} - modules[0])
            self.assertNotIn("startup", told.stdout)

    def test_a_sitecustomize_of_the_users_runs_too(self):
        (self.top / "packages/sitecustomize.py").write_text("import os\nNAME = 'theirs'\nos.environ['THEIRS'] = __file__\n")
        program = "import os, sitecustomize\nprint(sitecustomize.NAME, os.environ['THEIRS'])\n" + STEPS.format(batches=1)
        answer, _, end = self.ended(program)
        self.assertEqual(answer.stdout, f"theirs {self.top}/packages/sitecustomize.py\n")
        self.assertEqual(end["steps"], 8)

    def test_one_that_fails_is_reported_by_python_as_ever(self):
        (self.top / "packages/sitecustomize.py").write_text("raise ValueError('theirs')\n")
        answer, _, end = self.ended(STEPS.format(batches=1))
        self.assertIn("ValueError: theirs", answer.stderr)
        self.assertEqual(end["steps"], 8)

    def test_processes_that_allocate_nothing_write_nothing(self):
        program = """
import multiprocessing, os, sys
import torch
def work(i):
    import torch
    torch.optim.Optimizer().step()
    return i
if __name__ == "__main__":
    for how in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(how).Pool(2) as pool:
            assert pool.map(work, range(4)) == [0, 1, 2, 3]
"""
        answer, records = self.run_program(program)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(records, [])
        self.assertEqual(len(answer.stderr.splitlines()), SAID, answer.stderr)

    def test_forked_workers_write_nothing_beside_a_process_that_does(self):
        program = STEPS.format(batches=1) + """
import os
child = os.fork()
if child == 0:
    torch.cuda.names.cudaGetLastError()
    optimizer.step()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
        answer, records, end = self.ended(program)
        self.assertEqual(end["steps"], 8)
        self.assertEqual(sorted(os.listdir(self.top)), ["log.jsonl", "packages", "train.py"])

    def test_ranks_have_a_log_each(self):
        program = STEPS.format(batches=1)
        (self.top / "train.py").write_text(program)
        launcher = "import os, subprocess, sys\n" \
            "ranks = [subprocess.Popen([sys.executable, 'train.py'], env=os.environ | {'RANK': str(i), 'WORLD_SIZE': '2'}) for i in range(2)]\n" \
            "sys.exit(sum(rank.wait() for rank in ranks))\n"
        answer = call("run", "--sim", "--torch", "--", sys.executable, "-c", launcher, cwd=self.top,
                      environment=clean_environment(PYTHONPATH=str(self.top / "packages"), SHAPECACHE_RUN_ID="two"))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(sorted(os.listdir(self.top / "shapecache-run.two")), ["r0.jsonl", "r1.jsonl"])

    def test_a_capture_is_refused_with_the_reason_before_it_begins(self):
        for begin in ("torch.cuda.graph(torch.cuda.CUDAGraph()).__enter__()", "torch.cuda.CUDAGraph().capture_begin()"):
            answer, _ = self.run_program(f"import torch\n{begin}\n", "--torch=tensors")
            self.assertEqual(answer.returncode, 1)
            self.assertEqual(answer.stdout, "")
            self.assertIn("RuntimeError: shapecache run --torch: CUDA graphs cannot be captured", answer.stderr)

    def test_a_script_that_captures_by_its_own_words_is_refused_before_it_starts(self):
        for begin in ("with torch.cuda.graph(one): pass", "one = torch.cuda.CUDAGraph()", "torch.cuda.make_graphed_callables(one, ())"):
            answer, _ = self.run_program(f"print('ran')\n# a graph(\nif False:\n    {begin}\n")
            self.fails(answer, 125, f"{self.top}/train.py:4 captures a CUDA graph", "--torch=segments", "--torch=tensors")
            for view in ("tensors", "segments", "pluggable"):
                self.assertEqual(self.run_program(f"print('ran')\nif False:\n    {begin}\n", f"--torch={view}")[0].stdout, "ran\n")
        for other in ("# torch.cuda.graph(one)", "    # CUDAGraph()", "graph = 1", f"x = '{'y' * 9000}'"):
            self.assertEqual(self.run_program(f"print('ran')\nif False:\n    pass\n{other.strip()}\n")[0].stdout, "ran\n")
        (self.top / "long.py").write_text(f"x = '{'y' * 9000}'\n\ntorch.cuda.CUDAGraph()\n")
        self.fails(call("run", "--sim", "--torch", "--", "torchrun", "long.py", cwd=self.top), 125, "run: long.py:3 captures")

    def test_in_the_segment_view_steps_end_and_captures_go_on(self):
        program = STEPS.format(batches=1) + "torch.cuda.graph(torch.cuda.CUDAGraph()).__enter__()\nimport os\n" \
            "print('PYTORCH_NO_CUDA_MEMORY_CACHING' in os.environ)\n"
        answer, _, end = self.ended(program, "--torch=segments")
        self.assertEqual(answer.stdout, "captured\nFalse\n")
        self.assertEqual(end["steps"], 8)

    def test_what_goes_past_the_cache_is_told_once_on_stderr_and_in_the_log(self):
        for settings, word in (({"FAKE_BACKEND": "cudaMallocAsync"}, "allocator is cudaMallocAsync"),
                               ({"FAKE_RESERVED": "1"}, "PyTorch's own cache is on")):
            answer, records = self.run_program(STEPS.format(batches=1), **settings)
            self.assertEqual(answer.returncode, 0)
            self.assertEqual(answer.stderr.count(word), 1, answer.stderr)
            self.assertEqual(len([r for r in records if r["ev"] == "mark" and word in r["name"]]), 1)

    def test_settings_that_go_past_the_cache_are_refused_before_the_program_starts(self):
        for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
            answer, _ = self.run_program("print('ran')", **{name: "max_split_size_mb:64, backend:cudaMallocAsync"})
            self.fails(answer, 125, name, "backend:cudaMallocAsync", "leave out --torch")
            answer, _ = self.run_program("print('ran')", **{name: "backend:native,expandable_segments:True"})
            self.assertEqual(answer.stdout, "ran\n")
            answer, _ = self.run_program("print('ran')", "--torch=segments", **{name: "backend:cudaMallocAsync"})
            self.assertEqual(answer.stdout, "ran\n")

    def test_a_pytorch_that_lacks_the_hook_runs_and_that_is_said(self):
        (self.top / "packages/torch/optim/optimizer.py").write_text("class Optimizer:\n    def step(self):\n        pass\n")
        answer, _, _ = self.ended(STEPS.format(batches=1))
        self.assertIn("--torch has no effect on torch 0.fake: ImportError", answer.stderr)

    def test_a_step_that_cannot_be_ended_is_told_and_the_program_goes_on(self):
        answer, _, end = self.ended(STEPS.format(batches=1), FAKE_DEVICES="65")  # more than the cache can number
        self.assertEqual(end["steps"], 8)
        self.assertEqual(answer.stderr.count("a step of device 64 could not be ended: no such device"), 1, answer.stderr)

    def test_an_unknown_view_is_wrong_use(self):
        for option in ("--torch=graph", "--torch=", "--torchx"):
            self.fails(call("run", option, "--", "true"), 2, f'"{option}"')

    def test_a_missing_python_part_is_125(self):
        for folder in ("bin", "lib"):
            (self.top / folder).mkdir()
        shutil.copy(TOOL, self.top / "bin/shapecache")
        shutil.copy(BUILD / "libshapecache.so", self.top / "lib/libshapecache.so")
        self.fails(call("run", "--torch", "--", "true", tool=self.top / "bin/shapecache"), 125, "python/startup/sitecustomize.py", "leave out --torch")

    def test_a_dry_run_prints_the_variables(self):
        answer = call("run", "--torch", "-n", "--", "true", environment=clean_environment(PYTHONPATH="/opt/x"))
        self.assertIn("PYTORCH_NO_CUDA_MEMORY_CACHING=1 \\\n", answer.stdout)
        self.assertIn(f"PYTHONPATH={BUILD}/python/startup:/opt/x \\\n", answer.stdout)

    def test_offload_is_a_size_and_wants_torch(self):
        for options, word in ((["--offload"], "--torch"), (["--torch", "--offload=much"], '"--offload=much"'), (["--torch", "--offloads"], '"--offloads"')):
            self.fails(call("run", *options, "--", "true"), 2, word)
        for option, value in (("--offload", "auto"), ("--offload=1.5GiB", "1.5GiB")):
            answer = call("run", "--torch", option, "-n", "--", "true", environment=clean_environment())
            self.assertIn(f"SHAPECACHE_OFFLOAD={value} \\\n", answer.stdout)
            self.assertIn(f"waits in page-locked host memory ({value})", answer.stderr)

    def test_a_pytorch_without_hooks_for_saved_tensors_runs_and_that_is_said(self):
        answer, _, end = self.ended(STEPS.format(batches=1), "--torch", "--offload")
        self.assertEqual(end["steps"], 8)
        self.assertEqual(answer.stderr.count("shapecache: --torch: --offload has no effect: "), 1, answer.stderr)

    def test_run_inside_run_changes_nothing_more(self):
        program = "import os\nprint(os.environ['PYTHONPATH'])\n"
        answer = call("run", "--torch", "--", TOOL, "run", "--torch", "--", sys.executable, "-c", program, environment=clean_environment())
        self.assertEqual(answer.stdout, f"{BUILD}/python/startup\n")


main()
