"""The benchmark's programs in Python: Holdfast's package and others, each as its careful user would write it.

    python_engines.py ENGINE WORKLOAD DIRECTORY DOCUMENTS COUNT

The arguments are those of the programs in C, see workloads.c, and so is the line of JSON that they print. "cached-reads"
wants a directory that the program in C has filled; "load" stores dicts in batches and creates the directory.
"""

import json
import random
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any, Callable

BATCH = 1000

Document = dict[str, Any]


class Holdfast:
    def __init__(self, directory: Path) -> None:
        import holdfast

        self.store = holdfast.open(directory / "holdfast.db")
        self.documents = self.store.repository("documents")

    def close(self) -> None:
        self.store.close()

    def reader(self) -> Callable[[str], bytes]:
        return self.documents.fetch_bytes

    def add_many(self, batch: list[Document]) -> None:
        self.documents.add_many(batch)


class SQLite:
    """As in sqlite.c."""

    def __init__(self, directory: Path) -> None:
        self.connection = sqlite3.connect(directory / "sqlite.db", isolation_level=None)
        self.connection.text_factory = bytes
        self.connection.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 16000;"
            "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;"
            "CREATE TABLE IF NOT EXISTS documents (id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)"
        )

    def close(self) -> None:
        self.connection.close()

    def reader(self) -> Callable[[str], bytes]:
        execute = self.connection.execute
        return lambda id: execute(
            "SELECT body FROM documents WHERE id = ?", (id,)
        ).fetchone()[0]

    def add_many(self, batch: list[Document]) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(
            "INSERT INTO documents (id, body) VALUES (?, ?)",
            ((document["id"], json.dumps(document)) for document in batch),
        )
        self.connection.execute("COMMIT")


class LMDB:
    """As in lmdb.c."""

    def __init__(self, directory: Path) -> None:
        import lmdb

        self.environment = lmdb.open(str(directory), map_size=8 << 30)

    def close(self) -> None:
        self.environment.close()

    def reader(self) -> Callable[[str], bytes]:
        def read(id: str) -> bytes:
            with self.environment.begin() as transaction:
                return transaction.get(id.encode())

        return read


ENGINES = {"holdfast": Holdfast, "sqlite": SQLite, "lmdb": LMDB}


def cached_reads(engine: Any, documents: list[Document], count: int) -> float:
    """The seconds that reading documents by their ids takes, once each was read before."""
    ids = [document["id"] for document in documents]
    read = engine.reader()
    for id in ids:
        read(id)
    ids = (ids * (count // len(ids) + 1))[:count]
    began = time.perf_counter()
    for id in ids:
        read(id)
    seconds = time.perf_counter() - began
    if json.loads(read(ids[0])) != documents[0]:
        sys.exit("FAILED: another document")
    return seconds


def load(engine: Any, documents: list[Document], count: int) -> float:
    """The seconds that adding documents takes."""
    batches = [
        documents[start : min(start + BATCH, count)] for start in range(0, count, BATCH)
    ]
    began = time.perf_counter()
    for batch in batches:
        engine.add_many(batch)
    return time.perf_counter() - began


def main(
    name: str, workload: str, directory: Path, documents_path: Path, count: int
) -> None:
    documents = [json.loads(line) for line in documents_path.read_text().splitlines()]
    random.Random(1).shuffle(documents)
    if workload == "load":
        directory.mkdir()
    engine = ENGINES[name](directory)
    seconds = {"cached-reads": cached_reads, "load": load}[workload](
        engine, documents, count
    )
    engine.close()
    print(json.dumps({"operations": count, "seconds": seconds, "repeated": 0}))


if __name__ == "__main__":
    main(
        sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), int(sys.argv[5])
    )
