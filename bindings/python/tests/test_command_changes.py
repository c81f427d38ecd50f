"""The commands that change what is stored: from patch to upgrade; and stats."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from test_command import call, lines, run
from test_command_terminal import CONTROL_C, CONTROL_D, Spawn, finish, spawn

import holdfast

assert spawn

SONGS = [{"id": f"s{number:04}", "plays": number % 10, "title": f"Song {number}"} for number in range(2500)]


@pytest.fixture
def filled(path: str) -> str:
    """A store with songs, an index of them, and a singer."""
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save_many(SONGS)
        songs.create_index("plays")
        store.repository("singers", key="name").save({"name": "Patti"})
    return path


def found(path: "str | Path", *words: str) -> list[Any]:
    """What `find` prints of the songs."""
    return lines(call("find", path, "songs", *words).stdout)


# --- patch and modify --------------------------------------------------------------------------------


def test_patch_changes_members_and_tells_the_version(filled: str, tmp_path: Path) -> None:
    (told,) = lines(run("patch", filled, "songs", "s0001", '{"title": null, "n": 1.50}').stdout)
    assert told["id"] == "s0001" and told["version"] > 1
    with holdfast.open(filled) as store:
        assert b"1.50" in (store.repository("songs").fetch_bytes("s0001") or b"")
    (tmp_path / "changes").write_text('{"n": 2}')
    call("patch", filled, "songs", "s0001", tmp_path / "changes")
    run("patch", filled, "songs", "s0002", input='{"n": 2}')
    assert found(filled, '{"n": 2}') == [
        {"id": "s0001", "plays": 1, "n": 2},
        {"id": "s0002", "plays": 2, "title": "Song 2", "n": 2},
    ]
    call("patch", filled, "songs", "none", "{}", code=3)
    call("patch", filled, "songs", "s0001", '{"id": "other"}', code=1)
    call("patch", filled, "songs", "s0001", "{", code=1)


def test_modify_changes_those_of_ids_all_or_none(filled: str) -> None:
    told = lines(run("modify", filled, "songs", "s0001", "s0002", '{"$inc": {"plays": 100}}').stdout)
    assert [it["id"] for it in told] == ["s0001", "s0002"]
    call("modify", filled, "songs", "s0003", "none", '{"$inc": {"plays": 100}}', code=3)
    assert [it["plays"] for it in found(filled, '{"plays": {"$gt": 50}}')] == [101, 102]
    assert "$nothing" in run("modify", filled, "songs", "s0001", '{"$nothing": {}}', code=1).stderr


def test_modify_changes_those_that_match(filled: str) -> None:
    words = ("modify", filled, "songs", "--filter", '{"plays": 3}', '{"$set": {"loud": true}}')
    assert lines(run(*words).stdout) == [{"matched": 250, "modified": 250}]
    assert lines(call(*words).stdout) == [{"matched": 250, "modified": 0}]
    (told,) = lines(call("modify", filled, "songs", "--filter", "{}", '{"$unset": {"loud": ""}}').stdout)
    assert told == {"matched": 2500, "modified": 250}


@pytest.mark.parametrize("name", ["modify", "delete"])
def test_whose_entities_are_meant_is_said_once(filled: str, name: str) -> None:
    update = ["{}"] if name == "modify" else []
    call(name, filled, "songs", *update, code=2)
    call(name, filled, "songs", "s0001", *update, "--filter", "{}", code=2)
    call(name, filled, "songs", *update, "--filter", "[]", code=2)
    assert len(found(filled)) == 2500


# --- delete ------------------------------------------------------------------------------------------


def test_delete_tells_what_it_would_delete_and_deletes_it(filled: str) -> None:
    words = ("delete", filled, "songs", "--filter", '{"plays": {"$lt": 4}}')
    assert lines(run(*words, "--dry-run").stdout) == [{"matched": 1000, "deleted": 0}]
    assert "say --yes" in run(*words, code=2).stderr
    assert lines(call(*words, "--dry-run", "--quiet").stdout) == [{"matched": 1000, "deleted": 0}]
    assert len(found(filled)) == 2500
    assert lines(run(*words, "--yes").stdout) == [{"matched": 1000, "deleted": 1000}]
    assert found(filled) == [song for song in SONGS if int(str(song["plays"])) >= 4]
    assert lines(call(*words).stdout) == [{"matched": 0, "deleted": 0}]
    ids = ("delete", filled, "songs", "s0004", "s0005", "s0004")
    assert lines(call(*ids, "--dry-run").stdout) == [{"matched": 2, "deleted": 0}]
    assert lines(call(*ids).stdout) == [{"matched": 2, "deleted": 2}]
    call("delete", filled, "songs", "s0006", "s0004", code=3)
    assert len(found(filled, '{"id": "s0006"}')) == 1


@pytest.mark.parametrize("name", ["find", "delete", "modify"])
def test_a_filter_none_of_whose_conditions_is_lost_is_needed(filled: str, name: str) -> None:
    before = call("find", filled, "songs").stdout
    filter = '{"id": "s1", "plays": {"$gte": 0, "$gte": -1}}'
    arguments = {
        "find": (filter,),
        "delete": ("--filter", filter, "--yes"),
        "modify": ("--filter", filter, '{"$set": {"x": 1}}'),
    }
    assert 'twice: "$gte"' in call(name, filled, "songs", *arguments[name], code=2).stderr
    assert call("find", filled, "songs").stdout == before


def test_delete_asks_whoever_is_at_the_terminal(filled: str, spawn: Spawn) -> None:
    words = ("delete", filled, "songs", "--filter", '{"plays": 3}')
    for answer, code in (("n\r", 1), ("\r", 1), (CONTROL_D, 1), (CONTROL_C, 130)):
        child = spawn(*words)
        child.expect("Delete 250 of the 2500 entities of songs\\? \\[y/N\\] ")
        child.send(answer)
        finish(child, code)
        assert len(found(filled)) == 2500
    child = spawn(*words)
    child.expect("y/N")
    child.sendline("y")
    assert "Deleting" in finish(child)
    assert len(found(filled)) == 2250
    finish(spawn(*words[:-1], '{"plays": 4}', "--yes"))
    assert len(found(filled)) == 2000


# --- index -------------------------------------------------------------------------------------------


def test_indexes_are_created_listed_and_dropped(filled: str) -> None:
    call("index", "create", filled, "songs", "title", "plays:-1", "--name", "mine")
    words = ("index", "create", filled, "songs", "title", "plays:-1", "--unique")
    (made,) = lines(run(*words).stdout)
    assert made == {
        "repository": "songs",
        "name": "title_-plays",
        "fields": {"title": 1, "plays": -1},
        "unique": True,
    }
    assert lines(call(*words).stdout) == [made], "an equal one is left as it is"
    call("index", "create", filled, "songs", "seen", "--expire-after", "3.5", "--name", "old")
    listed = lines(run("index", "list", filled, "songs").stdout)
    assert made.items() <= next(it for it in listed if it["name"] == made["name"]).items()
    assert {it["name"]: it.get("expire_after_ms") for it in listed} == {
        "mine": None,
        "old": 3500,
        "plays": None,
        made["name"]: None,
    }
    assert lines(call("index", "list", filled).stdout) == listed
    assert lines(call("index", "list", filled, "singers").stdout) == []
    for it in listed:
        dropped = call("index", "drop", filled, "songs", it["name"]).stdout
        assert lines(dropped) == [{"repository": "songs", "dropped": it["name"]}]
    assert lines(call("index", "list", filled).stdout) == []
    call("index", "drop", filled, "songs", "plays", code=3)
    call("index", "create", filled, "songs", "plays", "--unique", code=4)
    call("index", "create", filled, "none", "plays", code=3)
    call("index", "create", filled, "songs", code=2)
    assert (
        "--expire-after"
        in call("index", "create", filled, "songs", "a", "b", "--expire-after", "1", code=1).stderr
    )


# --- drop and rename ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", ["inf", "1e300", "nan", "-1"])
def test_entities_expire_after_a_time_that_there_is(filled: str, seconds: str) -> None:
    arguments = ("index", "create", filled, "songs", "at", "--expire-after", seconds)
    told = call(*arguments, code=1 if seconds == "nan" else 2).stderr
    assert "Traceback" not in told
    assert '"at"' not in call("index", "list", filled).stdout


def test_a_repository_is_dropped_after_a_question(filled: str, spawn: Spawn) -> None:
    assert "say --yes.\n" in run("drop", filled, "songs", code=2).stderr
    for answer, code in (("n\r", 1), (CONTROL_C, 130)):
        child = spawn("drop", filled, "songs")
        child.expect("Drop songs with its 2500 entities\\? \\[y/N\\] ")
        child.send(answer)
        finish(child, code)
        assert len(found(filled)) == 2500
    assert lines(run("drop", filled, "songs", "--yes").stdout) == [{"dropped": "songs", "entities": 2500}]
    assert [it["name"] for it in json.loads(call("info", filled).stdout)["repositories"]] == ["singers"]
    call("drop", filled, "songs", "--yes", code=3)
    assert lines(run("shell", filled, input="drop singers --yes\n").stdout)[0]["dropped"] == "singers"


def test_a_repository_is_renamed(filled: str) -> None:
    before = found(filled)
    assert lines(run("rename", filled, "songs", "tracks").stdout) == [{"renamed": "songs", "name": "tracks"}]
    assert lines(call("find", filled, "tracks").stdout) == before
    call("find", filled, "songs", code=3)
    call("rename", filled, "songs", "other", code=3)
    call("rename", filled, "tracks", "singers", code=4)
    call("rename", filled, "tracks", "no/name", code=1)
    assert "--read-only" in run("--read-only", "rename", filled, "tracks", "songs", code=1).stderr


# --- copy --------------------------------------------------------------------------------------------


def test_a_store_is_copied_into_another(filled: str, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    assert lines(run("copy", filled, target).stdout) == [{"entities": 2501, "stored": 2501, "skipped": 0}]
    assert found(target) == SONGS
    assert lines(call("get", target, "singers", "Patti").stdout) == [{"name": "Patti"}]
    with holdfast.open(filled) as one, holdfast.open(target) as other:
        for store_of in (one, other):
            assert [it["name"] for it in store_of.repository("songs").indexes()] == ["plays"]
        versions = [it.repository("songs").fetch_versioned("s0001") for it in (one, other)]
        assert versions[0] == versions[1]
    ended = run("copy", filled, target, code=4)
    assert "--existing" in ended.stderr
    (told,) = lines(call("copy", filled, target, "--existing", "skip").stdout)
    assert told["skipped"] == 2501


def test_a_repository_is_copied_under_another_name(filled: str, tmp_path: Path) -> None:
    with holdfast.open(filled) as store:
        store.repository("songs").save(b'{"id": "bytes", "n": 1.50, "repository": "songs"}')
    call("copy", filled, tmp_path / "new.db", "--repository", "songs", "--as", "tracks", "--no-indexes")
    call("copy", filled, filled, "--repository", "songs", "--as", "tracks")
    for path in (filled, tmp_path / "new.db"):
        with holdfast.open(path) as store:
            tracks = store.repository("tracks", create=False)
            assert tracks.count() == 2501
            assert tracks.fetch_bytes("bytes") == b'{"id": "bytes", "n": 1.50, "repository": "songs"}'
            assert bool(tracks.indexes()) == (path == filled)
    assert len(found(filled)) == 2501
    for words in (
        (filled, filled),
        (filled, f"sqlite:{filled}", "--repository", "songs"),
        (filled, filled, "--repository", "songs", "--as", "songs"),
        (filled, filled, "--as", "other"),
        (filled, filled, "--repository", "songs", "--repository", "singers", "--as", "other"),
    ):
        call("copy", *words, code=2)


def test_a_copy_that_fails_says_what_is_stored(filled: str, tmp_path: Path) -> None:
    call("copy", filled, tmp_path / "new.db", "--repository", "none", code=3)
    target = tmp_path / "taken.db"
    call("put", target, "songs", json.dumps(SONGS[-1]))
    ended = run("copy", filled, target, code=4)
    assert "entities were stored and stay" in ended.stderr
    stored = len(found(target)) - 1
    assert 0 < stored < 2500
    # The singers come first.
    assert f"the first {stored + 1} entities" in ended.stderr


def test_what_cannot_be_copied_is_told_of_entities_and_of_no_line(tmp_path: Path) -> None:
    source, taken, keyed = (tmp_path / f"{name}.db" for name in ("source", "taken", "keyed"))
    for store in (source, taken):
        call("put", store, "songs", '{"id": "x"}')
    call("put", keyed, "songs", '{"code": "x"}', "--key", "code")
    ended = run("copy", source, taken, code=4)
    assert ended.stderr.startswith('holdfast: songs has "x" already: --existing says')
    told = json.loads(run("--json", "copy", source, taken, code=4).stderr)
    assert told["detail"] == {"repository": "songs", "id": "x"} and "line" not in told["message"]
    assert run("copy", source, keyed, code=1).stderr.endswith("copy it --as another\n")


# --- upgrade -----------------------------------------------------------------------------------------

STEPS: dict[str, Any] = {
    "0": [{"repository": "songs", "modify": {"$rename": {"title": "name"}}}],
    "1": [
        {"repository": "songs", "filter": {"plays": {"$gt": 0}}, "delete": True},
        {"repository": "settings", "save": [{"id": "theme", "dark": True}]},
    ],
}


def test_a_store_is_upgraded_step_by_step_and_once(filled: str, tmp_path: Path) -> None:
    steps = tmp_path / "steps.json"
    steps.write_text(json.dumps({"0": STEPS["0"]}))
    (told,) = lines(run("upgrade", filled, steps).stdout)
    assert (told["from"], told["to"]) == (0, 1) and os.path.exists(told["backup"])
    assert told["changes"] == [
        {"to": 1, "repository": "songs", "change": "modify", "matched": 2500, "modified": 2500}
    ]
    (told,) = lines(run("upgrade", filled, "-", "--no-backup", input=json.dumps(STEPS)).stdout)
    assert (told["from"], told["to"], told["backup"]) == (1, 2, None)
    assert [it["change"] for it in told["changes"]] == ["delete", "save"]
    assert found(filled, "--limit", "1") == [{"id": "s0000", "plays": 0, "name": "Song 0"}]
    assert lines(call("get", filled, "settings", "theme").stdout) == [{"id": "theme", "dark": True}]
    (told,) = lines(call("upgrade", filled, "-", input=json.dumps(STEPS)).stdout)
    assert (told["from"], told["to"], told["changes"]) == (2, 2, [])
    ended = run("upgrade", filled, steps, code=1)
    assert "version 2" in ended.stderr


def test_an_upgrade_that_fails_leaves_the_version_before(filled: str) -> None:
    wrong = {**STEPS, "2": [{"repository": "songs", "modify": {"$inc": {"name": 1}}}]}
    ended = run("upgrade", filled, "-", "--no-backup", input=json.dumps(wrong), code=1)
    assert ended.stderr.endswith("; the store has version 2\n")
    assert json.loads(call("info", filled).stdout)["schema_version"] == 2


@pytest.mark.parametrize(
    "steps",
    [
        "",
        "[]",
        "{}",
        '{"x": []}',
        '{"0": {}}',
        '{"0": [{}]}',
        '{"0": [{"repository": "songs"}]}',
        '{"0": [{"repository": "songs", "modify": 1}]}',
        '{"0": [{"repository": "songs", "delete": false}]}',
        '{"0": [{"repository": "songs", "delete": true, "modify": {}}]}',
        '{"0": [{"repository": "songs", "save": [], "filter": {}}]}',
        '{"0": [], "2": []}',
        '{"0": [{"repository": "songs", "save": [1]}]}',
        '{"0": [{"repository": "songs", "delete": true}], "0": []}',
        '{"0": [{"repository": "songs", "delete": true}], "00": []}',
        '{"0": [{"repository": "songs", "delete": true, "filter": {"plays": 0, "plays": {"$gte": 0}}}]}',
    ],
)
def test_steps_that_are_none_are_refused(filled: str, steps: str) -> None:
    told = call("upgrade", filled, "-", input=steps, code=1).stderr
    assert told.startswith("holdfast: ") and told.count("\n") == 1
    assert json.loads(call("info", filled).stdout)["schema_version"] is None


# --- stats -------------------------------------------------------------------------------------------


def test_stats_tell_sizes_and_counts(filled: str) -> None:
    (told,) = lines(run("stats", filled).stdout)
    assert told["sizes"]["store_bytes"] > 0 and told["entities"] == 2501
    assert 0 < told["entity_bytes"] * 2501 <= told["sizes"]["store_bytes"]
    assert told["repositories"] == [{"name": "singers", "entities": 1}, {"name": "songs", "entities": 2500}]
    assert [it["name"] for it in told["indexes"]] == ["plays"]
    assert {"queue", "cache", "snapshots", "transactions"} <= set(told)
    (told,) = lines(call("stats", filled, "--entries").stdout)
    assert [(it["name"], it["entries"]) for it in told["indexes"]] == [("plays", 2500)]
    assert "store_bytes" in call("stats", filled, "--format", "table").stdout


def test_the_shell_has_them_without_the_store(filled: str, tmp_path: Path) -> None:
    script = f"""
        patch songs s0001 '{{"plays": 1}}'
        modify songs s0001 '{{"$inc": {{"plays": 1}}}}'
        index create songs title
        index list
        delete songs s0001
        copy {tmp_path / "copy.db"}
        stats
    """
    told = lines(run("shell", filled, input=script).stdout)
    assert told[-1]["entities"] == 2500 and told[-2]["stored"] == 2500
    assert "index list [OPTIONS] [REPOSITORY]" in run("shell", filled, input="help index list\n").stdout
    assert found(tmp_path / "copy.db", '{"id": "s0001"}') == []
