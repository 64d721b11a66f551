// The list of episodes: ten thousand of them, of which only those in sight exist as elements.

class EpisodeList {
  constructor() {
    this.element = document.getElementById("list");
    this.spacer = make("div", { "aria-hidden": "true", style: "position:absolute;top:0;width:1px" });
    this.rows = [];
    this.active = 0;
    this.drawn = new Map();
    this.element.append(this.spacer);
    this.element.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()), { passive: true });
    this.element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => { this.fit(); this.clear(); this.draw(); }).observe(this.element);
    this.fit();
    this.head();
  }

  head() {
    const titles = ["outcome", "task", "level", "index", "perturbation", "steps", "progress", "time", "film"];
    document.getElementById("list-head").append(...titles.map((title) =>
      make("span", { class: ["index", "steps", "time"].includes(title) ? "right" : "" }, title)));
  }

  // No higher than a run with few episodes needs.
  fit() { this.element.style.height = `min(62vh, 36rem, ${Math.max(3, RUN.size) * this.height}px)`; }

  // Phones get higher rows: two lines each.
  get height() { return matchMedia("(max-width: 760px)").matches ? 52 : 36; }

  show(rows) {
    this.rows = rows;
    this.active = Math.min(this.active, Math.max(0, rows.length - 1));
    this.base = readAddress();
    this.clear();
    this.element.scrollTop = 0;
    this.draw();
  }

  clear() {
    for (const element of this.drawn.values()) element.remove();
    this.drawn.clear();
    this.element.querySelector(".none-found")?.remove();
  }

  draw() {
    const { height, rows } = this;
    this.spacer.style.height = `${rows.length * height}px`;
    this.element.setAttribute("aria-rowcount", rows.length);
    if (!rows.length && !this.element.querySelector(".none-found")) {
      this.element.append(make("p", { class: "none-found" }, "No episode fits these filters."));
      return;
    }
    const first = Math.max(0, Math.floor(this.element.scrollTop / height) - 8);
    const last = Math.min(rows.length, first + Math.ceil(this.element.clientHeight / height) + 16);
    for (const [place, element] of this.drawn) {
      if (place < first || place >= last) { element.remove(); this.drawn.delete(place); }
    }
    for (let place = first; place < last; place++) {
      if (!this.drawn.has(place)) {
        const element = this.row(place, height);
        this.drawn.set(place, element);
        this.element.append(element);
      }
    }
    this.mark();
  }

  address(row) {
    this.base.set("episode", RUN.ids[row]);
    return addressOf(this.base);
  }

  row(place, height) {
    const row = this.rows[place];
    const { index, repeat, steps, progress, seconds: time } = RUN.columns;
    const which = `${index[row]}${repeat[row] ? ` r${repeat[row]}` : ""}`;
    const [outcome, task, partition, change, reason] = ["outcome", "task", "partition", "perturbation", "reason"].map((field) => word(RUN, field, row));
    const flip = ["gained", "lost"].includes(FLIPS[row]) ? FLIPS[row] : "";
    return make("a", { class: "row", role: "row", id: `row-${place}`, "aria-rowindex": place + 1, tabindex: -1, href: this.address(row), style: `top:${place * height}px` },
      make("span", { role: "gridcell", class: `outcome ${outcome}` }, outcome),
      make("span", { role: "gridcell", class: "task" }, task, flip && make("small", { class: flip }, ` ${flip}`)),
      make("span", { role: "gridcell", class: "where" }, words(partition)),
      make("span", { role: "gridcell", class: "index right" }, which),
      make("span", { role: "gridcell", class: "change", "data-where": `${words(partition)} ${which}` }, change || ""),
      make("span", { role: "gridcell", class: "steps right" }, String(steps[row])),
      make("span", { role: "gridcell", class: "how" }, ...(outcome === "error" ? [words(reason)] : progress[row] === null ? [words(reason)] :
        [make("span", { class: "meter", style: `--share:${percent(progress[row])}` }), percent(progress[row], 0)])),
      make("span", { role: "gridcell", class: "time right" }, seconds(time[row])),
      make("span", { role: "gridcell", class: "film" }, RUN.films.has(row) ? "film" : ""));
  }

  mark() {
    for (const [place, element] of this.drawn) element.classList.toggle("active", place === this.active);
    this.element.setAttribute("aria-activedescendant", `row-${this.active}`);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" && this.rows.length) {
      go(changed({ episode: RUN.ids[this.rows[this.active]] }));
    } else if (event.key in moves) {
      this.active = Math.min(this.rows.length - 1, Math.max(0, this.active + moves[event.key]));
      const top = this.active * this.height;
      const { scrollTop, clientHeight } = this.element;
      if (top < scrollTop) this.element.scrollTop = top;
      if (top + this.height > scrollTop + clientHeight) this.element.scrollTop = top + this.height - clientHeight;
      this.draw();
    } else {
      return;
    }
    event.preventDefault();
  }

  // The episode next to this one, in the order of the list.
  neighbour(id, step) {
    const place = this.rows.indexOf(RUN.rows.get(id));
    return place < 0 ? undefined : RUN.ids[this.rows[place + step]];
  }
}
