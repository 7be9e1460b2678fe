// What a schema of a stranger may ask of the page: names, nesting and output are bounded, so that no schema and no bytes hold
// the tab, however they are put together.

export const MOST_DEPTH = 100;
const LONGEST_SCHEMA = 1024 * 1024;
const LONGEST_NAME = 1024;
const MOST_PARTS = 64;
// Characters of a value as text: each value, and each name that stands before one.
const MOST_OUTPUT = 2_000_000;
const OF_A_VALUE = 20;

export function checkSchema(text) {
  if (text.length > LONGEST_SCHEMA) throw new Error(`the schema has more than ${LONGEST_SCHEMA} characters.`);
}

export function checkName(name) {
  if (typeof name !== "string" || name.length > LONGEST_NAME) throw new Error(`a name has more than ${LONGEST_NAME} characters, or is no text.`);
  if (name.split(".", MOST_PARTS + 1).length > MOST_PARTS) throw new Error(`a name has more than ${MOST_PARTS} parts.`);
  return name;
}

export function checkDepth(depth) {
  if (depth > MOST_DEPTH) throw new Error("it is nested too deeply.");
  return depth + 1;
}

// What is left of the output of one value.
export class Output {
  constructor() {
    this.left = MOST_OUTPUT;
  }

  // One value more, indented by its depth, and the name or symbol that is written with it.
  spend(depth, name = "") {
    this.left -= OF_A_VALUE + 2 * depth + name.length;
    if (this.left < 0) throw new Error("it has too many values to be shown.");
  }
}
