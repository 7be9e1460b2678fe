// What tests do to a broker: faults, the clock, snapshots, a reset.

import { api } from "../ask.js";
import { confirm, form } from "../dialog.js";
import { badge, button, doing, fill, h, heading, say } from "../dom.js";
import { number, time } from "../format.js";
import { small } from "../table.js";

export async function show(root, params, life) {
  const rules = h("div", {});
  const clock = h("div", { class: "bar" });
  const kept = h("div", {});
  const draw = async () => {
    const [faults, now, snapshots] = await Promise.all([
      api("GET", "/faults", undefined, life.signal), api("GET", "/clock", undefined, life.signal), api("GET", "/snapshots", undefined, life.signal)]);
    fill(rules, small(columns(draw), faults.faults, "There are no faults. Press n, or New fault, to add one.", "Faults"));
    fill(clock, h("span", {}, time(now.now_ms)), badge(now.kind === "manual" ? "manual" : "real time"), now.kind === "real" && h("small", {}, "Start with --clock manual to move it."),
      now.kind === "manual" && button("Advance the clock", () => advance(draw)));
    fill(kept, small(names(draw), snapshots.snapshots, "There are no snapshots.", "Snapshots"));
  };
  fill(root,
    heading("Faults", button("New fault", () => add(draw), { class: "primary", "data-new": true }),
      button("Remove all", doing(() => api("DELETE", "/faults").then(draw)))),
    h("p", { class: "hint" }, "Faults refuse, delay or cut requests of clients, for tests. The console's own requests are not subject to them."), rules,
    h("h2", {}, "Clock"), clock,
    h("div", { class: "heading" }, h("h2", {}, "Snapshots"), h("div", { class: "actions" }, button("Take a snapshot", () => keep(draw)),
      button("Reset", () => reset(draw), { class: "danger" }))), kept);
  await draw();
  life.every(3000, draw);
}

function columns(draw) {
  return [
    ["Number", (each) => each.number, "number"],
    ["Fault", (each) => h("code", {}, each.text)],
    ["Requests matched", (each) => number(each.matched), "number"],
    ["Fired", (each) => number(each.fired), "number"],
    ["", (each) => button("Remove", doing(() => api("DELETE", `/faults/${each.number}`).then(draw)), { class: "quiet", "aria-label": `Remove fault ${each.number}` })],
  ];
}

function names(draw) {
  return [
    ["Snapshot", (each) => each],
    ["", (each) => button("Restore", () => confirm("Restore a snapshot", `All data are replaced by those of ${each}; clients' connections are closed.`, "Restore", async () => {
      await api("POST", `/snapshots/${encodeURIComponent(each)}/restore`);
      say(`Snapshot ${each} is restored.`);
      await draw();
    }), { class: "quiet", "aria-label": `Restore ${each}` })],
  ];
}

function add(draw) {
  const text = h("input", { required: true, autocomplete: "off", spellcheck: "false", placeholder: "Produce topic=orders error=NOT_LEADER_OR_FOLLOWER times=3" });
  form("New fault", [["text", "Rule", text, "An API or *, which requests (topic=, partition=, group=, client=, broker=), what is done (error=, delay=, throttle=, hold, drop, close), how often (times=, nth=, probability=)."]],
    "Add", async () => {
      await api("POST", "/faults", { text: text.value });
      await draw();
    });
}

function advance(draw) {
  const by = h("input", { required: true, value: "1m", autocomplete: "off" });
  form("Advance the clock", [["by", "By", by, "As 500ms, 30s, 5m, 2h or 7d."]], "Advance", async () => {
    await api("POST", "/clock/advance", { by: by.value });
    await draw();
  });
}

function keep(draw) {
  const name = h("input", { required: true, maxlength: 100, autocomplete: "off" });
  form("Take a snapshot", [["name", "Name", name]], "Take", async () => {
    if (/^\.{1,2}$/.test(name.value)) throw new Error("A snapshot cannot be called . or .., which no address can name.");
    await api("PUT", `/snapshots/${encodeURIComponent(name.value)}`);
    say(`Snapshot ${name.value} is taken.`);
    await draw();
  });
}

function reset(draw) {
  confirm("Reset", "All topics, records, groups and faults are removed, as at the start. Only a broker started with --ephemeral can be reset.", "Reset", async () => {
    await api("POST", "/reset");
    say("The broker is reset.");
    await draw();
  });
}
