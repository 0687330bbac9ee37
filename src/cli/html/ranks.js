/* ranks.js - all devices of all processes: the least and the most by steps, and each one's totals. */
const envelopePlot = {
  id: "envelope", title: "Held memory of all ranks", isSteps: true,
  caption: "The band is from the rank that held least to the one that held most; the line is the one that is shown above.",
  height: () => 320,
  points: () => run.envelope.held_peak.least.length,
  summary: () => `${words.plural(run.lanes.length, "rank or device", "ranks or devices")}.`,

  option(width, ink) {
    const base = baseOption(ink, width), e = run.envelope, left = width < 500 ? 62 : 84, right = width < 500 ? 30 : 40;
    const indices = e.held_peak.least.map((_, i) => i).filter(i => e.held_peak.least[i] != null), x = i => i * e.each + e.each / 2;
    const band = (name, value, more) => ({ name, type: "line", step: "middle", symbol: "none", lineStyle: { width: 0 }, color: ink.live, ...stacked("band", indices.map(i => [x(i), value(i)])), ...more });
    const lane = view.lane, s = seriesOf(lane);
    return {
      ...base, legend: { ...base.legend, data: legendOf(["least to most", lane.label], ["least to most"]) },
      tooltip: { ...base.tooltip, formatter: params => {
        const i = indices[[params].flat()[0].dataIndex];
        return i == null ? "" : tipTable(words.steps(i * e.each, (i + 1) * e.each - 1), [["most held", words.size(e.held_peak.most[i])], ["least held", words.size(e.held_peak.least[i])],
          ["most live", words.size(e.live_peak.most[i])], ["least live", words.size(e.live_peak.least[i])],
          ["most hits", words.count(e.hits.most[i])], ["fewest hits", words.count(e.hits.least[i])]]);
      } },
      grid: { left, right, outerBoundsMode: "none", top: 34, bottom: 58 },
      xAxis: stepAxis({ steps: Math.max(...run.lanes.map(one => one.steps)), events: [], changes: [], shapes: { first_step: [] } }, ink, [{}], () => true),
      yAxis: { ...axisLook(ink), type: "value", ...byteTicks(Math.max(...run.lanes.map(one => one.totals.held_peak))), axisLabel: { color: ink.muted, formatter: words.size } },
      dataZoom: stepZoom(ink, 1),
      series: [band("least", i => e.held_peak.least[i], { silent: true }),
        band("least to most", i => e.held_peak.most[i] - e.held_peak.least[i], { areaStyle: theme.hatch("lines", ink.live, 0.5), lineStyle: { width: 1, color: ink.live } }),
        stepLine(lane.label, points(lane, i => lane.series.held_peak[i]), ink.new, { lineStyle: { color: ink.new, width: 1.8 } })],
    };
  },

  table() {
    const e = run.envelope, names = ["live_peak", "held_peak", "hits", "requests", "driver_ns"], write = { live_peak: words.size, held_peak: words.size, driver_ns: words.time };
    return {
      rows: e.held_peak.least.map((_, i) => i),
      columns: [{ title: "first step", key: "first_step", value: i => i * e.each, write: words.count },
        ...names.flatMap(name => ["least", "most"].map(end => ({ title: `${name.replace(/_/g, " ")}, ${end}`, key: `${name}_${end}`, value: i => e[name][end][i], write: write[name] ?? words.count })))],
    };
  },
};

/* The share of the requests of phase fixed, else of all. */
function laneRate(lane) {
  const eligible = lane.totals.hits + lane.totals.misses;
  return eligible ? lane.totals.hits / eligible * 100 : null;
}

const rankPlot = {
  id: "ranks", title: "Ranks side by side",
  caption: "What each held at most, live and idle apart, and its share of hits in phase fixed.",
  height: () => Math.min(900, 84 + 22 * run.lanes.length),
  summary: () => `Held at most between ${words.size(Math.min(...run.lanes.map(lane => lane.totals.held_peak)))} and ${words.size(Math.max(...run.lanes.map(lane => lane.totals.held_peak)))}.`,

  option(width, ink) {
    const base = baseOption(ink, width), lanes = run.lanes;
    const bar = (name, value, color, decal) => ({ name, type: "bar", stack: "held", barMaxWidth: 14, color, itemStyle: { color, decal, borderColor: color, borderWidth: 1 }, data: lanes.map(value) });
    return {
      ...base,
      tooltip: { ...base.tooltip, axisPointer: { type: "shadow" }, formatter: p => {
        const lane = lanes[p[0].dataIndex];
        return tipTable(lane.label, [["live at most", words.size(lane.totals.live_peak)], ["held at most", words.size(lane.totals.held_peak)], ["hit rate in fixed", laneRate(lane) == null ? "\u2013" : `${laneRate(lane).toFixed(2)}%`],
          ["in driver calls", words.time(lane.totals.driver_ns)], ["steps", words.count(lane.steps)]]);
      } },
      legend: { ...base.legend, data: ["live", "idle", "hit rate in fixed"] },
      grid: [{ left: 8, right: "34%", top: 34, bottom: 8, containLabel: true }, { left: "71%", right: 28, top: 34, bottom: 8, containLabel: true }],
      xAxis: [{ ...axisLook(ink), type: "value", gridIndex: 0, ...byteTicks(Math.max(...lanes.map(lane => lane.totals.held_peak))), axisLabel: { color: ink.muted, formatter: words.size, hideOverlap: true } },
        { ...axisLook(ink), type: "value", gridIndex: 1, min: 0, max: 100, interval: 50, axisLabel: { color: ink.muted, formatter: "{value}%" } }],
      yAxis: [0, 1].map(i => ({ ...axisLook(ink), type: "category", gridIndex: i, inverse: true, data: lanes.map(lane => lane.label), splitLine: { show: false }, axisLabel: { color: ink.muted, show: i === 0 } })),
      series: [bar("live", lane => lane.totals.live_peak, ink.live), bar("idle", lane => Math.max(0, lane.totals.held_peak - lane.totals.live_peak) || null, ink.idle, { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -0.785, color: ink.card }),
        { name: "hit rate in fixed", type: "bar", xAxisIndex: 1, yAxisIndex: 1, barMaxWidth: 14, color: ink.good, data: lanes.map(laneRate), label: { show: width >= 500, position: "insideRight", color: ink.card, fontSize: 11, formatter: p => p.value == null ? "" : `${p.value.toFixed(1)}%` } }],
    };
  },

  table: () => ({
    rows: run.lanes,
    columns: [
      { title: "rank", value: lane => lane.label, text: true }, { title: "pid", value: lane => lane.process.pid, write: pid => pid },
      { title: "host", value: lane => lane.process.host, text: true }, { title: "steps", value: lane => lane.steps, write: words.count },
      { title: "phase", value: lane => lane.last_phase, text: true }, { title: "requests", value: lane => lane.totals.requests, write: words.count },
      { title: "hit rate in fixed", key: "hit_percent_fixed", value: laneRate, write: v => `${v.toFixed(2)}%` },
      { title: "peak live", key: "live_peak", value: lane => lane.totals.live_peak, write: words.size }, { title: "peak held", key: "held_peak", value: lane => lane.totals.held_peak, write: words.size },
      { title: "evicted", value: lane => lane.totals.evicted, write: words.count }, { title: "in driver calls", key: "driver_ns", value: lane => lane.totals.driver_ns, write: words.time },
      { title: "in waits", key: "wait_ns", value: lane => lane.totals.wait_ns, write: words.time }, { title: "fallbacks", value: lane => lane.fallbacks, write: words.count },
      { title: "out of memory", key: "refused", value: lane => lane.refused, write: words.count },
    ],
  }),
};
