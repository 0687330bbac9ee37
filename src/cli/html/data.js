/* data.js - the run as the tool wrote it, and the device that is shown. */
const run = JSON.parse(document.getElementById("data").textContent);

run.lanes = run.processes.flatMap(process => process.lanes.map(lane => Object.assign(lane, { process })));
run.full = run.lanes.filter(lane => lane.series);

const view = {
  lane: run.full[0] ?? null,
  listeners: [],

  show(lane) {
    view.lane = lane;
    view.listeners.forEach(listener => listener());
  },
};

/* What follows from a lane's columns, once. */
function seriesOf(lane) {
  if (lane.derived) return lane.derived;
  const s = lane.series;
  const indices = Array.from({ length: s.count }, (_, i) => i).filter(i => s.rows[i]);
  const last = i => Math.min((i + 1) * s.each, Math.max(lane.steps, 1)) - 1;
  const per = (part, whole, scale = 1) => i => whole[i] ? part[i] / whole[i] * scale : null;
  const calls = s.driver_allocs.map((count, i) => count == null ? null : count + s.driver_frees[i]);
  lane.derived = {
    indices, calls,
    first: i => i * s.each,
    last,
    middle: i => (i * s.each + last(i)) / 2,
    idle: i => Math.max(0, s.held_peak[i] - s.live_peak[i]),
    used: i => lane.total && s.driver_free[i] != null ? Math.max(0, lane.total - s.driver_free[i]) : null,
    rate: per(s.hits, s.requests, 100),
    each: column => per(s[column], s.rows),
    hitTime: per(s.hit_ns, s.sampled),
    callTime: per(s.driver_ns, calls),
  };
  return lane.derived;
}

/* Where the step axis ends: a step that has not ended is on it if something happened there. */
function endOf(lane) {
  const later = lane.events.some(event => event.step >= lane.steps) || lane.changes.some(change => change.step >= lane.steps) ||
    lane.shapes.first_step.some(step => step >= lane.steps);
  return Math.max(1, lane.steps + (later ? 1 : 0));
}

function phaseAt(lane, step) {
  const found = lane.phases.find(p => step >= p.first && (p.last == null || step <= p.last));
  return found ? found.phase : lane.last_phase;
}

/* The changes that ended phase fixed because of a shape. */
function breaksOf(lane) {
  return lane.changes.filter(change => change.to === "fallback" && change.shape != null);
}

/* Shapes as objects, by id where they are looked for. */
function shapesOf(lane) {
  if (lane.rows) return lane.rows;
  const s = lane.shapes, idle = new Map(lane.presence.ids.map((id, i) => [id, lane.presence.idle_most[i]]));
  const broke = new Set(breaksOf(lane).map(change => change.shape));
  lane.rows = s.id.map((id, i) => ({
    id, broke: broke.has(id), bytes: s.bytes[i], high: s.high[i], most: s.bytes[i] * s.high[i],
    idle: Math.max(idle.get(id) ?? 0, s.idle[i]), idleBytes: Math.max(idle.get(id) ?? 0, s.idle[i]) * s.bytes[i],
    requests: s.requests[i], hits: s.hits[i], misses: s.misses[i], evicted: s.evicted[i],
    rate: s.requests[i] ? s.hits[i] / s.requests[i] : null, missTime: s.miss_ns_avg[i] || null,
    first: s.first_step[i], last: s.last_step[i], site: s.site[i], what: s.what[i],
  }));
  return lane.rows;
}
