"""RFC 3986, URI: what of it concerns a store's address, which is a URI of the scheme "sqlite" or "memory", or
a path.
"""

from pathlib import Path

import pytest

import holdfast


@pytest.mark.parametrize("scheme", ["sqlite", "SQLITE", "SqLite"])
def test_a_scheme_is_the_same_in_any_case(tmp_path: Path, scheme: str) -> None:
    """Section 3.1: schemes are case-insensitive."""
    with holdfast.open(f"{scheme}:{tmp_path}/store.db"):
        assert (tmp_path / "store.db").exists()


@pytest.mark.parametrize("address", ["memory:", "MEMORY:", "Memory:"])
def test_so_is_that_of_memory(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    holdfast.open(address).close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "scheme", ["a", "http", "svn+ssh", "z39.50r", "x-y", "a1", "a+-.1", "file", "A"]
)
def test_what_begins_with_another_scheme_is_refused(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Section 3.1: scheme = ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(holdfast.InvalidUrlError):
        holdfast.open(f"{scheme}:store.db")
    with holdfast.open(f"./{scheme}:store.db"):
        assert (tmp_path / f"{scheme}:store.db").exists()


@pytest.mark.parametrize(
    "first",
    [
        "1",
        "1a",
        "+a",
        "-a",
        ".a",
        "a_b",
        "a b",
        "é",
        "aé",
        "a%20",
        "a~",
        "@",
        "[",
        "`",
        "{",
    ],
)
def test_what_is_no_scheme_begins_a_path(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Section 4.2: a path whose first segment has a colon would be mistaken for a scheme, and no other."""
    monkeypatch.chdir(tmp_path)
    with holdfast.open(f"{first}:store.db"):
        assert (tmp_path / f"{first}:store.db").exists()


@pytest.mark.parametrize(
    "name", ["a%20b.db", "a?mode=ro", "a#b", "a%00b", "%2e%2e", "a;b=c", "a&b"]
)
def test_a_path_is_taken_by_the_letter(name: str, tmp_path: Path) -> None:
    """No "%" is decoded, no query and no fragment is cut off: what follows the scheme is the system's path."""
    with holdfast.open(f"sqlite:{tmp_path}/{name}"):
        assert (tmp_path / name).exists()


@pytest.mark.parametrize(
    "address",
    ["", "sqlite:", "memory:x", "memory://", ":memory:", "SQLite:", "Memory:x"],
)
def test_what_names_nothing_is_refused(address: str) -> None:
    with pytest.raises(holdfast.InvalidUrlError):
        holdfast.open(address)
