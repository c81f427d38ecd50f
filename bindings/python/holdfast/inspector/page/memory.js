// Memory: what a person chose, which the server keeps for the next time.

import { ask } from "./session.js";

let page = {}, ofStore = {};

export const setPageMemory = (values) => { page = values; };
export async function readStoreMemory() { ofStore = (await ask("remembered")).memory; }

/** What is remembered of the store that is shown, and of the page. */
export const recall = (name, otherwise = null) => ofStore[name] ?? otherwise;
export const recallPage = (name, otherwise = null) => page[name] ?? otherwise;

/** Remembers something; null forgets it. That it cannot be kept is no reason to stop anybody's work. */
export function remember(name, value) {
  ofStore[name] = value;
  ask("remember", { name, value }).catch(() => {});
}

export function rememberPage(name, value) {
  page[name] = value;
  ask("remember", { store: null, name, value }).catch(() => {});
}
