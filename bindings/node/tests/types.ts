// What TypeScript makes of the package; run by nobody. Below each @ts-expect-error there has to be one.
import { HoldfastError, Store, Versioned } from "..";

interface Song {
  id: string;
  plays: number;
}

export async function uses(): Promise<number> {
  const store = await Store.open("music.db", { durability: "relaxed" });
  const songs = await store.repository<Song>("songs", { key: "id" });
  const { value, receipt } = await store.transact(async (t) => {
    const song: Song | undefined = await songs.within(t).fetch("s1");
    const saved: Versioned<Song> = await songs.within(t).save({ id: "s1", plays: (song?.plays ?? 0) + 1 });
    return saved.entity.plays;
  });
  for await (const news of await songs.live({ plays: { $gt: 5 } }, { sort: { plays: -1 }, limit: 10 })) {
    const first: Song | undefined = news.snapshot?.[0] ?? news.inserted?.[0]?.entity;
    if (first) break;
  }
  try {
    await songs.update({ id: "s1", plays: 2 }, receipt.sequence);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "VERSION_MISMATCH") throw error;
  }
  await songs.modify("s1", { $inc: { plays: value } }, { plays: 0 });
  return (await songs.find()).length;
}

export async function misuses(store: Store): Promise<void> {
  const songs = await store.repository<Song>("songs");
  // @ts-expect-error A store is opened, not made.
  new Store();
  // @ts-expect-error Nobody else makes its errors.
  new HoldfastError();
  // @ts-expect-error An entity has all its members.
  await songs.save({ id: "s1" });
  // @ts-expect-error A member has its type.
  await songs.patch("s1", { plays: "many" });
  // @ts-expect-error There may be nothing.
  (await songs.fetch("s1")).plays;
  // @ts-expect-error A misspelt option.
  store.begin({ timeout: 5 });
  // @ts-expect-error An option's values.
  await Store.open("memory:", { durability: "none" });
  // @ts-expect-error Filters are objects.
  await songs.find("{}");
  // @ts-expect-error Operators begin with a dollar.
  await songs.modify("s1", { inc: { plays: 1 } });
  // @ts-expect-error The first has no limit.
  await songs.first({}, { limit: 2 });
  // @ts-expect-error A transaction, not a store.
  songs.within(store);
  // @ts-expect-error No such status.
  if (new Error() instanceof HoldfastError && (new Error() as HoldfastError).code === "NOT_THERE") return;
}
