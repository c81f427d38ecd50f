// The view of a repository's entities: a query, the rows that it finds, and how it found them.

import { bytes, copy, dialog, make, note as tell, number, sign } from "./dom.js";
import { setCommands } from "./commands.js";
import { edit, undo } from "./edit.js";
import { grid } from "./grid.js";
import { JsonError, parse, pretty } from "./json.js";
import { recall, remember } from "./memory.js";
import { picture, proposal, sentence } from "./plan.js";
import { queryForm } from "./query_form.js";
import { address, go, leave, note, whereLeft } from "./route.js";
import { ask, chosenStore, listen } from "./session.js";
import { sampledShape } from "./shapes.js";
import { tree } from "./tree.js";
import { makeIndex } from "./index_form.js";

const PAGE = 100;

/** Shows it in an element; answers what ends it. */
export function show(element, { names: [repository], query }, { heading, canWrite }) {
  const asked = new AbortController();
  let stop = null, run = 0, next = null, isLoading = false, total = null, all = null, lastPlan = null, key = "id", given = null, extra = "";
  const columns = recall(`columns ${repository}`, {});
  const shape = sampledShape(repository);

  const form = queryForm({ repository, query, shape, run: () => search(), live: () => search() });
  const wrong = make("p", { class: "wrong", role: "alert" });
  const status = make("p", { class: "status", role: "status", "aria-label": "Result" });
  const planBox = make("details", { class: "plan-box", hidden: true }, make("summary", {}), make("div", {}));
  const peekBox = make("aside", { class: "peek", hidden: true, "aria-label": "Value" });
  const table = grid({
    label: `Entities of ${repository}`, columns,
    keep: (chosen) => remember(`columns ${repository}`, chosen),
    open,
    peek, sort, more,
  });
  const bar = make("div", { class: "bar-above row" }, status, make("span", { class: "gap" }),
    make("button", { class: "plain", type: "button", onclick: chooseColumns }, sign("columns"), "Columns"),
    canWrite ? make("button", { type: "button", text: "New entity", onclick: () => add() }) : null);
  // Out of the fields, where keys are commands again.
  form.element.addEventListener("keydown", (event) => { if (event.key === "Escape") { table.rows.length ? table.focus() : table.element.focus(); } });
  element.append(form.element, wrong, planBox, bar, make("div", { class: "data" }, table.element, peekBox));

  function open(row) {
    leave(chosenStore(), repository, location.hash, row.id);
    go(address(chosenStore(), "entity", [repository, row.id]));
  }

  function chosen() {
    return { repository, ...form.read(), limit: PAGE };
  }

  async function search() {
    // An edit may be undone when another view is shown.
    if (asked.signal.aborted) return;
    const number_ = ++run;
    stop?.();
    stop = null;
    wrong.textContent = "";
    try {
      given = chosen();
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      return;
    }
    note(address(chosenStore(), "data", [repository], form.typed()));
    form.keep();
    element.setAttribute("aria-busy", "true");
    const slow = setTimeout(() => { status.textContent = "Searching…"; }, 400);
    const asks = given;
    try {
      if (asks.live) await follow(asks, number_);
      else {
        const found = await ask("find", asks, asked.signal);
        if (number_ !== run) return;
        next = found.next;
        key = found.key;
        table.show(found.rows, { key, sort: asks.sort ?? {}, end: !next });
        // Who comes back from an entity goes on at its row.
        const { list, id } = whereLeft(chosenStore(), repository);
        if (id !== null && list === location.hash && document.activeElement === document.body) table.focus(id);
        tellTotal("");
      }
      explain(asks, number_);
      count(asks, number_);
    } catch (error) {
      if (number_ === run) refuse(error);
    } finally {
      clearTimeout(slow);
      if (number_ === run) element.removeAttribute("aria-busy");
    }
  }

  function refuse(error) {
    if (error.name === "AbortError") return;
    wrong.textContent = "";
    if (form.refuse(error, given)) return;
    wrong.textContent = error.message;
    if (error.kind === "CorruptError") wrong.append(" Verify the store, on its page, to see what else is damaged.");
  }

  function tellTotal(words = extra) {
    extra = words;
    const shown = table.rows.length;
    const of = total === null ? (next ? "…" : number(shown)) : number(total);
    status.textContent = `${number(shown)} of ${of}${words}`;
  }

  async function count({ filter }, number_) {
    try {
      total = null;
      const found = await ask("count", { repository, filter }, asked.signal);
      if (number_ !== run) return;
      total = found.count;
      if (!filter) { all = total; heading.total(all); }
      tellTotal();
      if (lastPlan) drawPlan();
    } catch (error) {
      if (number_ === run) refuse(error);
    }
  }

  async function explain(asks, number_) {
    try {
      const { live, ...asking } = asks;
      const found = await ask("explain", asking, asked.signal);
      if (number_ !== run) return;
      lastPlan = found;
      drawPlan();
    } catch (error) {
      if (number_ === run) refuse(error);
    }
  }

  function drawPlan() {
    const { plan, advice, can_write } = lastPlan;
    planBox.hidden = false;
    const costly = advice !== null;
    planBox.querySelector("summary").replaceChildren(
      make("span", { class: `badge ${costly ? "warn" : "good"}`, text: costly ? "costly" : "fine" }), ` ${sentence(plan)}`);
    planBox.querySelector("div").replaceChildren(
      picture(plan, all), ...[proposal(advice, can_write, indexAdvised)].filter(Boolean));
  }

  const indexAdvised = () => makeIndex(repository, lastPlan.advice, () => search());

  async function more() {
    if (isLoading || !next || stop) return;
    isLoading = true;
    const number_ = run;
    try {
      const { live, ...asking } = given;
      const found = await ask("find", { ...asking, ...next }, asked.signal);
      if (number_ !== run) return;
      next = found.next;
      table.show(found.rows, { isMore: true, sort: given.sort ?? {}, end: !next });
      tellTotal();
    } catch (error) {
      if (number_ === run) refuse(error);
    } finally {
      isLoading = false;
    }
  }

  /** Follows the result; what came and what changed is marked for a while, what went is told. */
  function follow({ live, ...asks }, number_) {
    next = null;
    let versions = null;
    return new Promise((begun) => {
      stop = listen("live", asks, {
        state: (refusal) => { if (refusal) { refuse(refusal); begun(); } else wrong.textContent = ""; },
        line: (told) => {
          if (number_ !== run) return;
          const classes = new Map();
          const now = new Map(told.rows.map((row) => [row.id, row.version]));
          let came = 0, changed = 0;
          const gone = versions ? [...versions.keys()].filter((id) => !now.has(id)) : [];
          if (versions) {
            for (const [id, version] of now) {
              if (!versions.has(id)) { classes.set(id, "came"); came += 1; } else if (versions.get(id) !== version) { classes.set(id, "changed"); changed += 1; }
            }
          }
          versions = now;
          ({ key } = told);
          table.show(told.rows, { key, sort: asks.sort ?? {}, classes });
          total = null;
          const words = [[came, "came"], [changed, "changed"], [gone.length, `went (${gone.slice(0, 3).join(", ")}${gone.length > 3 ? ", …" : ""})`]].filter(([it]) => it).map(([it, word]) => `${it} ${word}`);
          next = null;
          tellTotal(words.length ? `, live: ${words.join(", ")}` : ", live");
          begun();
        },
      });
    });
  }

  function sort(name, isMore) {
    const order = isMore ? { ...form.sort } : {};
    const way = form.sort[name];
    delete order[name];
    if (way !== -1) order[name] = way === 1 ? -1 : 1;
    form.sort = order;
    search();
  }

  async function peek(row, name) {
    let text = row.members[name];
    if (text === undefined) return;
    if (row.cut[name]) {
      const { text: whole } = await ask("entity", { repository, id: row.id });
      const found = parse(whole).members.find((it) => it.name === name);
      text = found ? whole.slice(found.value.from, found.value.to) : "null";
    }
    const node = parse(text);
    const before = document.activeElement;
    const close = () => { peekBox.hidden = true; before?.isConnected ? before.focus() : table.focus(); };
    const shown = node.raw === undefined ? tree(node, { label: name }) : null;
    peekBox.replaceChildren(
      make("div", { class: "row" }, make("strong", { class: "mono", text: name }), make("span", { class: "quiet mono", text: row.id }), make("span", { class: "gap" }),
        make("button", { class: "plain", type: "button", text: "Copy", onclick: () => copy(node.value ?? pretty(node), "The value") }),
        make("button", { class: "plain", type: "button", text: "Open", onclick: () => open(row) }),
        make("button", { class: "plain", type: "button", "aria-label": "Close", onclick: close }, sign("close"))),
      shown?.element ?? make("pre", { class: "mono", tabindex: "0", text: node.value ?? node.raw }),
      make("p", { class: "quiet", text: bytes(new TextEncoder().encode(text).length) }));
    peekBox.hidden = false;
    peekBox.onkeydown = (event) => { if (event.key === "Escape") { event.stopPropagation(); close(); } };
    shown ? shown.focus() : peekBox.querySelector("pre").focus({ preventScroll: true });
  }

  function chooseColumns() {
    const list = make("ul", { class: "columns" });
    const draw = () => list.replaceChildren(...table.names.map((name, index) => make("li", { class: "row" },
      make("label", { class: "row" }, make("input", {
        type: "checkbox", checked: !columns.hidden?.includes(name), onchange: (event) => {
          columns.hidden = event.target.checked ? (columns.hidden ?? []).filter((it) => it !== name) : [...(columns.hidden ?? []), name];
          changed();
        },
      }), make("span", { class: "mono", text: name })),
      make("span", { class: "gap" }),
      make("button", { class: "plain", type: "button", "aria-label": `${name} further left`, disabled: index < 2, text: "←", onclick: () => move(index, -1) }),
      make("button", { class: "plain", type: "button", "aria-label": `${name} further right`, disabled: !index || index === table.names.length - 1, text: "→", onclick: () => move(index, 1) }))));
    const move = (index, by) => {
      const order = [...table.names];
      order.splice(index + by, 0, ...order.splice(index, 1));
      columns.order = order;
      changed();
    };
    const changed = () => { table.again(); remember(`columns ${repository}`, columns); draw(); };
    draw();
    dialog("Columns", list, [make("button", { type: "button", text: "As before", onclick: () => { for (const name of Object.keys(columns)) delete columns[name]; changed(); } })]);
  }

  function add() {
    edit({ repository, id: null, version: "0", text: "" }, { changed: () => search() });
  }

  setCommands([
    { name: "Focus the filter", key: "/", run: () => form.focus() },
    { name: "Focus the grid", key: "g", run: () => table.focus() },
    { name: "Follow the query live", key: "l", run: () => form.toggleLive() },
    { name: "Show how it is found (explain)", key: "x", run: () => { planBox.open = true; planBox.querySelector("summary").focus(); } },
    { name: "Make the index that would help", key: "i", run: () => (lastPlan?.advice && canWrite ? indexAdvised() : tell(lastPlan?.advice ? "Start it with --write to make an index." : "No index would help this query.")) },
    { name: "Choose columns", key: "o", run: chooseColumns },
    { name: "Copy the link to this query", run: () => copy(location.href, "The link") },
    canWrite && { name: "New entity", key: "n", run: add },
    canWrite && { name: "Undo the last edit", key: "u", run: undo },
  ]);
  search();
  return () => { run += 1; asked.abort(); stop?.(); };
}
