// The metadata log: what was decided, the newest first.

import { look } from "../ask.js";
import { fill, h, heading } from "../dom.js";
import { number, time } from "../format.js";
import { Paged } from "../table.js";

export async function show(root, params, life) {
  const table = new Paged({
    label: "Metadata log",
    columns: [
      ["Offset", (each) => number(each.offset), "number"],
      ["Time", (each) => h("span", { class: "time" }, time(each.timestamp))],
      ["Record", (each) => each.type.replace(/Record$/, "")],
      ["Content", (each) => said(each.value)],
    ],
    empty: "There are no records.",
    load: async (start, limit) => {
      const found = await look("/metadata", { start, limit }, life.signal);
      return { total: found.total, rows: found.records };
    },
  });
  fill(root, heading("Metadata log"),
    h("p", { class: "hint" }, "The records of __cluster_metadata, newest first. Secrets are hidden; records that a snapshot has replaced are not shown."),
    table.element);
  await table.show(0);
  // Who has turned back or opened one reads, and what is added would move it away below the eyes.
  life.every(4000, () => (table.start || root.querySelector("details[open]") ? undefined : table.show()));
}

function said(value) {
  if (value === null || typeof value !== "object") return h("code", {}, JSON.stringify(value));
  const short = Object.entries(value).filter(([, each]) => each !== null && !(Array.isArray(each) && !each.length))
    .map(([name, each]) => `${name}=${typeof each === "object" ? JSON.stringify(each) : each}`).join(" ");
  return h("details", { class: "said" }, h("summary", {}, short.slice(0, 160)), h("pre", {}, JSON.stringify(value, null, 2)));
}
