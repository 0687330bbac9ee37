/* plot.js - one plot: its chart, what it says of itself, its keys, its data as a table and as CSV.
 *
 * A plot is { id, title, caption, summary(), height(width), option(width), table(), isSteps }. It is
 * drawn anew when the theme, the lane or its width changes, and first when it is near the screen. */
const plots = [];

function inkOf() {
  const names = ["text", "muted", "line", "grid", "card", "live", "idle", "driver", "cap", "hit", "miss", "bypass", "new", "steady", "accent", "good"];
  return Object.fromEntries(names.map(name => [name, theme.color(name)]));
}

/* Names of a legend; those of areas are boxes. */
function legendOf(names, areas) {
  return names.map(name => areas.includes(name) ? { name, icon: "roundRect" } : { name });
}

/* What all plots share. */
function baseOption(ink, width) {
  return {
    animation: false,
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: ink.text },
    tooltip: {
      trigger: "axis", confine: true, className: "tip", backgroundColor: ink.card, borderColor: ink.line,
      textStyle: { color: ink.text, fontSize: 13 }, axisPointer: { type: "line", lineStyle: { color: ink.muted } },
    },
    legend: { type: "scroll", top: 0, left: 0, right: 0, itemGap: width < 500 ? 10 : 18, itemWidth: 18, itemHeight: 11,
      textStyle: { color: ink.text }, pageTextStyle: { color: ink.muted }, pageIconColor: ink.accent, inactiveColor: ink.muted },
  };
}

function axisLook(ink) {
  return {
    axisLine: { lineStyle: { color: ink.line } }, axisTick: { lineStyle: { color: ink.line } },
    axisLabel: { color: ink.muted, hideOverlap: true }, splitLine: { lineStyle: { color: ink.grid } },
    nameTextStyle: { color: ink.muted, align: "left" },
  };
}

function tipTable(head, rows) {
  const cells = rows.filter(row => row[1] != null).map(([name, value]) => `<tr><td>${words.escape(name)}</td><td>${words.escape(value)}</td></tr>`);
  return `<div class="tip"><b>${words.escape(head)}</b><table>${cells.join("")}</table></div>`;
}

class Plot {
  constructor(spec) {
    Object.assign(this, spec);
    this.box = make("div", { class: "plot", id: `plot-${this.id}`, "data-plot": this.id, role: "img", tabindex: "0" });
    this.figure = make("figure", {}, this.caption && make("figcaption", {}, this.caption), this.box,
      dataUnder(this.id, () => ({ name: this.title, ...this.table() })));
    this.box.addEventListener("keydown", event => this.onKey(event));
    this.width = 0;
    this.cursor = -1;
    plots.push(this);
  }

  /* From when it stands in the page. */
  watch() {
    new ResizeObserver(() => {
      const width = Math.floor(this.box.clientWidth);
      if (width && width !== this.width) this.draw();
    }).observe(this.box);
    this.draw();
  }

  draw() {
    this.width = Math.floor(this.box.clientWidth);
    if (!this.width) return;
    const height = this.height(this.width), zoom = this.zoomNow();
    this.chart?.dispose();
    this.box.style.height = `${height}px`;
    this.box.setAttribute("aria-label", `${this.title}. ${this.summary()} ${this.isSteps ? "Arrow keys move along the steps, plus and minus zoom, 0 shows all." : ""}`);
    this.chart = echarts.init(this.box, null, { renderer: "canvas", width: this.width, height });
    this.chart.setOption(this.option(this.width, inkOf()));
    this.onDraw?.(this.chart);
    if (!this.isSteps) return;
    if (zoom) this.chart.dispatchAction({ type: "dataZoom", ...zoom });
    this.chart.on("datazoom", () => zoomAll(this.range()));
  }

  range() {
    const { start, end } = this.chart.getOption().dataZoom[0];
    return { start, end };
  }

  zoomNow() {
    const zoom = this.isSteps && this.chart && this.range();
    return zoom && (zoom.start > 0 || zoom.end < 100) ? zoom : null;
  }

  onKey(event) {
    if (!this.isSteps || !this.chart || event.ctrlKey || event.metaKey || event.altKey) return;
    const zoom = this.chart.getOption().dataZoom[0], count = this.points(), span = zoom.end - zoom.start;
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      this.cursor = Math.min(count - 1, Math.max(0, this.cursor + (event.key === "ArrowRight" ? 1 : -1)));
      this.chart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: this.cursor + (this.edge ?? 1) });
    } else if (event.key === "+" || event.key === "-") {
      const next = Math.min(100, Math.max(1, event.key === "+" ? span / 2 : span * 2));
      const at = count > 1 && this.cursor >= 0 ? this.cursor / (count - 1) * 100 : (zoom.start + zoom.end) / 2;
      const start = Math.min(100 - next, Math.max(0, at - next / 2));
      this.chart.dispatchAction({ type: "dataZoom", start, end: start + next });
    } else if (event.key === "0") {
      this.chart.dispatchAction({ type: "dataZoom", start: 0, end: 100 });
    } else if (event.key === "Escape") {
      this.chart.dispatchAction({ type: "hideTip" });
    } else {
      return;
    }
    event.preventDefault();
  }
}

/* All plots of steps show the same ones. */
function zoomAll(range) {
  for (const plot of plots.filter(one => one.isSteps && one.chart)) {
    const now = plot.range();
    if (Math.abs(now.start - range.start) + Math.abs(now.end - range.end) > 0.001) plot.chart.dispatchAction({ type: "dataZoom", ...range });
  }
}

function redrawAll() {
  plots.forEach(plot => plot.draw());
}
