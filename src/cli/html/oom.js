/* oom.js - where the memory of the device was, each time that the driver had none left. */
const OOM_PARTS = [["live", "live"], ["idle", "idle"], ["passed", "passed by"], ["other", "other"], ["driver_free", "free"]];

/* Those whose log tells where the memory was; the last stands first. */
function incidentsOf(lane) {
  return lane.incidents.filter(one => one.total != null && one.live != null).reverse();
}

const oomPlot = {
  id: "oom", title: "Where the memory was when it ran out",
  caption: "The whole device, each time that the driver had no memory left, the last first: what the program held live, what the cache kept idle, what passed the cache, what is not the program\u2019s or never comes to the cache, and what was free in pieces.",
  height: () => 78 + 30 * Math.max(1, incidentsOf(view.lane).length),
  summary() {
    const [last] = incidentsOf(view.lane);
    return last ? `At step ${last.step} ${words.size(last.bytes)} were asked for: ${OOM_PARTS.filter(([part]) => last[part] != null).map(([part, name]) => `${words.size(last[part])} ${name}`).join(", ")}.` : "";
  },

  option(width, ink) {
    const all = incidentsOf(view.lane), base = baseOption(ink, width);
    const looks = {
      live: { color: ink.live }, passed: { color: ink.bypass }, other: { color: ink.driver },
      idle: { color: ink.idle, decal: { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -0.785, color: ink.card } },
      driver_free: { color: ink.card, borderColor: ink.muted, borderWidth: 1 },
    };
    return {
      ...base, legend: { ...base.legend, data: OOM_PARTS.map(([, name]) => ({ name, icon: "roundRect" })) },
      tooltip: { ...base.tooltip, axisPointer: { type: "shadow" }, formatter: params => {
        const one = all[params[0].dataIndex];
        return tipTable(`step ${words.count(one.step)}: ${words.size(one.bytes)} asked for`, [...OOM_PARTS.map(([part, name]) => [name, one[part] == null ? null : words.size(one[part])]),
          ["the device", words.size(one.total)], ["why", one.verdict], ["the program was", one.answer]]);
      } },
      grid: { left: 8, right: 40, top: 34, bottom: 8, containLabel: true },
      xAxis: { ...axisLook(ink), type: "value", ...byteTicks(Math.max(...all.map(one => one.total))), max: Math.max(...all.map(one => one.total)), axisLabel: { color: ink.muted, formatter: words.size, hideOverlap: true } },
      yAxis: { ...axisLook(ink), type: "category", inverse: true, data: all.map(one => `step ${words.count(one.step)}`), splitLine: { show: false } },
      series: OOM_PARTS.map(([part, name]) => ({ name, type: "bar", stack: "all", barMaxWidth: 20, color: looks[part].color, itemStyle: looks[part], data: all.map(one => one[part] || null) })),
    };
  },

  table: () => ({
    rows: incidentsOf(view.lane),
    columns: [
      { title: "step", value: one => one.step, write: words.count }, { title: "asked for", key: "bytes", value: one => one.bytes, write: words.size },
      { title: "answer", value: one => one.answer, text: true }, { title: "why", key: "verdict", value: one => one.verdict, text: true },
      ...OOM_PARTS.map(([part, name]) => ({ title: name, key: part, value: one => one[part], write: words.size })),
      { title: "the device", key: "total", value: one => one.total, write: words.size },
      { title: "call site", key: "site", value: one => one.site, text: true }, { title: "what may help", key: "advice", value: one => one.advice, text: true, long: true },
    ],
  }),
};

/* "24 MiB in 4 x 4.50 MiB (shape 0)" */
function holdersOf(one) {
  return (one.holders ?? []).map(([shape, bytes, count, mapped]) => `${words.size(mapped)} in ${words.count(count)} \u00d7 ${words.size(bytes)} (shape ${shape})`).join("; ");
}

function changesOf(one) {
  return (one.changed ?? []).map(([shape, bytes, before, after]) => `${words.count(before)} \u2192 ${words.count(after)} \u00d7 ${words.size(bytes)} (shape ${shape})`).join("; ");
}

/* The last one in words. */
function lastIncident(lane) {
  const [one] = incidentsOf(lane);
  if (!one) return null;
  const facts = [["asked for", `${words.size(one.bytes)}${one.site ? ` at ${words.tail(one.site, 200)}` : ""}, step ${words.count(one.step)}; the program was ${one.answer}`], ["why", one.verdict],
    ["most of live", holdersOf(one)], ["changed since the step before", changesOf(one)], ["what may help", one.advice]];
  return make("dl", {}, facts.filter(([, fact]) => fact).flatMap(([name, fact]) => [make("dt", {}, name), make("dd", {}, fact)]));
}
