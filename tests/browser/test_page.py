#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of `shapecache report --html` in a headless Chromium: test_page.py RUN BUILD [SCREENSHOTS]. Each run's page is
loaded light and dark, wide and narrow; every plot must have drawn its data, and nothing may be asked of the network."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from chromium import Browser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "demo"))
from runs import MIB, Run, source_of  # noqa: E402

COSTS = {"MALLOC_NS": 50_000, "FREE_NS": 7_000, "KERNEL_NS": 20_000}
SECTIONS = ["verdict", "timeline", "shapes", "presence", "requests", "time", "sites", "arena", "ranks", "settings", "words", "text"]
STEP_PLOTS = ["memory", "shapes", "presence", "requests", "time", "flame"]
LEAST_PIXELS = 60  # of data in a plot

# How many pixels of each plot are there for its data: what differs when its series are emptied, all else left as it is.
PIXELS = """(async () => {
  const pixels = box => [...box.querySelectorAll('canvas')].map(canvas => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return copy.getImageData(0, 0, canvas.width, canvas.height).data;
  });
  const found = {};
  for (const plot of plots.filter(p => p.box.clientWidth)) {
    const before = pixels(plot.box);
    plot.chart.setOption({ series: plot.chart.getOption().series.map(() => ({ data: [] })) });
    plot.chart.getZr().flush();
    const after = pixels(plot.box);
    let count = 0;
    before.forEach((data, n) => {
      for (let i = 0; i < data.length; i += 4)
        count += [0, 1, 2, 3].some(c => Math.abs(data[i + c] - after[n][i + c]) > 24);
    });
    found[plot.id] = count;
    plot.draw();
  }
  return found;
})()"""

# Every table that can be opened, and every file behind a button.
TABLES = """(async () => {
  document.querySelectorAll('details').forEach(d => d.open = true);
  await new Promise(done => setTimeout(done, 50));
  const made = [], real = URL.createObjectURL;
  URL.createObjectURL = blob => { made.push(blob); return real.call(URL, blob); };
  document.querySelectorAll('[data-csv]').forEach(button => button.click());
  URL.createObjectURL = real;
  const files = await Promise.all(made.map(blob => blob.text()));
  const tables = [...document.querySelectorAll('.under details')].map(d => d.querySelectorAll('tbody tr').length);
  document.querySelectorAll('details').forEach(d => d.open = false);
  return { buttons: document.querySelectorAll('[data-csv]').length, files, tables, plots: document.querySelectorAll('.plot').length };
})()"""


def expect(is_true, otherwise):
    if not is_true:
        sys.exit(f"not so: {otherwise}")


class Case:
    """One run's page."""

    def __init__(self, name, build, screenshots):
        self.name, self.build, self.screenshots = name, build, screenshots
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"shapecache-page-{name}-"))
        self.file = self.folder / "page.html"

    def write(self, *paths):
        done = subprocess.run([self.build / "shapecache", "report", "--html", self.file, *paths], capture_output=True, text=True, check=False)
        expect(done.returncode == 0 and not done.stderr, f"report --html: exit status {done.returncode}: {done.stderr}")

    def trained(self, *arguments, cache=None, status=0, **sim):
        run = Run(self.build, list(arguments), cache=cache or {}, sim=COSTS | sim, keep=self.folder)
        expect(run.status == status, f"exit status {run.status}: {run.stderr}")
        self.write(run.log_path())
        return run

    def look(self, browser, plots, *, thoroughly=False):
        """Both themes, wide and narrow; thoroughly: each with each."""
        for width in (1400, 400):
            for is_dark in (False, True) if thoroughly else (width == 400,):
                what = f"{self.name}, {'dark' if is_dark else 'light'}, {width} px"
                page = browser.page(self.file, width=width, dark=is_dark)
                expect(page.evaluate("document.documentElement.dataset.theme") == ("dark" if is_dark else "light"), f"{what}: the system's theme is taken")
                expect(page.evaluate("document.documentElement.scrollWidth") <= width, f"{what}: nothing is wider than the window")
                if self.screenshots:
                    page.screenshot(self.screenshots / f"{self.name}-{width}-{'dark' if is_dark else 'light'}.png")
                found = page.evaluate(PIXELS)
                print(f"{what}: {found}", flush=True)
                expect(sorted(found) == sorted(plots), f"{what}: plots {sorted(found)}, expected {sorted(plots)}")
                for plot, count in found.items():
                    expect(count >= LEAST_PIXELS, f"{what}: {plot} has drawn {count} pixels of data")
                self.sound(page, what)
                page.close()

    def sound(self, page, what):
        expect(not page.problems(), f"{what}: {page.problems()}")
        expect(not page.requests(), f"{what}: it asks for {page.requests()}")

    def told(self, page):
        """What every page has: its sections in order, names for who cannot see, tables and files of every plot."""
        expect(page.evaluate("[...document.querySelectorAll('main > section')].map(s => s.id)") == (SECTIONS if plots_of(page) else ["verdict", *SECTIONS[-3:]]), "the sections in order")
        names = page.evaluate("[...document.querySelectorAll('.plot')].map(p => [p.getAttribute('role'), p.tabIndex, p.getAttribute('aria-label')])")
        for role, index, label in names:
            expect(role == "img" and index == 0 and len(label) > 20, f"a plot has a name and takes the focus: {role} {index} {label}")
        tables = page.evaluate(TABLES)
        expect(len(tables["files"]) == tables["buttons"] >= tables["plots"], f"every plot has a file: {tables['buttons']} of {tables['plots']}")
        for text in tables["files"]:
            head, _, rows = text.partition("\r\n")
            expect("," in head and rows, f"a file has rows: {text[:80]!r}")
        expect(all(tables["tables"]), f"every table has rows: {tables['tables']}")


def plots_of(page):
    return page.evaluate("plots.length")


def steps_are_pointed_at_by_keys(page):
    page.evaluate("document.getElementById('plot-memory').focus()")
    for _ in range(3):
        page.press("ArrowRight")
    page.settle()
    tip = page.evaluate("document.querySelector('#plot-memory .tip table')?.textContent ?? ''")
    expect("live, most" in tip, f"arrow keys move the pointer: {tip!r}")
    page.press("+")
    zoom = page.evaluate("(z => z.end - z.start)(plots.find(p => p.id === 'memory').chart.getOption().dataZoom[0])")
    expect(zoom == 50, f"plus halves what is shown: {zoom}")
    other = page.evaluate("(z => z.end - z.start)(plots.find(p => p.id === 'requests').chart.getOption().dataZoom[0])")
    expect(other == 50, f"and of the other plots of steps: {other}")
    page.press("0")


def tables_sort(page):
    sort = """(title => {
      const table = document.querySelector('#shapes h3 + div table'), heads = [...table.querySelectorAll('th')];
      const at = heads.findIndex(head => head.textContent.startsWith(title));
      heads[at].querySelector('button').click();
      return [heads[at].getAttribute('aria-sort'), [...table.querySelectorAll('tbody tr')].map(row => row.children[at].textContent)];
    })('first step')"""
    order, cells = page.evaluate(sort)
    numbers = [int(cell.replace(",", "")) for cell in cells]
    expect(order == "descending" and numbers == sorted(numbers, reverse=True), f"a heading sorts: {order} {numbers[:9]}")
    order, cells = page.evaluate(sort)
    numbers = [int(cell.replace(",", "")) for cell in cells]
    expect(order == "ascending" and numbers == sorted(numbers), f"and the other way: {order} {numbers[:9]}")


def theme_changes(page):
    seen = page.evaluate("""[1, 2, 3].map(() => {
      document.getElementById('theme').click();
      return [document.getElementById('theme').textContent, document.documentElement.dataset.theme];
    })""")
    expect(seen == [["theme: light", "light"], ["theme: dark", "dark"], ["theme: auto", "light"]], f"the button changes the theme: {seen}")


def flames_have_three_widths(page):
    labels = page.evaluate("""[...document.querySelectorAll('[data-by]')].map(button => {
      button.click();
      return [button.getAttribute('aria-checked'), document.getElementById('plot-flame').getAttribute('aria-label')];
    })""")
    expect(len({label for _, label in labels}) == 3 and all(checked == "true" for checked, _ in labels), f"bytes, misses and time: {labels}")


# --- the runs ---

def fixed(case, browser):
    """Equal lengths: all that a page has, by pointer, by keys and as files."""
    case.trained("--lengths", "fixed")
    case.look(browser, STEP_PLOTS, thoroughly=True)
    page = browser.page(case.file)
    expect("Yes, the cache was effective" in page.evaluate("document.querySelector('.grade').textContent"), "the verdict")
    case.told(page)
    for check in (steps_are_pointed_at_by_keys, tables_sort, theme_changes, flames_have_three_widths):
        check(page)
    case.sound(page, "after all that")


def late(case, browser):
    """Lengths change: the shape that broke the set is named, at its step, in words and in the plot."""
    run = case.trained("--lengths", "late-change", "--steps", "60")
    case.look(browser, STEP_PLOTS, thoroughly=True)
    fall = run.fallbacks()[0]
    page = browser.page(case.file)
    case.told(page)
    label = page.evaluate("document.getElementById('plot-presence').getAttribute('aria-label')")
    expect(f"Shape {fall['shape']} of" in label and f"at step {fall['step']}" in label, f"{fall} is told: {label}")
    lead = page.evaluate("document.querySelector('.lead').textContent")
    place = source_of(case.build, fall["site"])
    expect(f"let go at step {fall['step']}" in lead and place and place in lead, f"the verdict tells it, {place}: {lead}")
    case.sound(page, "late")


def deep(case, browser):
    """Level event, with callers: boxes stand below the ones that called them, and a click goes in."""
    run = case.trained("--lengths", "late-change", "--steps", "60", cache={"LOG_LEVEL": "event", "STACKS": "3"})
    case.look(browser, STEP_PLOTS)
    page = browser.page(case.file)
    callers = [r["site"].split(" > ") for r in run.records("shape") if " > " in r.get("site", "")]
    expect(callers, "the log has callers")
    depth = page.evaluate("Math.max(...flamePlot.boxes().map(box => box.depth))")
    expect(depth == max(map(len, callers)), f"as deep as the log's callers: {depth}")
    expect(page.evaluate("view.lane.presence.is_exact"), "requests are counted in their steps")
    name = page.evaluate("(() => { flame.path = flamePlot.boxes().find(box => box.depth === 1).path; flamePlotDrawn.draw(); return flamePlot.boxes()[0].node.name; })()")
    expect(".cu:" in name, f"{name} is on top")


def random(case, browser):
    """Lengths never repeat: the verdict is no."""
    case.trained("--lengths", "random", MEMORY=152 * MIB)
    case.look(browser, STEP_PLOTS)
    page = browser.page(case.file)
    case.told(page)
    expect("No, the cache was not effective" in page.evaluate("document.querySelector('.grade').textContent"), "the verdict")


def wide(case, browser):
    case.trained("--wide")
    case.look(browser, STEP_PLOTS)


def site(case, browser):
    """Gates for call sites: what is said of the whole run stands apart from what is said of the step before it."""
    case.trained("--lengths", "late-change", "--steps", "60", cache={"SCOPE": "site"})
    case.look(browser, STEP_PLOTS)
    page = browser.page(case.file)
    told = page.evaluate("[...document.querySelectorAll('.story li')].map(item => item.textContent)")
    expect(told[0].startswith("step ") and "gate each" not in told[0], f"{told} begins with a step alone")
    expect(any("call sites have a gate each" in text and not text.startswith("step ") for text in told), f"{told} tells of gates apart")


def oom(case, browser):
    """Every shape cached on a small device: the page says that memory ran out, and where."""
    case.trained("--lengths", "random", cache={"GATE": "0"}, status=1, MEMORY=152 * MIB)
    case.look(browser, [*STEP_PLOTS, "oom"], thoroughly=True)
    page = browser.page(case.file)
    case.told(page)
    expect("ran out of memory" in page.evaluate("document.querySelector('.lead').textContent"), "the verdict tells it")
    told = page.evaluate("incidentsOf(view.lane)[0]")
    expect(sum(told[part] for part in ("live", "idle", "passed", "other", "driver_free")) == told["total"] == 152 * MIB, f"the parts are the device: {told}")
    expect(page.evaluate("document.querySelector('#verdict dl').textContent").count("SHAPECACHE_GATE=0") == 1, "what may help is told")
    expect(page.evaluate("marksOf(view.lane).oom.length") == 1 and page.evaluate("memoryPlot.kinds().includes('oom')"), "it is marked")


def ranks(case, browser):
    """Four ranks, one of which has other shapes: a band, bars, and a choice of which is shown."""
    for rank in range(4):
        arguments = ["--lengths", "late-change" if rank == 2 else "fixed", "--steps", "60"]
        os.environ |= {"RANK": str(rank), "WORLD_SIZE": "4"}
        run = Run(case.build, arguments, cache={"RUN_ID": "four"}, sim=COSTS)
        expect(run.status == 0, run.stderr)
        (case.folder / f"r{rank}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in run.log))
    case.write(case.folder)
    case.look(browser, [*STEP_PLOTS, "envelope", "ranks"])
    page = browser.page(case.file)
    case.told(page)
    expect("rank 2 let go at step 40" in page.evaluate("document.querySelector('.lead').textContent"), "the rank that was different")
    before = page.evaluate("document.querySelector('.tiles').textContent")
    page.evaluate("(s => { s.value = '2'; s.dispatchEvent(new Event('change')); })(document.getElementById('lane'))")
    after = page.evaluate("document.querySelector('.tiles').textContent")
    expect(before != after and "1 fallback" in after, f"another rank is shown: {after}")
    found = page.evaluate(PIXELS)
    expect(all(count >= LEAST_PIXELS for count in found.values()), f"and drawn: {found}")
    case.sound(page, "ranks")


def arena(case, browser):
    """Activations that wait in a pinned arena: its depth is drawn."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHAPECACHE", "SIMCUDA_", "LD_PRELOAD"))}
    log = case.folder / "log.jsonl"
    done = subprocess.run([case.build / "shapecache", "run", "--sim", "--", case.build / "tests/programs/offload", "--offload", str(24 * MIB), "--steps", "22",
                           "--layers", "12", "--rows", "8192"], capture_output=True, text=True, check=False,
                          env=environment | {"SHAPECACHE_LOG": str(log), "LD_LIBRARY_PATH": str(case.build / "sim")})
    expect(done.returncode == 0, done.stderr)
    case.write(log)
    case.look(browser, [*STEP_PLOTS, "arena"])
    page = browser.page(case.file)
    case.told(page)
    label = page.evaluate("document.getElementById('plot-arena').getAttribute('aria-label')")
    expect("at most 12 tensors, 24 MiB" in label, label)


def lines(*records):
    return "".join(json.dumps({"ev": ev, "t": t} | fields) + "\n" for ev, t, fields in records)


def long(case, browser):
    """Many steps share a pixel: the one that was different is still seen."""
    log, steps = case.folder / "long.jsonl", 60000
    with log.open("w") as file:
        file.write(lines(("run", 0, {"v": 1, "pid": 1, "devices": [{"dev": 0, "total": 8 << 30}]}), ("phase", 1, {"step": 4, "dev": 0, "from": "warmup", "to": "fixed", "reason": "set-fixed"})))
        file.writelines(lines(("step", i * 1000, {"step": i, "dev": 0, "phase": "fixed", "requests": 8, "hits": 0 if i == 44444 else 8, "misses": 8 if i == 44444 else 0, "live": MIB,
                                                  "live_peak": (2 + i % 7) * MIB, "held_peak": 12 * MIB, "driver_allocs": 1, "driver_frees": 1, "driver_ns": 60000, "hit_ns": 200, "sampled": 1,
                                                  "driver_free": (8 << 30) - (14 + i // 9000) * MIB})) for i in range(steps))
        file.writelines(lines(("shape", 9, {"step": steps, "dev": 0, "id": n, "bytes": (n + 1) * MIB, "requests": 99, "hits": 90, "misses": 9, "high": 2, "first_step": n * 100, "last_step": steps - 1,
                                            "miss_ns_avg": 50000, "site": f"a.out+0x{n:x}"})) for n in range(400))
    case.write(log)
    case.look(browser, STEP_PLOTS)
    page = browser.page(case.file)
    case.told(page)
    least = page.evaluate("Math.min(...view.lane.series.rate_least)")
    expect(least == 0, f"the lowest step of a pixel is kept: {least}")


def hostile(case, browser):
    """Names that would be markup or scripts are text wherever they stand."""
    bad = "</script><script>window.taken = 1</script><img src=x onerror='window.taken = 1'>\u2028{{data}}"
    log = case.folder / "hostile.jsonl"
    records = [("run", 0, {"v": 1, "pid": 1, "run": bad, "host": bad, "argv": [bad], "devices": [{"dev": 0, "total": 8 << 30}], "config": {bad: {"value": bad, "from": bad}}}),
               ("phase", 1, {"step": 1, "dev": 0, "from": "warmup", "to": "fixed", "reason": "set-fixed"}), ("warn", 1, {"text": bad}), ("mark", 2, {"step": 1, "dev": 0, "name": bad}),
               ("phase", 2, {"step": 6, "dev": 0, "from": "fixed", "to": bad[:20], "reason": bad[:20]}),
               ("phase", 2, {"step": 7, "dev": 0, "from": "fixed", "to": "fallback", "reason": "new-shape", "shape": 1, "bytes": MIB, "site": bad}), ("oom", 3, {"step": 7, "dev": 0, "bytes": MIB, "site": bad + "x" * 300, "result": 2, "total": 8 << 30, "live": 8 << 30, "advice": "y" * 300}),
               ("arena", 1, {"dev": 0, "name": bad, "what": bad, "capacity": MIB, "used": 4096, "used_peak": MIB, "demand_peak": MIB, "offloads": 3, "onloads": 3, "tickets": 1, "tickets_peak": 3}),
               ("arena", 10**9, {"dev": 0, "name": bad, "what": "end", "capacity": MIB, "used": 0, "used_peak": MIB, "demand_peak": MIB, "offloads": 3, "onloads": 3, "tickets": 0, "tickets_peak": 3})]
    records += [("step", 2 + i, {"step": i, "dev": 0, "phase": bad[:20] if i == 6 else "fixed", "requests": 8, "hits": 6, "misses": 2, "live": MIB, "live_peak": 2 * MIB, "held_peak": 3 * MIB, "driver_allocs": 2,
                                 "driver_frees": 2, "driver_ns": 90000}) for i in range(9)]
    records += [("shape", 9, {"step": 8, "dev": 0, "id": i, "bytes": (i + 1) * MIB, "site": f"{bad} > {bad}{i}", "label": bad[:60], "requests": 9, "hits": 6, "misses": 3, "high": 2, "first_step": 7 * i, "last_step": 8,
                              "miss_ns_avg": 50000}) for i in range(2)]
    log.write_text(lines(*records))
    case.write(log)
    case.look(browser, [*STEP_PLOTS, "arena", "oom"])
    page = browser.page(case.file)
    case.told(page)
    page.evaluate("plots.filter(p => p.isSteps).forEach(p => p.chart.dispatchAction({ type: 'showTip', seriesIndex: 0, dataIndex: 1 }))")
    for plot in ("flame", "shapes", "arena"):
        page.evaluate(f"plots.find(p => p.id === '{plot}').chart.dispatchAction({{ type: 'showTip', seriesIndex: 0, dataIndex: 1 }})")
    page.settle()
    expect(page.evaluate("window.taken ?? 0") == 0, "nothing of the log has run")
    expect(page.evaluate("document.querySelectorAll('img, script').length") == 3, "nothing of the log is an element")
    expect(bad in page.evaluate("document.querySelector('#settings table').textContent"), "it is text")
    case.sound(page, "hostile")


def bare(case, browser):
    """A log of which the program was killed before its first step, and one without a device: no plot, no error."""
    log = case.folder / "bare.jsonl"
    for records in ([("run", 0, {"v": 1, "pid": 1})], [("run", 0, {"v": 1, "pid": 1, "devices": [{"dev": 0, "total": MIB}]}),
                                                       ("phase", 1, {"step": 0, "dev": 0, "from": "warmup", "to": "off", "reason": "user"})]):
        log.write_text(lines(*records) + '{"ev":"st')
        case.write(log)
        case.look(browser, [])
        expect("has no end" in browser.page(case.file).evaluate("document.getElementById('verdict').textContent"), "it is told")


def uneven(case, browser):
    """The first rank has nothing to plot, the second has: each is shown as it is."""
    devices = {"v": 1, "run": "two", "world": 2, "devices": [{"dev": 0, "total": 8 << 30}]}
    first, second = case.folder / "r0.jsonl", case.folder / "r1.jsonl"
    first.write_text(lines(("run", 0, devices | {"pid": 1, "rank": 0}), ("phase", 1, {"step": 0, "dev": 0, "from": "warmup", "to": "off", "reason": "user"})))
    second.write_text(lines(("run", 0, devices | {"pid": 2, "rank": 1}),
                            *(("step", i, {"step": i, "dev": 0, "phase": "fixed", "requests": 8, "hits": 6, "misses": 2, "live": MIB, "live_peak": 2 * MIB, "held_peak": 3 * MIB, "driver_allocs": 2,
                                           "driver_frees": 2, "driver_ns": 90000}) for i in range(9)),
                            ("shape", 9, {"step": 8, "dev": 0, "id": 0, "bytes": MIB, "site": "a.out+0x10", "requests": 72, "hits": 54, "misses": 18, "high": 2, "first_step": 0, "last_step": 8})))
    case.write(first, second)
    page = browser.page(case.file)
    for lane in ("1", "0", "1"):
        page.evaluate(f"(s => {{ s.value = '{lane}'; s.dispatchEvent(new Event('change')); }})(document.getElementById('lane'))")
        page.settle()
        case.sound(page, f"rank {lane}")
    found = page.evaluate(PIXELS)
    expect(sorted(found) == sorted([*STEP_PLOTS, "envelope", "ranks"]) and all(count >= LEAST_PIXELS for count in found.values()), f"the second rank is drawn: {found}")


CASES = {function.__name__: function for function in (fixed, late, deep, random, wide, site, oom, ranks, arena, long, hostile, bare, uneven)}


def main():
    name, build = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    screenshots = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    if screenshots:
        screenshots.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        CASES[name](Case(name, build, screenshots), browser)
    print(f"{name}: the page is as it should be")


if __name__ == "__main__":
    main()
