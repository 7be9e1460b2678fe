// Access lists: who may do what, from where.

import { change, look } from "../ask.js";
import { confirm, form } from "../dialog.js";
import { badge, button, choice, doing, fill, h, heading, say } from "../dom.js";
import { Paged } from "../table.js";

const TYPES = ["TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"];
const OPERATIONS = ["ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
  "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT"];
const CLUSTER = "kafka-cluster";

export async function show(root, params, life) {
  const search = h("input", { type: "search", placeholder: "Contains …", "aria-label": "Filter access lists" });
  const hint = h("p", { class: "hint" });
  const table = new Paged({
    label: "Access lists",
    columns: [
      ["Principal", (each) => each.principal],
      ["May", (each) => badge(each.permission === "ALLOW" ? "allowed" : "denied", each.permission === "ALLOW" ? "good" : "bad")],
      ["Operation", (each) => words(each.operation)],
      ["Resource", (each) => [words(each.type), " ", h("code", {}, each.name), each.pattern === "PREFIXED" && [" ", badge("prefix")]]],
      ["From", (each) => (each.host === "*" ? "anywhere" : each.host)],
      ["", (each) => button("Remove", () => remove(each, table), { class: "quiet", "aria-label": `Remove ${title(each)}` })],
    ],
    empty: () => (search.value ? "No access list matches." : "There are no access lists."),
    load: async (start, limit) => {
      const found = await look("/acls", { start, limit, match: search.value }, life.signal);
      create.hidden = found.off;
      fill(hint, found.off
        ? "No authorizer is set (authorizer.class.name): everybody may do everything, and there are no access lists."
        : "A denial wins over a permission. What no access list allows, only super.users may do.");
      return { total: found.total, rows: found.acls };
    },
  });
  const create = button("New access list", () => add(table), { class: "primary", "data-new": true });
  search.addEventListener("input", doing(() => table.show(0)));
  fill(root, heading("Access lists", search, create), hint, table.element);
  await table.show(0);
  life.every(5000, () => table.show());
}

// As people read it: DESCRIBE_CONFIGS is "describe configs".
function words(name) {
  return name.toLowerCase().replaceAll("_", " ");
}

function title(each) {
  return `${each.permission} ${each.operation} of ${each.type} ${each.name} to ${each.principal}`;
}

function add(table) {
  const text = (props) => h("input", { required: true, autocomplete: "off", spellcheck: "false", ...props });
  const options = (names) => names.map((name) => [name, words(name)]);
  const inputs = {
    principal: text({ placeholder: "User:alice", pattern: ".+:.+" }),
    permission: choice([["ALLOW", "may"], ["DENY", "may not"]], "ALLOW"),
    operation: choice(options(OPERATIONS), "READ"),
    type: choice(options(TYPES), "TOPIC"),
    name: text({}),
    pattern: choice([["LITERAL", "this name; * for all"], ["PREFIXED", "names with this prefix"]], "LITERAL"),
    host: text({ value: "*" }),
  };
  inputs.type.addEventListener("change", () => {
    if (inputs.type.value === "CLUSTER") inputs.name.value = CLUSTER;
    else if (inputs.name.value === CLUSTER) inputs.name.value = "";
  });
  form("New access list", [
    ["principal", "Principal", inputs.principal, "Its type and name; User:* for everybody."],
    ["permission", "May", inputs.permission], ["operation", "Operation", inputs.operation], ["type", "Of", inputs.type],
    ["name", "Name", inputs.name], ["pattern", "The name is", inputs.pattern], ["host", "From the address", inputs.host, "* for any address."],
  ], "Add", async () => {
    await change("/acls/add", Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()])));
    say("The access list was created.");
    await table.show();
  });
}

function remove(each, table) {
  confirm("Remove an access list", `${title(each)}: it no longer applies.`, "Remove", async () => {
    await change("/acls/remove", each);
    say("The access list was removed.");
    await table.show();
  });
}
