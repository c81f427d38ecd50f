"""Ctrl-C at whatever moment of a command: it ends with 130, tells what was stored, and breaks nothing."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_command import call, lines, run

import holdfast

#: The command, which says when it has begun: before that, Python itself tells of a Ctrl-C.
READY = """
import importlib.util, sys, holdfast.command
def find_spec(name):
    holdfast.command.find_spec = importlib.util.find_spec
    print("ready", file=sys.stderr, flush=True)
    return importlib.util.find_spec(name)
holdfast.command.find_spec = find_spec
holdfast.command.main()
"""
NUMBER = 20_000


def start(*words: "str | Path", **options: Any) -> "subprocess.Popen[str]":
    """A command that has begun."""
    running = subprocess.Popen(
        [sys.executable, "-c", READY, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    assert running.stderr is not None and running.stderr.readline() == "ready\n"
    return running


def interrupt(running: "subprocess.Popen[str]", after: float = 0) -> "tuple[int, str, str]":
    """Presses Ctrl-C after so many seconds, and answers the exit code and what was told."""
    time.sleep(after)
    running.send_signal(signal.SIGINT)
    output, error = running.communicate(timeout=300)
    assert "Traceback" not in error and "Exception" not in error, error
    return running.returncode, output, error


@pytest.fixture
def filled(path: str) -> str:
    """A store that takes its time."""
    with holdfast.open(path) as store:
        songs = [{"id": number, "plays": number % 7, "text": "x" * 300} for number in range(NUMBER)]
        store.repository("songs").save_many(songs)
    return path


def counts(path: "str | Path") -> "tuple[int, int, list[str]]":
    """How many songs there are, how many of them are loud, and the indexes; the store is sound."""
    with holdfast.open(path) as store:
        assert store.verify()["ok"]
        songs = store.repository("songs")
        return songs.count(), songs.count({"loud": True}), [it["name"] for it in songs.indexes()]


#: What changes the store as a whole or not at all, with what it is afterwards.
WHOLE = [
    ("delete {store} songs --yes --filter {{}}", (0, 0, [])),
    ('modify {store} songs --filter {{}} {{"$set":{{"loud":true}}}}', (NUMBER, NUMBER, [])),
    ("index create {store} songs plays", (NUMBER, 0, ["plays"])),
]
#: What changes nothing in it.
HARMLESS = [
    "verify {store}",
    "compact {store}",
    "stats {store} --entries",
    "find {store} songs",
    "export {store} {tmp}/lines",
    "backup {store} {tmp}/copy.db",
    "restore {store} {tmp}/new.db",
]


@pytest.mark.parametrize(("words", "changed"), WHOLE)
def test_a_change_is_whole_or_not_there_and_told_where_it_is(
    filled: str, words: str, changed: "tuple[int, int, list[str]]"
) -> None:
    for _ in range(4):
        running = start(*words.format(store=filled).split())
        code, output, error = interrupt(running, random.uniform(0, 0.5))
        now = counts(filled)
        assert code in (0, 130)
        if now == changed:
            assert output or "it is stored" in error
            return
        assert (code, now, output, error) == (130, (NUMBER, 0, []), "", "")


@pytest.mark.parametrize("words", HARMLESS)
def test_what_changes_nothing_leaves_nothing_half_done(filled: str, tmp_path: Path, words: str) -> None:
    for moment in range(4):
        folder = tmp_path / str(moment)
        folder.mkdir()
        running = start(*words.format(store=filled, tmp=folder).split())
        code, output, error = interrupt(running, random.uniform(0, 0.4))
        assert code in (0, 130) and (error == "" or re.search("it is stored|is complete", error))
        assert counts(filled) == (NUMBER, 0, [])
        left = {file.name for file in folder.iterdir() if not file.name.endswith("-lock")} - {"lines"}
        assert left <= {"copy.db", "new.db"}
        # Of what was not told nothing is there.
        assert not left or code == 0 or output or error
        for file in left:
            assert counts(folder / file) == (NUMBER, 0, [])


@pytest.mark.parametrize("name", ["import", "copy"])
def test_what_is_stored_a_piece_at_a_time_says_how_much_stays(filled: str, tmp_path: Path, name: str) -> None:
    call("export", filled, tmp_path / "lines")
    source = filled if name == "copy" else tmp_path / "lines"
    target = tmp_path / "new.db"
    words = (name, target, source) if name == "import" else (name, source, target)
    for _ in range(4):
        code, _, error = interrupt(start(*words, "--existing", "replace", "--json"), random.uniform(0, 0.5))
        if code == 0:
            break
        assert code == 130
        if not error:
            continue  # before the command had begun
        told = json.loads(error)
        assert told["error"] == "interrupted" and told["exit_code"] == 130
        if told["message"] != "interrupted" and "first" in told["message"]:
            stored = int(told["message"].split(" first ")[1].split()[0])
            assert stored <= counts(target)[0]
    run(*words, "--existing", "replace")
    assert counts(target)[0] == NUMBER


def test_an_upgrade_says_which_version_was_reached(filled: str) -> None:
    steps = {
        str(version): [{"repository": "songs", "modify": {"$inc": {"plays": 1}}}] for version in range(8)
    }
    text = json.dumps(steps)
    running = start("upgrade", filled, "-", "--no-backup", stdin=subprocess.PIPE)
    assert running.stdin is not None
    running.stdin.write(text)
    running.stdin.close()
    running.stdin = None
    code, output, error = interrupt(running, random.uniform(0, 1))
    with holdfast.open(filled) as store:
        version = store.schema_version or 0
        assert store.repository("songs").fetch("0")["plays"] == version
    if code == 130 and error:
        told = r"holdfast: interrupted( when it was done: it is stored)?; the store has version (\d+)\n"
        found = re.fullmatch(told, error)
        assert found and int(found[2]) == version, error
    elif code == 130 and not output:
        assert version == 0
    else:
        assert code in (0, 130) and lines(output)[0]["to"] == 8
    run("upgrade", filled, "-", "--no-backup", input=text)
    with holdfast.open(filled) as store:
        assert store.repository("songs").fetch("0")["plays"] == 8


@pytest.mark.parametrize(
    "words",
    ["put {store} songs", "patch {store} songs 1", "upgrade {store} -", "import {store} -", "shell {store}"],
)
def test_a_command_that_waits_for_its_input_is_interrupted(filled: str, words: str) -> None:
    running = start(*words.format(store=filled).split(), stdin=subprocess.PIPE)
    # Time enough to come to it, most of the time; it must not matter.
    code, output, error = interrupt(running, 0.3)
    assert (code, output, error) == (130, "", "")
    assert counts(filled) == (NUMBER, 0, [])


@pytest.mark.parametrize("words", ["find {store} songs", "export {store}"])
def test_a_command_whose_output_nobody_takes_is_interrupted(filled: str, words: str) -> None:
    reading, writing = os.pipe()
    running = subprocess.Popen(
        [sys.executable, "-c", READY, *words.format(store=filled).split()],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    # It has begun to write, and the pipe is soon full.
    assert os.read(reading, 1)
    running.send_signal(signal.SIGINT)
    os.set_blocking(reading, False)
    # What waits to be written is still written.
    rest = b""
    while running.poll() is None:
        try:
            rest = os.read(reading, 1 << 20)
        except BlockingIOError:
            time.sleep(0.01)
    os.close(reading)
    assert running.stderr is not None
    assert (running.returncode, running.stderr.read()) == (130, "ready\n")
    running.stderr.close()
    assert rest is not None


def test_a_command_that_waits_for_another_process_is_interrupted(filled: str) -> None:
    with holdfast.open(filled):
        code, _, error = interrupt(start("compact", filled), 0.2)
    assert code in (4, 130)
    assert code == 4 or error == ""
