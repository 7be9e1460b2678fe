// The page: which view is shown, the way between them, the keys.

import { askTokenBy, AWAY, send, tellWhether, token } from "./ask.js";
import { form, open } from "./dialog.js";
import { button, fill, h, say } from "./dom.js";
import * as pulse from "./pulse.js";

const VIEWS = [
  ["overview", "Overview", "o"],
  ["topics", "Topics", "t"],
  ["groups", "Groups", "g"],
  ["transactions", "Transactions", "x"],
  ["clients", "Clients", "c"],
  ["brokers", "Brokers", "b"],
  ["settings", "Settings", "s"],
  ["schemas", "Schemas", "h"],
  ["acls", "Access lists", "a"],
  ["quotas", "Quotas", "q"],
  ["metadata", "Metadata log", "m"],
  ["faults", "Faults", "f"],
];
const OF = { topic: "topics", group: "groups", subject: "schemas" };
const KEYS = [
  ...VIEWS.map(([, title, key]) => [`g ${key}`, title]),
  ["/", "Search"],
  ["n", "New: a topic, a record, a fault"],
  ["↑ ↓ or k j", "Select another record; Enter opens it"],
  ["[ ]", "Previous page, next page"],
  ["?", "These keys"],
  ["Esc", "Close"],
];

// The broker is away, stops, or is reset: what is asked again will be answered.
const PASSES = new Set([AWAY, 503]);
const AGAIN_MS = 2000;
const DENIED = 403;

let leaving = new AbortController();
let went = 0;

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const here = (went += 1);
  const [view, words] = location.hash.replace(/^#\/?/, "").split("?");
  const name = /^[a-z]+$/.test(view) && (VIEWS.some(([each]) => each === view) || view in OF) ? view : "overview";
  const params = Object.fromEntries(new URLSearchParams(words ?? ""));
  mark(OF[name] ?? name);
  const main = document.getElementById("main");
  const root = h("div", { class: `view view-${name}` });
  const life = alive(leaving.signal, main);
  try {
    const made = await import(`./views/${name}.js`);
    await made.show(root, params, life);
  } catch (error) {
    if (error.name === "AbortError") return;
    const title = error.status === DENIED ? "This is denied" : "This could not be shown";
    fill(root, h("div", { class: "failed" }, h("h1", {}, title), h("p", {}, error.message), button("Try again", show)));
    if (PASSES.has(error.status)) life.once(AGAIN_MS, show);
  }
  if (here !== went) return;
  const from = main.dataset.view;
  fill(main, root);
  main.dataset.view = name;
  document.title = `${root.querySelector("h1")?.textContent ?? "pykbroker"} – pykbroker`;
  if (from !== undefined && from !== name) main.focus({ preventScroll: true });
  life.begin();
}

// What a view may rely on until the reader goes on: ``every`` asks again and again, never two at once.
function alive(signal) {
  const started = [];
  return {
    signal,
    begin: () => started.splice(0).forEach((each) => each()),
    every(ms, work) {
      const due = () => (typeof ms === "function" ? ms() : ms);
      let told = "";
      const step = async () => {
        if (signal.aborted) return;
        if (!document.hidden) {
          try {
            await work();
            told = "";
          } catch (error) {
            if (error.name !== "AbortError" && !signal.aborted && !PASSES.has(error.status) && error.message !== told) say(told = error.message, "bad");
          }
        }
        setTimeout(step, due());
      };
      started.push(() => setTimeout(step, due()));
    },
    once: (ms, work) => setTimeout(() => signal.aborted || work(), ms),
    again: show,
  };
}

function mark(current) {
  fill(document.getElementById("nav"), VIEWS.map(([name, title]) =>
    h("a", { href: `#/${name}`, "aria-current": name === current ? "page" : null }, title)));
  document.querySelector("#nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

// ---- keys -----------------------------------------------------------------------------------------------------------

let first = "";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  const key = event.key;
  const before = first;
  first = "";
  if (before === "g") {
    const view = VIEWS.find(([, , each]) => each === key);
    if (view) {
      location.hash = `#/${view[0]}`;
      event.preventDefault();
    }
    return;
  }
  if (key === "g") first = "g";
  else if (key === "/") press(event, (main) => main.querySelector("input[type=search]")?.focus());
  else if (key === "n") press(event, (main) => main.querySelector("[data-new]")?.click());
  else if (key === "[" || key === "]") press(event, (main) => main.querySelector(`.pager button:${key === "[" ? "first" : "last"}-of-type`)?.click());
  else if (key === "?") press(event, help);
});

function press(event, act) {
  event.preventDefault();
  act(document.getElementById("main"));
}

function help() {
  open("Keys", h("table", { class: "keys" }, h("tbody", {}, KEYS.map(([key, text]) =>
    h("tr", {}, h("td", {}, key.split(" ").map((each) => (each === "or" ? " or " : h("kbd", {}, each)))), h("td", {}, text))))));
}

// ---- the beginning --------------------------------------------------------------------------------------------------

askTokenBy((refused) => new Promise((done) => {
  const input = h("input", { type: "password", autocomplete: "off", required: true });
  const dialog = form("Token required", [["token", "Token", input, "The content of the file that the broker was started with as --http-token-file."]], "Continue", () => {
    token.set(input.value.trim());
  });
  if (refused) fill(dialog.querySelector(".wrong"), "The broker refused that token. An image makes another one at each start.");
  dialog.addEventListener("close", () => done());
}));

const gone = h("div", { class: "away", role: "alert" });
document.body.append(gone);
tellWhether((answers) => {
  if (answers === !gone.textContent) return;
  fill(gone, answers ? "" : "The broker does not answer. This page goes on by itself when it does.");
});

async function about() {
  const version = h("small", {});
  fill(document.getElementById("about"), button("?", help, { class: "quiet", "aria-label": "Keys", title: "Keys (?)" }), version);
  await show();
  // Then they are there when the broker is not.
  for (const each of [...VIEWS.map(([name]) => name), ...Object.keys(OF)]) import(`./views/${each}.js`).catch(() => {});
  fill(version, `version ${(await (await send("GET", "/health")).json()).version}`);
}

function begin() {
  about().then(pulse.start).catch((error) => {
    if (PASSES.has(error.status)) setTimeout(begin, AGAIN_MS);
    else say(error.message, "bad");
  });
}

window.addEventListener("hashchange", show);
begin();
