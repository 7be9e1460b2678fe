// The records of a topic: looked for, followed as they come, one looked at, one produced.

import { AWAY, lines, look } from "./ask.js";
import { line } from "./bytes.js";
import { badge, button, choice, doing, field, fill, h } from "./dom.js";
import { counted, milliseconds, number, time } from "./format.js";
import { List } from "./list.js";
import { produce } from "./produce.js";
import * as record from "./record.js";

const PAGE = 100;
// The status while the process stops or is reset, and how long a tail waits until it asks again.
const BETWEEN = 503;
const AGAIN_MS = 2000;
// Partitions that the broker looks at in one search.
const AT_ONCE = 128;
// The newest of what is followed are kept, and no more than this of what was found.
const MOST_FOLLOWED = 2000;
const MOST_FOUND = 100000;

export async function show(root, topic, life, params) {
  const view = new Records(topic, life, params);
  fill(root, view.element);
  try {
    await view.search();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    fill(view.status, error.message);
  }
}

class Records {
  constructor(topic, life, params) {
    this.topic = topic;
    this.life = life;
    this.rows = [];
    this.cursor = null;
    this.running = null;
    this.inputs = inputs(params, topic.partitions);
    this.list = new List({ label: `Records of ${topic.name}`, row: (each) => row(each, topic.partitions > 1), open: (each, enters) => this.open(each, enters),
      chosen: (each) => this.detail.hidden || this.open(each, false) });
    this.status = h("span", { class: "status", role: "status" });
    this.more = button("More", doing(() => this.go()), { hidden: true });
    this.stop = button("Stop", () => this.running?.abort(), { hidden: true });
    this.follow = button("Follow", doing(() => this.tail()), { title: "Show records as they are appended" });
    this.detail = h("aside", { class: "detail", "aria-label": "The record", hidden: true });
    this.element = h("div", { class: "records" }, this.form(),
      h("div", { class: "bar" }, this.status, this.stop, this.more), h("div", { class: "split", onkeydown: (event) => this.key(event) }, this.list.element, this.detail));
    life.signal.addEventListener("abort", () => this.running?.abort());
  }

  form() {
    const { order, partitions, text, key, value, header, since, until, from, to, uncommitted, anycase } = this.inputs;
    const given = [key, value, header, since, until, from, to].some((each) => each.value) || uncommitted.checked;
    return h("form", { class: "search", onsubmit: doing(() => this.search()) },
      h("div", { class: "bar" }, text, order, partitions, h("button", { type: "submit", class: "primary" }, "Search"), this.follow,
        button("Produce", () => produce(this.topic, () => this.search()), { "data-new": true })),
      h("details", { open: given }, h("summary", {}, "More conditions"), h("div", { class: "fields" },
        field("Key contains", key), field("Value contains", value), field("Header", header), field("Since", since), field("Until", until),
        field("From offset", from), field("To offset", to),
        h("label", { class: "check" }, anycase, " ignore case"),
        h("label", { class: "check" }, uncommitted, " also uncommitted records and transaction markers")),
      h("p", { class: "hint" }, "A condition is text, or bytes as hex:00ff. A header is name, or name=text.")));
  }

  conditions() {
    const { order, partitions, text, key, value, header, since, until, from, to, uncommitted, anycase } = this.inputs;
    return {
      topic: this.topic.name, partitions: partitions.value, order: order.value, text: text.value, key: key.value, value: value.value,
      header: header.value, since: milliseconds(since.value), until: milliseconds(until.value), from: from.value, to: to.value,
      uncommitted: uncommitted.checked || undefined, anycase: anycase.checked || undefined,
    };
  }

  async search() {
    this.asked = this.conditions();
    this.cursor = null;
    this.rows = [];
    this.scanned = 0;
    this.list.set([]);
    fill(this.status, "Searching …");
    this.list.element.scrollTop = 0;
    await this.go();
  }

  // On with the search, until a page of records is found or there are no more.
  async go() {
    const running = this.begin();
    const wanted = Math.min(this.rows.length + PAGE, MOST_FOUND);
    try {
      do {
        const found = await look("/records", { ...this.asked, limit: PAGE, cursor: this.cursor ?? undefined }, running.signal);
        if (running.signal.aborted) return;
        this.rows.push(...found.records);
        this.scanned += found.scanned;
        this.cursor = found.cursor;
        this.list.set(this.rows, this.cursor === null ? this.none() : "");
        this.tell(found.left);
      } while (this.cursor !== null && this.rows.length < wanted);
    } finally {
      if (this.end(running)) this.more.hidden = this.cursor === null || this.rows.length >= MOST_FOUND;
    }
  }

  tell(left) {
    const words = [`${counted(this.rows.length, "record")}`];
    if (this.scanned > this.rows.length) words.push(`${number(this.scanned)} looked at`);
    words.push(left ? `${counted(left, "offset")} to go` : "that is all");
    if (this.asked.partitions) words.push(`partitions ${this.asked.partitions} of ${number(this.topic.partitions)} only`);
    fill(this.status, words.join(" · "));
  }

  none() {
    const where = this.asked.partitions ? `in partitions ${this.asked.partitions}` : "in this topic";
    return this.scanned ? `None of the ${counted(this.scanned, "record")} ${where} matches.` : `There are no records ${where}.`;
  }

  async tail() {
    const running = this.begin();
    const newest = [];
    let skipped = 0;
    this.rows = newest;
    this.list.set(newest, "What is appended from now on shows here.");
    this.more.hidden = true;
    fill(this.status, "Asking for the ends of the partitions");
    try {
      for await (const each of this.tailed(running.signal)) {
        // Only from here on nothing that is appended is missed.
        if (each.at) fill(this.status, badge("following", "good"), " waiting for records");
        if (!each.records) continue;
        newest.unshift(...each.records.reverse());
        newest.length = Math.min(newest.length, MOST_FOLLOWED);
        skipped = each.skipped;
        if (each.records.length) {
          if (this.list.chosen >= 0) this.list.chosen += each.records.length;
          this.list.set(newest);
          fill(this.status, badge("following", "good"), ` the newest ${number(newest.length)}`,
            skipped > 0 && ` · ${number(skipped)} skipped: they came faster than they can be shown`);
        }
      }
    } finally {
      if (this.end(running)) {
        fill(this.status, `Followed: the newest ${counted(newest.length, "record")}`, skipped > 0 && ` · ${number(skipped)} skipped`);
      }
    }
  }

  // What the broker tells, asked for again when it was away, stopped or was reset meanwhile.
  async* tailed(signal) {
    for (;;) {
      try {
        for await (const each of lines("/tail", this.conditions(), signal)) {
          if (each.ended && !each.passes) throw new Error(`Following has ended: ${each.ended}`);
          if (each.ended) break;
          yield each;
        }
      } catch (error) {
        if (error.status !== AWAY && error.status !== BETWEEN) throw error;
      }
      if (signal.aborted) return;
      fill(this.status, badge("interrupted", "warn"), " following goes on when the broker answers");
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  }

  begin() {
    this.running?.abort();
    this.running = new AbortController();
    this.stop.hidden = false;
    this.more.hidden = true;
    return this.running;
  }

  // Whether nothing else has begun since.
  end(running) {
    if (running !== this.running) return false;
    this.stop.hidden = true;
    return true;
  }

  key(event) {
    if (event.key !== "Escape" || this.detail.hidden) return;
    event.preventDefault();
    this.close();
  }

  close() {
    this.detail.hidden = true;
    this.list.element.focus();
  }

  open(each, enters) {
    fill(this.detail, record.detail(this.topic, each, () => this.close()));
    this.detail.hidden = false;
    if (enters) this.detail.querySelector("[aria-label='Close the record']").focus();
  }
}

function inputs(params, count) {
  const text = (props) => h("input", { autocomplete: "off", spellcheck: "false", maxlength: 1024, ...props });
  return {
    order: choice([["newest", "newest first"], ["oldest", "oldest first"]], params.order ?? "newest", { "aria-label": "Order" }),
    partitions: text({ placeholder: "all partitions", "aria-label": "Partitions, as 0,3,8-12", title: "Partitions, as 0,3,8-12", value: params.partitions ?? (count > AT_ONCE ? `0-${AT_ONCE - 1}` : ""), class: "narrow" }),
    text: text({ type: "search", placeholder: "Key, value or header contains …", "aria-label": "Key, value or header contains", value: params.text ?? "" }),
    key: text({}), value: text({}), header: text({ placeholder: "name=text" }),
    since: h("input", { type: "datetime-local", step: 1 }), until: h("input", { type: "datetime-local", step: 1 }),
    from: h("input", { type: "number", min: 0, value: params.from ?? "" }), to: h("input", { type: "number", min: 0 }),
    uncommitted: h("input", { type: "checkbox" }), anycase: h("input", { type: "checkbox" }),
  };
}

function row(each, several) {
  const means = each.meaning && `${each.meaning.type} ${words(each.meaning)}`;
  return [
    h("span", { class: "time" }, time(each.timestamp)),
    h("span", { class: "place", title: several ? "partition:offset" : "offset" }, several ? `${each.partition}:${each.offset}` : `${each.offset}`),
    h("span", { class: `key ${each.key === null ? "null" : ""}` }, means ? "" : line(each.key, 60)),
    h("span", { class: `value ${each.value === null ? "null" : ""}` },
      each.unread ? [badge("not shown", "warn"), " ", each.unread] : each.control ? [badge("marker"), " ", means] : means ?? line(each.value)),
  ];
}

function words(meaning) {
  return JSON.stringify(meaning.key ? { ...meaning.key, "→": meaning.value } : meaning.value)?.slice(0, 300) ?? "";
}
