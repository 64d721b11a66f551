// Curves over the steps of one episode, as small pictures with their range in words.

const WIDTH = 200;
const HEIGHT = 60;

function chart(name, values, { low = null, high = null, tall = false, digits = null } = {}) {
  const known = values.filter((value) => value !== null);
  if (!known.length) return null;
  const least = low ?? Math.min(...known);
  const most = high ?? Math.max(...known);
  const span = most - least || 1;
  const x = (place) => (values.length > 1 ? (place / (values.length - 1)) * WIDTH : WIDTH / 2);
  const y = (value) => (most === least ? HEIGHT / 2 : 4 + (1 - (value - least) / span) * (HEIGHT - 8));
  const points = values.map((value, place) => (value === null ? null : `${x(place).toFixed(1)} ${y(value).toFixed(1)}`)).filter(Boolean);
  const path = points.length > 1 ? `M${points.join("L")}` : `M0 ${y(known[0])}L${WIDTH} ${y(known[0])}`;
  const range = digits === null ? (least === most ? number(least) : `${number(least)} … ${number(most)}`) : digits(known);
  const svg = makeSvg("svg", { class: tall ? "chart tall" : "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${name} over ${values.length} steps: ${range}` });
  if (tall) svg.append(makeSvg("path", { class: "area", d: `${path}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z` }));
  svg.append(makeSvg("path", { d: path }));
  return make("figure", {}, make("figcaption", {}, make("span", { title: name }, name), make("span", {}, range)), svg);
}

function progressChart(values) {
  const digits = (known) => `${percent(known[0], 0)} → ${percent(known[known.length - 1], 0)}, best ${percent(Math.max(...known), 0)}`;
  return chart("progress by step", values, { low: 0, high: 1, tall: true, digits });
}

// A picture for each part of the action that changes, a line of text for those that do not.
function actionCharts(actions) {
  const parts = Object.entries(actions).filter(([, values]) => values.length);
  if (!parts.length) return null;
  const isConstant = ([, values]) => values.every((value) => value === values[0]);
  const constant = parts.filter(isConstant).map(([name, values]) => `${words(name)} = ${number(values[0])}`);
  return make("section", { class: "across", "aria-label": "actions over time" }, make("h3", {}, "Actions over time"),
    make("div", { class: "charts" }, ...parts.filter((part) => !isConstant(part)).map(([name, values]) => chart(words(name), values))),
    constant.length ? make("p", { class: "hint" }, `the same in every step: ${constant.join(", ")}`) : null);
}
