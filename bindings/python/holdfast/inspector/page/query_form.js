// The form of a query: filter, order, live; with what was asked before.

import { dialog, make } from "./dom.js";
import { inFilter, inSort } from "./completion.js";
import { editor } from "./editor.js";
import { recall, remember } from "./memory.js";
import { parse } from "./json.js";

const KEPT = 50;

/** Makes it. `shape()` answers what is known of the fields; `run()` asks. */
export function queryForm({ repository, query, shape, run, live }) {
  const filter = editor({ label: "Filter", value: query.filter ?? "", placeholder: '{plays: {$gte: 10}}', isShort: true, run, propose: (at) => inFilter(at, shape()) });
  const order = editor({ label: "Sort", value: query.sort ?? "", placeholder: "{plays: -1}", isShort: true, run, propose: (at) => inSort(at, shape()) });
  const skip = make("input", { type: "number", min: "0", step: "1", value: query.skip ?? "0", "aria-label": "Skip", name: "skip" });
  const isLive = make("input", { type: "checkbox", name: "live", checked: query.live === "1", onchange: live });
  const element = make("form", { class: "query", role: "search", "aria-label": "Query", onsubmit: (event) => { event.preventDefault(); run(); } },
    make("div", { class: "field wide" }, make("span", { class: "label", "aria-hidden": "true", text: "Filter" }), filter.element),
    make("div", { class: "field" }, make("span", { class: "label", "aria-hidden": "true", text: "Sort" }), order.element),
    make("label", { class: "field narrow" }, make("span", { class: "label", text: "Skip" }), skip),
    make("div", { class: "row actions" },
      make("button", { class: "main", type: "submit", title: "Ctrl+Enter" }, "Find"),
      make("label", { class: "row check" }, isLive, "Live"),
      make("button", { class: "plain", type: "button", text: "History", onclick: () => showHistory() })));
  let read = {};

  const past = () => recall(`history ${repository}`, []);

  function showHistory() {
    const list = make("ul", { class: "history" }, past().map((it) => make("li", {}, make("button", {
      type: "button", class: "plain mono", onclick: () => { filter.value = it.filter ?? ""; order.value = it.sort ?? ""; box.close(); run(); },
    }, it.filter || "{}", it.sort ? make("span", { class: "quiet", text: `  sort ${it.sort}` }) : null))));
    const box = dialog("Asked before", past().length ? list : make("p", { class: "quiet", text: "Nothing was asked here yet." }),
      past().length ? [make("button", { type: "button", text: "Forget all", onclick: () => { remember(`history ${repository}`, null); box.close(); } })] : []);
    list.querySelector("button")?.focus();
  }

  return {
    element,
    /** What is asked for. Throws where something is no JSON, after marking it. */
    read() {
      read = { filter: filter.read(), sort: order.read() };
      return {
        filter: read.filter?.text, sort: read.sort ? JSON.parse(read.sort.text) : undefined,
        skip: skip.valueAsNumber || 0, live: isLive.checked || undefined,
      };
    },
    /** What is typed, for the address. */
    typed: () => ({ filter: filter.value.trim(), sort: order.value.trim(), skip: skip.value === "0" ? "" : skip.value, live: isLive.checked ? "1" : "" }),
    /** Keeps what was asked, the newest first. */
    keep() {
      const now = { filter: filter.value.trim(), sort: order.value.trim() };
      if (!now.filter && !now.sort) return;
      const others = past().filter((it) => it.filter !== now.filter || it.sort !== now.sort);
      if (others.length === past().length || past()[0]?.filter !== now.filter) remember(`history ${repository}`, [now, ...others].slice(0, KEPT));
    },
    /** Shows a refusal at its place; answers whether it has one. */
    refuse: (refusal) => filter.refuse(refusal, read.filter),
    get sort() {
      try { return order.value.trim() ? Object.fromEntries(parse(order.value).members.map(({ name, value }) => [name, Number(value.raw)])) : {}; } catch { return {}; }
    },
    set sort(fields) { order.value = Object.keys(fields).length ? JSON.stringify(fields) : ""; },
    focus: () => { filter.area.focus(); filter.area.setSelectionRange(0, filter.area.value.length); },
    toggleLive: () => { isLive.checked = !isLive.checked; live(); },
  };
}
