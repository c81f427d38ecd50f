"""Whatever is wrong with an argument of any function of the contract: nothing crashes, and nothing leaks."""

import os
import re
import subprocess
import sys
from pathlib import Path

import headers

EVERY_FUNCTION = Path(__file__).parents[3] / "Tests" / "ABI" / "every_function.c"


def test_every_function_answers_to_every_wrong_argument(tmp_path: Path) -> None:
    here = Path(__file__).parent
    path = os.pathsep.join(filter(None, [str(here), str(here.parent), os.environ.get("PYTHONPATH")]))
    ran = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(here / "misuse.py")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    assert re.fullmatch(r"\d{4,} calls, 0 handles left\n", ran.stdout), ran.stdout


def test_the_table_of_every_function_has_every_function() -> None:
    """Of those that take a store, a repository or a transaction, which may be stale, foreign or inherited."""
    text = EVERY_FUNCTION.read_text()
    listed = {f"hf_{name}" for name in re.findall(r"^    ENTRY\((\w+),", text, re.MULTILINE)}
    listed |= {
        f"hf_repository_{name}" for name in re.findall(r"^    REPOSITORY_ENTRY\((\w+),", text, re.MULTILINE)
    }
    handles = {"hf_store*", "hf_repository*", "hf_transaction*"}
    functions = headers.read().functions.items()
    taking = {name for name, function in functions if handles.intersection(function.parameters)}
    assert listed == {name for name in taking if not name.endswith("_free")}
