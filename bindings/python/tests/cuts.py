"""Connections to a server that are cut under load: what was told then, and what is stored.

python cuts.py 1000 makes so many cuts, and prints figures.
"""

import contextlib
import multiprocessing
import os
import random
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from typing import Any, Callable

from proxy import Direction, Fault, Kind, Proxy
from server import Server

import holdfast

#: How long, in seconds, a commit may wait for its turn, and the store for a server that it has lost.
TIMEOUT = 4.0
PATIENCE = 1.0
#: How long a server may say nothing, in seconds: HOLDFAST_LIMITS sets it for the load's processes.
REPLY = 1.0
#: How long the store's row may be locked, set there, too.
FOREIGN_LOCK = 5.0
#: A read, of which the snapshot is begun anew twice at most, each time on a connection that was kept or on a
#: fresh one, and each of them may say nothing, or not come to be. On a busy machine all takes longer.
LONGEST_READ = 3 * 2 * (REPLY + PATIENCE) + 3.0
#: A commit, beyond the reads of its transaction: its key is asked for, which is a read; then it waits for its
#: turn; then for what became of it. One whose batch has failed takes the lock anew by itself, which may be
#: waited for on two connections.
LONGEST_COMMIT = LONGEST_READ + TIMEOUT + REPLY + PATIENCE + 2 * (FOREIGN_LOCK + REPLY)

#: Threads of a process that commit.
WRITERS = 2
ACCOUNTS = [f"a{number}" for number in range(5)]


@dataclass
class Told:
    """What the load was told, by the ids of its entries."""

    acknowledged: set[str] = field(default_factory=set)
    #: With what was said.
    refused: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    #: Those of which the key has told later what became of them.
    resolved: int = 0
    longest_read: float = 0
    longest_commit: float = 0
    errors: "Counter[str]" = field(default_factory=Counter)

    def add(self, other: "Told") -> None:
        self.acknowledged |= other.acknowledged
        self.refused.update(other.refused)
        self.unknown |= other.unknown
        self.resolved += other.resolved
        self.longest_read = max(self.longest_read, other.longest_read)
        self.longest_commit = max(self.longest_commit, other.longest_commit)
        self.errors += other.errors


def note(told: Told, error: holdfast.Error) -> None:
    told.errors[f"{type(error).__name__} {error.commit_state.name}: {error.message[:90]}"] += 1


def write(
    store: holdfast.Store, name: str, seed: int, stop: Event, acknowledged: "Synchronized[int]", told: Told
) -> None:
    """Commits, each of which counts two accounts up and tells in an entry from what."""
    accounts = until_it_works(lambda: store.repository("accounts"))
    entries = until_it_works(lambda: store.repository("entries"))
    draw = random.Random(seed)
    number = 0
    reading = 0.0

    def count(account: str) -> int:
        nonlocal reading
        began = time.monotonic()
        try:
            return accounts[account]["n"]
        finally:
            took = time.monotonic() - began
            reading += took
            told.longest_read = max(told.longest_read, took)

    def add() -> None:
        chosen = draw.sample(ACCOUNTS, 2)
        seen = {account: count(account) for account in chosen}
        for account in chosen:
            accounts.save({"id": account, "n": seen[account] + 1})
        entries.save({"id": f"{name}.{number}", "seen": seen})

    def commit(key: str) -> None:
        nonlocal reading
        reading, began = 0.0, time.monotonic()
        try:
            store.transact(add, timeout=TIMEOUT, idempotency_key=key)
        finally:
            told.longest_commit = max(told.longest_commit, time.monotonic() - began - reading)

    while not stop.is_set():
        key = f"{name}.{number}"
        try:
            commit(key)
            told.acknowledged.add(key)
        except holdfast.Error as error:
            note(told, error)
            time.sleep(0.02)
            if error.commit_state is holdfast.CommitState.NONE:
                told.refused[key] = str(error)
            elif error.commit_state is holdfast.CommitState.DONE:
                told.acknowledged.add(key)
            elif draw.random() < 0.5:
                told.unknown.add(key)
            else:
                until_it_works(lambda key=key: commit(key))  # type: ignore[misc]
                told.acknowledged.add(key)
                told.resolved += 1
        try:
            count(draw.choice(ACCOUNTS))
        except holdfast.Error as error:
            note(told, error)
            time.sleep(0.02)
        if key in told.acknowledged:
            with acknowledged.get_lock():
                acknowledged.value += 1
        number += 1


def until_it_works(body: "Callable[[], Any]") -> Any:
    while True:
        try:
            return body()
        except holdfast.Error:
            time.sleep(0.02)


def end_with_parent() -> None:
    """Else who is left alone would ask for ever for a server that has ended, too."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def run_process(
    url: str, name: str, seed: int, stop: Event, acknowledged: "Synchronized[int]", results: Connection
) -> None:
    threading.Thread(target=end_with_parent, daemon=True).start()
    store = until_it_works(lambda: holdfast.open(url, lock_timeout_ms=int(PATIENCE * 1000)))
    told = [Told() for _ in range(WRITERS)]
    threads = [
        threading.Thread(target=write, args=(store, f"{name}{index}", seed + index, stop, acknowledged, one))
        for index, one in enumerate(told)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # What is still on its way from before may hold it up.
    with contextlib.suppress(holdfast.Error):
        store.close()
    for other in told[1:]:
        told[0].add(other)
    results.send(told[0])


class Load:
    """A process for each URL, all of one store, until `end`, or until the block ends."""

    def __init__(self, urls: "list[str]", seed: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._stop = context.Event()
        self._acknowledged = context.Value("L")
        self._processes, self._results = [], []
        for number, url in enumerate(urls):
            receiver, sender = context.Pipe(duplex=False)
            arguments = (url, f"p{number}", seed + 100 * number, self._stop, self._acknowledged, sender)
            process = context.Process(target=run_process, args=arguments)
            process.start()
            sender.close()
            self._processes.append(process)
            self._results.append(receiver)

    @property
    def runs(self) -> bool:
        return all(process.is_alive() for process in self._processes)

    @property
    def acknowledged(self) -> int:
        return self._acknowledged.value

    def __enter__(self) -> "Load":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.join()

    def end(self) -> Told:
        """What all of them were told. Each of their threads must have committed something."""
        self._stop.set()
        told = Told()
        for process, receiver in zip(self._processes, self._results):
            told.add(receiver.recv())
            process.join()
        writers = {key.partition(".")[0] for key in told.acknowledged}
        assert len(writers) == WRITERS * len(self._processes), f"only {writers} have committed"
        return told


def open_accounts(url: str) -> None:
    with holdfast.open(url) as store:
        for account in ACCOUNTS:
            store.repository("accounts").save({"id": account, "n": 0})


def drawn(draw: random.Random) -> Fault:
    """A fault of a connection: most of them cuts, after a few statements or many."""
    kind = draw.choices(list(Kind), [50, 25, 8, 8, 4])[0]
    return Fault(
        draw.choice(list(Direction)),
        int(draw.expovariate(1 / 12_000)) if draw.random() < 0.8 else draw.randrange(3_000),
        "bytes",
        kind,
        draw.choice({Kind.LATE: [0.02, 0.2, 0.5], Kind.OUTAGE: [0.5, 2.5]}.get(kind, [0.1, 0.5, 1.5, 8.0])),
    )


def run(server: Server, store_name: str, cuts: int, seed: int) -> "tuple[Told, Proxy]":
    """So many faults of connections under the load of two processes. Then everything is looked at."""
    direct = f"{server.url}?holdfast_store={store_name}"
    open_accounts(direct)
    draw = random.Random(seed)
    with Proxy(server.url, lambda: drawn(draw)) as proxy:
        with Load([f"{proxy.url}?holdfast_store={store_name}"] * 2, seed) as load:
            while sum(proxy.struck.values()) < cuts and load.runs:
                time.sleep(0.05)
            proxy.heal()
            told = load.end()
    judge(direct, told)
    assert all(proxy.struck_in.values()), "nothing went wrong in one direction"
    return told, proxy


def judge(url: str, told: Told, may_lose: bool = False) -> int:
    """Answers how many commits were acknowledged and lost, which the server may where it is said so."""
    with holdfast.open(url) as store:
        store.verify()
        entries = {entry["id"]: entry["seen"] for entry in store.repository("entries")}
        counts = {account["id"]: account["n"] for account in store.repository("accounts")}
    stored = set(entries)
    lost = told.acknowledged - stored
    assert may_lose or not lost, "a commit that was acknowledged is lost"
    wrong = {key: words for key, words in told.refused.items() if key in stored}
    assert not wrong, f"stored although refused: {wrong}"
    assert stored <= told.acknowledged | told.unknown, "a commit is stored of which nobody knows"
    for account, count in counts.items():
        # Each saw another number, so none is missing but the newest, and none was stored twice or in part,
        # or behind one that was lost.
        seen = sorted(one[account] for one in entries.values() if account in one)
        assert seen == list(range(count)), account
    assert told.longest_read <= LONGEST_READ, f"a read took {told.longest_read} s"
    assert told.longest_commit <= LONGEST_COMMIT, f"a commit took {told.longest_commit} s"
    return len(lost)


def main(cuts: int, seed: int) -> None:
    server = Server()
    try:
        began = time.monotonic()
        told, proxy = run(server, "cuts", cuts, seed)
        print(
            f"seed {seed}: {sum(proxy.struck.values())} faults in {time.monotonic() - began:.0f} s "
            f"({', '.join(f'{count} {kind.value}' for kind, count in proxy.struck.items())}): "
            f"{len(told.acknowledged)} acknowledged, {len(told.refused)} refused, "
            f"{len(told.unknown)} unknown, {told.resolved} told by their key; "
            f"the longest read {told.longest_read:.1f} s, the longest commit {told.longest_commit:.1f} s"
        )
        for text, count in told.errors.most_common():
            print(f"{count:6} {text}")
    finally:
        server.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30))
