"""The command `holdfast` where a person sits: a terminal, Ctrl-C, the shell, completion in bash and zsh."""

import contextlib
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pexpect
import pytest
from test_command import COMMAND, call, lines, run

import holdfast
from holdfast._inbox import Inbox
from holdfast.command.watch import changes

UP, TAB, CONTROL_C, CONTROL_D = "\x1b[A", "\t", "\x03", "\x04"
# How a terminal is told of colours, places and the like.
ORDERS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")

Spawn = Callable[..., "pexpect.spawn[str]"]


@pytest.fixture
def filled(path: str) -> str:
    """A store with songs."""
    with holdfast.open(path) as store:
        songs = [{"id": number, "title": f"Song {number}", "album": {"year": 1979}} for number in range(5000)]
        store.repository("songs").save_many(songs)
        store.repository("songs").create_index("album.year", name="by_year")
        store.repository("singers").save({"id": "s1", "name": "Patti"})
    return path


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    """Starts the command, or another program, at a terminal of its own."""
    started: list[pexpect.spawn[str]] = []
    environment = {**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(tmp_path / "state")}
    # Nobody here answers where the cursor is, and prompt_toolkit would wait for that.
    environment["PROMPT_TOOLKIT_NO_CPR"] = "1"
    environment.pop("NO_COLOR", None)

    def start(*words: str, program: "tuple[str, ...]" = COMMAND) -> "pexpect.spawn[str]":
        name, *rest = (*program, *words)
        child = pexpect.spawn(
            name,
            rest,
            env=environment,
            encoding="utf-8",
            timeout=120,
            dimensions=(40, 100),
            cwd=str(tmp_path),
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)


def finish(child: "pexpect.spawn[str]", code: int = 0) -> str:
    """Waits for the end with this exit code and answers what was shown."""
    child.expect(pexpect.EOF)
    child.wait()
    shown = ORDERS.sub("", child.before or "")
    assert child.exitstatus == code, shown
    return shown


# --- A terminal --------------------------------------------------------------------------------------


def test_on_a_terminal_an_answer_is_a_table(filled: str, spawn: Spawn) -> None:
    shown = finish(spawn("find", filled, "songs", "--limit", "2")).splitlines()
    assert [line.split() for line in shown if line.strip()][::2] == [
        ["id", "title", "album"],
        ["0", "Song", "0", '{"year":1979}'],
    ]
    shown = finish(spawn("--format", "lines", "find", filled, "songs", "--limit", "1"))
    assert json.loads(shown)["title"] == "Song 0"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("export {store} {tmp}/lines", "Exporting .* 100% 5001 entities"),
        ("import {tmp}/new.db {tmp}/exported", "Importing .* 100% 5001 entities, [0-9.]+ kB of [0-9.]+ kB"),
        ("import {tmp}/new.db {store} --table songs", "Importing .* 5000 rows"),
        ("backup {store} {tmp}/copy.db", "Backing up .* 100% [0-9.]+ [kM]B of [0-9.]+ [kM]B"),
        ("restore {tmp}/backup.db {tmp}/new.db", "Restoring .* 100% [0-9.]+ [kM]B of"),
        ("verify {store}", "Checking .* 100% 5001 entities"),
        ("compact {store}", "Compacting .* 0:00:"),
        ("index create {store} songs title", "Indexing .* 100% 5000 entities 0:00:"),
        ("copy {store} {tmp}/new.db", "Copying .* 100% 5001 entities"),
        ("delete {store} songs --yes --filter {{}}", "Deleting .* 100% 5000 entities"),
        ("upgrade {store} {tmp}/steps", "Upgrading .* 100% [0-9.]+ [kM]B of"),
        ("stats {store} --entries", "Counting .* 100% 5001 entities"),
    ],
)
def test_long_work_shows_a_bar_on_a_terminal(
    filled: str, tmp_path: Path, spawn: Spawn, words: str, told: str
) -> None:
    call("export", filled, tmp_path / "exported")
    call("backup", filled, tmp_path / "backup.db")
    (tmp_path / "steps").write_text('{"0": []}')
    text = words.format(store=filled, tmp=tmp_path)
    assert re.search(told, finish(spawn(*text.split())))
    # And nowhere else.
    (tmp_path / "copy.db").unlink(missing_ok=True)
    for existing in tmp_path.glob("new.db*"):
        existing.unlink()
    assert run(*text.split()).stderr == ""


@pytest.mark.parametrize("option", ["--quiet", "--no-progress"])
def test_nobody_has_to_see_a_bar(filled: str, spawn: Spawn, option: str) -> None:
    shown = finish(spawn("verify", filled, option))
    assert "Checking" not in shown and "problems" in shown


def test_control_c_ends_long_work_with_130(tmp_path: Path, spawn: Spawn) -> None:
    source = tmp_path / "source"
    os.mkfifo(source)
    child = spawn("import", str(tmp_path / "new.db"), str(source), "--repository", "songs")
    with source.open("w") as file:
        file.writelines(json.dumps({"id": number, "text": "x" * 1000}) + "\n" for number in range(5000))
        file.flush()
        child.expect("[1-4]000 entities")
        # Nothing more comes, and no end: it waits.
        child.send(CONTROL_C)
        shown = finish(child, 130)
    assert "Traceback" not in shown
    stored = int(call("find", tmp_path / "new.db", "songs", "--count").output)
    assert 1000 <= stored < 5000


# --- Watching ----------------------------------------------------------------------------------------


def test_watch_tells_what_another_process_commits(filled: str) -> None:
    watching = subprocess.Popen(
        [*COMMAND, "watch", filled, "singers", '{"plays": {"$lt": 10}}', "--initial", "--count", "4"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watching.stdout is not None
    heard = []
    call("put", filled, "singers", '{"id": "a", "plays": 1}')
    with watching.stdout as output:
        heard.append(json.loads(output.readline()))
        for entity in ('{"id": "a", "plays": 2}', '{"id": "a", "plays": 20}', '{"id": "b", "plays": 3}'):
            # No song counts.
            run("put", filled, "songs", '{"id": "other", "plays": 1}')
            run("put", filled, "singers", entity)
            heard.append(json.loads(output.readline()))
        assert output.read() == ""
    assert watching.wait(300) == 0
    assert [(it["change"], it["id"]) for it in heard] == [
        ("added", "a"),
        ("changed", "a"),
        ("removed", "a"),
        ("added", "b"),
    ]
    assert heard[1]["entity"] == {"id": "a", "plays": 2} and heard[1]["version"] > heard[0]["version"]


def test_watch_tells_what_is_gone_where_it_could_not_keep_up(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Inbox, "MOST_EVENTS", 2)
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save_many([{"id": "gone"}, {"id": "kept"}])
        observe, opened = songs.observe, []

        def observed(*arguments: Any) -> Any:
            opened.append(observe(*arguments))
            return opened[0]

        monkeypatch.setattr(songs, "observe", observed)
        watched = changes(songs, None, initial=True)
        assert [next(watched)["id"] for _ in range(2)] == ["gone", "kept"]
        number = 0
        while not opened[0]._inbox.is_full:
            number += 1
            songs.save({"id": f"s{number}"})
        songs.delete("gone")
        songs.save({"id": "last"})
        heard = list(itertools.takewhile(lambda it: it["id"] != "last", watched))
        watched.close()
    assert {"change": "removed", "id": "gone"} in heard


def test_watch_takes_a_store_that_it_may_only_read(filled: str) -> None:
    shown = run("--read-only", "watch", filled, "singers", "--initial", "--count", "1").stdout
    assert json.loads(shown)["entity"] == {"id": "s1", "name": "Patti"}


def test_watch_goes_on_until_control_c(filled: str, spawn: Spawn) -> None:
    child = spawn("watch", filled, "singers", "--initial")
    child.expect('added   {"id":"s1","name":"Patti"}')
    run("delete", filled, "singers", "s1")
    child.expect('removed "s1"')
    child.send(CONTROL_C)
    finish(child, 130)


def test_a_process_that_is_interrupted_ends_with_130(filled: str) -> None:
    watching = subprocess.Popen(
        [*COMMAND, "watch", filled, "singers", "--initial"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert watching.stdout is not None and watching.stderr is not None
    watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    assert watching.wait(300) == 130
    with watching.stdout as output, watching.stderr as error:
        assert (output.read(), error.read()) == (b"", b"")


# --- The shell ---------------------------------------------------------------------------------------


def test_the_shell_runs_commands_completes_words_and_keeps_a_history(
    filled: str, tmp_path: Path, spawn: Spawn
) -> None:
    child = spawn("shell", filled)
    child.expect("holdfast>")
    child.sendline("find songs --limit 1")
    child.expect("Song 0")
    child.expect("holdfast>")
    # Commands, repositories, paths in options, paths in filters.
    for word, rest in (
        ("fin", "d"),
        (" son", "gs"),
        (" --fields ti", "tle"),
        (",album.y", "ear"),
        (" '{\"tit", 'le"'),
    ):
        child.send(word + TAB)
        child.expect(rest)
    child.sendline(': "Song 7"}\'')
    child.expect("Song 7")
    child.expect("holdfast>")
    child.sendline("get songs none")
    child.expect("holdfast: the repository songs has no none")
    child.expect("holdfast>")
    child.send("half a line" + CONTROL_C)
    child.expect("holdfast>")
    child.send(CONTROL_D)
    finish(child)
    history = tmp_path / "state" / "holdfast" / "history"
    assert '+find songs --fields title,album.year \'{"title": "Song 7"}\'' in history.read_text()
    assert history.stat().st_mode & 0o77 == 0
    again = spawn("shell", filled)
    again.expect("holdfast>")
    again.send(UP + UP + "\r")
    again.expect("Song 7")
    again.sendline("exit")
    finish(again)


def test_control_c_in_the_shell_ends_the_command_only(filled: str, spawn: Spawn) -> None:
    child = spawn("shell", filled)
    child.expect("holdfast>")
    child.sendline("watch singers --initial")
    child.expect("Patti")
    child.send(CONTROL_C)
    child.expect("holdfast>")
    child.sendline("find songs --count")
    child.expect("5000")
    child.send(CONTROL_D)
    finish(child)


def test_the_shell_works_where_its_history_cannot_be_kept(filled: str, tmp_path: Path, spawn: Spawn) -> None:
    (tmp_path / "state").write_text("no directory")
    child = spawn("shell", filled)
    child.expect("holdfast>")
    child.sendline("find songs --count")
    child.expect("5000")
    child.send(CONTROL_D)
    finish(child)


def test_commands_can_be_piped_into_the_shell(path: str) -> None:
    script = """
        # A comment, and an empty line.

        put songs '[{"id": "s1", "title": "Why"}, {"id": "s2"}]'
        delete songs s2
        verify
        find songs
        find songs --count
    """
    ended = run("shell", "--create", path, input=script)
    told = lines(ended.stdout)
    assert [it["id"] for it in told[:2]] == ["s1", "s2"]
    assert told[2] == {"matched": 1, "deleted": 1}
    assert told[3]["ok"] and told[4:] == [{"id": "s1", "title": "Why"}, 1]
    ended = run("shell", path, input="find songs --count\nget songs none\nfind songs\n", code=3)
    assert ended.stdout == "1\n" and ended.stderr == "holdfast: the repository songs has no none\n"
    assert run("shell", path, input="find 'songs\n", code=2).stderr == "holdfast: No closing quotation\n"
    assert "No such command" in run("shell", path, input="nonsense\n", code=2).stderr
    assert run("--read-only", "shell", path, input="put songs '{}'\n", code=1).stdout == ""
    help = run("shell", path, input="help find\n").stdout
    assert "REPOSITORY" in help and "STORE" not in help


# --- Completion --------------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """An environment in which the command is found by its name."""
    directory = tmp_path / "bin"
    directory.mkdir()
    command = directory / "holdfast"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}


def completed_by_bash(environment: dict[str, str], *lines: "tuple[str, ...]") -> list[list[str]]:
    """What bash would offer for the last word of each line."""
    script = 'eval "$(holdfast completion bash)"'
    for words in lines:
        script += f"""
            COMPREPLY=() COMP_WORDS=({shlex.join(words)})
            COMP_CWORD={len(words) - 1}
            $(complete -p holdfast | sed 's/.*-F \\([^ ]*\\).*/\\1/') holdfast
            echo "${{COMPREPLY[@]}}"
        """
    ended = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    return [line.split() for line in ended.stdout.splitlines()]


def test_bash_completes_commands_options_repositories_and_fields(
    filled: str, installed: dict[str, str]
) -> None:
    offered = {
        ("ver",): ["verify"],
        ("--format", ""): ["table", "json", "lines"],
        ("find", filled, "so"): ["songs"],
        ("find", filled, "s"): ["singers", "songs"],
        ("find", filled, "songs", "--sort", "ti"): ["title"],
        ("find", filled, "songs", "--fields", "id,album."): ["id,album.year"],
        ("import", filled, "lines", "--existing", "re"): ["refuse", "replace"],
        ("find", filled + "typo", ""): [],
        ("index", ""): ["create", "drop", "list"],
        ("index", "create", filled, "so"): ["songs"],
        ("index", "create", filled, "songs", "ti"): ["title"],
        ("index", "drop", filled, "songs", ""): ["by_year"],
        ("modify", filled, "si"): ["singers"],
        ("p",): ["patch", "put"],
        ("delete", filled, "songs", "--d"): ["--dry-run"],
    }
    assert completed_by_bash(installed, *(("holdfast", *words) for words in offered)) == [*offered.values()]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_completion_script_is_one_of_its_shell(shell: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(run("completion", shell).stdout)
    assert "holdfast" in script.read_text()
    ended = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_zsh_completes_at_a_terminal(
    filled: str, tmp_path: Path, installed: dict[str, str], spawn: Spawn
) -> None:
    environment = [f"{name}={installed[name]}" for name in ("PATH", "PYTHONPATH")]
    child = spawn("-f", program=("env", *environment, "PS1=ready> ", "zsh"))
    child.expect("ready> ")
    child.sendline('autoload -U compinit; compinit -D; eval "$(holdfast completion zsh)"; echo do""ne')
    child.expect("done")
    child.expect("ready> ")
    child.send(f"holdfast find {filled} so{TAB}")
    child.expect("songs")
    child.send(f"--co{TAB}\r")
    child.expect("5000")
    child.sendline("exit")
    with contextlib.suppress(pexpect.EOF):
        child.expect(pexpect.EOF)


def test_fish_has_a_script_too() -> None:
    assert "complete --no-files --command holdfast" in run("completion", "fish").stdout
    assert sys.executable  # the script names the command, never a path
    assert sys.executable not in run("completion", "fish").stdout


def test_nobody_waits_for_completion_of_a_store_that_is_busy(filled: str, installed: dict[str, str]) -> None:
    with holdfast.open(filled) as store, store.transaction():
        names = completed_by_bash(installed, ("holdfast", "find", filled, "so"))
    assert names == [["songs"]]
