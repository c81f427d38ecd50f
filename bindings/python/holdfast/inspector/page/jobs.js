// Jobs: long work of the server's, followed until it ends.

import { bytes, make, number } from "./dom.js";
import { ask } from "./session.js";

const PAUSE = 250;
const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** How a job is shown. */
export function jobRow(job, changed = () => {}) {
  const count = (value) => (job.what.startsWith("Back up") ? bytes(value) : number(value));
  const isRunning = job.state === "running";
  const told = isRunning ? `${count(job.done)}${job.total ? ` of ${count(job.total)}` : ""}` : `${job.state} after ${job.seconds} s`;
  const bar = make("progress", { "aria-label": job.what, ...(job.total ? { max: String(job.total), value: String(Math.min(job.done, job.total)) } : {}) });
  return make("div", { class: "job" },
    make("div", { class: "row" }, make("strong", { text: job.what }), make("span", { class: "gap" }),
      make("span", { class: `badge ${{ done: "good", failed: "bad", cancelled: "warn" }[job.state] ?? ""}`, text: job.state }), make("span", { class: "quiet", text: told }),
      isRunning ? make("button", { type: "button", text: "Cancel", "aria-label": `Cancel ${job.what}`, onclick: async () => { await ask("cancel", { number: job.number }); changed(); } }) : null),
    isRunning ? bar : null,
    job.result ? make("p", { class: job.state === "failed" ? "wrong" : "quiet", text: summary(job) }) : null);
}

function summary({ result, what }) {
  if (result.error) return result.error;
  if (what === "Verify") {
    const entities = result.repositories.reduce((sum, it) => sum + it.entities, 0);
    const damaged = result.repositories.filter((it) => !it.ok).map(({ name, damaged_ids: ids = [] }) => `${name}${ids.length ? ` (${ids.slice(0, 5).join(", ")})` : ""}`);
    return result.ok ? `All is well: ${number(entities)} entities and their indexes were checked.` : `Damage: ${[...result.problems, ...damaged].join("; ")}`;
  }
  if (result.bytes !== undefined) return `${result.path}: ${bytes(result.bytes)}, up to commit ${result.sequence}`;
  if (result.entities !== undefined) return `${result.path}: ${number(result.entities)} entities, up to commit ${result.sequence}`;
  return "";
}

/** Shows how far a job is until it ends; answers it then. */
export async function followJob(wanted, element) {
  for (;;) {
    const { jobs } = await ask("jobs");
    const job = jobs.find((it) => it.number === wanted);
    if (!job) return { state: "failed", result: { error: "Nothing is known of it any more." } };
    element.replaceChildren(jobRow(job));
    if (job.state !== "running") return job;
    await wait(PAUSE);
  }
}
