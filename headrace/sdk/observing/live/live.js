// Asks for the run each second while the page is visible, and shows it. Everything of the run is set as
// text, never as HTML; the server escapes the graph, which is an image.
"use strict";

const RUN_EVERY = 1000; // milliseconds
const CHARTS_EVERY = 2000;
const SHARE = 20; // the program draws at most this part of the time: a twentieth
const AFTER_END_EVERY = 5000;
const ENDED = ["DONE", "FAILED", "CANCELLED"];
const DARK = matchMedia("(prefers-color-scheme: dark)");
const LOST = "No connection: the program has ended. These are its last numbers.";
const FIRST_TIME = -9.2e18; // microseconds
const LAST_TIME = 9.2e18;

const byId = (id) => document.getElementById(id);
const choice = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const shown = { query: "", charts: "", at: 0, took: 0, views: new Map(), refreshing: false, again: false };
let timer = 0;

async function get(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

// Only one refresh runs at a time; what is asked for meanwhile follows it.
async function refresh() {
  if (shown.refreshing) {
    shown.again = true;
    return;
  }
  clearTimeout(timer);
  shown.refreshing = true;
  let pause = AFTER_END_EVERY;
  do {
    shown.again = false;
    if (!document.hidden) pause = await refreshOnce();
  } while (shown.again);
  shown.refreshing = false;
  if (!document.hidden) timer = setTimeout(refresh, pause);
}

async function refreshOnce() {
  try {
    const run = await get("run.json?spans=0");
    showRun(run);
    await showGraph();
    await refreshCharts(run);
    showConnection("");
    return ENDED.includes(run.state) ? AFTER_END_EVERY : RUN_EVERY;
  } catch (error) {
    const lost = error instanceof TypeError; // what fetch throws if nobody answers
    showConnection(lost ? LOST : `The page cannot be refreshed: ${error.message}`);
    return AFTER_END_EVERY;
  }
}

function showConnection(text) {
  byId("connection").textContent = text;
  byId("connection").hidden = !text;
}

// ------------------------------------------------------------------------------------------------ run

function showRun(run) {
  const outline = run.run;
  if (!outline) return;
  document.title = `${outline.job || outline.name}: ${run.state}`;
  byId("job").textContent = outline.job || outline.name;
  byId("state").textContent = run.state;
  byId("state").dataset.state = run.state;
  byId("facts").textContent = [
    `${outline.runner} runner, ${outline.streaming ? "streaming" : "batch"} mode`,
    `started ${instant(outline.started)}`,
    `${number(run.rounds)} rounds`,
    run.now === null ? "" : `processing time ${instant(run.now)}`,
  ].filter(Boolean).join(" · ");
  byId("run").textContent = `Run ${outline.name}.`;
  byId("error").hidden = !run.error;
  byId("error").textContent = run.error;
  showTable("steps", STEP_COLUMNS, run.steps, (step) => step.label);
  showViews(run.views);
  showTable("metrics", METRIC_COLUMNS, run.metrics);
  byId("metrics-section").hidden = !run.metrics.length;
  showTable("logs", LOG_COLUMNS, run.logs);
  byId("no-logs").hidden = run.logs.length > 0;
  showEngine(run.engine);
  showChoice(run);
}

async function showGraph() {
  const answer = await fetch("graph.svg", { cache: "no-store" });
  const parsed = new DOMParser().parseFromString(await answer.text(), "image/svg+xml");
  byId("graph").replaceChildren(document.importNode(parsed.documentElement, true));
}

const panes = (timing) => (step) => step.groups ? number(step.totals.panes[timing] || 0) : "";
const ofGrouping = (name) => (step) => step.groups ? number(step.totals[name]) : "";

const STEP_COLUMNS = [
  ["step", "label", (step) => step.label, "text"],
  ["kind", "kind", (step) => step.kind, "word"],
  ["in", "elements_in", (step) => number(step.totals.elements_in), "number"],
  ["out", "elements_out", (step) => number(step.totals.elements_out), "number"],
  ["in/s", "rate_in", (step) => rate(step.rates && step.rates.elements_in), "number"],
  ["out/s", "rate_out", (step) => rate(step.rates && step.rates.elements_out), "number"],
  ["watermark", "watermark", (step) => instant(step.totals.watermark), "number"],
  ["lag", "lag", (step) => duration(step.lag), "number"],
  ["early", "early", panes("EARLY"), "number early"],
  ["on time", "on_time", panes("ON_TIME"), "number on_time"],
  ["late", "late", panes("LATE"), "number late"],
  ["retractions", "retractions", ofGrouping("retractions"), "number retraction"],
  ["dropped late", "late_dropped", ofGrouping("late_dropped"), "number late"],
  ["states", "state", (step) => step.state === null ? "" : number(step.state), "number"],
];

const METRIC_COLUMNS = [
  ["step", "step", (metric) => metric.step, "text"],
  ["metric", "name", (metric) => `${metric.namespace}/${metric.name}`, "text"],
  ["value", "value", (metric) => valueText(metric.value), "number"],
];

const LOG_COLUMNS = [
  ["message", "message", (record) => record.message, "text"],
  ["step", "step", (record) => record.step, "text"],
  ["window", "window", (record) => record.window, "text"],
  ["level", "level", (record) => record.level, "word"],
  ["time", "time", (record) => instant(record.time), "number"],
];

function showTable(id, columns, rows) {
  const [head, body] = [byId(id).tHead, byId(id).tBodies[0]];
  if (!head.rows.length) {
    const row = head.insertRow();
    for (const [title, , , kind] of columns) row.append(cell("th", title, kind));
  }
  byId(id).hidden = !rows.length;
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((row, n) => {
    const line = body.rows[n] || emptyRow(body, columns);
    columns.forEach(([, , text], column) => showNumber(line.cells[column], text(row)));
  });
}

// The first rows of the tables that the run keeps up to date.
function showViews(views) {
  byId("views-section").hidden = !views.length;
  byId("views").replaceChildren(...views.map(viewTable));
}

function viewTable(view) {
  const [part, table] = [document.createElement("div"), document.createElement("table")];
  part.className = "wide";
  const head = table.createTHead().insertRow();
  head.append(...view.columns.map((name) => cell("th", name, "text")));
  const body = table.createTBody();
  for (const row of view.rows) body.insertRow().append(...row.map((text) => cell("td", text, "text")));
  part.append(cell("h3", view.label, ""), view.rows.length ? table : cell("p", "No rows yet.", "note"));
  return part;
}

function emptyRow(body, columns) {
  const line = body.insertRow();
  for (const [title, name, , kind] of columns) {
    const added = cell("td", "", kind);
    added.dataset.title = title;
    added.dataset.name = name;
    line.append(added);
  }
  return line;
}

function cell(tag, text, kind) {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = kind;
  return made;
}

function showNumber(element, text) {
  setText(element, text);
  element.classList.toggle("zero", text === "0");
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function showEngine(engine) {
  const names = Object.keys(engine);
  byId("engine-section").hidden = !names.length;
  byId("engine").replaceChildren(
    ...names.map((name) => {
      const [pair, value] = [document.createElement("div"), cell("dd", number(engine[name]), "")];
      value.dataset.name = name;
      pair.append(cell("dt", name.replaceAll("_", " "), ""), value);
      return pair;
    }),
  );
}

// --------------------------------------------------------------------------------------------- charts

function showChoice(run) {
  const labels = run.groupings.map((grouping) => grouping.label);
  const given = run.groupings.find((grouping) => grouping.label === choice.grouping);
  const grouping = given || run.groupings.find((grouping) => grouping.keys.length) || run.groupings[0];
  showOptions("grouping", labels, grouping && grouping.label);
  showOptions("key", grouping ? grouping.keys : [], choice.key);
  byId("minutes").value = choice.minutes || "5";
  byId("thinned").hidden = !(grouping && grouping.thinned);
}

function showOptions(id, names, selected) {
  const select = byId(id);
  const before = [...select.options].map((option) => option.value);
  if (JSON.stringify(before) !== JSON.stringify(names)) {
    select.replaceChildren(...names.map((name) => new Option(name, name)));
  }
  if (names.includes(selected)) select.value = selected;
  select.parentElement.hidden = !names.length;
}

async function refreshCharts(run) {
  const query = new URLSearchParams({ minutes: byId("minutes").value });
  if (byId("grouping").value) query.set("grouping", byId("grouping").value);
  if (byId("key").value) query.set("key", byId("key").value);
  const known = [String(query), DARK.matches].join(" ");
  const wanted = [known, run.rounds, run.state].join(" ");
  const soon = known === shown.query && Date.now() < shown.at + Math.max(CHARTS_EVERY, SHARE * shown.took);
  if (wanted === shown.charts || (soon && !ENDED.includes(run.state))) return;
  const asked = Date.now();
  const charts = await get(`charts.json?${query}`);
  shown.took = Date.now() - asked;
  const theme = charts.themes[DARK.matches ? "dark" : "light"];
  await showCharts("pictures", charts.pictures, theme);
  await showCharts("over-time", charts.over_time, theme);
  byId("no-charts").hidden = charts.pictures.length > 0 || charts.over_time.length > 0;
  [shown.query, shown.charts, shown.at] = [known, wanted, Date.now()];
  document.body.dataset.drawn = charts.rounds;
}

async function showCharts(id, charts, theme) {
  const parent = byId(id);
  while (parent.children.length > charts.length) removeChart(parent.lastElementChild);
  while (parent.children.length < charts.length) parent.append(emptyFigure());
  for (const [n, chart] of charts.entries()) await draw(parent.children[n], chart, theme);
}

function emptyFigure() {
  const figure = document.createElement("figure");
  figure.append(document.createElement("h3"));
  return figure;
}

function removeChart(figure) {
  if (shown.views.has(figure)) shown.views.get(figure).finalize();
  shown.views.delete(figure);
  figure.remove();
}

// Draws beside the chart that is shown, and then replaces it, so that the page does not flicker.
async function draw(figure, chart, theme) {
  setText(figure.firstElementChild, chart.title);
  const [before, fresh] = [figure.querySelector(".chart"), document.createElement("div")];
  fresh.className = "chart drawing";
  fresh.setAttribute("role", "img");
  fresh.setAttribute("aria-label", chart.title);
  figure.append(fresh);
  const view = await vegaEmbed(fresh, chart.spec, {
    actions: false,
    ast: true, // an interpreter instead of eval, which the Content-Security-Policy forbids
    config: fitted(theme, fresh.clientWidth),
    defaultStyle: false,
    patch: withoutDatetime,
    renderer: "svg",
    tooltip: { disableDefaultStyle: true },
  });
  if (shown.views.has(figure)) shown.views.get(figure).finalize();
  shown.views.set(figure, view);
  if (before) before.remove();
  fresh.classList.remove("drawing");
}

function fitted(theme, width) {
  const columns = Math.max(1, Math.min(4, Math.floor(width / 150)));
  return { ...theme, legend: { ...theme.legend, columns, labelLimit: Math.max(100, width - 80) } };
}

// Vega's interpreter reads datetime(n) as the year n; a time scale takes the number itself.
function withoutDatetime(spec) {
  return JSON.parse(JSON.stringify(spec).replaceAll(/datetime\((-?[0-9.e+]+)\)/g, "$1"));
}

// ---------------------------------------------------------------------------------------------- texts

function number(value) {
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 3 }) : String(value);
}

function rate(value) {
  if (value === null || value === undefined) return "";
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}

function valueText(value) {
  if (value === null || typeof value !== "object") return number(value);
  return Object.entries(value).map(([name, part]) => `${name} ${number(part)}`).join(", ");
}

// Instants near 1970 are those of tests: seconds. Others are times in UTC.
function instant(micros) {
  if (micros <= FIRST_TIME) return "";
  if (micros >= LAST_TIME) return "end of time";
  if (Math.abs(micros) < 3600e6) return `${number(micros / 1e6)} s`;
  const date = new Date(micros / 1000);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().replace("T", " ").slice(0, 19) + " Z";
}

function duration(seconds) {
  if (seconds === null) return "";
  if (Math.abs(seconds) < 0.05) return "0 s";
  const size = Math.abs(seconds);
  if (size < 120) return `${number(Math.round(seconds * 10) / 10)} s`;
  if (size < 7200) return `${number(Math.round(seconds / 6) / 10)} min`;
  if (size < 172800) return `${number(Math.round(seconds / 360) / 10)} h`;
  return `${number(Math.round(seconds / 8640) / 10)} days`;
}

// --------------------------------------------------------------------------------------------- events

byId("choice").addEventListener("change", (event) => {
  choice[event.target.id] = event.target.value;
  if (event.target.id === "grouping") delete choice.key;
  history.replaceState(null, "", `#${new URLSearchParams(choice)}`);
  refresh();
});
document.addEventListener("visibilitychange", refresh);
DARK.addEventListener("change", refresh);
refresh();
