// Elements. All text is set as text, never taken for HTML: the page's policy lets nothing make HTML of texts.

/** Makes an element. Attributes: `text`, `on…` for functions, `false` and null leave one out. */
export function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element of a drawing. */
export function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SIGNS = {
  store: "M3 4.5c0-1.4 10-1.4 10 0v7c0 1.4-10 1.4-10 0zM3 4.5c0 1.4 10 1.4 10 0M3 8c0 1.4 10 1.4 10 0",
  changes: "M2 8h3l2-5 3 10 2-5h2",
  work: "M8 2v3M8 11v3M2 8h3M11 8h3M4 4l2 2M10 10l2 2M12 4l-2 2M6 10l-2 2",
  repository: "M2.5 3.5h11v9h-11zM2.5 6.5h11M6 6.5v6",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9zM10.5 10.5l3 3",
  theme: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  help: "M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12zM6.3 6.3c.2-2 3.4-2 3.4 0c0 1.4-1.7 1.3-1.7 2.7M8 11.3v.1",
  columns: "M2.5 3.5h11v9h-11zM6.2 3.5v9M9.8 3.5v9",
  close: "M4 4l8 8M12 4l-8 8",
  back: "M9.5 3.5L5 8l4.5 4.5",
};

/** A small drawing beside a word, which says nothing by itself. */
export function sign(name) {
  return draw("svg", { class: "sign", viewBox: "0 0 16 16", "aria-hidden": "true" }, draw("path", { d: SIGNS[name] }));
}

/** Tells something in passing, for some seconds; with an action as [words, function] for longer. */
export function note(text, { bad = false, action } = {}) {
  const box = make("div", { class: bad ? "bad" : "" }, make("span", { text }));
  if (action) {
    box.append(make("button", { text: action[0], onclick: () => { box.remove(); action[1](); } }));
  }
  document.getElementById("notes").append(box);
  setTimeout(() => box.remove(), action ? 15000 : bad ? 8000 : 4000);
}

/** A dialog with a heading, which goes when it is closed: the browser then gives the focus back. */
export function dialog(title, body, footer = [], { onclose } = {}) {
  const box = make("dialog", { "aria-label": title, onclose: () => {
    box.remove();
    onclose?.();
  } },
    make("div", { class: "head" }, make("h2", { text: title }),
      make("button", { class: "plain", type: "button", "aria-label": "Close", onclick: () => box.close() }, sign("close"))),
    make("div", { class: "body" }, body),
    footer.length ? make("div", { class: "foot" }, footer) : null);
  document.body.append(box);
  box.showModal();
  return box;
}

/** Copies a text. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    note(`${what} is copied.`);
  } catch {
    note("The browser lets nothing be copied.", { bad: true });
  }
}

export const number = (value) => Number(value).toLocaleString("en");

/** A number of bytes in words. */
export function bytes(count) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let value = count, unit = 0;
  while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${unit && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** How long ago a time in milliseconds was. */
export function ago(time) {
  const seconds = Math.max(0, (Date.now() - time) / 1000);
  if (seconds < 1.5) return "now";
  if (seconds < 60) return `${Math.round(seconds)} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h ago`;
  return new Date(time).toLocaleDateString("en-CA");
}

/** A time of day with its date where it is another day. */
export function clock(time) {
  const date = new Date(time);
  const day = date.toDateString() === new Date().toDateString() ? "" : `${date.toLocaleDateString("en-CA")} `;
  return day + date.toLocaleTimeString("en-GB") + `.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
