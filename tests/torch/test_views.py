#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache run --torch on unmodified PyTorch and the simulated GPU: what each view must give."""

import argparse
import pathlib
import re
import sys
import unittest

import views
from views import MIB, run

ARGS = None
ALLOCATIONS = ("cudaMalloc", "cudaFree")


def go(program, arguments="", how="tensors", **settings):
    return run(ARGS.build, ARGS.python, program, arguments, how, **settings)


def line(program, text):
    """Where `text` stands in a program, as a call site names it."""
    path = views.PROGRAMS / f"{program}.py"
    (found,) = [i + 1 for i, one in enumerate(path.read_text().splitlines()) if text in one]
    return f"{path}:{found}"


class Tensors(unittest.TestCase):
    def test_fixed_shapes_are_cached_from_step_six_on_and_hit(self):
        for program, arguments in (("gpt", ""), ("gpt", " --checkpoint"), ("resnet", ""), ("lstm", " --native"), ("vision", " --sizes fixed"), ("diffusion", "")):
            with self.subTest(program=program, arguments=arguments):
                one = go(program, "--steps 14" + arguments)
                self.assertLessEqual(one.fixed_at(), 6)
                self.assertGreaterEqual(one.hit_rate(), 0.97)
                self.assertNotIn("fallback", {row["phase"] for row in one.of("step")})  # after the last, a program may do other things
                self.assertLessEqual(one.end["held_peak"], 1.25 * one.end["live_peak"])
                self.assertEqual(one.report["violations"], {})

    def test_with_random_lengths_no_more_is_held_than_without_the_cache(self):
        arguments = "--steps 24 --lengths random"
        plain, cached = go("gpt", arguments, "uncached"), go("gpt", arguments)
        self.assertLessEqual(cached.report["peak"], plain.report["peak"])
        for call in ALLOCATIONS:
            self.assertEqual(cached.report["calls"][call], plain.report["calls"][call])

    def test_a_step_is_an_optimizer_step(self):
        once, thrice = go("gpt", "--steps 6"), go("gpt", "--steps 6 --accumulate 3")
        for one in (once, thrice):
            self.assertEqual(one.end["steps"], 7)  # and what came before the optimizer was made
            self.assertEqual({r["step_source"] for r in one.of("phase")}, {"api"})
        self.assertGreater(thrice.of("step")[5]["requests"], 2 * once.of("step")[5]["requests"])

    def test_new_shapes_are_told_by_the_lines_of_the_script(self):
        sites = {r["site"] for r in go("gpt", "--steps 3").of("site")}
        self.assertIn(line("gpt", "x = self.tokens(tokens) + self.positions"), sites)
        self.assertIn(line("gpt", "scaler.scale(loss).backward()") + " (another thread)", sites)
        self.assertTrue(all(re.search(r"\.py:\d+( \(another thread\))?$", site) for site in sites), sites)

    def test_an_out_of_memory_is_told_by_its_line(self):
        program = "import torch\nheld = torch.ones(1 << 20, device='cuda')\ntry:\n    torch.empty(1 << 40, device='cuda')\nexcept RuntimeError as error:\n" \
                  "    print('out of memory' in str(error))\n"
        one = go(program)
        self.assertEqual(one.out, "True\n")
        self.assertEqual([r["site"] for r in one.of("oom")], ["train.py:4"])

    def test_expandable_segments_change_nothing(self):
        plain = go("gpt", "--steps 4").end["requests"]
        for how in ("tensors", "pluggable"):
            self.assertEqual(go("gpt", "--steps 4", how, PYTORCH_ALLOC_CONF="expandable_segments:True").end["requests"], plain, how)

    def test_a_script_that_captures_is_refused_before_it_starts(self):
        one = go("graphs", status=125)
        self.assertIn(line("graphs", "graph = torch.cuda.CUDAGraph()") + " captures a CUDA graph", one.err)
        self.assertIsNone(one.report)

    def test_a_capture_is_refused_with_the_reason(self):
        one = go("graphs", how="tensors, insisted", status=1)
        self.assertIn("CUDA graphs cannot be captured", one.err)
        self.assertEqual(one.report["violations"], {})

    def test_what_is_compiled_to_graphs_runs_without_them(self):
        one = go("compiled", "--mode reduce-overhead", TORCHINDUCTOR_CACHE_DIR="inductor")
        self.assertNotIn("cudaGraphLaunch", one.report["calls"])
        self.assertEqual(one.report["violations"], {})

    def test_workers_of_a_loader_write_no_log(self):
        for start in ("fork", "spawn", "forkserver"):
            with self.subTest(start=start):
                self.assertEqual(list(go("loader", f"--workers {start}").logs), ["log.0.jsonl"])

    def test_ranks_of_torchrun_write_one_each(self):
        program = "import os, torch\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n" \
                  "model = torch.nn.Linear(512, 512).cuda()\noptimizer = torch.optim.SGD(model.parameters())\n" \
                  "for _ in range(8):\n    model(torch.ones(64, 512, device='cuda')).sum().backward()\n    optimizer.step()\n" \
                  "dist.destroy_process_group()\n"
        launcher = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone")
        logs = go(program, launcher=launcher).logs
        self.assertEqual(list(logs), ["log.0.jsonl", "log.1.jsonl"])
        for records in logs.values():
            self.assertEqual(records[-1]["steps"], 9)
            self.assertEqual(records[-1]["phase"], "fixed")


    def test_ranks_that_train_together_write_one_each(self):
        one = go("ddp", SIMCUDA_DEVICES="2")
        self.assertEqual(list(one.logs), ["log.0.jsonl", "log.1.jsonl"])
        self.assertEqual(one.report["violations"], {})


class Pluggable(unittest.TestCase):
    def test_it_serves_what_the_tensor_view_serves(self):
        tensors, pluggable = go("gpt", "--steps 10"), go("gpt", "--steps 10", "pluggable")
        self.assertEqual(pluggable.report["violations"], {})
        self.assertEqual(pluggable.fixed_at(), tensors.fixed_at())
        self.assertEqual(pluggable.end["requests"], tensors.end["requests"])
        self.assertGreaterEqual(pluggable.hit_rate(), 0.97)

    def test_streams_that_a_tensor_is_recorded_on_are_safe(self):
        program = "import torch\nside = torch.cuda.Stream()\nfor _ in range(8):\n    x = torch.ones(1 << 20, device='cuda')\n" \
                  "    with torch.cuda.stream(side):\n        y = x + x\n    x.record_stream(side)\n    del x, y\n"
        one = go(program, how="pluggable")
        self.assertEqual(one.report["violations"], {})
        self.assertEqual(one.end["requests"], 16)

    def test_a_graph_that_is_compiled_is_refused_with_the_reason(self):
        one = go("compiled", "--mode reduce-overhead", "pluggable", status=1, TORCHINDUCTOR_CACHE_DIR="inductor")
        self.assertIn("CUDA graphs cannot be captured", one.err)

    def test_an_out_of_memory_is_pytorchs_own(self):
        program = "import torch\nheld = torch.ones(1 << 20, device='cuda')\ntry:\n    torch.empty(1 << 40, device='cuda')\n" \
                  "except torch.OutOfMemoryError as error:\n    print(error)\nprint((held + held).sum().item())\n"
        out = go(program, how="pluggable").out
        self.assertRegex(out, r"^CUDA out of memory\. Tried to allocate 4194304\.00 MiB\. GPU 0 has ")


class Segments(unittest.TestCase):
    def extension(self, how, arguments, **settings):
        return go("extension", f"{ARGS.build}/tests/torch/libscratch.so {arguments}", how, **settings)

    def test_pytorchs_segments_pass_and_a_custom_operation_is_cached(self):
        plain, cached = (self.extension(how, "--steps 60") for how in ("default", "segments"))
        self.assertEqual(cached.end["shapes"], 1)
        self.assertGreaterEqual(cached.end["hits"], 24)
        self.assertEqual(cached.end["misses"], 1)
        (said,) = cached.of("warn")
        self.assertIn("libc10_cuda.so+0x", said["text"])
        self.assertEqual(cached.err.count("shapecache run --torch"), 1)
        for call in ALLOCATIONS:
            self.assertEqual(cached.report["calls"][call], plain.report["calls"][call])
        self.assertLess(cached.report["calls"]["cuMemAlloc_v2"], plain.report["calls"]["cuMemAlloc_v2"])

    def test_with_its_steps_a_custom_operation_is_cached_from_the_fifth_on(self):
        one = self.extension("segments and steps", "--steps 12")
        self.assertEqual(one.fixed_at(), 5)
        self.assertEqual(one.hit_rate(), 1)

    def test_empty_cache_gives_memory_back_and_pytorch_recovers_from_running_out(self):
        one = self.extension("segments", "--steps 60 --fill")
        self.assertIn("given back True", one.out)
        self.assertGreaterEqual(len(one.of("oom")), 1)
        self.assertEqual(one.report["violations"], {})

    def test_all_caches_the_segments_too(self):
        one = self.extension("segments", "--steps 12", SHAPECACHE="all")
        self.assertGreater(one.end["shapes"], 2)
        self.assertEqual(one.of("warn"), [])

    def test_graphs_are_captured(self):
        for program, arguments in (("graphs", ""), ("compiled", "--mode reduce-overhead")):
            with self.subTest(program=program):
                one = go(program, arguments, "segments and steps", TORCHINDUCTOR_CACHE_DIR="inductor")
                self.assertGreater(one.report["calls"]["cudaGraphLaunch"], 0)
                self.assertEqual(one.report["violations"], {})


class OutOfReach(unittest.TestCase):
    def test_taichi_is_named_once(self):
        one = go("taichi_fields", how="segments")
        self.assertRegex(one.err, r"^shapecache\[\d+\] warn: taichi_python\S+ was opened with RTLD_DEEPBIND .*\n$")
        self.assertGreater(one.report["calls"]["cuMemAlloc_v2"], 0)
        self.assertEqual(one.logs, {})

    def test_opened_without_that_flag_taichi_is_seen(self):
        one = go("taichi_fields", "--seen", how="segments")
        self.assertEqual(one.err, "")
        self.assertEqual(one.end["requests"], one.report["calls"]["cuMemAlloc_v2"])


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--python", type=pathlib.Path, default=pathlib.Path("build/torch/bin/python"))
    parser.add_argument("names", nargs="*", help="as unittest takes them: Tensors, Tensors.test_...")
    ARGS = parser.parse_args()
    ARGS.build, ARGS.python = ARGS.build.resolve(), ARGS.python.absolute()
    unittest.main(argv=[sys.argv[0], *ARGS.names], verbosity=2)


if __name__ == "__main__":
    main()
