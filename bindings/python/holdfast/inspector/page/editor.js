// The editor of queries: a text area over the same text in colours, with proposals, and errors at their place.

import { make } from "./dom.js";
import { fitting, place } from "./completion.js";
import { JsonError, parse, strict, tokens } from "./json.js";

let made = 0;

/**
 * Makes an editor. `propose(place)` answers what could stand at a place; `run()` is Ctrl+Enter, and Enter where
 * it `isShort`. `read()` gives { text, placeOf } in strict JSON, null where nothing is typed; where it is no
 * JSON it marks the place and throws.
 */
export function editor({ label, value = "", placeholder = "", propose, run, isShort = false }) {
  const id = `editor-${made += 1}`;
  const coloured = make("pre", { "aria-hidden": "true" });
  const list = make("ul", { class: "proposals", id: `${id}-list`, role: "listbox", "aria-label": `Proposals for ${label}`, hidden: true });
  const error = make("p", { class: "editor-error", id: `${id}-error`, role: "alert" });
  const area = make("textarea", {
    spellcheck: "false", autocapitalize: "off", autocomplete: "off", rows: "1", "aria-label": label, placeholder, value,
    "aria-autocomplete": "list", "aria-controls": list.id, "aria-describedby": error.id,
  });
  const box = make("div", { class: "editor" }, coloured, area, list);
  let proposals = [], chosen = 0, wrongAt = null;

  function colour() {
    const pieces = tokens(area.value).map(({ text, kind, from }) => {
      const marked = wrongAt !== null && from <= wrongAt && wrongAt < from + text.length && kind !== "space";
      return make(marked ? "mark" : "span", { class: `v-${kind}`, text });
    });
    if (wrongAt !== null && wrongAt >= area.value.length) pieces.push(make("mark", { text: " " }));
    coloured.replaceChildren(...pieces, "\n");
    coloured.lastChild.textContent = area.value.endsWith("\n") || !area.value ? "\u200b\n" : "\n";
  }

  function tell(message = "", at = null) {
    wrongAt = message ? at : null;
    error.textContent = message;
    area.setAttribute("aria-invalid", String(Boolean(message)));
    colour();
  }

  function close() {
    list.hidden = true;
    area.removeAttribute("aria-activedescendant");
  }

  function open(all = false) {
    const at = place(area.value, area.selectionStart);
    proposals = at.typed || all ? fitting(propose(at), at.typed) : [];
    if (!proposals.length || proposals.length === 1 && proposals[0].text === at.typed) return close();
    chosen = 0;
    list.replaceChildren(...proposals.map((it, index) => make("li", {
      role: "option", id: `${id}-${index}`, onmousedown: (event) => { event.preventDefault(); accept(index); },
    }, make("span", { text: it.text }), make("small", { text: it.hint ?? "" }))));
    choose(0);
    list.hidden = false;
    const end = measure(at.from);
    list.style.left = `${Math.max(0, Math.min(end.left, box.clientWidth - 240))}px`;
    list.style.top = `${end.bottom + 2}px`;
  }

  /** Where a place of the text is on the screen, found in the coloured text, which is laid out alike. */
  function measure(at) {
    const range = document.createRange();
    let rest = at;
    for (const child of coloured.childNodes) {
      const text = child.firstChild ?? child;
      if (rest <= text.length) { range.setStart(text, rest); break; }
      rest -= text.length;
    }
    range.collapse(true);
    const [found, around] = [range.getBoundingClientRect(), box.getBoundingClientRect()];
    return found.height ? { left: found.left - around.left, bottom: found.bottom - around.top } : { left: 8, bottom: 28 };
  }

  function choose(index) {
    list.children[chosen]?.setAttribute("aria-selected", "false");
    chosen = (index + proposals.length) % proposals.length;
    const item = list.children[chosen];
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    area.setAttribute("aria-activedescendant", item.id);
  }

  function accept(index) {
    const at = place(area.value, area.selectionStart);
    area.focus();
    area.setSelectionRange(at.from, at.to);
    // As if it was typed, so that the browser's own undo takes it back.
    const tail = !at.isValue && !/^\s*:/.test(area.value.slice(at.to)) ? ": " : "";
    if (!document.execCommand("insertText", false, proposals[index].insert + tail)) area.setRangeText(proposals[index].insert + tail, at.from, at.to, "end");
    close();
  }

  const PAIRS = { "{": "}", "[": "]" };
  area.addEventListener("keydown", (event) => {
    const isOpen = !list.hidden;
    const used = () => { event.preventDefault(); event.stopPropagation(); };
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { used(); close(); run(); }
    else if (isOpen && (event.key === "Enter" || event.key === "Tab") && !event.shiftKey) { used(); accept(chosen); }
    else if (isOpen && event.key === "ArrowDown") { used(); choose(chosen + 1); }
    else if (isOpen && event.key === "ArrowUp") { used(); choose(chosen - 1); }
    else if (isOpen && event.key === "Escape") { used(); close(); }
    else if (event.key === " " && event.ctrlKey) { used(); open(true); }
    else if (event.key === "Enter" && isShort && !event.shiftKey) { used(); run(); }
    else if (PAIRS[event.key] && !event.ctrlKey && /^[\s,\]}]*$/.test(area.value.slice(area.selectionEnd))) {
      used();
      const at = area.selectionStart;
      document.execCommand("insertText", false, event.key + PAIRS[event.key]);
      area.setSelectionRange(at + 1, at + 1);
    } else if ((event.key === "}" || event.key === "]") && area.value[area.selectionStart] === event.key && area.selectionStart === area.selectionEnd) {
      used();
      area.setSelectionRange(area.selectionStart + 1, area.selectionStart + 1);
    }
  });
  area.addEventListener("input", () => { tell(); open(); });
  area.addEventListener("blur", close);
  colour();

  return {
    element: make("div", {}, box, error), area, tell,
    get value() { return area.value; },
    set value(text) { area.value = text; tell(); close(); },
    read() {
      tell();
      if (!area.value.trim()) return null;
      try {
        return strict(parse(area.value));
      } catch (wrong) {
        if (wrong instanceof JsonError) tell(`${label}: ${wrong.message}.`, wrong.at);
        throw wrong;
      }
    },
    /** Shows what the server refused, at its place in what `read` gave; answers whether it has one. */
    refuse(refusal, given) {
      const at = refusal.detail.position;
      if (at === undefined || !given) return false;
      tell(refusal.message, given.placeOf(at));
      return true;
    },
  };
}
