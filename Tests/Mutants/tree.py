"""One copy of the sources with all the planted bugs in it, which sleep until HOLDFAST_MUTANT names one. It is built once;
what has not changed since keeps its time, so that it is not built again."""

import hashlib
import os
import re
import subprocess
from pathlib import Path

from patches import REPOSITORY, Mutant, patched

BUILD = REPOSITORY / ".build" / "mutants"
TREE = BUILD / "tree"
LIBRARY = TREE / ".build" / "holdfast" / "libholdfast.so"
PYTHON = REPOSITORY / ".build" / "venv" / "bin" / "python"


def _torture() -> list[str]:
    """The programs of the torture, as its makefile lists them."""
    rules = (REPOSITORY / "Tests/Torture/torture.mk").read_text().replace("\\\n", " ")
    listed = re.search(r"^TORTURE_PROGRAMS := \$\(addprefix [^,]*,(.*)\)$", rules, re.M)
    if listed is None:
        raise ValueError(
            "Tests/Torture/torture.mk does not list its programs as it did"
        )
    return listed[1].split()


def _verbs() -> list[str]:
    """What the growth of is measured, as the program for that lists it."""
    source = (REPOSITORY / "Tests/Growth/growth.c").read_text()
    listed = re.findall(r'^    \{"([a-z-]+)", [0-9.]+, \d+, \w+, \w+\},$', source, re.M)
    if len(listed) < 20:
        raise ValueError("Tests/Growth/growth.c does not list its verbs as it did")
    return listed


VERBS = _verbs()
PROGRAMS = {
    "abi": [path.stem for path in sorted((REPOSITORY / "Tests/ABI").glob("test_*.c"))],
    "torture": _torture(),
    "races": ["forks", "races", "futures"],
    "growth": ["growth"],
}


def environment(mutant: str = "") -> dict[str, str]:
    given = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS"))
    }
    given |= {
        "HOLDFAST_LIBRARY": str(LIBRARY),
        "HOLDFAST_TEST_LIBRARIES": "1",
        "SWIFT_BACKTRACE": "enable=no",
    }
    return given | ({"HOLDFAST_MUTANT": mutant} if mutant else {})


def update(mutants: list[Mutant]) -> str:
    """Brings the copy up to date; answers by what this state of it is known."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    ).stdout.decode()
    names = [
        name for name in listed.split("\0") if name and (REPOSITORY / name).is_file()
    ]
    wanted = {name: (REPOSITORY / name).read_bytes() for name in names}
    wanted |= patched(mutants)
    there = {
        str(path.relative_to(TREE))
        for directory, folders, files in os.walk(TREE)
        for path in (Path(directory, file) for file in files)
        if not any(
            part.startswith(".build") or part == "__pycache__"
            for part in path.relative_to(TREE).parts
        )
    }
    for name in there - set(wanted) - {"Package.resolved"}:
        (TREE / name).unlink()
    known_by = hashlib.sha256()
    for name, content in sorted(wanted.items()):
        path = TREE / name
        if name not in there or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(
                (REPOSITORY / name).stat().st_mode
                if (REPOSITORY / name).exists()
                else 0o644
            )
        known_by.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return known_by.hexdigest()


def build() -> None:
    """The library as it is shipped, the programs that link it, and Swift's tests."""
    programs = [
        TREE / ".build" / part / name
        for part, names in PROGRAMS.items()
        for name in names
    ]
    make = ["make", "--no-print-directory", "-C", TREE]
    venv = TREE / ".build" / "venv"
    if not venv.is_symlink():
        venv.parent.mkdir(parents=True, exist_ok=True)
        venv.symlink_to(PYTHON.parents[1])
    subprocess.run([*make, "library"], env=environment(), check=True)
    subprocess.run([*make, "-o", "library", *programs], env=environment(), check=True)
    subprocess.run(
        ["swift", "build", "--build-tests"], cwd=TREE, env=environment(), check=True
    )
    subprocess.run(
        ["swift", "build", "--product", "SwiftProvider"],
        cwd=TREE,
        env=environment(),
        check=True,
    )
