"""What has no form, and what does not fit its annotation, is told by its path and the cure."""

import dataclasses
import datetime
import enum
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, Optional, Union

import pytest
from typing_extensions import TypedDict

import holdfast

UTC = datetime.timezone.utc
BERLIN = datetime.timezone(datetime.timedelta(hours=2))


class Genre(str, enum.Enum):
    ROCK = "rock"


class Stars(enum.IntEnum):
    FIVE = 5


class Place(NamedTuple):
    side: int
    since: Optional[datetime.date] = None


class Label(TypedDict, total=False):
    founded: datetime.date


@dataclasses.dataclass
class Album:
    title: str
    released: Optional[datetime.date] = None


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Fraction(1, 2), r'"album\.parts\.1" is of the type fractions\.Fraction, .*holdfast\.register_type'),
        ({"a": object()}, r'"album\.parts\.1\.a" is of the type builtins\.object'),
        ({(1, 2): 1}, r'"album\.parts\.1" has a key of the type tuple'),
        (float("nan"), r'"album\.parts\.1" is nan, .*: store None'),
        (Decimal("Infinity"), r'"album\.parts\.1" is Infinity, .*: store None'),
        (datetime.time(1, tzinfo=UTC), r'"album\.parts\.1" is a time with an offset .*: store a datetime'),
        (datetime.datetime.min.replace(tzinfo=BERLIN), r'"album\.parts\.1" is not between the years'),
        (datetime.timedelta.max, r'"album\.parts\.1" is longer than 272 years'),
        ("\ud800", r'surrogates not allowed: "album\.parts\.1" holds half a character'),
        (LOOP, r'"album\.parts\.1\.0" holds itself'),
    ],
)
def test_what_cannot_be_stored_is_told_by_its_path_and_the_cure(
    value: Any, told: str, songs: "holdfast.Repository[Any]"
) -> None:
    for write in (
        lambda: songs.save({"id": "a", "album": {"parts": [1, value]}}),
        lambda: songs.deferred.save({"id": "a", "album": {"parts": [1, value]}}),
        lambda: songs.patch("a", {"album": {"parts": [1, value]}}),
        lambda: songs.find({"album": {"parts": [1, value]}}),
    ):
        with pytest.raises((TypeError, ValueError), match=told):
            write()
    with pytest.raises((TypeError, ValueError), match=told.replace("album", r"1\.album", 1)):
        songs.save_many([{"id": "b"}, {"id": "a", "album": {"parts": [1, value]}}])
    with pytest.raises(
        (TypeError, ValueError), match=told.replace(r"album\.parts", r"\$set\.album\.parts", 1)
    ):
        songs.modify("a", {"$set": {"album": {"parts": [1, value]}}})
    assert songs.count() == 0


@dataclasses.dataclass
class Shelf:
    id: str
    albums: dict[str, list[Album]] = dataclasses.field(default_factory=dict)
    places: tuple[int, Place] = (0, Place(0))
    genre: Optional[Genre] = None
    either: Union[int, bytes, None] = None
    keys: dict[Stars, int] = dataclasses.field(default_factory=dict)
    label: Label = dataclasses.field(default_factory=Label)


MISFITS = pytest.mark.parametrize(
    ("stored", "told"),
    [
        (
            {"albums": {"a": [{"title": "b"}, {"title": "c", "released": "soon"}]}},
            r'"albums\.a\.1\.released" is "soon", and is to be a date, such as "2024-05-17"',
        ),
        ({"albums": {"a": [1]}}, r'"albums\.a\.0" is 1, and is to be a Album'),
        ({"albums": [1]}, r'"albums" is \[1\], and is to be a dict'),
        ({"albums": {"a": "b"}}, r'"albums\.a" is "b", and is to be a list'),
        ({"places": [1]}, r'"places" is \[1\], and is to be a tuple of 2'),
        ({"places": [1, [2, 3]]}, r'"places\.1\.1" is 3, and is to be a date'),
        ({"genre": "pop"}, r'"genre" is "pop", and is to be a Genre, such as one of \["rock"\]'),
        ({"either": "?"}, r'"either" is "\?", and is to be a bytes, such as "AAECAw==", in base64'),
        ({"either": []}, r'"either" is \[\], and is to be a int or bytes'),
        ({"keys": {"4": 1}}, r'"keys\.4" is "4", and is to be a Stars, such as one of \["5"\]'),
        ({"label": {"founded": 1974}}, r'"label\.founded" is 1974, and is to be a date'),
    ],
)


@MISFITS
def test_a_class_as_the_validator_refuses_what_could_not_be_read(
    stored: Any, told: str, store: holdfast.Store
) -> None:
    shelves = store.repository("shelves")
    shelves.save({"id": "b"})
    shelves.set_validator(Shelf)
    with pytest.raises(ValueError, match=told):
        shelves.save({"id": "a", **stored})
    with pytest.raises(ValueError, match=told):
        shelves.patch("b", stored)
    assert shelves.fetch_all() == [{"id": "b"}]
    shelves.save({"id": "c"})


@MISFITS
def test_what_does_not_fit_is_told_by_its_path(stored: Any, told: str, store: holdfast.Store) -> None:
    store.repository("shelves").save({"id": "a", **stored})
    shelves = store.repository("shelves", cls=Shelf)
    with pytest.raises(holdfast.CorruptError, match=f'"a" of "shelves" is no Shelf: {told}.*; bring it'):
        shelves.fetch("a")
    with pytest.raises(holdfast.CorruptError, match=told):
        shelves.find()
