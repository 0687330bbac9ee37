/* shapes.js - which shapes need most, and in which steps each was asked for. */
function shapeName(shape) {
  return `#${shape.id}  ${words.size(shape.bytes)}`;
}

const shapePlot = {
  id: "shapes", title: "Shapes by high-water bytes",
  caption: "What buffers of each shape needed at once: live at most, and on top what the cache kept idle at most, as the shape\u2019s records tell.",
  shown: () => shapesOf(view.lane).slice(0, 20),
  height: () => 74 + 24 * Math.max(1, shapePlot.shown().length),
  summary: () => !shapePlot.shown().length ? "No shape." : `The largest is shape ${shapePlot.shown()[0]?.id} with ${words.size(shapePlot.shown()[0]?.most)}, of ${words.plural(view.lane.shapes_seen, "shape")}.`,

  option(width, ink) {
    const shapes = this.shown(), base = baseOption(ink, width);
    const bar = (name, value, color, decal) => ({
      name, type: "bar", stack: "all", barMaxWidth: 15, color, itemStyle: { color, decal, borderColor: color, borderWidth: 1 }, data: shapes.map(value),
    });
    return {
      ...base,
      tooltip: { ...base.tooltip, axisPointer: { type: "shadow" }, formatter: p => {
        const shape = shapes[p[0].dataIndex];
        return tipTable(`shape ${shape.id}: ${words.size(shape.bytes)} each${shape.broke ? ", broke the set" : ""}`, [["live at most", `${words.count(shape.high)}, ${words.size(shape.most)}`],
          ["idle at most", `${words.count(shape.idle)}, ${words.size(shape.idleBytes)}`], ["requests", words.count(shape.requests)],
          ["hits", words.percent(shape.hits, shape.requests)], ["steps", `${words.count(shape.first)}\u2013${words.count(shape.last)}`], ["what", shape.what || null], ["site", words.tail(shape.site, 60)]]);
      } },
      grid: { left: 8, right: 60, top: 34, bottom: 8, containLabel: true },
      xAxis: { ...axisLook(ink), type: "value", ...byteTicks(Math.max(...shapes.map(shape => shape.most + shape.idleBytes))), axisLabel: { color: ink.muted, formatter: words.size, hideOverlap: true } },
      yAxis: { ...axisLook(ink), type: "category", inverse: true, data: shapes.map(shape => `${shape.broke ? "\u25c6 " : ""}${shapeName(shape)}`),
        axisLabel: { color: name => name.startsWith("\u25c6") ? ink.new : ink.muted, interval: 0, fontSize: 12 }, splitLine: { show: false } },
      series: [bar("live at most", shape => shape.most, ink.live),
        bar("idle at most", shape => shape.idleBytes || null, ink.idle, { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -0.785, color: ink.card })],
    };
  },

  table: () => shapeTable(),
};

function shapeTable() {
  return {
    name: "Shapes", rows: shapesOf(view.lane), flag: shape => shape.broke,
    columns: [
      { title: "shape", value: shape => shape.id, write: id => id },
      { title: "bytes", value: shape => shape.bytes, write: words.size, help: "of one buffer" },
      { title: "high", value: shape => shape.high, write: words.count, help: "most buffers live at once" },
      { title: "high-water", key: "high_bytes", value: shape => shape.most, write: words.size, help: "their bytes" },
      { title: "idle, most", key: "idle_bytes_most", value: shape => shape.idleBytes, write: words.size },
      { title: "requests", value: shape => shape.requests, write: words.count },
      { title: "hits", value: shape => shape.hits, write: words.count },
      { title: "hit rate", key: "hit_share", value: shape => shape.rate, write: rate => `${(Math.floor(rate * 10000) / 100).toFixed(2)}%` },
      { title: "misses", value: shape => shape.misses, write: words.count },
      { title: "evicted", value: shape => shape.evicted, write: words.count },
      { title: "a driver call", key: "miss_ns_avg", value: shape => shape.missTime, write: words.time },
      { title: "first step", key: "first_step", value: shape => shape.first, write: words.count },
      { title: "last step", key: "last_step", value: shape => shape.last, write: words.count },
      { title: "broke the set", key: "broke", value: shape => shape.broke ? "yes" : "", text: true },
      { title: "what", value: shape => shape.what, text: true },
      { title: "call site", key: "site", value: shape => shape.site, text: true },
    ],
  };
}

/* --- presence --- */

/* When the set was fixed for the first time; Infinity: never. */
function firstFixed(lane) {
  const fixed = lane.phases.find(phase => phase.phase === "fixed");
  return fixed ? fixed.first : Infinity;
}

/* Each row as stretches of cells with the same letter, and what kind of shape it is. */
function presenceRows(lane) {
  const p = lane.presence, shapes = new Map(shapesOf(lane).map(shape => [shape.id, shape])), fixed = firstFixed(lane);
  return p.cells.map((cells, row) => {
    const stretches = [];
    for (let i = 0; i < cells.length; i++) {
      if (cells[i] === ".") continue;
      const last = stretches[stretches.length - 1];
      if (last && last.to === i && last.letter === cells[i]) last.to++;
      else stretches.push({ from: i, to: i + 1, letter: cells[i] });
    }
    const id = p.ids[row], shape = shapes.get(id), first = shape?.first ?? (stretches[0]?.from ?? 0) * p.each;
    const broke = breaksOf(lane).find(change => change.shape === id);
    return { id, row, shape, stretches, first, broke, kind: broke ? "broke" : first > 0 && (first >= fixed || fixed === Infinity) ? "late" : "steady" };
  });
}

const presencePlot = {
  id: "presence", title: "Shapes by steps", isSteps: true,
  rowHeight: rows => rows <= 24 ? 18 : rows <= 60 ? 11 : rows <= 120 ? 7 : 4,
  height: () => 84 + Math.max(1, view.lane.presence.ids.length) * presencePlot.rowHeight(view.lane.presence.ids.length),
  points: () => 0,
  summary() {
    const broke = breaksOf(view.lane);
    return broke.length ? `Shape ${broke[0].shape} of ${words.size(broke[0].bytes)} broke the set at step ${broke[0].step}.` : "No shape broke the set.";
  },

  option(width, ink) {
    const lane = view.lane, p = lane.presence, rows = presenceRows(lane), base = baseOption(ink, width);
    const tall = this.rowHeight(rows.length), left = width < 500 ? 78 : 118, right = width < 500 ? 30 : 40;
    const colors = { steady: ink.steady, late: ink.idle, broke: ink.new };
    const names = { steady: "of the set", late: firstFixed(lane) > 0 && firstFixed(lane) < Infinity ? "new after the set was fixed" : "new after step 0", broke: "broke the set" };
    const cell = kind => ({
      name: names[kind], type: "custom", clip: true, color: colors[kind], itemStyle: { color: colors[kind] }, encode: { x: [0, 1], y: 2 },
      data: rows.filter(row => row.kind === kind).flatMap(row => row.stretches.map(s => ({ value: [s.from * p.each, Math.min(s.to * p.each, Math.max(endOf(lane), s.from * p.each + 1)), row.row, s.letter.charCodeAt(0) - 97], row }))),
      renderItem(params, api) {
        const a = api.coord([api.value(0), api.value(2)]), b = api.coord([api.value(1), api.value(2)]);
        const strength = 0.55 + Math.min(api.value(3), 6) / 13, gap = tall > 6 ? 2 : 1;
        return { type: "rect", shape: { x: a[0], y: a[1] - tall / 2 + gap / 2, width: Math.max(kind === "broke" ? 4 : 2, b[0] - a[0]), height: tall - gap },
          style: { fill: colors[kind], opacity: kind === "broke" ? 1 : strength } };
      },
      z: kind === "broke" ? 5 : 2,
    });
    const broke = rows.filter(row => row.broke);
    return {
      ...base,
      legend: { ...base.legend, data: ["steady", "late", "broke"].filter(kind => rows.some(row => row.kind === kind)).map(kind => ({ name: names[kind], icon: kind === "broke" ? "diamond" : "rect" })) },
      tooltip: { ...base.tooltip, trigger: "item", formatter: param => {
        const row = param.data.row ?? {}, shape = row.shape, letter = param.value[3];
        if (row.id == null) return "";
        return tipTable(`shape ${row.id}${row.broke ? ", broke the set" : ""}`, [
          ["bytes", shape ? words.size(shape.bytes) : null], [words.steps(param.value[0], Math.min(param.value[1], lane.steps) - 1), ""],
          [`requests in ${p.each > 1 ? words.plural(p.each, "step") : "a step"}`, `${p.is_exact ? "" : "about "}${letter ? `${2 ** (letter - 1) + 1}\u2013${2 ** letter}` : "1"}`.replace(/(\d+)\u2013\1$/, "$1")],
          ["first, last step", shape ? `${words.count(shape.first)}, ${words.count(shape.last)}` : null], ["site", shape ? words.tail(shape.site, 60) : null]]);
      } },
      grid: { left, right, outerBoundsMode: "none", top: 34, bottom: 50 },
      xAxis: stepAxis(lane, ink, [{}], () => true),
      yAxis: { ...axisLook(ink), type: "category", inverse: true, data: rows.map(row => `${row.broke ? "\u25c6 " : ""}#${row.id} ${row.shape ? words.size(row.shape.bytes) : ""}`),
        splitLine: { show: false }, axisTick: { show: false },
        axisLabel: { fontSize: 11, color: name => name.startsWith("\u25c6") ? ink.new : ink.muted, margin: 6,
          interval: (i) => Boolean(rows[i]?.broke) || (tall > 14 || (i % Math.ceil(16 / tall) === 0 && !broke.some(row => Math.abs(row.row - i) < 16 / tall))) } },
      dataZoom: stepZoom(ink, 1),
      series: [
        { type: "line", data: [], z: 0, markArea: phaseBands(lane, ink, false), silent: true,
          markLine: { silent: true, symbol: "none", data: broke.slice(0, 8).flatMap((row, i) => [
            { xAxis: row.broke.step, lineStyle: { color: ink.new, type: "dashed", width: 1.5 }, label: { show: false } },
          ]) } },
        cell("steady"), cell("late"), cell("broke"),
        { name: "broken", type: "scatter", symbol: "diamond", symbolSize: 13, z: 9, color: ink.new, itemStyle: { opacity: 1, borderColor: ink.card, borderWidth: 1.5 },
          data: broke.map(row => ({ value: [row.broke.step, row.row, 0, 0], row })),
          label: { show: true, position: broke[0] && broke[0].broke.step > lane.steps * 0.55 ? "left" : "right", distance: 8, color: ink.new, fontWeight: 700, fontSize: 12.5,
            backgroundColor: ink.card, borderColor: ink.new, borderWidth: 1, borderRadius: 4, padding: [3, 6],
            formatter: param => param.dataIndex >= 3 ? "" : width < 500 ? `#${param.data.row.id}, step ${param.data.row.broke.step}`
              : `shape ${param.data.row.id} (${words.size(param.data.row.broke.bytes)}) broke the set at step ${words.count(param.data.row.broke.step)}` },
          tooltip: { formatter: param => tipTable(`shape ${param.data.row.id} broke the set`, [["step", words.count(param.data.row.broke.step)], ["bytes", words.size(param.data.row.broke.bytes)], ["asked for at", words.tail(param.data.row.broke.site ?? "unknown", 60)]]) } },
      ],
    };
  },

  table() {
    const lane = view.lane;
    return {
      flag: row => row.broke, rows: presenceRows(lane),
      columns: [
        { title: "shape", value: row => row.id, write: id => id }, { title: "bytes", value: row => row.shape?.bytes, write: words.size },
        { title: "first step", key: "first_step", value: row => row.first, write: words.count }, { title: "last step", key: "last_step", value: row => row.shape?.last, write: words.count },
        { title: "requests", value: row => row.shape?.requests, write: words.count },
        { title: "kind", value: row => ({ steady: "of the set", late: "new later", broke: "broke the set" })[row.kind], text: true },
        { title: "present in steps", key: "present", value: row => row.stretches.map(s => [s.from * lane.presence.each, s.to * lane.presence.each - 1])
          .reduce((all, [from, to]) => { const last = all[all.length - 1]; if (last && last[1] + 1 === from) last[1] = to; else all.push([from, to]); return all; }, [])
          .map(([from, to]) => from === to ? from : `${from}-${to}`).join(" "), text: true, long: true },
        { title: "call site", key: "site", value: row => row.shape?.site, text: true },
      ],
    };
  },
};
