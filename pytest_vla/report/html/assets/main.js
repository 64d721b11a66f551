// Puts the parts together: whatever the address says is what is shown.

document.getElementById("episodes").classList.toggle("no-change", !RUN.columns.perturbation.some(Boolean));
const controls = makeFilters();
const list = new EpisodeList();
const view = new EpisodeView(list);
let shown = null;

function update() {
  const parameters = readAddress();
  const episode = parameters.get("episode");
  parameters.delete("episode");
  const wanted = parameters.toString();
  if (wanted !== shown) {
    shown = wanted;
    showFilters(controls, parameters);
    const rows = chosenRows(parameters);
    list.show(rows);
    tell(rows);
  }
  if (episode === null) view.hide();
  else view.show(episode);
}

// The rate of what is shown, with its interval. A repeat is no second measurement, and of a list that does not hold all
// episodes there is no rate.
function tell(rows) {
  let [solved, measured, errors] = [0, 0, 0];
  for (const row of rows) {
    if (RUN.columns.repeat[row]) continue;
    const outcome = word(RUN, "outcome", row);
    solved += outcome === "solved";
    measured += outcome !== "error";
    errors += outcome === "error";
  }
  const whole = RUN.size === RUN.total;
  const count = document.getElementById("count");
  count.replaceChildren(make("strong", {}, rows.length.toLocaleString("en")), ` of ${RUN.size.toLocaleString("en")} ${whole ? "" : "listed "}episodes`);
  if (measured && whole) {
    const [low, high] = wilson(solved, measured);
    count.append(`: ${solved} of ${measured} solved, ${percent(solved / measured)} [${Math.round(100 * low)}, ${Math.round(100 * high)}]`);
  }
  if (errors && whole) count.append(`, ${errors} errors`);
}

// A number that was chosen leads to its episodes.
document.addEventListener("click", (event) => {
  const link = event.target.closest("main a[href^='#']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const address = link.getAttribute("href");
  if (!address.includes("=") && address !== "#") return;
  event.preventDefault();
  go(address);
  if (!link.closest("#list")) {
    document.getElementById("episodes").scrollIntoView();
    list.element.focus({ preventScroll: true });
  }
});

addEventListener("hashchange", update);
addEventListener("popstate", update);
update();
if (readAddress().size && !readAddress().has("episode")) document.getElementById("episodes").scrollIntoView();
