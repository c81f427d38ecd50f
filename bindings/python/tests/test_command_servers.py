"""The command `holdfast` with stores on a server."""

import json
import os
import signal
import sqlite3
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from proxy import Direction, Fault, Kind, Proxy
from test_command import COMMAND, call, lines, run

import holdfast

SONGS = [{"id": f"s{number:05}", "title": f"Song {number}", "plays": number} for number in range(5_000)]


@pytest.fixture
def filled(path: str) -> str:
    """A file with songs of which some were changed."""
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save_many(SONGS)
        songs.create_index("plays")
        for song in SONGS[:10]:
            songs.save({**song, "plays": -1})
    return path


@pytest.fixture
def start() -> "Iterator[Callable[..., subprocess.Popen[str]]]":
    """Starts the command, which ends with the test, however that does."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str, **options: Any) -> "subprocess.Popen[str]":
        started.append(subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, text=True, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def exported(place: "str | Path") -> list[Any]:
    """What an export tells of the entities, versions included."""
    return [line for line in lines(call("export", place).stdout) if "entity" in line]


def test_a_store_is_copied_to_a_server_and_back_with_versions_and_indexes(
    filled: str, url: str, tmp_path: Path
) -> None:
    back = tmp_path / "back.db"
    for source, target in [(filled, url), (url, back)]:
        told = lines(run("copy", source, target).stdout)
        assert told == [{"entities": 5_000, "stored": 5_000, "skipped": 0}]
        assert exported(target) == exported(source)
        (shown,) = lines(call("info", target).stdout)
        assert [index["name"] for index in shown["repositories"][0]["indexes"]] == ["plays"]


def test_a_copy_that_lost_its_server_goes_on_where_it_was(filled: str, url: str, proxy: Proxy) -> None:
    through = proxy.url + url[url.index("?") :]
    proxy.arm(Fault(Direction.TO_SERVER, 300_000, "bytes", Kind.OUTAGE, seconds=60))
    failed = subprocess.run(
        [*COMMAND, "copy", filled, through, "--resume", "monday"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    # Whether the batch was under way, or the next one found nobody to connect to.
    assert failed.returncode == 1, failed.stderr
    assert "was lost" in failed.stderr or "cannot be connected to" in failed.stderr
    with holdfast.open(url) as store:
        before = store.repository("songs").count()
        sequence = store.describe()["sequence"]
    assert 0 < before < 5_000
    proxy.heal()
    told = lines(run("copy", filled, through, "--resume", "monday").stdout)
    assert told == [{"entities": 5_000, "stored": 5_000, "skipped": 0}]
    assert exported(url) == exported(filled)
    # What was there was not stored again.
    stored = [line["version"] for line in exported(url)]
    assert stored == [line["version"] for line in exported(filled)]
    with holdfast.open(url) as store:
        assert store.describe()["sequence"] >= sequence
    call("copy", filled, url, code=4)


def test_each_command_takes_a_server(url: str, tmp_path: Path) -> None:
    call("put", url, "songs", '[{"id":"s1","plays":1},{"id":"s2","plays":2},{"id":"s3","plays":3}]')
    call("index", "create", url, "songs", "plays")
    assert lines(call("get", url, "songs", "s1").stdout) == [{"id": "s1", "plays": 1}]
    assert lines(call("find", url, "songs", '{"plays":{"$gt":2}}').stdout) == [{"id": "s3", "plays": 3}]
    assert lines(call("aggregate", url, "songs", '[{"$count":"songs"}]').stdout) == [{"songs": 3}]
    call("patch", url, "songs", "s1", '{"plays":7}')
    call("modify", url, "songs", '{"$inc":{"plays":1}}', "--filter", '{"id":"s1"}')
    call("delete", url, "songs", "s2", "--yes")
    call("rename", url, "songs", "tracks")
    (found,) = lines(call("find", url, "tracks", '{"plays":8}').stdout)
    assert found["id"] == "s1"
    (told,) = lines(call("stats", url).stdout)
    assert told["sizes"] is None and told["server"]["connections"] > 0
    assert told["entities"] == 2
    (told,) = lines(call("verify", url).stdout)
    assert told["ok"]
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("CREATE TABLE names (name TEXT PRIMARY KEY)")
        other.execute("INSERT INTO names VALUES ('So What')")
    other.close()
    call("import", url, tmp_path / "other.sqlite", "--table", "names")
    call("drop", url, "tracks", "--yes")
    assert [entity["entity"]["name"] for entity in exported(url)] == ["So What"]


def test_what_only_files_have_is_refused_with_what_to_use_instead(
    filled: str, url: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    call("copy", filled, url)
    assert "pg_dump" in run("backup", url, copy, code=1).stderr
    assert not copy.exists()
    assert "VACUUM" in run("compact", url, code=1).stderr
    call("backup", filled, copy)
    assert "import" in run("restore", copy, url, code=1).stderr


def test_no_command_shows_a_password(url: str, tmp_path: Path) -> None:
    secret = "0penSesame"
    with_secret = url.replace("postgres@", f"postgres:{secret}@")
    nowhere = with_secret.replace("/postgres?", "/nowhere?")
    call("put", url, "songs", '{"id":"s1"}')
    for words in (
        ["info", with_secret],
        ["stats", with_secret],
        ["verify", with_secret],
        ["backup", with_secret, str(tmp_path / "copy.db")],
        ["compact", with_secret],
        ["copy", with_secret, nowhere],
        ["info", nowhere],
        ["restore", str(tmp_path / "none.db"), with_secret],
        ["info", with_secret.replace("postgresql://", "postgresql:")],
    ):
        ended = call(*words, code=None)
        assert secret not in ended.output, words


def test_a_store_on_a_server_is_watched(url: str, start: "Callable[..., subprocess.Popen[str]]") -> None:
    """What each process commits, as it does."""
    call("put", url, "songs", '{"id":"s1","plays":1}')
    watching = start("watch", url, "songs", '{"plays":{"$lt":10}}', "--initial", "--count", "4")
    assert watching.stdout is not None
    heard = []
    with watching.stdout as output:
        heard.append(json.loads(output.readline()))
        for entity in ('{"id":"s1","plays":2}', '{"id":"s1","plays":20}', '{"id":"s2","plays":3}'):
            run("put", url, "songs", entity)
            heard.append(json.loads(output.readline()))
    assert watching.wait(300) == 0
    assert [(it["change"], it["id"]) for it in heard] == [
        ("added", "s1"),
        ("changed", "s1"),
        ("removed", "s1"),
        ("added", "s2"),
    ]


def test_a_store_on_a_server_is_inspected(
    url: str, tmp_path: Path, start: "Callable[..., subprocess.Popen[str]]"
) -> None:
    """As its page asks: what there is, what a query finds, and what changes while it is shown."""
    secret = "0penSesame"
    call("put", url, "songs", '[{"id":"s1","plays":1},{"id":"s2","plays":2}]')
    inspecting = start(
        "inspect",
        url.replace("postgres@", f"postgres:{secret}@"),
        "--json",
        stderr=subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
    )
    assert inspecting.stdout is not None and inspecting.stderr is not None
    with inspecting.stdout as output, inspecting.stderr as errors:
        told = json.loads(output.readline())

        def ask(name: str, **given: Any) -> Any:
            headers = {"Authorization": f"Bearer {told['token']}"}
            request = urllib.request.Request(told["api"] + name, json.dumps(given).encode(), headers)
            return urllib.request.urlopen(request, timeout=120)

        shown = ask("overview").read().decode()
        assert "songs" in shown and secret not in shown
        found = json.loads(ask("find", repository="songs", filter={"plays": {"$gt": 1}}).read())
        assert [row["members"]["plays"] for row in found["rows"]] == ["2"]
        assert json.loads(ask("history", repository="songs", id="s1").read())["count"] == 1
        with ask("live", repository="songs") as rows, ask("changes") as changes:
            while "s2" not in rows.readline().decode():
                pass
            run("put", url, "songs", '{"id":"s3","plays":3}')
            for lines_ in (rows, changes):
                while "s3" not in lines_.readline().decode():
                    pass
        with ask("figures") as figures:
            assert json.loads(figures.readline())["server"]["connections"] > 0
        inspecting.send_signal(signal.SIGINT)
        assert inspecting.wait(120) == 130
        assert secret not in output.read() + errors.read()
        assert not any(secret in file.read_text() for file in tmp_path.rglob("*.json"))
