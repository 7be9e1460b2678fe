// The settings of a broker, a topic or a group, with what each means; changed where they can be.

import { change, look } from "./ask.js";
import { form } from "./dialog.js";
import { badge, button, choice, fill, h, say } from "./dom.js";

const SOURCES = {
  TOPIC_CONFIG: "of the topic", GROUP_CONFIG: "of the group", DYNAMIC_BROKER_CONFIG: "of this broker, altered",
  DYNAMIC_DEFAULT_BROKER_CONFIG: "of all brokers, altered", STATIC_BROKER_CONFIG: "from the start", DEFAULT_CONFIG: "default",
};

export async function show(root, resource, life) {
  const search = h("input", { type: "search", placeholder: "Name or documentation contains …", "aria-label": "Filter settings by name or documentation" });
  const only = h("input", { type: "checkbox" });
  const list = h("div", { class: "setting-list", role: "list" });
  let found = [];
  const draw = () => {
    const words = search.value.toLowerCase();
    const fit = found.filter((each) => (!only.checked || each.source !== "DEFAULT_CONFIG")
      && `${each.name} ${each.documentation ?? ""}`.toLowerCase().includes(words));
    fill(list, fit.map((each) => setting(each, resource, load)), !fit.length && h("p", { class: "empty" }, "No setting matches."));
  };
  const load = async () => {
    found = (await look("/settings", resource, life.signal)).settings;
    draw();
  };
  search.addEventListener("input", draw);
  only.addEventListener("change", draw);
  fill(root, h("div", { class: "bar" }, search, h("label", { class: "check" }, only, " not the default")), list);
  await load();
}

function setting(each, resource, load) {
  const value = each.secret ? h("em", {}, "secret") : each.value === null ? h("em", {}, "not set") : each.value === "" ? h("em", {}, "empty") : h("code", {}, each.value);
  return h("div", { class: "setting", role: "listitem" },
    h("div", {}, h("strong", {}, each.name), each.source !== "DEFAULT_CONFIG" && badge(SOURCES[each.source] ?? each.source, "good"),
      each.read_only && badge("read only")),
    h("div", { class: "value" }, value, !each.read_only && button("Change", () => alter(each, resource, load), { class: "quiet", "aria-label": `Change ${each.name}` })),
    each.documentation && h("p", {}, each.documentation));
}

function alter(each, resource, load) {
  const input = each.type === "boolean"
    ? choice([["true", "true"], ["false", "false"]], each.value)
    : h("input", { value: each.secret ? "" : each.value ?? "", autocomplete: "off", spellcheck: "false" });
  const send = async (value) => {
    await change("/settings/alter", { ...resource, setting: each.name, value });
    say(`${each.name} is changed.`);
    await load();
  };
  const dialog = form(each.name, [["about", "", h("p", {}, each.documentation ?? "")], ["value", `Value (${each.type || "text"})`, input]],
    "Change", () => send(input.value));
  const back = button("Remove this value", () => send(null).then(() => dialog.close(), (error) => say(error.message, "bad")));
  if (each.source.startsWith("DYNAMIC") || each.source.startsWith("TOPIC") || each.source.startsWith("GROUP")) {
    dialog.querySelector(".actions.end").prepend(back);
  }
}
