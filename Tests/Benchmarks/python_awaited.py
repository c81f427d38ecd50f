"""The benchmark's programs with asyncio: durable commits of one document, so many awaited at once.

    python_awaited.py ENGINE WORKLOAD DIRECTORY DOCUMENTS COUNT IN_FLIGHT

"commits" tells the time of all, "median" and "slowest-hundredth" that of one from its call to its end, and "late" by
how much a timer of the loop is late meanwhile, 99 of 100 by less. Prints a line of JSON, as the other programs do.
"""

import asyncio
import itertools
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Callable

Store = Callable[[str, str], Awaitable[Any]]
TICK_SECONDS = 0.001


class Holdfast:
    async def open(self, directory: Path, in_flight: int) -> Store:
        import holdfast.aio

        self.store = await holdfast.aio.open(
            directory / "holdfast.db", max_in_flight=max(in_flight, 1)
        )
        documents = self.store.repository("documents")
        return lambda _, body: documents.save(body.encode())

    async def close(self) -> None:
        await self.store.close()


class SQLite:
    """The standard library's module in the loop's thread pool: a connection a thread, one commit at a time."""

    async def open(self, directory: Path, _: int) -> Store:
        self.path = directory / "sqlite.db"
        self.threads = threading.local()
        # Instead of SQLite's own waiting, which polls.
        self.turn = threading.Lock()
        self.connection().execute(
            "CREATE TABLE documents (id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)"
        )
        loop = asyncio.get_running_loop()
        return lambda id, body: loop.run_in_executor(None, self.commit, id, body)

    def connection(self) -> sqlite3.Connection:
        if not hasattr(self.threads, "connection"):
            connection = sqlite3.connect(self.path, isolation_level=None, timeout=60)
            connection.executescript(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 16000;"
            )
            self.threads.connection = connection
        return self.threads.connection

    def commit(self, id: str, body: str) -> None:
        connection = self.connection()
        with self.turn:
            connection.execute("INSERT INTO documents VALUES (?, ?)", (id, body))

    async def close(self) -> None:
        pass


ENGINES = {"holdfast": Holdfast, "sqlite": SQLite}


async def measure(
    name: str, directory: Path, texts: list[str], in_flight: int
) -> tuple[float, list[float], list[float]]:
    """The seconds of all commits, of each, and by how many a timer was late meanwhile."""
    engine = ENGINES[name]()
    commit = await engine.open(directory, in_flight)
    documents = iter([(json.loads(text)["id"], text) for text in texts])
    taken: list[float] = []
    late: list[float] = []

    async def work() -> None:
        for id, text in documents:
            began = time.perf_counter()
            await commit(id, text)
            taken.append(time.perf_counter() - began)

    async def tick() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            late.append(time.perf_counter() - began - TICK_SECONDS)

    ticking = asyncio.ensure_future(tick())
    began = time.perf_counter()
    await asyncio.gather(*[work() for _ in range(in_flight)])
    seconds = time.perf_counter() - began
    ticking.cancel()
    await engine.close()
    return seconds, taken, late


def ranked(values: list[float], rank: float) -> float:
    return sorted(values)[int((len(values) - 1) * rank)] if values else 0.0


def main(
    name: str,
    workload: str,
    directory: Path,
    documents: Path,
    count: int,
    in_flight: int,
) -> None:
    with open(documents) as file:
        texts = [line.rstrip("\n") for line in itertools.islice(file, count)]
    if len(texts) < count:
        sys.exit(f"FAILED: there are only {len(texts)} documents")
    directory.mkdir()
    seconds, taken, late = asyncio.run(measure(name, directory, texts, in_flight))
    operations = 1
    if workload == "commits":
        operations = count
    elif workload == "late":
        seconds = ranked(late, 0.99)
    else:
        seconds = ranked(taken, {"median": 0.5, "slowest-hundredth": 0.99}[workload])
    print(json.dumps({"operations": operations, "seconds": seconds, "repeated": 0}))


if __name__ == "__main__":
    main(
        sys.argv[1],
        sys.argv[2],
        Path(sys.argv[3]),
        Path(sys.argv[4]),
        int(sys.argv[5]),
        int(sys.argv[6]),
    )
