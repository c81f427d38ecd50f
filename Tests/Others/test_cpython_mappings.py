"""CPython's own tests of mappings (`test.mapping_tests`, in Debian's libpython3-testsuite) on `RepositoryMapping`,
the one mapping of the package, on each engine.

Its first class asks for values that the mapping gives back as they were set, so it is run with entities that hold
their ids. The other two have numbers for keys and for values. They, and the first once more, run on `Boxed`, which
puts key and value into an entity by one line each and leaves all else to what is under test.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from test import mapping_tests  # type: ignore[import-not-found]
from typing import Any, Optional

import pytest

import holdfast

#: What does not apply, and why. Each of these is run all the same and must fail: what begins to hold is taken out.
NOT_APPLICABLE = {
    "test_fromkeys": "fromkeys is dict's alone: collections.abc.MutableMapping has none, and a repository has a place",
    "test_copy": "copy is dict's alone: the mapping is a view of what is stored, of which there is one",
    "test_popitem": "it copies the mapping, see test_copy",
    "test_repr": "the text of a mapping names its repository; it does not read all that is stored",
    "test_repr_deep": "a value is stored as it is when it is set, so that no mapping can be in itself",
    "test_eq": "a key is a text or a number, and not an object whose comparison raises",
    "test_getitem": "the same: keys with a __hash__ of their own; what precedes that is tested by the class before",
    "test_pop": "the same",
    "test_setdefault": "what setdefault has answered is no part of the store: to append to it stores nothing",
    "test_read": "it puts values into a set, and an entity is a dict; on Boxed it is run",
    "test_update": "it sets texts as values, and an entity is an object; on Boxed it is run",
}
#: What a class of tests does not ask of what it is run on.
LEFT_OUT = {
    ("entities", mapping_tests.BasicTestMappingProtocol): {"test_read", "test_update"},
    ("boxed", mapping_tests.BasicTestMappingProtocol): set(),
    ("boxed", mapping_tests.TestMappingProtocol): {
        *("test_fromkeys", "test_copy", "test_popitem", "test_setdefault"),
    },
    ("boxed", mapping_tests.TestHashMappingProtocol): {
        *(
            "test_fromkeys",
            "test_copy",
            "test_popitem",
            "test_setdefault",
            "test_repr",
            "test_repr_deep",
        ),
        *("test_eq", "test_getitem", "test_pop"),
    },
}


class Boxed(holdfast.RepositoryMapping[Any]):
    """Keys and values that JSON has, in entities."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(json.dumps(key))["value"]

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(json.dumps(key), {"value": value})

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(json.dumps(key))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(json.dumps(key))

    def __iter__(self) -> Iterator[Any]:
        return map(json.loads, super().__iter__())

    def popitem(self) -> tuple[Any, Any]:
        key, entity = super().popitem()
        return json.loads(key), entity["value"]


class Mappings:
    """New ones, each a repository of its own."""

    def __init__(self, store: holdfast.Store, cls: Optional[type]) -> None:
        self._store = store
        self._cls = cls
        self._count = 0

    def __call__(self, *arguments: Any, **members: Any) -> Any:
        self._count += 1
        songs: holdfast.Repository[Any] = self._store.repository(
            f"mapping{self._count}"
        )
        mapping = songs.as_mapping() if self._cls is None else self._cls(songs)
        mapping.update(*arguments, **members)
        return mapping


def entity(id: str, **members: Any) -> dict[str, Any]:
    return {"id": id, **members}


class OfEntities:
    """Values that the mapping gives back as they were set: they hold their ids."""

    def _reference(self) -> dict[str, Any]:
        return {
            "1": entity("1", v="2"),
            "key1": entity("key1", v="value1"),
            "key2": entity("key2", v=[1, 2, 3]),
        }


class OfScalars:
    """JSON has no tuples."""

    def _reference(self) -> dict[str, Any]:
        return {"1": "2", "key1": "value1", "key2": 123}


def names_of(cls: type) -> list[str]:
    return [name for name in dir(cls) if name.startswith("test_")]


CASES = [(kind, cls, name) for kind, cls in LEFT_OUT for name in names_of(cls)]


@pytest.fixture(params=["memory", "file"])
def engine_store(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[holdfast.Store]:
    url = "memory:" if request.param == "memory" else str(tmp_path / "store.db")
    with holdfast.open(url, durability="relaxed") as store:
        yield store


@pytest.mark.parametrize(
    ("kind", "cls", "name"),
    CASES,
    ids=[f"{kind}-{cls.__name__}.{name}" for kind, cls, name in CASES],
)
def test_the_mapping_behaves_as_cpython_tests_it(
    engine_store: holdfast.Store, kind: str, cls: type, name: str
) -> None:
    own, mapping = (OfEntities, None) if kind == "entities" else (OfScalars, Boxed)
    case = type(
        cls.__name__, (own, cls), {"type2test": Mappings(engine_store, mapping)}
    )(name)
    if name not in LEFT_OUT[kind, cls]:
        getattr(case, name)()
        return
    assert name in NOT_APPLICABLE
    with pytest.raises(Exception):  # noqa: B017, PT011
        getattr(case, name)()


def test_what_is_left_out_is_there() -> None:
    for (_, cls), names in LEFT_OUT.items():
        assert names <= set(names_of(cls))
    assert set().union(*LEFT_OUT.values()) == set(NOT_APPLICABLE)
