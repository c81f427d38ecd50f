"""The wheel and the source distribution: whole, the same each time, and at home in every Python that is here."""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / ".build"
DIST = BUILD / "dist"
VERSION, SONAME = re.findall(
    r"^(?:VERSION|SONAME) := (\S+)$",
    (REPOSITORY / "Makefile").read_text(),
    re.MULTILINE,
)
# As where nothing of this checkout is known.
OUTSIDE = {
    name: it
    for name, it in os.environ.items()
    if not name.startswith(("HOLDFAST", "PYTHON"))
}
TOOLS = {**OUTSIDE, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
PARTS = ("jansson", "libstdc++", "pcre2", "snowball", "sqlite", "swift")


def run(*command: "str | Path", **options: Any) -> str:
    """Runs a program to its good end and answers what it printed."""
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        **{"env": OUTSIDE, **options},
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def refusal(*command: "str | Path", **options: Any) -> str:
    """Runs a program that must fail and answers what it said."""
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        **{"env": OUTSIDE, **options},
    )
    assert ended.returncode != 0, ended.stdout
    return ended.stdout + ended.stderr


def pythons() -> "list[Path]":
    """The interpreters from 3.9 on that are here, one of each version; or the one that runs this."""
    if "HOLDFAST_ALL_PYTHONS" not in os.environ:
        return [Path(sys.executable)]
    places = [
        Path("/usr/bin"),
        *Path.home().glob(".pyenv/versions/*/bin"),
        Path(sys.base_prefix) / "bin",
    ]
    found: "dict[tuple[int, ...], Path]" = {}
    for place in places:
        for python in place.glob("python3.[0-9]*"):
            version = re.fullmatch(r"python3\.(\d+)", python.name)
            if version and int(version[1]) >= 9:
                found.setdefault((3, int(version[1])), python)
    return [found[version] for version in sorted(found)]


@pytest.fixture(scope="module")
def wheel() -> Path:
    (wheel,) = DIST.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def sources() -> Path:
    return DIST / f"holdfast_store-{VERSION}.tar.gz"


def program_of(document: Path) -> str:
    """The first program in Python of a page."""
    return re.search(
        r"^```python\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL
    )[1]


def test_two_builds_give_equal_bytes(
    wheel: Path, sources: Path, tmp_path: Path
) -> None:
    script = REPOSITORY / "packaging" / "wheel" / "build.sh"
    epoch = run("git", "log", "-1", "--format=%ct", cwd=REPOSITORY).strip()
    environment = {**TOOLS, "SOURCE_DATE_EPOCH": epoch}
    arguments = (
        BUILD,
        VERSION,
        SONAME,
        sys.executable,
        tmp_path / "work",
        tmp_path / "dist",
    )
    run(script, *arguments, env=environment)
    for built in (wheel, sources):
        assert (tmp_path / "dist" / built.name).read_bytes() == built.read_bytes(), (
            built.name
        )


def test_what_checks_wheels_agrees_with_the_tag_and_the_metadata(
    wheel: Path, sources: Path
) -> None:
    tag = re.search(r"py3-none-(manylinux_2_\d+_x86_64)\.whl$", wheel.name)
    assert tag
    assert f'"{tag[1]}"' in run("auditwheel", "show", wheel, env=TOOLS)
    assert (
        run("twine", "check", "--strict", wheel, sources, env=TOOLS).count("PASSED")
        == 2
    )


def test_the_wheel_has_the_licences_of_all_parts_and_a_page_that_describes_it(
    wheel: Path,
) -> None:
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        metadata = email.message_from_bytes(
            files.read(f"holdfast_store-{VERSION}.dist-info/METADATA")
        )
    licences = {
        Path(name).name
        for name in names
        if "/licenses/" in name and not name.endswith("/")
    }
    assert licences == {"LICENSE", *(f"LICENSE.{part}" for part in PARTS)}
    assert (
        "holdfast/py.typed" in names and "holdfast/inspector/page/index.html" in names
    )
    assert (
        metadata["Description-Content-Type"] == "text/markdown"
        and "# Holdfast" in metadata.get_payload()
    )
    brought = {
        Path(name).name.split("-")[0]
        for name in names
        if ".libs/" in name and not name.endswith("/")
    }
    assert brought == {"libjansson", "libpcre2", "libsqlite3"}


def test_the_library_needs_nothing_that_a_system_may_lack(
    wheel: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheel) as files:
        library = files.extract("holdfast/libholdfast.so", tmp_path)
    dynamic = run("readelf", "-d", "-W", library)
    needed = {name.split("-")[0] for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic)}
    assert needed <= {
        "libjansson",
        "libpcre2",
        "libsqlite3",
        "libc.so.6",
        "libm.so.6",
        "libgcc_s.so.1",
        "ld",
    }


def test_forks_are_as_safe_with_it_as_with_the_library_that_it_is_made_from(
    wheel: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheel) as files:
        files.extractall(tmp_path)
    library = {
        **OUTSIDE,
        "HOLDFAST_LIBRARY": str(tmp_path / "holdfast" / "libholdfast.so"),
    }
    tests = REPOSITORY / "bindings" / "python" / "tests" / "test_fork.py"
    command = (
        BUILD / "venv" / "bin" / "python",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        tests,
    )
    assert " passed" in run(*command, env=library)


@pytest.mark.parametrize("python", pythons(), ids=lambda python: python.name)
def test_it_installs_and_runs_the_page_s_program(
    python: Path, wheel: Path, tmp_path: Path
) -> None:
    run(python, "-m", "venv", tmp_path / "venv")
    inside = tmp_path / "venv" / "bin" / "python"
    run(inside, "-m", "pip", "install", "--quiet", "--no-index", wheel)
    program = program_of(REPOSITORY / "README.md")
    said = run(inside, "-c", program, cwd=tmp_path)
    assert said == "Song(id='s1', title='Gloria', plays=3)\n"
    assert "nothing was lost" in run(
        inside, Path(__file__).with_name("beside_sqlite.py"), tmp_path / "venv"
    )
    run(inside, "-m", "pip", "uninstall", "--quiet", "--yes", "holdfast-store")
    assert "No module named 'holdfast'" in refusal(
        inside, "-c", "import holdfast", cwd=tmp_path
    )


@pytest.fixture(scope="module")
def tools_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with what builds packages, and nothing of ours."""
    folder = tmp_path_factory.mktemp("tools")
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin" / "pip", "install", "--quiet", "setuptools>=77,<90")
    return folder / "bin" / "python"


def installation(tools_python: Path, *what: "str | Path") -> "tuple[str | Path, ...]":
    return (
        tools_python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-build-isolation",
        "--force-reinstall",
        *what,
    )


def test_a_source_distribution_says_what_it_lacks_and_is_built_with_it(
    sources: Path, tools_python: Path, tmp_path: Path
) -> None:
    assert "HOLDFAST_LIBRARY" in refusal(*installation(tools_python, sources))
    library = {
        **OUTSIDE,
        "HOLDFAST_LIBRARY": str(BUILD / "holdfast" / "libholdfast.so"),
    }
    run(*installation(tools_python, sources), env=library)
    told = run(
        tools_python, "-c", "import holdfast; print(holdfast.__file__)", cwd=tmp_path
    )
    assert "site-packages" in told
    with tarfile.open(sources) as files:
        assert f"holdfast_store-{VERSION}/LICENSE" in files.getnames()


def test_an_editable_installation_is_the_sources_themselves(
    tools_python: Path, tmp_path: Path
) -> None:
    package = REPOSITORY / "bindings" / "python"
    run(*installation(tools_python, "--editable", package))
    library = {
        **OUTSIDE,
        "HOLDFAST_LIBRARY": str(BUILD / "holdfast" / "libholdfast.so"),
    }
    program = "import holdfast; print(holdfast.__file__, holdfast.version_text())"
    told = run(tools_python, "-c", program, cwd=tmp_path, env=library)
    assert told.split() == [str(package / "holdfast" / "__init__.py"), VERSION]
    shutil.rmtree(package / "holdfast_store.egg-info", ignore_errors=True)


def test_a_python_that_is_linked_with_musl_is_refused_by_name(
    tools_python: Path,
) -> None:
    setup = REPOSITORY / "bindings" / "python" / "setup.py"
    program = (
        "import runpy, sys, sysconfig\n"
        "sysconfig.get_config_var = lambda name: 'x86_64-pc-linux-musl' if name == 'HOST_GNU_TYPE' else None\n"
        f"runpy.run_path({str(setup)!r})['native_library']()\n"
    )
    told = refusal(
        tools_python,
        "-c",
        f"import setuptools; setuptools.setup = lambda **_: None\n{program}",
    )
    assert "musl" in told and "glibc" in told and "Traceback" not in told
