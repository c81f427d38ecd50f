"""The command `holdfast`: its parts, as a shell and a script meet them."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import click
import pytest
from click.testing import CliRunner, Result

import holdfast
from holdfast._limits import LIMITS
from holdfast.command.program import program

COMMAND = (sys.executable, "-m", "holdfast")
SONGS = [{"id": f"s{number:03}", "title": f"Song {number}", "plays": number} for number in range(100)]


@pytest.fixture
def filled(path: str) -> str:
    """A store with songs."""
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save_many(SONGS)
        songs.create_index("plays")
    return path


def run(*words: "str | Path", code: int = 0, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Runs the command as a process of its own, to the end with this exit code."""
    ended = subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, timeout=300, check=False, **options
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    return ended


def call(*words: "str | Path", code: Optional[int] = 0, **options: Any) -> Result:
    """Runs the command within this process, to the end with this exit code; None: with any."""
    result = CliRunner().invoke(program, list(map(str, words)), **options)
    assert code is None or result.exit_code == code, result.output
    return result


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


# --- Reading -----------------------------------------------------------------------------------------


def test_info_tells_of_state_repositories_entities_and_indexes(filled: str) -> None:
    (told,) = lines(run("info", filled).stdout)
    assert told["url"] == filled and told["read_only"] and told["schema_version"] is None
    (songs,) = told["repositories"]
    assert (songs["name"], songs["key"], songs["entities"]) == ("songs", "id", 100)
    assert [index["name"] for index in songs["indexes"]] == ["plays"]
    with holdfast.open(filled) as store:
        described = store.describe()
    assert described.keys() <= told.keys(), "whatever the library tells is shown"


def test_get_prints_entities_and_ends_with_3_where_one_is_missing(filled: str) -> None:
    assert lines(run("get", filled, "songs", "s002", "s001").stdout) == [SONGS[2], SONGS[1]]
    ended = run("get", filled, "songs", "s001", "none", "s003", code=3)
    assert lines(ended.stdout) == [SONGS[1], SONGS[3]]
    assert ended.stderr == "holdfast: the repository songs has no none\n"
    told = json.loads(run("--json", "get", filled, "songs", "none", "s001", "gone", code=3).stderr)
    assert (told["error"], told["exit_code"]) == ("not_found", 3)
    assert told["detail"] == {"repository": "songs", "ids": ["none", "gone"]}


def test_find_takes_filter_order_limits_and_fields(filled: str) -> None:
    filter = '{"plays": {"$gte": 95}}'
    found = run("find", filled, "songs", filter, "--sort", "plays:-1", "--skip", "1", "--limit", "2")
    assert lines(found.stdout) == [SONGS[98], SONGS[97]]
    assert lines(call("find", filled, "songs").output) == SONGS
    fields = call("find", filled, "songs", "--limit", "1", "--fields", "plays,none")
    assert lines(fields.output) == [{"id": "s000", "plays": 0}]
    assert call("find", filled, "songs", filter, "--count").output == "5\n"
    (explained,) = lines(call("find", filled, "songs", filter, "--explain").output)
    assert explained["access"] == "index" and explained["matched"] == 5


def test_aggregate_prints_documents_and_how_they_came(filled: str) -> None:
    pipeline = '[{"$match": {"plays": {"$gte": 95}}}, {"$group": {"_id": null, "plays": {"$sum": "$plays"}}}]'
    told = run("aggregate", filled, "songs", pipeline, "--json")
    assert lines(told.stdout) == [{"_id": None, "plays": 95 + 96 + 97 + 98 + 99}]
    (explained,) = lines(call("aggregate", filled, "songs", pipeline, "--explain").output)
    assert (explained["access"], explained["returned"]) == ("index", 1)
    assert [it["stage"] for it in explained["stages"]] == ["$group"]
    wrong = run("--json", "aggregate", filled, "songs", '[{"$limit": 1}, {"$nope": 1}]', code=1)
    assert json.loads(wrong.stderr)["detail"]["stage"] == 1
    assert "array of stages" in run("aggregate", filled, "songs", '{"$limit": 1}', code=2).stderr
    call("aggregate", filled, "songs", "[", code=2)
    call("aggregate", filled, "none", "[]", code=3)
    for limit, needed in (
        ("max-stages", 2),
        ("max-groups", 1),
        ("max-memory-bytes", 1 << 20),
        ("max-depth", 1),
    ):
        run("aggregate", filled, "songs", pipeline, f"--{limit}", str(needed))
        refused = run("--json", "aggregate", filled, "songs", pipeline, f"--{limit}", "0", code=1)
        assert json.loads(refused.stderr)["detail"]["option"] == limit.replace("-", "_")
    run("aggregate", filled, "songs", pipeline, "--max-stages", "1", code=1)


def test_json_is_one_text_and_a_table_is_for_reading(filled: str) -> None:
    found = call("--format", "json", "find", filled, "songs", "--limit", "3")
    assert json.loads(found.output) == SONGS[:3]
    assert json.loads(call("--format", "json", "find", filled, "songs", '{"x": 1}').output) == []
    table = call("--format", "table", "find", filled, "songs", "--limit", "3").output.splitlines()
    assert [line.split() for line in table if line.strip()] == [
        ["id", "title", "plays"],
        [table[2].strip()],
        *([it["id"], "Song", str(it["plays"]), str(it["plays"])] for it in SONGS[:3]),
    ]
    told = call("--format", "table", "info", filled).output
    assert "repositories" in told and "incarnation" in told


def test_tables_show_every_entity_however_many_there_are(
    filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rows in (1, 7, 100):
        monkeypatch.setattr(LIMITS, "table_rows", rows)
        table = call("--format", "table", "find", filled, "songs").output
        assert re.findall(r"\bs\d\d\d\b", table) == [song["id"] for song in SONGS]
        assert table.count("title") == -(-len(SONGS) // rows), "each table has a head of its own"


def test_no_character_of_an_entity_reaches_the_terminal_as_an_order(path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save({"id": "a", "title": "\x1b[2J\x9b2J[red]\n\x7f"})
    for format in ("lines", "json", "table"):
        shown = call("--format", format, "get", path, "songs", "a").output
        assert not any(ord(character) < 32 and character != "\n" for character in shown)
        assert not any(127 <= ord(character) < 160 for character in shown)
        assert "\\u001b[2J\\u009b2J[red]\\n\\u007f" in shown


def test_a_command_that_reads_creates_and_changes_nothing(tmp_path: Path, filled: str) -> None:
    ended = run("info", tmp_path / "typo.db", code=3)
    assert ended.stderr.startswith("holdfast: there is no store at ")
    assert ended.stderr.count("\n") == 1
    for words in ("get songs a", "find songs", "verify", "watch songs", "delete songs a", "compact", "shell"):
        name, *rest = words.split()
        call(name, tmp_path / "typo.db", *rest, code=3)
    assert not (tmp_path / "typo.db").exists()
    told = run("find", filled, "typo", code=3).stderr
    assert "no repository" in told and told.count("which it has") == 1
    with holdfast.open(filled, read_only=True) as store:
        assert len(store.describe()["repositories"]) == 1


# --- Writing -----------------------------------------------------------------------------------------


def test_put_stores_what_it_is_given_and_tells_ids_and_versions(path: str, tmp_path: Path) -> None:
    (stored,) = lines(run("put", path, "songs", '{"id": "a", "n": 1}').stdout)
    assert stored["id"] == "a" and stored["version"] > 0
    text = '{"id": "b", "n": 1.50}\n\n{"id": "c",\n "n": 9223372036854775807}\n[{"id": "d"}, {}]'
    assert len(lines(run("put", path, "songs", input=text).stdout)) == 4
    (tmp_path / "file").write_text('{"id": "e"}')
    call("put", path, "songs", tmp_path / "file")
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        assert songs.fetch_bytes("b") == b'{"id": "b", "n": 1.50}'
        assert [songs.contains(id) for id in "abcde"] == [True] * 5
        assert songs.count() == 6
        versioned = songs.fetch_versioned("a")
        assert versioned is not None and versioned[1] == stored["version"]


def test_put_stores_entities_as_they_were_written(path: str) -> None:
    written = [
        '{"id": "a", "n": 1.50}',
        '{"id":"b","n":1e2,"s":"\\u00e9]"}',
        '{"id": "c", "n": 12345678901234567}',
    ]
    run("put", path, "songs", input="[" + " ,\n".join(written) + " ] [ ]\n" + '{"id": "d", "n": 2.0}')
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        assert [(songs.fetch_bytes(id) or b"").decode() for id in "abcd"] == [
            *written,
            '{"id": "d", "n": 2.0}',
        ]


@pytest.mark.parametrize("text", ['[{"id": "a", "n": 1, "n": 2}]', '{"id": "a", "n": 1, "n": 2}'])
def test_put_refuses_names_that_come_twice(path: str, text: str) -> None:
    call("put", path, "songs", text, code=1)
    with holdfast.open(path) as store:
        assert store.repository("songs").count() == 0


@pytest.mark.parametrize("text", ['[{"id": "a"} {"id": "b"}]', '[{"id": "a"},]', '[{"id": "a"}', "[,]"])
def test_put_refuses_arrays_that_are_none(path: str, text: str) -> None:
    assert "is no JSON" in run("put", path, "songs", input=text, code=1).stderr


def test_put_adds_or_updates_all_or_none(filled: str) -> None:
    ended = run("put", filled, "songs", "--add", input='{"id": "new"}{"id": "s001"}', code=4)
    assert "s001" in ended.stderr
    call("put", filled, "songs", "--update", input='{"id": "s001", "plays": -1}{"id": "new"}', code=3)
    call("put", filled, "songs", "--update", input='{"id": "s002", "plays": -2}')
    call("put", filled, "songs", "--add", input='{"id": "newer"}')
    filter = '{"$or": [{"plays": {"$lt": 0}}, {"plays": null}]}'
    found = lines(call("find", filled, "songs", filter, "--sort", "id").output)
    assert found == [{"id": "newer"}, {"id": "s002", "plays": -2}]


@pytest.mark.parametrize(
    "text", ['{"id": "a"', "nothing", '{"id":"a"}]', "[1]", '{"id": 1.5}', '["\\ud800"]', "[" * 100_000]
)
def test_put_refuses_what_is_no_entity_in_one_line(path: str, text: str) -> None:
    ended = run("put", path, "songs", "-", input=text, code=1)
    assert ended.stderr.startswith("holdfast: ") and ended.stderr.count("\n") == 1


def test_put_creates_a_repository_with_another_key(path: str) -> None:
    call("put", path, "people", "--key", "name", '{"name": "Ada"}')
    assert lines(call("get", path, "people", "Ada").output) == [{"name": "Ada"}]


def test_delete_removes_all_or_none(filled: str) -> None:
    run("delete", filled, "songs", "s001", "s002")
    call("delete", filled, "songs", "s003", "s001", code=3)
    assert call("find", filled, "songs", "--count").output == "98\n"


def test_read_only_refuses_to_write(filled: str, tmp_path: Path) -> None:
    ended = run("--read-only", "put", filled, "songs", '{"id": "a"}', code=1)
    assert "read-only" in ended.stderr
    call("--read-only", "put", tmp_path / "new.db", "songs", "{}", code=3)
    assert not (tmp_path / "new.db").exists()


# --- Moving and maintenance --------------------------------------------------------------------------


def test_an_export_comes_back_by_import(filled: str, tmp_path: Path) -> None:
    exported = run("export", filled)
    assert lines(exported.stdout)[-1] == {"end": True, "entities": 100}
    (report,) = lines(run("export", filled, tmp_path / "lines", "--repository", "songs").stdout)
    assert report["entities"] == 100
    run("import", tmp_path / "piped.db", "-", input=exported.stdout)
    (report,) = lines(run("import", tmp_path / "named.db", tmp_path / "lines").stdout)
    assert report == {"entities": 100, "stored": 100, "skipped": 0}
    for name in ("piped.db", "named.db"):
        assert lines(call("find", tmp_path / name, "songs").output) == SONGS


def test_an_export_that_was_cut_short_is_gone_on_with(filled: str, tmp_path: Path) -> None:
    call("export", filled, tmp_path / "lines")
    whole = (tmp_path / "lines").read_bytes()
    (tmp_path / "lines").write_bytes(whole[:3000])
    (report,) = lines(call("export", filled, tmp_path / "lines", "--resume").output)
    assert report["entities"] < 100
    assert (tmp_path / "lines").read_bytes().splitlines()[:-1] == whole.splitlines()[:-1]
    call("export", filled, "-", "--resume", code=2)


def test_import_takes_lines_for_a_repository_and_says_what_happens_to_ids_that_are_taken(
    filled: str, tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text('{"id": "s001", "plays": -1}\n{"id": "new", "plays": -2}\n')
    words = ("import", filled, tmp_path / "lines", "--repository", "songs")
    ended = run(*words, code=4)
    assert "s001" in ended.stderr and ended.stderr.count("\n") == 1
    assert lines(call(*words, "--existing", "skip").output)[0]["skipped"] == 1
    call(*words, "--existing", "replace", "--resume", "once")
    assert call("find", filled, "songs", '{"plays": {"$lt": 0}}', "--count").output == "2\n"


def test_import_takes_a_table(path: str, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.sqlite")
    connection.execute("CREATE TABLE people (number INTEGER, name TEXT, tags TEXT)")
    connection.execute("INSERT INTO people VALUES (7, 'Ada', '[1]')")
    connection.commit()
    connection.close()
    words = ("import", path, tmp_path / "other.sqlite", "--table")
    run(*words, "people", "--id", "number", "--json-column", "tags")
    expected = {"id": 7, "number": 7, "name": "Ada", "tags": [1]}
    assert lines(call("get", path, "people", "7").output) == [expected]
    call(*words, "none", code=3)
    call("import", path, "-", "--table", "people", code=2)
    call("import", path, tmp_path / "other.sqlite", "--id", "number", code=2)


def test_a_backup_of_a_damaged_store_says_so(filled: str, tmp_path: Path) -> None:
    # An entity that is none, as the sqlite3 program can leave it.
    with sqlite3.connect(filled) as connection:
        connection.execute("UPDATE holdfast_entity SET body = '{\"id\":' WHERE id = 's007'")
    connection.close()
    assert "damaged" in run("backup", filled, tmp_path / "entity.db", code=5).stderr
    assert (tmp_path / "entity.db").exists()
    # Pages that are none.
    with open(filled, "r+b") as file:
        pages = os.path.getsize(filled) // 4096
        for page in range(pages // 2, pages):
            file.seek(page * 4096)
            file.write(b"\x0d\x07\x07\x07" * 128)
    run("backup", filled, tmp_path / "page.db", code=5)
    assert sorted(it.name for it in tmp_path.glob("page.db*")) == []


def test_a_backup_is_restored(filled: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    (report,) = lines(run("backup", filled, copy).stdout)
    assert report["bytes"] == copy.stat().st_size
    run("backup", filled, copy, code=4)
    run("restore", copy, tmp_path / "restored.db")
    call("restore", copy, tmp_path / "restored.db", code=4)
    call("restore", copy, tmp_path / "restored.db", "--replace")
    assert lines(call("find", tmp_path / "restored.db", "songs").output) == SONGS


def test_verify_ends_with_5_where_something_is_damaged(filled: str) -> None:
    (report,) = lines(run("verify", filled).stdout)
    assert report["ok"] and report["repositories"][0]["entities"] == 100
    connection = sqlite3.connect(filled)
    for body in ('{"id":"s8"}', "x"):
        connection.execute("UPDATE holdfast_entity SET body = ? WHERE id = 's007'", [body])
        connection.commit()
        (report,) = lines(run("verify", filled, code=5).stdout)
        assert not report["ok"]
        assert "problems" in call("--format", "table", "verify", filled, code=5).output
    connection.close()
    assert "damaged" in run("get", filled, "songs", "s007", code=5).stderr


def test_compact_gives_space_back(filled: str) -> None:
    with holdfast.open(filled) as store:
        store.repository("songs").delete_all()
    (report,) = lines(run("compact", filled).stdout)
    assert report["bytes_after"] <= report["bytes_before"]


# --- As a program ------------------------------------------------------------------------------------


def every_command(group: click.Group = program, begin: str = "") -> "Iterator[tuple[str, click.Command]]":
    for name, command in group.commands.items():
        yield begin + name, command
        if isinstance(command, click.Group):
            yield from every_command(command, f"{begin}{name} ")


@pytest.mark.parametrize(("name", "command"), every_command())
def test_every_command_tells_what_it_does_with_an_example(name: str, command: click.Command) -> None:
    text = call(*name.split(), "--help", prog_name="holdfast").output
    assert text.startswith(f"Usage: holdfast {name} ")
    assert "Example" in text and f"holdfast {name} " in text.split("Example", 1)[1]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
    if not isinstance(command, click.Group):
        assert all(f"--{option}" in text for option in ("json", "format", "quiet", "no-progress"))


def test_the_program_tells_its_commands_and_its_version() -> None:
    text = run("--help").stdout
    assert all(f"\n  {name} " in text for name in program.commands)
    assert "..." not in text.split("Commands:")[1].replace("[ARGS]...", "")
    assert holdfast.version_text() in run("--version").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense",),
        ("find", "a.db", "songs", "{"),
        ("find", "a.db", "songs", "[]"),
        ("find", "a.db", "songs", "--sort", "plays:2"),
        ("get", "a.db", "songs"),
        ("import", "a.db", "/nowhere"),
    ],
)
def test_a_wrong_call_ends_with_2(words: tuple[str, ...]) -> None:
    assert "Usage: holdfast" in call(*words, code=2, prog_name="holdfast").output


def test_what_the_system_refuses_is_told_in_one_line(filled: str, tmp_path: Path) -> None:
    ended = run("export", filled, tmp_path / "none" / "lines", code=1)
    assert ended.stderr.startswith("holdfast: [Errno 2] ") and ended.stderr.count("\n") == 1
    (tmp_path / "junk").write_bytes(b"x" * 5000)
    assert run("info", tmp_path / "junk", code=1).stderr.startswith("holdfast: ")


def test_text_that_json_does_not_have_is_refused_in_one_line(filled: str) -> None:
    for words, text in (
        (("get", filled, "songs", b"\xff"), b""),
        (("find", filled, "songs", '{"plays": NaN}'), b""),
        (("put", filled, "songs"), b'{"id": "\xff"}'),
    ):
        ended = subprocess.run([*COMMAND, *words], input=text, capture_output=True, timeout=300, check=False)
        assert ended.returncode == 1
        assert ended.stderr.startswith(b"holdfast: ") and ended.stderr.count(b"\n") == 1


def test_output_that_cannot_be_written_is_told_and_output_that_is_closed_is_not(filled: str) -> None:
    with open("/dev/full", "w") as full:
        command = [*COMMAND, "export", filled]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=300, check=False)
    assert (ended.returncode, ended.stderr) == (1, b"holdfast: [Errno 28] No space left on device\n")
    command = ["sh", "-c", '"$@" 0<&- 1>&- 2>&-', "sh", *COMMAND, "put", filled, "songs", '{"id": "new"}']
    assert subprocess.run(command, timeout=300, check=False).returncode == 0
    assert lines(call("get", filled, "songs", "new").output) == [{"id": "new"}]


@pytest.mark.parametrize("words", ["find {} songs", "export {}", "--format json find {} songs"])
def test_a_closed_pipe_ends_it_quietly(path: str, words: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save_many([{"id": number, "text": "x" * 100} for number in range(20_000)])
    command = [*COMMAND, *words.format(path).split()]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None and running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    assert running.stderr.read() == b""
    running.stderr.close()
    assert running.wait(300) in (0, 1)


def test_without_its_packages_the_command_says_what_to_install(tmp_path: Path) -> None:
    library = {name: os.environ[name] for name in ("HOLDFAST_LIBRARY", "PYTHONPATH")}
    ended = subprocess.run(
        [sys.executable, "-S", "-m", "holdfast", "info", "a.db"],
        env=library,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        "holdfast: the command needs click, rich, prompt_toolkit: pip install 'holdfast-store[command]'\n"
    )
