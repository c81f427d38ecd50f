// The view of changes: what is committed, as it is committed, newest first.

import { clock, make, number } from "./dom.js";
import { setCommands } from "./commands.js";
import { address, note } from "./route.js";
import { chosenStore, listen } from "./session.js";

const KEPT = 5000, SHOWN = 300;
const SPANS = { "": "all", 60: "the last minute", 600: "the last 10 minutes", 3600: "the last hour" };

/** Shows it in an element; answers what ends it. */
export function show(element, { query }, { store }) {
  let changes = [], waiting = [], missed = 0, isPaused = false, recorded = 0, drawn = false;
  const select = (label, name, options) => {
    const made = make("select", { name, "aria-label": label, onchange: () => filter() }, Object.entries(options).map(([value, text]) => make("option", { value, text, selected: value === (query[name] ?? "") })));
    return made;
  };
  const repository = select("Repository", "repository", { "": "all repositories", ...Object.fromEntries(store.repositories.map(({ name }) => [name, name])) });
  const operation = select("What happened", "operation", { "": "all changes", put: "stored", insert: "inserted", update: "updated", delete: "deleted", drop: "dropped", rename: "renamed" });
  const span = select("When", "span", SPANS);
  const id = make("input", { type: "search", name: "id", value: query.id ?? "", placeholder: "part of an id", "aria-label": "Id", oninput: () => filter() });
  const pause = make("button", { type: "button", "aria-pressed": "false", onclick: () => turn() }, "Pause");
  const status = make("p", { class: "status", role: "status", "aria-label": "Result" });
  const wrong = make("p", { class: "wrong", role: "alert" });
  const body = make("tbody", {});
  element.append(
    make("div", { class: "heading" }, make("h1", { text: "Changes" })),
    make("form", { class: "query", role: "search", "aria-label": "Changes", onsubmit: (event) => event.preventDefault() },
      make("div", { class: "row actions" }, span, repository, operation, id, pause)),
    wrong, make("div", { class: "bar-above" }, status),
    make("div", { class: "list", tabindex: "0", role: "region", "aria-label": "Changes, newest first" },
      make("table", { class: "plain changes" }, make("thead", {}, make("tr", {}, ["When", "What", "Repository", "Id", "Commit"].map((text) => make("th", { scope: "col", text })))), body)));

  function filter() {
    note(address(chosenStore(), "changes", [], { repository: repository.value, operation: operation.value, span: span.value, id: id.value }));
    draw();
  }

  function fits(change) {
    const kind = operation.value;
    return (!repository.value || change.repository === repository.value) && (!id.value || change.id.includes(id.value))
      && (!kind || change.operation === kind || kind === "put" && ["insert", "update"].includes(change.operation))
      && (!span.value || change.time > Date.now() - 1000 * Number(span.value));
  }

  function row(change) {
    const link = change.id && change.operation !== "delete"
      ? make("a", { class: "mono", href: address(chosenStore(), "entity", [change.repository, change.id]), text: change.id }) : make("span", { class: "mono", text: change.id || (change.to ? `→ ${change.to}` : "") });
    return make("tr", {},
      make("td", { class: "figure when", title: new Date(change.time).toISOString(), text: clock(change.time) }),
      make("td", {}, make("span", { class: `badge op-${change.operation}`, text: change.operation === "put" ? "stored" : change.operation })),
      make("td", { text: change.repository }), make("td", {}, link), make("td", { class: "figure", text: change.sequence }));
  }

  function draw() {
    drawn = false;
    const found = changes.filter(fits);
    const hadFocus = body.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    body.replaceChildren(...found.slice(-SHOWN).reverse().map(row));
    if (hadFocus) [...body.querySelectorAll("a")].find((it) => it.getAttribute("href") === hadFocus)?.focus();
    const more = found.length > SHOWN ? `${number(SHOWN)} of ` : "";
    status.textContent = `${more}${number(found.length)} ${found.length === 1 ? "change" : "changes"}${missed ? `; ${number(missed)} more came too fast to be listed` : ""}${isPaused ? `; paused, ${number(waiting.length)} wait` : ""}`;
  }

  function turn() {
    isPaused = !isPaused;
    pause.setAttribute("aria-pressed", String(isPaused));
    pause.textContent = isPaused ? "Go on" : "Pause";
    if (!isPaused) { changes = [...changes, ...waiting].slice(-KEPT); waiting = []; }
    draw();
  }

  const stop = listen("changes", () => ({ after: recorded }), {
    state: (refusal) => { wrong.textContent = refusal ? refusal.message : ""; },
    line: (told) => {
      recorded = told.recorded;
      missed += told.missed;
      if (isPaused) waiting = [...waiting, ...told.changes].slice(-KEPT);
      else changes = [...changes, ...told.changes].slice(-KEPT);
      // Once a frame, however many lines come in it.
      if (!drawn) { drawn = true; requestAnimationFrame(draw); }
    },
  });
  // What is in the last minute is another thing a second later.
  const timer = setInterval(() => { if (span.value && !isPaused) draw(); }, 1000);
  setCommands([
    { name: "Pause, or go on", key: "p", run: turn },
    { name: "What changed in the last minute", key: "m", run: () => { span.value = "60"; filter(); element.querySelector(".list").focus(); } },
    { name: "Look for an id", key: "/", run: () => id.focus() },
    { name: "Go to the list of changes", key: "g", run: () => element.querySelector(".list").focus() },
  ]);
  draw();
  return () => { stop(); clearInterval(timer); };
}
