"""The programs of every page, in C and in Python, print what their comments say. (Those in Swift: Tests/Packages.)"""

import os
import subprocess
import sys
from pathlib import Path

import documents
import pytest

ROOT = documents.ROOT
LIBRARY = Path(os.environ["HOLDFAST_LIBRARY"])
FLAGS = "-std=c99 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -pthread".split()


def pages_in(language):
    pages = documents.pages_in(language)
    assert pages
    return pytest.mark.parametrize("page", pages, ids=documents.name)


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


def compiled(source, directory):
    (directory / "program.c").write_text(source)
    # The linker wants the library under its short name, which stands beside the versioned one.
    command = ["cc", *FLAGS, "program.c", "-o", "program"]
    command += [f"-I{ROOT}/include", f"-I{ROOT}/bindings/c/include"]
    command += [f"-L{LIBRARY.parent}", f"-Wl,-rpath,{LIBRARY.parent}"]
    command += ["-lholdfast", "-ljansson"]
    subprocess.run(command, cwd=directory, check=True)
    return directory / "program"


@pages_in("c")
def test_the_program_in_c_prints_what_it_says(page, tmp_path):
    source = documents.program(page, "c")
    executable = compiled(source, tmp_path)
    assert printed([executable], tmp_path) == documents.told(source, "c")


@pages_in("python")
def test_the_program_in_python_prints_what_it_says(page, tmp_path):
    source = documents.program(page, "python")
    (tmp_path / "program.py").write_text(source)
    answer = printed([sys.executable, "program.py"], tmp_path)
    assert answer == documents.told(source, "python")


#: What has none to show: how it is made, measured, compared and called.
WITHOUT_A_PROGRAM = {
    "CONTRIBUTING.md",
    "SECURITY.md",
    "architecture.md",
    "engine-interface.md",
    "faq.md",
    "glossary.md",
    "index.md",
    "other-swift-libraries.md",
    "performance.md",
    "postgresql.md",
    "testing.md",
}


def test_every_page_for_users_has_a_program_that_is_run():
    languages = ("c", "python", "swift", "console")
    without = {
        page.name
        for page in documents.PAGES
        if not any(documents.blocks(page, language) for language in languages)
    }
    assert without == WITHOUT_A_PROGRAM
