// All groups, a page at a time.

import { look } from "../ask.js";
import { badge, doing, fill, h, heading, link } from "../dom.js";
import { Paged } from "../table.js";

const GOOD = new Set(["Stable"]);
const QUIET = new Set(["Empty", "Dead"]);

export function stateBadge(state) {
  return badge(state, GOOD.has(state) ? "good" : QUIET.has(state) ? "" : "warn");
}

export async function show(root, params, life) {
  const search = h("input", { type: "search", placeholder: "Name contains …", "aria-label": "Filter groups by name" });
  const table = new Paged({
    label: "Groups",
    columns: [
      ["Group", (each) => link("group", { name: each.group }, each.group || "(without a name)")],
      ["State", (each) => stateBadge(each.state)],
      ["Type", (each) => each.type],
      ["Protocol type", (each) => each.protocol],
    ],
    empty: () => (search.value ? "No group matches." : "There are no groups yet. A consumer with a group.id makes one."),
    load: async (start, limit) => {
      const found = await look("/groups", { start, limit, match: search.value }, life.signal);
      return { total: found.total, rows: found.groups, limits: found.limits };
    },
  });
  search.addEventListener("input", doing(() => table.show(0)));
  fill(root, heading("Groups", search), table.element);
  await table.show(0);
  life.every(4000, () => table.show());
}
