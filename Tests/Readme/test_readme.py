"""The README's programs run as they stand there. (Its Swift program is the outside package's, see Tests/Packages.)"""

import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import documents
import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(os.environ["HOLDFAST_LIBRARY"])


def blocks(language):
    return documents.blocks(ROOT / "README.md", language)


@pytest.fixture
def python_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bindings/python"))


def run_c(directory, program, status=0):
    """Compiles a program under strict warnings, runs it, and answers what it prints."""
    ran = ran_c(directory, program)
    assert ran.returncode == status, ran.stderr
    return ran.stdout


def ran_c(directory, program):
    (directory / "app.c").write_text(program)
    # The linker wants the library under its short name, which stands beside the versioned one.
    command = "cc -std=c99 -Wall -Wextra -Wpedantic -Werror app.c -o app".split()
    command += [f"-I{ROOT}/include", f"-I{ROOT}/bindings/c/include", "-pthread"]
    command += [f"-L{LIBRARY.parent}", "-lholdfast"]
    command += [f"-Wl,-rpath,{LIBRARY.parent}"]
    subprocess.run(command, cwd=directory, check=True)
    return subprocess.run(
        ["./app"], cwd=directory, capture_output=True, text=True, timeout=300
    )


@pytest.fixture
def first_c_program():
    (program,) = (block for block in blocks("c") if "main" in block)
    return program


def test_the_c_program_prints_its_receipt(tmp_path, first_c_program):
    receipt = json.loads(run_c(tmp_path, first_c_program))
    assert receipt["durable"] is True
    assert [change["id"] for change in receipt["changes"]] == ["s1"]


@pytest.mark.parametrize(
    "wrong, reason",
    [
        (
            ('"{\\"id\\":\\"s1\\",\\"plays\\":0}"', '"{\\"id\\":"'),
            "invalid JSON in the entity",
        ),
        (
            ('transaction, "s1", HF_NTS', 'transaction, "s9", HF_NTS'),
            'songs has no "s9"',
        ),
    ],
    ids=["the first write", "the second write"],
)
@pytest.mark.parametrize("looks", [True, False], ids=["seen", "unseen"])
def test_the_c_program_stores_nothing_when_a_write_fails(
    tmp_path, python_path, first_c_program, wrong, reason, looks
):
    assert first_c_program.count(wrong[0]) == 1
    program = first_c_program.replace(*wrong)
    if not looks:
        program = program.replace("saved != HF_OK || patched != HF_OK || ", "")
        program = program.replace(
            "hf_status submitted",
            "(void)saved, (void)patched;\n    hf_status submitted",
        )
    ran = ran_c(tmp_path, program)
    assert ran.returncode == 1 and ran.stdout == ""
    assert ran.stderr.startswith("nothing was stored: ") and reason in ran.stderr
    import holdfast

    with holdfast.open(str(tmp_path / "music.db")) as store:
        assert store.repository("songs").count() == 0


def test_a_write_whose_result_nobody_takes_is_not_compiled(tmp_path, first_c_program):
    program = first_c_program.replace("hf_status patched =\n", "").replace(
        "|| patched != HF_OK ", ""
    )
    assert program.count("patched") == 0
    with pytest.raises(subprocess.CalledProcessError):
        run_c(tmp_path, program)


# What stands around the functions of a block.
C_BEGINNING = """
#include <holdfast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void check(hf_status status) { if (status != HF_OK) abort(); }
static void save(hf_repository *songs, const char *json) {
    check(hf_repository_save(songs, NULL, json, HF_NTS, NULL, NULL));
}
"""
C_END = """
int main(void) {
    hf_store *store;
    hf_repository *songs;
    check(hf_store_open("memory:", NULL, &store, NULL));
    check(hf_repository_open(store, "songs", NULL, &songs, NULL));
    save(songs, "{\\"id\\":\\"s1\\",\\"plays\\":10}");
    %s
    hf_repository_free(songs);
    hf_store_free(store);
    return 0;
}
"""


def test_what_is_followed_in_c_is_told_as_json(tmp_path):
    (functions,) = (block for block in blocks("c") if "hf_stream_open_query" in block)
    end = """
    hf_stream *stream = follow(songs);
    save(songs, "{\\"id\\":\\"s2\\",\\"plays\\":11}");
    check(hf_store_close(store, -1, NULL)); /* told of everything before */
    hf_stream_free(stream);
    """
    printed = run_c(tmp_path, C_BEGINNING + functions + C_END % end)
    snapshot, difference = map(json.loads, printed.splitlines())
    assert snapshot["snapshot"] == [{"id": "s1", "plays": 10}]
    assert [it["id"] for it in difference["inserted"]] == ["s2"]
    assert difference["removed"] == difference["moved"] == difference["changed"] == []


def test_actions_in_c_lead_to_the_state_that_they_should(tmp_path):
    (functions,) = (block for block in blocks("c") if "hf_controller_create" in block)
    end = """
    hf_controller *controller = act(songs);
    hf_buffer state = HF_BUFFER_INIT;
    do
        check(hf_controller_state(controller, &state, NULL));
    while (strstr(state.data, "succeeded") == NULL || strstr(state.data, "\\"s1\\",\\"s5\\"") == NULL);
    hf_controller_free(controller);
    puts(state.data);
    hf_buffer_free(&state);
    """
    printed = run_c(tmp_path, C_BEGINNING + functions + C_END % end)
    *actions, state = map(json.loads, printed.splitlines())
    told = [action["action"] for action in actions]
    # The request may be answered before the program has come to its second action.
    assert told[0] == "request" and told.index("save") < told.index("saved")
    assert set(told) <= {"request", "save", "received", "changed", "saved"}
    assert [song["id"] for song in state["request"]["elements"]] == ["s1", "s5"]
    assert state["persist"]["state"] == "succeeded"


def test_a_setting_in_c_is_kept_until_it_is_forgotten(tmp_path):
    (functions,) = (
        block for block in blocks("c") if "hf_operation_create_put" in block
    )
    end = """
    hf_repository *settings;
    uint64_t count = 0;
    check(remember(store, "theme", "\\"dark\\""));
    check(hf_repository_open(store, "settings", NULL, &settings, NULL));
    const char *filter = "{\\"id\\":\\"theme\\",\\"value\\":\\"dark\\"}";
    check(hf_repository_count(settings, NULL, filter, HF_NTS, NULL, &count, NULL));
    printf("%d ", (int)count);
    check(remember(store, "theme", NULL));
    check(hf_repository_count(settings, NULL, NULL, 0, NULL, &count, NULL));
    printf("%d", (int)count);
    hf_repository_free(settings);
    """
    assert run_c(tmp_path, C_BEGINNING + functions + C_END % end) == "1 0"


def test_a_mock_in_c_fails_where_it_is_told_to(tmp_path):
    (functions,) = (block for block in blocks("c") if "hf_mock_storage" in block)
    end = 'puts(nothing_is_left_of_half_a_commit() ? "nothing" : "something");'
    assert run_c(tmp_path, C_BEGINNING + functions + C_END % end) == "nothing\n"


def test_the_python_program_runs_and_counts_its_plays(tmp_path):
    program = next(block for block in blocks("python") if "class Song" in block)
    printed = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "bindings/python")},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert printed == "Song(id='s1', title='Gloria', plays=3)\n"


def test_both_transfers_move_the_same_money_and_refuse_the_same(
    tmp_path, python_path, execute
):
    import holdfast

    raw, own = (block for block in blocks("python") if "def transfer" in block)
    scope = {}
    execute(raw, scope)
    execute(own, scope)

    path = str(tmp_path / "raw.db")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE accounts (id TEXT PRIMARY KEY, body TEXT)")
        for name in ("a", "b"):
            connection.execute(
                "INSERT INTO accounts VALUES (?, ?)",
                (name, json.dumps({"id": name, "balance": 15})),
            )
    scope["transfer_sqlite"](path, "a", "b", 10)
    with pytest.raises(ValueError, match="not enough"):
        scope["transfer_sqlite"](path, "a", "b", 10)
    with sqlite3.connect(path) as connection:
        by_sqlite = [
            json.loads(row[0])
            for row in connection.execute("SELECT body FROM accounts ORDER BY id")
        ]

    with holdfast.open(str(tmp_path / "own.db")) as store:
        accounts = store.repository("accounts")
        accounts.add_many([{"id": name, "balance": 15} for name in ("a", "b")])
        scope["transfer"](store, accounts, "a", "b", 10)
        with pytest.raises(ValueError, match="not enough"):
            scope["transfer"](store, accounts, "a", "b", 10)
        assert (
            accounts.fetch_all()
            == by_sqlite
            == [{"id": "a", "balance": 5}, {"id": "b", "balance": 25}]
        )


def test_the_provider_of_one_s_own_is_a_store(python_path, capsys, execute):
    import holdfast

    (program,) = (block for block in blocks("python") if "StorageProvider" in block)
    execute(program, {"holdfast": holdfast})
    assert capsys.readouterr().out == "[{'id': 's2', 'plays': 5}]\n"


def test_a_mock_fails_where_it_is_told_to(python_path, capsys, execute):
    import holdfast

    (program,) = (block for block in blocks("python") if "MockStorage" in block)
    execute(program, {"holdfast": holdfast})
    assert capsys.readouterr().out == documents.told(program, "python")


def test_the_updates_change_what_they_say(python_path, execute):
    import holdfast

    (program,) = (block for block in blocks("python") if "songs.modify(" in block)
    with holdfast.open("memory:") as store:
        songs = store.repository("songs")
        songs.add_many([{"id": "s1", "plays": 0}, {"id": "s2", "plays": 0, "draft": 1}])
        execute(program, {"songs": songs})
        assert songs.fetch_all() == [
            {"id": "day 7", "visits": 1},
            {"id": "s1", "plays": 1, "album": {"tracks": ["Gloria"]}},
            {"id": "s2", "plays": 0, "archived": True},
        ]


def test_what_json_does_not_have_comes_back(python_path, capsys, execute):
    import holdfast

    (program,) = (block for block in blocks("python") if "register_type" in block)
    with holdfast.open("memory:") as store:
        execute(program, {"holdfast": holdfast, "store": store, "F": holdfast.F})
        (concert,) = store.repository("concerts").find()
    assert capsys.readouterr().out == documents.told(program, "python")
    assert concert["begins"] == "2024-05-17T21:30:00.000000Z"
    assert [concert[it] for it in ("kind", "ticket", "fee", "genres")] == [
        "club",
        19.9,
        [10_000, "EUR"],
        ["rock", "soul"],
    ]


def test_what_is_described_runs_later_and_what_is_awaited_is_stored(
    python_path, execute
):
    import asyncio

    import holdfast.aio

    (program,) = (block for block in blocks("python") if "songs.deferred" in block)
    with holdfast.open("memory:") as store:
        songs = store.repository("songs")
        songs.add({"id": "s1", "plays": 0})
        scope = {"store": store, "songs": songs, "holdfast": holdfast}
        execute(program, scope)
        assert songs.fetch_all() == [{"id": "s1", "plays": 3}, {"id": "s2", "plays": 0}]
        assert scope["answer"] == "from a callback"
        assert asyncio.run(scope["main"]()) == 1001


def test_what_is_committed_is_told_as_it_says(python_path, capsys, execute):
    import holdfast

    (program,) = (block for block in blocks("python") if "songs.observe(" in block)
    with holdfast.open("memory:") as store:
        songs = store.repository("songs")
        titles = {"s1": "Gloria", "s2": "Why", "s3": "Kimberly"}
        songs.save_many(
            [{"id": id, "title": title, "plays": 10} for id, title in titles.items()]
        )
        execute(program, {"store": store, "songs": songs})
    assert capsys.readouterr().out.splitlines() == [
        "['Kimberly', 'Why', 'Gloria']",
        "update s1 10 -> 11",
        "['delete']",
    ]


def test_actions_lead_to_the_states_that_they_should(python_path, capsys, execute):
    import holdfast

    (program,) = (block for block in blocks("python") if "holdfast.Controller" in block)
    with holdfast.open("memory:") as store:
        songs = store.repository("songs")
        songs.save_many(
            [{"id": title, "title": title, "plays": 10} for title in ("Why", "Gloria")]
        )
        execute(program, {"songs": songs, "holdfast": holdfast})
    assert capsys.readouterr().out == "['Amandrai', 'Gloria', 'Why']\n"


def test_two_middlewares_serve_a_store_in_redux_s_way(python_path, execute):
    import holdfast

    (program,) = (block for block in blocks("python") if "pydux" in block)
    with holdfast.open("memory:") as store:
        store.repository("songs").save({"id": "s1", "title": "Gloria"})
        scope = {"store": store, "holdfast": holdfast}
        execute(program, scope)
        app = scope["app"]
        while app.get_state()["titles"]["request"]["state"] == "loading":
            scope["outcomes"].get(timeout=120)()
        assert app.get_state()["titles"]["request"]["ids"] == ["s1"]
        assert app.get_state()["artists"]["persist"]["state"] == "succeeded"
        assert store.repository("artists").count() == 1
        scope["artists"].close()
        scope["titles"].close()


def test_objects_and_entities_change_together_or_not_at_all(
    python_path, capsys, execute
):
    import holdfast

    (program,) = (block for block in blocks("python") if "holdfast.Model" in block)
    with holdfast.open("memory:") as store:
        # A dataclass looks its module up by name.
        execute(program, {"store": store, "holdfast": holdfast, "__name__": __name__})
        stored = store.repository("charts")["pets"]
    assert stored == {"id": "pets", "slices": {"cats": 60, "dogs": 40}}
    assert capsys.readouterr().out == "{'cats': 60, 'dogs': 40}\n"


def test_what_a_validator_refuses_is_not_stored(python_path, capsys, execute):
    import holdfast

    (program,) = (block for block in blocks("python") if "set_validator" in block)
    with holdfast.open("memory:") as store:
        songs = store.repository("songs")
        execute(program, {"songs": songs})
        assert songs.count() == 0
    assert capsys.readouterr().out == "'title' is a required property\n"


def test_a_policy_s_numbers_are_as_told(python_path, execute):
    import holdfast

    (program,) = (block for block in blocks("python") if "CachePolicy" in block)
    with holdfast.open("memory:") as store:
        execute(program, {"store": store, "holdfast": holdfast})
        people = store.repository("people")
        told = re.search(r"people.cache_statistics\(\)  # (.*), \.\.\.}", program)[1]
        statistics = people.cache_statistics()
        assert json.loads(told + "}").items() <= statistics.items()
        assert people["p1"] == {"id": "p1", "name": "Ada"}


def test_the_shell_line_reads_a_store(tmp_path, python_path):
    import holdfast

    with holdfast.open(str(tmp_path / "music.db")) as store:
        store.repository("songs").add({"id": "s1", "title": "Gloria"})
    line = next(
        line
        for block in blocks("sh")
        for line in block.splitlines()
        if line.startswith("sqlite3 ")
    )
    printed = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    assert re.fullmatch(r"s1\|\d+\|Gloria\n", printed)


def test_the_command_answers_as_told(tmp_path):
    command = tmp_path / "holdfast"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m holdfast "$@"\n')
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "bindings/python"),
    }
    (session,) = blocks("console")
    for step in session.removeprefix("$ ").split("\n$ "):
        line, *told = step.splitlines()
        answer = subprocess.run(
            ["sh", "-c", line],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        ).stdout
        assert [it.rstrip() for it in answer.splitlines() if it.strip()] == told


def test_the_queries_and_indexes_do_as_told(python_path, execute):
    import holdfast

    program = next(block for block in blocks("python") if "create_index" in block)
    with holdfast.open("memory:") as store:
        songs = store.repository("songs")
        songs.save_many(
            [
                {
                    "id": n,
                    "title": f"Gloria {n}",
                    "code": n,
                    "plays": n,
                    "tags": ["rock"],
                    "album": {"year": 1970 + n},
                }
                for n in range(20)
            ]
        )
        execute(program, {"songs": songs, "F": holdfast.F})
        report = songs.explain({"album.year": 1979})
        assert (report["access"], report["index"], report["exact"]) == (
            "index",
            "album.year_plays",
            True,
        )
        with pytest.raises(holdfast.UniqueViolationError):
            songs.add({"code": 7})


def test_the_care_of_a_store_leaves_what_it_says(
    python_path, tmp_path, monkeypatch, capsys, execute
):
    import holdfast

    monkeypatch.chdir(tmp_path)
    (program,) = (block for block in blocks("python") if "store.backup(" in block)
    with holdfast.open("music.db") as store:
        store.repository("songs").save({"id": "s1", "name": "Gloria"})
        execute(program, {"store": store, "holdfast": holdfast})
    assert "100 %" in capsys.readouterr().out
    with holdfast.open("restored.db") as restored:
        assert restored.schema_version == 2
        assert restored.repository("songs").fetch("s1") == {
            "id": "s1",
            "name": "Gloria",
        }
        assert (
            restored.repository("sessions").indexes()[0]["expire_after_ms"] == 3600000
        )
    assert (tmp_path / "restored.db-v0.backup").exists()
