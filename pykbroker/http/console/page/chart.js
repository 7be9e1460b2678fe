// Lines over time, drawn as SVG; what stands at the pointer is said in words.

import { fill, h, svg } from "./dom.js";
import { clock } from "./format.js";

const HEIGHT = 170;
const LEFT = 58;
const BOTTOM = 20;
const TOP = 8;

// ``lines``: [name, class, value of a point]. ``written`` is a value in words.
export function chart(title, lines, written, { least = 1 } = {}) {
  const drawing = svg("svg", { role: "img", "aria-label": title, class: "chart" });
  const said = h("span", { class: "now" });
  const legend = h("div", { class: "legend" }, lines.map(([name, kind]) => h("span", { class: kind }, name)));
  const element = h("section", { class: "card" }, h("div", { class: "heading" }, h("h2", {}, title), said), drawing, legend);
  let shown = [];
  let width = 600;

  const x = (at) => LEFT + ((width - LEFT - 4) * at) / Math.max(shown.length - 1, 1);

  function tell(point) {
    const words = point && lines.map(([name, , value]) => `${name} ${written(value(point))}`).join(" · ");
    fill(said, words && `${clock(point.at).slice(0, 8)}  ${words}`);
  }

  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const at = Math.round(((event.clientX - box.left - LEFT) / (width - LEFT - 4)) * (shown.length - 1));
    tell(shown[Math.max(0, Math.min(at, shown.length - 1))]);
  });
  drawing.addEventListener("pointerleave", () => tell(shown.at(-1)));

  function draw(points) {
    shown = points;
    width = drawing.clientWidth || width;
    drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const most = nice(Math.max(least, ...points.flatMap((point) => lines.map(([, , value]) => value(point) ?? 0))));
    const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
    const marks = [0, 0.5, 1].map((part) => [
      svg("line", { x1: LEFT, x2: width, y1: y(most * part), y2: y(most * part), class: "grid" }),
      svg("text", { x: LEFT - 8, y: y(most * part) + 4, "text-anchor": "end" }, written(most * part)),
    ]);
    const ends = points.length > 1 && [[0, "start"], [points.length - 1, "end"]].map(([at, anchor]) =>
      svg("text", { x: x(at), y: HEIGHT - 4, "text-anchor": anchor }, clock(points[at].at).slice(0, 8)));
    fill(drawing, marks, ends, lines.map(([, kind, value]) => svg("path", { class: `line ${kind}`, d: path(points, value, x, y) })));
    tell(points.at(-1));
  }
  new ResizeObserver(() => draw(shown)).observe(drawing);
  return { element, draw };
}

function path(points, value, x, y) {
  let pen = "M";
  let out = "";
  points.forEach((point, at) => {
    const here = value(point);
    if (here === null || here === undefined) {
      pen = "M";
    } else {
      out += `${pen}${x(at).toFixed(1)} ${y(here).toFixed(1)}`;
      pen = "L";
    }
  });
  return out;
}

function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= value * 0.999) ?? value;
}
