// One record in whole: where it lies, its key, its value, its headers, each in the form that the reader likes.

import { look } from "./ask.js";
import { asHex, asJson, asText, bytesOf, line, plain } from "./bytes.js";
import { badge, button, choice, doing, fill, h } from "./dom.js";
import { number, size, time } from "./format.js";
import * as registry from "./registry.js";
import * as schema from "./schema.js";

const FORMS = [["auto", "as it looks"], ["text", "text"], ["json", "JSON"], ["hex", "hex"], ["avro", "Avro"], ["protobuf", "Protobuf"]];

export function detail(topic, record, close) {
  const inside = h("div", { class: "column" });
  const cut = [record.key, record.value, ...record.headers.map(([, value]) => value)].some((each) => each?.cut)
    || record.headers_left_out > 0;
  const draw = (each) => fill(inside, each.unread ? part("Not shown", h("p", {}, each.unread)) : [
    each.meaning && part("What it means", h("pre", {}, JSON.stringify(each.meaning, null, 2))),
    datum("Key", "key", topic, each.key), datum("Value", "value", topic, each.value), headers(each)]);
  draw(record);
  const whole = button("Show in whole", doing(async () => {
    draw(await look("/record", { topic: topic.name, partition: record.partition, offset: record.offset }));
    whole.hidden = true;
  }), { hidden: !cut });
  return [
    h("div", { class: "heading" }, h("h2", {}, `${topic.name}-${record.partition} at ${number(record.offset)}`),
      h("div", { class: "actions" }, whole, button("×", close, { class: "quiet", "aria-label": "Close the record" }))),
    h("p", { class: "facts" }, time(record.timestamp), record.control && [" ", badge("marker")]),
    inside,
  ];
}

function part(title, ...content) {
  return h("section", {}, h("h3", {}, title), content);
}

function datum(title, which, topic, data) {
  if (data === null) return part(title, h("p", { class: "null" }, "null"));
  const shown = h("pre", { tabindex: 0, "aria-label": title });
  const chosen = schema.of(topic.name, which);
  const form = choice(FORMS, chosen.form ?? "auto", { "aria-label": `${title} as` });
  const edit = button("Schema", () => schema.ask(topic.name, which, form.value, draw), { class: "quiet" });
  function draw() {
    edit.hidden = !["avro", "protobuf"].includes(form.value);
    if (form.value === "auto" && registry.fits(topic, data)) byRegistry();
    else fill(shown, written(data, form.value, schema.of(topic.name, which)));
  }
  async function byRegistry() {
    fill(shown, "Asking the schema registry …");
    const text = await registry.decoded(data).catch((error) => registry.undecoded(error, data));
    if (form.value === "auto") fill(shown, text);
  }
  form.addEventListener("change", () => {
    schema.keep(topic.name, which, { form: form.value });
    if (!edit.hidden || ["avro", "protobuf"].includes(form.value)) {
      if (!schema.of(topic.name, which)[form.value]) schema.ask(topic.name, which, form.value, draw);
    }
    draw();
  });
  draw();
  return h("section", {}, h("div", { class: "heading" }, h("h3", {}, title, " ", h("small", {}, size(data.size), data.cut && ", cut")),
    h("div", { class: "actions" }, form, edit)), shown);
}

function written(data, form, known) {
  if (data.size === 0) return "";
  if (form === "hex") return asHex(data);
  if (form === "text") return asText(data);
  if (form === "json") return asJson(data) ?? "This is not JSON.";
  if (form === "avro" || form === "protobuf") {
    try {
      if (data.cut) return "Too long to be decoded in part: show it in whole.";
      return JSON.stringify(schema.decode(form, known, bytesOf(data)), digits, 2);
    } catch (error) {
      return `It cannot be decoded: ${error.message}\n\n${asHex(data)}`;
    }
  }
  return asJson(data) ?? (data.text === undefined ? asHex(data) : data.text);
}

function digits(name, value) {
  return typeof value === "bigint" ? String(value) : value;
}

function headers(record) {
  if (!record.headers.length) return null;
  return part("Headers", h("table", { class: "keys", "aria-label": "Headers" }, h("tbody", {}, record.headers.map(([name, value]) =>
    h("tr", {}, h("th", { scope: "row" }, plain(name)), h("td", {}, line(value, 2000)))))),
  record.headers_left_out && h("p", { class: "hint" }, `and ${number(record.headers_left_out)} more`));
}
