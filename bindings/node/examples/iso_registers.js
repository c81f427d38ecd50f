// The ISO registers of countries, subdivisions, languages, currencies and scripts, kept in a Holdfast store: a tour of
// the package on the 13,000 entities of Debian's package iso-codes.
//
//     node iso_registers.js
"use strict";

const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const readline = require("node:readline");
const { Store, handleCount } = require("..");

// Repository: file, the array's name in it, and the member that holds an entry's id.
const REGISTERS = {
  countries: ["iso_3166-1.json", "3166-1", "alpha_2"],
  subdivisions: ["iso_3166-2.json", "3166-2", "code"],
  languages: ["iso_639-3.json", "639-3", "alpha_3"],
  currencies: ["iso_4217.json", "4217", "alpha_3"],
  scripts: ["iso_15924.json", "15924", "alpha_4"],
};
const LOAD = 5000;

// A register is one transaction, so a reader sees all of it or nothing.
async function importRegisters(store) {
  let total = 0;
  for (const [name, [file, array, key]] of Object.entries(REGISTERS)) {
    const entries = JSON.parse(fs.readFileSync(path.join("/usr/share/iso-codes/json", file), "utf8"))[array];
    const repository = await store.repository(name, { key });
    await store.transact((t) => repository.within(t).addMany(entries));
    assert.equal(await repository.count(), entries.length);
    console.log(`  ${name.padEnd(12)} ${String(entries.length).padStart(5)}`);
    total += entries.length;
  }
  console.log(`  ${total} entities`);
}

async function readAndUpdate(store) {
  const countries = await store.repository("countries");
  const { entity: iceland, version } = await countries.fetchVersioned("IS");
  const changed = await countries.patch("IS", { capital: "Reykjavík" }, version);
  console.log(`  ${JSON.stringify(iceland)}\n  ${JSON.stringify(changed.entity)}`);
  // Whoever still thinks of the old version is told so.
  await assert.rejects(countries.delete("IS", version), { code: "VERSION_MISMATCH" });

  const languages = await store.repository("languages");
  const three = await languages.find({ type: "C" }, { limit: 3 });
  assert.equal(three.length, 3);
  console.log(`  ${await languages.count({ type: "C" })} constructed languages, the first of them ${three[0].name}`);
}

async function beRefused(store) {
  const currencies = await store.repository("currencies");
  const total = await currencies.count();
  const transaction = store.begin();
  const inside = currencies.within(transaction);
  assert.ok(await inside.fetch("ISK"));
  await inside.delete("ISK");
  await inside.add({ alpha_3: "XIK" });
  await currencies.patch("ISK", { digits: 0 }); // Somebody else is quicker.
  await assert.rejects(transaction.commit(), (error) => {
    console.log(`  ${error.message}`);
    return error.code === "CONFLICT" && error.retryable;
  });
  assert.ok((await currencies.contains("ISK")) && (await currencies.count()) === total);
}

function visit(store, visits, number) {
  const transaction = store.begin();
  visits.within(transaction).save({ id: number, place: `IS-${number % 9}` });
  return transaction.commit();
}

async function commitThousands(store) {
  const visits = await store.repository("visits");
  const told = [];
  const commits = Array.from({ length: LOAD }, (_, number) =>
    visit(store, visits, number).then((receipt) => told.push(receipt.sequence)),
  );
  await Promise.all(commits);
  const failed = told.filter((sequence, i) => i > 0 && sequence <= told[i - 1]).length;
  console.log(`  ${told.length} completed in commit order, ${failed} failed`);
  assert.ok(failed === 0 && (await visits.count()) === LOAD);
}

async function follow(store) {
  const scripts = await store.repository("scripts");
  const live = await scripts.live({ on_duty: true });
  await live.next();
  await scripts.patch("Cyrl", { seen: 1 });
  await scripts.patch("Latn", { on_duty: true });
  for await (const news of live) {
    assert.equal(news.inserted[0].id, "Latn");
    break;
  }
  console.log("  one script came on duty");
}

// The second process: tells each acknowledged commit to its parent.
async function writeUntilKilled(file) {
  const store = await Store.open(file);
  const visits = await store.repository("visits");
  for (let first = LOAD; ; first += 100) {
    await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        await visit(store, visits, first + i);
        fs.writeSync(1, `${first + i}\n`);
      }),
    );
  }
}

async function killAWriter(file) {
  const writer = spawn(process.execPath, [__filename, "write", file], { stdio: ["ignore", "pipe", "inherit"] });
  const acknowledged = [];
  for await (const line of readline.createInterface({ input: writer.stdout })) {
    acknowledged.push(line);
    if (acknowledged.length === LOAD) writer.kill("SIGKILL");
  }
  const store = await Store.open(file, { lock_timeout_ms: 10000 });
  const visits = await store.repository("visits");
  const found = (await Promise.all(acknowledged.map((number) => visits.contains(number)))).filter(Boolean).length;
  console.log(`  ${acknowledged.length} commits were acknowledged before the kill, ${found} of them are there`);
  assert.ok(found === acknowledged.length && found >= LOAD);
  await store.close();
}

async function main() {
  if (process.argv[2] === "write") return writeUntilKilled(process.argv[3]);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "iso-registers-"));
  const file = path.join(folder, "registers.db");
  try {
    const store = await Store.open(file);
    console.log(`Importing into ${file}`);
    await importRegisters(store);
    console.log("Reading and updating");
    await readAndUpdate(store);
    console.log("A transaction that comes too late is refused, and nothing has changed");
    await beRefused(store);
    console.log("Thousands of commits at once");
    await commitThousands(store);
    console.log("Following a query");
    await follow(store);
    await store.close();
    console.log("A writer is killed");
    await killAWriter(file);
    assert.equal(handleCount("operation"), 0);
    console.log("Done");
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
