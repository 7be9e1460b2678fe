// What clients of a schema registry write: a byte of 0, four bytes of an id, and the value by the schema of that id.

import { look } from "./ask.js";
import { avro } from "./avro.js";
import { asHex, asJson, bytesOf } from "./bytes.js";
import { messages, protobuf } from "./protobuf.js";
import { indexed } from "./schema.js";

const HEAD = 5;
const known = new Map();

export function fits(topic, data) {
  if (!topic.registry || data.size < HEAD) return false;
  const bytes = bytesOf(data);
  return bytes.length >= HEAD && bytes[0] === 0;
}

// The value as text of JSON. Throws an Error that says why it is none.
export async function decoded(data) {
  if (data.cut) throw new Error("it is too long to be decoded in part: show it in whole.");
  const bytes = bytesOf(data);
  const id = new DataView(bytes.buffer, bytes.byteOffset).getInt32(1);
  if (id < 0) throw new Error(`${id} is no id of a schema.`);
  const { kind, text } = await schema(id);
  const value = bytes.subarray(HEAD);
  if (kind === "json") return asJson({ text: new TextDecoder("utf-8", { fatal: true }).decode(value) }) ?? new TextDecoder().decode(value);
  const found = kind === "avro" ? avro(text)(value) : ofProtobuf(text, value);
  return JSON.stringify(found, (_, each) => (typeof each === "bigint" ? String(each) : each), 2);
}

export function undecoded(error, data) {
  return `By its schema it cannot be decoded: ${error.message}\n\n${asHex(data)}`;
}

function schema(id) {
  if (!known.has(id)) {
    const asked = look("/schema", { id });
    known.set(id, asked);
    asked.catch(() => known.delete(id)); // the registry may be there later
  }
  return known.get(id);
}

function ofProtobuf(text, data) {
  const { indexes, rest } = indexed(data);
  const all = [...messages(text, "").found.values()].filter((each) => each.fields);
  let space = "";
  for (const index of indexes) {
    const inside = all.filter((each) => each.name.startsWith(space) && !each.name.slice(space.length).includes("."));
    if (!inside[index]) throw new Error("its message indexes lead to no message.");
    space = `${inside[index].name}.`;
  }
  return protobuf(text, space.slice(0, -1), rest);
}
