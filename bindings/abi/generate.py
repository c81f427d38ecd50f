"""Derives the contract as data, and what is made from that, from the headers; refuses what they leave out.

Usage: generate.py VERSION SONAME [--check | --release]. --check writes nothing, and fails where something is
not as it would be written or where the contract breaks with the last release; --release notes the contract as
released.
"""

import difflib
import json
import sys
from pathlib import Path
from typing import Any

import comparison
import contract
import declarations
import host_tables
import python_signatures

HERE = Path(__file__).resolve().parent
DATA = HERE / "holdfast-abi.json"
RELEASED = HERE / "released.json"


def abi_of(include: Path, version: str, soname: str, released: "dict[str, Any]") -> "dict[str, Any]":
    """The contract that the headers of a folder tell of."""
    known = released.get("functions", {})
    reader = contract.Reader(
        declarations.read(include), lambda name: known.get(name, {}).get("since", version)
    )
    parts = reader.read()
    if reader.problems:
        raise SystemExit("\n".join(["The headers leave out what a caller has to know:", *reader.problems]))
    api = next(it["value"] for it in parts["constants"] if it["name"] == "HF_API_VERSION")
    return {"soname": soname, "api_version": api, **parts}


def text_of(value: "dict[str, Any]") -> str:
    """A value as it is kept in the repository."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def main(version: str, soname: str, how: str = "") -> None:
    """Writes or compares all files."""
    repository = HERE.parents[1]
    released = json.loads(RELEASED.read_text()) if RELEASED.exists() else {}
    abi = abi_of(repository / "include", version, soname, released)
    package = repository / "bindings" / "python" / "holdfast"
    files = {
        DATA: text_of(abi),
        **{package / name: text for name, text in python_signatures.modules(abi).items()},
        **{repository / "bindings" / path: text for path, text in host_tables.files(abi).items()},
    }
    if how == "--release":
        files[RELEASED] = text_of(comparison.of_release(abi))
    if how != "--check":
        for path, text in files.items():
            path.write_text(text)
        return
    faults = [_difference(path, text) for path, text in files.items() if path.read_text() != text]
    if released:
        broken = comparison.breaks(released, comparison.of_release(abi))
        faults += [f"breaks what was released, so the soname has to move: {it}" for it in broken]
    if faults:
        raise SystemExit("\n".join(["FAILED: the contract as data. `make abi` writes it anew.", *faults]))
    print(f"{len(abi['functions'])} functions are described, and all that is made from them is up to date")


def _difference(path: Path, text: str) -> str:
    lines = difflib.unified_diff(
        path.read_text().splitlines(), text.splitlines(), str(path), "as it has to be", n=1
    )
    return "\n".join(line[:200] for line in list(lines)[:40])


if __name__ == "__main__":
    main(*sys.argv[1:])
