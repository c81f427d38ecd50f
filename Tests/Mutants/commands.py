"""The tests of `make test` that run the library, in pieces that tell who found a bug. A piece's name is a folder and what
is run of it:

    abi/test_isolation          one program of Tests/ABI
    python/test_nested.py       one file of bindings/python/tests; conformance/test_rules.py and parts of a file, too
    documents/test_programs.py  one file of Tests/Documents
    swift/HoldfastTests.Trees   Swift's tests that the pattern finds
    torture/kill                one program of Tests/Torture with its sample, races/forks as well
    growth/commit-of-keys       one verb of Tests/Growth, of which `make test` draws some
    provider/swift              the conformance suite on the provider in Swift
    make/test-payload           a target of the Makefile

Left out are tests that look at the sources and at the library from outside, and the thread sanitizer's build.
"""

import os
import re
import resource
import signal
import subprocess
import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from tree import PROGRAMS, PYTHON, TREE, VERBS, environment

SWIFT_TESTS = (
    "HoldfastQueryTests HoldfastStorageTests HoldfastCoreTests HoldfastServicesTests HoldfastSQLiteTests "
    "HoldfastPostgreSQLTests HoldfastTests HoldfastFamiliarTests SimulationTests StressTests"
).split()
ARGUMENTS = {
    "torture/kill": ["100"],
    "races/forks": ["100"],
    "races/races": ["5"],
    "races/futures": ["5"],
}
#: Targets of the Makefile, and what is one command by itself.
WHOLE = [
    "make/test-payload",
    "make/test-fuzz-short",
    "provider/swift",
]
#: What uses its own files in the build folder, or all of the machine, runs one at a time.
ALONE = threading.Lock()


@dataclass(frozen=True)
class Outcome:
    passed: bool
    seconds: float
    told: str  # "failed", "hung" or nothing


def all_commands() -> list[str]:
    """Those that are cheap and find much come first."""
    tests = TREE / "bindings/python/tests"
    python = [
        f"python/{path.relative_to(tests)}" for path in sorted(tests.rglob("test_*.py"))
    ]
    documents = [
        f"documents/{path.name}"
        for path in sorted((TREE / "Tests/Documents").glob("test_*.py"))
    ]
    return [
        "make/test-payload",
        *(f"abi/{name}" for name in PROGRAMS["abi"]),
        *(f"swift/{name}" for name in SWIFT_TESTS),
        *python,
        *documents,
        "provider/swift",
        *(f"torture/{name}" for name in PROGRAMS["torture"]),
        *(f"races/{name}" for name in PROGRAMS["races"]),
        *(f"growth/{verb}" for verb in VERBS),
        "make/test-fuzz-short",
    ]


def refused(commands: set[str], repository: Path) -> list[str]:
    """Those of them that run no test that is there."""
    sources = "\n".join(
        path.read_text() for path in (repository / "Tests").rglob("*.swift")
    )
    types = set(re.findall(r"\b(?:struct|class|enum|extension) (\w+)", sources))
    folders = {"python": "bindings/python/tests", "documents": "Tests/Documents"}

    def is_there(command: str) -> bool:
        part, _, name = command.partition("/")
        if part == "growth":
            return name in VERBS
        if part in PROGRAMS:
            return name in PROGRAMS[part]
        if part in folders:
            return (repository / folders[part] / name).is_file()
        if part == "swift":
            return name in SWIFT_TESTS or name.rpartition(".")[2] in types
        return command in WHOLE

    return sorted(command for command in commands if not is_there(command))


def _arguments(command: str) -> list[str | Path]:
    part, _, name = command.partition("/")
    pytest: list[str | Path] = [
        PYTHON,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    if command == "provider/swift":
        return [*pytest, TREE / "bindings/python/tests/conformance", "-k", "Swift"]
    if part == "python" or part == "documents":
        folder = TREE / (
            "bindings/python/tests" if part == "python" else "Tests/Documents"
        )
        return [*pytest, f"{folder}/{name}"]
    if part == "swift":
        tests = TREE / ".build/debug/holdfastPackageTests.xctest"
        return [tests, "--testing-library", "swift-testing", "--filter", name]
    if part == "make":
        return [
            "make",
            "--no-print-directory",
            "-o",
            "library",
            "-o",
            TREE / ".build/venv/tools",
            name,
        ]
    if part == "growth":
        return [
            PYTHON,
            TREE / "Tests/Growth/growth.py",
            TREE / ".build/growth/growth",
            name,
        ]
    if part in PROGRAMS and name in PROGRAMS[part]:
        return [TREE / ".build" / part / name, *ARGUMENTS.get(command, [])]
    raise ValueError(f"there is no test {command}")


def run(command: str, mutant: str, timeout: float, log: Path) -> Outcome:
    """Runs it with the planted bug, or with none. What it says goes into the log."""
    arguments = _arguments(command)
    given = environment(mutant)
    if command == "provider/swift":
        given["HOLDFAST_LIBRARY"] = str(TREE / ".build/debug/libSwiftProvider.so")
    alone = command.startswith(("make/", "races/", "torture/", "growth/"))
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as told, ALONE if alone else nullcontext():
        start = time.monotonic()
        process = subprocess.Popen(
            arguments,
            cwd=TREE,
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_without_core_files,
        )
        try:
            passed = process.wait(timeout) == 0
            return Outcome(passed, time.monotonic() - start, "" if passed else "failed")
        except subprocess.TimeoutExpired:
            return Outcome(False, time.monotonic() - start, "hung")
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Also what the command has started and left behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _without_core_files() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
