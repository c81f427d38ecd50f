"""What a server refuses, or no longer does: a status, a message with the cure, and nothing lost."""

import itertools
import logging
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from proxy import Proxy
from server import SCRIPT, Server

import holdfast


def test_a_server_that_is_too_old_is_refused(server: Server, url: str) -> None:
    version = server.sql("SHOW server_version").split(".")[0].encode()
    with Proxy(server.url) as proxy:
        proxy.replaced = (b"server_version\0" + version, b"server_version\0" + b"14"[: len(version)])
        with pytest.raises(holdfast.CannotOpenError, match="is PostgreSQL 14: stores need 15 or later"):
            holdfast.open(url.replace(server.url, proxy.url))


def test_a_standby_is_read_and_refuses_writes_until_it_is_the_primary(own: Server) -> None:
    with holdfast.open(own.url) as store:
        songs = store.repository("songs")
        songs.save({"id": "s1"})
        Path(own.folder, "data", "standby.signal").touch()
        own.restart()
        assert songs["s1"] == {"id": "s1"}
        with pytest.raises(holdfast.ReadOnlyError, match="target_session_attrs=read-write") as raised:
            songs.save({"id": "s2"})
        assert raised.value.commit_state is holdfast.CommitState.NONE
        with pytest.raises(holdfast.ReadOnlyError, match=r'is a standby: .*"read_only": true'):
            holdfast.open(own.url)
        with holdfast.open(own.url, read_only=True) as reading:
            assert [song["id"] for song in reading.repository("songs")] == ["s1"]
        own.sql("SELECT pg_promote()")
        songs.save({"id": "s3"})
        assert sorted(song["id"] for song in songs) == ["s1", "s3"]


#: Refuses what is larger than a mebibyte while a file is there.
SHORT_OF_MEMORY = """
#include <stddef.h>
#include <unistd.h>
extern void *__libc_realloc(void *memory, size_t bytes);
void *realloc(void *memory, size_t bytes) {
    return bytes > 1 << 20 && access(SHORT, F_OK) == 0 ? NULL : __libc_realloc(memory, bytes);
}
"""

IN_SHORT_MEMORY = """
import os, sys, holdfast
with holdfast.open(sys.argv[1]) as store:
    songs = store.repository("songs")
    songs.save({"id": "s1"})
    open(sys.argv[2], "w").close()
    try:
        songs.save({"id": "s2", "text": "x" * 4_000_000})
        print("stored")
    except holdfast.NoMemoryError as error:
        print("refused", error.commit_state.name, "memory" in str(error))
    os.unlink(sys.argv[2])
    print(songs.fetch("s2"))
    songs.save({"id": "s2", "text": "x" * 4_000_000})
with holdfast.open(sys.argv[1]) as store:
    songs = store.repository("songs")
    open(sys.argv[2], "w").close()
    try:
        print(len(songs["s2"]["text"]))
    except holdfast.NoMemoryError:
        print("refused")
    os.unlink(sys.argv[2])
    print(len(songs["s2"]["text"]))
"""


def test_what_libpq_has_no_memory_for_is_told_so(url: str, tmp_path: Path) -> None:
    source, loaded, short = (tmp_path / name for name in ("short.c", "short.so", "short"))
    source.write_text(SHORT_OF_MEMORY)
    subprocess.run(["cc", "-shared", "-fPIC", f'-DSHORT="{short}"', "-o", loaded, source], check=True)
    done = subprocess.run(
        [sys.executable, "-c", IN_SHORT_MEMORY, url, str(short)],
        env={**os.environ, "LD_PRELOAD": str(loaded)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["refused NONE True", "None", "refused", "4000000"], done.stderr


#: The host has libpq speak another language, which its Debian package brings.
IN_A_LANGUAGE = """
import ctypes, locale
locale.setlocale(locale.LC_ALL, "")
libpq = ctypes.CDLL("libpq.so.5")
libpq.PQconnectStart.restype, libpq.PQerrorMessage.restype = ctypes.c_void_p, ctypes.c_char_p
libpq.PQerrorMessage.argtypes = [ctypes.c_void_p]
spoken = libpq.PQerrorMessage(libpq.PQconnectStart(b"nothing=1"))
assert b"invalid connection option" not in spoken, "libpq speaks English: install its translations"
"""


def test_a_wrong_url_is_told_in_the_same_words_whatever_language_the_host_has_libpq_speak() -> None:
    """By them it is decided what would tell a password."""
    program = """
    import holdfast
    wrong = "127.0.0.1:1/db h/db?pass=a h/db?user=a=secret h/db?secret [secret]x/db h%zzsecret/db"
    for rest in wrong.split():
        try:
            holdfast.open(f"postgresql://{rest}")
        except holdfast.Error as error:
            print(error.args)
    """
    english, *translated = [
        subprocess.run(
            [sys.executable, "-c", (IN_A_LANGUAGE if language else "") + textwrap.dedent(program)],
            env={**os.environ, "LC_ALL": "C.UTF-8", "LANGUAGE": language},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for language in ("", "de", "ja")
    ]
    assert len(english.splitlines()) == 6
    assert translated == [english, english]


def test_a_full_disk_refuses_a_commit_and_loses_nothing(tmp_path: Path) -> None:
    loaded, full = tmp_path / "full_disk.so", tmp_path / "full"
    source = SCRIPT.parents[1] / "FullDisk" / "full_disk.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", loaded, source, "-ldl"], check=True)
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)  # the server may be another user
    server = Server(LD_PRELOAD=str(loaded), HOLDFAST_FULL_DISK=str(full))
    try:
        with holdfast.open(server.url) as store:
            songs = store.repository("songs")
            songs.save({"id": "s1"})
            full.touch()
            with pytest.raises(holdfast.FullError, match="free some space on the server") as raised:
                songs.save_many([{"id": f"long{number}", "text": "x" * 10_000} for number in range(1_000)])
            assert raised.value.commit_state is holdfast.CommitState.NONE
            assert [song["id"] for song in songs] == ["s1"]
            full.unlink()
            songs.save({"id": "s2"})
        with holdfast.open(server.url) as store:
            assert sorted(song["id"] for song in store.repository("songs")) == ["s1", "s2"]
            assert store.verify()["ok"]
    finally:
        server.stop()


def test_sessions_that_the_server_ends_are_not_noticed_where_nothing_was_under_way(own: Server) -> None:
    with holdfast.open(own.url) as store:
        songs = store.repository("songs")
        with store.transaction():
            songs.save({"id": "s1", "plays": 0})
        for plays in range(1, 6):
            # It waits until they have ended: a commit that is just on its way then is told as not stored.
            own.sql(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE application_name = 'holdfast'"
            )
            with store.transaction():
                songs.save({"id": "s1", "plays": songs["s1"]["plays"] + 1})
            assert songs["s1"]["plays"] == plays
        own.restart()
        assert [song["plays"] for song in songs.find({"plays": {"$gt": 0}})] == [5]


def test_a_right_that_was_taken_away_is_named_and_may_be_given_back(server: Server, url: str) -> None:
    role = f"clerk{os.getpid()}"
    server.sql(f"CREATE ROLE {role} LOGIN")
    holdfast.open(url).close()
    tables = "ON ALL TABLES IN SCHEMA public"
    server.sql(f"GRANT SELECT, INSERT, UPDATE, DELETE {tables} TO {role}")
    try:
        with holdfast.open(url.replace("postgres@", f"{role}@")) as store:
            songs = store.repository("songs")
            songs.save({"id": "s1"})
            server.sql(f"REVOKE INSERT {tables} FROM {role}")
            with pytest.raises(
                holdfast.ReadOnlyError, match="grant SELECT, INSERT, UPDATE and DELETE"
            ) as raised:
                songs.save({"id": "s2"})
            assert raised.value.commit_state is holdfast.CommitState.NONE
            server.sql(f"GRANT INSERT {tables} TO {role}")
            songs.save({"id": "s3"})
            assert sorted(song["id"] for song in songs) == ["s1", "s3"]
    finally:
        server.sql(f"REVOKE ALL {tables} FROM {role}; DROP ROLE {role}")


def test_whatever_table_may_not_be_written_to_is_named_and_nothing_is_stored(
    server: Server, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="holdfast.library")
    role, secret = f"guest{os.getpid()}", "0penSesame"
    server.sql(f"CREATE ROLE {role} LOGIN")
    holdfast.open(url).close()
    tables = "ON ALL TABLES IN SCHEMA public"
    server.sql(f"GRANT SELECT, INSERT, UPDATE, DELETE {tables} TO {role}")
    numbers = itertools.count()
    said = []
    try:
        with holdfast.open(url.replace("postgres@", f"{role}:{secret}@")) as store:
            songs = store.repository("songs")
            songs.create_index("n")

            def write() -> None:
                with store.transaction(idempotency_key=f"k{next(numbers)}"):
                    songs.save({"id": "s1", "n": next(numbers)})

            works = {
                "store": write,
                "entity": write,
                "entry": write,
                "log": write,
                "idempotency": write,
                "repository": lambda: store.repository(f"more{next(numbers)}").save({"id": 1}),
                "index": lambda: songs.create_index(f"m{next(numbers)}"),
            }
            for table, work in works.items():
                work()
                before = list(songs), [index["name"] for index in songs.indexes()]
                server.sql(f"REVOKE INSERT, UPDATE, DELETE ON holdfast_{table} FROM {role}")
                named = rf"permission denied for table holdfast_{table}, .*: grant SELECT, INSERT"
                with pytest.raises(holdfast.ReadOnlyError, match=named) as raised:
                    work()
                assert raised.value.commit_state is holdfast.CommitState.NONE
                said.append(str(raised.value))
                assert (list(songs), [index["name"] for index in songs.indexes()]) == before
                server.sql(f"GRANT INSERT, UPDATE, DELETE ON holdfast_{table} TO {role}")
                work()
    finally:
        server.sql(f"REVOKE ALL {tables} FROM {role}; DROP ROLE {role}")
    assert secret not in "".join([*said, caplog.text])


def test_who_is_not_let_in_is_told_why_and_nobody_hears_the_password(
    server: Server, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="holdfast.library")
    # cluster.sh lets this role in by its password alone.
    server.sql("DROP ROLE IF EXISTS guarded; CREATE ROLE guarded LOGIN PASSWORD 'another'")
    said = []
    for wrong, reason in [
        (
            url.replace("postgres@", "guarded:0penSesame@"),
            'password authentication failed for user "guarded"',
        ),
        (url.replace("postgres@", "guarded@"), "no password supplied"),
        (url.replace("postgres@", "nobody:0penSesame@"), 'role "nobody" does not exist'),
        (url.replace("/postgres?", "/never?"), 'database "never" does not exist'),
        (url.replace(":5432/", ":5433/").replace("postgres@", "a:0penSesame@"), "5433"),
    ]:
        with pytest.raises(holdfast.CannotOpenError, match=reason) as raised:
            holdfast.open(wrong)
        assert "check the URL, the server, and the role's rights" in raised.value.message
        said.append(str(raised.value))
    assert "0penSesame" not in "".join([*said, caplog.text])


def test_no_part_of_a_password_is_told_where_it_is_not_quoted_as_urls_have_it(url: str) -> None:
    behind = url.partition("postgres@")[2]
    for password in (
        "s3/cret",
        "s3?cret",
        "s3?x=cret",
        "s3?c&r=et",
        "12/cret",
        "12?cret",
        "s3%cret",
        "s3%00cret",
    ):
        with pytest.raises(holdfast.Error) as raised:
            holdfast.open(f"postgresql://u:{password}@{behind}")
        told = str(raised.value) + str(raised.value.detail)
        assert "cret" not in told and "s3" not in told, told
        assert isinstance(raised.value, (holdfast.InvalidUrlError, holdfast.CannotOpenError))
    # What is quoted, or behind the host by right, goes on as it is.
    for right in ("u:s3%2Fcret@", "u:s3%40cret@"):
        with pytest.raises(holdfast.CannotOpenError, match='role "u" does not exist'):
            holdfast.open(f"postgresql://{right}{behind}")
    with pytest.raises(holdfast.CannotOpenError, match='role "u@realm" does not exist'):
        holdfast.open(f"postgresql://{behind}&user=u@realm")


def test_a_parameter_that_libpq_does_not_know_is_named(url: str) -> None:
    with pytest.raises(holdfast.CannotOpenError, match='invalid URI query parameter: "wrong"'):
        holdfast.open(url + "&wrong=1")


def test_who_may_not_use_the_schema_is_told_so(server: Server, url: str) -> None:
    role = f"guest{os.getpid()}"
    server.sql(f"CREATE ROLE {role} LOGIN; CREATE SCHEMA {role}; ALTER ROLE {role} SET search_path = {role}")
    try:
        with pytest.raises(holdfast.CannotOpenError, match="search_path name a schema that it has USAGE on"):
            holdfast.open(url.replace("postgres@", f"{role}@"))
        server.sql(f"GRANT USAGE, CREATE ON SCHEMA {role} TO {role}")
        holdfast.open(url.replace("postgres@", f"{role}@")).close()
    finally:
        server.sql(f"DROP SCHEMA {role} CASCADE; DROP ROLE {role}")


def test_what_a_newer_library_changed_is_told_to_who_was_open_and_takes_nothing(
    server: Server, url: str
) -> None:
    name = url.partition("holdfast_store=")[2]
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.save({"id": "s1"})
        server.sql(f"UPDATE holdfast_store SET format = format + 1 WHERE name = '{name}'")
        for call in (lambda: songs.save({"id": "s2"}), lambda: songs["s1"], lambda: holdfast.open(url)):
            with pytest.raises(
                holdfast.FormatTooNewError, match="newer version of this library: install that"
            ):
                call()
        server.sql(f"UPDATE holdfast_store SET format = format - 1 WHERE name = '{name}'")
        songs.save({"id": "s3"})
        assert [song["id"] for song in songs] == ["s1", "s3"]


def test_a_table_that_another_program_took_away_is_told(own: Server) -> None:
    with holdfast.open(own.url) as store:
        store.repository("songs").save({"id": "s1"})
        own.sql("DROP TABLE holdfast_entity")
        with pytest.raises(holdfast.CorruptError, match="changed by another program; restore a backup"):
            store.repository("songs").save({"id": "s2"})


def test_a_store_that_another_program_took_away_is_told(server: Server, url: str) -> None:
    name = url.partition("holdfast_store=")[2]
    store = holdfast.open(url)
    songs = store.repository("songs")
    songs.save({"id": "s1"})
    server.sql(f"DELETE FROM holdfast_store WHERE name = '{name}'")
    calls = [
        lambda: songs.fetch("s1"),
        lambda: store.transact(lambda: songs.fetch("s1")),
        lambda: songs.delete("s1", missing_ok=True),
        lambda: songs.save({"id": "s2"}),
        store.close,
    ]
    for call in calls:
        with pytest.raises(holdfast.IOError, match="was removed by another program: open it again"):
            call()
    # What is left of it belongs to no other one.
    with holdfast.open(url) as store:
        assert store.repository("songs").count() == 0
        store.repository("songs").save({"id": "s3"})
        assert [song["id"] for song in store.repository("songs")] == ["s3"]


def test_a_nul_is_a_character_as_any_other_in_texts_and_refused_in_ids_and_urls(url: str) -> None:
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.create_index("title")
        songs.save({"id": "s1", "title": "So\0What"})
        assert list(songs.find({"title": "So\0What"})) == [{"id": "s1", "title": "So\0What"}]
        with pytest.raises(holdfast.InvalidIdError, match="must be left out"):
            songs.save({"id": "a\0b"})
    with holdfast.open(url) as store:
        assert [song["title"] for song in store.repository("songs")] == ["So\0What"]
    for broken in (url + "%00", url + "&application_name=a%00b"):
        with pytest.raises(holdfast.Error) as raised:
            holdfast.open(broken)
        assert raised.value.message


def test_the_store_tells_what_it_has_asked_the_server(url: str) -> None:
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.save({"id": "s1"})
        before = store.describe()["server"]
        songs["s1"]
        songs.save({"id": "s2"})
        after = store.describe()["server"]
        assert 1 <= after["connections"] <= 32
        assert after["round_trips"] > before["round_trips"]
        assert after["resolved_commits"] == 0
    with holdfast.open("memory:") as store:
        assert store.describe()["server"] is None


def test_a_query_that_the_server_ends_leaves_the_others_their_answers(server: Server, url: str) -> None:
    url = f"{url}&application_name=ended-queries"
    with holdfast.open(url, cache_bytes=0) as store:
        songs = store.repository("songs")
        songs.save_many(
            {"id": f"s{number:05}", "plays": number, "text": "abc " * 100} for number in range(3000)
        )
        end = (
            "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity "
            "WHERE application_name = 'ended-queries' AND state = 'active' AND query LIKE '%before%'"
        )
        told: list[holdfast.Error] = []

        def ask() -> None:
            while not told:
                try:
                    songs.find({"plays": -1})
                except holdfast.Error as error:
                    told.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        deadline = time.monotonic() + 60
        while not told and time.monotonic() < deadline:
            server.sql(end)
        asking.join()
        assert isinstance(told[0], holdfast.BusyError) and told[0].message.endswith(": run it again")
        assert [song["id"] for song in songs.find({"plays": 5})] == ["s00005"]


def test_transactions_that_need_more_connections_than_there_are_do_not_wait_for_each_other(url: str) -> None:
    with holdfast.open(url, max_connections=3, lock_timeout_ms=60_000) as store:
        songs = store.repository("songs")
        songs.save({"id": "s1", "plays": 0})

        def play() -> None:
            song = songs["s1"]
            store.describe()
            songs.find({"plays": -1})
            songs.save({"id": "s1", "plays": song["plays"] + 1})

        def play_often() -> None:
            for _ in range(6):
                store.transact(play, isolation="serializable", timeout=120)

        playing = [threading.Thread(target=play_often) for _ in range(5)]
        began = time.monotonic()
        for thread in playing:
            thread.start()
        for thread in playing:
            thread.join()
        assert songs["s1"]["plays"] == 30
        # Each waits for moments, and not until snapshots are let go of because nobody uses them any more.
        assert time.monotonic() - began < 20
