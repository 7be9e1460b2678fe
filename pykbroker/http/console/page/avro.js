// Avro's binary encoding (specification 1.12): a schema becomes a function from bytes to values. Bytes of strangers may say
// what they like: every length is held against what is there.

import { checkDepth, checkName, checkSchema, Output } from "./bounds.js";

// A decimal has at most so many bytes, and a scale of no more than its digits; others stay bytes, as Avro wants of what is invalid.
const MOST_OF_A_DECIMAL = 1024;

class Reader {
  constructor(data) {
    this.data = data;
    this.at = 0;
    this.output = new Output();
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  take(count) {
    if (!(count >= 0 && count <= this.data.length - this.at)) throw new Error(`it ends ${count} bytes too early at ${this.at}.`);
    this.at += count;
    return this.at - count;
  }

  long() {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.data[this.take(1)];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return (value >> 1n) ^ -(value & 1n);
    }
    throw new Error(`a number is too long at ${this.at}.`);
  }

  count() {
    return Number(this.long());
  }

  bytes(count = this.count()) {
    const at = this.take(count);
    return this.data.subarray(at, at + count);
  }
}

function number(big) {
  return Number.isSafeInteger(Number(big)) ? Number(big) : big;
}

function hex(bytes) {
  return [...bytes].map((each) => each.toString(16).padStart(2, "0")).join("");
}

const PLAIN = {
  null: () => null,
  boolean: (reader) => reader.data[reader.take(1)] === 1,
  int: (reader) => number(reader.long()),
  long: (reader) => number(reader.long()),
  float: (reader) => reader.view.getFloat32(reader.take(4), true),
  double: (reader) => reader.view.getFloat64(reader.take(8), true),
  bytes: (reader) => hex(reader.bytes()),
  string: (reader) => new TextDecoder("utf-8", { fatal: true }).decode(reader.bytes()),
};

const LOGICAL = {
  date: (days) => new Date(days * 86400000).toISOString().slice(0, 10),
  "timestamp-millis": (ms) => new Date(Number(ms)).toISOString(),
  "timestamp-micros": (us) => new Date(Math.floor(Number(us) / 1000)).toISOString(),
};

// ``text`` is the schema as JSON.
export function avro(text) {
  checkSchema(text);
  const read = made(JSON.parse(text), new Map(), "", 0);
  return (data) => {
    const reader = new Reader(data);
    const value = read(reader, 0);
    if (reader.at !== data.length) throw new Error(`${data.length - reader.at} bytes are left after the value.`);
    return value;
  };
}

// One value more, a level deeper. A schema of forty records can ask for more values than any machine counts, of no bytes at all.
function deeper(reader, depth, name) {
  reader.output.spend(depth, name);
  return checkDepth(depth);
}

function made(schema, named, space, depth) {
  checkDepth(depth);
  if (typeof schema === "string") return PLAIN[schema] && Object.hasOwn(PLAIN, schema) ? PLAIN[schema] : reference(schema, named, space);
  if (Array.isArray(schema)) return union(schema.map((each) => made(each, named, space, depth + 1)));
  if (schema === null || typeof schema !== "object") throw new Error("this is no schema of Avro.");
  const base = complex(schema, named, space, depth + 1);
  const logical = Object.hasOwn(LOGICAL, schema.logicalType ?? "") ? LOGICAL[schema.logicalType] : schema.logicalType === "decimal" ? decimal(schema.scale ?? 0) : null;
  if (logical === null) return base;
  return (reader, depth) => {
    const value = base(reader, depth);
    try {
      return logical(value);
    } catch {
      return value;
    }
  };
}

function decimal(scale) {
  if (!Number.isInteger(scale) || scale < 0 || scale > 2 * MOST_OF_A_DECIMAL) return null;
  return (digits) => {
    if (digits.length > 2 * MOST_OF_A_DECIMAL) return digits;
    const value = digits === "" ? 0n : BigInt.asIntN(digits.length * 4, BigInt(`0x${digits}`));
    const text = String(value < 0n ? -value : value).padStart(scale + 1, "0");
    return `${value < 0n ? "-" : ""}${text.slice(0, text.length - scale)}${scale ? `.${text.slice(-scale)}` : ""}`;
  };
}

function complex(schema, named, space, depth) {
  switch (schema.type) {
    case "record": case "error": return record(schema, named, space, depth);
    case "enum": return name(schema, named, space, enumeration(schema));
    case "fixed": return name(schema, named, space, (reader) => hex(reader.bytes(schema.size)));
    case "array": return array(made(schema.items, named, space, depth));
    case "map": return map(made(schema.values, named, space, depth));
    default: return made(schema.type, named, space, depth);
  }
}

function full(of, space) {
  checkName(of);
  if (space) checkName(space);
  return of.includes(".") || !space ? of : `${space}.${of}`;
}

function name(schema, named, space, read) {
  named.set(full(schema.name, schema.namespace ?? space), read);
  return read;
}

function reference(of, named, space) {
  const found = named.get(full(of, space)) ?? named.get(of);
  if (!found) throw new Error(`nothing is called ${of} in this schema.`);
  return found;
}

function record(schema, named, space, depth) {
  const inner = schema.namespace ?? (schema.name.includes(".") ? schema.name.slice(0, schema.name.lastIndexOf(".")) : space);
  let fields = [];
  const read = (reader, depth) => new Map(fields.map(([field, each]) => [field, each(reader, deeper(reader, depth, field))]));
  const plain = (reader, depth) => Object.fromEntries(read(reader, depth));
  name(schema, named, space, plain);
  fields = schema.fields.map((field) => [checkName(field.name), made(field.type, named, inner, depth)]);
  return plain;
}

function enumeration(schema) {
  schema.symbols.forEach(checkName);
  return (reader) => {
    const at = reader.count();
    if (!(at >= 0 && at < schema.symbols.length)) throw new Error(`${schema.name} has no symbol ${at}.`);
    reader.output.spend(0, schema.symbols[at]);
    return schema.symbols[at];
  };
}

function union(branches) {
  return (reader, depth) => {
    const at = reader.count();
    if (!(at >= 0 && at < branches.length)) throw new Error(`a union has no branch ${at}.`);
    return branches[at](reader, deeper(reader, depth));
  };
}

// Items come in blocks; a negative count is followed by the size of the block. An item may have no bytes at all, so their
// number is bounded, too.
function blocks(reader, item) {
  let left = 100000;
  for (;;) {
    let count = reader.count();
    if (count === 0) return;
    if (count < 0) {
      count = -count;
      reader.long();
    }
    left -= count;
    if (left < 0) throw new Error("a list has too many items to be shown.");
    for (let each = 0; each < count; each += 1) item();
  }
}

function array(item) {
  return (reader, depth) => {
    const out = [];
    blocks(reader, () => out.push(item(reader, deeper(reader, depth))));
    return out;
  };
}

function map(value) {
  return (reader, depth) => {
    const out = [];
    blocks(reader, () => out.push([PLAIN.string(reader), value(reader, deeper(reader, depth))]));
    return Object.fromEntries(out);
  };
}
