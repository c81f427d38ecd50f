// Holdfast for Node against the real library: what programs meet, and what they do wrong.
"use strict";

const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { setImmediate: turn, setTimeout: pause } = require("node:timers/promises");
const test = require("node:test");
const { Worker } = require("node:worker_threads");
const { Store, HoldfastError, handleCount } = require("..");

const withStore = (options, body) => async () => {
  const store = await Store.open("memory:", options);
  try {
    await body(store, await store.repository("songs"));
  } finally {
    await store.close();
  }
};
const code = (expected) => (error) => {
  assert.ok(error instanceof HoldfastError, String(error));
  assert.equal(error.code, expected);
  return true;
};

// Whatever the tests have left to be collected.
async function handlesLeft() {
  for (let i = 0; i < 500 && handleCount() > 0; i++) {
    global.gc();
    await pause(5);
  }
  return handleCount();
}

test("entities are added, changed, found and deleted", withStore({}, async (store, songs) => {
  const added = await songs.add({ id: "s1", plays: 1 });
  assert.deepEqual(await songs.fetchVersioned("s1"), added);
  await assert.rejects(songs.add({ id: "s1" }), code("EXISTS"));
  assert.deepEqual((await songs.patch("s1", { plays: 2 }, added.version)).entity, { id: "s1", plays: 2 });
  await assert.rejects(songs.update({ id: "s1" }, added.version), code("VERSION_MISMATCH"));
  await assert.rejects(songs.update({ id: "s2" }), code("NOT_FOUND"));
  await songs.modify("s2", { $inc: { plays: 5 } }, {});
  assert.equal(await songs.fetch("nobody"), undefined);
  assert.equal(await songs.count({ plays: { $gt: 1 } }), 2);
  assert.equal((await songs.first({}, { sort: { plays: -1 } })).id, "s2");
  assert.equal(await songs.first({ plays: 1000 }), undefined);
  await songs.addMany([{ id: "s3" }, { id: "s4" }]);
  assert.deepEqual((await songs.find({}, { limit: 3 })).map((song) => song.id), ["s1", "s2", "s3"]);
  await songs.delete("s2");
  await assert.rejects(songs.delete("s2"), code("NOT_FOUND"));
  assert.equal(await songs.contains("s2"), false);
  assert.match((await songs.add({ title: "no id" })).entity.id, /^[0-9a-f-]{36}$/);
  assert.deepEqual((await songs.save({ id: 7, text: "\u0000 ü 🎵 \"" })).entity, { id: 7, text: "\u0000 ü 🎵 \"" });
}));

test("errors tell what is wrong and where", withStore({}, async (store, songs) => {
  await assert.rejects(songs.find({ a: { $near: 1 } }), (error) => {
    assert.equal(error.detail.operator, "$near");
    assert.deepEqual([error.retryable, error.commitState, error.name], [false, "none", "HoldfastError"]);
    return code("INVALID_QUERY")(error);
  });
  await assert.rejects(Store.open("memory:", { durabilty: 1 }), code("INVALID_OPTION"));
  await assert.rejects(Store.open("memory\0:"), code("INVALID_ARGUMENT"));
  await assert.rejects(store.repository("no good name"), code("INVALID_NAME"));
  await assert.rejects(songs.live({ $near: 1 }), code("INVALID_QUERY"));
}));

test("misuse is a TypeError that says what is meant", withStore({}, async (store, songs) => {
  await assert.rejects(Store.open(42), TypeError);
  await assert.rejects(store.repository(undefined), TypeError);
  await assert.rejects(store.transact({}), TypeError);
  await assert.rejects(songs.live("{}"), TypeError);
  assert.throws(() => new Store(), TypeError);
  assert.throws(() => songs.within(store), TypeError);
  assert.throws(() => store.begin("options"), TypeError);
  const other = await Store.open("memory:");
  await assert.rejects(songs.within(other.begin()).fetch("s1"), code("INVALID_ARGUMENT"));
  await other.close();
}));

test("what is not committed goes back", withStore({}, async (store, songs) => {
  const first = store.begin();
  await songs.within(first).save({ id: "s1" });
  assert.equal(await songs.within(first).contains("s1"), true);
  first.rollback();
  await assert.rejects(songs.within(first).save({ id: "s1" }), code("INVALID_STATE"));
  const second = store.begin();
  // Not awaited one by one: calls in a transaction take turns, and the commit comes after them.
  songs.within(second).save({ id: "s2" });
  songs.within(second).patch("s2", { plays: 1 });
  const receipt = await second.commit();
  assert.deepEqual(receipt.changes.map((change) => change.id), ["s2"]);
  await assert.rejects(second.commit(), code("INVALID_STATE"));
  assert.throws(() => second.rollback(), code("INVALID_STATE"));
  assert.deepEqual(await songs.find(), [{ id: "s2", plays: 1 }]);
}));

test("a conflict runs the body again", withStore({}, async (store, songs) => {
  await songs.save({ id: "s1", plays: 0 });
  let runs = 0;
  const { value, receipt } = await store.transact(async (t) => {
    const song = await songs.within(t).fetch("s1");
    if (runs++ === 0) await songs.modify("s1", { $inc: { plays: 10 } }); // Somebody else is quicker.
    await songs.within(t).save({ id: "s1", plays: song.plays + 1 });
    return song.plays + 1;
  });
  assert.deepEqual([runs, value, receipt.attempts], [2, 11, 2]);
  runs = 0;
  const refused = store.transact(async (t) => {
    runs++;
    await songs.within(t).fetch("s1");
    await songs.modify("s1", { $inc: { plays: 1 } });
    await songs.within(t).save({ id: "s2" });
  }, { max_attempts: 3 });
  await assert.rejects(refused, (error) => error.retryable && code("CONFLICT")(error));
  assert.equal(runs, 3);
}));

test("what the body throws rolls back and arrives", withStore({}, async (store, songs) => {
  const own = new Error("mine");
  await assert.rejects(store.transact(async (t) => {
    await songs.within(t).save({ id: "s1" });
    throw own;
  }), (error) => error === own);
  await assert.rejects(store.transact((t) => {
    songs.within(t).save({ id: "s1" }); // Still under way when the body throws.
    throw own;
  }), (error) => error === own);
  await assert.rejects(store.transact((t) => songs.within(t).delete("nobody")), code("NOT_FOUND"));
  assert.equal(await songs.count(), 0);
}));

test("an idempotency key answers the first receipt", withStore({}, async (store, songs) => {
  await songs.save({ id: "s1", plays: 0 });
  const play = () => store.transact(async (t) => { // the second time it would write something else
    const { plays } = await songs.within(t).fetch("s1");
    return (await songs.within(t).save({ id: "s1", plays: plays + 1 })).entity.plays;
  }, { idempotency_key: "k" });
  const [first, second] = [await play(), await play()];
  assert.equal(second.receipt.sequence, first.receipt.sequence);
  assert.deepEqual([first.receipt.replayed, second.receipt.replayed], [false, true]);
  assert.deepEqual([first.value, second.value, (await songs.fetch("s1")).plays], [1, undefined, 1]);
}));

test("of the same request many times at once one is stored, and all get its receipt", withStore({}, async (store, songs) => {
  const request = (number) => store.transact((t) => songs.within(t).add({ number }), { idempotency_key: "k" });
  const receipts = (await Promise.all([1, 2, 3, 4, 5].map(request))).map(({ receipt }) => receipt);
  assert.equal(new Set(receipts.map(({ sequence }) => sequence)).size, 1);
  assert.deepEqual([receipts.filter(({ replayed }) => !replayed).length, await songs.count()], [1, 1]);
  // Also where its own body refuses, for what the other has stored.
  const other = () => store.transact((t) => songs.within(t).add({ number: 9 }), { idempotency_key: "refused" });
  const { receipt } = await store.transact(async () => {
    await other();
    throw new Error("there is one already");
  }, { idempotency_key: "refused" });
  assert.equal(receipt.replayed, true);
}));

test("commits are told in order, and the loop goes on meanwhile", withStore({}, async (store, songs) => {
  const commits = [];
  for (let id = 0; id < 200; id++) {
    const transaction = store.begin();
    songs.within(transaction).save({ id });
    commits.push(transaction.commit());
  }
  let turns = 0, going = true;
  const loop = (async () => { for (; going; turns++) await turn(); })();
  const receipts = await Promise.all(commits);
  going = false;
  await loop;
  assert.ok(turns > 1);
  receipts.reduce((before, receipt) => (assert.ok(receipt.sequence > before), receipt.sequence), 0);
  assert.equal(await songs.count(), 200);
}));

test("counters that are hot count to the same number", withStore({}, async (store, songs) => {
  await songs.save({ id: "s1", plays: 0 });
  const play = (t) => songs.within(t).fetch("s1").then((song) => songs.within(t).save({ id: "s1", plays: song.plays + 1 }));
  await Promise.all(Array.from({ length: 50 }, () => store.transact(play)));
  assert.equal((await songs.fetch("s1")).plays, 50);
}));

test("a full queue makes nobody wait in the loop", withStore({ max_in_flight: 2 }, async (store, songs) => {
  await Promise.all(Array.from({ length: 100 }, (_, id) => songs.save({ id })));
  const transactions = Array.from({ length: 50 }, () => store.begin());
  await Promise.all(transactions.map((t, id) => songs.within(t).save({ id: `t${id}` })));
  await Promise.all(transactions.map((t) => t.commit()));
  assert.equal(await songs.count(), 150);
}));

test("a live query follows, and ends with its loop, its close, or its store", withStore({}, async (store, songs) => {
  await songs.save({ id: "s1", plays: 9 });
  const live = await songs.live({ plays: { $gt: 5 } });
  assert.deepEqual((await live.next()).value.snapshot, [{ id: "s1", plays: 9 }]);
  const coming = live.next();
  await songs.save({ id: "s2", plays: 1 });
  await songs.save({ id: "s3", plays: 6 });
  assert.deepEqual((await coming).value.inserted[0].entity, { id: "s3", plays: 6 });

  const observer = await store.observe({ repository: "songs", id: "s3" });
  await songs.delete("s3");
  for await (const news of observer) {
    assert.equal(news.commits[0].changes[0].operation, "delete");
    break; // Closes it.
  }
  assert.deepEqual(await observer.next(), { done: true, value: undefined });

  assert.equal((await live.next()).value.removed[0].id, "s3");
  const last = live.next();
  live.close();
  assert.deepEqual(await last, { done: true, value: undefined });

  const another = await songs.live();
  await another.next();
  const end = another.next();
  await store.close();
  assert.deepEqual(await end, { done: true, value: undefined });
}));

test("a store that closes early finishes what it accepted", async () => {
  const store = await Store.open("memory:");
  const songs = await store.repository("songs");
  const [open, accepted] = [store.begin(), store.begin()];
  await songs.within(open).save({ id: "s1" });
  await songs.within(accepted).save({ id: "s2" });
  const commit = accepted.commit();
  await turn();
  await store.close();
  assert.ok((await commit).sequence > 0);
  await turn();
  await assert.rejects(songs.count(), code("CLOSED"));
  assert.throws(() => store.begin(), code("CLOSED"));
  await assert.rejects(open.commit(), HoldfastError);
  await store.close();
});

test("a deadline withdraws a commit that waits", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-node-"));
  const file = path.join(folder, "locked.db");
  const store = await Store.open(file);
  const songs = await store.repository("songs");
  const { spawn } = require("node:child_process");
  const other = spawn("sqlite3", [file]);
  other.stdin.write("BEGIN IMMEDIATE;\n.print locked\n");
  await new Promise((resolve) => other.stdout.once("data", resolve));
  const transaction = store.begin({ timeout_ms: 100 });
  await songs.within(transaction).save({ id: "s1" });
  await assert.rejects(transaction.commit(), code("TIMEOUT"));
  const withdrawn = store.begin();
  await songs.within(withdrawn).save({ id: "s1" });
  const commit = withdrawn.commit();
  await turn();
  withdrawn.cancel();
  await assert.rejects(commit, code("CANCELLED"));
  other.stdin.end();
  await new Promise((resolve) => other.once("exit", resolve));
  assert.equal(await songs.count(), 0);
  await store.close();
  fs.rmSync(folder, { recursive: true });
});

test("a program that waits for nothing ends, also with a store open", () => {
  const program = `const { Store } = require(${JSON.stringify(path.resolve(__dirname, ".."))});
    Store.open("memory:").then(async (store) => {
      globalThis.songs = await store.repository("songs");
      globalThis.live = await songs.live();
      globalThis.commit = store.begin();
      await songs.save({ id: "s1" });
      console.log((await songs.find()).length);
    });`;
  const ended = spawnSync(process.execPath, ["-e", program], { timeout: 60000, encoding: "utf8" });
  assert.deepEqual([ended.status, ended.stdout, ended.stderr], [0, "1\n", ""]);
});

test("a throw where nobody waits is an uncaught exception, and harms no other commit", () => {
  const program = `const { Store } = require(${JSON.stringify(path.resolve(__dirname, ".."))});
    process.once("uncaughtException", (error) => console.log(error.message));
    Store.open("memory:").then(async (store) => {
      const songs = await store.repository("songs");
      songs.save({ id: "s1" }).then(() => { process.nextTick(() => { throw new Error("mine"); }); });
      await songs.save({ id: "s2" });
      await new Promise((resolve) => setTimeout(resolve, 20));
      console.log(await songs.count());
      await store.close();
    });`;
  const ended = spawnSync(process.execPath, ["-e", program], { timeout: 60000, encoding: "utf8" });
  assert.deepEqual([ended.status, ended.stdout, ended.stderr], [0, "mine\n2\n", ""]);
});

test("the README's program runs", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-node-"));
  const folderOfPackage = path.resolve(__dirname, "..");
  const [, program] = /```js\n([^]*?)```/.exec(fs.readFileSync(path.join(folderOfPackage, "README.md"), "utf8"));
  const own = program.replace('require("holdfast")', `require(${JSON.stringify(folderOfPackage)})`);
  const ended = spawnSync(process.execPath, ["-e", own], { cwd: folder, timeout: 60000, encoding: "utf8" });
  assert.equal(ended.stderr, "");
  assert.match(ended.stdout, /^1 plays, stored as number \d+\n\[ { id: 's1', plays: 1 } \]\n$/);
  fs.rmSync(folder, { recursive: true });
});

test("worker threads have stores of their own, and may end with them open", async () => {
  const program = `const { Store } = require(${JSON.stringify(path.resolve(__dirname, ".."))});
    const { parentPort } = require("node:worker_threads");
    Store.open("memory:").then(async (store) => {
      const songs = await store.repository("songs");
      globalThis.live = await songs.live();
      globalThis.waits = live.next().then(() => live.next());
      await songs.save({ id: "s1" });
      parentPort.postMessage(await songs.count());
      if (${"process.argv[2] === 'exit'"}) process.exit(0);
    });`;
  for (const end of ["exit", "terminate"]) {
    const worker = new Worker(program, { eval: true, argv: [end] });
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    assert.equal(await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject)), 1);
    if (end === "terminate") await worker.terminate();
    await ended;
  }
});

test("what is forgotten is collected while commits are under way", async () => {
  const forget = async () => {
    const store = await Store.open("memory:");
    const songs = await store.repository("songs");
    await songs.live();
    await (await store.observe()).next;
    for (let id = 0; id < 50; id++) {
      const transaction = store.begin();
      songs.within(transaction).save({ id });
      if (id % 2 === 0) transaction.commit().catch(() => {});
      if (id % 10 === 0) global.gc();
    }
  };
  for (let round = 0; round < 5; round++) await forget();
  assert.equal(await handlesLeft(), 0);
});
