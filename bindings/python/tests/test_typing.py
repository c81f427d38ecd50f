"""What checkers of types make of programs: nothing of a right one, and each line of a wrong one."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Callable

import mypy.api
import pytest

import holdfast
import holdfast.aio

PROGRAMS = Path(__file__).with_name("typed")
PACKAGE = Path(holdfast.__file__).parents[1]

#: The numbers of the lines that a checker tells of, with what it tells, of a file that is to be checked.
Checker = Callable[[Path, Path], "dict[int, str]"]


def by_mypy(program: Path, directory: Path) -> "dict[int, str]":
    """What mypy tells in its strict mode."""
    configuration = directory / "mypy.ini"
    configuration.write_text(f"[mypy]\nmypy_path = {PACKAGE}\n")
    arguments = ["--strict", "--follow-imports=silent", "--no-pretty", "--hide-error-context"]
    places = ["--config-file", str(configuration), "--cache-dir", str(directory / "cache")]
    told, failed, _ = mypy.api.run([*arguments, *places, str(program)])
    assert not failed, failed
    found = re.findall(r"^.*?:(\d+): error: (.*)$", told, re.MULTILINE)
    return {int(line): message for line, message in found}


def by_pyright(program: Path, directory: Path) -> "dict[int, str]":
    """What pyright tells, as it is without settings."""
    checked = directory / "checked.py"  # it looks at nothing outside of the project
    checked.write_bytes(program.read_bytes())
    settings = {"include": [checked.name], "extraPaths": [str(PACKAGE)]}
    (directory / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    ended = subprocess.run(
        [*command, "--project", str(directory)], capture_output=True, text=True, timeout=500, check=False
    )
    report = json.loads(ended.stdout)
    assert report["summary"]["filesAnalyzed"] == 1, report
    return {it["range"]["start"]["line"] + 1: it["message"] for it in report["generalDiagnostics"]}


@pytest.fixture(params=[by_mypy, by_pyright])
def checker(request: pytest.FixtureRequest) -> Checker:
    return request.param


def test_nothing_is_told_of_a_right_program(checker: Checker, tmp_path: Path) -> None:
    assert checker(PROGRAMS / "right.py", tmp_path) == {}


def test_each_mistake_is_told_on_its_line_and_nothing_else(checker: Checker, tmp_path: Path) -> None:
    program = PROGRAMS / "wrong.py"
    lines = program.read_text().splitlines()
    marked = {number: line for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    told = checker(program, tmp_path)
    assert {lines[number - 1]: message for number, message in told.items() if number not in marked} == {}
    assert {line for number, line in marked.items() if number not in told} == set()


def test_the_names_of_the_package_and_of_aio_are_their_own(checker: Checker, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    names = [f"{package.__name__}.{name}" for package in (holdfast, holdfast.aio) for name in package.__all__]
    lines = ["import holdfast", "import holdfast.aio", *(f"print({name})" for name in names), ""]
    program.write_text("\n".join(lines))
    assert checker(program, tmp_path) == {}


def test_aio_has_the_names_of_the_package() -> None:
    assert set(holdfast.__all__) - set(holdfast.aio.__all__) == {"RepositoryMapping"}
    assert all(hasattr(holdfast.aio, name) for name in holdfast.aio.__all__)
