// The view of a repository's shape and indexes.

import { bytes, dialog, make, note, number } from "./dom.js";
import { setCommands } from "./commands.js";
import { makeIndex } from "./index_form.js";
import { followJob } from "./jobs.js";
import { ask } from "./session.js";
import { forgetShape } from "./shapes.js";

/** Shows it in an element; answers what ends it. */
export function show(element, { names: [repository] }, { canWrite, heading }) {
  const asked = new AbortController();
  const wrong = make("p", { class: "wrong", role: "alert" });
  const fields = make("section", { class: "card whole" }, make("h2", { text: "Shape" }));
  const indexes = make("section", { class: "card whole" }, make("h2", { text: "Indexes" }));
  element.append(wrong, make("div", { class: "cards one" }, indexes, fields));
  let isEnded = false, entries = {};

  async function load() {
    try {
      const shape = await ask("sampled", { repository }, asked.signal);
      if (isEnded) return;
      heading.total(shape.count);
      drawIndexes(shape.indexes);
      drawFields(shape);
    } catch (error) {
      if (error.name !== "AbortError") wrong.textContent = error.message;
    }
  }

  function drawFields(shape) {
    const share = (count) => `${Math.round((100 * count) / shape.sampled)} %`;
    fields.replaceChildren(fields.firstChild,
      make("p", { class: "quiet", text: `From ${number(shape.sampled)} of ${number(shape.count)} entities, the first and the last by id; about ${bytes(shape.bytes)} in all, the largest of them ${bytes(shape.largest)}.` }),
      make("table", { class: "plain" }, make("thead", {}, make("tr", {}, ["Path", "In", "Types", "Values"].map((text) => make("th", { scope: "col", text })))),
        make("tbody", {}, shape.fields.map((field) => {
          const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("span", {}));
          bar.firstChild.style.width = share(field.in).replace(" ", "");
          return make("tr", {},
            make("td", { class: "mono", text: field.path }),
            make("td", { class: "figure" }, share(field.in), bar),
            make("td", {}, Object.entries(field.types).map(([type, count]) => make("span", { class: `badge type-${type}`, text: Object.keys(field.types).length > 1 ? `${type} ${share(count)}` : type }))),
            make("td", { class: "mono quiet" }, field.values.common.join("  ")));
        }))));
  }

  function drawIndexes(found) {
    const words = ({ fields: paths, kind }) => Object.entries(paths).map(([path, way]) => (kind === "text" ? `${path} ×${way}` : way === -1 ? `${path} ↓` : path)).join(", ");
    indexes.replaceChildren(indexes.firstChild,
      found.length ? make("table", { class: "plain" }, make("thead", {}, make("tr", {}, ["Name", "Paths", "Kind", "State", "Entries", ""].map((text) => make("th", { scope: "col" }, text || make("span", { class: "hidden-text", text: "Actions" }))))),
        make("tbody", {}, found.map((it) => make("tr", {},
          make("td", { class: "mono", text: it.name }), make("td", { class: "mono", text: words(it) }),
          make("td", {}, make("span", { class: "badge", text: it.kind === "text" ? `words, ${it.language}` : it.unique ? "unique" : "values" }), it.expire_after_ms !== undefined ? make("span", { class: "badge", text: `expires after ${number(it.expire_after_ms / 1000)} s` }) : null),
          make("td", {}, make("span", { class: `badge ${it.state === "ready" && !it.outdated ? "good" : "warn"}`, text: it.outdated ? "outdated" : it.state })),
          make("td", { class: "figure", text: !Object.hasOwn(entries, it.name) ? "–" : number(entries[it.name]) }),
          make("td", {}, canWrite ? make("button", { type: "button", class: "bad", text: "Drop", "aria-label": `Drop ${it.name}`, onclick: () => drop(it) }) : null))))) : make("p", { class: "quiet", text: "There are none: each filter but one of ids looks at every entity." }),
      make("div", { class: "row" },
        canWrite ? make("button", { type: "button", class: "main", text: "Make an index", onclick: () => makeIndex(repository, null, load) }) : make("span", { class: "quiet", text: "Start it with --write to make and drop indexes." }),
        make("button", { type: "button", text: "Count entries", title: "Reads everything", onclick: count })));
  }

  async function count() {
    const progress = make("div", { role: "status" });
    indexes.append(progress);
    const job = await ask("verify");
    const ended = await followJob(job.number, progress);
    const told = ended.result?.repositories?.find(({ name }) => name === repository);
    entries = Object.fromEntries((told?.indexes ?? []).map((it) => [it.name, it.entries]));
    progress.remove();
    load();
  }

  function drop(index) {
    const sure = make("button", { type: "button", class: "bad", text: "Drop", onclick: async () => {
      try {
        const job = await ask("drop_index", { repository, name: index.name });
        box.close();
        const ended = await followJob(job.number, make("div"));
        if (ended.state === "failed") note(ended.result.error, { bad: true });
        forgetShape(repository);
        load();
      } catch (error) { note(error.message, { bad: true }); }
    } });
    const box = dialog(`Drop the index ${index.name}?`, make("p", { text: "No entity is lost. Queries that used it look at every entity until it is made again." }), [make("button", { type: "button", text: "Cancel", onclick: () => box.close() }), sure]);
    sure.focus();
  }

  setCommands([
    canWrite && { name: "Make an index", key: "i", run: () => makeIndex(repository, null, load) },
    { name: "Count the indexes' entries", run: count },
  ]);
  load();
  return () => { isEnded = true; asked.abort(); };
}
