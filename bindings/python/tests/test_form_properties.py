"""Random types and values: what is stored comes back, is found where Python finds it equal, and is sorted as
Python sorts it."""

import datetime
import enum
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NamedTuple, Optional

import pytest
from entity_classes import KINDS, class_of
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast._json import dump


class Genre(str, enum.Enum):
    ROCK = "rock"
    POP = "pop"


class Stars(enum.IntEnum):
    NONE = 0
    FIVE = 5


class Day(enum.Enum):
    FIRST = datetime.date(2024, 5, 17)
    LAST = datetime.date(2024, 5, 18)


class Typed(NamedTuple):
    """A type and values of it."""

    hint: Any
    values: st.SearchStrategy[Any]


ZONES = st.builds(
    datetime.timezone, st.timedeltas(datetime.timedelta(hours=-23), datetime.timedelta(hours=23))
)
AWARE = st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30), timezones=ZONES)
YEARS = datetime.timedelta(days=99_000)


def decimals(digits: int, exponent: int) -> st.SearchStrategy[Decimal]:
    """Decimals of at most so many digits, and exponents."""
    return st.builds(
        lambda sign, value, power: Decimal((sign, tuple(map(int, str(value))), power)),
        st.integers(0, 1),
        st.integers(0, 10**digits - 1),
        st.integers(-exponent, exponent),
    )


#: Types that have an order, of whose values filters find what is equal.
ORDERED = {
    "aware datetime": Typed(datetime.datetime, AWARE),
    "naive datetime": Typed(datetime.datetime, st.datetimes()),
    "date": Typed(datetime.date, st.dates()),
    "time": Typed(datetime.time, st.times()),
    "timedelta": Typed(datetime.timedelta, st.timedeltas(-YEARS, YEARS)),
    "UUID": Typed(uuid.UUID, st.uuids()),
    "Decimal": Typed(Decimal, decimals(15, 100)),
    "IntEnum": Typed(Stars, st.sampled_from(Stars)),
}
EQUAL = {
    **ORDERED,
    "datetime": Typed(datetime.datetime, AWARE | st.datetimes()),
    "bytes": Typed(bytes, st.binary(max_size=9)),
    "text Enum": Typed(Genre, st.sampled_from(Genre)),
    "Enum": Typed(Day, st.sampled_from(Day)),
    "path": Typed(PurePosixPath, st.text(max_size=5).map(PurePosixPath)),
}
SINGLE = [
    *EQUAL.values(),
    Typed(Decimal, decimals(40, 60)),
    Typed(int, st.integers(-(1 << 63), (1 << 63) - 1)),
    Typed(str, st.text(max_size=5)),
]
# A name in JSON holds no NUL.
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3)
KEYS = [
    *[it for it in SINGLE if it.hint not in (str, PurePosixPath)],
    Typed(str, NAMES),
    Typed(PurePosixPath, NAMES.map(PurePosixPath)),
]


def composed(parts: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    """Types that consist of others."""
    return st.one_of(
        parts.map(lambda it: Typed(Optional[it.hint], st.none() | it.values)),
        parts.map(lambda it: Typed(list[it.hint], st.lists(it.values, max_size=3))),  # type: ignore[name-defined]
        parts.map(lambda it: Typed(tuple[it.hint, ...], st.lists(it.values, max_size=3).map(tuple))),
        st.tuples(parts, parts).map(
            lambda it: Typed(tuple[it[0].hint, it[1].hint], st.tuples(it[0].values, it[1].values))
        ),
        st.tuples(st.sampled_from(KEYS), parts).map(
            lambda it: Typed(
                dict[it[0].hint, it[1].hint],  # type: ignore[name-defined]
                st.dictionaries(it[0].values, it[1].values, max_size=3),
            )
        ),
    )


SETS = [
    Typed(cls[it.hint], st.sets(it.values, max_size=3).map(cls)) for it in SINGLE for cls in (set, frozenset)
]
TYPES = st.recursive(st.sampled_from([*SINGLE, *SETS]), composed, max_leaves=4)


@pytest.fixture(scope="module")
def store() -> Iterator[holdfast.Store]:
    with holdfast.open("memory:") as store:
        yield store


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(data=st.data())
def test_what_is_stored_comes_back(kind: str, store: holdfast.Store, data: st.DataObject) -> None:
    hint, values = data.draw(TYPES)
    cls = class_of(kind, hint)
    entity = cls(id="a", it=data.draw(values))
    with store.transaction() as transaction:
        entities = store.repository("entities", cls=cls)
        entities.save(entity)
        found = entities["a"]
        assert found == entity == entities.deferred.fetch("a").perform()
        assert kinds(value_of(found)) == kinds(value_of(entity))
        transaction.rollback()


def value_of(entity: Any) -> Any:
    return entity["it"] if isinstance(entity, dict) else entity.it


def kinds(value: Any) -> Any:
    """The types that a value consists of."""
    if isinstance(value, dict):
        return [(type(key), kinds(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), list(map(kinds, value))
    if isinstance(value, (set, frozenset)):
        return type(value), set(map(type, value))
    return type(value)


@pytest.mark.parametrize("name", EQUAL)
@settings(max_examples=40)
@given(data=st.data())
def test_a_filter_finds_what_is_equal(name: str, store: holdfast.Store, data: st.DataObject) -> None:
    values = data.draw(st.lists(EQUAL[name].values, min_size=1, max_size=6))
    with store.transaction() as transaction:
        entities = store.repository("entities")
        entities.save_many(
            [{"id": number, "it": value, "all": [value]} for number, value in enumerate(values)]
        )
        for value in {*values, data.draw(EQUAL[name].values)}:
            equal = [number for number, other in enumerate(values) if other == value]
            for filter in ({"it": value}, {"it": {"$in": {value}}}, {"all": value}, {"all": {value}}):
                assert [it["id"] for it in entities.find(filter)] == equal
        transaction.rollback()


@pytest.mark.parametrize("name", ORDERED)
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_stored_has_the_order_of_the_values(
    name: str, store: holdfast.Store, data: st.DataObject
) -> None:
    hint, strategy = ORDERED[name]
    values = data.draw(st.lists(strategy, min_size=1, max_size=6, unique=True))
    with store.transaction() as transaction:
        entities = store.repository("entities", cls=class_of("dataclass", hint))
        entities.save_many([entities._codec.cls(id=str(it), it=value) for it, value in enumerate(values)])
        assert [it.it for it in entities.find(sort={"it": 1})] == sorted(values)
        bound = data.draw(strategy)
        found = entities.find({"it": {"$gte": bound}}, sort={"it": -1})
        assert [it.it for it in found] == sorted((it for it in values if it >= bound), reverse=True)
        transaction.rollback()


@given(values=st.lists(AWARE | st.datetimes(), max_size=6), first=AWARE, second=AWARE)
def test_the_order_of_datetimes_is_that_of_their_texts(
    values: list[datetime.datetime], first: datetime.datetime, second: datetime.datetime
) -> None:
    assert (first < second) == (dump(first) < dump(second))
    assert len({len(dump(it)) for it in values if it.tzinfo}) <= 1


@given(data=st.data())
def test_equal_sets_are_the_same_bytes(data: st.DataObject) -> None:
    single = data.draw(st.sampled_from([it for it in SINGLE if it.hint is not Decimal]))
    values = data.draw(st.lists(single.values, max_size=6))
    assert dump(set(values)) == dump(frozenset(reversed(values))) == dump(set(sorted(values, key=repr)))
