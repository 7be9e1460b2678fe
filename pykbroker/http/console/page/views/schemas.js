// Subjects of the schema registry.

import { look } from "../ask.js";
import { doing, fill, h, heading, link } from "../dom.js";
import { Paged } from "../table.js";

export async function show(root, params, life) {
  const search = h("input", { type: "search", placeholder: "Contains …", "aria-label": "Filter subjects" });
  let known = true;
  const table = new Paged({
    label: "Subjects",
    columns: [["Subject", (each) => link("subject", { name: each }, each)]],
    empty: () => (!known ? "No schema registry is known: start the broker with --schema-registry." : search.value ? "No subject matches." : "There are no subjects."),
    load: async (start, limit) => {
      const found = await look("/subjects", { start, limit, match: search.value }, life.signal);
      known = found.registry;
      return { total: found.total, rows: found.subjects };
    },
  });
  search.addEventListener("input", doing(() => table.show(0)));
  fill(root, heading("Schemas", search), table.element);
  await table.show(0);
  life.every(5000, () => table.show());
}
