// A list of a hundred thousand rows of which only those in sight are there. One row is chosen at a time: by a click, by
// the arrow keys, by Home and End; Enter opens it.

import { fill, h } from "./dom.js";

const ROW = 34;
const BEYOND = 8;

export class List {
  constructor({ label, row, open, chosen }) {
    this.rows = [];
    this.row = row;
    this.open = open;
    this.told = chosen;
    this.chosen = -1;
    this.inside = h("div", { class: "rows" });
    this.element = h("div", {
      class: "list", role: "listbox", tabindex: 0, "aria-label": label,
      onscroll: () => this.soon(), onkeydown: (event) => this.key(event), onclick: (event) => this.click(event),
    }, this.inside);
    this.drawn = [0, 0];
    new ResizeObserver(() => this.soon()).observe(this.element);
  }

  // `none` is said in place of rows where there are none.
  set(rows, none = "") {
    this.rows = rows;
    this.none = none;
    this.chosen = Math.min(this.chosen, rows.length - 1);
    this.soon();
  }

  soon() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = undefined;
      this.draw();
    });
  }

  draw() {
    const top = this.element.scrollTop;
    const first = Math.max(0, Math.floor(top / ROW) - BEYOND);
    const last = Math.min(this.rows.length, Math.ceil((top + this.element.clientHeight) / ROW) + BEYOND);
    this.inside.style.setProperty("height", `${this.rows.length * ROW}px`);
    if (!this.rows.length && this.none) fill(this.inside, h("p", { class: "none", "aria-hidden": "true" }, this.none));
    else fill(this.inside, this.rows.slice(first, last).map((row, at) => this.drawnRow(row, first + at)));
    if (this.chosen >= first && this.chosen < last) this.element.setAttribute("aria-activedescendant", `row-${this.chosen}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  drawnRow(row, at) {
    const made = h("div", {
      class: "row", role: "option", id: `row-${at}`, "data-at": at, "aria-selected": at === this.chosen ? "true" : "false",
      "aria-setsize": this.rows.length, "aria-posinset": at + 1,
    }, this.row(row));
    made.style.setProperty("top", `${at * ROW}px`);
    return made;
  }

  click(event) {
    const row = event.target.closest(".row");
    if (!row) return;
    this.choose(Number(row.dataset.at));
    this.open(this.rows[this.chosen], false);
  }

  choose(at) {
    if (!this.rows.length) return;
    this.chosen = Math.max(0, Math.min(at, this.rows.length - 1));
    const top = this.chosen * ROW;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    const below = top + ROW - this.element.clientHeight;
    if (below > this.element.scrollTop) this.element.scrollTop = below;
    this.draw();
    this.told?.(this.rows[this.chosen]);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) this.choose(this.chosen + steps[event.key]);
    else if (event.key === "Home") this.choose(0);
    else if (event.key === "End") this.choose(this.rows.length - 1);
    else if ((event.key === "Enter" || event.key === " ") && this.chosen >= 0) this.open(this.rows[this.chosen], true);
    else return;
    event.preventDefault();
  }
}
