// A table of which the broker hands out a page at a time, however long it is.

import { button, doing, fill, h } from "./dom.js";
import { number } from "./format.js";

// ``columns``: [title, cell of a row, "number" where it is one]. ``load(start, limit)`` gives { total, rows, limits }. ``empty`` is what
// is said where there are none, or says it; ``limits`` is what may not be shown, if anything.
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
    this.limits = h("p", { class: "limits" });
    this.element = h("div", {}, h("div", { class: "scroll" }, this.table), this.pager, this.limits);
  }

  // Without ``start`` anew what is there, or what the reader has turned to and is on its way.
  async show(start = this.wanted) {
    this.wanted = start;
    const asked = (this.asked = Symbol("asked"));
    const { total, rows, limits } = await this.load(start, this.limit);
    if (this.asked !== asked) return;
    if (start && !rows.length && total) return this.show(Math.floor((total - 1) / this.limit) * this.limit);
    this.start = start;
    if (rows.length) fill(this.body, rows.map((row) => this.row(row)));
    else fill(this.body, h("tr", {}, h("td", { class: "empty", colspan: this.columns.length }, this.none(limits))));
    fill(this.limits, limits ?? "");
    this.page(total);
  }

  // What cannot be known is not said: whether there are none, or none that may be shown.
  none(limits) {
    if (limits) return "There is nothing that may be shown.";
    return typeof this.empty === "function" ? this.empty() : this.empty;
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
