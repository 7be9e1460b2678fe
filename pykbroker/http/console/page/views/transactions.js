// Transactional ids, and the end of a transaction that hangs.

import { change, look } from "../ask.js";
import { confirm } from "../dialog.js";
import { badge, button, choice, doing, fill, h, heading, say } from "../dom.js";
import { age, number, time } from "../format.js";
import { Paged } from "../table.js";

const STATES = ["", "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"];
const KINDS = { Ongoing: "warn", PrepareCommit: "warn", PrepareAbort: "warn", CompleteCommit: "good" };

export async function show(root, params, life) {
  const search = h("input", { type: "search", placeholder: "Id contains …", "aria-label": "Filter transactional ids" });
  const state = choice(STATES.map((each) => [each, each || "any state"]), params.state ?? "", { "aria-label": "State" });
  let now = 0;
  const table = new Paged({
    label: "Transactions",
    columns: [
      ["Transactional id", (each) => each.id],
      ["State", (each) => badge(each.state, KINDS[each.state])],
      ["Producer", (each) => `${each.producer}, epoch ${each.epoch}`],
      ["Open for", (each) => (each.started < 0 || each.state !== "Ongoing" ? "" : h("span", { title: time(each.started) }, age(now - each.started))), "number"],
      ["Timeout", (each) => age(each.timeout), "number"],
      ["Partitions", (each) => h("span", { title: each.partitions.join(", ") }, number(each.partitions_in_all)), "number"],
      ["", (each) => each.state === "Ongoing" && button("Abort", () => abort(each, table), { class: "quiet", "aria-label": `Abort ${each.id}` })],
    ],
    empty: () => (search.value || state.value ? "No transactional id matches." : "There are no transactional ids yet. A producer with a transactional.id makes one."),
    load: async (start, limit) => {
      const found = await look("/transactions", { start, limit, match: search.value, state: state.value }, life.signal);
      now = found.now;
      return { total: found.total, rows: found.transactions, limits: found.limits };
    },
  });
  search.addEventListener("input", doing(() => table.show(0)));
  state.addEventListener("change", doing(() => table.show(0)));
  fill(root, heading("Transactions", search, state), table.element);
  await table.show(0);
  life.every(4000, () => table.show());
}

function abort(each, table) {
  confirm("Abort a transaction", `What ${each.id} has written since ${time(each.started)} is discarded, and its producer is fenced.`, "Abort", async () => {
    await change("/transactions/abort", { id: each.id });
    say("The transaction was aborted.");
    await table.show();
  });
}
