// Schemas that the reader gives, by topic and by what they are of. They stay in this tab.

import { avro } from "./avro.js";
import { form } from "./dialog.js";
import { choice, h } from "./dom.js";
import { messages, protobuf } from "./protobuf.js";

const KEY = "pykbroker-schemas";
const FRAMES = [["none", "nothing before it"], ["confluent", "five bytes of a schema registry before it"]];

function all() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

export function of(topic, which) {
  return all()[`${topic} ${which}`] ?? {};
}

export function keep(topic, which, change) {
  const known = all();
  known[`${topic} ${which}`] = { ...known[`${topic} ${which}`], ...change };
  sessionStorage.setItem(KEY, JSON.stringify(known));
}

// ``kind`` is avro or protobuf.
export function ask(topic, which, kind, done) {
  const known = of(topic, which)[kind] ?? {};
  const text = h("textarea", { rows: 14, spellcheck: "false", required: true, value: known.text ?? "" });
  const frame = choice(FRAMES, known.frame ?? "none");
  const message = h("input", { placeholder: "the first of them", autocomplete: "off", spellcheck: "false", value: known.message ?? "" });
  form(`${kind === "avro" ? "Avro" : "Protobuf"} schema of the ${which} of ${topic}`, [
    ["text", kind === "avro" ? "Schema, as JSON" : "Definitions, as in a .proto file", text],
    ...(kind === "protobuf" ? [["message", "Message", message]] : []),
    ["frame", "The bytes have", frame],
  ], "Decode with it", () => {
    if (kind === "avro") avro(text.value);
    else messages(text.value, message.value);
    keep(topic, which, { [kind]: { text: text.value, message: message.value, frame: frame.value } });
    done();
  });
}

export function decode(kind, known, data) {
  const schema = known[kind];
  if (!schema) throw new Error("there is no schema yet.");
  let bytes = data;
  if (schema.frame === "confluent") {
    if (data[0] !== 0 || data.length < 5) throw new Error("it does not begin as a schema registry's clients write it.");
    bytes = data.subarray(5);
  }
  if (kind === "avro") return avro(schema.text)(bytes);
  return protobuf(schema.text, schema.message, schema.frame === "confluent" ? indexed(bytes).rest : bytes);
}

// Behind the id, Protobuf has a list of numbers that say which message it is; one byte of 0 stands for the first.
export function indexed(data) {
  let at = 0;
  const next = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = data[at];
      at += 1;
      if (byte === undefined || shift > 28) throw new Error("its message indexes end too early.");
      value |= (byte & 127) << shift;
      if (byte < 128) return (value >>> 1) ^ -(value & 1);
    }
  };
  const count = next();
  if (count < 0 || count > 100) throw new Error("its message indexes make no sense.");
  const indexes = [];
  for (let each = 0; each < count; each += 1) indexes.push(next());
  return { indexes: count ? indexes : [0], rest: data.subarray(at) };
}
