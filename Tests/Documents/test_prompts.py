"""The README's C program also stores nothing where a write fails, and what the pages type at a prompt answers as told."""

import os
import re
import subprocess
import sys

import documents
import pytest
from test_programs import compiled

ROOT = documents.ROOT


@pytest.fixture
def holdfast(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bindings/python"))
    import holdfast

    return holdfast


FIRST_PROGRAM = documents.program(ROOT / "README.md", "c")


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
    tmp_path, holdfast, wrong, reason, looks
):
    assert FIRST_PROGRAM.count(wrong[0]) == 1
    program = FIRST_PROGRAM.replace(*wrong)
    if not looks:
        program = program.replace("saved != HF_OK || patched != HF_OK || ", "")
        program = program.replace(
            "hf_status submitted",
            "(void)saved, (void)patched;\n    hf_status submitted",
        )
    ran = subprocess.run(
        [compiled(program, tmp_path)], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 1 and ran.stdout == ""
    assert ran.stderr.startswith("nothing was stored: ") and reason in ran.stderr
    with holdfast.open(str(tmp_path / "music.db")) as store:
        assert store.repository("songs").count() == 0


def test_a_write_whose_result_nobody_takes_is_not_compiled(tmp_path):
    program = FIRST_PROGRAM.replace("hf_status patched =\n", "").replace(
        "|| patched != HF_OK ", ""
    )
    assert program.count("patched") == 0
    with pytest.raises(subprocess.CalledProcessError):
        compiled(program, tmp_path)


def test_the_shell_line_reads_a_store(tmp_path, holdfast):
    with holdfast.open(str(tmp_path / "music.db")) as store:
        store.repository("songs").add({"id": "s1", "title": "Gloria"})
    line = documents.blocks(ROOT / "docs/file-format.md", "sh")[0]
    printed = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    assert re.fullmatch(r"s1\|\d+\|Gloria\n", printed)


@pytest.mark.parametrize("page", documents.pages_in("console"), ids=documents.name)
def test_the_command_answers_as_told(tmp_path, page):
    command = tmp_path / "holdfast"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m holdfast "$@"\n')
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "bindings/python"),
    }
    session = documents.program(page, "console")
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
