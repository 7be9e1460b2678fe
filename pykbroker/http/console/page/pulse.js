// Throughput and latency since the page was opened, a point every two seconds. It is kept here and nowhere else.

import { look } from "./ask.js";

const EVERY_MS = 2000;
const MOST = 300;
// It may be allowed later.
const DENIED = 403;
const DENIED_MS = 60_000;

export const points = [];
const told = new Set();
let before = null;
let since = new Map();

export function follow(callback, signal) {
  told.add(callback);
  signal.addEventListener("abort", () => told.delete(callback));
}

export function start() {
  const step = async () => {
    let due = EVERY_MS;
    if (!document.hidden) {
      try {
        take(await look("/pulse"));
      } catch (error) {
        before = null; // the broker may be on its way back; whoever asks for something is told
        if (error.status === DENIED) due = DENIED_MS;
      }
    }
    setTimeout(step, due);
  };
  step();
}

function take(now) {
  const last = before;
  before = now;
  if (last === null || now.at <= last.at || now.bytes_in < last.bytes_in) return;
  const seconds = now.at - last.at;
  const apis = Object.entries(now.apis).map(([name, api]) => ({ name, ...difference(api, last.apis[name]) }));
  const produce = apis.find((each) => each.name === "PRODUCE");
  points.push({
    at: Date.now(),
    bytesIn: (now.bytes_in - last.bytes_in) / seconds,
    bytesOut: (now.bytes_out - last.bytes_out) / seconds,
    recordsIn: (now.records_in - last.records_in) / seconds,
    requests: apis.reduce((sum, each) => sum + each.count, 0) / seconds,
    p50: produce?.p50 ?? null,
    p99: produce?.p99 ?? null,
  });
  if (points.length > MOST) points.shift();
  since = new Map(apis.map((each) => [each.name, { ...each, rate: each.count / seconds }]));
  for (const each of told) each();
}

export function recent() {
  return [...since.values()].filter((each) => each.count).sort((one, other) => other.count - one.count);
}

function difference(now, last) {
  const earlier = new Map(last?.took ?? []);
  const counts = now.took.map(([upper, count]) => [upper, count - (earlier.get(upper) ?? 0)]);
  const count = counts.reduce((sum, [, each]) => sum + each, 0);
  return { count, errors: now.errors - (last?.errors ?? 0), p50: quantile(counts, count, 0.5), p99: quantile(counts, count, 0.99) };
}

function quantile(counts, all, part) {
  let seen = 0;
  for (const [upper, count] of counts) {
    seen += count;
    if (all && seen >= all * part) return upper;
  }
  return null;
}
