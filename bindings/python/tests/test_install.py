"""The package installs with its library inside, and works where nothing else is."""

import os
import subprocess
import sys
import venv
from pathlib import Path

from conftest import PACKAGE

PROGRAM = """
import holdfast
from holdfast import _library
with holdfast.open("music.db") as store:
    songs = store.repository("songs")
    with store.transaction():
        songs.add({"id": "s1", "plays": 1})
    store.submit(lambda: songs.patch("s1", {"plays": 2})).result(10)
    print(songs["s1"]["plays"], _library.lib._name)
"""


def test_an_installed_package_brings_its_library_and_works(tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    venv.create(tmp_path / "venv", with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True)
    listed = subprocess.run(
        [python, "-m", "pip", "show", "--files", "holdfast"], check=True, capture_output=True
    )
    assert b"holdfast/libholdfast.so" in listed.stdout and b"holdfast/py.typed" in listed.stdout
    environment = {
        name: value for name, value in os.environ.items() if name not in ("HOLDFAST_LIBRARY", "PYTHONPATH")
    }
    ended = subprocess.run(
        [python, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    plays, library = ended.stdout.split()
    assert plays == "2"
    assert Path(library).is_relative_to(tmp_path / "venv")


def test_the_wheel_is_for_any_python_3_on_this_platform(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, PACKAGE]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert "-py3-none-linux_" in wheel.name
