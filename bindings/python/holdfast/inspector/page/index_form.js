// Making an index: a form, and the work that the server then does.

import { dialog, make, note } from "./dom.js";
import { parse, strict } from "./json.js";
import { ask } from "./session.js";
import { forgetShape } from "./shapes.js";
import { followJob } from "./jobs.js";

/** Asks for an index's fields and name, beginning with what is advised; `made()` is called once it is there. */
export function makeIndex(repository, advice, made) {
  const fields = make("input", { class: "mono", value: advice ? JSON.stringify(advice.fields) : "", placeholder: '{"plays": 1}', required: true });
  const name = make("input", { class: "mono", value: advice?.name ?? "", placeholder: "by default the paths" });
  const unique = make("input", { type: "checkbox" });
  const text = make("input", { type: "checkbox" });
  const wrong = make("p", { class: "wrong", role: "alert" });
  const progress = make("div", { role: "status" });
  const begin = make("button", { class: "main", type: "submit", text: "Make the index" });
  const form = make("form", { id: "index-form", onsubmit: (event) => { event.preventDefault(); start(); } },
    make("label", {}, "Fields, 1 ascending and -1 descending", fields), make("label", {}, "Name", name),
    make("div", { class: "row" }, make("label", { class: "row" }, unique, "unique"), make("label", { class: "row" }, text, "words, for $text")), wrong, progress);
  begin.setAttribute("form", "index-form");
  const box = dialog(`An index of ${repository}`, form, [make("button", { type: "button", text: "Close", onclick: () => box.close() }), begin]);
  (advice ? begin : fields).focus();

  async function start() {
    wrong.textContent = "";
    try {
      const job = await ask("create_index", {
        repository, fields: JSON.parse(strict(parse(fields.value)).text), name: name.value || undefined, unique: unique.checked, kind: text.checked ? "text" : undefined,
      });
      begin.disabled = true;
      const ended = await followJob(job.number, progress);
      if (ended.state === "done") {
        forgetShape(repository);
        box.close();
        note(`The index of ${repository} is there.`);
        made();
      } else {
        wrong.textContent = ended.result?.error ?? "It was cancelled.";
        begin.disabled = false;
      }
    } catch (error) {
      wrong.textContent = error.message;
    }
  }
}
