#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Call sites as people read them: function and source line where the very binary is still there, the offset where not."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from tool import BUILD, DATA, ROOT, TOOL, Case, call, clean_environment, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import logs  # noqa: E402

TRAIN = BUILD / "tests/programs/train"
SOURCES = ROOT / "tests/programs/train"
CPP = """
#include <vector>
void *volatile sink;
__attribute__((noinline)) static void use() { sink = nullptr; }
namespace net { namespace { struct Hidden { void take(int) const { use(); use(); } void lam() const; }; } // LINE hidden
template <class T> struct Layer {
    template <class U> std::vector<T> forward(const std::vector<U> &) { use(); use(); return {}; } // LINE forward
    bool operator()(int) { use(); use(); return true; } // LINE call
    bool operator<(const Layer &) const { use(); use(); return true; } // LINE less
    Layer &operator<<(int) { use(); use(); return *this; } // LINE shift
    operator bool() const { use(); use(); return true; } // LINE bool
};
template struct Layer<std::vector<int>>;
template std::vector<std::vector<int>> Layer<std::vector<int>>::forward<float>(const std::vector<float> &);
void lambda() { [](int) { use(); use(); }(1); } // LINE lambda
void Hidden::lam() const { [](int) { use(); use(); }(1); } // LINE inner
void hide() { Hidden().take(1); Hidden().lam(); }
}
int main() { net::hide(); net::lambda(); }
"""
NAMES = {"hidden": ("4takeEi", "net::(anonymous namespace)::Hidden::take"), "forward": ("7forwardIfE", "net::Layer::forward"),
         "inner": ("3lamEvENKUliE", "net::(anonymous namespace)::Hidden::lam::{lambda#1}::operator()"),
         "call": ("EEclEi", "net::Layer::operator()"), "less": ("EEltERK", "net::Layer::operator<"),
         "shift": ("EElsEi", "net::Layer::operator<<"), "lambda": ("6lambdaEvENKUliE", "net::lambda::{lambda#1}::operator()")}


def build_id_of(path):
    return re.search(r"Build ID: ([0-9a-f]+)", subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout)[1]


class Symbols(Case):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="shapecache-symbols-"))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        cls.log = cls.run_train("log.jsonl")
        cls.records = logs.read(cls.log)

    @classmethod
    def run_train(cls, name, **settings):
        log = cls.top / name
        answer = call("run", "--sim", "--", TRAIN, "--quiet", "--steps", "50", "--lengths", "late-change", cwd=cls.top,
                      environment=clean_environment(SHAPECACHE_LOG=str(log), SHAPECACHE_SUMMARY="off", **settings))
        if answer.returncode:
            raise AssertionError(answer.stderr)
        return log

    def rewritten(self, **changes):
        """The log, with what its `site` records say changed."""
        path = self.top / "rewritten.jsonl"
        path.write_text("".join(json.dumps(r | changes if r["ev"] == "site" else r) + "\n" for r in self.records))
        return path

    def places(self, log, **more):
        answer = call("sites", "--json", log, **more)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return {site["site"]: site.get("place") for site in json.loads(answer.stdout)["sites"]}, answer.stderr

    def written(self, sites, path, build_id=None):
        """A log of one shape for each site."""
        records = [{"ev": "run", "t": 0, "v": 1, "pid": 1}]
        for number, site in enumerate(sites):
            records += [{"ev": "site", "t": 1, "site": site, "object": str(path), "build_id": build_id or build_id_of(path)},
                        {"ev": "shape", "t": 1, "step": 0, "dev": 0, "id": number, "bytes": 8, "high": 1, "site": site, "requests": 1}]
        log = self.top / "written.jsonl"
        log.write_text("".join(json.dumps(record) + "\n" for record in records))
        return log

    def test_the_log_says_which_file_and_which_build_of_it(self):
        sites = [r for r in self.records if r["ev"] == "site"]
        self.assertGreater(len(sites), 5)
        for site in sites:
            self.assertEqual((site["object"], site["build_id"]), (str(TRAIN.resolve()), build_id_of(TRAIN)))

    def test_each_place_is_told_by_its_line_and_the_line_asks_for_memory(self):
        places, said = self.places(self.log)
        self.assertEqual(said, "")
        for site, place in places.items():
            function, file, line = re.fullmatch(r"(\w+) (\w+\.cu):(\d+)", place).groups()
            lines = (SOURCES / file).read_text().splitlines()
            statement = " ".join(lines[int(line) - 2:int(line) + 2])
            self.assertRegex(statement, r"(?i)alloc", f"{site}: {place}")
            self.assertTrue(any(re.search(rf"\b{function}\(", text) for text in lines[:int(line)]), place)

    def test_every_command_that_shows_places_tells_lines(self):
        with_gates = self.run_train("gates.jsonl", SHAPECACHE_SCOPE="site", SHAPECACHE_KEY="bytes+site")
        (new,) = [r for r in self.records if r["ev"] == "phase" and r["to"] == "fallback"]
        for command in (["report"], ["report", "--json"], ["sites"], ["shapes"], ["export", "--to", "collapsed"], ["export", "--to", "speedscope"]):
            for log in (self.log, with_gates):
                answer = call(*command, log)
                self.assertEqual((answer.returncode, answer.stderr), (0, ""), command)
                self.assertRegex(answer.stdout, r"network\.cu:\d+", command)
                if "--json" not in command:
                    self.assertNotIn("train+0x", answer.stdout, command)
        self.assertRegex(call("report", self.log).stdout.replace("\n", " "), r"asked for at +train_batch +network\.cu:\d+")
        self.assertIn("train+0x", new["site"])
        self.assertRegex(call("diff", self.log, with_gates).stdout, r"network\.cu:\d+")

    def test_what_another_program_reads_keeps_the_offset(self):
        self.run_train("keyed.jsonl", SHAPECACHE_KEY="bytes+site")
        answer = call("shapes", "--save", self.top / "set", self.top / "keyed.jsonl")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("train+0x", (self.top / "set").read_text())
        self.assertNotIn("network.cu", (self.top / "set").read_text())

    def test_a_chain_of_callers_has_a_line_for_each(self):
        log = self.run_train("stacks.jsonl", SHAPECACHE_STACKS="3")
        (place,) = {r["site"] for r in logs.read(log) if r["ev"] == "phase" and r["to"] == "fallback"}
        told = self.places(log)[0][place]
        self.assertEqual(len(told.split(" > ")), 3)
        self.assertRegex(told, r"^\w+ main\.cu:\d+ > \w+ main\.cu:\d+ > train_batch network\.cu:\d+$")

    def test_without_lines_the_function_is_told_beside_the_offset_and_without_symbols_the_offset_alone(self):
        (new,) = {r["site"] for r in self.records if r["ev"] == "phase" and r["to"] == "fallback"}
        for option, wanted in (("--strip-debug", f"train_batch {new}"), ("--strip-all", None)):
            stripped = self.top / "stripped"
            subprocess.run(["strip", option, "-o", stripped, TRAIN], check=True)
            self.assertEqual(build_id_of(stripped), build_id_of(TRAIN))
            places, said = self.places(self.rewritten(object=str(stripped)))
            self.assertEqual(said, "")
            self.assertEqual(places[new], wanted)
            self.assertEqual(len({place or site for site, place in places.items()}), len(places), "each site is told apart")
            self.assertNotRegex(" ".join(filter(None, places.values())), r":\d")

    def test_another_build_is_said_to_be_one_and_its_lines_are_not_told(self):
        answer = call("report", self.rewritten(build_id="00" * 20))
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertRegex(" ".join(answer.stdout.split()), r"asked for at train\+0x[0-9a-f]+ \(binary changed\)")
        self.assertNotIn(".cu:", answer.stdout)

    def test_where_there_is_no_such_file_the_offset_stays(self):
        pipe, folder, text = self.top / "pipe", self.top / "folder", self.top / "text"
        os.mkfifo(pipe)
        folder.mkdir()
        text.write_text("no program")
        for path in (self.top / "nothing", pipe, folder, text, "/dev/zero", "", "train"):
            places, said = self.places(self.rewritten(object=str(path)))
            self.assertEqual((set(places.values()), said), ({None}, ""), path)

    def test_a_log_without_build_ids_is_told_by_offsets(self):
        log = self.top / "plain.jsonl"
        log.write_text("".join(json.dumps({k: v for k, v in r.items() if k != "build_id"}) + "\n" for r in self.records))
        self.assertEqual(set(self.places(log)[0].values()), {None})

    def test_without_libdw_the_tool_works_and_says_once_what_is_missing(self):
        (self.top / "lacking").mkdir()
        (self.top / "lacking/libdw.so.1").touch()  # a file that is no library: it is found and cannot be loaded
        places, said = self.places(self.log, environment=clean_environment(LD_LIBRARY_PATH=str(self.top / "lacking")))
        self.assertEqual(set(places.values()), {None})
        self.assertEqual(said, "shapecache: call sites stay offsets: libdw.so.1, of elfutils, is not to be found\n")
        recorded = call("report", DATA / "late.jsonl", environment=clean_environment(LD_LIBRARY_PATH=str(self.top / "lacking")))
        self.assertEqual((recorded.returncode, recorded.stderr), (0, ""))

    def test_no_server_is_asked(self):
        trace = self.top / "trace"
        environment = clean_environment(DEBUGINFOD_URLS="http://127.0.0.1:9/")
        stripped = self.top / "asked"
        subprocess.run(["strip", "--strip-debug", "-o", stripped, TRAIN], check=True)
        log = self.rewritten(object=str(stripped))
        done = subprocess.run(["strace", "-f", "-e", "trace=%network", "-o", trace, TOOL, "report", log], env=environment, capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("socket(", trace.read_text())

    def test_names_of_cpp_are_told_without_their_arguments(self):
        """In a program that is loaded anywhere, in one that is not, and in a library."""
        source = self.top / "names.cpp"
        source.write_text(CPP)
        lines = {m[1]: number for number, line in enumerate(CPP.split("\n"), 1) if (m := re.search(r"// LINE (\w+)", line))}
        for options in (["-fPIE", "-pie"], ["-fno-pie", "-no-pie"], ["-fPIC", "-shared"]):
            made = self.top / "names"
            subprocess.run(["g++", "-g", "-O0", "-Wl,--build-id", *options, source, "-o", made], check=True)
            symbols = re.findall(r"^([0-9a-f]+) \w (\S+)$", subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout, re.M)
            wanted = {}
            for mark, (part, name) in NAMES.items():
                (start,) = [int(address, 16) for address, symbol in symbols if part in symbol]
                wanted[f"names+{start + 1:#x}"] = f"{name} names.cpp:{lines[mark]}"
            self.assertEqual(self.places(self.written(wanted, made))[0], wanted, options)

    def test_an_inlined_wrapper_of_cudas_header_is_told_by_its_callers_line(self):
        """cudaMalloc(&floats) is a template there, which calls cudaMalloc(void **): two deep here, and a header of another name stays."""
        folder = self.top / "wrapped"
        folder.mkdir()
        for header, function in (("cuda_runtime.h", "cudaMalloc"), ("other.h", "other")):
            (folder / header).write_text(f"""
                template <class T> static inline __attribute__((always_inline)) int {function}_inner(T **p, int n) {{ return raw((void **)p, n) + 1; }}
                template <class T> static inline __attribute__((always_inline)) int {function}(T **p, int n) {{ return {function}_inner(p, n) + 1; }}
            """)
        (folder / "asks.cpp").write_text("""extern "C" __attribute__((noinline)) int raw(void **p, int n) { *(void *volatile *)p = nullptr; return n; }
#include "cuda_runtime.h"
#include "other.h"
static inline __attribute__((always_inline)) int layer(float **p) {
    return cudaMalloc(p, 5);
}
int main() {
    float *a; int *b;
    int sum = cudaMalloc(&a, 9);
    sum += cudaMalloc(&b, 10);
    sum += layer(&a);
    return sum + other(&a, 12);
}
""")
        made = folder / "asks"
        for options in (["-O2"], ["-O1", "-gdwarf-4"]):
            subprocess.run(["g++", "-g", *options, "-Wl,--build-id", folder / "asks.cpp", "-o", made], check=True)
            code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", made], capture_output=True, text=True, check=True).stdout
            sites = [f"asks+0x{after}" for after in re.findall(r"call\s.*<raw>\n\s*([0-9a-f]+):", code)]
            self.assertEqual(list(self.places(self.written(sites, made))[0][site] for site in sites),
                             ["main asks.cpp:9", "main asks.cpp:10", "layer asks.cpp:5", "other_inner other.h:2"], options)

    def test_a_chain_ends_before_cudas_template_where_that_is_not_inlined(self):
        folder = self.top / "called"
        folder.mkdir()
        (folder / "cuda_runtime.h").write_text("template <class T> int cudaMalloc(T **p) { return raw((void **)p) + 1; }\n")
        (folder / "asks.cpp").write_text('extern "C" int raw(void **) { return 1; }\n#include "cuda_runtime.h"\n'
                                         "int main() { float *a; return cudaMalloc(&a); }\n")
        subprocess.run(["g++", "-g", "-O0", "-Wl,--build-id", folder / "asks.cpp", "-o", folder / "asks"], check=True)
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", folder / "asks"], capture_output=True, text=True, check=True).stdout
        inner, outer = ("asks+0x" + re.search(rf"call\s.*<{name}\w*>\n\s*([0-9a-f]+):", code)[1] for name in ("raw", "_Z10cudaMalloc"))
        chain = f"{outer} > {inner}"
        places, _ = self.places(self.written([inner, outer, chain], folder / "asks"))
        self.assertEqual(places, {inner: "cudaMalloc cuda_runtime.h:1", outer: "main asks.cpp:3", chain: "main asks.cpp:3"})

    def test_what_is_no_offset_is_left_as_it_is(self):
        odd = ["names", "names+0x", "names+0xzz", "names+0x0", "names+0xffffffffffffffffff", "names+12", "a.py:7", "x > y", " > ", "+0x5 > +0x6",
               "names+0xffffffffffffffff", "n" * 3000, " > ".join(["names+0x40"] * 400)]
        places, _ = self.places(self.written(odd, TRAIN))
        self.assertEqual({site: place for site, place in places.items() if place and "names+0x40" not in site}, {})


main()
