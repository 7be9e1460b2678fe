// Clients that send their metrics: lag, latency and errors of each, and all that one has sent.

import { look } from "../ask.js";
import { doing, fill, h, heading } from "../dom.js";
import { number } from "../format.js";
import { Paged } from "../table.js";

const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
const shown = (value) => (value === null ? "" : exact.format(value));

export async function show(root, params, life) {
  await (params.instance ? one(root, params.instance, life) : all(root, life));
}

async function all(root, life) {
  const search = h("input", { type: "search", placeholder: "Client id contains …", "aria-label": "Filter clients" });
  let subscriptions = 0;
  const table = new Paged({
    label: "Clients",
    columns: [
      ["Client id", (each) => h("a", { href: `#clients?instance=${encodeURIComponent(each.instance)}` }, each.client || "(none)")],
      ["Library", (each) => each.software],
      ["Lag", (each) => shown(each.lag), "number"],
      ["Latency, ms", (each) => shown(each.latency), "number"],
      ["Errors", (each) => shown(each.errors), "number"],
      ["Metrics", (each) => number(each.metrics), "number"],
    ],
    empty: () => (search.value ? "No client matches." : subscriptions ? "No client has sent its metrics yet; it does once it connects anew."
      : "No client is asked for its metrics: pykbroker client-metrics set, or kafka-client-metrics.sh."),
    load: async (start, limit) => {
      const found = await look("/clients", { start, limit, match: search.value }, life.signal);
      subscriptions = found.subscriptions;
      return { total: found.total, rows: found.clients };
    },
  });
  search.addEventListener("input", doing(() => table.show(0)));
  fill(root, heading("Clients", search), h("p", { class: "hint" }, "The largest lag and latency that a client has sent, and the errors since it was asked."), table.element);
  await table.show(0);
  life.every(5000, () => table.show());
}

async function one(root, instance, life) {
  const search = h("input", { type: "search", placeholder: "Name contains …", "aria-label": "Filter metrics" });
  const title = h("span", {}, "Client");
  const table = new Paged({
    label: "Metrics",
    columns: [
      ["Metric", (each) => each.name],
      ["Labels", (each) => Object.entries(each.labels).map(([name, value]) => `${name}=${value}`).join(", ")],
      ["Value", (each) => shown(each.value), "number"],
    ],
    empty: () => "No metric matches.",
    load: async (start, limit) => {
      const found = await look("/client", { instance, start, limit, match: search.value }, life.signal);
      title.textContent = `Client ${found.client}`;
      return { total: found.total, rows: found.metrics };
    },
  });
  search.addEventListener("input", doing(() => table.show(0)));
  fill(root, heading(title, search), h("p", { class: "hint" }, h("a", { href: "#clients" }, "All clients")), table.element);
  await table.show(0);
  life.every(5000, () => table.show());
}
