// Producing a record.

import { change } from "./ask.js";
import { form } from "./dialog.js";
import { choice, h, say } from "./dom.js";
import { number } from "./format.js";

const FORMS = [["text", "text"], ["hex", "hexadecimal digits"], ["null", "null"]];

export function produce(topic, done) {
  const key = h("input", { autocomplete: "off", spellcheck: "false" });
  const keyForm = choice(FORMS, "text", { "aria-label": "Key as" });
  const value = h("textarea", { rows: 8, spellcheck: "false" });
  const valueForm = choice(FORMS, "text", { "aria-label": "Value as" });
  const headers = h("textarea", { rows: 2, placeholder: "name=value", spellcheck: "false" });
  const partition = h("input", { type: "number", min: 0, max: topic.partitions - 1, placeholder: "by the key" });
  form(`A record for ${topic.name}`, [
    ["key", "Key", h("span", { class: "pair" }, key, keyForm), "Empty means null."],
    ["value", "Value", h("span", { class: "pair column" }, value, valueForm)],
    ["headers", "Headers, one per line", headers],
    ["partition", "Partition", partition],
  ], "Produce", async () => {
    const empty = key.value === "" && keyForm.value === "text";
    const sent = await change("/records/produce", {
      topic: topic.name,
      partition: partition.value === "" ? null : Number(partition.value),
      ...said("key", key.value, empty ? "null" : keyForm.value),
      ...said("value", value.value, valueForm.value),
      headers: headers.value.split("\n").filter((line) => line).map((line) => {
        const [name, ...rest] = line.split("=");
        return { name, value: rest.length ? rest.join("=") : null };
      }),
    });
    say(`Appended to ${topic.name}-${sent.partition} at offset ${number(sent.offset)}.`);
    await done();
  });
}

function said(name, text, kind) {
  if (kind === "null") return { [name]: null };
  if (kind === "text") return { [name]: text };
  const digits = text.replace(/\s+/g, "");
  if (!/^([0-9a-fA-F]{2})*$/.test(digits)) throw new Error(`The ${name} must be pairs of hexadecimal digits.`);
  const raw = (digits.match(/../g) ?? []).map((each) => String.fromCharCode(parseInt(each, 16))).join("");
  return { [`${name}_base64`]: btoa(raw) };
}
