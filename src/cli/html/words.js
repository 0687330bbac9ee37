/* words.js - how figures are written, what phases look like, and what words mean. */
const words = {
  size(bytes) {
    if (bytes == null) return "\u2013";
    if (bytes < 1024) return `${bytes} B`;
    const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = -1, value = bytes;
    do { value /= 1024; unit++; } while (value >= 1023.5 && unit + 1 < units.length);
    return `${words.digits(value)} ${units[unit]}`;
  },

  time(ns) {
    if (ns == null) return "\u2013";
    if (ns < 1e3) return `${Math.round(ns)} ns`;
    if (ns < 1e6) return `${words.digits(ns / 1e3)} \u00b5s`;
    if (ns < 1e9) return `${words.digits(ns / 1e6)} ms`;
    if (ns < 100e9) return `${words.digits(ns / 1e9)} s`;
    const seconds = Math.floor(ns / 1e9);
    if (seconds < 6000) return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, "0")}s`;
    return `${Math.floor(seconds / 3600)}h${String(Math.floor(seconds / 60) % 60).padStart(2, "0")}m`;
  },

  /* Three significant digits; whole from 100 on. */
  digits(value) {
    return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0).replace(/\.0+$/, "");
  },

  count(value) {
    return value == null ? "\u2013" : Math.round(value).toLocaleString("en-US");
  },

  /* For axes: 1,200 is enough up to a million. */
  short(value) {
    const size = Math.abs(value);
    if (size >= 1e9) return `${words.digits(value / 1e9)}G`;
    if (size >= 1e6) return `${words.digits(value / 1e6)}M`;
    if (size >= 1e4) return `${words.digits(value / 1e3)}k`;
    return size && size < 1 ? String(+value.toPrecision(2)) : String(+value.toFixed(1));
  },

  percent(part, whole) {
    return whole ? `${(Math.floor(part / whole * 10000) / 100).toFixed(2)}%` : "\u2013";
  },

  /* Few requests a step are told with their fractions. */
  each(value) {
    return value == null ? "\u2013" : value < 100 ? String(+value.toFixed(2)) : words.count(value);
  },

  steps(first, last) {
    return last == null || last <= first ? `step ${words.count(first)}` : `steps ${words.count(first)}\u2013${words.count(last)}`;
  },

  plural(count, one, many = `${one}s`) {
    return `${words.count(count)} ${count === 1 ? one : many}`;
  },

  /* The end of a call site says more than its beginning. */
  tail(text, most) {
    return text.length > most ? `\u2026${text.slice(1 - most)}` : text;
  },

  /* "WARMUP steps" names a setting; `told` says how. */
  settings(meaning, told) {
    return meaning.replace(/\b(WARMUP|MAX_SHAPES|MAX_AGE)\b/g, name => told(`SHAPECACHE_${name}`));
  },

  escape(text) {
    return String(text).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
  },

  /* A word of a later version of the log looks like "off". */
  phases: {
    warmup: { name: "warm-up", hatch: "lines", light: "#7a8694", dark: "#8d99a8" },
    fixed: { name: "fixed", hatch: "plain", light: "#2c9a61", dark: "#45b883" },
    fallback: { name: "fallback", hatch: "cross", light: "#c8442b", dark: "#ff8464" },
    off: { name: "off", hatch: "dots", light: "#57606a", dark: "#a0abb8" },
  },

  events: {
    "new": { name: "new shape", symbol: "diamond" },
    phase: { name: "phase", symbol: "rect" },
    oom: { name: "no memory", symbol: "path://M0,2 L2,0 L5,3 L8,0 L10,2 L7,5 L10,8 L8,10 L5,7 L2,10 L0,8 L3,5 Z" },
    trim: { name: "trim", symbol: "path://M0,0 L10,0 L5,9 Z" },
    mark: { name: "mark", symbol: "circle" },
  },

  glossary: [
    ["request", "One call of the driver\u2019s allocation function, or what would have been one."],
    ["shape", "What makes two requests alike for the cache: their exact bytes, and with SHAPECACHE_KEY=bytes+site the place that asks."],
    ["step", "One batch of the program, as the cache infers it or is told. Everything here is counted by steps."],
    ["live", "Memory that the program holds: allocated and not freed."],
    ["idle", "Memory that the program freed and the cache keeps for the next request of its shape."],
    ["held", "Live and idle together: what the device has mapped for the program\u2019s requests."],
    ["cap", "What held never exceeds: the peak of live and SHAPECACHE_OVERHEAD more, or SHAPECACHE_LIMIT."],
    ["driver used", "Total less free memory as the driver reports it, sampled once a second at most: contexts, libraries and other processes are in it."],
    ["hit", "A request that the cache served: no driver call."],
    ["miss", "A request in phase fixed that went to the driver, since no buffer of its shape was idle."],
    ["bypassed", "Every other request: it came outside phase fixed, or is of a kind that is not cached."],
    ["high-water mark", "The most there was at once, up to then."],
    ["evicted", "Idle buffers that went back to the driver to make room."],
    ["trim", "The program asked for idle memory to be given back."],
    ["call site", "The place in the program that asked: object and offset, or file and line; with SHAPECACHE_STACKS=N with its callers."],
    ["arena", "Page-locked host memory in which activations wait for their backward pass, last in, first out."],
    ["rank", "One process of a run of several."],
  ],
};
