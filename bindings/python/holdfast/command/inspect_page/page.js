// The page asks the server that it came from and nobody else. All text is set as text, never as HTML.

const form = document.getElementById("query");
const repositories = document.getElementById("repositories");
const table = document.querySelector("table");
let chosen = null;
let listening = null; // an EventSource, while a query is live
let asked = 0; // how often something was asked for: an answer that was overtaken is not shown

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const tell = (id, text) => { document.getElementById(id).textContent = text; };

async function ask(what) {
  const response = await fetch(what);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

async function showStore() {
  const store = await ask("store");
  tell("store", store.url);
  document.title = `${store.url} – Holdfast`;
  repositories.replaceChildren(...store.repositories.map(({ name, entities }) => {
    const button = element("button", undefined, { type: "button", "aria-current": String(name === chosen) });
    button.append(element("span", name), element("span", entities));
    button.addEventListener("click", () => choose(name));
    const item = element("li");
    item.append(button);
    return item;
  }));
  return store.repositories;
}

function choose(name) {
  chosen = name;
  form.reset();
  find();
}

/** The query as typed, as the part of an address. What is no JSON is an error that says in which field. */
function typed() {
  const query = { repository: chosen };
  for (const name of ["filter", "sort"]) {
    const text = form.elements[name].value.trim();
    try {
      if (text) query[name] = JSON.parse(text);
    } catch (error) {
      throw new Error(`${name}: ${error.message}`);
    }
  }
  for (const name of ["skip", "limit"]) query[name] = form.elements[name].valueAsNumber || 0;
  return `query=${encodeURIComponent(JSON.stringify(query))}`;
}

async function find() {
  listening?.close();
  listening = null;
  tell("error", "");
  const number = ++asked;
  try {
    await showStore();
    if (chosen === null || number !== asked) return;
    const query = typed();
    const { rows, explain } = await ask(`find?${query}`);
    if (number !== asked) return;
    showExplained(explain);
    showRows(rows, false);
    if (form.elements.live.checked) listen(query);
  } catch (error) {
    if (number === asked) tell("error", error.message);
  }
}

function listen(query) {
  const source = listening = new EventSource(`live?${query}`);
  source.onmessage = ({ data }) => showRows(JSON.parse(data).rows, true);
  source.onopen = () => tell("error", "");
  source.onerror = () => tell("error", "The connection was lost.");
}

function showExplained(explain) {
  const details = document.getElementById("explain");
  details.hidden = false;
  details.querySelector("summary").textContent =
    `Found by ${explain.access}${explain.index ? ` ${explain.index}` : ""}: ` +
    `${explain.examined} examined, ${explain.matched} matched`;
  details.querySelector("dl").replaceChildren(...Object.entries(explain).flatMap(
    ([name, value]) => [element("dt", name), element("dd", JSON.stringify(value))]));
}

/** Shows entities; of those that are told again, the ones of another version are marked. */
function showRows(rows, isAgain) {
  const former = new Map([...table.tBodies[0].rows].map((row) => [row.dataset.id, row.dataset.version]));
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.members)))];
  const head = element("tr");
  head.append(...[...names, "version"].map((name) => element("th", name, { scope: "col" })));
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(...rows.map(({ id, version, members }) => {
    const row = element("tr", undefined, { "data-id": id, "data-version": version });
    row.append(...names.map((name) => element("td", members[name] ?? "")), element("td", version));
    row.classList.toggle("changed", isAgain && former.get(id) !== version);
    return row;
  }));
  tell("status", `${rows.length} ${rows.length === 1 ? "entity" : "entities"}${listening ? ", live" : ""}`);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  find();
});
form.elements.live.addEventListener("change", find);

showStore().then((all) => { if (all.length > 0) choose(all[0].name); }, (error) => tell("error", error.message));
