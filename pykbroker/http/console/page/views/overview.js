// The cluster at a glance: what there is, and how much goes through it.

import { look } from "../ask.js";
import { chart } from "../chart.js";
import { fill, h, heading, to } from "../dom.js";
import { compact, duration, number, size } from "../format.js";
import * as pulse from "../pulse.js";
import { small } from "../table.js";

const APIS = [
  ["Request", (each) => kafkasName(each.name)],
  ["Per second", (each) => number(each.rate), "number"],
  ["p50 at most", (each) => duration(each.p50), "number"],
  ["p99 at most", (each) => duration(each.p99), "number"],
  ["Errors", (each) => number(each.errors), "number"],
];

// As Kafka's tools write it: OFFSET_COMMIT is OffsetCommit.
function kafkasName(name) {
  return name.split("_").map((each) => each[0] + each.slice(1).toLowerCase()).join("");
}

export async function show(root, params, life) {
  const tiles = h("div", { class: "tiles" });
  const flow = chart("Bytes per second", [["in", "one", (each) => each.bytesIn], ["out", "two", (each) => each.bytesOut]], size, { least: 1000 });
  const records = chart("Produced records per second", [["records", "one", (each) => each.recordsIn]], compact, { least: 10 });
  const latency = chart("Produce latency",
    [["p50", "one", (each) => each.p50], ["p99", "two", (each) => each.p99]], (value) => (value === null ? "–" : duration(Math.round(value))), { least: 100 });
  const requests = chart("Requests per second", [["requests", "one", (each) => each.requests]], compact, { least: 10 });
  const apis = h("div", {});
  fill(root, heading("Overview"), tiles,
    h("div", { class: "charts" }, flow.element, latency.element, records.element, requests.element),
    h("h2", {}, "Requests of clients"), apis);
  const draw = () => {
    for (const each of [flow, records, latency, requests]) each.draw(pulse.points);
    fill(apis, small(APIS, pulse.recent(), "No requests in the last seconds.", "Requests of clients"));
  };
  const count = async () => fill(tiles, tilesOf(await look("/overview", {}, life.signal)));
  pulse.follow(draw, life.signal);
  draw();
  await count();
  life.every(5000, count);
}

function tilesOf(found) {
  return [
    tile("Brokers", `${found.brokers}${found.brokers < found.brokers_in_all ? ` of ${found.brokers_in_all}` : ""}`, "brokers", found.brokers < found.brokers_in_all),
    tile("Topics", number(found.topics), "topics"),
    tile("Partitions", number(found.partitions), "topics", false, "Those of internal topics included"),
    tile("Without a leader", number(found.offline), "topics", found.offline > 0),
    tile("Replicas missing", number(found.under_replicated), "topics", found.under_replicated > 0),
    tile("Data", size(found.bytes), "topics"),
  ];
}

function tile(title, value, view, bad, hint) {
  return h("a", { title: hint, class: `tile ${bad ? "bad" : ""}`, href: to(view) }, h("span", {}, title), h("strong", {}, value));
}
