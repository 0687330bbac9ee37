/* text.js - what is told in words: the verdict, what happened, settings and the glossary. */
const GRADES = {
  yes: ["\u2714", "Yes, the cache was effective"], partly: ["\u25d0", "Partly: the cache was effective for a part of the run"],
  no: ["\u2718", "No, the cache was not effective"], none: ["\u2013", "There was nothing to cache"],
};

/* The report's own paragraphs, which it broke into lines of 80 columns; those of a step go on below its text, further in. */
function paragraphs(story) {
  const all = [];
  for (const line of story.split("\n")) {
    const last = all[all.length - 1], step = /^ {2}step (\d+) +(.*)$/.exec(line);
    if (/^what happened/.test(line)) all.push({ head: line.replace(/^what happened:? */, "") });
    else if (/^phases /.test(line) || !line.trim() || !all.length) continue;
    else if (step) all.push({ step: +step[1], text: step[2] });
    else if (last.text && (last.step == null || /^ {3}/.test(line))) last.text += ` ${line.trim()}`;
    else all.push({ text: line.trim() });
  }
  return all;
}

function storyOf() {
  const heads = paragraphs(run.story ?? "").filter(p => p.head != null).length;
  return make("ul", { class: "story" }, paragraphs(run.story ?? "").map(p => {
    if (p.head != null) return heads > 1 ? make("li", { class: "plain" }, make("strong", {}, p.head)) : null;
    return p.step == null ? make("li", { class: "plain" }, p.text) : make("li", {}, make("span", { class: "when" }, `step ${words.count(p.step)}`), make("span", {}, p.text));
  }));
}

function tile(value, label, more) {
  return make("li", {}, make("b", {}, value), make("span", {}, label), more && make("i", {}, more));
}

/* Figures of the lane that is shown. */
function tilesOf(lane) {
  const all = lane.totals, calls = all.driver_allocs + all.driver_frees, fixed = lane.by_phase.find(p => p.phase === "fixed");
  return make("ul", { class: "tiles" }, [
    tile(words.percent(all.hits, all.hits + all.misses), "hits in phase fixed", `${words.percent(all.hits, all.requests)} of all ${words.count(all.requests)}`),
    tile(words.percent(fixed?.rows ?? 0, lane.by_phase.reduce((sum, p) => sum + p.rows, 0)), "of steps in phase fixed", words.plural(lane.steps, "step")),
    tile(words.size(all.live_peak), "peak live"),
    tile(words.size(all.held_peak), "peak held", lane.cap ? `the cap was ${words.size(lane.cap)}` : null),
    tile(words.count(calls), "driver calls", `${words.time(all.driver_ns)} in them`),
    tile(all.sampled ? words.time(all.hit_ns / all.sampled) : "\u2013", "a hit, in the mean", calls ? `a driver call: ${words.time(all.driver_ns / calls)}` : null),
    tile(words.count(lane.shapes_seen), "shapes", `${words.plural(lane.fallbacks, "fallback")}`),
    tile(words.count(lane.refused), "times out of memory", lane.refused ? "that reached the program" : "none reached the program"),
  ]);
}

function notesOf(process) {
  const notes = [];
  if (!process.is_complete) notes.push(make("p", { class: "note" }, "The log has no end: the program was killed or still runs. What is shown is what the log has, up to its last step."));
  if (process.is_cut) notes.push(make("p", { class: "note" }, "The log\u2019s last line was cut short and is left out."));
  for (const note of process.notes.slice(0, 12))
    notes.push(make("p", { class: /memory/.test(note.text) ? "note bad" : "note" }, note.step == null ? note.text : `Step ${words.count(note.step)}: ${note.text}`));
  const more = process.notes.length - Math.min(12, process.notes.length) + process.notes_left_out;
  if (more) notes.push(make("p", { class: "hint" }, `${words.plural(more, "more remark")} in the log.`));
  return notes;
}

function phaseTable(lane) {
  const each = (name, scale = 1) => p => p.rows ? p[name] / p.rows * scale : null;
  return {
    name: "A step, by the phase in which it ended", rows: lane.by_phase,
    columns: [
      { title: "phase", value: p => words.phases[p.phase]?.name ?? p.phase, text: true }, { title: "steps", value: p => p.rows, write: words.count },
      { title: "a step took", key: "dur_ns", value: each("dur_ns"), write: words.time }, { title: "requests", value: each("requests"), write: words.each },
      { title: "hits", value: p => p.requests ? p.hits / p.requests * 100 : null, write: v => `${v.toFixed(2)}%` },
      { title: "driver calls", key: "driver_calls", value: p => p.rows ? (p.driver_allocs + p.driver_frees) / p.rows : null, write: words.each },
      { title: "in them", key: "driver_ns", value: each("driver_ns"), write: words.time }, { title: "in waits", key: "wait_ns", value: each("wait_ns"), write: words.time },
      { title: "peak held", key: "held_peak", value: p => p.held_peak, write: words.size },
    ],
  };
}

function configTable(process) {
  return {
    name: "Settings", rows: process.config ?? [], flag: row => row.from !== "default",
    columns: [
      { title: "setting", value: row => row.name, text: true }, { title: "value", value: row => row.value === "" ? "(empty)" : row.value, text: true, long: true },
      { title: "source", value: row => row.from === "env" ? "environment" : row.from ?? "", text: true },
      { title: "meaning", value: row => row.meaning ?? "", text: true, long: true },
    ],
  };
}

function glossary() {
  const own = words.glossary.map(([word, meaning]) => [word, meaning]);
  const phases = run.words.filter(w => w.kind === "phase").map(w => [`phase ${words.phases[w.word]?.name ?? w.word}`, w.meaning]);
  const reasons = run.words.filter(w => w.kind === "reason").map(w => [w.word, words.settings(w.meaning, name => name)]);
  const list = pairs => make("dl", {}, pairs.flatMap(([word, meaning]) => [make("dt", {}, word), make("dd", {}, meaning)]));
  return [list(own), make("h3", {}, "Phases"), list(phases), make("h3", {}, "Reasons of a change of phase"), list(reasons)];
}
