// The difference of two texts, line by line.

import { make } from "./dom.js";

const MOST = 2000;

/** Lines as { kind: "same" | "came" | "went", text }, by the longest common part. */
export function compare(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let start = 0, end = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const [left, right] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const lines = (kind, texts) => texts.map((text) => ({ kind, text }));
  return [...lines("same", old.slice(0, start)), ...middle(left, right, lines), ...lines("same", end ? old.slice(-end) : [])];
}

function middle(left, right, lines) {
  // Of what is very different, all of it: to compare each with each would take its time.
  if (left.length * right.length > MOST * MOST) return [...lines("went", left), ...lines("came", right)];
  const table = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      table[i][j] = left[i] === right[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  const found = [];
  let i = 0, j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) { found.push({ kind: "same", text: left[i] }); i += 1; j += 1; }
    else if (i < left.length && (j >= right.length || table[i + 1][j] >= table[i][j + 1])) { found.push({ kind: "went", text: left[i] }); i += 1; }
    else { found.push({ kind: "came", text: right[j] }); j += 1; }
  }
  return found;
}

/** The difference as it is shown, with three lines around what differs. */
export function difference(before, after) {
  const lines = compare(before, after);
  const near = lines.map((_, index) => lines.slice(Math.max(0, index - 3), index + 4).some(({ kind }) => kind !== "same"));
  const box = make("div", { class: "diff", tabindex: "0", role: "group", "aria-label": "What changes" });
  let isLeftOut = false;
  lines.forEach(({ kind, text }, index) => {
    if (near[index]) {
      const marks = { same: ["  ", ""], came: ["+ ", "Added: "], went: ["- ", "Removed: "] }[kind];
      box.append(make("div", { class: kind }, make("span", { "aria-hidden": "true", text: marks[0] }), make("span", { class: "hidden-text", text: marks[1] }), text));
    } else if (!isLeftOut) box.append(make("div", { class: "same", text: "⋯" }));
    isLeftOut = !near[index];
  });
  return box;
}
