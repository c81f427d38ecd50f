// The page: what stands around every view, and which view the address names.

import { make, note as tell, number, sign } from "./dom.js";
import { hearKeys, openPalette, setAlways, setCommands, showKeys } from "./commands.js";
import { readStoreMemory, recall, recallPage, remember, rememberPage, setPageMemory } from "./memory.js";
import { address, current, go } from "./route.js";
import { ask, begin, chosenStore, chooseStore, Refusal } from "./session.js";
import * as aggregateView from "./aggregate_view.js";
import * as changesView from "./changes_view.js";
import * as dataView from "./data_view.js";
import * as entityView from "./entity_view.js";
import * as shapeView from "./shape_view.js";
import * as storeView from "./store_view.js";

// So long, in milliseconds, counts are not asked for again.
const FRESH = 30_000;
const OF_REPOSITORY = { data: ["Entities", dataView], aggregate: ["Pipeline", aggregateView], shape: ["Shape and indexes", shapeView] };
const VIEWS = { data: dataView, aggregate: aggregateView, shape: shapeView, entity: entityView, changes: changesView, store: storeView };
const main = document.getElementById("main"), side = document.getElementById("side"), top_ = document.getElementById("top");
let stores = [], store = null, end = () => {}, counts = Object.create(null), countedAt = 0, refreshed = 0;

/** Shows that there is nothing to show, and why. */
function showNothing(title, ...words) {
  document.title = "Holdfast";
  main.removeAttribute("aria-busy");
  main.replaceChildren(make("div", { class: "empty" }, make("h1", { text: title }), ...words.map((text) => make("p", { text }))));
}

function drawTop() {
  const themes = ["auto", "light", "dark"];
  const turn = () => {
    const root = document.documentElement;
    root.dataset.theme = themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length];
    rememberPage("theme", root.dataset.theme);
    tell(`Colours: ${root.dataset.theme}`);
  };
  const chooser = stores.length > 1
    ? make("select", { "aria-label": "Store", onchange: (event) => go(address(event.target.value, "")) }, stores.map(({ url }, index) => make("option", { value: String(index), text: url, selected: index === chosenStore() })))
    : make("span", { id: "store", title: store.url, text: store.url });
  top_.replaceChildren(
    make("a", { class: "brand", href: address(chosenStore(), "store") }, make("img", { src: "icon.svg", alt: "" }), make("span", { text: "Holdfast" })),
    make("div", { class: "store" }, chooser, make("span", { class: "badge wide", text: store.engine }), make("span", { class: `badge ${store.can_write ? "warn" : ""}`, text: store.can_write ? "may write" : "reads only" })),
    make("span", { class: "gap" }),
    make("button", { class: "plain", type: "button", "aria-label": "Commands", onclick: openPalette }, sign("search"), make("kbd", { class: "wide", text: "Ctrl K" })),
    make("button", { class: "plain", type: "button", "aria-label": "Colours", onclick: turn }, sign("theme")),
    make("button", { class: "plain", type: "button", "aria-label": "Keys", onclick: showKeys }, sign("help")));
  setAlways([
    ...store.repositories.map(({ name }) => ({ name: `Go to ${name}`, run: () => go(address(chosenStore(), "data", [name])) })),
    ...store.repositories.flatMap(({ name }) => [
      { name: `Shape and indexes of ${name}`, run: () => go(address(chosenStore(), "shape", [name])) },
      { name: `Pipeline over ${name}`, run: () => go(address(chosenStore(), "aggregate", [name])) }]),
    { name: "The store as a whole", key: "S", run: () => go(address(chosenStore(), "store")) },
    { name: "Changes as they are committed", key: "C", run: () => go(address(chosenStore(), "changes")) },
    ...stores.map(({ url }, index) => stores.length > 1 && { name: `Store ${url}`, run: () => go(address(index, "")) }),
    { name: "Other colours", run: turn }, { name: "Keys", key: "?", run: showKeys },
  ]);
}

function drawSide() {
  const route = current();
  const link = (view, signName, words) => make("a", { href: address(chosenStore(), view), "aria-current": route.view === view ? "page" : null }, sign(signName), make("span", { class: "name", text: words }));
  const list = make("ul", { id: "repositories" });
  const find = make("input", { type: "search", placeholder: "Find a repository", "aria-label": "Find a repository", oninput: () => drawList() });
  const drawList = () => list.replaceChildren(...store.repositories.filter(({ name }) => name.toLowerCase().includes(find.value.toLowerCase())).map(({ name }) => make("li", {},
    make("a", { href: address(chosenStore(), "data", [name]), title: name, "aria-current": route.names[0] === name && route.view !== "changes" ? "page" : null, "data-name": name },
      sign("repository"), make("span", { class: "name", text: name }), make("span", { class: "count", text: counts[name] === undefined ? "" : counts[name] === null ? "!" : number(counts[name]) })))));
  const scrolled = side.scrollTop, hadFocus = side.contains(document.activeElement);
  side.replaceChildren(link("store", "store", "Store"), link("changes", "changes", "Changes"),
    make("h2", { id: "repositories-heading" }, "Repositories", make("span", { text: store.repositories.length > 9 ? number(store.repositories.length) : "" })),
    ...(store.repositories.length > 9 ? [find] : []), list);
  drawList();
  side.scrollTop = scrolled;
  if (hadFocus) side.querySelector("[aria-current]")?.focus();
}

function setCount(name, count) {
  counts[name] = count;
  const found = side.querySelector(`a[data-name="${CSS.escape(name)}"] .count`);
  if (found) found.textContent = count === null ? "!" : number(count);
}

/** Sees which repositories there are by now. */
async function refresh() {
  const mine = refreshed;
  const told = await ask("overview").catch(() => null);
  if (!told || mine !== refreshed) return;
  const names = ({ repositories }) => repositories.map(({ name }) => name).join();
  const isOther = names(told) !== names(store);
  store.repositories = told.repositories;
  if (isOther) { drawTop(); drawSide(); }
  countAll();
}

/** Counts the repositories, some at a time, so that hundreds do not hold up what is looked at. */
async function countAll() {
  const mine = refreshed;
  const isOld = Date.now() - countedAt > FRESH;
  const names = store.repositories.map(({ name }) => name).filter((name) => isOld || counts[name] === undefined);
  if (isOld) countedAt = Date.now();
  for (let at = 0; at < names.length && mine === refreshed; at += 10) {
    try {
      const told = await ask("counts", { repositories: names.slice(at, at + 10) });
      for (const [name, count] of Object.entries(told.counts)) setCount(name, count);
    } catch { return; }
  }
}

async function openStore(wanted) {
  if (wanted >= stores.length) wanted = 0;
  if (store && chosenStore() === wanted) return;
  chooseStore(wanted);
  counts = Object.create(null);
  refreshed += 1;
  store = await ask("overview");
  await readStoreMemory();
  rememberPage("store", store.url);
  drawTop();
}

async function showRoute() {
  const route = current();
  try {
    await openStore(route.store);
    if (!Object.hasOwn(VIEWS, route.view) || Object.hasOwn(OF_REPOSITORY, route.view) && !route.names[0]) {
      const names = store.repositories.map(({ name }) => name);
      const last = recall("repository");
      const first = names.includes(last) ? last : names[0];
      history.replaceState(null, "", first === undefined ? address(chosenStore(), "store") : address(chosenStore(), "data", [first]));
      return showRoute();
    }
    if (route.names[0] !== undefined && !store.repositories.some(({ name }) => name === route.names[0])) store = await ask("overview");
  } catch (error) {
    return refuse(error);
  }
  end();
  end = () => {};
  document.querySelector("dialog")?.close();
  const [name] = route.names;
  if (name !== undefined) remember("repository", name);
  drawSide();
  setCommands([]);
  const words = (count) => `${number(count)} ${count === 1 ? "entity" : "entities"}`;
  const total = make("span", { class: "total", text: typeof counts[name] === "number" ? words(counts[name]) : "" });
  const element = make("div", { class: `view view-${route.view}` });
  const headings = OF_REPOSITORY[route.view] ? [
    make("div", { class: "heading" }, make("h1", { text: name }), total),
    make("nav", { class: "tabs", "aria-label": `Views of ${name}` }, Object.entries(OF_REPOSITORY).map(([view, [words]]) => make("a", { href: address(chosenStore(), view, [name]), "aria-current": view === route.view ? "page" : null, text: words })))] : [];
  main.replaceChildren(...headings, element);
  main.removeAttribute("aria-busy");
  document.title = `${[name, route.names[1] ?? { changes: "Changes", store: "Store" }[route.view]].filter(Boolean).join(" / ")} – ${store.url} – Holdfast`;
  end = VIEWS[route.view].show(element, route, {
    store, canWrite: store.can_write, counted: setCount,
    heading: { total: (count) => { total.textContent = words(count); setCount(name, count); } },
  });
  refresh();
}

function refuse(error) {
  end();
  end = () => {};
  if (!(error instanceof Refusal)) throw error;
  if (error.status === 401) showNothing("This page needs a link", "The link that holdfast inspect printed is good for one browser, once.", "Press Enter where it runs, and it prints another.");
  else if (error.status === 410) showNothing("The store was closed", "Whoever opened it has closed it.");
  else showNothing("Nothing can be shown", error.message);
}

async function start() {
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
  await begin();
  hearKeys();
  try {
    const told = await ask("stores");
    stores = told.stores;
    setPageMemory(told.memory);
    if (!location.hash && recallPage("store")) {
      const last = stores.findIndex(({ url }) => url === recallPage("store"));
      if (last > 0) history.replaceState(null, "", address(last, ""));
    }
  } catch (error) {
    return refuse(error);
  }
  addEventListener("hashchange", async () => {
    if (/^#token=/.test(location.hash)) { await begin(); location.reload(); } else if (location.hash !== "#main") showRoute();
  });
  await showRoute();
}

start();
