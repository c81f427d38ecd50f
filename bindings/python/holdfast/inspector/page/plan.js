// The plan of a query as a picture: how many entities each step was handed and how many it left.

import { bytes, make, number } from "./dom.js";

const pairs = (fields) => Object.entries(fields).map(([path, way]) => (way === -1 ? `${path} ↓` : path)).join(", ");

/** The steps of a plan: { title, detail, count, mood }. */
function steps(plan, total) {
  const found = [];
  const bounds = Object.keys(plan.bounds ?? {}).length ? JSON.stringify(plan.bounds) : "";
  if (total !== null) found.push({ title: "Repository", detail: "all entities", count: total });
  if (plan.access === "index") found.push({ title: `Index ${plan.index}`, detail: bounds, count: Math.max(plan.examined, plan.matched), mood: "good" });
  else if (plan.access === "id") found.push({ title: "Ids", detail: bounds, count: Math.max(plan.examined, plan.matched), mood: "good" });
  else if (plan.access === "alternatives") {
    const ways = plan.alternatives.map((it) => (it.index ? `index ${it.index}` : it.access)).join(", ");
    found.push({ title: "Alternatives", detail: ways, count: Math.max(plan.examined, plan.matched), mood: plan.alternatives.some((it) => it.access === "scan") ? "warn" : "good" });
  } else found.push({ title: "Scan", detail: plan.examined ? "each entity in turn" : "in order, until enough", count: Math.max(plan.examined, plan.matched), mood: plan.examined > 10 * Math.max(1, plan.matched) ? "warn" : "" });
  if (!plan.exact) found.push({ title: "Filter", detail: `${number(plan.examined)} held against it`, count: plan.matched, mood: plan.examined > 10 * Math.max(1, plan.matched) ? "warn" : "" });
  if (plan.sort) found.push({ title: "Order", detail: plan.sort === "memory" ? `sorted in memory, ${bytes(plan.memory)}` : plan.sort === "index" ? "as the index has it" : "as the ids are", count: plan.matched, mood: plan.sort === "memory" ? "warn" : "good" });
  for (const stage of plan.stages) found.push({ title: stage.stage, detail: describe(stage), count: null, mood: stage.access === "scan" ? "warn" : "" });
  found.push({ title: "Answer", detail: time(plan.time_us), count: plan.returned });
  return found;
}

/** What a plan tells of a stage of a pipeline. */
export function describe(stage) {
  if (stage.group) return stage.group === "memory" ? "groups kept in memory" : "one group at a time";
  if (stage.access) return `${stage.index ? `index ${stage.index}` : stage.access}, ${number(stage.examined)} read`;
  return stage.stage === "$sortByCount" ? "sorted" : "";
}

export const time = (microseconds) => (microseconds < 1000 ? `${microseconds} µs` : `${(microseconds / 1000).toFixed(microseconds < 100000 ? 1 : 0)} ms`);

/** In a sentence: what matters about a plan. */
export function sentence(plan) {
  if (plan.access === "scan" && plan.exact && !plan.examined) return `Read in the order of ids: ${number(plan.matched)} read, ${time(plan.time_us)}`;
  const way = plan.access === "index" ? `by index ${plan.index}` : plan.access === "id" ? "by ids" : plan.access === "scan" ? "by a scan" : "by alternatives";
  return `Found ${way}: ${number(plan.examined)} examined, ${number(plan.matched)} matched, ${time(plan.time_us)}`;
}

/** The picture. `total` is how many entities there are, null where nobody has counted yet. */
export function picture(plan, total) {
  const all = steps(plan, total);
  const most = Math.max(1, ...all.map(({ count }) => count ?? 0));
  return make("ol", { class: "plan", "aria-label": "How it is found, step by step" }, all.map(({ title, detail, count, mood }) => {
    const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("span", {}));
    // By powers, so that ten of a million are seen.
    bar.firstChild.style.width = `${count ? Math.max(3, (100 * Math.log10(count + 1)) / Math.log10(most + 1)) : 0}%`;
    return make("li", { class: mood ?? "" },
      make("strong", { text: title }), make("span", { class: "mono", text: count === null ? "" : number(count) }), bar,
      make("small", { text: detail }), mood === "warn" ? make("span", { class: "hidden-text", text: "costly" }) : null);
  }));
}

/** The sentence and button that propose an index. */
export function proposal(advice, canWrite, create) {
  if (!advice) return null;
  return make("p", { class: "advice row" },
    make("span", {}, "An index over ", make("strong", { class: "mono", text: pairs(advice.fields) }), " would find this without reading the rest."),
    canWrite ? make("button", { type: "button", class: "main", text: "Make this index", onclick: create })
      : make("span", { class: "quiet", text: "Start it with --write to make one here." }));
}
