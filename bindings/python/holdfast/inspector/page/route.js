// Routes: which view is shown, of what, in the address behind the #, so that it can be kept and sent.

/** "#/0/data/songs?filter=…" as { store, view, names: ["songs"], query: { filter } }. */
export function current() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [store = "0", view = "", ...names] = path.split("/");
  return {
    store: Number.parseInt(store, 10) || 0, view,
    names: names.map(decoded), query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/** The address of a view. */
export function address(store, view, names = [], query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const tail = given.length ? `?${new URLSearchParams(given)}` : "";
  return `#/${[store, view, ...names.map(encodeURIComponent)].join("/")}${tail}`;
}

const left = new Map();

/** Keeps how a repository's entities are listed, and which of them is opened from there. */
export function leave(store, repository, list, id) { left.set(JSON.stringify([store, repository]), { list, id }); }

/** What was kept: { list, id }, the list's address and the id; otherwise the list of all. */
export const whereLeft = (store, repository) => left.get(JSON.stringify([store, repository])) ?? { list: address(store, "data", [repository]), id: null };

/** Shows a view. */
export function go(to) { location.hash = to; }

/** Writes another address without showing anything anew. */
export function note(to) { history.replaceState(null, "", to); }
