"""`holdfast inspect` on each engine: what is edited and undone, what is listed, and long work."""

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server import Server as Cluster
from test_inspect import SONGS, Server, wait_for

import holdfast
from holdfast.inspector import Inspector

_names = itertools.count()


@pytest.fixture(params=["memory", "sqlite", "server"])
def writing(request: pytest.FixtureRequest, path: str) -> Iterator["tuple[Server, holdfast.Repository[Any]]"]:
    """A server that may write, and its songs, on each engine."""
    engine = request.param
    if engine == "server":
        path = f"{Cluster.shared().url}?holdfast_store=inspect{os.getpid()}.{next(_names)}"
    with holdfast.open("memory:" if engine == "memory" else path) as store:
        songs = store.repository("songs")
        songs.save_many(SONGS)
        with Inspector([store], write=True) as inspector:
            yield Server({"url": "", "api": f"{inspector.address}api/", "token": inspector.token}), songs


def test_an_edit_expects_the_version_that_was_seen(
    writing: "tuple[Server, holdfast.Repository[Any]]",
) -> None:
    server, songs = writing
    seen = server.ask("entity", repository="songs", id="s01")
    songs.modify("s01", {"$inc": {"plays": 1}})
    given = {"repository": "songs", "id": "s01", "version": seen["version"]}
    told = server.ask("save", 409, **given, text='{"id":"s01","title":"Mine"}')
    assert told["kind"] == "VersionMismatchError" and str(told["detail"]["actual"]) != seen["version"]
    assert server.ask("delete", 409, **given)["kind"] == "VersionMismatchError"
    assert songs["s01"] == {"id": "s01", "title": "Song 1", "plays": 2}
    assert (
        server.ask("save", 409, repository="songs", text='{"id":"s01"}', version="0")["kind"] == "ExistsError"
    )


def test_an_edit_never_reaches_another_entity(writing: "tuple[Server, holdfast.Repository[Any]]") -> None:
    server, songs = writing
    # Stored by one commit, all have the same version.
    seen = server.ask("entity", repository="songs", id="s01")
    given = {"repository": "songs", "id": "s01", "version": seen["version"]}
    for other in ("s02", "of nobody"):
        text = json.dumps({"id": other, "title": "Mine"})
        assert '"s01"' in server.ask("save", 400, **given, text=text)["error"]
    assert list(songs.find()) == SONGS
    assert server.ask("edits")["edits"] == []
    # An entity that went is another matter.
    songs.delete("s01")
    assert server.ask("save", 404, **given, text='{"id":"s01"}')["kind"] == "NotFoundError"
    # 42 and "42" name one.
    songs.save({"id": 42})
    given = {**given, "id": "42", "version": server.ask("entity", repository="songs", id="42")["version"]}
    assert server.ask("save", **given, text='{"id":"42"}')["id"] == "42"


def test_each_edit_can_be_undone_unless_another_came(
    writing: "tuple[Server, holdfast.Repository[Any]]",
) -> None:
    server, songs = writing

    def edit(name: str, **given: Any) -> Any:
        return server.ask(name, repository="songs", **given)["edit"]["number"]

    # Spelt as no program would spell it again: an undo gives the bytes back.
    songs.save(b'{"id": "odd",  "n": 1.50}')
    version = server.ask("entity", repository="songs", id="odd")["version"]
    number = edit("delete", id="odd", version=version)
    assert "odd" not in songs
    server.ask("undo", number=number)
    assert songs.fetch_bytes("odd") == b'{"id": "odd",  "n": 1.50}'
    added = edit("save", text='{"id":"new"}', version="0")
    server.ask("undo", number=added)
    assert "new" not in songs
    assert server.ask("undo", 404, number=added)["error"]
    version = server.ask("entity", repository="songs", id="s02")["version"]
    number = edit("save", id="s02", version=version, text='{"id":"s02","plays":9}')
    songs.modify("s02", {"$inc": {"plays": 1}})
    assert server.ask("undo", 409, number=number)["kind"] == "VersionMismatchError"
    assert songs["s02"]["plays"] == 10
    assert [it["undone"] for it in server.ask("edits")["edits"]][:1] == [True]


def test_one_edit_after_the_other_is_undone(writing: "tuple[Server, holdfast.Repository[Any]]") -> None:
    server, songs = writing
    for plays in (10, 20, 30):
        version = server.ask("entity", repository="songs", id="s03")["version"]
        text = json.dumps({"id": "s03", "plays": plays})
        server.ask("save", repository="songs", id="s03", version=version, text=text)

    def undo_the_last() -> int:
        last = [it for it in server.ask("edits")["edits"] if not it["undone"]][-1]
        server.ask("undo", number=last["number"])
        return int(songs["s03"]["plays"])

    assert [undo_the_last() for _ in range(3)] == [20, 10, 3]
    assert all(it["undone"] for it in server.ask("edits")["edits"])


def test_what_is_stored_may_be_anything(writing: "tuple[Server, holdfast.Repository[Any]]") -> None:
    server, songs = writing
    id = '"/../<b>\u2028&#token=1 %2e'
    songs.save({"id": id, "long": "x" * 5000, "</script>": [1] * 3000})
    found = server.ask("find", repository="songs", filter={"id": id})["rows"][0]
    assert found["id"] == id and found["cut"] == {"long": 5002, "</script>": 6001}
    assert server.ask("entity", repository="songs", id=id)["id"] == id
    assert server.ask("history", repository="songs", id=id)["count"] == 1


def test_work_tells_how_far_it_is_and_what_came_of_it(
    writing: "tuple[Server, holdfast.Repository[Any]]", tmp_path: Path
) -> None:
    server, songs = writing

    def done(what: str, **given: Any) -> Any:
        number = server.ask(what, **given)["number"]
        jobs = wait_for(
            lambda: {it["number"]: it for it in server.ask("jobs")["jobs"]},
            lambda told: told[number]["state"] != "running",
        )
        return jobs[number]

    made = done("create_index", repository="songs", fields={"plays": 1})
    assert made["state"] == "done" and made["done"] == made["total"] == 20
    assert server.ask("explain", repository="songs", filter={"plays": 3})["plan"]["index"] == "plays"
    assert done("create_index", repository="songs", fields={"plays": 3})["state"] == "failed"
    assert done("verify")["result"]["ok"]
    exported = done("export", path=str(tmp_path / "songs.jsonl"))
    assert exported["result"]["entities"] == 20
    assert len((tmp_path / "songs.jsonl").read_text().splitlines()) > 20
    copied = done("backup", path=str(tmp_path / "copy.db"))
    has_file = server.ask("overview")["sizes"] is not None
    assert copied["state"] == ("done" if has_file else "failed"), copied
    assert (tmp_path / "copy.db").exists() == has_file
    assert done("drop_index", repository="songs", name="plays")["state"] == "done"
    assert songs.indexes() == []
    assert server.ask("cancel", 404, number=99)["error"]


def test_no_page_leaves_out_an_id_whatever_its_type(
    writing: "tuple[Server, holdfast.Repository[Any]]",
) -> None:
    server, songs = writing
    mixed = songs.store.repository("mixed")
    mixed.save_many({"id": it} for number in range(1, 50) for it in (number, f"{number}x", f"x{number}"))
    expected = [str(it["id"]) for it in mixed.find()]
    for start in (0, 1, 7):
        for limit in (1, 2, 7, 49):
            found: list[str] = []
            behind: Any = {"skip": start}
            while behind is not None:
                told = server.ask("find", repository="mixed", limit=limit, **behind)
                found += [it["id"] for it in told["rows"]]
                behind = told["next"]
            assert found == expected[start:], (start, limit)
