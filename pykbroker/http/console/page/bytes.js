// Keys and values: what came over the wire as bytes, and bytes as text, JSON or hexadecimal digits.

const PRINTED = 64 * 1024;
const MOST_DEPTH = 200;
const MOST_INDENTED = 8 * 1024 * 1024;

export function bytesOf(part) {
  if (part === null) return new Uint8Array();
  if (part.text !== undefined) return new TextEncoder().encode(part.text);
  return Uint8Array.from(atob(part.base64), (each) => each.charCodeAt(0));
}

// One line for a list.
export function line(part, most = 300) {
  if (part === null) return "null";
  if (part.text !== undefined) return plain(part.text.slice(0, most).replace(/\s+/g, " "));
  return [...bytesOf(part).subarray(0, 48)].map(twoDigits).join(" ");
}

// What turns the direction of writing, or is not seen, would let a text look like another.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function plain(text) {
  return text.replace(UNSEEN, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function asText(part) {
  return part.text ?? new TextDecoder().decode(bytesOf(part));
}

// Indented as it stands, so that no number is rounded and no name is taken twice; null where it is no JSON, or would be a hundred
// times as long.
export function asJson(part) {
  if (part?.text === undefined || part.cut) return null;
  const text = part.text.trim();
  if (!/^[[{]/.test(text)) return null;
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  return indented(text);
}

function indented(text) {
  let out = "";
  let depth = 0;
  const strings = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;
  let before = "";
  for (const [word] of text.matchAll(strings)) {
    if (word === "}" || word === "]") {
      depth -= 1;
      out += /^[{[]$/.test(before) ? word : `\n${"  ".repeat(depth)}${word}`;
    } else {
      if (/^[{[]$/.test(before) || before === ",") out += `\n${"  ".repeat(depth)}`;
      out += word === ":" ? ": " : word;
      if (word === "{" || word === "[") depth += 1;
    }
    if (depth > MOST_DEPTH || out.length > MOST_INDENTED) return null;
    before = word;
  }
  return out;
}

function twoDigits(each) {
  return each.toString(16).padStart(2, "0");
}

// Sixteen bytes in a line: offset, digits, and what of them is text.
export function asHex(part) {
  const data = bytesOf(part);
  const out = [];
  for (let at = 0; at < Math.min(data.length, PRINTED); at += 16) {
    const row = [...data.subarray(at, at + 16)];
    const text = row.map((each) => (each > 31 && each < 127 ? String.fromCharCode(each) : "·")).join("");
    out.push(`${at.toString(16).padStart(6, "0")}  ${row.map(twoDigits).join(" ").padEnd(47)}  ${text}`);
  }
  if (data.length > PRINTED) out.push(`… and ${data.length - PRINTED} bytes more`);
  return out.join("\n");
}
