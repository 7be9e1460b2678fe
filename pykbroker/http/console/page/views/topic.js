// One topic: its records, its partitions, its settings.

import { change, look } from "../ask.js";
import { confirm, form } from "../dialog.js";
import { badge, button, fill, h, heading, link, say, to } from "../dom.js";
import { counted, size } from "../format.js";
import * as partitions from "../partitions.js";
import * as records from "../records.js";
import * as settings from "../settings.js";

const TABS = [["records", "Records", records], ["partitions", "Partitions", partitions], ["settings", "Settings", settings]];

export async function show(root, params, life) {
  const topic = await look("/topic", { topic: params.name }, life.signal);
  const tab = TABS.find(([name]) => name === params.tab) ?? TABS[0];
  const inside = h("div", {});
  const facts = h("p", { class: "facts" });
  const count = (now) => fill(facts, [
    counted(now.partitions, "partition"), counted(now.replicas, "replica"), counted(now.records, "offset"), size(now.bytes),
  ].join(" · "));
  count(topic);
  life.every(5000, async () => count(await look("/topic", { topic: params.name }, life.signal)));
  fill(root,
    h("p", { class: "crumbs" }, link("topics", {}, "Topics")),
    heading(topic.name, topic.internal && badge("internal"),
      button("Add partitions", () => add(topic, life)), button("Delete topic", () => remove(topic), { class: "danger" })),
    facts,
    h("nav", { class: "tabs", "aria-label": "Parts of the topic" }, TABS.map(([name, title]) =>
      h("a", { href: to("topic", { name: topic.name, tab: name }), "aria-current": name === tab[0] ? "page" : null }, title))),
    inside);
  if (tab[0] === "settings") await settings.show(inside, { of: "topic", name: topic.name }, life);
  else await tab[2].show(inside, topic, life, params);
}

function add(topic, life) {
  const count = h("input", { type: "number", min: topic.partitions + 1, value: topic.partitions + 1, required: true });
  form(`Partitions of ${topic.name}`, [
    ["count", "Total partitions", count, "Keys are assigned to partitions anew, and partitions cannot be removed."],
  ], "Add", async () => {
    await change("/topics/partitions", { topic: topic.name, count: Number(count.value) });
    say("The partitions were added.");
    life.again();
  });
}

function remove(topic) {
  confirm("Delete a topic", `${topic.name} and all its records are deleted.`, "Delete", async () => {
    await change("/topics/delete", { topic: topic.name });
    say(`Topic ${topic.name} was deleted.`);
    location.hash = to("topics");
  }, { name: topic.name });
}

