"""The package installs with its library inside, and works where nothing else is."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import holdfast
from holdfast import _library
with holdfast.open("music.db") as store:
    songs = store.repository("songs")
    with store.transaction():
        songs.add({"id": "s1", "plays": 1})
    store.submit(lambda: songs.patch("s1", {"plays": 2})).result(120)
    print(songs["s1"]["plays"], _library.lib._name)
"""


# As where nothing of this checkout is known.
OUTSIDE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

PACKAGE = Path(__file__).parents[1]
PIP = (sys.executable, "-m", "pip")


def run(*command: "str | Path", **options: Any) -> str:
    """Runs a program to its good end and answers what it printed."""
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built as `pip install` builds it."""
    directory = tmp_path_factory.mktemp("wheel")
    run(*PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir", directory, PACKAGE, env=OUTSIDE)
    (wheel,) = directory.iterdir()
    return wheel


def test_an_installed_package_brings_its_library_and_works(wheel: Path, tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    venv.create(tmp_path / "venv")
    pip = [*PIP, "--python", python]
    run(*pip, "install", "--quiet", wheel, env=OUTSIDE)
    files = run(*pip, "show", "--files", "holdfast-store", env=OUTSIDE)
    assert "holdfast/libholdfast.so" in files and "holdfast/py.typed" in files
    assert "holdfast/inspector/page/index.html" in files
    environment = {name: value for name, value in OUTSIDE.items() if name != "HOLDFAST_LIBRARY"}
    plays, library = run(python, "-c", PROGRAM, cwd=tmp_path, env=environment).split()
    assert plays == "2"
    assert Path(library).is_relative_to(tmp_path / "venv")
    run(*pip, "install", "--quiet", f"{wheel}[command]", env=OUTSIDE)
    command = tmp_path / "venv" / "bin" / "holdfast"
    told = run(command, "--format", "lines", "get", "music.db", "songs", "s1", cwd=tmp_path, env=environment)
    assert told == '{"id":"s1","plays":2}\n'


def test_the_wheel_is_for_any_python_3_on_this_platform(wheel: Path) -> None:
    assert wheel.suffix == ".whl" and "-py3-none-linux_" in wheel.name


def test_a_package_without_a_library_takes_the_system_s_or_says_that_there_is_none(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE / "holdfast", tmp_path / "holdfast", ignore=shutil.ignore_patterns("*.so"))
    environment = {name: value for name, value in OUTSIDE.items() if name != "HOLDFAST_LIBRARY"}
    program = "import holdfast; print(holdfast.version_text())"
    command = [sys.executable, "-c", program]
    refused = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    told = refused.stderr.splitlines()[-1]
    assert (
        str(tmp_path / "holdfast" / "libholdfast.so") in told and "the system has no libholdfast.so.0" in told
    )
    # Where the dynamic linker looks, as a package of the system's puts it.
    system = tmp_path / "system"
    system.mkdir()
    (system / "libholdfast.so.0").symlink_to(Path(os.environ["HOLDFAST_LIBRARY"]).resolve())
    environment["LD_LIBRARY_PATH"] = str(system)
    assert run(*command, cwd=tmp_path, env=environment) == "0.1.0\n"
