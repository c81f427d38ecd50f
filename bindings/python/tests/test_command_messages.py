"""What the command tells when something goes wrong: in its own words, as a line or as JSON."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from test_command import call, lines, run

import holdfast
from holdfast.command.failures import EXIT_CODES, Failure
from holdfast.command.wording import in_own_words

REPOSITORY = Path(__file__).resolve().parents[3]
#: How options and functions of the library are written, and no flag of the command is.
FOREIGN = re.compile(
    r"\b[hH][fF]_|\b(max|lock|snapshot|idempotency|expire|read|allow|wal|log)_[a-z]|\": (true|false)"
)


@pytest.fixture
def scene(path: str, tmp_path: Path) -> dict[str, Any]:
    """A store and files, for commands that fail on them."""
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save_many([{"id": "s1", "plays": 1}, {"id": "s2", "plays": 1}, {"id": "bad", "plays": 3}])
        songs.create_index("plays")
    for damaged in ("damaged.db", "cut.db"):
        holdfast.maintenance.restore(path, tmp_path / damaged)
    with sqlite3.connect(tmp_path / "damaged.db") as connection:
        connection.execute("UPDATE holdfast_entity SET body = '{\"id\":' WHERE id = 'bad'")
    connection.close()
    (tmp_path / "cut.db").write_bytes(b"x" * 5000)
    (tmp_path / "empty.db").write_bytes(b"")
    with sqlite3.connect(tmp_path / "table.sqlite") as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
        connection.execute("INSERT INTO people VALUES (NULL)")
    connection.close()
    (tmp_path / "taken").write_text('{"id": "s1"}\n')
    (tmp_path / "broken").write_text('{"holdfast_export":1,"sequence":1,"repositories":[]}\n{"id"\n')
    (tmp_path / "long").write_text(json.dumps({"id": "long", "text": "x" * (20 << 20)}) + "\n")
    return {"store": path, "tmp": tmp_path, "deep": "[" * 150 + "]" * 150}


FAILING = [
    ("info {tmp}/none.db", 3),
    ("info {tmp}/empty.db", 3),
    ("info {tmp}/cut.db", 1),
    ("info {tmp}", 3),
    ("info redis:nothing", 1),
    ("get {store} songs none", 3),
    ("get {store} none s1", 3),
    ("get {tmp}/damaged.db songs bad", 5),
    ("find {tmp}/damaged.db songs", 5),
    ('find {store} songs {{"$nothing":1}}', 1),
    ('find {store} songs {{"a":{{"$regex":"("}}}}', 1),
    ("find {store} none", 3),
    ("find {store} songs --skip nothing", 2),
    ('put {store} songs --add {{"id":"s1"}}', 4),
    ('put {store} songs --update {{"id":"none"}}', 3),
    ('put {store} songs {{"id":"a","deep":{deep}}}', 1),
    ("put {store} songs {{", 1),
    ("put {store} songs {tmp}/none", 2),
    ("find {store} songs {{", 2),
    ('put {store} songs {{"id":[]}}', 1),
    ('put {store} no/name {{"id":"a"}}', 1),
    ('put {store} songs --key title {{"id":"a"}}', 1),
    ('put {tmp}/none/new.db songs {{"id":"a"}}', 3),
    ('--read-only put {store} songs {{"id":"a"}}', 1),
    ("delete {store} songs none", 3),
    ("delete {store} songs", 2),
    ("delete {store} songs --filter {{}}", 2),
    ("patch {store} songs none {{}}", 3),
    ("patch {store} songs s1 []", 1),
    ('patch {store} songs s1 {{"id":"s2"}}', 1),
    ('modify {store} songs none {{"$inc":{{"plays":1}}}}', 3),
    ('modify {store} songs s1 {{"$inc":{{"id":1}}}}', 1),
    ('modify {store} songs --filter {{"a":{{"$b":1}}}} {{"$set":{{"plays":1}}}}', 1),
    ("index create {store} songs plays --unique --name again", 4),
    ("index create {store} songs plays --unique --name plays", 4),
    ("index create {store} songs a b --expire-after 1", 1),
    ("index create {store} songs a --name " + "x" * 200, 1),
    ("index drop {store} songs none", 3),
    ("index list {store} none", 3),
    ("index", 2),
    ("copy {store} {tmp}/table.sqlite", 1),
    ("copy {store} {store}", 2),
    ("copy {tmp}/damaged.db {tmp}/new.db", 5),
    ("copy {store} {tmp}/new.db --repository none", 3),
    ("upgrade {store} {tmp}/taken", 1),
    ("upgrade {store} {tmp}/none", 2),
    ("stats {tmp}/none.db", 3),
    ("drop {store} none --yes", 3),
    ("drop {store} songs", 2),
    ("rename {store} none other", 3),
    ("rename {store} songs no/name", 1),
    ("export {store} {tmp}/none/lines", 1),
    ("export {store} --repository none", 3),
    ("export {tmp}/damaged.db {tmp}/exported", 5),
    ("import {store} {tmp}/none", 2),
    ("import {store} {tmp}/taken", 1),
    ("import {store} {tmp}/taken --repository songs", 4),
    ("import {store} {tmp}/taken --repository songs --resume " + "x" * 300, 1),
    ("import {store} {tmp}/broken", 1),
    ("import {store} {tmp}/long --repository songs", 1),
    ("import {store} {tmp}/table.sqlite --table none", 3),
    ("import {store} {tmp}/table.sqlite --table people --id name", 1),
    ("import {store} {tmp}/cut.db --table people", 1),
    ("import --nothing", 2),
    ("backup {store} {store}", 4),
    ("backup memory: {tmp}/copy.db", 1),
    ("restore {tmp}/cut.db {tmp}/new.db", 1),
    ("restore {tmp}/none.db {tmp}/new.db", 2),
    ("restore {tmp}/damaged.db {store}", 4),
    ("verify {tmp}/none.db", 3),
    ("compact memory:", 1),
    ("watch {store} none", 3),
    ("nothing", 2),
    ("", 2),
]


@pytest.mark.parametrize(("words", "code"), FAILING)
def test_a_failure_is_told_in_the_commands_own_words(scene: dict[str, Any], words: str, code: int) -> None:
    arguments = words.format(**scene).split(" ") if words else []
    ended = run(*arguments, code=code)
    assert ended.stderr and not FOREIGN.search(ended.stderr), ended.stderr
    if code != 2:
        assert re.fullmatch("holdfast: [^\n]+\n", ended.stderr)
    for told in (call("--json", *arguments, code=code), call(*arguments, "--json", code=code)):
        failure = json.loads(told.stderr)
        assert list(failure) == ["error", "message", "exit_code", "detail"]
        assert failure["exit_code"] == code
        assert failure["message"] in " ".join(ended.stderr.split()) or code == 2
        assert (failure["error"] == "usage") == (code == 2)


def test_a_name_to_resume_by_that_stands_for_other_contents_is_to_be_another(
    scene: dict[str, Any], path: str
) -> None:
    words = ("copy", path, scene["tmp"] / "copy.db", "--resume", "monday")
    call(*words)
    call("put", path, "songs", '{"id": "s0"}')
    told = run(*words, code=4).stderr
    assert told == "holdfast: --resume monday was begun with other contents: give another name\n"


def test_every_message_of_the_library_can_be_told() -> None:
    seen, foreign = 0, []
    for file in (REPOSITORY / "Sources").glob("Holdfast[CEQS]*/**/*.swift"):
        for literals in re.findall(
            r'HoldfastError\(\s*\.\w+,\s*((?:"(?:[^"\\]|\\.)*"[\s+]*)+)', file.read_text()
        ):
            message = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')
            # What is filled in is the user's, such as a name.
            message = re.sub(r"\\\((?:[^()]|\([^()]*\))*\)", "X", message)
            seen += 1
            if FOREIGN.search(in_own_words(message)):
                foreign.append(message)
    assert foreign == [] and seen > 200


def test_every_class_of_errors_has_a_kind_of_its_own_and_an_exit_code() -> None:
    failures = [Failure.of(cls("text")) for cls in holdfast.errors.CLASSES.values()]
    assert len({failure.error for failure in failures}) == len(failures)
    assert {"not_found", "unique_violation", "io", "not_a_store"} <= {failure.error for failure in failures}
    assert {failure.exit_code for failure in failures} == {1, *EXIT_CODES.values()}


def test_answers_come_as_json_from_every_command(scene: dict[str, Any]) -> None:
    store = scene["store"]
    for words in (
        ("info", store),
        ("find", store, "songs"),
        ("find", store, "songs", "--count"),
        ("verify", store),
    ):
        assert lines(run(*words, "--json").stdout) == lines(run("--json", *words).stdout)
    assert json.loads(run("find", store, "songs", "--count", "--json").stdout) == {"count": 3}
    (stored,) = lines(run("put", store, "songs", "{}", "--json").stdout)
    assert set(stored) == {"id", "version"}


def test_a_command_can_be_told_to_say_nothing_of_what_it_has_done(scene: dict[str, Any]) -> None:
    store, target = scene["store"], scene["tmp"] / "lines"
    for words in (
        ("put", store, "songs", "{}"),
        ("export", store, target),
        ("import", store, target, "--existing", "skip"),
        ("backup", store, scene["tmp"] / "copy.db"),
        ("compact", store),
    ):
        ended = run(*words, "--quiet")
        assert (ended.stdout, ended.stderr) == ("", "")
    assert run("get", store, "songs", "s1", "--quiet").stdout
    assert run("get", store, "songs", "none", "--quiet", code=3).stderr


def test_options_of_a_line_in_the_shell_are_for_that_line(scene: dict[str, Any]) -> None:
    script = "get songs s1 --format json\nget songs s1\nget songs none --json\n"
    ended = run("shell", scene["store"], input=script, code=3)
    assert ended.stdout == '[\n{\n  "id": "s1",\n  "plays": 1\n}\n]\n{"id":"s1","plays":1}\n'
    assert json.loads(ended.stderr)["error"] == "not_found"
    told = run("--json", "shell", scene["store"], input="get none s1\n", code=3).stderr
    assert json.loads(told)["error"] == "not_found"
    told = run("shell", scene["store"], "--json", input="get 'none\n", code=2).stderr
    assert json.loads(told)["exit_code"] == 2


@pytest.mark.parametrize(
    "words",
    [
        "info {store}",
        "stats {store} --entries",
        "find {store} songs --count",
        "find {store} songs --explain",
        'put {store} songs {{"id":"s3"}}',
        'patch {store} songs s1 {{"plays":2}}',
        'modify {store} songs s1 {{"$inc":{{"plays":2}}}}',
        'modify {store} songs --filter {{}} {{"$inc":{{"plays":2}}}}',
        "delete {store} songs s1",
        "drop {store} songs --yes",
        "rename {store} songs tracks",
        "index list {store}",
        "index create {store} songs seen --expire-after 3600",
        "index drop {store} songs plays",
        "import {store} {tmp}/taken --repository new",
        "export {store} {tmp}/exported",
        "copy {store} {tmp}/new.db",
        "backup {store} {tmp}/new.db",
        "restore {store} {tmp}/new.db",
        "verify {store}",
        "compact {store}",
        "watch {store} songs --initial --count 1",
    ],
)
def test_what_an_answer_has_is_told_by_the_help(scene: dict[str, Any], words: str) -> None:
    arguments = words.format(**scene).split(" ")
    command = arguments[: 2 if arguments[0] == "index" else 1]
    help = " ".join(call(*command, "--help").stdout.split())
    answers = lines(call(*arguments, "--json").stdout)
    assert answers
    for name in {name for answer in answers for name in answer}:
        assert f'"{name}"' in help, name
