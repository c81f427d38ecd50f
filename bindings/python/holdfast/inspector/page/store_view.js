// The view of a store as a whole: how busy it is, who holds snapshots, its repositories, and work on it.

import { bytes, dialog, make, note, number } from "./dom.js";
import { chart, series } from "./charts.js";
import { setCommands } from "./commands.js";
import { jobRow } from "./jobs.js";
import { address } from "./route.js";
import { ask, chosenStore, listen } from "./session.js";

const AT_ONCE = 12;

/** Shows it in an element; answers what ends it. */
export function show(element, _, { store, counted }) {
  const asked = new AbortController();
  const charts = {
    commits: chart("Commits a second"), changes: chart("Changes a second"), delay: chart("Commit to page"), read: chart("Time to ask the store"),
    hits: chart("Cache hits"), queue: chart("Commits waiting"),
  };
  const kept = { read: series(), hits: series(), queue: series() };
  let former = null, isEnded = false, timer = null;

  const wrong = make("p", { class: "wrong", role: "alert" });
  const snapshots = make("tbody", {});
  const none = make("p", { class: "quiet" });
  const figures = make("dl", { class: "figures" });
  const work = make("div", { class: "jobs", role: "status", "aria-label": "Work" });
  const repositories = make("tbody", {});
  const card = (title, ...children) => make("section", { class: "card" }, make("h2", { text: title }), ...children);
  const button = (text, run) => make("button", { type: "button", text, onclick: run });
  element.append(
    make("div", { class: "heading" }, make("h1", { class: "mono", text: store.url }), make("span", { class: "gap" }),
      make("div", { class: "row" }, button("Verify", verify), button("Back up", backUp), button("Export", exportLines))),
    make("p", { class: "row facts" }, [["engine", store.engine], ["format", store.format], ["schema", store.schema_version ?? "none"]].map(([name, value]) => make("span", { class: "badge", text: `${name} ${value}` }))),
    wrong, work,
    make("div", { class: "charts" }, Object.values(charts).map((it) => it.element)),
    make("div", { class: "cards" },
      card("Open snapshots", none, make("table", { class: "plain" }, make("thead", {}, make("tr", {}, ["Held by", "Age", "At commit", "Holders"].map((text) => make("th", { scope: "col", text })))), snapshots)),
      card("Figures of this process", figures)),
    make("section", { class: "card whole" }, make("h2", { text: "Repositories" }),
      make("table", { class: "plain" }, make("thead", {}, make("tr", {}, ["Name", "Entities", "About", "Indexes", "Shape"].map((text) => make("th", { scope: "col", text })))), repositories)));

  function draw(told) {
    wrong.textContent = "";
    const { rates } = told;
    const last = (name, seconds = 5) => rates.slice(-seconds).reduce((sum, it) => sum + it[name], 0) / seconds;
    const of = (name) => rates.map((it) => it[name]);
    const most = (values, text) => `max ${text(Math.max(0, ...values))}`;
    charts.commits.add(of("commits"), last("commits").toFixed(last("commits") < 10 ? 1 : 0), most(of("commits"), number));
    charts.changes.add(of("changes"), last("changes").toFixed(last("changes") < 10 ? 1 : 0), most(of("changes"), number));
    const delays = of("delay_ms").filter(Boolean);
    charts.delay.add(of("delay_ms"), delays.length ? `${delays.at(-1).toFixed(1)} ms` : "–", delays.length ? most(delays, (it) => it.toFixed(0)) : "");
    const reads = kept.read(told.read_ms);
    charts.read.add(reads, `${told.read_ms.toFixed(1)} ms`, most(reads, (it) => it.toFixed(0)));
    const { hits, misses } = told.cache;
    const [newHits, newMisses] = former ? [hits - former.hits, misses - former.misses] : [hits, misses];
    const all = hits + misses;
    charts.hits.add(kept.hits(newHits + newMisses ? (100 * newHits) / (newHits + newMisses) : 0), all ? `${((100 * hits) / all).toFixed(0)} %` : "–", `of ${number(all)}`);
    former = { hits, misses };
    const queue = kept.queue(told.queue.waiting);
    charts.queue.add(queue, number(told.queue.waiting), `of ${number(told.queue.max_in_flight)}`);
    drawSnapshots(told.open_snapshots);
    drawFigures(told);
  }

  function drawSnapshots(open) {
    none.textContent = open.length ? "" : "None is open in this process.";
    snapshots.replaceChildren(...open.map((it, index) => make("tr", {},
      make("td", {}, it.names.length ? it.names.join(", ") : make("span", { class: "quiet", text: it.holders ? "a transaction without a name" : "kept for the next reader" }), index === 0 && open.length > 1 ? make("span", { class: "badge beside", text: "oldest" }) : null),
      make("td", { class: "figure", text: it.age_ms < 10000 ? `${(it.age_ms / 1000).toFixed(1)} s` : `${Math.round(it.age_ms / 1000)} s` }),
      make("td", { class: "figure", text: it.sequence }), make("td", { class: "figure", text: it.holders }))));
  }

  function drawFigures(told) {
    const flat = {
      "newest commit": number(told.sequence), "open transactions": told.transactions, "commits in flight": told.in_flight, "snapshots held": told.snapshots,
      ...(told.sizes ? { "file": bytes(told.sizes.store_bytes), "log beside it": bytes(told.sizes.log_bytes), "unused in the file": bytes(told.sizes.free_bytes) } : {}),
      ...(told.server ? { connections: told.server.connections, "round trips": number(told.server.round_trips), "commits resolved": told.server.resolved_commits } : {}),
      "cached entities": number(told.cache.entries), "cached": bytes(told.cache.bytes), evictions: number(told.cache.evictions), expirations: number(told.cache.expirations),
      ...Object.fromEntries(Object.entries(told.handles).filter(([, count]) => count).map(([kind, count]) => [`handles: ${kind}`, count])),
    };
    figures.replaceChildren(...Object.entries(flat).map(([name, value]) => make("div", {}, make("dt", { text: name }), make("dd", { class: "mono", text: String(value) }))));
  }

  async function drawRepositories() {
    const cells = new Map(store.repositories.map(({ name }) => [name, { count: make("td", { class: "figure", text: "…" }), size: make("td", { class: "figure" }), indexes: make("td", { class: "figure" }), shape: make("td", { class: "sketch" }) }]));
    repositories.replaceChildren(...store.repositories.map(({ name }) => {
      const { count, size, indexes, shape } = cells.get(name);
      return make("tr", {}, make("td", {}, make("a", { href: address(chosenStore(), "data", [name]), text: name })), count, size, indexes, shape);
    }));
    // A few after the other: of hundreds, each takes its time to be counted.
    for (const { name } of store.repositories.slice(0, 100)) {
      if (isEnded) return;
      const cell = cells.get(name);
      try {
        const shape = await ask("sampled", { repository: name }, asked.signal);
        counted(name, shape.count);
        cell.count.textContent = number(shape.count);
        cell.size.textContent = `≈ ${bytes(shape.bytes)}`;
        cell.indexes.textContent = shape.indexes.length;
        const names = shape.fields.filter(({ depth }) => depth === 1).slice(0, AT_ONCE);
        cell.shape.replaceChildren(...names.map((field) => make("span", { class: "badge", title: Object.entries(field.types).map(([type, count]) => `${type} in ${Math.round((100 * count) / shape.sampled)} %`).join(", ") }, make("span", { class: "mono", text: field.path }), ` ${Object.keys(field.types).join("|")}`)), " ", make("a", { href: address(chosenStore(), "shape", [name]), "aria-label": `Shape and indexes of ${name}`, text: "all" }));
      } catch (error) {
        if (error.name === "AbortError") return;
        cell.count.textContent = "–";
        cell.shape.textContent = error.message;
      }
    }
  }

  async function followWork() {
    clearTimeout(timer);
    try {
      const { jobs } = await ask("jobs", {}, asked.signal);
      const isOld = JSON.stringify(jobs);
      if (work.dataset.told !== isOld) {
        work.dataset.told = isOld;
        work.replaceChildren(...jobs.slice(-5).reverse().map((job) => jobRow(job, followWork)));
      }
      if (jobs.some((job) => job.state === "running")) timer = setTimeout(followWork, 250);
    } catch (error) {
      if (error.name !== "AbortError") wrong.textContent = error.message;
    }
  }

  async function begin(name, given = {}) {
    await ask(name, given);
    followWork();
  }

  async function verify() {
    try { await begin("verify"); } catch (error) { note(error.message, { bad: true }); }
  }

  async function toFile(title, name, proposed) {
    const path = make("input", { class: "mono", value: proposed, required: true });
    const refused = make("p", { class: "wrong", role: "alert" });
    const form = make("form", { id: "file-form", onsubmit: async (event) => {
      event.preventDefault();
      try { await begin(name, { path: path.value }); box.close(); } catch (error) { refused.textContent = error.message; }
    } }, make("label", {}, "A file that is not there yet", path), refused);
    const box = dialog(title, form, [make("button", { type: "button", text: "Cancel", onclick: () => box.close() }), make("button", { class: "main", type: "submit", form: "file-form", text: title })]);
    path.focus();
  }

  async function backUp() {
    const { proposed_backup: path } = await ask("overview");
    if (!path) return note("This store has no file: take an export, or on a server pg_dump.", { bad: true });
    toFile("Back up", "backup", path);
  }

  async function exportLines() { toFile("Export", "export", (await ask("overview")).proposed_export); }

  const stop = listen("figures", {}, { line: draw, state: (refusal) => { wrong.textContent = refusal ? refusal.message : ""; } });
  setCommands([
    { name: "Back up the store", key: "b", run: backUp },
    { name: "Verify the store", key: "v", run: verify },
    { name: "Export the store as JSON Lines", key: "e", run: exportLines },
    { name: "Who holds the oldest snapshot", key: "o", run: () => { const heading = snapshots.closest(".card").querySelector("h2"); heading.tabIndex = -1; heading.focus(); } },
  ]);
  drawRepositories();
  followWork();
  return () => { isEnded = true; stop(); asked.abort(); clearTimeout(timer); };
}
