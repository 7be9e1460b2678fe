// Everything on the page is made here. What strangers wrote becomes text nodes and values of fields, never markup:
// there is no innerHTML in these files, and the page's policy (trusted types) refuses it.

import { plain } from "./bytes.js";

const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "hidden", "indeterminate", "open"]);
const SVG = "http://www.w3.org/2000/svg";

export function h(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(element, children));
  return element;
}

// Names may have characters that are not seen; only what is shown in whole, as it stands, keeps them.
function nodes(parent, children) {
  const shown = parent.tagName === "PRE" ? String : (each) => plain(String(each));
  return children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false)
    .map((each) => (each instanceof Node ? each : document.createTextNode(shown(each))));
}

// What is drawn anew keeps the focus where it was: on the same button, link or field.
export function fill(element, ...children) {
  const back = element.contains(document.activeElement) ? wayBack(document.activeElement) : null;
  element.replaceChildren(...nodes(element, children));
  back?.();
  return element;
}

// Gives the focus to an element, or to what has taken its place: the one of the same kind and name.
export function wayBack(element) {
  const same = (each) => each.tagName === element.tagName && nameOf(each) === nameOf(element);
  return () => (element.isConnected ? element : [...document.querySelectorAll(element.tagName)].find(same))?.focus({ preventScroll: true });
}

function nameOf(element) {
  return element.getAttribute("aria-label") ?? element.getAttribute("href") ?? element.textContent;
}

// The address of a view: names are quoted, so that none of them is an address of its own.
export function to(view, params) {
  const words = new URLSearchParams(Object.entries(params ?? {}).filter(([, value]) => value !== undefined));
  const query = words.toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

export function link(view, params, ...children) {
  return h("a", { href: to(view, params) }, ...children);
}

export function badge(text, kind) {
  return h("span", { class: `badge ${kind ?? ""}` }, text);
}

export function button(text, onclick, props) {
  return h("button", { type: "button", onclick, ...props }, text);
}

export function field(label, input, hint) {
  return h("label", { class: "field" }, h("span", {}, label), input, hint && h("small", {}, hint));
}

export function choice(options, value, props) {
  const made = h("select", props, options.map(([name, text]) => h("option", { value: name, selected: name === value }, text)));
  return made;
}

export function heading(title, ...more) {
  return h("div", { class: "heading" }, h("h1", {}, title), h("div", { class: "actions" }, more));
}


// A line for everybody, also for those who listen instead of looking.
export function say(text, kind) {
  const place = document.getElementById("said");
  const line = h("div", { class: `toast ${kind ?? ""}` }, h("span", {}, text), button("×", () => line.remove(), { "aria-label": "Close" }));
  place.append(line);
  while (place.children.length > 4) place.firstChild.remove();
  if (kind !== "bad") setTimeout(() => line.remove(), 5000);
}

// What a click began and what failed of it is told, not lost; ``wrong`` tells it.
export function doing(work, wrong = (error) => say(error.message, "bad")) {
  return async (event) => {
    event?.preventDefault?.();
    const clicked = event?.submitter ?? event?.currentTarget;
    const isButton = clicked?.tagName === "BUTTON";
    const back = isButton && document.activeElement === clicked ? wayBack(clicked) : null;
    if (isButton) clicked.disabled = true;
    try {
      return await work(event);
    } catch (error) {
      if (error.name !== "AbortError") wrong(error);
      return undefined;
    } finally {
      if (isButton) clicked.disabled = false;
      if (document.activeElement === document.body || document.activeElement === clicked) back?.();
    }
  };
}
