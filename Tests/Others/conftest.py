"""What others have written down, held against the library: see others.mk."""

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault(
    "HOLDFAST_LIBRARY", str(ROOT / ".build" / "holdfast" / "libholdfast.so")
)
sys.path.insert(0, str(ROOT / "bindings" / "python"))

import holdfast  # noqa: E402
from drawn import Drawing  # noqa: E402
from implementations import Holdfast  # noqa: E402

#: Another each time, unless it is given.
SEED = int(
    os.environ.get("HOLDFAST_OTHERS_SEED") or random.SystemRandom().randrange(1_000_000)
)
#: So many cases of each kind are drawn.
CASES = int(os.environ.get("HOLDFAST_OTHERS_CASES") or 2_000)


def pytest_report_header() -> str:
    return f"HOLDFAST_OTHERS_SEED={SEED} HOLDFAST_OTHERS_CASES={CASES}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    # Also where nothing else is said.
    terminalreporter.write_line(f"HOLDFAST_OTHERS_SEED={SEED} draws the same again")


@pytest.fixture
def chance() -> random.Random:
    """All chance of a test: the same for the same seed, whatever ran before."""
    return random.Random(SEED)


@pytest.fixture
def drawing(chance: random.Random) -> Drawing:
    return Drawing(chance)


@pytest.fixture
def cases() -> int:
    return CASES


@pytest.fixture
def store() -> Iterator[holdfast.Store]:
    with holdfast.open("memory:") as store:
        yield store


@pytest.fixture
def documents(store: holdfast.Store) -> "holdfast.Repository[dict[str, Any]]":
    return store.repository("documents", key="_id")


@pytest.fixture
def own(documents: "holdfast.Repository[dict[str, Any]]") -> Holdfast:
    return Holdfast(documents)
