// Protobuf's binary encoding, by definitions as they stand in a .proto file: messages, enums, maps, oneofs and repeated
// fields of proto2 and proto3. Imports, groups, extensions and Any are left out; a field that no definition knows is shown
// by its number.

import { checkDepth, checkName, checkSchema, Output } from "./bounds.js";

const PLAIN = new Set(["string", "bytes", "unknown"]);
const VARINTS = new Set(["int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool"]);
const FIXED = { fixed32: 5, sfixed32: 5, float: 5, fixed64: 1, sfixed64: 1, double: 1 };

// ---- definitions ------------------------------------------------------------------------------------------------------

// What does not end takes all that is left, so that a text of nothing but beginnings is not looked through for each of them.
function words(text) {
  const plain = text.replace(/"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|\/\/[^\n]*|\/\*(?:[\s\S]*?\*\/|[\s\S]*)/g, (each) => (each[0] === "/" ? " " : each));
  return plain.match(/"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|[A-Za-z_.][\w.]*|-?\d[\w.]*|[^\s\w]/g) ?? [];
}

// What ``message`` names, or else the first: { fields: number -> field, ... }. Throws an Error for what is no definition.
export function messages(text, message) {
  checkSchema(text);
  const found = new Map();
  const all = words(text);
  let at = 0;
  let first = null;
  const take = (wanted) => {
    const word = all[at];
    at += 1;
    if (word === undefined) throw new Error("the definitions end too early.");
    if (wanted !== undefined && word !== wanted) throw new Error(`there is ${word} where ${wanted} should be.`);
    return word;
  };
  const skip = () => {
    for (let depth = 0; ;) {
      const word = take();
      if (word === "{") depth += 1;
      else if (word === "}" && (depth -= 1) === 0) return;
      else if (word === ";" && depth === 0) return;
    }
  };
  const options = () => {
    if (all[at] === "[") while (take() !== "]");
  };

  function enumeration(space) {
    const made = { name: checkName(space + take()), symbols: new Map() };
    found.set(made.name, made);
    take("{");
    while (all[at] !== "}") {
      if (all[at] === "option" || all[at] === "reserved") {
        skip();
        continue;
      }
      const symbol = take();
      take("=");
      made.symbols.set(Number(take()), checkName(symbol));
      options();
      take(";");
    }
    take("}");
  }

  function field(into, label) {
    const type = checkName(take());
    if (type === "map") {
      take("<");
      const key = take();
      take(",");
      const value = checkName(take());
      take(">");
      const entry = { fields: new Map([[1, { name: "key", type: key }], [2, { name: "value", type: value, space: into.name }]]) };
      add(into, { entry, repeated: true });
      return;
    }
    add(into, { type, space: into.name, repeated: label === "repeated" });
  }

  function add(into, made) {
    made.name = checkName(take());
    take("=");
    into.fields.set(Number(take()), made);
    options();
    take(";");
  }

  function message_(space) {
    const made = { name: checkName(space + take()), fields: new Map() };
    first ??= made;
    found.set(made.name, made);
    take("{");
    body(made);
  }

  function body(made, depth = 0) {
    checkDepth(depth);
    for (;;) {
      const word = take();
      if (word === "}") return;
      if (word === "message") message_(`${made.name}.`);
      else if (word === "enum") enumeration(`${made.name}.`);
      else if (word === "oneof") {
        take();
        take("{");
        body(made, depth + 1);
      } else if (["option", "reserved", "extensions", "extend"].includes(word)) skip();
      else if (["repeated", "optional", "required"].includes(word)) field(made, word);
      else if (word !== ";") {
        at -= 1;
        field(made, "");
      }
    }
  }

  while (at < all.length) {
    const word = take();
    if (word === "message") message_("");
    else if (word === "enum") enumeration("");
    else if (word !== ";") skip();
  }
  const wanted = message ? [...found.values()].find((each) => each.fields && (each.name === message || message.endsWith(`.${each.name}`))) : first;
  if (!wanted) throw new Error(message ? `there is no message ${message}.` : "there is no message.");
  return { wanted, found };
}

// What is known of a field's type: an entry of a map, a message or an enum; null for a scalar. It is looked for once.
function typeOf(field, found) {
  if (field.known === undefined) {
    const { type } = field;
    const isScalar = VARINTS.has(type) || Object.hasOwn(FIXED, type) || PLAIN.has(type);
    field.known = field.entry ?? (isScalar ? null : resolve(found, type, field.space));
    if (field.known === null && !isScalar) throw new Error(`no definition says what ${type} is.`);
  }
  return field.known;
}

// ``of`` as it is meant inside of ``space``: the nearest of that name.
function resolve(found, of, space) {
  const bare = of.replace(/^\./, "");
  for (let at = space; at; at = at.includes(".") ? at.slice(0, at.lastIndexOf(".")) : "") {
    const known = found.get(`${at}.${bare}`);
    if (known) return known;
  }
  const parts = bare.split(".");
  for (let from = 0; from < parts.length; from += 1) {
    const known = found.get(parts.slice(from).join("."));
    if (known) return known;
  }
  return null;
}

// ---- bytes ------------------------------------------------------------------------------------------------------------

class Reader {
  constructor(data) {
    this.data = data;
    this.at = 0;
  }

  varint() {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.data[this.at];
      if (byte === undefined) break;
      this.at += 1;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new Error(`a number does not end at ${this.at}.`);
  }

  bytes(count) {
    if (count > this.data.length - this.at) throw new Error(`it ends too early at ${this.at}.`);
    this.at += count;
    return this.data.subarray(this.at - count, this.at);
  }
}

function number(big) {
  return Number.isSafeInteger(Number(big)) ? Number(big) : big;
}

function hex(bytes) {
  return [...bytes].map((each) => each.toString(16).padStart(2, "0")).join("");
}

function scalar(type, raw) {
  switch (type) {
    case "bool": return raw !== 0n;
    case "int32": case "int64": return number(BigInt.asIntN(type === "int32" ? 32 : 64, raw));
    case "sint32": case "sint64": return number((raw >> 1n) ^ -(raw & 1n));
    default: return number(raw);
  }
}

function fixed(type, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (type) {
    case "fixed32": return view.getUint32(0, true);
    case "sfixed32": return view.getInt32(0, true);
    case "float": return view.getFloat32(0, true);
    case "fixed64": return number(view.getBigUint64(0, true));
    case "sfixed64": return number(view.getBigInt64(0, true));
    case "double": return view.getFloat64(0, true);
    default: return hex(bytes);
  }
}

export function protobuf(text, message, data) {
  const { wanted, found } = messages(text, message);
  return read(data, wanted, { found, output: new Output() }, 0);
}

// ``by`` has the definitions, and the output that is left.
function read(data, of, by, depth) {
  checkDepth(depth);
  const out = new Map();
  const reader = new Reader(data);
  while (reader.at < data.length) {
    const tag = Number(reader.varint());
    const field = of.fields.get(tag >>> 3) ?? { name: String(tag >>> 3), type: "unknown" };
    for (const value of values(reader, tag & 7, field, by, depth)) {
      by.output.spend(depth, field.name);
      put(out, field, value);
    }
  }
  return Object.fromEntries([...out].map(([name, value]) => [name, value instanceof Map ? Object.fromEntries(value) : value]));
}

function put(out, field, value) {
  const before = out.get(field.name);
  if (field.entry) out.set(field.name, (before ?? new Map()).set(String(value.key ?? ""), value.value ?? null));
  else if (Array.isArray(before)) before.push(value);
  else if (field.repeated) out.set(field.name, [value]);
  else out.set(field.name, field.type === "unknown" && before !== undefined ? [before, value] : value);
}

function values(reader, wire, field, by, depth) {
  const { type } = field;
  const known = typeOf(field, by.found);
  if (wire === 0) {
    const raw = reader.varint();
    return [known?.symbols ? symbol(known, raw, by) : scalar(type, raw)];
  }
  if (wire === 1 || wire === 5) return [fixed(type, reader.bytes(wire === 1 ? 8 : 4))];
  if (wire !== 2) throw new Error(`there is nothing of the kind ${wire} at ${reader.at}.`);
  const bytes = reader.bytes(Number(reader.varint()));
  if (known?.fields) return [read(bytes, known, by, depth + 1)];
  if (type === "string") return [new TextDecoder("utf-8", { fatal: true }).decode(bytes)];
  if (VARINTS.has(type) || known?.symbols) return packed(bytes, by, depth, (inner) => (known ? symbol(known, inner.varint(), by) : scalar(type, inner.varint())));
  if (Object.hasOwn(FIXED, type)) return packed(bytes, by, depth, (inner) => fixed(type, inner.bytes(FIXED[type] === 1 ? 8 : 4)));
  return [hex(bytes)];
}

function packed(bytes, by, depth, one) {
  const inner = new Reader(bytes);
  const out = [];
  while (inner.at < bytes.length) {
    by.output.spend(depth);
    out.push(one(inner));
  }
  return out;
}

function symbol(known, raw, by) {
  const value = Number(BigInt.asIntN(32, raw));
  const found = known.symbols.get(value) ?? value;
  by.output.spend(0, String(found));
  return found;
}
