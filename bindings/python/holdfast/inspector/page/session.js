// The session: what is asked of the server, and the secret that it wants with it.

const KEPT = "holdfast session";
let secret = null;
let store = 0;

/** What the server refused, with what it told of that. */
export class Refusal extends Error {
  constructor(answer, status) {
    super(answer.error ?? `The server answered ${status}.`);
    this.status = status;
    this.kind = answer.kind;
    this.detail = answer.detail ?? {};
  }
}

export const chosenStore = () => store;
export const chooseStore = (number) => { store = number; };

/** Takes the secret out of the address, and gives it for a session. Other tabs of this address have that, too. */
export async function begin() {
  const link = /^#token=([\w-]+)/.exec(location.hash)?.[1];
  if (link) history.replaceState(null, "", location.pathname);
  secret = localStorage.getItem(KEPT);
  if (!link) return;
  const response = await fetch("session", { method: "POST", body: JSON.stringify({ link }) });
  if (response.ok) {
    secret = (await response.json()).session;
    localStorage.setItem(KEPT, secret);
  }
}

function request(name, given, signal) {
  return fetch(`api/${name}`, {
    method: "POST", signal, body: JSON.stringify({ store, ...given }),
    headers: { Authorization: `Bearer ${secret ?? ""}` },
  });
}

/** Asks the server; a Refusal is thrown where it does not answer with what was asked. */
export async function ask(name, given = {}, signal = undefined) {
  let response;
  try {
    response = await request(name, given, signal);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal({ error: "The inspector has ended. Start it again, and open its new link." }, 0);
  }
  const answer = await response.json();
  if (!response.ok) throw new Refusal(answer, response.status);
  return answer;
}

/**
 * Has what comes told to a function, line by line, until the answered function is called. A connection that is
 * lost is made again, and while nobody sees the page there is none: a browser has few for all tabs.
 */
export function listen(name, given, { line, state = () => {} }) {
  let controller = null, ended = false, wait = 500, timer = null, rest = null;

  async function connect() {
    const mine = controller = new AbortController();
    await hear();
    if (controller === mine) controller = null;
  }

  async function hear() {
    try {
      const response = await request(name, typeof given === "function" ? given() : given, controller.signal);
      if (!response.ok) {
        const refusal = new Refusal(await response.json(), response.status);
        ended = response.status !== 503;
        state(refusal);
        return;
      }
      state(null);
      wait = 500;
      await read(response.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error instanceof Refusal) state(error);
    }
    if (ended) return;
    state(new Refusal({ error: "The connection was lost; it is tried again." }, 0));
    timer = setTimeout(connect, wait);
    wait = Math.min(2 * wait, 10000);
  }

  async function read(reader) {
    const pieces = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = value.split("\n");
      // A line of many megabytes comes in many pieces: they are put together once.
      while (parts.length > 1) {
        pieces.push(parts.shift());
        const text = pieces.join("");
        pieces.length = 0;
        if (!text) continue;
        const told = JSON.parse(text);
        if (told.error) throw new Refusal(told, 0);
        line(told);
      }
      pieces.push(parts[0]);
    }
  }

  function changeVisibility() {
    clearTimeout(rest);
    if (document.hidden) rest = setTimeout(() => controller?.abort(), 30000);
    else if (!controller && !ended) {
      clearTimeout(timer);
      connect();
    }
  }

  document.addEventListener("visibilitychange", changeVisibility);
  connect();
  return () => {
    ended = true;
    clearTimeout(timer);
    clearTimeout(rest);
    document.removeEventListener("visibilitychange", changeVisibility);
    controller?.abort();
  };
}
