// Commands: everything that can be done where one is, for its key and for the list that Ctrl+K opens.

import { dialog, make } from "./dom.js";

let always = [], ofView = [];

export const setAlways = (commands) => { always = commands; };
/** Sets what can be done in the view that is shown: { name, key, run }. */
export const setCommands = (commands) => { ofView = commands; };

const all = () => [...ofView, ...always].filter(Boolean);
const isTyping = (target) => target.closest?.("input:not([type=checkbox]), textarea, select, dialog") !== null;

/** Hears keys that nothing else has taken. */
export function hearKeys() {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (!document.querySelector("dialog")) openPalette();
      return;
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key === "?") { event.preventDefault(); showKeys(); return; }
    const command = all().find(({ key }) => key === event.key);
    if (command) { event.preventDefault(); command.run(); }
  });
}

/** Opens the list of all commands. What is typed finds them by their words. */
export function openPalette() {
  const commands = all();
  let found = [], chosen = 0;
  const input = make("input", {
    type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-label": "What to do, or where to go",
    placeholder: "What to do, or where to go…", autocomplete: "off", spellcheck: "false", oninput: () => filter(),
  });
  const list = make("ul", { id: "palette-list", role: "listbox", "aria-label": "Commands" });
  const box = make("dialog", { class: "palette", "aria-label": "Commands", onclose: () => box.remove() }, input, list);

  function filter() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = ({ name }) => words.every((word) => name.toLowerCase().includes(word));
    const begins = ({ name }) => name.toLowerCase().startsWith(words[0] ?? "");
    found = commands.filter(fits).sort((one, other) => begins(other) - begins(one)).slice(0, 100);
    list.replaceChildren(...found.map((command, index) => make("li", {
      role: "option", id: `command-${index}`, "aria-selected": "false", onclick: () => { chosen = index; run(); },
    }, make("span", { text: command.name }), command.key ? make("kbd", { text: command.key }) : null)));
    choose(0);
  }

  function choose(index) {
    list.children[chosen]?.setAttribute("aria-selected", "false");
    chosen = found.length ? (index + found.length) % found.length : 0;
    const item = list.children[chosen];
    if (!item) return input.removeAttribute("aria-activedescendant");
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", item.id);
  }

  function run() {
    const command = found[chosen];
    box.close();
    command?.run();
  }

  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Enter") run();
    else return;
    event.preventDefault();
  });
  document.body.append(box);
  box.showModal();
  filter();
  input.focus();
}

/** Shows what each key does here. */
export function showKeys() {
  const general = [["Ctrl+K", "all commands"], ["Ctrl+Enter", "run the query"], ["Ctrl+Space", "proposals"], ["Arrows", "move in the grid and in trees"],
    ["Enter", "open the entity"], ["Space", "look at a value"], ["Alt+Arrows", "width of a column, on its heading"], ["?", "this list"]];
  const own = all().filter(({ key }) => key).map(({ key, name }) => [key, name]);
  dialog("Keys", make("div", { class: "keys" }, [...own, ...general].flatMap(([key, words]) => [make("span", {}, make("kbd", { text: key })), make("span", { text: words })])));
}
