// Quotas: how much users, clients and addresses may use.

import { change, look } from "../ask.js";
import { form } from "../dialog.js";
import { button, choice, doing, fill, h, heading, say } from "../dom.js";
import { Paged } from "../table.js";

const KINDS = [["user", "User"], ["client-id", "Client id"], ["ip", "Address"]];
const QUOTAS = [
  ["producer_byte_rate", "bytes produced per second"], ["consumer_byte_rate", "bytes fetched per second"],
  ["request_percentage", "percent of a processor's time"], ["controller_mutation_rate", "changes of partitions per second"],
  ["connection_creation_rate", "connections per second, of an address"],
];
const UNITS = {
  producer_byte_rate: "bytes/s", consumer_byte_rate: "bytes/s", request_percentage: "%", controller_mutation_rate: "changes/s", connection_creation_rate: "connections/s",
};
const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });

export async function show(root, params, life) {
  const search = h("input", { type: "search", placeholder: "Contains …", "aria-label": "Filter quotas" });
  const table = new Paged({
    label: "Quotas",
    columns: [
      ["Of", (each) => each.entity.map((part) => h("div", {}, `${named(part.type)} `, part.name === null ? h("em", {}, "all others") : h("code", {}, part.name)))],
      ["Quota", (each) => h("span", { title: QUOTAS.find(([name]) => name === each.quota)?.[1] ?? "" }, each.quota)],
      ["At most", (each) => `${exact.format(each.value)} ${UNITS[each.quota] ?? ""}`, "number"],
      ["", (each) => [
        button("Change", () => set(each, table), { class: "quiet", "aria-label": `Change ${title(each)}` }),
        button("Remove", doing(() => alter(each.entity, each.quota, null, table)), { class: "quiet", "aria-label": `Remove ${title(each)}` })]],
    ],
    empty: () => (search.value ? "No quota matches." : "There are no quotas."),
    load: async (start, limit) => {
      const found = await look("/quotas", { start, limit, match: search.value }, life.signal);
      return { total: found.total, rows: found.quotas };
    },
  });
  search.addEventListener("input", doing(() => table.show(0)));
  fill(root, heading("Quotas", search, button("New quota", () => create(table), { class: "primary", "data-new": true })),
    h("p", { class: "hint" }, "If several match a client, the most specific one applies."), table.element);
  await table.show(0);
  life.every(5000, () => table.show());
}

function named(kind) {
  return KINDS.find(([each]) => each === kind)?.[1] ?? kind;
}

function title(each) {
  return `${each.quota} of ${each.entity.map((part) => `${part.type} ${part.name ?? "(all others)"}`).join(", ")}`;
}

async function alter(entity, quota, value, table) {
  await change("/quotas/alter", { entity, quota, value });
  say(value === null ? "The quota was removed." : "The quota applies from now on.");
  await table.show();
}

function amount(value) {
  return h("input", { type: "number", min: 0, step: "any", required: true, value });
}

function set(each, table) {
  const most = amount(each.value);
  form(title(each), [["most", "At most", most]], "Change", () => alter(each.entity, each.quota, most.value, table));
}

function create(table) {
  const names = KINDS.map(([kind, text]) => [kind, text, h("input", { autocomplete: "off", spellcheck: "false" }), h("input", { type: "checkbox" })]);
  const quota = choice(QUOTAS.map(([name, text]) => [name, `${name}: ${text}`]), QUOTAS[0][0]);
  const most = amount("");
  form("New quota", [
    ...names.map(([kind, text, input, others]) => [kind, text,
      h("span", { class: "pair" }, input, h("label", { class: "check" }, others, " all others")), kind === "ip" ? "An address cannot be combined with a user or a client id." : ""]),
    ["quota", "Quota", quota], ["most", "At most", most],
  ], "Set", () => {
    const entity = names.filter(([, , input, others]) => input.value || others.checked)
      .map(([kind, , input, others]) => ({ type: kind, name: others.checked ? null : input.value }));
    if (!entity.length) throw new Error("Name a user, a client id or an address.");
    return alter(entity, quota.value, most.value, table);
  });
}
