// One group: its members, what it has committed, how far it is behind, and how that went while somebody looked.

import { change, look } from "../ask.js";
import { chart } from "../chart.js";
import { confirm, form } from "../dialog.js";
import { button, choice, fill, h, heading, link, say, to } from "../dom.js";
import { compact, counted, milliseconds, number } from "../format.js";
import { Paged, small } from "../table.js";
import { stateBadge } from "./groups.js";

// The lag of groups since they were looked at first; the newest points of each.
const history = new Map();
const MOST = 300;

const MEMBERS = [
  ["Client", (each) => each.client],
  ["Member", (each) => h("small", {}, each.instance ?? each.member)],
  ["Host", (each) => each.host],
  ["Partitions", (each) => h("span", { title: each.partitions.join(", ") }, number(each.assigned)), "number"],
];

export async function show(root, params, life) {
  const name = params.name ?? "";
  let found = await look("/group", { group: name }, life.signal);
  const facts = h("p", { class: "facts" });
  const members = h("div", {});
  const lag = chart("Lag", [["records behind", "one", (each) => each.lag]], compact, { least: 10 });
  const table = new Paged({
    label: "Offsets",
    limit: 100,
    columns: [
      ["Topic", (each) => link("topic", { name: each.topic, partitions: each.partition }, each.topic)],
      ["Partition", (each) => each.partition, "number"],
      [found.type === "share" ? "Start offset" : "Committed offset", (each) => number(each.committed), "number"],
      ["End offset", (each) => number(each.end), "number"],
      ["Lag", (each) => number(each.lag), "number"],
      ["Client", (each) => each.member ?? ""],
    ],
    empty: "No offsets are committed, and no partitions are assigned.",
    load: async (start, limit) => {
      found = await look("/group", { group: name, start, limit }, life.signal);
      draw();
      return { total: found.total, rows: found.offsets };
    },
  });
  function draw() {
    const points = history.get(name) ?? [];
    points.push({ at: Date.now(), lag: found.lag });
    history.set(name, points.slice(-MOST));
    lag.draw(history.get(name));
    fill(facts, stateBadge(found.state), " ", [
      `${found.type} protocol`, found.assignor, counted(found.members_in_all, "member"), `lag ${number(found.lag)}`, `coordinator ${found.coordinator}`,
    ].filter((each) => each).join(" · "));
    fill(members, small(MEMBERS, found.members, "The group has no members.", "Members"));
  }
  fill(root,
    h("p", { class: "crumbs" }, link("groups", {}, "Groups")),
    heading(name || "(without a name)", button("Reset offsets", () => reset(name, found, table)),
      button("Delete group", () => remove(name), { class: "danger" })),
    facts, lag.element, h("h2", {}, "Members"), members, h("h2", {}, "Offsets"), table.element);
  await table.show(0);
  // A group of very many partitions is asked for less often: the broker looks at all of them.
  life.every(() => (found.total > 1000 ? 20000 : 3000), () => table.show());
}

function reset(name, found, table) {
  const topics = [...new Set(found.offsets.map((each) => each.topic))];
  const topic = h("input", { value: topics[0] ?? "", required: true, autocomplete: "off", spellcheck: "false" });
  const partitions = h("input", { placeholder: "all", autocomplete: "off" });
  const where = choice([["earliest", "the beginning"], ["latest", "the end"], ["time", "a time"], ["offset", "an offset"]], "earliest");
  const at = h("input", { type: "datetime-local", step: 1 });
  const offset = h("input", { type: "number", min: 0 });
  form(`Offsets of ${name}`, [
    ["topic", "Topic", topic], ["partitions", "Partitions", partitions, "As 0,3,8-12."],
    ["to", "To", where, "Consumers must be stopped: of a group with members only they commit."],
    ["at", "The time", at], ["offset", "The offset", offset],
  ], "Reset", async () => {
    await change("/groups/reset", {
      group: name, topic: topic.value, partitions: partitions.value, to: where.value,
      time: at.disabled ? undefined : milliseconds(at.value), offset: offset.disabled ? undefined : Number(offset.value),
    });
    say("The offsets were committed.");
    await table.show();
  });
  const asked = () => {
    for (const [input, of] of [[at, "time"], [offset, "offset"]]) only(input, where.value === of);
  };
  where.addEventListener("change", asked);
  asked();
}

// A field that the choice does not use is neither shown nor asked for.
function only(input, used) {
  input.disabled = !used;
  input.required = used;
  input.closest(".field").hidden = !used;
}

function remove(name) {
  confirm("Delete a group", "Its committed offsets are deleted, too: consumers of this group start without any.", "Delete", async () => {
    await change("/groups/delete", { group: name });
    say(`Group ${name} was deleted.`);
    location.hash = to("groups");
  }, { name });
}
