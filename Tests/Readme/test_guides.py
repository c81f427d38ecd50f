"""The guides beside the headers: each has a program in C and one in Python, which print what their comments say."""

import os
import subprocess
import sys
from pathlib import Path

import documents
import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(os.environ["HOLDFAST_LIBRARY"])
GUIDES = sorted((ROOT / "include/guides").glob("*.md"))

pytestmark = pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)


def printed(command, directory):
    """In a directory of its own, for stores with files."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "bindings/python")}
    return subprocess.run(
        command,
        cwd=directory,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
    ).stdout


def test_the_program_in_c_prints_what_it_says(guide, tmp_path):
    source = documents.program(guide, "c")
    (tmp_path / "guide.c").write_text(source)
    library = [
        f"-L{LIBRARY.parent}",
        "-lholdfast",
        f"-Wl,-rpath,{LIBRARY.parent}",
        "-ljansson",
    ]
    flags = [
        "-std=c99",
        "-D_GNU_SOURCE",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-pthread",
    ]
    subprocess.run(
        ["cc", *flags, f"-I{ROOT}/include", "guide.c", "-o", "guide", *library],
        cwd=tmp_path,
        check=True,
    )
    assert printed(["./guide"], tmp_path) == documents.told(source, "c")


def test_the_program_in_python_prints_what_it_says(guide, tmp_path):
    source = documents.program(guide, "python")
    (tmp_path / "guide.py").write_text(source)
    assert printed([sys.executable, "guide.py"], tmp_path) == documents.told(
        source, "python"
    )
