"""Backup, restore, checking, compacting, upgrades: what an operator of a store does."""

import asyncio
import contextlib
import functools
import sqlite3
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from programs import run_program, start_program

import holdfast
import holdfast.aio


@pytest.fixture
def filled(path: str) -> Any:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save_many([{"id": f"s{number}", "plays": number, "text": "x" * 200} for number in range(3000)])
        yield store


def test_a_backup_is_one_state_while_others_write(filled: holdfast.Store, tmp_path: Path) -> None:
    songs = filled.repository("songs")
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            # Two that are always equal.
            with filled.transaction(durability="relaxed"):
                songs.save({"id": "left", "n": number})
                songs.save({"id": "right", "n": number})
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen: list[tuple[int, int]] = []
        for number in range(5):
            report = filled.backup(tmp_path / f"{number}.db", progress=lambda *it: seen.append(it))
            assert report["bytes"] == (tmp_path / f"{number}.db").stat().st_size == seen[-1][1]
    finally:
        stop.set()
        writer.join()
    for number in range(5):
        with holdfast.open(tmp_path / f"{number}.db") as copy:
            found = copy.repository("songs")
            assert (
                found.fetch("left") == {**(found.fetch("right") or {}), "id": "left"} or "left" not in found
            )
            assert found.count() >= 3000
            assert copy.verify()["ok"]


def test_progress_that_raises_ends_the_work(filled: holdfast.Store, tmp_path: Path) -> None:
    def stop(*_: int) -> None:
        raise ZeroDivisionError

    for work in (
        lambda: filled.backup(tmp_path / "copy.db", progress=stop),
        lambda: filled.verify(progress=stop),
        lambda: filled.export_lines(tmp_path / "lines", progress=stop),
        lambda: holdfast.restore(filled._url, tmp_path / "copy.db", progress=stop),
    ):
        with pytest.raises((ZeroDivisionError, holdfast.BusyError)):
            work()
    assert not (tmp_path / "copy.db").exists()


def test_a_restored_store_is_the_backup_and_goes_on(path: str, tmp_path: Path) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save({"id": "a", "n": 1})
        position = store.position
        store.backup(tmp_path / "copy.db")
        songs.save({"id": "a", "n": 2})
        with pytest.raises(holdfast.ExistsError):
            holdfast.restore(tmp_path / "copy.db", path)
        with pytest.raises(holdfast.BusyError):
            holdfast.restore(tmp_path / "copy.db", path, replace=True)
    holdfast.restore(tmp_path / "copy.db", path, replace=True)
    with holdfast.open(path) as store:
        assert store.repository("songs").fetch("a") == {"id": "a", "n": 1}
        assert store.position.split(":")[0] != position.split(":")[0]


def test_keys_and_durable_subscriptions_are_in_a_backup_and_in_no_export(path: str, tmp_path: Path) -> None:
    runs: list[str] = []
    told: list[Any] = []
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        store.subscribe("mailer", "songs").close()
        store.transact(lambda: songs.save({"id": "before"}), idempotency_key="request")
        store.backup(tmp_path / "copy.db")
        with store.subscribe("mailer", "songs") as changes:
            songs.save({"id": "undone"})
            while len(told) < 2:
                told += [change.id for change in changes.next(120)]
            assert told == ["before", "undone"]
        store.export_lines(tmp_path / "lines")
    holdfast.restore(tmp_path / "copy.db", tmp_path / "restored.db")
    with holdfast.open(tmp_path / "restored.db") as store:
        with store.subscribe("mailer", "songs") as changes:
            assert [change.id for change in changes.next(120)] == ["before"]
        store.transact(lambda: runs.append("restored"), idempotency_key="request")
    with holdfast.open(tmp_path / "imported.db") as store:
        store.import_lines(tmp_path / "lines")
        with store.subscribe("mailer", "songs") as changes:
            store.repository("songs").save({"id": "next"})
            assert [change.id for change in changes.next(120)] == ["next"]
        store.transact(lambda: runs.append("imported"), idempotency_key="request")
    assert runs == ["imported"]


def test_only_the_lock_file_stays_beside_a_closed_store_and_may_be_deleted(path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save({"id": "a"})
    (beside,) = set(Path(path).parent.glob(Path(path).name + "?*"))
    assert beside.name == Path(path).name + "-lock"
    beside.unlink()
    with holdfast.open(path) as store:
        assert store.repository("songs").ids() == ["a"]


def test_a_restore_does_not_mix_in_the_log_of_a_killed_process(path: str, tmp_path: Path) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save({"id": "a"})
        store.backup(tmp_path / "copy.db")
        store.repository("songs").save({"id": "b"})
        left = {end: Path(path + end).read_bytes() for end in ("", "-wal")}
    for end, content in left.items():
        Path(path + end).write_bytes(content)
    holdfast.restore(tmp_path / "copy.db", path, replace=True)
    assert not Path(path + "-wal").exists()
    with holdfast.open(path) as store:
        assert [song["id"] for song in store.repository("songs").find()] == ["a"]
        assert store.verify()["ok"]


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_store_that_somebody_reads_is_not_replaced(path: str, tmp_path: Path, is_ours: bool) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save({"id": "a", "n": 1})
        store.backup(tmp_path / "copy.db")
        store.repository("songs").save({"id": "a", "n": 2})
    reader = start_program(
        """
        import sqlite3, sys, holdfast
        if sys.argv[2] == "True":
            store = holdfast.open(sys.argv[1], read_only=True)
            songs = store.repository("songs")
            read = lambda: songs.fetch("a")["n"]
        else:
            connection = sqlite3.connect(sys.argv[1])
            read = lambda: connection.execute("SELECT json_extract(body, '$.n') FROM songs").fetchone()[0]
        print(read(), flush=True)
        sys.stdin.readline()
        print(read(), flush=True)
        """,
        path,
        str(is_ours),
        development=False,
        stdin=subprocess.PIPE,
    )
    try:
        assert reader.wait_for_line() == "2"
        # It reads nothing just now, and would never see the new store.
        with pytest.raises(holdfast.BusyError):
            holdfast.restore(tmp_path / "copy.db", path, replace=True)
        assert reader.process.stdin is not None
        reader.process.stdin.write("\n")
        reader.process.stdin.flush()
        assert reader.wait_for_line() == "2"
    finally:
        reader.process.kill()
        reader.wait()
    holdfast.restore(tmp_path / "copy.db", path, replace=True)
    with holdfast.open(path) as store:
        assert store.repository("songs").fetch("a") == {"id": "a", "n": 1}


def damage(path: str, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "damaged"),
    [
        ("UPDATE holdfast_entity SET body = '{\"id\":\"s7\",}' WHERE id = 's7'", ["s7"]),
        ("UPDATE holdfast_entity SET body = '{\"id\":\"s8\"}' WHERE id = 's7'", ["s7"]),
        ("UPDATE holdfast_entity SET body = '{\"name\":\"s8\"}' WHERE id = 's7'", ["s7"]),
    ],
)
def test_verify_names_damaged_entities(path: str, statement: str, damaged: list[str]) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save_many([{"id": f"s{number}"} for number in range(20)])
    damage(path, statement)
    with holdfast.open(path) as store:
        report = store.verify()
        assert not report["ok"]
        assert report["repositories"][0]["damaged_ids"] == damaged
        # The others stay readable.
        assert store.repository("songs").fetch("s9") == {"id": "s9"}


def test_a_cursor_along_a_damaged_index_ends_and_names_it(path: str) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save_many([{"id": f"s{n}", "n": n, "text": "x" * 100_000} for n in range(10, 30)])
        songs.create_index("n")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        ((number,),) = connection.execute("SELECT id FROM holdfast_index")
        table = f"holdfast_index_{number}"
        connection.execute(f"UPDATE {table} SET key = (SELECT max(key) FROM {table})")
        connection.commit()
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        assert not songs.verify()["ok"]
        with pytest.raises(holdfast.CorruptError, match='index "n" is damaged: drop it'):
            for number, _ in enumerate(songs.iterate({"n": {"$gte": 0}})):
                assert number < 100
        songs.drop_index("n")
        songs.create_index("n")
        assert len(list(songs.iterate({"n": {"$gte": 0}}))) == 20


def test_verify_tells_what_the_engine_finds_wrong(path: str) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save_many([{"id": f"s{number}", "text": "x" * 500} for number in range(2000)])
        songs.create_index("text")
    content = bytearray(Path(path).read_bytes())
    for page in range(20, len(content) // 4096, 9):
        content[page * 4096 + 16 : page * 4096 + 64] = b"\xff" * 48
    Path(path).write_bytes(content)
    with holdfast.open(path) as store:
        report = store.verify()
        assert not report["ok"]
        assert report["problems"]


def test_compacting_makes_the_file_shorter(filled: holdfast.Store) -> None:
    songs = filled.repository("songs")
    songs.delete_all({"plays": {"$gte": 10}})
    report = filled.compact()
    assert report["bytes_after"] < report["bytes_before"] / 2
    assert Path(filled._url).stat().st_size == report["bytes_after"]
    songs.save({"id": "new"})
    assert songs.count() == 11
    assert filled.verify()["ok"]


def test_a_store_that_others_have_open_is_not_compacted(filled: holdfast.Store) -> None:
    result = run_program(
        "import holdfast, sys\n"
        "with holdfast.open(sys.argv[1]) as store:\n"
        "    try:\n"
        "        store.compact()\n"
        "    except holdfast.BusyError as error:\n"
        "        print('busy')\n",
        filled._url,
    )
    assert result.stdout.strip() == "busy", result.stderr
    filled.compact()


def test_an_export_that_is_refused_leaves_an_older_one_as_it_was(
    filled: holdfast.Store, tmp_path: Path
) -> None:
    path = tmp_path / "music.jsonl"
    filled.export_lines(path)
    before = path.read_bytes()
    with pytest.raises(holdfast.NotFoundError):
        filled.export_lines(path, repositories=["sogns"])
    assert path.read_bytes() == before
    with pytest.raises(FileNotFoundError):
        filled.export_lines(tmp_path / "nowhere" / "music.jsonl")
    filled.repository("songs").delete_all()
    filled.export_lines(path)
    assert 0 < len(path.read_bytes()) < len(before)


# --- The schema ----------------------------------------------------------------------------------


def rename(store: holdfast.Store) -> None:
    store.repository("songs").modify_all(None, {"$rename": {"name": "title"}})


def test_an_upgrade_is_no_part_of_a_transaction(path: str) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save({"id": "a", "name": "Gloria"})

        async def awaited() -> None:
            async with store.aio.transaction():
                with pytest.raises(holdfast.InvalidStateError, match="call it outside"):
                    await store.aio.upgrade({0: rename})

        with store.transaction(), pytest.raises(holdfast.InvalidStateError, match="call it outside"):
            store.upgrade({0: rename})
        asyncio.run(awaited())
        assert store.schema_version is None and songs["a"] == {"id": "a", "name": "Gloria"}


def test_a_store_whose_repositories_came_before_its_upgrade_is_not_new(path: str) -> None:
    steps: list[int] = []
    for before in (False, True):
        with holdfast.open(f"{path}-{before}") as store:
            if before:
                store.repository("songs")
            store.upgrade({0: lambda _: steps.append(0), 1: lambda _: steps.append(1)})
            assert store.schema_version == 2
        assert steps == ([0, 1] if before else [])


def test_an_upgrade_that_was_killed_goes_on_with_its_step(path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save({"id": "a", "steps": []})
    program = (
        "import holdfast, os, sys\n"
        "def step(number):\n"
        "    def run(store):\n"
        "        songs = store.repository('songs')\n"
        "        songs.modify('a', {'$push': {'steps': number}})\n"
        "        if number == int(sys.argv[2]):\n"
        "            os.kill(os.getpid(), 9)\n"
        "    return run\n"
        "with holdfast.open(sys.argv[1]) as store:\n"
        "    store.upgrade({number: step(number) for number in range(4)}, backup=False)\n"
    )
    for killed_at in ("0", "2", "3"):
        assert run_program(program, path, killed_at).returncode == -9
    assert run_program(program, path, "9").returncode == 0
    with holdfast.open(path) as store:
        assert store.schema_version == 4
        assert store.repository("songs").fetch("a") == {"id": "a", "steps": [0, 1, 2, 3]}


def test_the_care_of_a_store_can_be_awaited(path: str, tmp_path: Path) -> None:
    async def maintain() -> None:
        async with holdfast.aio.open(path) as store:
            songs = store.repository("songs")
            await songs.save({"id": "a", "name": "A"})
            assert (await store.backup(tmp_path / "copy.db"))["bytes"] > 0
            assert (await store.verify())["ok"]
            assert (await store.compact())["bytes_after"] > 0
            await store.upgrade({0: rename}, backup=False)
            assert await store.schema_version() == 1
            assert (await store.export_lines(tmp_path / "lines"))["entities"] == 1
        await holdfast.aio.restore(tmp_path / "copy.db", tmp_path / "other.db")
        async with holdfast.aio.open(tmp_path / "other.db") as store:
            await store.import_lines(tmp_path / "lines", existing="replace")
            assert await store.repository("songs").fetch("a") == {"id": "a", "title": "A"}

    asyncio.run(maintain())


class InMemory(holdfast.StorageProvider):
    """A provider that outlives its store."""

    def __init__(self) -> None:
        self.entities: dict[tuple[str, str], bytes] = {}

    def save(self, repository: str, id: str, body: bytes) -> None:
        self.entities[repository, id] = body

    def fetch(self, repository: str, id: str) -> Any:
        return self.entities.get((repository, id))

    def fetch_all(self, repository: str) -> Any:
        return [(key[1], body) for key, body in self.entities.items() if key[0] == repository]

    def delete(self, repository: str, id: str) -> None:
        self.entities.pop((repository, id), None)


def test_a_provider_s_store_is_upgraded_from_what_was_recorded_before() -> None:
    provider = InMemory()
    steps: list[int] = []
    for version in (2, 2, 3):
        with holdfast.open_provider(provider) as store:
            upgrades = {n: functools.partial(lambda n, _: steps.append(n), n) for n in range(version)}
            store.upgrade(upgrades)
            assert store.schema_version == version
    assert steps == [0, 1, 2]
    with holdfast.open_provider(provider) as store, pytest.raises(holdfast.SchemaTooNewError):
        store.upgrade({0: rename})


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal", "-lock"])
def test_nothing_gets_a_name_that_is_kept_for_a_part_of_another_store(
    filled: holdfast.Store, tmp_path: Path, end: str
) -> None:
    other, taken = tmp_path / "other.db", tmp_path / f"other.db{end}"
    with holdfast.open(other) as store:
        store.repository("songs").save({"id": "a"})
    (tmp_path / "other.db-lock").unlink()
    for make in (filled.backup, holdfast.open, functools.partial(holdfast.restore, other)):
        with pytest.raises(holdfast.CannotOpenError, match="part of the store"):
            make(taken)
        assert not taken.exists()
    with holdfast.open(other) as store:
        assert store.repository("songs").ids() == ["a"]


def test_a_copy_is_not_made_over_a_store_that_has_the_name_of_a_partial_one(
    filled: holdfast.Store, tmp_path: Path
) -> None:
    with holdfast.open(tmp_path / "copy.db-partial") as store:
        store.repository("songs").save({"id": "a"})
    with pytest.raises(holdfast.ExistsError, match="a store of its own"):
        filled.backup(tmp_path / "copy.db")
    with holdfast.open(tmp_path / "copy.db-partial") as store:
        assert store.repository("songs").ids() == ["a"]
