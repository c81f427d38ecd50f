// Holdfast for Node: the classes that programs use, over the addon's functions. What they do is told in index.d.ts.
"use strict";

const native = require("./holdfast.node");

const COMMIT_STATES = ["none", "unknown", "done"];
// The library's own default.
const MAX_ATTEMPTS = 100;

class HoldfastError extends Error {
  constructor(status, message, detail = "{}", retryable = false, commitState = 0, options = undefined) {
    super(message, options);
    this.name = "HoldfastError";
    this.code = status.replace(/^HF_/, "");
    this.detail = JSON.parse(detail);
    this.retryable = retryable;
    this.commitState = COMMIT_STATES[commitState];
  }
}
native.setErrorClass(HoldfastError);

const refuse = (status, message) => new HoldfastError(status, message);
const closed = () => refuse("CLOSED", "the store was closed");

// Options and filters: undefined stays that, all else is JSON.
const encode = (value, what) => {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "object") throw new TypeError(`${what} must be an object, not ${typeof value}`);
  return JSON.stringify(value);
};

// Options with what this package relies on.
const merged = (options, ours) => {
  encode(options, "options");
  return JSON.stringify({ ...options, ...ours });
};

const isConflict = (error) => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof HoldfastError && cause.code === "CONFLICT") return true;
  }
  return false;
};

// Who waits for which event, by the number that the library hands back with it. It knows nothing of its store: a store
// that is forgotten can be collected although the loop would call this.
class Waiting {
  #last = 0;
  #receivers = new Map();
  #deliveries = [];
  #wanted = 0;
  #closed = false;
  // Streams that somebody waits for, who may have nothing but the promise.
  pinned = new Set();
  // Tells the loop whether to go on.
  want = () => {};

  // receiver: called with (error, event) for each event, and told isEnd by the event.
  add(receiver) {
    if (this.#closed) throw closed();
    this.#receivers.set(++this.#last, receiver);
    return this.#last;
  }

  remove(token) {
    this.#receivers.delete(token);
  }

  hold(change) {
    this.#wanted += change;
    this.want(this.#wanted > 0);
  }

  // Whether an event is still to come that is not a stream's.
  get isBusy() {
    return this.#wanted > 0;
  }

  // A promise for when something has been delivered.
  delivery() {
    return new Promise((resolve) => this.#deliveries.push(resolve));
  }

  // What the addon calls: with an event, or with nothing once the store is closed.
  tell(token, isEnd, error, value, version, receipt, position) {
    if (token === undefined) {
      this.#closed = true;
      const left = [...this.#receivers.values()];
      this.#receivers.clear();
      for (const receiver of left) receiver(closed(), { isEnd: true });
    } else {
      const receiver = this.#receivers.get(token);
      if (isEnd) this.#receivers.delete(token);
      if (receiver) receiver(error, { isEnd, value, version, receipt, position });
    }
    for (const resolve of this.#deliveries.splice(0)) resolve();
  }

  // The one event of what `begin` starts with a token. Where the queue is full it waits for a place.
  async one(begin) {
    for (;;) {
      let token;
      try {
        return await new Promise((resolve, reject) => {
          token = this.add((error, event) => {
            this.hold(-1);
            if (error) reject(error);
            else resolve(event);
          });
          begin(token);
          this.hold(+1);
        });
      } catch (error) {
        const wasStarted = !this.#receivers.has(token);
        this.remove(token);
        if (wasStarted || error.code !== "BUSY" || !this.isBusy) throw error;
        await this.delivery();
      }
    }
  }
}

class Store {
  #handle;
  #waiting;

  constructor(key, handle, waiting) {
    if (key !== Store.#key) throw new TypeError("a store is opened by Store.open(url)");
    this.#handle = handle;
    this.#waiting = waiting;
  }
  static #key = Symbol("only open makes one");

  static async open(url, options) {
    if (typeof url !== "string") throw new TypeError("a store's URL is a string");
    const waiting = new Waiting();
    const given = merged(options, { delivery: "queue" });
    const handle = await native.openStore(url, given, (...event) => waiting.tell(...event));
    // Of the waiting, because this must not keep the store; it lives as long as anybody waits.
    const weak = new WeakRef(handle);
    waiting.want = (wanted) => {
      const store = weak.deref();
      if (store) native.setWanted(store, wanted);
    };
    return new Store(Store.#key, handle, waiting);
  }

  async repository(name, options) {
    if (typeof name !== "string") throw new TypeError("a repository's name is a string");
    const handle = await native.openRepository(this.#handle, name, encode(options, "options"));
    return new Repository(this, handle, null);
  }

  begin(options) {
    // The loop must not wait for a place: it is what makes places free.
    const given = merged(options, { when_full: "refuse" });
    return new Transaction(this, native.begin(this.#handle, given));
  }

  async transact(body, options = {}) {
    if (typeof body !== "function") throw new TypeError("transact runs a function");
    const { max_attempts: most = MAX_ATTEMPTS, ...others } = options;
    const { idempotency_key } = others;
    // What the key's first commit answered, if there is a key and it was used.
    const known = async () => {
      if (idempotency_key === undefined) return undefined;
      // Of no steps: it stores nothing, and answers null where the key was used.
      const { value, receipt } = await this.operate({ steps: [], idempotency_key, when_full: "refuse" }, null, null);
      return value === "null" ? { value: undefined, receipt: JSON.parse(receipt) } : undefined;
    };
    const earlier = await known();
    if (earlier) return earlier;
    let transaction = this.begin(others);
    for (let attempt = 1; ; attempt++) {
      try {
        const value = await body(transaction);
        const receipt = await transaction.commit();
        return { value, receipt: { ...receipt, attempts: attempt } };
      } catch (error) {
        await transaction.abandon();
        // What stood in its way may be what the same request has stored, which came at the same time and was faster.
        const same = await known().catch(() => undefined);
        if (same) return same;
        if (!isConflict(error) || attempt >= most) throw error;
      }
      transaction = await transaction.again();
    }
  }

  async observe(options) {
    return Live.open(this, (token) => native.observe(this.#handle, encode(options, "options"), token));
  }

  async close() {
    await native.closeStore(this.#handle);
  }

  // For this module alone: not in index.d.ts.
  get waiting() {
    return this.#waiting;
  }

  operate(description, repository, transaction) {
    const text = JSON.stringify(description);
    return this.#waiting.one((token) => native.operate(this.#handle, text, repository, transaction, token));
  }
}

class Transaction {
  #store;
  #handle;
  // The calls in it take turns.
  #last = Promise.resolve();

  constructor(store, handle) {
    this.#store = store;
    this.#handle = handle;
  }

  async commit() {
    await this.#last.catch(() => {});
    const event = await this.#store.waiting.one((token) => native.submit(this.#handle, token));
    return JSON.parse(event.receipt);
  }

  rollback() {
    native.rollback(this.#handle);
  }

  cancel() {
    native.cancel(this.#handle);
  }

  // For this module alone.
  operate(store, description, repository) {
    if (store !== this.#store) throw refuse("INVALID_ARGUMENT", "the transaction is of another store");
    const operated = this.#last
      .catch(() => {})
      .then(() => store.operate(description, repository, this.#handle));
    this.#last = operated;
    return operated;
  }

  // Rolls back whatever is left of it, once nothing is done in it any more.
  async abandon() {
    await this.#last.catch(() => {});
    try {
      native.rollback(this.#handle);
    } catch {
      // It has failed, and there is nothing left to roll back.
    }
  }

  // The next attempt, once it is its turn.
  async again() {
    let next, turn;
    await this.#store.waiting.one((token) => ([next, turn] = native.retry(this.#handle, token)));
    turn = undefined; // Until here it was not to be collected.
    return new Transaction(this.#store, next);
  }
}

class Repository {
  #store;
  #handle;
  #transaction;

  constructor(store, handle, transaction) {
    this.#store = store;
    this.#handle = handle;
    this.#transaction = transaction;
  }

  within(transaction) {
    if (!(transaction instanceof Transaction)) throw new TypeError("within takes a transaction");
    return new Repository(this.#store, this.#handle, transaction);
  }

  async #do(operation, members) {
    // The loop must not wait for a place: it is what makes places free.
    const description = { operation, repository: 0, ...members, when_full: "refuse" };
    const event = this.#transaction
      ? await this.#transaction.operate(this.#store, description, this.#handle)
      : await this.#store.operate(description, this.#handle, null);
    return { value: JSON.parse(event.value || "null"), version: event.version };
  }

  async #write(operation, members) {
    const { value, version } = await this.#do(operation, members);
    return { entity: value, version };
  }

  add(entity) {
    return this.#write("add", { entity });
  }
  save(entity) {
    return this.#write("save", { entity });
  }
  update(entity, expectedVersion = 0) {
    return this.#write("update", { entity, expected_version: expectedVersion });
  }
  patch(id, patch, expectedVersion = 0) {
    return this.#write("patch", { id, patch, expected_version: expectedVersion });
  }
  modify(id, update, initial = undefined) {
    return this.#write("modify", { id, update, initial });
  }
  async delete(id, expectedVersion = 0) {
    await this.#do("delete", { id, expected_version: expectedVersion });
  }
  async addMany(entities) {
    await this.#do("add_many", { entities });
  }

  async fetchVersioned(id) {
    const { value, version } = await this.#do("fetch", { id });
    return value === null ? undefined : { entity: value, version };
  }
  async fetch(id) {
    return (await this.fetchVersioned(id))?.entity;
  }
  async find(filter = {}, options = undefined) {
    return (await this.#do("find", { filter, options })).value;
  }
  async first(filter = {}, options = undefined) {
    return (await this.#do("first", { filter, options })).value ?? undefined;
  }
  async count(filter = {}) {
    return (await this.#do("count", { filter })).value;
  }
  async contains(id) {
    return (await this.#do("contains", { id })).value;
  }

  async live(filter = {}, options = undefined) {
    const [given, others] = [encode(filter, "a filter"), encode(options, "options")];
    return Live.open(this.#store, (token) => native.live(this.#handle, given, others, token));
  }
}

class Live {
  #store;
  #handle;
  #token;
  #news = [];
  #waiters = [];
  #ended = false;

  static async open(store, begin) {
    const live = new Live();
    live.#store = store;
    // One that is forgotten can be collected.
    const weak = new WeakRef(live);
    live.#token = store.waiting.add((error, event) => weak.deref()?.#receive(error, event));
    try {
      live.#handle = await begin(live.#token);
    } catch (error) {
      store.waiting.remove(live.#token);
      throw error;
    }
    return live;
  }

  // Each piece of news is a function that answers it: what is a failure is rejected to who asks for it alone.
  #receive(error, event) {
    this.#ended = event.isEnd;
    // That the store was closed is how a stream ends, and no failure of it.
    if (error && !(event.isEnd && error.code === "CLOSED")) this.#hand(() => Promise.reject(error));
    else if (!event.isEnd) this.#hand(() => Promise.resolve({ done: false, value: JSON.parse(event.value) }));
    while (this.#ended && this.#waiters.length > 0) this.#hand(() => Promise.resolve({ done: true, value: undefined }));
  }

  #hand(answer) {
    const resolve = this.#waiters.shift();
    if (resolve) this.#settle(resolve, answer());
    else this.#news.push(answer);
  }

  #settle(resolve, answer) {
    this.#store.waiting.hold(-1);
    if (this.#waiters.length === 0) this.#store.waiting.pinned.delete(this);
    resolve(answer);
  }

  next() {
    const answer = this.#news.shift();
    if (answer) return answer();
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    this.#store.waiting.hold(+1);
    this.#store.waiting.pinned.add(this);
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  close() {
    this.#store.waiting.remove(this.#token);
    native.endStream(this.#handle);
    this.#news.length = 0;
    if (!this.#ended) this.#receive(closed(), { isEnd: true });
  }

  async return(value) {
    this.close();
    return { done: true, value };
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}

module.exports = { Store, HoldfastError, handleCount: (kind) => native.handleCount(kind) };
