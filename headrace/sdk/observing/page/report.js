// Draws the charts of a report. All data is in the element "data" of the page: compressed JSON in base 64.
"use strict";

let DATA;
const DARK = window.matchMedia("(prefers-color-scheme: dark)");
const byId = (id) => document.getElementById(id);

function read(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

function themeFor(element) {
  const theme = structuredClone(DARK.matches ? DATA.themes.dark : DATA.themes.light);
  theme.legend.columns = Math.max(1, Math.min(4, Math.floor(element.clientWidth / 150)));
  theme.legend.labelLimit = Math.max(100, element.clientWidth - 80);
  return theme;
}

function draw(parent, chart) {
  const element = document.createElement("div");
  element.className = "chart";
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", chart.title);
  parent.replaceChildren(element);
  const options = {
    actions: false,
    config: themeFor(element),
    logLevel: 1, // errors only; layers share their scales on purpose
    renderer: "svg",
    tooltip: { theme: DARK.matches ? "dark" : "light" },
  };
  return vegaEmbed(element, chart.spec, options);
}

function titled(chart) {
  const figure = document.createElement("figure");
  const title = document.createElement("h3");
  const body = document.createElement("div");
  title.textContent = chart.title;
  figure.append(title, body);
  return [figure, body];
}

async function drawOverTime() {
  const parent = byId("charts");
  parent.replaceChildren();
  byId("over-time").hidden = !DATA.over_time.length;
  for (const chart of DATA.over_time) {
    const [figure, body] = titled(chart);
    parent.append(figure);
    await draw(body, chart);
  }
}

// The choices of a picture, each among those that are left by the choices before it.
const CHOICES = ["grouping", "key", "part"];
const FIELDS = { grouping: "label", key: "key", part: "part" };

function leftBy(names) {
  return DATA.pictures.filter((chart) => names.every((name) => chart[FIELDS[name]] === byId(name).value));
}

function offerFrom(first) {
  for (let n = first; n < CHOICES.length; n++) {
    const name = CHOICES[n];
    const values = [...new Set(leftBy(CHOICES.slice(0, n)).map((chart) => chart[FIELDS[name]]))];
    byId(name).replaceChildren(...values.map((value) => new Option(value, value)));
    byId(name).parentElement.hidden = values.length === 1 && values[0] === "";
  }
}

async function drawPicture() {
  const chart = leftBy(CHOICES)[0];
  if (chart) await draw(byId("picture"), chart);
}

function beginPictures() {
  byId("pictures").hidden = !DATA.pictures.length;
  offerFrom(0);
  CHOICES.forEach((name, n) =>
    byId(name).addEventListener("change", () => {
      offerFrom(n + 1);
      drawPicture();
    }),
  );
}

async function drawAll() {
  await drawPicture();
  await drawOverTime();
  document.body.dataset.drawn = "yes";
}

async function begin() {
  DATA = await read(byId("data").textContent);
  beginPictures();
  await drawAll();
  DARK.addEventListener("change", drawAll);
}

begin();
