// Editing: a text, the difference that it makes, and a transaction that expects the version that was seen.

import { dialog, make, note } from "./dom.js";
import { difference } from "./diff.js";
import { JsonError, parse, pretty, strict } from "./json.js";
import { ask, chosenStore } from "./session.js";

/**
 * Edits an entity { repository, id, version, text }, or one value of it, a node with its path. `version` "0"
 * makes a new one. `changed(answer)` is called once it is stored, and again when it is undone;
 * with null where it was refused because another has changed it.
 */
export function edit(entity, { node = null, path = [], changed }) {
  const whole = entity.text ? parse(entity.text) : null;
  const before = whole ? pretty(whole) : "";
  const area = make("textarea", {
    class: "whole-text", spellcheck: "false", "aria-label": path.length ? `Value of ${path.join(".")}` : "Entity as JSON",
    value: node ? pretty(node) : before || "{\n  \n}",
  });
  const wrong = make("p", { class: "wrong", role: "alert" });
  const review = make("button", { class: "main", type: "button", text: "Review the change", onclick: () => check() });
  const title = path.length ? `Edit ${path.join(".")}` : entity.version === "0" ? "A new entity" : `Edit ${entity.id}`;
  const box = dialog(title, [area, wrong], [
    make("span", { class: "quiet", text: "Ctrl+Enter" }), make("button", { type: "button", text: "Cancel", onclick: () => box.close() }), review]);
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); check(); }
  });
  if (node) area.rows = Math.min(18, area.value.split("\n").length + 1), area.classList.add("small");
  const begun = area.value;
  let isWarned = false;
  area.addEventListener("input", () => { isWarned = false; });
  box.addEventListener("cancel", (event) => {
    if (isWarned || area.value === begun) return;
    event.preventDefault();
    isWarned = true;
    wrong.textContent = "Escape again, and what you typed is lost.";
  });
  area.focus();
  area.setSelectionRange(0, node ? area.value.length : 0);

  function check() {
    wrong.textContent = "";
    let after;
    try {
      const typed = strict(parse(area.value)).text;
      // The rest of the entity stays as it is stored, byte for byte.
      after = node ? entity.text.slice(0, node.from) + typed + entity.text.slice(node.to) : typed;
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      wrong.textContent = `${error.message}.`;
      area.focus();
      area.setSelectionRange(error.at, Math.min(area.value.length, error.at + 1));
      return;
    }
    const shown = pretty(parse(after));
    if (shown === before) { wrong.textContent = "Nothing is changed yet."; return; }
    show(after, shown);
  }

  function show(after, shown) {
    const refused = make("p", { class: "wrong", role: "alert" });
    const save = make("button", { class: "main", type: "button", text: "Save", onclick: () => store() });
    const inner = dialog("Save this change?", [
      make("p", { class: "quiet", text: entity.version === "0" ? "It is stored if its id is not taken." : `It is stored if the entity still has version ${entity.version}.` }),
      difference(before, shown), refused], [make("button", { type: "button", text: "Back", onclick: () => inner.close() }), save]);
    save.focus();

    async function store() {
      save.disabled = true;
      try {
        const answer = await ask("save", { repository: entity.repository, id: entity.id, text: after, version: entity.version });
        inner.close();
        box.close();
        tell("Saved.", answer, changed);
      } catch (refusal) {
        const actual = refusal.detail?.actual;
        refused.textContent = actual !== undefined
          ? `Somebody changed it meanwhile: it has version ${actual} now. Nothing was stored; close this to see the newest.` : refusal.message;
        save.disabled = false;
        if (isOutdated(refusal)) changed(null);
      }
    }
  }
}

/** Whether what is shown is no longer what is stored. */
const isOutdated = ({ kind }) => kind === "VersionMismatchError" || kind === "NotFoundError";

/** Asks whether an entity is to be deleted, and deletes it. */
export function remove(entity, changed) {
  const refused = make("p", { class: "wrong", role: "alert" });
  const before = pretty(parse(entity.text));
  const sure = make("button", { class: "bad", type: "button", text: "Delete", onclick: async () => {
    try {
      const answer = await ask("delete", { repository: entity.repository, id: entity.id, version: entity.version });
      box.close();
      tell("Deleted.", answer, changed);
    } catch (refusal) {
      refused.textContent = refusal.message;
      if (isOutdated(refusal)) changed(null);
    }
  } });
  const box = dialog(`Delete ${entity.id}?`, [difference(before, ""), refused],
    [make("button", { type: "button", text: "Cancel", onclick: () => box.close() }), sure]);
  sure.focus();
}

let last = null;

function tell(words, answer, changed) {
  const made = { store: chosenStore(), number: answer.edit.number, changed };
  last = made;
  note(words, { action: ["Undo", () => takeBack(made)] });
  changed(answer);
}

/** Takes the last edit of the shown store back, whose entity has to be as that left it. */
export const undo = () => takeBack(last?.store === chosenStore() ? last : null);

async function takeBack(undone) {
  const store = undone?.store ?? chosenStore();
  try {
    if (!undone) {
      const { edits } = await ask("edits");
      const edit = edits.findLast((it) => !it.undone);
      if (!edit) return note("There is nothing to undo.");
      undone = { number: edit.number, changed: () => {} };
    }
    const answer = await ask("undo", { store, number: undone.number });
    if (undone === last) last = null;
    note("It is as it was before.");
    undone.changed(answer);
  } catch (refusal) {
    note(refusal.message, { bad: true });
  }
}
