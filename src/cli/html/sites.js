/* sites.js - a flame graph of call sites, outermost caller on top: by bytes, misses or time. A site
 * without callers stands under its object or file. */
const flame = { by: "bytes", path: [] };

const flameUnits = {
  bytes: { name: "bytes", write: words.size, told: "bytes live at most" },
  misses: { name: "driver requests", write: words.count, told: "requests that went to the driver" },
  ns: { name: "driver time", write: words.time, told: "time of the requests that went to the driver" },
};

function framesOf(name) {
  const frames = name.split(" > ");
  if (frames.length > 1) return frames;
  const place = /(?:^|\s)([^\s]+?)(?:\+0x[0-9a-f]+|:\d+)$/.exec(name)?.[1]; /* "object+0x12", "file:34", "function file:34" */
  return place && place !== name ? [place, name] : [name];
}

/* The tree of frames with what every one and those below it add up to. */
function flameTree(lane, by) {
  const column = lane.sites.fields.indexOf(by), root = { name: "all call sites", value: 0, children: new Map() };
  const add = (frames, value) => {
    let node = root;
    node.value += value;
    for (const frame of frames) {
      if (!node.children.has(frame)) node.children.set(frame, { name: frame, value: 0, children: new Map() });
      node = node.children.get(frame);
      node.value += value;
    }
  };
  lane.sites.name.forEach((name, i) => lane.sites.values[i][column] && add(framesOf(name), lane.sites.values[i][column]));
  if (lane.sites.rest[0][column]) add([`${words.plural(lane.sites.left_out, "more call site")}`], lane.sites.rest[0][column]);
  return root;
}

/* Boxes below a node, the widest first; what is narrower than a hair is left out. */
function flameBoxes(root) {
  const boxes = [];
  const place = (node, depth, from, path) => {
    boxes.push({ node, depth, from, to: from + node.value, path });
    let at = from;
    for (const child of [...node.children.values()].sort((a, b) => b.value - a.value)) {
      if (child.value / root.value > 0.0005) place(child, depth + 1, at, [...path, child.name]);
      at += child.value;
    }
  };
  if (root.value) place(root, 0, 0, []);
  return boxes;
}

function flameNode() {
  let node = flameTree(view.lane, flame.by), kept = [];
  for (const name of flame.path) {
    if (!node.children.has(name)) break;
    node = node.children.get(name);
    kept.push(name);
  }
  flame.path = kept;
  return node;
}

const FLAMES = { light: ["#e8c07a", "#e2a86b", "#dd9a7d", "#d7b48f", "#c9b66f", "#e0b59a"], dark: ["#8a6a2c", "#8d5a2f", "#8a4a3a", "#7d6140", "#73692f", "#8a5d48"] };

function flameColor(name) {
  const palette = FLAMES[theme.isDark() ? "dark" : "light"];
  let hash = 2166136261;
  for (const c of name) hash = Math.imul(hash ^ c.charCodeAt(0), 16777619);
  return palette[((hash ^ (hash >>> 13)) >>> 0) % palette.length];
}

const flamePlot = {
  id: "flame", title: "Call sites",
  caption: "Each box is a place in the program, as wide as what its shapes add up to, below the one that called it. A click shows what is below a box; a click on the top box, or Escape, goes back.",
  boxes: () => flameBoxes(flameNode()),
  height: () => 12 + 27 * (1 + Math.max(0, ...flamePlot.boxes().map(box => box.depth))),
  summary() {
    const top = flameBoxes(flameTree(view.lane, flame.by)).filter(box => !box.node.children.size).sort((a, b) => b.node.value - a.node.value)[0];
    return top ? `Most ${flameUnits[flame.by].told}: ${top.node.name}, ${flameUnits[flame.by].write(top.node.value)}.` : "Nothing to show.";
  },

  option(width, ink) {
    const boxes = this.boxes(), unit = flameUnits[flame.by], whole = flameTree(view.lane, flame.by).value, size = boxes[0]?.to ?? 1;
    return {
      ...baseOption(ink, width), legend: undefined,
      tooltip: { ...baseOption(ink, width).tooltip, trigger: "item", formatter: p => {
        const box = boxes[p.dataIndex];
        return tipTable(box.node.name, [[unit.told, unit.write(box.node.value)], ["of all", words.percent(box.node.value, whole)]]);
      } },
      grid: { left: 0, right: 0, top: 4, bottom: 4 },
      xAxis: { type: "value", min: 0, max: size, show: false },
      yAxis: { type: "value", min: 0, max: 1 + Math.max(0, ...boxes.map(box => box.depth)), inverse: true, show: false },
      series: [{
        type: "custom", data: boxes.map(box => [box.from, box.to, box.depth]), encode: { x: [0, 1], y: 2 }, cursor: "pointer",
        renderItem(params, api) {
          const box = boxes[params.dataIndex], a = api.coord([api.value(0), api.value(2)]), b = api.coord([api.value(1), api.value(2)]);
          const wide = Math.max(1, b[0] - a[0] - 1);
          const label = box.depth ? box.node.name : `${flame.path.length ? box.node.name : "all call sites"}: ${unit.write(box.node.value)}`;
          return { type: "rect", shape: { x: a[0], y: a[1] + 1, width: wide, height: 25, r: 3 },
            style: { fill: box.depth ? flameColor(box.node.name) : ink.grid, stroke: ink.card, lineWidth: 0.5 },
            textContent: wide > 34 ? { type: "text", style: { text: label, fill: ink.text, fontSize: 12, width: wide - 12, overflow: "truncate", ellipsis: "\u2026" } } : undefined,
            textConfig: { position: "insideLeft", distance: 6 } };
        },
      }],
    };
  },

  onDraw(chart) {
    const boxes = this.boxes();
    chart.on("click", event => {
      const box = boxes[event.dataIndex];
      if (!box) return;
      flame.path = box.depth ? [...flame.path, ...box.path] : flame.path.slice(0, -1);
      flamePlotDrawn.draw();
    });
  },

  table() {
    const lane = view.lane, at = name => lane.sites.fields.indexOf(name), value = name => i => lane.sites.values[i][at(name)];
    return {
      rows: lane.sites.name.map((_, i) => i),
      columns: [
        { title: "call site", key: "site", value: i => lane.sites.name[i], text: true, long: true },
        { title: "shapes", value: value("shapes"), write: words.count },
        { title: "bytes live at most", key: "bytes", value: value("bytes"), write: words.size },
        { title: "requests", value: value("requests"), write: words.count }, { title: "hits", value: value("hits"), write: words.count },
        { title: "driver requests", key: "misses", value: value("misses"), write: words.count },
        { title: "driver time", key: "ns", value: value("ns"), write: words.time },
      ],
    };
  },
};

let flamePlotDrawn = null;

function flameTools() {
  const buttons = Object.entries(flameUnits).map(([by, unit]) => make("button", {
    type: "button", class: "button", role: "radio", "data-by": by, "aria-checked": String(by === flame.by), tabindex: by === flame.by ? "0" : "-1", onclick: () => choose(by),
  }, unit.name));
  const choose = by => {
    flame.by = by;
    buttons.forEach(button => {
      button.setAttribute("aria-checked", String(button.dataset.by === by));
      button.tabIndex = button.dataset.by === by ? 0 : -1;
    });
    flamePlotDrawn.draw();
  };
  const group = make("div", { class: "tools", role: "radiogroup", "aria-label": "Wide by" }, buttons);
  group.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const names = Object.keys(flameUnits), next = names[(names.indexOf(flame.by) + step + names.length) % names.length];
    choose(next);
    buttons.find(button => button.dataset.by === next).focus();
    event.preventDefault();
  });
  return group;
}
