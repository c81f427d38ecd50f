// The page of an entity: tree and text, version, and the commits that changed it.

import { ago, bytes, clock, copy, make, number, sign } from "./dom.js";
import { setCommands } from "./commands.js";
import { edit, remove, undo } from "./edit.js";
import { coloured } from "./grid.js";
import { parse, pretty } from "./json.js";
import { address, current, go, note, whereLeft } from "./route.js";
import { ask, chosenStore } from "./session.js";
import { tree } from "./tree.js";

const LONG = 200_000;

/** Shows it in an element; answers what ends it. */
export function show(element, { names: [repository, id], query }, { canWrite }) {
  const asked = new AbortController();
  const wrong = make("p", { class: "wrong", role: "alert" });
  const facts = make("p", { class: "row facts" });
  const actions = make("div", { class: "row" });
  const body = make("div", { class: "entity-body" });
  // Apart from the heading, which may have the focus when they come.
  const commits = make("div", {}, make("p", { class: "quiet", text: "…" }));
  const past = make("section", { class: "past", "aria-labelledby": "past-heading" }, make("h2", { id: "past-heading", tabindex: "-1", text: "Changes" }), commits);
  element.append(
    make("div", { class: "heading" },
      make("a", { class: "button", href: whereLeft(chosenStore(), repository).list, "aria-label": `All of ${repository}` }, sign("back"), repository),
      make("h1", { class: "mono", text: id }), make("span", { class: "gap" }), actions),
    facts, wrong, make("div", { class: "entity" }, body, past));
  let entity = null, shown = null, isText = query.as === "text";

  async function load() {
    wrong.textContent = "";
    try {
      entity = { ...await ask("entity", { repository, id }, asked.signal), repository };
    } catch (error) {
      if (error.name === "AbortError") return;
      entity = null;
      body.replaceChildren();
      facts.replaceChildren();
      actions.replaceChildren();
      wrong.textContent = error.message;
    }
    if (entity) draw();
    history();
  }

  function draw() {
    facts.replaceChildren(
      make("span", { class: "badge", text: `version ${entity.version}` }), make("span", { class: "badge", text: bytes(entity.bytes) }));
    actions.replaceChildren(...[
      make("button", { type: "button", "aria-pressed": String(!isText), text: "Tree", onclick: () => turn(false) }),
      make("button", { type: "button", "aria-pressed": String(isText), text: "Text", onclick: () => turn(true) }),
      make("button", { type: "button", text: "Copy", onclick: copyAll }),
      make("button", { type: "button", text: "Copy link", onclick: copyLink }),
      canWrite && make("button", { type: "button", class: "main", text: "Edit", onclick: change }),
      canWrite && make("button", { type: "button", class: "bad", text: "Delete", onclick: () => remove(entity, load) })].filter(Boolean));
    const node = parse(entity.text);
    shown = isText ? null : tree(node, { label: `Members of ${id}`, edit: canWrite ? (value, path) => edit(entity, { node: value, path, changed: again }) : null });
    body.replaceChildren(shown?.element ?? text(pretty(node)));
  }

  function text(whole) {
    const box = make("pre", { class: "mono text", tabindex: "0", "aria-label": "Text" });
    if (whole.length <= LONG) box.append(...whole.length < 40_000 ? [...coloredLines(whole)] : [whole]);
    else {
      box.append(whole.slice(0, LONG), make("button", { type: "button", text: `Show all ${bytes(whole.length)}`, onclick: () => box.replaceChildren(whole) }));
    }
    return box;
  }

  function* coloredLines(whole) {
    for (const line of whole.split("\n")) { yield line.length < 300 ? coloured(line) : line; yield "\n"; }
  }

  function turn(to) {
    isText = to;
    note(address(chosenStore(), "entity", [repository, id], { ...current().query, as: to ? "text" : "" }));
    draw();
  }

  async function history() {
    try {
      const { changes, count } = await ask("history", { repository, id }, asked.signal);
      const rows = changes.map((it) => make("tr", {},
        make("td", {}, make("span", { class: `badge op-${it.operation}`, text: it.operation === "put" ? "stored" : it.operation })),
        make("td", { title: new Date(it.time).toISOString() }, clock(it.time), " ", make("span", { class: "quiet", text: ago(it.time) })),
        make("td", { class: "figure", text: it.sequence })));
      commits.replaceChildren(count
        ? make("table", { class: "plain" }, make("thead", {}, make("tr", {}, ["What", "When", "Commit"].map((name) => make("th", { scope: "col", text: name })))), make("tbody", {}, rows))
        : make("p", { class: "quiet", text: "The store's log no longer has a change of it." }),
      count > changes.length ? make("p", { class: "quiet", text: `and ${number(count - changes.length)} before` }) : "");
    } catch (error) {
      if (error.name !== "AbortError") commits.replaceChildren(make("p", { class: "quiet", text: error.message }));
    }
  }

  async function again(answer) {
    // An undo may have stored it under another id, or taken it away.
    await load();
    if (answer && shown) shown.focus();
  }

  const change = () => entity && edit(entity, { changed: again });
  const copyAll = () => entity && copy(pretty(parse(entity.text)), "The entity");
  const copyLink = () => copy(location.href, "The link");

  setCommands([
    { name: "Show the tree", key: "t", run: () => { turn(false); shown?.focus(); } },
    { name: "Show the text", key: "v", run: () => turn(true) },
    { name: "See its changes (history)", key: "h", run: () => past.firstChild.focus() },
    { name: "Copy the entity", key: "y", run: copyAll },
    { name: "Copy the link to it", run: copyLink },
    { name: `Back to ${repository}`, key: "Escape", run: () => go(whereLeft(chosenStore(), repository).list) },
    canWrite && { name: "Edit the entity", key: "E", run: change },
    canWrite && { name: "Delete the entity", key: "D", run: () => entity && remove(entity, load) },
    canWrite && { name: "Undo the last edit", key: "u", run: undo },
  ]);
  load();
  return () => asked.abort();
}
