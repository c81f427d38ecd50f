// The view of a pipeline: its stages, what each gives, and how they are carried out.

import { make, number } from "./dom.js";
import { setCommands } from "./commands.js";
import { inPipeline } from "./completion.js";
import { editor } from "./editor.js";
import { grid } from "./grid.js";
import { JsonError, parse } from "./json.js";
import { recall, remember } from "./memory.js";
import { describe, picture, sentence } from "./plan.js";
import { address, note } from "./route.js";
import { ask, chosenStore } from "./session.js";
import { sampledShape } from "./shapes.js";

const EXAMPLE = '[{"$group": {"_id": "$album", "plays": {"$sum": "$plays"}}}, {"$sort": {"plays": -1}}]';
// Pipelines that are done sooner show what each stage gives without being asked.
const SOON = 2_000_000;

/** Shows it in an element; answers what ends it. */
export function show(element, { names: [repository], query }) {
  const asked = new AbortController();
  const shape = sampledShape(repository);
  const input = editor({
    label: "Pipeline", value: query.pipeline ?? recall(`pipeline ${repository}`, ""), placeholder: EXAMPLE, run: () => search(), propose: (at) => inPipeline(at, shape()),
  });
  const wrong = make("p", { class: "wrong", role: "alert" });
  const status = make("p", { class: "status", role: "status", "aria-label": "Result" });
  const stages = make("ol", { class: "stages", "aria-label": "Stages" });
  const plan = make("div", { class: "plan-box", hidden: true });
  const table = grid({ label: "Documents", columns: {}, keep: () => {}, open: () => {}, peek: () => {}, sort: () => {}, more: () => {} });
  element.append(
    make("form", { class: "query", "aria-label": "Pipeline", onsubmit: (event) => { event.preventDefault(); search(); } },
      make("div", { class: "field wide" }, make("span", { class: "label", "aria-hidden": "true", text: "Pipeline" }), input.element),
      make("div", { class: "row actions" }, make("button", { class: "main", type: "submit", title: "Ctrl+Enter", text: "Run" }))),
    wrong, stages, plan, make("div", { class: "bar-above row" }, status), make("div", { class: "data" }, table.element));
  input.area.addEventListener("keydown", (event) => { if (event.key === "Escape") table.rows.length ? table.focus() : table.element.focus(); });
  let run = 0;

  async function search() {
    const now = ++run;
    wrong.textContent = "";
    let given;
    try {
      given = input.read();
    } catch (error) {
      if (error instanceof JsonError) return;
      throw error;
    }
    if (!given) return;
    note(address(chosenStore(), "aggregate", [repository], { pipeline: input.value.trim() }));
    remember(`pipeline ${repository}`, input.value.trim());
    element.setAttribute("aria-busy", "true");
    try {
      const found = await ask("aggregate", { repository, pipeline: given.text }, asked.signal);
      if (now !== run) return;
      table.show(found.rows, { key: "" });
      status.textContent = `${number(found.rows.length)} of ${number(found.count)} documents`;
      plan.hidden = false;
      plan.replaceChildren(make("p", { text: sentence(found.plan) }), picture(found.plan, null));
      drawStages(given.text, found.plan);
    } catch (error) {
      if (now !== run || error.name === "AbortError") return;
      if (!input.refuse(error, given)) wrong.textContent = error.message;
    } finally {
      if (now === run) element.removeAttribute("aria-busy");
    }
  }

  function drawStages(text, found) {
    const parsed = parse(text);
    stages.replaceChildren(...parsed.items.map((stage, index) => {
      const name = stage.members?.[0]?.name ?? "?";
      const told = found.stages.find((it) => it.number === index);
      const rows = make("div", { class: "given mono", text: "…" });
      const box = make("details", { open: found.time_us * parsed.items.length < SOON },
        make("summary", {}, make("strong", { class: "mono", text: name }), make("span", { class: "badge", hidden: true }), " ", make("span", { class: "quiet", text: told ? describe(told) : "asked of the repository" })), rows);
      const fill = () => {
        if (box.open && rows.textContent === "…") preview(text, index + 1, rows, box.querySelector(".badge"));
      };
      box.addEventListener("toggle", fill);
      fill();
      return make("li", {}, box);
    }));
  }

  async function preview(text, upto, rows, count) {
    rows.textContent = " ";
    try {
      const found = await ask("aggregate", { repository, pipeline: text, upto }, asked.signal);
      count.hidden = false;
      count.textContent = `${number(found.count)} documents`;
      const words = found.rows.slice(0, 5).map(({ members }) => make("div", { text: `{${Object.entries(members).map(([name, value]) => `${name}: ${value}`).join(", ")}}`.slice(0, 400) }));
      rows.replaceChildren(...(words.length ? words : ["nothing"]), found.rows.length > 5 ? make("div", { class: "quiet", text: "…" }) : "");
    } catch (error) {
      if (error.name !== "AbortError") rows.textContent = error.message;
    }
  }

  setCommands([
    { name: "Focus the pipeline", key: "/", run: () => input.area.focus() },
    { name: "Focus the documents", key: "g", run: () => table.focus() },
  ]);
  if (input.value) search();
  return () => { run += 1; asked.abort(); };
}
