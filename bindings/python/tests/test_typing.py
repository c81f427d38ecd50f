"""What checkers of types make of programs: nothing of a right one, and each line of a wrong one."""

import json
import re
import subprocess
import sys
from pathlib import Path

import mypy.api
import pytest

import holdfast
import holdfast.aio

PROGRAMS = Path(__file__).with_name("typed")
PACKAGE = Path(holdfast.__file__).parents[1]

#: The numbers of the lines that a checker tells of, with what it tells, by the name of the file.
Told = dict[str, dict[int, str]]


def by_mypy(directory: Path) -> Told:
    """What mypy tells of the programs there in its strict mode."""
    configuration = directory / "mypy.ini"
    configuration.write_text(f"[mypy]\nmypy_path = {PACKAGE}\n")
    arguments = ["--strict", "--follow-imports=silent", "--no-pretty", "--hide-error-context"]
    places = ["--config-file", str(configuration), "--cache-dir", str(directory / "cache")]
    programs = sorted(directory.glob("*.py"))
    told, failed, _ = mypy.api.run([*arguments, *places, *map(str, programs)])
    assert not failed, failed
    found: Told = {program.name: {} for program in programs}
    for name, line, message in re.findall(r"^(.*?):(\d+): error: (.*)$", told, re.MULTILINE):
        found[Path(name).name][int(line)] = message
    return found


def by_pyright(directory: Path) -> Told:
    """What pyright tells of them, as it is without settings."""
    programs = sorted(program.name for program in directory.glob("*.py"))
    settings = {"include": programs, "extraPaths": [str(PACKAGE)]}
    (directory / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    ended = subprocess.run(
        [*command, "--project", str(directory)], capture_output=True, text=True, timeout=500, check=False
    )
    report = json.loads(ended.stdout)
    assert report["summary"]["filesAnalyzed"] == len(programs), report
    found: Told = {name: {} for name in programs}
    for it in report["generalDiagnostics"]:
        found[Path(it["file"]).name][it["range"]["start"]["line"] + 1] = it["message"]
    return found


@pytest.fixture(scope="module", params=[by_mypy, by_pyright])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Of all programs at once, since most of a checker's time goes to the package."""
    directory = tmp_path_factory.mktemp("checked")  # pyright looks at nothing outside of the project
    for program in PROGRAMS.glob("*.py"):
        (directory / program.name).write_bytes(program.read_bytes())
    names = [f"{package.__name__}.{name}" for package in (holdfast, holdfast.aio) for name in package.__all__]
    lines = ["import holdfast", "import holdfast.aio", *(f"print({name})" for name in names), ""]
    (directory / "names.py").write_text("\n".join(lines))
    return request.param(directory)


def test_nothing_is_told_of_a_right_program(told: Told) -> None:
    assert told["right.py"] == {}


def test_each_mistake_is_told_on_its_line_and_nothing_else(told: Told) -> None:
    lines = (PROGRAMS / "wrong.py").read_text().splitlines()
    marked = {number: line for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    found = told["wrong.py"]
    assert {lines[number - 1]: message for number, message in found.items() if number not in marked} == {}
    assert {line for number, line in marked.items() if number not in found} == set()


def test_the_names_of_the_package_and_of_aio_are_their_own(told: Told) -> None:
    assert told["names.py"] == {}


def test_aio_has_the_names_of_the_package() -> None:
    assert set(holdfast.__all__) - set(holdfast.aio.__all__) == {"RepositoryMapping"}
    assert all(hasattr(holdfast.aio, name) for name in holdfast.aio.__all__)
