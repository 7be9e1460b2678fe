// The partitions of a topic: who leads and holds them, where they begin and end.

import { change, look } from "./ask.js";
import { form } from "./dialog.js";
import { badge, button, fill, h, link, say } from "./dom.js";
import { number, size } from "./format.js";
import { Paged } from "./table.js";

export async function show(root, topic, life) {
  const table = new Paged({
    label: "Partitions",
    columns: [
      ["Partition", (each) => link("topic", { name: topic.name, partitions: each.index }, each.index), "number"],
      ["Leader", (each) => (each.leader < 0 ? badge("none", "bad") : `${each.leader}`), "number"],
      ["Replicas", (each) => each.replicas.map((id) => badge(id, each.isr.includes(id) ? "good" : "warn"))],
      ["Start offset", (each) => each.error ?? number(each.begin), "number"],
      ["End offset", (each) => number(each.end), "number"],
      ["Open transactions", (each) => (each.end === each.stable ? "" : `from ${number(each.stable)}`), "number"],
      ["Size", (each) => size(each.bytes), "number"],
      ["Segments", (each) => number(each.segments), "number"],
      ["", (each) => button("Delete records", () => empty(topic, each, table), { class: "quiet", "aria-label": `Delete records of partition ${each.index}` })],
    ],
    empty: "There are no partitions.",
    load: async (start, limit) => {
      const found = await look("/partitions", { topic: topic.name, start, limit }, life.signal);
      return { total: found.total, rows: found.partitions };
    },
  });
  fill(root, h("p", { class: "hint" }, "Replicas in sync are green."), table.element);
  await table.show(0);
  life.every(5000, () => table.show());
}

function empty(topic, each, table) {
  const before = h("input", { type: "number", min: each.begin, max: each.end, value: each.end, required: true });
  form(`Delete records of ${topic.name}-${each.index}`, [
    ["before", "Records before offset", before, `It begins at ${number(each.begin)} and ends at ${number(each.end)}.`],
  ], "Delete", async () => {
    await change("/topics/empty", { topic: topic.name, partition: each.index, offset: Number(before.value) });
    say("The records were deleted.");
    await table.show();
  }, { danger: true });
}
