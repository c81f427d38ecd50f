"""Stores on a server: what processes do there together, and what is left of who is killed."""

import asyncio
import itertools
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from described import Song, results
from loops import Run
from server import Server

import holdfast
import holdfast.aio


def test_a_store_on_a_server_keeps_what_is_committed(url: str) -> None:
    with holdfast.open(url) as store:
        store.repository("songs").save({"id": "s1", "title": "So What"})
        assert store.describe()["engine"] == "postgresql"
    with holdfast.open(url.replace("postgresql://", "postgres://"), create=False) as store:
        assert store.repository("songs")["s1"]["title"] == "So What"


def test_stores_of_one_database_are_apart(server: Server, url: str) -> None:
    with holdfast.open(url) as one, holdfast.open(server.url, store=f"other {url[-20:]}") as other:
        one.repository("songs").save({"id": "s1"})
        assert "s1" in one.repository("songs")
        assert "s1" not in other.repository("songs")
    with holdfast.open(url) as one, holdfast.open(url + "2") as other:
        assert one.describe()["url"] != other.describe()["url"]


def test_a_store_is_named_by_the_url_or_by_the_option(server: Server, url: str) -> None:
    with pytest.raises(holdfast.InvalidOptionError, match="give one of them"):
        holdfast.open(url, store="another")
    with pytest.raises(holdfast.InvalidOptionError, match="store"):
        holdfast.open("memory:", store="main")
    with pytest.raises(holdfast.CannotOpenError, match='there is no store "never"'):
        holdfast.open(server.url, store="never", create=False)


def test_no_password_is_shown(server: Server, url: str) -> None:
    secret = "0penSesame"
    with_secret = url.replace("postgres@", f"postgres:{secret}@") + f"&password={secret}"
    with holdfast.open(with_secret) as store:
        shown = [repr(store), str(store.describe())]
        shown.append(repr(store.transaction()))
    for broken in (
        with_secret.replace("postgresql://", "postgresql:"),
        with_secret + "&port=nothing",
        with_secret + "&%zz=1",
        with_secret.replace("/postgres?", "/nowhere?"),
        with_secret.replace(":5432", ":5433"),
        with_secret + "&nonsense=1",
    ):
        with pytest.raises(holdfast.Error) as raised:
            holdfast.open(broken, lock_timeout_ms=1000)
        shown.append(str(raised.value))
    assert [text for text in shown if secret in text] == []


def test_what_only_files_have_says_what_to_do_instead(url: str, tmp_path: "os.PathLike[str]") -> None:
    with holdfast.open(url) as store:
        with pytest.raises(holdfast.UnsupportedError, match="pg_dump"):
            store.backup(os.path.join(tmp_path, "copy.db"))
        with pytest.raises(holdfast.UnsupportedError, match="autovacuum"):
            store.compact()


def count_up(url: str, times: int) -> None:
    with holdfast.open(url) as store:
        counters = store.repository("counters")

        def add() -> None:
            counters.save({"id": "c", "n": counters["c"]["n"] + 1})

        for _ in range(times):
            store.transact(add)


def test_processes_lose_no_update(url: str) -> None:
    with holdfast.open(url) as store:
        store.repository("counters").save({"id": "c", "n": 0})
        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=count_up, args=(url, 30)) for _ in range(3)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0, 0, 0]
        # Also out of a cache that has the entity.
        assert store.repository("counters")["c"]["n"] == 90


def test_a_stream_tells_of_another_process(url: str) -> None:
    with holdfast.open(url) as store:
        store.repository("counters").save({"id": "c", "n": 0})
        with store.changes() as changes:
            process = multiprocessing.get_context("spawn").Process(target=count_up, args=(url, 1))
            process.start()
            told = next(iter(changes))
            process.join()
    assert [change.id for change in told] == ["c"]


def test_a_forked_child_leaves_the_connections_to_its_parent(url: str) -> None:
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.save({"id": "s1"})
        child = os.fork()
        if child == 0:
            try:
                songs["s1"]
            except holdfast.ForkedError:
                with holdfast.open(url) as again:
                    again.repository("songs").save({"id": "s2"})
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        songs.save({"id": "s3"})
        assert sorted(song["id"] for song in songs) == ["s1", "s2", "s3"]


WRITER = """
import sys, holdfast
with holdfast.open(sys.argv[1]) as store:
    entries = store.repository("entries")
    for number in range(100_000):
        with store.transaction():
            entries.save({"id": f"{sys.argv[2]}.{number}"})
            entries.save({"id": sys.argv[2], "n": number + 1})
        print(number, flush=True)
"""


def test_what_a_killed_process_was_told_is_stored_whole(url: str) -> None:
    for kill in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, url, f"w{kill}"], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            acknowledged = int(process.stdout.readline())
            deadline = time.monotonic() + 0.05 * (kill + 1)
            while time.monotonic() < deadline:
                acknowledged = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            for line in process.stdout:
                if line.endswith("\n"):
                    acknowledged = int(line)
        with holdfast.open(url) as store:
            entries = store.repository("entries")
            count = entries[f"w{kill}"]["n"]
            assert acknowledged + 1 <= count <= acknowledged + 2
            stored = [entry["id"] for entry in entries if entry["id"].startswith(f"w{kill}.")]
            assert sorted(stored) == sorted(f"w{kill}.{number}" for number in range(count))


def test_what_a_killed_server_has_acknowledged_is_there_once(own: Server) -> None:
    acknowledged: list[set[str]] = [set() for _ in range(4)]
    refused: list[set[str]] = [set() for _ in range(4)]
    unknown: list[set[str]] = [set() for _ in range(4)]
    is_over = threading.Event()

    with holdfast.open(own.url, lock_timeout_ms=20_000) as store:
        entries = store.repository("entries")
        entries.save({"id": "count", "n": 0})

        def add(thread: int, number: int) -> None:
            entries.save({"id": f"{thread}.{number}", "n": entries["count"]["n"]})
            entries.save({"id": "count", "n": entries["count"]["n"] + 1})

        def write(thread: int) -> None:
            for number in itertools.count():
                if is_over.is_set():
                    return
                name = f"{thread}.{number}"
                try:
                    store.transact(lambda number=number: add(thread, number))  # type: ignore[misc]
                    acknowledged[thread].add(name)
                except holdfast.Error as error:
                    is_unknown = error.commit_state is holdfast.CommitState.UNKNOWN
                    (unknown if is_unknown else refused)[thread].add(name)
                    time.sleep(0.01)

        threads = [threading.Thread(target=write, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            time.sleep(0.4)
            own.crash()
            time.sleep(0.1)
            own.start()
        time.sleep(0.4)
        is_over.set()
        for thread in threads:
            thread.join()

    with holdfast.open(own.url) as store:
        stored = {entry["id"]: entry.get("n") for entry in store.repository("entries")}
    count = stored.pop("count")
    assert count == len(stored)
    # Each saw another count, so none was stored twice.
    assert sorted(stored.values()) == list(range(count))
    assert set().union(*acknowledged) <= set(stored)
    assert not set().union(*refused) & set(stored)
    assert set(stored) <= set().union(*acknowledged, *unknown)
    assert all(acknowledged)


RACER = """
import json, sys, holdfast
url, name, work = sys.argv[1:]
report = []
with holdfast.open(url) as store:
    print(flush=True)
    sys.stdin.readline()
    exec(work)
print(json.dumps(report), flush=True)
"""


def race(url: str, work: str, count: int = 2) -> list[list[object]]:
    """Runs a program in several processes, each with a store of its own, and answers what they report."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, url, f"p{number}", work],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    reports = []
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        reports.append(json.loads(output))
    return reports


def test_increments_of_two_processes_in_the_queue_lose_none(url: str) -> None:
    with holdfast.open(url) as store:
        store.repository("counters").save({"id": "c", "n": 0})
        race(
            url,
            "for _ in range(100): store.repository('counters').modify('c', {'$inc': {'n': 1}})",
        )
        assert store.repository("counters")["c"]["n"] == 200


def test_two_processes_write_no_skew(url: str) -> None:
    with holdfast.open(url) as store:
        doctors = store.repository("doctors")
        for number in range(40):
            doctors.save_many([{"id": f"{number}.{name}", "on": True} for name in ("p0", "p1")])
        race(
            url,
            """
doctors = store.repository("doctors")
def leave(number):
    if all(doctors[f"{number}.{one}"]["on"] for one in ("p0", "p1")):
        doctors.save({"id": f"{number}.{name}", "on": False})
for number in range(40):
    store.transact(lambda: leave(number), isolation="serializable")
""",
        )
        for number in range(40):
            assert [doctors[f"{number}.{name}"]["on"] for name in ("p0", "p1")].count(True) == 1


def test_a_key_of_a_unique_index_is_given_to_one_of_two_processes(url: str) -> None:
    with holdfast.open(url) as store:
        users = store.repository("users")
        users.create_index("mail", unique=True)
        reports = race(
            url,
            """
users = store.repository("users")
for number in range(60):
    try:
        users.save({"id": f"{name}.{number}", "mail": f"m{number}"})
        report.append(number)
    except holdfast.UniqueViolationError as error:
        # Whoever is told to stand in the way is there.
        assert users[error.detail["other"]]["mail"] == f"m{number}"
""",
        )
        assert sorted(itertools.chain(*reports)) == list(range(60))
        assert sorted(user["mail"] for user in users) == sorted(f"m{number}" for number in range(60))
        assert users.count({"mail": "m7"}) == 1 and users.verify()["ok"]


def test_what_is_refused_was_so_when_it_was_judged(url: str) -> None:
    """Of two who add one entity one is refused, and finds it there."""
    with holdfast.open(url) as store:
        store.repository("songs")
        reports = race(
            url,
            """
songs = store.repository("songs")
for number in range(60):
    try:
        songs.add({"id": f"s{number}", "by": name})
        report.append(number)
    except holdfast.ExistsError:
        assert songs[f"s{number}"]["by"] != name
""",
        )
        assert sorted(itertools.chain(*reports)) == list(range(60))


def test_an_idempotency_key_of_two_processes_counts_once(url: str) -> None:
    with holdfast.open(url) as store:
        store.repository("orders")
        reports = race(
            url,
            """
orders = store.repository("orders")
for number in range(40):
    with store.transaction(idempotency_key=f"k{number}") as transaction:
        orders.save({"id": f"e{number}"})
    report.append(transaction.receipt.sequence)
""",
        )
        assert reports[0] == reports[1]
        assert len(set(reports[0])) == 40  # type: ignore[arg-type]


def test_an_index_that_another_process_creates_is_kept_by_whoever_commits(url: str) -> None:
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.save({"id": "first", "year": 0})
        race(
            url,
            """
songs = store.repository("songs")
for number in range(8):
    if name == "p0":
        songs.create_index("year", name=f"year{number}")
        if number % 2: songs.drop_index(f"year{number}")
    for piece in range(10):
        songs.save({"id": f"{name}.{number}.{piece}", "year": number})
""",
        )
        assert songs.count({"year": 3}) == 20
        assert songs.verify()["ok"] and len(songs.indexes()) == 4


def test_a_repository_that_another_process_drops_takes_with_it_what_was_there(url: str) -> None:
    with holdfast.open(url) as store:
        drafts = store.repository("drafts")
        reports = race(
            url,
            """
drafts = store.repository("drafts")
for number in range(40):
    with store.transaction() as transaction:
        drafts.save({"id": f"{name}.{number}"})
    report.append(transaction.receipt.sequence)
    if name == "p0" and number < 39:
        store.drop("drafts")
""",
        )
        # It was dropped for the last time between these two.
        before, after = reports[0][-2:]
        left = {draft["id"] for draft in drafts}
        assert "p0.39" in left and not left & {f"p0.{number}" for number in range(39)}
        for number, sequence in enumerate(reports[1]):
            if not before < sequence < after:  # type: ignore[operator]
                assert (f"p1.{number}" in left) == (sequence > after)  # type: ignore[operator]
        assert drafts.verify()["ok"]


def test_of_several_hosts_one_that_says_nothing_is_passed_over(server: Server, url: str) -> None:
    """As a primary that is paused, or cut off, takes connections and leaves them at that."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        with holdfast.open(url.replace("postgres@", f"postgres@{place},"), lock_timeout_ms=4_000) as store:
            store.repository("songs").save({"id": "s1"})
        began = time.monotonic()
        with pytest.raises(holdfast.CannotOpenError, match="did not answer in time"):
            holdfast.open(f"postgresql://postgres@{place},{place}/postgres", lock_timeout_ms=2_000)
        assert 1.9 < time.monotonic() - began < 60


async def test_awaited_calls_answer_as_on_a_file(run: Run, url: str) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.repository("songs", cls=Song)
        for operation, expected in results(songs):
            assert await operation == expected, operation
        async with store.changes("songs") as changes:
            async with store.transaction():
                await songs.save_many([Song(f"s{number}", number) for number in range(10)])
                assert await songs.count() == 11
            told = await changes.next()
            assert len(list(told)) == 10
        await asyncio.gather(*(songs.modify("s1", {"$inc": {"plays": 1}}) for _ in range(50)))
        assert await songs.fetch("s1") == Song("s1", 51)
