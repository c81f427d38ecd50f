"""Debian's packages and the tarball: sound by Debian's own check, and at home in fresh roots that know nothing of Swift."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / ".build"
DIST = BUILD / "dist"
VERSION = re.findall(
    r"^VERSION := (\S+)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE
)[0]
HERE = Path(__file__).parent


def run(*command: "str | Path") -> str:
    """Runs a program to its good end and answers what it said."""
    ended = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-4000:]
    return ended.stdout + ended.stderr


def test_lintian_finds_no_errors_and_no_warnings() -> None:
    changes = DIST / f"holdfast_{VERSION}-1_amd64.changes"
    said = run("lintian", "--fail-on", "error,warning", "--allow-root", changes)
    assert not [line for line in said.splitlines() if line.startswith(("E:", "W:"))]


def test_the_symbols_are_those_of_the_contract() -> None:
    listed = run(
        "dpkg-deb", "--info", DIST / f"libholdfast0_{VERSION}-1_amd64.deb", "symbols"
    ).splitlines()
    names = {line.split("@")[0].strip() for line in listed if line.startswith(" hf_")}
    exported = run(
        "nm",
        "-D",
        "--defined-only",
        "--extern-only",
        BUILD / "holdfast" / "libholdfast.so",
    )
    assert names == {
        line.split()[-1].split("@")[0]
        for line in exported.splitlines()
        if " hf_" in line
    }


def test_two_builds_give_equal_bytes(tmp_path: Path) -> None:
    library = BUILD / "holdfast" / f"libholdfast.so.{VERSION}"
    python = BUILD / "venv" / "bin" / "python"
    epoch = run("git", "-C", REPOSITORY, "log", "-1", "--format=%ct").strip()
    set_time = ("env", f"SOURCE_DATE_EPOCH={epoch}")
    script = REPOSITORY / "packaging" / "debian.sh"
    run(
        *set_time,
        script,
        python,
        library,
        VERSION,
        tmp_path / "work",
        tmp_path / "dist",
    )
    script = REPOSITORY / "packaging" / "tarball.sh"
    soname = "libholdfast.so.0"
    work = tmp_path / "tarball"
    run(
        *set_time,
        script,
        sys.executable,
        library,
        VERSION,
        soname,
        work,
        tmp_path / "dist",
    )
    again = [
        it
        for it in (tmp_path / "dist").iterdir()
        if it.suffix in (".deb", ".dsc", ".xz", ".zst")
    ]
    assert len(again) == 9
    for path in again:
        assert path.read_bytes() == (DIST / path.name).read_bytes(), path.name


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """All that is handed out, the README, and the libraries' packages as a version before."""
    folder = tmp_path_factory.mktemp("roots") / "packages"
    (folder / "before").mkdir(parents=True)
    for path in [*DIST.glob("*.deb"), *DIST.glob("*.whl"), *DIST.glob("*.tar.zst")]:
        os.link(path, folder / path.name)
    for path in (
        REPOSITORY / "README.md",
        HERE / "beside_sqlite.py",
        *HERE.glob("roots/*.sh"),
        *REPOSITORY.glob("packaging/debian/tests/program-*"),
    ):
        (folder / path.name).write_bytes(path.read_bytes())
    for name in ("libholdfast0", "libholdfast-dev"):
        before = folder / name
        run("dpkg-deb", "--raw-extract", DIST / f"{name}_{VERSION}-1_amd64.deb", before)
        control = before / "DEBIAN" / "control"
        control.write_text(
            control.read_text().replace(f"{VERSION}-1", f"{VERSION}~before-1")
        )
        run(
            "dpkg-deb",
            "--root-owner-group",
            "--build",
            before,
            folder / "before" / f"{name}_before_amd64.deb",
        )
        run("rm", "-r", before)
    yield folder


def in_a_fresh_root(packages: Path, script: str, *more: str) -> str:
    """Runs a script in a Debian root that is made for it and goes with it, and knows of no library but its own."""
    environment = f"env --unset=HOLDFAST_LIBRARY VERSION={VERSION}"
    hooks = [
        f"--customize-hook=copy-in {packages} /",
        f'--customize-hook={environment} chroot "$1" sh -e /packages/{script}',
    ]
    return run("mmdebstrap", "--variant=apt", *more, *hooks, "bookworm", "/dev/null")


def test_c_programs_are_built_and_run_across_an_upgrade_and_nothing_is_left(
    packages: Path,
) -> None:
    assert "the libraries do" in in_a_fresh_root(packages, "libraries.sh")


def test_python_programs_and_the_command_run_without_a_compiler(packages: Path) -> None:
    assert "Python does" in in_a_fresh_root(packages, "python.sh")
