/* main.js - the page: its sections in order, and the device that is shown. */
const main = document.getElementById("main");

function section(id, title, short, ...children) {
  const made = make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, title), children.flat());
  document.getElementById("nav").append(make("a", { href: `#${id}` }, short));
  main.append(made);
  return made;
}

function plotIn(parent, spec) {
  const plot = new Plot(spec);
  parent.append(plot.figure);
  return plot;
}

/* Told again for every lane. */
function changing(fill) {
  const box = make("div");
  const again = () => box.replaceChildren(...[fill()].flat().filter(Boolean));
  view.listeners.push(again);
  again();
  return box;
}

function verdictSection() {
  const first = run.processes[0], [sign, answer] = GRADES[run.verdict.grade];
  const started = first.t0_unix_ns ? new Date(first.t0_unix_ns / 1e6).toISOString().replace("T", " ").slice(0, 19) + " UTC, " : "";
  const longest = Math.max(...run.processes.map(process => process.duration_ns));
  const text = run.verdict.text.charAt(0).toUpperCase() + run.verdict.text.slice(1);
  const made = make("section", { id: "verdict", "aria-labelledby": "verdict-title" },
    make("h1", { id: "verdict-title" }, "Was the cache effective?"),
    make("p", { class: `grade ${run.verdict.grade}` }, make("span", { "aria-hidden": "true" }, sign), ` ${answer}`),
    make("p", { class: "lead" }, text),
    make("p", { class: "facts mono" }, run.command || "(the program is not told)"),
    make("p", { class: "facts" }, `run ${run.run || "(unnamed)"}, ${started}took ${words.time(longest)}, ` +
      (run.processes.length > 1 ? `${run.processes.length} processes of a world of ${first.world}` : `rank ${first.rank} of ${first.world}, pid ${first.pid} on ${first.host}`)),
    view.lane && changing(() => tilesOf(view.lane)),
    run.story && make("h2", {}, "What happened"), run.story && storyOf(),
    changing(() => notesOf(view.lane?.process ?? first)),
    view.lane && make("details", {}, make("summary", {}, "A step, by the phase in which it ended"), changing(() => makeTable(phaseTable(view.lane)))));
  document.getElementById("nav").append(make("a", { href: "#verdict" }, "Verdict"));
  main.append(made);
  if (run.full.some(lane => incidentsOf(lane).length)) shownFor(made, oomPlot, lane => incidentsOf(lane).length, changing(() => lastIncident(view.lane)));
}

/* A plot that not every lane has; `more` stands above it. */
function shownFor(parent, spec, has, more) {
  const plot = new Plot(spec), box = make("div", {}, more && make("h3", {}, spec.title), more, plot.figure);
  const none = make("p", { class: "empty" }, "Nothing of this rank.");
  const again = () => {
    box.hidden = !has(view.lane);
    none.hidden = !box.hidden || Boolean(more);
  };
  view.listeners.unshift(again);
  parent.append(box, none);
  again();
}

const NO_STEPS = "The log has no record of a step: no step ended, or SHAPECACHE_LOG_LEVEL was summary.";
/* What some lane has gets its plots; a lane without has them empty. */
const hasSteps = () => run.full.some(lane => seriesOf(lane).indices.length);

function stepSections() {
  const memory = section("timeline", "Timeline", "Timeline");
  memory.append(...hasSteps() ? [plotIn(memory, memoryPlot).figure, dataUnder("marks", eventTable, "Marks of single steps as a table")]
    : [make("p", { class: "empty" }, NO_STEPS)]);
}

function shapeSections() {
  const shapes = section("shapes", "Shapes", "Shapes");
  if (!run.full.some(lane => shapesOf(lane).length)) {
    shapes.append(make("p", { class: "empty" }, "The log has no record of a shape."));
    return;
  }
  plotIn(shapes, shapePlot);
  shapes.append(make("h3", {}, "All of them"), changing(() => [make("p", { class: "hint" }, `${words.plural(view.lane.shapes_seen, "shape")}${view.lane.shapes.left_out ? `, ${words.count(view.lane.shapes.left_out)} with fewer bytes are left out here` : ""}. A heading sorts. A bar at the left: it broke the set.`), ...makeTable(shapeTable())]));
  const presence = section("presence", "Shapes by step: which one broke the set?", "By step");
  presence.append(changing(() => make("p", { class: "hint" }, presenceText(view.lane))));
  plotIn(presence, presencePlot);
}

function presenceText(lane) {
  const broke = breaksOf(lane), how = lane.presence.is_exact ? "Every request is counted in its step." :
    "Between two records of a shape (first sight, a change of phase, steps 2^k, the end) its requests are spread evenly; SHAPECACHE_LOG_LEVEL=event counts each.";
  const said = broke.length ? `Shape ${broke[0].shape}, ${words.size(broke[0].bytes)}${broke[0].site ? ` asked for at ${words.tail(broke[0].site, 120)}` : ""}, ended phase fixed at step ${words.count(broke[0].step)}${broke.length > 1 ? `, the first of ${broke.length}` : ""}; it has a diamond. `
    : firstFixed(lane) === Infinity ? "The set never was fixed: new shapes kept coming. " : "No shape broke the set. ";
  const more = lane.shapes_seen - lane.presence.ids.length;
  return `${said}One row a shape, in the order of their first steps; the stronger, the more requests. ${how}${more > 0 ? ` ${words.plural(more, "shape")} with fewer bytes ${more === 1 ? "is" : "are"} not shown.` : ""}`;
}

function rankSection() {
  const ranks = section("ranks", "Ranks", "Ranks");
  if (run.lanes.length === 1) {
    ranks.append(make("p", { class: "empty" }, "One device of one process. Give report the folder of a run, or several of its logs, to see them side by side."));
    return;
  }
  if (run.envelope.held_peak && run.envelope.held_peak.least.some(v => v != null)) plotIn(ranks, envelopePlot);
  plotIn(ranks, rankPlot);
  if (run.full.length < run.lanes.length)
    ranks.append(make("p", { class: "hint" }, `The first ${run.full.length} can be shown above; of the others there are their totals and the band. A page of one log has everything of it.`));
}

function laneSections() {
  stepSections();
  shapeSections();
  const requests = section("requests", "Hit rate and misses", "Hits");
  requests.append(hasSteps() ? plotIn(requests, requestPlot).figure : make("p", { class: "empty" }, NO_STEPS));
  const time = section("time", "Time of a call", "Time");
  time.append(hasSteps() ? plotIn(time, timePlot).figure : make("p", { class: "empty" }, NO_STEPS));
  const sites = section("sites", "Call sites", "Call sites");
  if (run.full.some(lane => lane.sites.name.length)) {
    sites.append(flameTools());
    flamePlotDrawn = plotIn(sites, flamePlot);
    flamePlotDrawn.box.addEventListener("keydown", event => {
      if (event.key !== "Escape" || !flame.path.length) return;
      flame.path = [];
      flamePlotDrawn.draw();
    });
  } else {
    sites.append(make("p", { class: "empty" }, "The log names no call site."));
  }
  const arena = section("arena", "Arena depth", "Arena");
  if (run.full.some(lane => lane.arena.rows.length)) shownFor(arena, arenaPlot, lane => lane.arena.rows.length);
  else arena.append(make("p", { class: "empty" }, "This run had no pinned arena."));
  rankSection();
}

function lastSections() {
  section("settings", "Settings and where they come from", "Settings", make("p", { class: "hint" }, "A bar at the left: not the default."),
    changing(() => { const process = view.lane?.process ?? run.processes[0]; return process.config?.length ? makeTable(configTable(process)) : make("p", { class: "empty" }, "The log does not tell them."); }));
  section("words", "Glossary", "Glossary", glossary());
  section("text", "The report in text", "Text", make("details", {}, make("summary", {}, "What shapecache report prints"), make("pre", { tabindex: "0" }, run.text)));
}

function laneChoice() {
  if (run.full.length < 2) return;
  const select = document.getElementById("lane");
  select.append(...run.full.map((lane, i) => make("option", { value: i }, lane.label)));
  select.addEventListener("change", () => view.show(run.full[+select.value]));
  document.getElementById("pick").hidden = false;
}

function begin() {
  document.title = `shapecache: ${run.run || "report"}`;
  document.getElementById("made").textContent = `Made by shapecache ${run.tool} from ${words.plural(run.processes.length, "log")}: ${words.tail(run.processes[0].log, 200)}${run.processes.length > 1 ? " and others" : ""}. This page asks nothing of the network.`;
  theme.begin();
  verdictSection();
  if (view.lane) laneSections();
  lastSections();
  laneChoice();
  plots.forEach(plot => plot.watch());
  theme.listeners.push(redrawAll);
  view.listeners.push(redrawAll);
}

begin();
