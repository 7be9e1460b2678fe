// Settings of brokers.

import { look } from "../ask.js";
import { choice, fill, h, heading, to } from "../dom.js";
import * as settings from "../settings.js";

export async function show(root, params, life) {
  const { brokers } = await look("/brokers", {}, life.signal);
  const running = brokers.filter((each) => each.running).map((each) => String(each.id));
  const id = running.includes(params.broker) ? params.broker : running[0];
  const which = choice(running.map((each) => [each, `Broker ${each}`]), id, { "aria-label": "Broker" });
  which.addEventListener("change", () => { location.hash = to("settings", { broker: which.value }); });
  const inside = h("div", {});
  fill(root, heading("Settings", which), h("p", { class: "hint" }, "A change applies to this broker at once, and to its later starts."), inside);
  await settings.show(inside, { of: "broker", name: id }, life);
}
