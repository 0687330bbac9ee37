/* steps.js - what is told by steps: memory, requests, time. Their plots zoom together. */
function stepAxis(lane, ink, grids, isLabelled) {
  return grids.map((_, i) => ({
    ...axisLook(ink), type: "value", gridIndex: i, min: 0, max: endOf(lane), minInterval: 1,
    splitLine: { show: false }, axisTick: { show: isLabelled(i) },
    axisLabel: { color: ink.muted, hideOverlap: true, show: isLabelled(i), formatter: words.short },
    name: isLabelled(i) ? "step" : "", nameLocation: "end", nameGap: 5, nameTextStyle: { color: ink.muted, fontSize: 11 },
  }));
}

function stepZoom(ink, count) {
  const all = Array.from({ length: count }, (_, i) => i);
  return [
    { type: "inside", xAxisIndex: all, filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, minValueSpan: 4 },
    { type: "slider", xAxisIndex: all, filterMode: "none", height: 20, bottom: 4, minValueSpan: 4, borderColor: ink.line,
      brushSelect: false, showDetail: false, showDataShadow: false, fillerColor: "rgba(110,140,180,.18)",
      handleStyle: { color: ink.card, borderColor: ink.muted }, moveHandleStyle: { color: ink.muted },
      emphasis: { handleStyle: { borderColor: ink.accent }, moveHandleStyle: { color: ink.accent } } },
  ];
}

/* Every bucket as one point, in the middle of its steps; the first and last are told again at the edges. */
function points(lane, value) {
  const s = seriesOf(lane), all = s.indices.map(i => [s.middle(i) + 0.5, value(i)]);
  if (!all.length) return all;
  const first = s.indices[0], last = s.indices[s.indices.length - 1];
  return [[s.first(first), value(first)], ...all, [s.last(last) + 1, value(last)]];
}

/* Of a point of the above. */
function bucketOf(lane, dataIndex) {
  const { indices } = seriesOf(lane);
  return indices[Math.min(indices.length - 1, Math.max(0, dataIndex - 1))];
}

/* ECharts stacks the first dimension that is a number: in what is stacked, values stand before steps. */
function stacked(name, data) {
  return { stack: name, data: data.map(([step, value]) => [value, step]), encode: { x: 1, y: 0 } };
}

/* Round numbers of bytes, not of their powers of ten. */
function byteTicks(most) {
  let step = 1;
  while (most / step > 5) step *= 2;
  return { interval: step, max: Math.max(step, Math.ceil(most / step) * step) };
}

function bucketTip(lane, rowsOf) {
  return params => {
    const s = seriesOf(lane), one = [params].flat().find(p => p.seriesIndex === 0) ?? [params].flat()[0];
    const i = one && bucketOf(lane, one.dataIndex);
    if (i == null) return "";
    return tipTable(`${words.steps(s.first(i), s.last(i))}, ${words.phases[phaseAt(lane, s.first(i))]?.name ?? phaseAt(lane, s.first(i))}`, rowsOf(i, s));
  };
}

function phaseBands(lane, ink, hasNames) {
  const dark = theme.isDark();
  return {
    silent: true, z: 0, data: lane.phases.slice(0, 200).map((p, i, all) => {
      const look = words.phases[p.phase] ?? words.phases.off, color = look[dark ? "dark" : "light"];
      const last = p.last == null || i + 1 === all.length ? endOf(lane) : p.last + 1;
      const isWide = (last - p.first) / Math.max(lane.steps, 1) > 0.055;
      return [{
        name: look.name, xAxis: p.first, itemStyle: theme.hatch(look.hatch, color),
        label: { show: hasNames && isWide, position: "insideTop", color, fontWeight: 600, fontSize: 12, distance: 4 },
      }, { xAxis: last }];
    }),
  };
}

function stepColumns(lane, more) {
  const s = seriesOf(lane);
  return {
    rows: s.indices,
    columns: [
      { title: "first step", key: "first_step", value: i => s.first(i), write: words.count },
      { title: "last step", key: "last_step", value: i => s.last(i), write: words.count },
      { title: "phase", value: i => phaseAt(lane, s.first(i)), text: true },
      ...more,
    ],
  };
}

/* --- memory --- */

/* What stands at single steps, by kind, as it is shown below the memory. */
function marksOf(lane) {
  const s = seriesOf(lane), marks = { "new": [], phase: [], oom: [], trim: [], mark: [] };
  const half = lane.series.each / 2;
  lane.series.new_shapes.forEach((count, i) => {
    if (count && i > 0) marks.new.push({ step: i * lane.series.each, at: i * lane.series.each + half, text: `${words.plural(count, "new shape")} in ${words.steps(s.first(i), s.last(i))}` });
  });
  for (const change of lane.changes) {
    const shape = change.shape != null ? `, shape ${change.shape} of ${words.size(change.bytes)}` : "";
    marks.phase.push({ step: change.step, at: change.step, text: `${change.from} \u2192 ${change.to}: ${reasonOf(change.reason)}${shape}` });
  }
  for (const event of lane.events) marks[event.kind]?.push({ step: event.step, at: event.step + 0.5, text: event.text });
  return marks;
}

/* Settings in what a word means are told by their values in this run. */
function reasonOf(word) {
  const meaning = run.words.find(w => w.kind === "reason" && w.word === word)?.meaning ?? word;
  return words.settings(meaning, name => view.lane.process.config?.find(row => row.name === name)?.value ?? name);
}

const memoryPlot = {
  id: "memory", title: "Memory by step", isSteps: true,
  caption: "The most that was live, and live and idle together, within each step. Bands are phases: warm-up striped, fixed plain, fallback crossed, off dotted. The strip below marks single steps.",
  height: () => 360 + 20 * memoryPlot.kinds().length,
  kinds: () => Object.entries(marksOf(view.lane)).filter(([, marks]) => marks.length).map(([kind]) => kind),
  points: () => seriesOf(view.lane).indices.length,
  summary: () => `Live at most ${words.size(view.lane.totals.live_peak)}, held at most ${words.size(view.lane.totals.held_peak)}, over ${words.plural(view.lane.steps, "step")}.`,

  /* What the driver reports may be far more than what is told of: it is shown when asked for. */
  used: () => Math.max(0, ...seriesOf(view.lane).indices.map(seriesOf(view.lane).used)),
  isNear: () => view.lane.cap && view.lane.cap < 4 * view.lane.totals.held_peak,
  most(driver) {
    return Math.max(view.lane.totals.held_peak, this.isNear() ? view.lane.cap * 1.06 : 0, driver * this.used());
  },
  isFar() {
    return this.used() > 3 * this.most(0);
  },

  onDraw(chart) {
    chart.on("legendselectchanged", event => chart.setOption({ yAxis: [byteTicks(this.most(event.selected["driver used"] ? 1 : 0)), {}] }));
  },

  option(width, ink) {
    const lane = view.lane, s = seriesOf(lane), kinds = this.kinds(), marks = marksOf(lane), strip = 20 * kinds.length;
    const left = width < 500 ? 74 : 84, right = width < 500 ? 30 : 40;
    const used = points(lane, s.used).filter(p => p[1] != null);
    const isNear = this.isNear();
    const area = (name, value, color, more) => ({
      name, type: "line", step: "middle", symbol: "none", ...stacked("held", points(lane, value)), lineStyle: { width: 1.2, color }, color,
      itemStyle: { color }, areaStyle: { color, opacity: 0.7 }, ...more,
    });
    const series = [
      area("live", i => lane.series.live_peak[i], ink.live, {
        markArea: phaseBands(lane, ink, true),
        markLine: isNear ? { silent: true, symbol: "none", data: [{ yAxis: lane.cap }], lineStyle: { color: ink.cap, type: "dashed", width: 1.5 },
          label: { formatter: `cap ${words.size(lane.cap)}`, position: "insideEndBottom", color: ink.cap, fontWeight: 600, backgroundColor: ink.card, padding: [2, 5], borderRadius: 3 } } : undefined,
      }),
      area("idle", s.idle, ink.idle, { lineStyle: { width: 0 }, areaStyle: theme.hatch("lines", ink.idle, 0.9) }),
    ];
    if (lane.series.each > 1)
      series.push({ name: "live, least", type: "line", step: "middle", symbol: "none", data: points(lane, i => lane.series.live_least[i]), lineStyle: { width: 1, type: "dotted", color: ink.text }, color: ink.text });
    if (used.some(p => p[1] > 0))
      series.push({ name: "driver used", type: "line", symbol: used.length < 40 ? "emptyCircle" : "none", symbolSize: 8, data: used,
        lineStyle: { width: used.length < 40 ? 0 : 1.4, color: ink.driver, type: "dashed" }, itemStyle: { color: used.length < 40 ? ink.card : ink.driver, borderColor: ink.driver, borderWidth: 2 }, color: ink.driver });
    kinds.forEach((kind, row) => series.push({
      name: words.events[kind].name, type: "scatter", xAxisIndex: 1, yAxisIndex: 1, symbol: words.events[kind].symbol,
      symbolSize: kind === "phase" ? [3, 14] : 10, color: kind === "oom" || kind === "new" ? ink.new : kind === "trim" ? ink.idle : ink.accent,
      data: marks[kind].map(mark => ({ value: [mark.at, row], text: mark.text, step: mark.step })),
      tooltip: { trigger: "item", formatter: p => tipTable(`step ${words.count(p.data.step)}`, [[p.data.text, ""]]) },
    }));
    const bottom = 34, stripTop = this.height() - bottom - 22 - strip, grids = [{}, {}];
    return {
      ...baseOption(ink, width),
      legend: { ...baseOption(ink, width).legend, data: legendOf(series.slice(0, series.length - kinds.length).map(one => one.name), ["live", "idle"]), selected: { "driver used": !this.isFar() } },
      tooltip: { ...baseOption(ink, width).tooltip, formatter: bucketTip(lane, i => [
        ["live, most", words.size(lane.series.live_peak[i])], ["held, most", words.size(lane.series.held_peak[i])],
        ["idle at a step\u2019s end, most", words.size(lane.series.idle_most[i])], ["driver used", s.used(i) == null ? null : words.size(s.used(i))],
        ["new shapes", lane.series.new_shapes[i] || null], ["evicted", lane.series.evicted[i] || null]]) },
      grid: [{ top: 34, height: stripTop - 34 - (kinds.length ? 14 : 0) }, { top: stripTop, height: strip }].map(one => ({ left, right, outerBoundsMode: "none", ...one })),
      xAxis: stepAxis(lane, ink, grids, i => i === 1),
      yAxis: [
        { ...axisLook(ink), type: "value", gridIndex: 0, ...byteTicks(this.most(this.isFar() ? 0 : 1)), axisLabel: { color: ink.muted, formatter: words.size } },
        { ...axisLook(ink), type: "category", gridIndex: 1, inverse: true, data: kinds.map(kind => words.events[kind].name),
          axisTick: { show: false }, splitLine: { show: true, lineStyle: { color: ink.grid } }, axisLabel: { color: ink.muted, fontSize: 11, interval: 0, width: left - 8, overflow: "truncate" } },
      ],
      dataZoom: stepZoom(ink, 2),
      series,
    };
  },

  table() {
    const lane = view.lane, s = seriesOf(lane), size = { write: words.size };
    return stepColumns(lane, [
      { title: "live, most", key: "live_peak", value: i => lane.series.live_peak[i], ...size },
      { title: "live, least", key: "live_least", value: i => lane.series.live_least[i], ...size },
      { title: "held, most", key: "held_peak", value: i => lane.series.held_peak[i], ...size },
      { title: "idle, most", key: "idle_most", value: i => lane.series.idle_most[i], ...size },
      { title: "driver used", key: "driver_used", value: s.used, ...size },
      { title: "new shapes", key: "new_shapes", value: i => lane.series.new_shapes[i] },
      { title: "evicted", value: i => lane.series.evicted[i] },
    ]);
  },
};

const eventTable = () => ({
  name: "Marks of single steps",
  rows: Object.entries(marksOf(view.lane)).flatMap(([kind, marks]) => marks.map(mark => ({ kind: words.events[kind].name, ...mark }))).sort((a, b) => a.step - b.step),
  columns: [
    { title: "step", value: row => row.step, write: words.count },
    { title: "kind", value: row => row.kind, text: true },
    { title: "what", value: row => row.text, text: true, long: true },
  ],
});

/* --- requests --- */

function panel(lane, ink, width, count, height) {
  const left = width < 500 ? 58 : 84, right = width < 500 ? 30 : 40, top = 48, gap = 40, foot = 58;
  const each = (height - top - foot - gap * (count - 1)) / count;
  const grids = Array.from({ length: count }, (_, i) => ({ left, right, top: top + i * (each + gap), height: each, outerBoundsMode: "none" }));
  return { grid: grids, xAxis: stepAxis(lane, ink, grids, i => i === count - 1), dataZoom: stepZoom(ink, count) };
}

function stepLine(name, data, color, more = {}) {
  return { name, type: "line", step: "middle", symbol: "none", data, color, itemStyle: { color }, lineStyle: { color, width: 1.5 }, ...more };
}

const requestPlot = {
  id: "requests", title: "Hits and misses by step", isSteps: true,
  caption: "Above, the share of requests that were hits, with the lowest and highest step where several share a pixel; then how many there were; then misses alone, on their own scale.",
  height: () => 520,
  points: () => seriesOf(view.lane).indices.length,
  summary: () => `${words.count(view.lane.totals.hits)} hits, ${words.count(view.lane.totals.misses)} misses and ${words.count(view.lane.totals.bypassed)} bypassed.`,

  option(width, ink) {
    const lane = view.lane, s = seriesOf(lane), base = baseOption(ink, width), c = lane.series;
    const least = i => c.rate_least[i] == null ? null : c.rate_least[i] / 100;
    const spread = i => c.rate_most[i] == null ? null : (c.rate_most[i] - c.rate_least[i]) / 100;
    const at = (grid, one) => ({ ...one, xAxisIndex: grid, yAxisIndex: grid });
    const pile = (name, column, color, look) => at(1, stepLine(name, [], color, { ...stacked("all", points(lane, s.each(column))), areaStyle: look ?? { color, opacity: 0.6 }, lineStyle: { width: 0 } }));
    const y = (name, more) => ({ ...axisLook(ink), type: "value", name, nameGap: 10, min: 0, splitNumber: 3, ...more });
    return {
      ...base, ...panel(lane, ink, width, 3, 520),
      legend: { ...base.legend, data: legendOf(["hit rate", "hits", "misses", "bypassed", "evicted"], ["hits", "misses", "bypassed"]) },
      tooltip: { ...base.tooltip, formatter: bucketTip(lane, i => [
        ["hit rate", s.rate(i) == null ? "\u2013" : `${s.rate(i).toFixed(2)}%`],
        c.each > 1 ? ["lowest, highest step", `${(c.rate_least[i] ?? 0) / 100}%, ${(c.rate_most[i] ?? 0) / 100}%`] : ["", null],
        ["requests a step", words.each(s.each("requests")(i))], ["hits a step", words.each(s.each("hits")(i))],
        ["misses a step", words.each(s.each("misses")(i))], ["bypassed a step", words.each(s.each("bypassed")(i))],
        ["evicted", words.count(c.evicted[i])], ["expired", c.expired[i] || null]]) },
      yAxis: [y("hits of all requests", { max: 100, interval: 25, axisLabel: { color: ink.muted, formatter: "{value}%" } }),
        y("requests a step", { axisLabel: { color: ink.muted, formatter: words.short } }), y("misses and evictions a step", { axisLabel: { color: ink.muted, formatter: words.short } })]
        .map((axis, i) => ({ ...axis, gridIndex: i })),
      series: [
        at(0, stepLine("hit rate", points(lane, s.rate), ink.hit, { markArea: phaseBands(lane, ink, true), z: 4 })),
        at(0, { ...stepLine("lowest", [], ink.hit, { ...stacked("band", points(lane, least)), lineStyle: { width: 0 } }), silent: true }),
        at(0, { ...stepLine("highest", [], ink.hit, { ...stacked("band", points(lane, spread)), lineStyle: { width: 0 }, areaStyle: { color: ink.hit, opacity: 0.28 } }), silent: true }),
        pile("hits", "hits", ink.hit), pile("misses", "misses", ink.miss, theme.hatch("cross", ink.miss, 0.8)),
        pile("bypassed", "bypassed", ink.bypass, theme.hatch("lines", ink.bypass, 0.7)),
        at(2, stepLine("misses", points(lane, s.each("misses")), ink.miss, { areaStyle: { color: ink.miss, opacity: 0.25 } })),
        at(2, stepLine("evicted", points(lane, s.each("evicted")), ink.idle, { lineStyle: { color: ink.idle, width: 1.5, type: "dashed" } })),
      ],
    };
  },

  table() {
    const c = view.lane.series, s = seriesOf(view.lane);
    return stepColumns(view.lane, [
      { title: "hit rate", key: "hit_percent", value: s.rate, write: v => `${v.toFixed(2)}%` },
      ...["requests", "hits", "misses", "bypassed", "evicted", "expired"].map(name => ({ title: name, value: i => c[name][i], write: words.count })),
    ]);
  },
};

/* --- time --- */

const timePlot = {
  id: "time", title: "Time of a call, and of a step", isSteps: true,
  caption: "Above, what one call takes, on a logarithmic scale: a hit inside the cache (a sample of them is timed), and a driver call, allocation or free. Below, what all driver calls, and the waits of parked frees for the device, add to a step. A raw free waits as long.",
  height: () => 430,
  points: () => seriesOf(view.lane).indices.length,
  summary() {
    const all = view.lane.totals, calls = all.driver_allocs + all.driver_frees;
    return `A hit took ${all.sampled ? words.time(all.hit_ns / all.sampled) : "an unknown time"}, a driver call ${calls ? words.time(all.driver_ns / calls) : "none"}, in the mean.`;
  },

  option(width, ink) {
    const lane = view.lane, s = seriesOf(lane), base = baseOption(ink, width);
    const at = (grid, one) => ({ ...one, xAxisIndex: grid, yAxisIndex: grid });
    const time = { axisLabel: { color: ink.muted, formatter: words.time, hideOverlap: true } };
    const dots = seriesOf(lane).indices.length < 150 ? { symbol: "circle", symbolSize: 4, showSymbol: true } : {};
    const log = f => points(lane, i => f(i) || null);
    return {
      ...base, ...panel(lane, ink, width, 2, 430),
      legend: { ...base.legend, data: legendOf(["a driver call", "a hit", "driver calls of a step", "waits of a step"], ["driver calls of a step", "waits of a step"]) },
      tooltip: { ...base.tooltip, formatter: bucketTip(lane, i => [
        ["a hit", s.hitTime(i) == null ? "\u2013" : words.time(s.hitTime(i))], ["a driver call", s.callTime(i) == null ? "\u2013" : words.time(s.callTime(i))],
        ["driver calls", words.count(s.calls[i])], ["in them, a step", words.time(s.each("driver_ns")(i))],
        ["in waits, a step", words.time(s.each("wait_ns")(i))], ["a step took", words.time(s.each("dur_ns")(i))]]) },
      yAxis: [{ ...axisLook(ink), type: "log", gridIndex: 0, name: "a call", nameGap: 10, ...time },
        { ...axisLook(ink), type: "value", gridIndex: 1, name: "a step", nameGap: 10, min: 0, splitNumber: 3, ...time }],
      series: [
        at(0, stepLine("a driver call", log(s.callTime), ink.miss, { ...dots, symbol: dots.symbol ? "triangle" : "none", lineStyle: { color: ink.miss, width: 1.5, type: "dashed" }, markArea: phaseBands(lane, ink, true) })),
        at(0, stepLine("a hit", log(s.hitTime), ink.hit, dots)),
        at(1, stepLine("driver calls of a step", [], ink.miss, { ...stacked("all", points(lane, s.each("driver_ns"))), lineStyle: { width: 0 }, areaStyle: theme.hatch("cross", ink.miss, 0.8) })),
        at(1, stepLine("waits of a step", [], ink.bypass, { ...stacked("all", points(lane, s.each("wait_ns"))), lineStyle: { width: 0 }, areaStyle: { color: ink.bypass, opacity: 0.4 } })),
      ],
    };
  },

  table() {
    const c = view.lane.series, s = seriesOf(view.lane);
    return stepColumns(view.lane, [
      { title: "a hit", key: "hit_ns", value: s.hitTime, write: words.time }, { title: "hits timed", key: "sampled", value: i => c.sampled[i], write: words.count },
      { title: "a driver call", key: "driver_call_ns", value: s.callTime, write: words.time }, { title: "driver calls", key: "driver_calls", value: i => s.calls[i], write: words.count },
      { title: "in driver calls", key: "driver_ns", value: i => c.driver_ns[i], write: words.time }, { title: "in waits", key: "wait_ns", value: i => c.wait_ns[i], write: words.time },
      { title: "steps took", key: "dur_ns", value: i => c.dur_ns[i], write: words.time }, { title: "longest step", key: "longest_ns", value: i => c.dur_most[i], write: words.time },
    ]);
  },
};
