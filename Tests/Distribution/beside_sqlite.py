"""Usage: beside_sqlite.py FOLDER. Python's module sqlite3 opens and closes a store's file while the library uses it.

Run with the wheel installed, in a process of its own. Where the two copies of SQLite dropped each other's locks, the
other copy would take itself for the last one to leave, and delete the write-ahead log that the library writes to.
"""

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import holdfast

PATH = Path(sys.argv[1]) / "songs.db"
LOG = PATH.with_name(PATH.name + "-wal")
WRITERS, COMMITS = 3, 150
# Another process that finds the store unlocked gets it for itself alone.
ANOTHER = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('PRAGMA journal_mode = DELETE')"


def look(check: "set[int]") -> None:
    """What another program would do: opens the file, reads, and closes it."""
    connection = sqlite3.connect(PATH, timeout=60)
    check.add(connection.execute("SELECT count(*) FROM songs").fetchone()[0])
    connection.close()


def write(songs: holdfast.Repository, writer: int) -> None:
    for number in range(COMMITS):
        songs.save({"id": f"{writer}-{number}", "plays": number})


with holdfast.open(str(PATH)) as store:
    songs = store.repository("songs")
    songs.save({"id": "first"})
    log = LOG.stat()
    seen: "set[int]" = set()
    look(seen)
    assert LOG.exists() and LOG.stat().st_ino == log.st_ino, (
        "the write-ahead log was deleted"
    )
    # A function to be called between makes it a fork, whose handlers run while threads are in the middle of things.
    another = [sys.executable, "-c", ANOTHER, PATH]
    ended = subprocess.run(
        another, capture_output=True, text=True, preexec_fn=lambda: None
    )
    assert "locked" in ended.stderr, (
        f"another process finds nobody in its way: {ended.stderr}"
    )

    writers = [
        threading.Thread(target=write, args=(songs, writer))
        for writer in range(WRITERS)
    ]
    for thread in writers:
        thread.start()
    while any(thread.is_alive() for thread in writers):
        look(seen)
    for thread in writers:
        thread.join()
    look(seen)
    assert max(seen) == 1 + WRITERS * COMMITS, (
        f"the other copy has seen {max(seen)} entities"
    )
    assert LOG.stat().st_ino == log.st_ino, "the write-ahead log was replaced"

with holdfast.open(str(PATH)) as store:
    songs = store.repository("songs")
    assert songs.count() == 1 + WRITERS * COMMITS, f"{songs.count()} entities are left"
    assert store.verify()["ok"]
print(f"nothing was lost; the other copy looked {len(seen)} different states up")
