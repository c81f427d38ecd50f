"""The planted bugs: one patch each, with what it breaks and who should notice written above it."""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
#: Applied before all others: the function that each bug asks whether it is the one.
SWITCH = HERE / "switch.patch"

_FOUND_BY = re.compile(r"^Found by (.+)$", re.M)
_FILES = re.compile(r"^(?:---|\+\+\+) [ab]/(\S+)", re.M)


@dataclass(frozen=True)
class Mutant:
    name: str
    path: Path
    promise: str
    hints: tuple[str, ...]

    @property
    def area(self) -> str:
        return self.path.parent.name


def read(path: Path) -> Mutant:
    prose, _, change = path.read_text().partition("\n--- ")
    prose = prose.partition("\ndiff ")[0]
    found_by = _FOUND_BY.search(prose)
    if found_by is None:
        raise ValueError(
            f'{path}: above the change there must be a line "Found by COMMAND"'
        )
    promise = " ".join(prose[: found_by.start()].split())
    if not promise:
        raise ValueError(f"{path}: it must begin with the promise that it breaks")
    if f'mutant("{path.stem}")' not in change:
        raise ValueError(
            f'{path}: the bug must stand behind mutant("{path.stem}"), the name of its file'
        )
    return Mutant(
        path.stem, path, promise, tuple(re.split(r",\s*", found_by[1].strip(" .")))
    )


def all_mutants() -> list[Mutant]:
    mutants = [read(path) for path in sorted(HERE.glob("*/*.patch"))]
    names = [mutant.name for mutant in mutants]
    if len(set(names)) != len(names):
        raise ValueError(f"two patches have one name: {sorted(names)}")
    return mutants


def files(patch: Path) -> set[str]:
    return set(_FILES.findall(patch.read_text()))


def apply(patch: Path, directory: Path, *options: str) -> str:
    """Changes the files in the directory; answers what went wrong, or nothing. Lines may have moved, not changed."""
    run = subprocess.run(
        [
            "patch",
            "--strip=1",
            "--fuzz=0",
            "--force",
            "--silent",
            "--no-backup-if-mismatch",
        ]
        + ["--reject-file=-", f"--directory={directory}", f"--input={patch}", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{patch}: {run.stdout}{run.stderr}" if run.returncode else ""


def patched(mutants: list[Mutant]) -> dict[str, bytes]:
    """What the files that the switch and all the mutants name look like with all of them."""
    patches = [SWITCH] + [mutant.path for mutant in mutants]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        named = sorted({file for patch in patches for file in files(patch)})
        for file in named:
            if (REPOSITORY / file).exists():
                (directory / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(REPOSITORY / file, directory / file)
        failures = [
            failure for patch in patches if (failure := apply(patch, directory))
        ]
        if failures:
            raise ValueError(
                "together with the others does not apply " + "\n".join(failures)
            )
        return {file: (directory / file).read_bytes() for file in named}


def check() -> list[Mutant]:
    """Each applies alone, and all of them together. They are in the order of their names."""
    mutants = all_mutants()
    failures = [
        failure
        for mutant in mutants
        if (failure := apply(mutant.path, REPOSITORY, "--dry-run"))
    ]
    if failures:
        raise ValueError("does not apply any more: " + "\n".join(failures))
    told = files(SWITCH)
    for mutant in mutants:
        for file in files(mutant.path):
            target = re.match(r"Sources/\w+(?=/.*\.swift$)", file)
            if target and f"{target[0]}/Mutant.swift" not in told:
                raise ValueError(
                    f"{SWITCH}: {target[0]} has bugs, and no function mutant()"
                )
    patched(mutants)
    return mutants
