// The tree of a value: objects and arrays open and close, by hand and by keys.

import { bytes, make } from "./dom.js";
import { summary } from "./json.js";

// So many elements are shown at once, and so much of a long value, of which a browser would lay out each line.
const AT_ONCE = 100, FOLDED = 1000, LONGEST = 200_000;

/** Makes a tree of a node of `json.js`. `edit(node, path)` is the key e on a value. */
export function tree(root, { label, edit = null, depth = 2 } = {}) {
  const element = make("ul", { class: "tree", role: "tree", "aria-label": label });
  const nodes = new WeakMap();

  const parts = (node) => node.kind === "object" ? node.members.map(({ name, value }) => [name, value])
    : node.kind === "array" ? node.items.map((value, index) => [String(index), value]) : [];

  function item(name, node, path, level) {
    const children = parts(node);
    const row = make("div", { class: "tree-row" },
      make("span", { class: "twist", "aria-hidden": "true", text: children.length ? "▸" : "" }),
      name === null ? null : make("span", { class: "v-name", text: name }), name === null ? null : make("span", { class: "v-mark", text: ": " }),
      node.raw === undefined
        ? make("span", { class: "v-mark", text: children.length ? `${node.kind === "array" ? "[" : "{"}${summary(node)}${node.kind === "array" ? "]" : "}"}` : node.kind === "array" ? "[ ]" : "{ }" })
        : make("span", { class: `leaf v-${{ text: "text", number: "number" }[node.kind] ?? "word"}`, text: node.raw.slice(0, FOLDED) }),
      node.raw?.length > FOLDED ? make("button", { class: "plain unfold", type: "button", tabindex: "-1", text: `… ${bytes(node.raw.length)}` }) : null);
    const made = make("li", { role: "treeitem", tabindex: "-1", "aria-level": level, "aria-expanded": children.length ? "false" : null, "aria-selected": "false" }, row);
    nodes.set(made, { node, path, children, level });
    if (children.length && level <= depth) open(made);
    return made;
  }

  function open(made) {
    const { children, path, level } = nodes.get(made);
    if (!children.length || made.getAttribute("aria-expanded") === "true") return;
    made.setAttribute("aria-expanded", "true");
    made.querySelector(".twist").textContent = "▾";
    const group = make("ul", { role: "group" });
    made.append(group);
    add(group, children, path, level, 0);
  }

  function add(group, children, path, level, from) {
    for (const [name, value] of children.slice(from, from + AT_ONCE)) group.append(item(name, value, [...path, name], level + 1));
    const rest = children.length - from - AT_ONCE;
    if (rest <= 0) return;
    const more = make("li", { role: "treeitem", tabindex: "-1", "aria-level": level + 1, "aria-selected": "false", class: "more" },
      make("div", { class: "tree-row" }, make("span", { class: "twist" }), make("span", { class: "quiet", text: `${rest} more` })));
    nodes.set(more, { more: () => { more.remove(); add(group, children, path, level, from + AT_ONCE); }, children: [], path, node: null });
    group.append(more);
  }

  function close(made) {
    made.setAttribute("aria-expanded", "false");
    made.querySelector(".twist").textContent = "▸";
    made.querySelector(":scope > [role=group]")?.remove();
  }

  function toggle(made) {
    const { more, node } = nodes.get(made);
    const unfold = made.querySelector(":scope > .tree-row > .unfold");
    if (more) more();
    else if (unfold) {
      made.querySelector(".leaf").textContent = node.raw.slice(0, LONGEST);
      if (node.raw.length <= LONGEST) unfold.remove();
    }
    else if (made.getAttribute("aria-expanded") === "true") close(made);
    else open(made);
  }

  function focus(made) {
    if (!made) return;
    for (const former of element.querySelectorAll('[tabindex="0"]')) { former.tabIndex = -1; former.setAttribute("aria-selected", "false"); }
    made.tabIndex = 0;
    made.setAttribute("aria-selected", "true");
    made.focus();
  }

  element.addEventListener("click", (event) => {
    const made = event.target.closest("[role=treeitem]");
    if (!made) return;
    if (!getSelection().toString()) toggle(made);
    if (made.isConnected) focus(made);
  });
  element.addEventListener("keydown", (event) => {
    const made = event.target.closest("[role=treeitem]");
    if (!made || event.ctrlKey || event.altKey || event.metaKey) return;
    const all = [...element.querySelectorAll("[role=treeitem]")], at = all.indexOf(made);
    const { node, path } = nodes.get(made);
    if (event.key === "ArrowDown") focus(all[at + 1]);
    else if (event.key === "ArrowUp") focus(all[at - 1]);
    else if (event.key === "Home") focus(all[0]);
    else if (event.key === "End") focus(all.at(-1));
    else if (event.key === "ArrowRight" && made.getAttribute("aria-expanded") === "false") open(made);
    else if (event.key === "ArrowRight") focus(made.querySelector("[role=group] > [role=treeitem]"));
    else if (event.key === "ArrowLeft" && made.getAttribute("aria-expanded") === "true") close(made);
    else if (event.key === "ArrowLeft") focus(made.parentElement.closest("[role=treeitem]"));
    else if (event.key === "Enter" || event.key === " ") toggle(made);
    else if (event.key === "e" && edit && node) edit(node, path);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  const children = parts(root);
  if (children.length) add(element, children, [], 0, 0);
  else element.append(item(null, root, [], 1));
  const first = element.querySelector("[role=treeitem]");
  if (first) first.tabIndex = 0;
  return { element, focus: () => focus(element.querySelector('[tabindex="0"]')) };
}
