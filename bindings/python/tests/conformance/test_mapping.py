"""A repository as a MutableMapping."""

from collections.abc import MutableMapping
from typing import Any

import pytest

import holdfast

Songs = holdfast.Repository[dict[str, Any]]


def test_it_is_a_mutable_mapping_from_ids_to_entities(songs: Songs) -> None:
    mapping = songs.as_mapping()
    assert isinstance(mapping, MutableMapping)
    mapping["s1"] = {"plays": 1}
    mapping["s2"] = {"id": "s2"}
    assert dict(mapping) == {"s1": {"id": "s1", "plays": 1}, "s2": {"id": "s2"}}
    assert list(mapping) == list(mapping.keys()) == ["s1", "s2"]
    assert list(mapping.values()) == songs.fetch_all()
    assert len(mapping) == 2
    assert mapping == {"s1": {"id": "s1", "plays": 1}, "s2": {"id": "s2"}}


def test_missing_ids_are_missing_keys(songs: Songs) -> None:
    mapping = songs.as_mapping()
    with pytest.raises(KeyError):
        mapping["s1"]
    with pytest.raises(KeyError):
        del mapping["s1"]
    assert mapping.get("s1") is None
    assert mapping.pop("s1", 7) == 7
    with pytest.raises(KeyError):
        mapping.popitem()


def test_what_cannot_be_an_id_is_not_in_it(songs: Songs) -> None:
    mapping = songs.as_mapping()
    for thing in (None, 1.5, "", "a\nb", "half a character: \ud83d"):
        assert thing not in mapping


def test_the_methods_of_several_steps_work(songs: Songs) -> None:
    mapping = songs.as_mapping()
    mapping.update({"s1": {"plays": 1}, "s2": {"plays": 2}})
    assert mapping.setdefault("s1", {"plays": 9})["plays"] == 1
    assert mapping.pop("s1") == {"id": "s1", "plays": 1}
    assert mapping.popitem() == ("s2", {"id": "s2", "plays": 2})
    mapping["s3"] = {}
    mapping.clear()
    assert not mapping


def test_it_is_cleared_as_a_whole(store: holdfast.Store, songs: Songs) -> None:
    mapping = songs.as_mapping()
    mapping.update({"s1": {}, "s2": {}, "s3": {}})

    def refuse(id: str, _: Any) -> None:
        if id == "s3":
            raise LookupError

    songs.set_validator(refuse)
    with pytest.raises(LookupError):
        mapping.clear()
    assert list(mapping) == ["s1", "s2", "s3"]


def test_it_joins_the_current_transaction(store: holdfast.Store, songs: Songs) -> None:
    mapping = songs.as_mapping()
    with pytest.raises(LookupError), store.transaction():
        mapping["s1"] = {"plays": 1}
        assert "s1" in mapping
        raise LookupError
    assert "s1" not in mapping


def test_items_are_taken_from_the_first_id_on(songs: Songs) -> None:
    mapping = songs.as_mapping()
    mapping.update({"b": {"plays": 2}, "a": {"plays": 1}})
    assert [mapping.popitem(), mapping.popitem()] == [
        ("a", {"id": "a", "plays": 1}),
        ("b", {"id": "b", "plays": 2}),
    ]
    with pytest.raises(KeyError):
        mapping.popitem()


def test_taking_an_item_reads_no_other(songs: Songs, monkeypatch: pytest.MonkeyPatch) -> None:
    mapping = songs.as_mapping()
    songs.save_many({"id": str(number)} for number in range(3))
    for name in ("ids", "fetch_all"):
        monkeypatch.setattr(holdfast.Repository, name, lambda self: pytest.fail("everything was read"))
    assert [mapping.popitem()[0] for _ in range(3)] == ["0", "1", "2"]
