// All topics, a page at a time.

import { change, look } from "../ask.js";
import { form } from "../dialog.js";
import { badge, button, doing, field, fill, h, heading, link, say, to } from "../dom.js";
import { number, size } from "../format.js";
import { Paged } from "../table.js";

const COLUMNS = [
  ["Topic", (each) => [link("topic", { name: each.name }, each.name), " ", each.internal && badge("internal"), state(each)]],
  ["Partitions", (each) => number(each.partitions), "number"],
  ["Replicas", (each) => number(each.replicas), "number"],
  ["Offsets", (each) => unless(each, number(each.records)), "number"],
  ["Size", (each) => unless(each, size(each.bytes)), "number"],
];

function state(each) {
  if (each.offline) return badge(`${number(each.offline)} without a leader`, "bad");
  return each.under_replicated ? badge("replicas missing", "warn") : null;
}

function unless(each, text) {
  return each.closed ? h("span", { title: "Logs that were not opened since the start are not counted." }, `${text} +`) : text;
}

export async function show(root, params, life) {
  const search = h("input", { type: "search", placeholder: "Name contains …", "aria-label": "Filter topics by name", value: params.match ?? "" });
  const table = new Paged({
    label: "Topics",
    columns: COLUMNS,
    empty: () => (search.value ? "No topic matches." : "There are no topics yet. Press n, or New topic, to create one."),
    load: async (start, limit) => {
      const found = await look("/topics", { start, limit, match: search.value }, life.signal);
      return { total: found.total, rows: found.topics, limits: found.limits };
    },
  });
  search.addEventListener("input", doing(() => table.show(0)));
  fill(root, heading("Topics", search, button("New topic", () => create(), { class: "primary", "data-new": true })), table.element);
  await table.show(0);
  life.every(5000, () => table.show());
}

function create() {
  const name = h("input", { required: true, maxlength: 249, autocomplete: "off", spellcheck: "false" });
  const count = h("input", { type: "number", min: 1, placeholder: "the broker's default" });
  const replicas = h("input", { type: "number", min: 1, placeholder: "the broker's default" });
  const configs = h("textarea", { rows: 3, placeholder: "cleanup.policy=compact", spellcheck: "false" });
  form("New topic", [
    ["name", "Name", name],
    ["count", "Partitions", count],
    ["replicas", "Replicas", replicas],
    ["configs", "Settings, one per line", configs],
  ], "Create", async () => {
    await change("/topics/create", {
      topic: name.value,
      partitions: Number(count.value || -1),
      replicas: Number(replicas.value || -1),
      configs: configs.value.split("\n").filter((line) => line.trim()).map((line) => {
        const [setting, ...value] = line.split("=");
        return { name: setting.trim(), value: value.join("=").trim() };
      }),
    });
    say(`Topic ${name.value} was created.`);
    location.hash = to("topic", { name: name.value });
  });
}
