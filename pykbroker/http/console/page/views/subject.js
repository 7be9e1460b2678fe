// A subject: two of its versions side by side, what differs, and where their schemas are used.

import { look } from "../ask.js";
import { choice, doing, fill, h, heading, link } from "../dom.js";

const MOST_CELLS = 4_000_000;

export async function show(root, params, life) {
  const { name } = params;
  const found = await look("/subject", { subject: name }, life.signal);
  const options = found.versions.map((each) => [String(each), `Version ${each}`]);
  const last = found.versions.length - 1;
  const left = choice(options, String(found.versions[Math.max(last - 1, 0)]), { "aria-label": "Left version" });
  const right = choice(options, String(found.versions[last]), { "aria-label": "Right version" });
  const area = h("div", { class: "versions" });
  const draw = doing(async () => {
    const [one, two] = await Promise.all([left, right].map((each) => look("/version", { subject: name, version: each.value }, life.signal)));
    const [a, b] = marked(lines(one), lines(two));
    fill(area, side(one, a, "gone"), side(two, b, "new"));
  });
  left.addEventListener("change", draw);
  right.addEventListener("change", draw);
  const topic = /^(.+)-(key|value)$/.exec(name)?.[1];
  fill(root, heading(name, left, right), h("p", { class: "hint" }, "Compatibility: ", h("strong", {}, found.compatibility),
    topic && [". Of the topic ", link("topic", { name: topic }, topic), " by its name"], "."), area);
  await draw();
}

function lines({ kind, text }) {
  if (kind === "PROTOBUF") return text.split("\n");
  try {
    return JSON.stringify(JSON.parse(text), null, 2).split("\n");
  } catch {
    return text.split("\n");
  }
}

// The lines of both, each with whether the other has it, in the longest common order; of long ones, whether it has it at all.
function marked(a, b) {
  if (a.length * b.length > MOST_CELLS) {
    const [inA, inB] = [new Set(a), new Set(b)];
    return [a.map((line) => [line, inB.has(line)]), b.map((line) => [line, inA.has(line)])];
  }
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1
        : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const [ofA, ofB] = [a.map((line) => [line, false]), b.map((line) => [line, false])];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      ofA[i++][1] = true;
      ofB[j++][1] = true;
    } else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return [ofA, ofB];
}

function side(found, all, kind) {
  const others = found.same;
  return h("section", { "aria-label": `Version ${found.version}` },
    h("h2", {}, `Version ${found.version}: ${found.kind}, id ${found.id}`),
    h("pre", {}, all.map(([line, is]) => h("span", { class: is ? null : kind }, `${line}\n`))),
    found.references.length ? h("p", {}, "Refers to ", named(found.references)) : null,
    h("p", {}, "Used by ", named(others)),
    found.referred_by.length ? h("p", {}, `Referred to by the schemas ${found.referred_by.join(", ")}`) : null);
}

function named(all) {
  return all.map((each, at) => [at ? ", " : "", link("subject", { name: each.subject }, each.subject), ` ${each.version}`]);
}
