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
    fill(rules, small(columns(draw), faults.faults, "Nothing goes wrong on purpose.", "Faults"));
    fill(clock, h("span", {}, time(now.now_ms)), badge(now.kind === "manual" ? "stands still" : "passes by itself"),
      now.kind === "manual" && button("Let time pass", () => advance(draw)));
    fill(kept, small(names(draw), snapshots.snapshots, "There are no snapshots.", "Snapshots"));
  };
  fill(root,
    heading("Faults", button("New fault", () => add(draw), { class: "primary", "data-new": true }),
      button("End all", doing(() => api("DELETE", "/faults").then(draw)))),
    h("p", { class: "hint" }, "What a test wants to go wrong for clients. The console itself is spared."), rules,
    h("h2", {}, "Clock"), clock,
    h("div", { class: "heading" }, h("h2", {}, "Snapshots"), h("div", { class: "actions" }, button("Keep the data as they are", () => keep(draw)),
      button("Reset", () => reset(draw), { class: "danger" }))), kept);
  await draw();
  life.every(3000, draw);
}

function columns(draw) {
  return [
    ["Number", (each) => each.number, "number"],
    ["Fault", (each) => h("code", {}, each.text)],
    ["Requests that fit", (each) => number(each.matched), "number"],
    ["Acted", (each) => number(each.fired), "number"],
    ["", (each) => button("End", doing(() => api("DELETE", `/faults/${each.number}`).then(draw)), { class: "quiet", "aria-label": `End fault ${each.number}` })],
  ];
}

function names(draw) {
  return [
    ["Snapshot", (each) => each],
    ["", (each) => button("Go back to it", () => confirm("Go back", `All data are as in ${each}, and connections are cut.`, "Go back", async () => {
      await api("POST", `/snapshots/${encodeURIComponent(each)}/restore`);
      await draw();
    }), { class: "quiet" })],
  ];
}

function add(draw) {
  const text = h("input", { required: true, autocomplete: "off", spellcheck: "false", placeholder: "Produce topic=orders error=NOT_LEADER_OR_FOLLOWER times=3" });
  form("New fault", [["text", "Rule", text, "An API or *, which requests (topic=, partition=, group=, client=, broker=), what is done (error=, delay=, throttle=, hold, drop, close), how often (times=, nth=, probability=)."]],
    "Begin", async () => {
      await api("POST", "/faults", { text: text.value });
      await draw();
    });
}

function advance(draw) {
  const by = h("input", { required: true, value: "1m", autocomplete: "off" });
  form("Let time pass", [["by", "For how long", by, "As 500ms, 30s, 5m, 2h or 7d."]], "Go on", async () => {
    await api("POST", "/clock/advance", { by: by.value });
    await draw();
  });
}

function keep(draw) {
  const name = h("input", { required: true, maxlength: 100, autocomplete: "off" });
  form("Keep the data", [["name", "Name", name]], "Keep", async () => {
    if (/^\.{1,2}$/.test(name.value)) throw new Error("A name of dots alone cannot be asked for again.");
    await api("PUT", `/snapshots/${encodeURIComponent(name.value)}`);
    say(`${name.value} is kept.`);
    await draw();
  });
}

function reset(draw) {
  confirm("Reset", "Topics, records, groups and faults go, as at the start. It is refused where the data are meant to stay.", "Reset", async () => {
    await api("POST", "/reset");
    say("All is as at the start.");
    await draw();
  });
}
