// The brokers of the process: stopped and started one by one, while the others go on.

import { api, look } from "../ask.js";
import { confirm } from "../dialog.js";
import { badge, button, doing, fill, h, heading, link, say } from "../dom.js";
import { number } from "../format.js";
import { small } from "../table.js";

const DIRECTORIES = [["Log directory", (each) => h("code", {}, each.path)], ["State", (each) => badge(each.offline ? "offline" : "online", each.offline ? "bad" : "good")]];

export async function show(root, params, life) {
  const inside = h("div", {});
  const draw = async () => {
    const found = await look("/brokers", {}, life.signal);
    fill(inside, small(columns(draw), found.brokers, "There are no brokers.", "Brokers"), h("h2", {}, "Data"),
      small(DIRECTORIES, found.directories, "None.", "Log directories"));
  };
  fill(root, heading("Brokers"), inside);
  await draw();
  life.every(4000, draw);
}

function columns(draw) {
  return [
    ["Id", (each) => each.id, "number"],
    ["State", (each) => badge(each.running ? "running" : "stopped", each.running ? "good" : "bad")],
    ["Listeners", (each) => each.listeners.map((listener) => h("div", {}, h("code", {}, listener)))],
    ["Rack", (each) => each.rack ?? ""],
    ["Partitions led", (each) => number(each.leads), "number"],
    ["Replicas", (each) => number(each.holds), "number"],
    ["Connections", (each) => number(each.connections), "number"],
    ["", (each) => actions(each, draw)],
  ];
}

function actions(each, draw) {
  const tell = async (verb) => {
    await api("POST", `/brokers/${each.id}/${verb}`);
    say(`Broker ${each.id} is ${{ start: "started", stop: "stopped", kill: "killed" }[verb]}.`);
    await draw();
  };
  if (!each.running) return button("Start", doing(() => tell("start")), { class: "quiet", "aria-label": `Start broker ${each.id}` });
  const ask = (verb, text) => () => confirm(`Broker ${each.id}`, text, verb === "stop" ? "Stop" : "Kill", () => tell(verb));
  return [
    link("settings", { broker: each.id }, "Settings"), " ",
    button("Stop", ask("stop", "A controlled shutdown: what it leads moves to other replicas."), { class: "quiet", "aria-label": `Stop broker ${each.id}` }),
    button("Kill", ask("kill", "Its connections are cut, as when a machine fails."), { class: "quiet", "aria-label": `Kill broker ${each.id}` }),
  ];
}
