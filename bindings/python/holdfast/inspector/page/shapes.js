// Shapes: what is known of repositories' fields, asked for once each while the page is open.

import { ask, chosenStore } from "./session.js";

const known = new Map();
const NOTHING = { fields: [], indexes: [] };

/** A function that answers the shape as far as it is known by then. */
export function sampledShape(repository) {
  const name = JSON.stringify([chosenStore(), repository]);
  if (!known.has(name)) {
    known.set(name, NOTHING);
    ask("sampled", { repository }).then((shape) => known.set(name, shape), () => known.delete(name));
  }
  return () => known.get(name) ?? NOTHING;
}

export const forgetShape = (repository) => known.delete(JSON.stringify([chosenStore(), repository]));
