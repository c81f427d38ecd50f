// The grid: rows of one height, of which those that can be seen are in the page, however many there are.

import { make } from "./dom.js";
import { tokens } from "./json.js";

const HEIGHT = 30, BEYOND = 12, NARROWEST = 60;

/** A value in colours, on one line. */
export function coloured(text, isCut = false) {
  const line = make("span", { class: "value" });
  // What is behind the first hundreds of characters is not seen, and would only take time.
  for (const token of tokens(text.slice(0, 300))) line.append(make("span", { class: `v-${token.kind}`, text: token.text }));
  if (isCut || text.length > 300) line.append(make("span", { class: "v-mark", text: "…" }));
  return line;
}

/**
 * Makes a grid. `open(row)` is Enter on a row, `peek(row, name)` Space on a value, `sort(name, isMore)` a click
 * on a heading, `more()` the end of what is there, `keep(columns)` another width or order of columns.
 */
export function grid({ label, open, peek, sort, more, columns, keep }) {
  const head = make("tr", { role: "row" });
  const body = make("tbody", {});
  const table = make("table", { role: "grid", "aria-label": label, "aria-rowcount": "-1" }, make("thead", {}, head), body);
  const element = make("div", { class: "grid", tabindex: "-1", onscroll: () => { render(); reach(); } }, table);
  const nothing = make("p", { class: "empty", hidden: true, text: "Nothing is found." });
  element.append(nothing);
  let rows = [], names = [], key = "id", order = {}, marks = new Map(), isEnd = true;
  let at = { row: 0, column: 0 }, drawn = { from: -1, to: -1 };

  const shown = () => names.filter((name) => !columns.hidden?.includes(name));

  function width(name) {
    if (Object.hasOwn(columns.widths ?? {}, name)) return columns.widths[name];
    const longest = Math.max(name.length + 3, ...rows.slice(0, 50).map((row) => Math.min(40, row.members[name]?.length ?? 0)));
    return Math.max(NARROWEST, Math.min(340, 22 + 7.9 * longest));
  }

  function headings() {
    const widths = shown().map(width);
    head.replaceChildren(...shown().map((name, index) => {
      const way = order[name];
      const cell = make("th", {
        scope: "col", role: "columnheader", "data-name": name, "aria-sort": way === 1 ? "ascending" : way === -1 ? "descending" : "none",
      }, make("button", {
        class: "plain", type: "button", tabindex: "-1", title: `Sort by ${name} (Shift: also by it; Alt+Arrow: width)`,
        onclick: (event) => sort(name, event.shiftKey), onkeydown: (event) => resizeByKey(event, name),
      }, make("span", { text: name }), make("span", { class: "arrow", "aria-hidden": "true", text: way === 1 ? "▲" : way === -1 ? "▼" : "" })),
      make("span", { class: "resize", "aria-hidden": "true", onpointerdown: (event) => resizeByHand(event, name) }));
      cell.style.width = `${widths[index]}px`;
      return cell;
    }));
    table.style.width = `${widths.reduce((sum, it) => sum + it, 0)}px`;
  }

  function resize(name, to) {
    columns.widths = { ...columns.widths, [name]: Math.round(Math.max(NARROWEST, Math.min(900, to))) };
    headings();
  }

  function resizeByHand(event, name) {
    event.preventDefault();
    const begin = event.clientX, before = width(name);
    const move = (moved) => resize(name, before + moved.clientX - begin);
    const end = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", end); keep(columns); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  }

  function resizeByKey(event, name) {
    const step = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
    if (step && event.altKey) {
      event.preventDefault();
      event.stopPropagation();
      resize(name, width(name) + step);
      keep(columns);
      head.querySelector(`[data-name="${CSS.escape(name)}"] button`)?.focus();
    } else if (event.key === "ArrowDown" && !event.altKey) {
      event.preventDefault();
      focusCell(Math.max(0, drawn.from), shown().indexOf(name));
    }
  }

  function render(isAnew = false) {
    const from = Math.max(0, Math.floor(element.scrollTop / HEIGHT) - BEYOND);
    const to = Math.min(rows.length, from + Math.ceil((element.clientHeight || 600) / HEIGHT) + 2 * BEYOND);
    if (!isAnew && from === drawn.from && to === drawn.to) return;
    const hadFocus = body.contains(document.activeElement);
    drawn = { from, to };
    body.replaceChildren(space(from), ...rows.slice(from, to).map((row, index) => line(row, from + index)), space(rows.length - to));
    if (hadFocus) focusCell(at.row, at.column, false);
    else stop();
  }

  function space(count) {
    const row = make("tr", { class: "space", "aria-hidden": "true" }, make("td", { colspan: Math.max(1, shown().length) }));
    row.firstChild.style.height = `${count * HEIGHT}px`;
    return row;
  }

  function line(row, index) {
    return make("tr", { role: "row", "data-id": row.id, "data-version": row.version, "aria-rowindex": index + 2, class: marks.get(row.id) ?? "" },
      shown().map((name, column) => {
        const text = row.members[name];
        return make("td", { role: "gridcell", tabindex: "-1", "data-row": index, "data-column": column, class: name === key ? "key" : "" },
          text === undefined ? null : name === key ? make("span", { class: "value", text: row.id }) : coloured(text, row.cut[name]));
      }));
  }

  const cell = (row, column) => body.querySelector(`td[data-row="${row}"][data-column="${column}"]`);

  /** The one cell that Tab comes to. */
  function stop() {
    for (const former of body.querySelectorAll('td[tabindex="0"]')) former.tabIndex = -1;
    const found = cell(at.row, at.column) ?? body.querySelector("td[data-row]");
    if (found) found.tabIndex = 0;
    return found;
  }

  function focusCell(row, column, isScrolled = true) {
    at = { row: Math.max(0, Math.min(rows.length - 1, row)), column: Math.max(0, Math.min(shown().length - 1, column)) };
    if (isScrolled) {
      const top = at.row * HEIGHT;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top + 2 * HEIGHT > element.scrollTop + element.clientHeight - HEIGHT) element.scrollTop = top + 3 * HEIGHT - element.clientHeight;
      render();
    }
    const found = stop();
    found?.focus({ preventScroll: true });
    if (isScrolled) found?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function reach() {
    if (!isEnd && element.scrollTop + element.clientHeight > rows.length * HEIGHT - 6 * HEIGHT) more();
  }

  const STEPS = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
  body.addEventListener("keydown", (event) => {
    const target = event.target.closest("td[data-row]");
    if (!target || event.altKey) return;
    at = { row: Number(target.dataset.row), column: Number(target.dataset.column) };
    const page = Math.max(1, Math.floor(element.clientHeight / HEIGHT) - 2);
    const [down, right] = STEPS[event.key] ?? { PageDown: [page, 0], PageUp: [-page, 0] }[event.key] ?? [0, 0];
    if (event.key === "ArrowUp" && at.row === 0) head.children[at.column]?.querySelector("button").focus();
    else if (down || right) {
      if (at.row + down >= rows.length && !isEnd) more();
      focusCell(at.row + down, at.column + right);
    } else if (event.key === "Home") focusCell(event.ctrlKey ? 0 : at.row, 0);
    else if (event.key === "End") focusCell(event.ctrlKey ? rows.length - 1 : at.row, shown().length - 1);
    else if (event.key === "Enter") open(rows[at.row]);
    else if (event.key === " ") peek(rows[at.row], shown()[at.column]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  body.addEventListener("click", (event) => {
    const target = event.target.closest("td[data-row]");
    if (!target) return;
    at = { row: Number(target.dataset.row), column: Number(target.dataset.column) };
    const row = rows[at.row], name = shown()[at.column];
    stop()?.focus({ preventScroll: true });
    if (name === key) open(row);
    else if (row.cut[name] || /^[[{]/.test(row.members[name] ?? "") || event.detail === 2) peek(row, name);
  });

  return {
    element,
    get rows() { return rows; },
    get names() { return names; },
    /** Goes to the cell where one was, or to the row of an id if it is there. */
    focus(id = null) {
      const row = id === null ? at.row : rows.findIndex((it) => it.id === id);
      if (row >= 0) focusCell(row, at.column);
    },
    /** Shows rows in the place of what was there, or behind it. `classes` marks rows by their ids. */
    show(given, { key: idName = key, sort: by = {}, isMore = false, end = true, classes = new Map() } = {}) {
      // What a row lacks is nothing of the browser's own: a field may be called "constructor".
      for (const { members, cut } of given) [members, cut].forEach((it) => Object.setPrototypeOf(it, null));
      rows = isMore ? rows.concat(given) : given;
      [key, order, marks, isEnd] = [idName, by, classes, end];
      const found = [...new Set(rows.slice(-200).concat(rows.slice(0, 200)).flatMap((row) => Object.keys(row.members)))];
      const known = isMore ? names.concat(found.filter((name) => !names.includes(name))) : found;
      const chosen = columns.order ?? [];
      const place = (name) => (name === key ? -2 : chosen.includes(name) ? chosen.indexOf(name) : chosen.length + known.indexOf(name));
      names = known.sort((one, other) => place(one) - place(other));
      if (!isMore) { element.scrollTop = Math.min(element.scrollTop, rows.length * HEIGHT); at = { row: Math.min(at.row, Math.max(0, rows.length - 1)), column: at.column }; }
      nothing.hidden = rows.length > 0;
      headings();
      render(true);
      reach();
    },
    /** Draws anew, after columns were chosen. */
    again() { this.show(rows, { sort: order, classes: marks, end: isEnd }); },
  };
}
