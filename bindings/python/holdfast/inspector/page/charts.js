// Charts: a number over the last two minutes as a line.

import { draw, make } from "./dom.js";

const WIDTH = 240, HEIGHT = 56;

/** Makes a chart; `add(values, text)` shows what it is by now, the newest value last. */
export function chart(title) {
  const area = draw("path", { class: "area" });
  const line = draw("path", { class: "line" });
  const value = make("strong", { text: "–" });
  const most = make("span", { class: "quiet" });
  const element = make("figure", { class: "chart" },
    make("figcaption", { class: "quiet", text: title }), make("p", { class: "row" }, value, most),
    draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, area, line));
  return {
    element,
    add(values, text, peak = "") {
      const top = Math.max(1e-9, ...values);
      const points = values.map((it, index) => `${((index * WIDTH) / Math.max(1, values.length - 1)).toFixed(1)},${(HEIGHT - 2 - (it / top) * (HEIGHT - 6)).toFixed(1)}`);
      line.setAttribute("d", points.length ? `M${points.join("L")}` : "");
      area.setAttribute("d", points.length ? `M0,${HEIGHT}L${points.join("L")}L${WIDTH},${HEIGHT}Z` : "");
      value.textContent = text;
      most.textContent = peak;
    },
  };
}

/** Keeps the last values of a number. */
export function series(length = 120) {
  const values = [];
  return (value) => {
    values.push(value);
    if (values.length > length) values.shift();
    return values;
  };
}
