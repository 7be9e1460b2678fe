// A table of which the broker hands out a page at a time, however long it is.

import { button, doing, fill, h } from "./dom.js";
import { number } from "./format.js";

// ``columns``: [title, cell of a row, "number" where it is one]. ``load(start, limit)`` gives { total, rows }. ``empty`` is what
// is said where there are none, or says it.
export class Paged {
  constructor({ columns, load, empty, limit = 50, label }) {
    this.columns = columns;
    this.load = load;
    this.empty = empty;
    this.limit = limit;
    this.start = 0;
    this.wanted = 0;
    this.body = h("tbody");
    this.pager = h("div", { class: "pager" });
    this.table = h("table", { "aria-label": label },
      h("thead", {}, h("tr", {}, columns.map(([title, , kind]) => h("th", { class: kind, scope: "col" }, title)))), this.body);
    this.element = h("div", {}, h("div", { class: "scroll" }, this.table), this.pager);
  }

  // Without ``start`` anew what is there, or what the reader has turned to and is on its way.
  async show(start = this.wanted) {
    this.wanted = start;
    const asked = (this.asked = Symbol("asked"));
    let { total, rows } = await this.load(start, this.limit);
    if (this.asked !== asked) return;
    if (start && !rows.length && total) return this.show(Math.floor((total - 1) / this.limit) * this.limit);
    this.start = start;
    if (rows.length) fill(this.body, rows.map((row) => this.row(row)));
    else fill(this.body, h("tr", {}, h("td", { class: "empty", colspan: this.columns.length }, typeof this.empty === "function" ? this.empty() : this.empty)));
    this.page(total);
  }

  row(row) {
    return h("tr", {}, this.columns.map(([title, cell, kind]) => h("td", { class: kind, "data-title": title }, cell(row))));
  }

  page(total) {
    const last = Math.min(this.start + this.limit, total);
    const turn = (to) => doing(() => this.show(to));
    fill(this.pager, total > this.limit && [
      button("‹ Back", turn(Math.max(0, this.start - this.limit)), { disabled: this.start === 0 }),
      h("span", {}, `${number(this.start + 1)}–${number(last)} of ${number(total)}`),
      button("Next ›", turn(this.start + this.limit), { disabled: last >= total }),
    ]);
  }
}

// A table that is there in whole.
export function small(columns, rows, empty, label) {
  return h("div", { class: "scroll" }, h("table", { "aria-label": label },
    h("thead", {}, h("tr", {}, columns.map(([title, , kind]) => h("th", { class: kind, scope: "col" }, title)))),
    h("tbody", {}, rows.length
      ? rows.map((row) => h("tr", {}, columns.map(([title, cell, kind]) => h("td", { class: kind, "data-title": title }, cell(row)))))
      : h("tr", {}, h("td", { class: "empty", colspan: columns.length }, empty)))));
}
