// Questions, on the browser's own dialogs: they keep the focus inside and give it back.

import { plain } from "./bytes.js";
import { button, doing, field, fill, h, wayBack } from "./dom.js";

export function open(title, content, { wide, actions } = {}) {
  const dialog = h("dialog", { class: wide ? "wide" : "", "aria-label": title },
    h("div", { class: "heading" }, h("h2", {}, title), button("×", () => dialog.close(), { class: "quiet", "aria-label": "Close" })),
    content, actions && h("div", { class: "actions end" }, actions));
  const back = wayBack(document.activeElement);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (document.activeElement === document.body) back();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// A form of fields: [name, label, input, hint]. ``done`` is given the inputs; if it fails, the dialog stays open and says why:
// a line at the edge of the page would be dim, and silent, behind it.
export function form(title, fields, action, done, { danger } = {}) {
  const inputs = {};
  for (const [name, , input] of fields) inputs[name] = input;
  const wrong = h("p", { class: "wrong", role: "alert" });
  const made = h("form", {
    class: "column",
    onsubmit: doing(async () => {
      fill(wrong);
      await done(inputs);
      dialog.close();
    }, (error) => fill(wrong, error.message)),
  },
  fields.map(([, label, input, hint]) => (label ? field(label, input, hint) : input)), wrong,
  h("div", { class: "actions end" }, button("Cancel", () => dialog.close()),
    h("button", { type: "submit", class: danger ? "danger" : "primary" }, action)));
  const dialog = open(title, made);
  made.querySelector("input, textarea, select")?.focus();
  return dialog;
}

// Before something is lost: the name has to be typed where that is asked for.
export function confirm(title, text, action, done, { name } = {}) {
  const typed = h("input", { autocomplete: "off", spellcheck: "false" });
  const fields = [["text", "", h("p", {}, text)]];
  if (name !== undefined) fields.push(["typed", `Type ${name} to go on`, typed]);
  return form(title, fields, action, async () => {
    if (name !== undefined && typed.value !== name && typed.value !== plain(name)) throw new Error(`That is not ${name}.`);
    await done();
  }, { danger: true });
}
