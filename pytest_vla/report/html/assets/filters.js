// Which episodes are shown. The address of the page is the state: every view can be bookmarked and shared.

const FILTERS = [
  { name: "outcome", label: "outcome", field: "outcome" },
  { name: "reason", label: "reason", field: "reason" },
  { name: "suite", label: "suite", field: "suite" },
  { name: "task", label: "task", field: "task" },
  { name: "partition", label: "level", field: "partition" },
  { name: "perturbation", label: "perturbation", field: "perturbation", none: "none" },
  { name: "flip", label: "against the other run", values: FLIPS },
];
const SORTS = {
  "": "in order",
  slow: "slowest first",
  steps: "most steps first",
  progress: "least progress first",
};

function readAddress() {
  const text = location.hash.slice(1);
  return text.includes("=") ? new URLSearchParams(text) : new URLSearchParams();
}

function addressOf(parameters) {
  return `#${parameters.toString().replaceAll("%2F", "/")}`;
}

// This address with some parameters changed; an empty value removes one.
function changed(changes) {
  const parameters = readAddress();
  for (const [name, value] of Object.entries(changes)) {
    if (value) parameters.set(name, value);
    else parameters.delete(name);
  }
  return addressOf(parameters);
}

// Moves to an address; an empty one leaves the page where it is.
function go(address, replace = false) {
  const url = address === "#" ? location.pathname + location.search : address;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  update();
}

function choices(filter) {
  if (filter.values) return [...new Set(filter.values)].filter(Boolean);
  const numbers = [...new Set(RUN.columns[filter.field])];
  return numbers.map((each) => WORDS[each] || filter.none).filter(Boolean);
}

function makeFilters() {
  const form = document.getElementById("filters");
  for (const filter of FILTERS) {
    const values = choices(filter);
    filter.shown = values.length > 1 || filter.name === "outcome";
    if (!filter.shown) continue;
    filter.element = make("select", { name: filter.name, onchange: (event) => go(changed({ [filter.name]: event.target.value }), true) },
      make("option", { value: "" }, "any"),
      ...values.map((value) => make("option", { value }, words(value))));
    form.append(make("label", {}, filter.label, filter.element));
  }
  const film = make("select", { name: "film", onchange: (event) => go(changed({ film: event.target.value }), true) },
    make("option", { value: "" }, "any"), make("option", { value: "yes" }, "filmed"));
  const sort = make("select", { name: "sort", onchange: (event) => go(changed({ sort: event.target.value }), true) },
    ...Object.entries(SORTS).map(([value, label]) => make("option", { value }, label)));
  const search = make("input", { type: "search", name: "q", placeholder: "name, instruction, message", oninput: (event) => go(changed({ q: event.target.value }), true) });
  form.append(make("label", {}, "film", film), make("label", {}, "order", sort), make("label", {}, "text", search),
    make("button", { type: "button", onclick: () => { form.reset(); go("#", true); } }, "Clear"));
  form.addEventListener("submit", (event) => event.preventDefault());
  return { film, sort, search };
}

function showFilters(controls, parameters) {
  for (const filter of FILTERS) if (filter.element) filter.element.value = parameters.get(filter.name) ?? "";
  controls.film.value = parameters.get("film") ?? "";
  controls.sort.value = parameters.get("sort") ?? "";
  if (document.activeElement !== controls.search) controls.search.value = parameters.get("q") ?? "";
}

// The rows that pass, as numbers; one comparison of integers per row and filter.
function chosenRows(parameters) {
  const tests = [];
  for (const filter of FILTERS) {
    const wanted = parameters.get(filter.name);
    if (!wanted) continue;
    if (filter.values) { tests.push((row) => filter.values[row] === wanted); continue; }
    const column = RUN.columns[filter.field];
    const code = wanted === filter.none ? 0 : WORDS.indexOf(wanted);
    tests.push((row) => column[row] === code);
  }
  if (parameters.get("film") === "yes") tests.push((row) => RUN.films.has(row));
  const text = (parameters.get("q") ?? "").trim().toLowerCase();
  if (text) {
    const hits = new Uint8Array(WORDS.length);
    WORDS.forEach((each, code) => { hits[code] = each.toLowerCase().includes(text); });
    const { instruction, message, reason } = RUN.columns;
    tests.push((row) => hits[instruction[row]] || hits[message[row]] || hits[reason[row]] || RUN.ids[row].toLowerCase().includes(text));
  }
  const rows = [];
  for (let row = 0; row < RUN.size; row++) if (tests.every((test) => test(row))) rows.push(row);
  return sorted(rows, parameters.get("sort"));
}

function sorted(rows, how) {
  const { seconds: time, steps, progress } = RUN.columns;
  if (how === "slow") return rows.sort((a, b) => time[b] - time[a]);
  if (how === "steps") return rows.sort((a, b) => steps[b] - steps[a]);
  if (how === "progress") return rows.sort((a, b) => (progress[a] ?? 2) - (progress[b] ?? 2));
  return rows;
}
