/* arena.js - pinned arenas: how deep their stacks were, and how full they are, by their records. */
function arenasOf(lane) {
  const arenas = new Map(), { fields, rows } = lane.arena;
  for (const row of rows) {
    const name = rows.some(other => other.name === row.name && other.arena !== row.arena) ? `${row.name} (${row.arena + 1})` : row.name;
    if (!arenas.has(name)) arenas.set(name, []);
    arenas.get(name).push({ what: row.what, ...Object.fromEntries(fields.map((field, i) => [field, row.values[i]])) });
  }
  return arenas;
}

const ARENA_COLORS = ["live", "new", "good", "idle"];

const arenaPlot = {
  id: "arena", title: "Pinned arenas",
  caption: "Above, tensors on the stack: its depth, now and at most so far. Below, bytes of the arena in use, and the most that were asked of it. A record is written when an arena begins, when it is empty again for the 2^k-th time, and at the end.",
  height: () => 440,
  summary: () => [...arenasOf(view.lane)].map(([name, rows]) => `${name}: at most ${words.plural(Math.max(...rows.map(row => row.tickets_peak ?? 0)), "tensor")}, ${words.size(Math.max(...rows.map(row => row.used_peak ?? 0)))}.`).join(" ") +
    (view.lane.arena.spared ? ` The device was spared ${words.size(view.lane.arena.spared)} at its peak.` : ""),

  option(width, ink) {
    const base = baseOption(ink, width), arenas = [...arenasOf(view.lane)].slice(0, 4), left = width < 500 ? 62 : 84, right = width < 500 ? 30 : 40;
    const line = (grid, name, rows, field, color, type) => ({
      name, type: "line", xAxisIndex: grid, yAxisIndex: grid, color, symbol: type === "solid" ? "circle" : "diamond", symbolSize: 6,
      lineStyle: { color, width: 1.8, type }, data: rows.filter(row => row[field] != null).map(row => [row.t / 1e9, row[field]]),
    });
    const series = arenas.flatMap(([name, rows], i) => {
      const color = ink[ARENA_COLORS[i]], capacity = rows[rows.length - 1].capacity;
      const held = line(1, `${name}, used at most`, rows, "used_peak", color, "solid");
      if (capacity)
        held.markLine = { silent: true, symbol: "none", data: [{ yAxis: capacity }], lineStyle: { color: ink.cap, type: "dashed" }, label: { formatter: `capacity ${words.size(capacity)}`, position: "insideEndTop", color: ink.cap } };
      return [line(0, `${name}, depth`, rows, "tickets", color, "dotted"), line(0, `${name}, depth at most`, rows, "tickets_peak", color, "solid"),
        held, line(1, `${name}, demand at most`, rows, "demand_peak", color, "dashed")];
    });
    const x = i => ({ ...axisLook(ink), type: "value", gridIndex: i, min: 0, name: i ? "s" : "", nameGap: 6, axisLabel: { color: ink.muted, show: i === 1 }, splitLine: { show: false } });
    return {
      ...base,
      tooltip: { ...base.tooltip, formatter: params => tipTable(`${words.digits(params[0].value[0])} s`, params.map(p => [p.seriesName, p.axisIndex || /used|demand/.test(p.seriesName) ? words.size(p.value[1]) : words.count(p.value[1])])) },
      grid: [{ top: 60, height: 140 }, { top: 246, height: 150 }].map(one => ({ left, right, outerBoundsMode: "none", ...one })),
      xAxis: [x(0), x(1)],
      yAxis: [{ ...axisLook(ink), type: "value", gridIndex: 0, min: 0, minInterval: 1, name: "tensors on the stack", nameGap: 10, axisLabel: { color: ink.muted } },
        { ...axisLook(ink), type: "value", gridIndex: 1, min: 0, name: "bytes", nameGap: 10, axisLabel: { color: ink.muted, formatter: words.size },
          ...byteTicks(Math.max(1, ...arenas.flatMap(([, rows]) => rows.map(row => Math.max(row.capacity ?? 0, row.demand_peak ?? 0, row.used_peak ?? 0))))) }],
      series,
    };
  },

  table() {
    const { fields, rows } = view.lane.arena;
    const write = { t: words.time, wait_ns: words.time, capacity: words.size, used: words.size, used_peak: words.size, demand_peak: words.size, bytes_out: words.size, bytes_in: words.size };
    return {
      rows, columns: [{ title: "arena", value: row => row.name, text: true }, { title: "record", value: row => row.what, text: true },
        ...fields.map((field, i) => ({ title: field.replace(/_/g, " "), key: field, value: row => row.values[i], write: write[field] ?? words.count }))],
    };
  },
};
