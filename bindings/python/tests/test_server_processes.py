"""Several processes with one store on a server: what one of them alone may do, and what the others see."""

import os
import subprocess
import time

import pytest
from nodes import Family
from programs import Program, start_program
from server import Server

import holdfast

# Upgrades as soon as it is told to, and tells from what version to what.
UPGRADER = """
    import sys, time, holdfast

    def to_titles(store):
        store.repository("songs").modify_all(None, {"$rename": {"name": "title"}})
        time.sleep(0.3)

    def count(store):
        store.repository("counts").save({"id": sys.argv[2], "n": store.repository("songs").count()})

    with holdfast.open(sys.argv[1]) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        report = store.upgrade({1: to_titles, 2: count}, backup=False)
        print(report["from"], report["to"], flush=True)
"""


def start(program: str, *arguments: str) -> Program:
    return start_program(program, *arguments, development=False, stdin=subprocess.PIPE)


def go(programs: "list[Program]") -> None:
    for program in programs:
        assert program.wait_for_line() == "ready"
    for program in programs:
        assert program.process.stdin is not None
        program.process.stdin.write("\n")
        program.process.stdin.flush()


def test_of_processes_that_upgrade_a_store_at_once_one_takes_each_step(url: str) -> None:
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.save_many([{"id": f"s{number}", "name": "So What"} for number in range(50)])
        store.upgrade({0: lambda _: None}, backup=False)
        upgraders = [start(UPGRADER, url, f"p{number}") for number in range(3)]
        go(upgraders)
        told = [upgrader.wait_for_line().split() for upgrader in upgraders]
        assert [upgrader.wait().returncode for upgrader in upgraders] == [0, 0, 0]
        # Each came to the newest version; whoever came late found it there.
        assert [to for _, to in told] == ["3", "3", "3"]
        assert store.schema_version == 3
        assert songs.count({"title": "So What"}) == 50 and songs.count({"name": {"$exists": True}}) == 0
        assert len(store.repository("counts").find()) == 1


def test_what_has_expired_is_deleted_once_by_whichever_process_comes_first(url: str) -> None:
    """Each deletion is a change that followers are told, so two would show."""
    expiring = """
        import sys, holdfast
        with holdfast.open(sys.argv[1]) as store:
            print("ready", flush=True)
            sys.stdin.readline()
    """
    with holdfast.open(url) as store:
        seen = store.repository("seen")
        seen.create_index("at", expire_after=1)
        others = [start(expiring, url) for _ in range(2)]
        for other in others:
            assert other.wait_for_line() == "ready"
        with store.changes("seen") as changes:
            now = int(time.time() * 1000)
            seen.save_many([{"id": f"old{number}", "at": now} for number in range(40)])
            seen.save({"id": "young", "at": now + 3_600_000})
            heard: list[tuple[str, str]] = []
            deadline = time.monotonic() + 120
            while seen.count() > 1 and time.monotonic() < deadline:
                time.sleep(0.05)
            seen.save({"id": "last"})
            while not heard or heard[-1][1] != "last":
                heard += [(change.operation, change.id) for change in changes.next(120)]
        for other in others:
            assert other.process.stdin is not None
            other.process.stdin.close()
            assert other.process.wait(60) == 0
        deleted = [id for operation, id in heard if operation == "delete"]
        assert sorted(deleted) == sorted(f"old{number}" for number in range(40))
        assert sorted(entity["id"] for entity in seen) == ["last", "young"]


def test_an_index_is_built_while_other_processes_write(url: str) -> None:
    writing = """
        import sys, holdfast
        with holdfast.open(sys.argv[1]) as store:
            songs = store.repository("songs")
            print("ready", flush=True)
            sys.stdin.readline()
            for number in range(150):
                songs.save({"id": f"{sys.argv[2]}.{number}", "year": number % 10})
                songs.delete(f"{sys.argv[2]}.{number - 5}", missing_ok=True)
    """
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.save_many([{"id": f"s{number:05}", "year": number % 10} for number in range(3_000)])
        writers = [start(writing, url, f"w{number}") for number in range(2)]
        go(writers)
        songs.create_index("year")
        assert [writer.wait().returncode for writer in writers] == [0, 0]
        assert songs.verify()["ok"]
        assert songs.count({"year": 3}) == sum(1 for song in songs if song["year"] == 3)


def test_a_tree_and_the_store_change_together_or_not_at_all(url: str, family: Family) -> None:
    """Where another process has changed in between what was read, neither does."""
    taking = """
        import sys, holdfast
        with holdfast.open(sys.argv[1]) as store:
            print("ready", flush=True)
            sys.stdin.readline()
            store.repository("songs").save({"id": "s1", "plays": 100})
    """
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.save({"id": "s1", "plays": 1})
        other = start(taking, url)
        with pytest.raises(holdfast.ConflictError), store.transaction(family.root):
            plays = songs["s1"]["plays"]
            go([other])
            assert other.wait().returncode == 0
            songs.save({"id": "s1", "plays": plays + 1})
        assert songs["s1"] == {"id": "s1", "plays": 100}
        family.expect(1, 1, 0, 1)
        with store.transaction(family.root):
            songs.save({"id": "s1", "plays": songs["s1"]["plays"] + 1})
        assert songs["s1"] == {"id": "s1", "plays": 101}
        family.expect(2, 2, 1, 1)


ROLES = """
    CREATE ROLE {owner} LOGIN; CREATE ROLE {plain} LOGIN;
    CREATE SCHEMA {owner} AUTHORIZATION {owner}; GRANT USAGE ON SCHEMA {owner} TO {plain};
    ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA {owner}
        GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {plain};
"""


def test_an_owner_makes_the_tables_and_a_role_with_four_privileges_runs(server: Server) -> None:
    owner, plain = (f"{name}{os.getpid()}" for name in ("owner", "plain"))
    server.sql(ROLES.format(owner=owner, plain=plain))
    options = f"?options=-csearch_path%3D{owner}&holdfast_store=roles"

    def url_of(role: str) -> str:
        return server.url.replace("postgres@", f"{role}@") + options

    with pytest.raises(holdfast.CannotOpenError, match="grant it CREATE on the schema"):
        holdfast.open(url_of(plain))
    with holdfast.open(url_of(owner)):
        pass
    with holdfast.open(url_of(plain)) as store:
        # All that is not the making of tables: also another store.
        songs = store.repository("songs")
        songs.create_index("plays")
        with store.subscribe("mailer", "songs") as stream:
            songs.save_many([{"id": f"s{number}", "plays": number} for number in range(10)])
            assert len(list(stream.next(120))) == 10
        songs.modify("s1", {"$inc": {"plays": 100}})
        songs.delete("s2")
        assert songs.count({"plays": {"$gt": 5}}) == 5
        store.verify()
        store.upgrade({0: lambda _: None}, backup=False)
        songs.drop_index("plays")
        store.drop("songs")
    with holdfast.open(url_of(plain).replace("=roles", "=another")) as store:
        store.repository("songs").save({"id": "s1"})
    server.sql(f"REVOKE UPDATE ON {owner}.holdfast_store FROM {plain}")
    with pytest.raises(holdfast.ReadOnlyError, match="grant SELECT, INSERT, UPDATE and DELETE"):
        holdfast.open(url_of(plain))
    with holdfast.open(url_of(plain), read_only=True) as store:
        assert store.repositories() == []
