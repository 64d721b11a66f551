// One episode, or the same episode of two runs side by side, in a dialog.

class EpisodeView {
  constructor(list) {
    this.list = list;
    this.dialog = document.getElementById("episode");
    this.id = null;
    this.dialog.addEventListener("close", () => { if (this.id !== null) go(changed({ episode: "" })); });
    this.dialog.addEventListener("click", (event) => { if (event.target === this.dialog) this.dialog.close(); });
    this.dialog.addEventListener("keydown", (event) => this.key(event));
  }

  show(id) {
    if (id === this.id) return;
    this.id = id;
    const sides = RUNS.map((run, number) => ({ run, number, row: run.rows.get(id) })).filter((side) => side.row !== undefined);
    this.dialog.replaceChildren(this.top(id), sides.length
      ? make("div", { class: sides.length > 1 ? "sides two" : "sides" }, ...sides.map((side) => this.side(side, sides.length > 1)))
      : make("p", { class: "none-found" }, `This report has no episode ${id}.`));
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.focus();
    this.dialog.scrollTop = 0;
  }

  hide() {
    this.id = null;
    if (this.dialog.open) this.dialog.close();
    this.dialog.replaceChildren();
  }

  top(id) {
    const step = (label, by, title) => {
      const next = this.list.neighbour(id, by);
      return make("button", { type: "button", title, "aria-label": title, disabled: next === undefined, onclick: () => go(changed({ episode: next }), true) }, label);
    };
    return make("div", { class: "bar-top" }, make("h2", { id: "episode-title" }, id),
      step("‹", -1, "previous episode (left arrow)"), step("›", 1, "next episode (right arrow)"),
      make("button", { type: "button", "aria-label": "close (Escape)", onclick: () => this.dialog.close() }, "Close"));
  }

  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || ["VIDEO", "INPUT"].includes(event.target.tagName)) return;
    const next = this.list.neighbour(this.id, by);
    if (next !== undefined) go(changed({ episode: next }), true);
    event.preventDefault();
  }

  side({ run, number, row }, compared) {
    const episode = episodeAt(run, row);
    const detail = detailOf(number, row);
    return make("article", { class: compared ? "side" : "side solo" },
      compared ? make("h3", {}, `${run.label}: ${run.policy}`) : null,
      make("div", { class: "across" }, prompt(episode, detail)),
      film(episode, detail),
      facts(episode, detail),
      detail && actionCharts(detail.actions),
      make("section", { class: "across" }, make("h3", {}, "Replay it"), command(`pytest-vla replay ${quoted(run.path)} ${quoted(episode.id)}${run.trust ? " --trust" : ""}`)));
  }
}

function prompt(episode, detail) {
  const pieces = detail?.prompt?.length ? detail.prompt : [{ text: episode.instruction || "(no instruction)" }];
  return make("p", { class: "prompt" }, ...pieces.map((piece) => (piece.image
    ? make("img", { src: mediaAddress(piece.image), alt: words(piece.name), title: words(piece.name), loading: "lazy" })
    : piece.text)));
}

function film(episode, detail) {
  const parts = [];
  if (detail?.video) {
    parts.push(make("video", { src: mediaAddress(detail.video), controls: true, loop: true, autoplay: !matchMedia("(prefers-reduced-motion: reduce)").matches, muted: true, playsinline: true, preload: "metadata", "aria-label": `film of ${episode.id}` }));
  }
  if (detail?.strip) {
    parts.push(make("div", { class: "strip", tabindex: 0, role: "region", "aria-label": "film strip" },
      make("img", { src: mediaAddress(detail.strip), alt: `the episode at steps ${detail.shown.join(", ")}`, loading: "lazy" })));
  }
  if (detail?.note) parts.push(make("p", { class: "note" }, detail.note));
  if (!detail?.video && !detail?.note) {
    parts.push(make("p", { class: "note" }, episode.outcome === "error"
      ? "Not filmed: an episode that ended in an error is not simulated again here; the command below tries."
      : "Not filmed. Choose what is filmed with --video=unsolved, all or N."));
  }
  return make("div", { class: "side" }, ...parts);
}

function facts(episode, detail) {
  const rows = [
    ["outcome", make("span", { class: `outcome ${episode.outcome}` }, episode.outcome)],
    ["reason", words(episode.reason)],
    ["test", episode.outcome === "solved" && episode.test === "failed" ? `failed: ${episode.objection}` : ""],
    ["perturbation", episode.perturbation],
    ["progress", episode.progress === null ? "" : percent(episode.progress)],
    ["steps", String(episode.steps)],
    ["time", `${seconds(episode.seconds)} (reset ${seconds(episode.seconds_reset ?? 0)}, draw ${seconds(episode.seconds_draw ?? 0)}, act ${seconds(episode.seconds_act ?? 0)}, step ${seconds(episode.seconds_step ?? 0)})`],
    ["suite", `${episode.suite}, version ${episode.version}`],
    ["digest", episode.digest && make("code", {}, episode.digest)],
    ["first state", episode.initial_digest && make("code", {}, episode.initial_digest.slice(0, 64))],
  ];
  return make("div", { class: "side" },
    make("dl", { class: "facts full" }, ...rows.filter(([, value]) => value).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
    episode.message ? make("pre", { tabindex: 0 }, episode.message) : null,
    detail?.progress?.length ? progressChart(detail.progress) : null);
}

function command(text) {
  const button = make("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
    }
  });
  return make("div", { class: "command" }, make("pre", {}, text), button);
}
