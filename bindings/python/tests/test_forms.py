"""Values that JSON does not have: each is stored in one form, and comes back by the annotations."""

import dataclasses
import datetime
import enum
import json
import uuid
from collections import deque
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, NewType, Optional, Union

import msgspec
import pydantic
import pytest
from entity_classes import KINDS, class_of
from typing_extensions import TypedDict

import holdfast
from holdfast import F

UTC = datetime.timezone.utc
BERLIN = datetime.timezone(datetime.timedelta(hours=2))
UUID = uuid.UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
WHEN = datetime.datetime(2024, 5, 17, 8, 30, tzinfo=UTC)


class Genre(str, enum.Enum):
    ROCK = "rock"


class Stars(enum.IntEnum):
    FIVE = 5


class Day(enum.Enum):
    FIRST = datetime.date(2024, 5, 17)


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Place(NamedTuple):
    side: int
    since: Optional[datetime.date] = None


class Label(TypedDict, total=False):
    name: str
    founded: datetime.date


Isrc = NewType("Isrc", uuid.UUID)


@dataclasses.dataclass
class Album:
    title: str
    released: Optional[datetime.date] = None
    parts: "list[Album]" = dataclasses.field(default_factory=list)


# --- One form each ------------------------------------------------------------------------------------

FORMS: list[tuple[Any, Any, str]] = [
    (datetime.datetime, WHEN, '"2024-05-17T08:30:00.000000Z"'),
    (datetime.datetime, WHEN.astimezone(BERLIN), '"2024-05-17T08:30:00.000000Z"'),
    (datetime.datetime, WHEN.replace(tzinfo=None, microsecond=7), '"2024-05-17T08:30:00.000007"'),
    (datetime.date, datetime.date(2024, 5, 17), '"2024-05-17"'),
    (datetime.time, datetime.time(8, 30), '"08:30:00.000000"'),
    (datetime.timedelta, datetime.timedelta(minutes=2), "120"),
    (datetime.timedelta, datetime.timedelta(milliseconds=-1500), "-1.5"),
    (uuid.UUID, UUID, '"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"'),
    (Isrc, Isrc(UUID), '"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"'),
    (Decimal, Decimal("19.90"), "19.90"),
    (Decimal, Decimal("19.99"), "19.99"),
    (Decimal, Decimal(10**30 + 1), f"{10**30 + 1}E0"),
    (Decimal, Decimal("0.12345678901234567890"), "0.12345678901234567890"),
    (Decimal, Decimal(3), "3"),
    (Genre, Genre.ROCK, '"rock"'),
    (Stars, Stars.FIVE, "5"),
    (Day, Day.FIRST, '"2024-05-17"'),
    (Rights, Rights.READ | Rights.WRITE, "3"),
    (bytes, b"\x00\x01\x02", '"AAEC"'),
    (bytearray, bytearray(b"\xff\xfe"), '"//4="'),
    (set[str], {"b", "a", "ä"}, '["a","b","ä"]'),
    (frozenset[int], frozenset({10, 9}), "[9,10]"),
    (set[frozenset[str]], {frozenset("ba"), frozenset("c")}, '[["a","b"],["c"]]'),
    (set[Decimal], {Decimal("1.50")}, "[1.50]"),
    (set, {1}, "[1]"),
    (Path, Path("/var/lib"), '"/var/lib"'),
    (PurePosixPath, PurePosixPath("a/b"), '"a/b"'),
    (Place, Place(1, datetime.date(2024, 5, 17)), '[1,"2024-05-17"]'),
    (
        Label,
        {"name": "Arista", "founded": datetime.date(1974, 11, 1)},
        '{"name":"Arista","founded":"1974-11-01"}',
    ),
    (deque[uuid.UUID], deque([UUID]), f'["{UUID}"]'),
    (list[datetime.date], [datetime.date(2024, 5, 17)], '["2024-05-17"]'),
    (tuple[datetime.date, ...], (datetime.date(2024, 5, 17),), '["2024-05-17"]'),
    (tuple[int, bytes], (1, b"a"), '[1,"YQ=="]'),
    (dict[str, Optional[bytes]], {"a": b"a", "b": None}, '{"a":"YQ==","b":null}'),
    (dict[uuid.UUID, int], {UUID: 1}, f'{{"{UUID}":1}}'),
    (dict[datetime.date, Decimal], {datetime.date(2024, 5, 17): Decimal("1.10")}, '{"2024-05-17":1.10}'),
    (dict[Stars, bytes], {Stars.FIVE: b"a"}, '{"5":"YQ=="}'),
    (dict[Day, str], {Day.FIRST: "a"}, '{"2024-05-17":"a"}'),
    (dict[int, str], {1: "a"}, '{"1":"a"}'),
    (dict[float, str], {0.5: "a"}, '{"0.5":"a"}'),
    (dict[bool, str], {True: "a", False: "b"}, '{"true":"a","false":"b"}'),
    (dict[datetime.timedelta, str], {datetime.timedelta(seconds=1.5): "a"}, '{"1.5":"a"}'),
    (dict[Decimal, str], {Decimal("1.50"): "a"}, '{"1.50":"a"}'),
    (dict[Union[int, str], str], {1: "a", "b": "c"}, '{"1":"a","b":"c"}'),
    (Mapping[str, set[str]], {"a": {"b"}}, '{"a":["b"]}'),
    (Optional[datetime.datetime], None, "null"),
    (Union[int, datetime.date], 3, "3"),
    (Union[int, datetime.date], datetime.date(2024, 5, 17), '"2024-05-17"'),
    (Union[datetime.datetime, datetime.date, str], "soon", '"soon"'),
    (Union[str, list[bytes]], [b"a"], '["YQ=="]'),
    (Literal[Genre.ROCK, "pop"], Genre.ROCK, '"rock"'),
    (
        Album,
        Album("Horses", datetime.date(1975, 11, 10)),
        '{"title":"Horses","released":"1975-11-10","parts":[]}',
    ),
]


@pytest.mark.parametrize(("hint", "value", "text"), FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_stored_in_its_form_and_comes_back(
    kind: str, hint: Any, value: Any, text: str, store: holdfast.Store
) -> None:
    cls = class_of(kind, hint)
    songs = store.repository("songs", cls=cls)
    songs.save(cls(id="s1", it=value))
    assert songs.fetch_bytes("s1") == f'{{"id":"s1","it":{text}}}'.encode()
    found = songs["s1"] if kind == "TypedDict" else vars_of(songs["s1"])
    assert found == {"id": "s1", "it": value}
    assert type(found["it"]) is type(value)
    # In an entity without a class the value has the same form, and is what JSON has.
    plain = store.repository("plain")
    plain.save({"id": "s1", "it": value})
    assert plain.fetch_bytes("s1") == songs.fetch_bytes("s1")
    assert plain["s1"]["it"] == json.loads(text)


def vars_of(entity: Any) -> dict[str, Any]:
    return {"id": entity.id, "it": entity.it}


# --- Filters, updates, patches ------------------------------------------------------------------------


@dataclasses.dataclass
class Song:
    id: uuid.UUID
    released: Optional[datetime.datetime] = None
    length: datetime.timedelta = datetime.timedelta()
    price: Decimal = Decimal(0)
    genre: Optional[Genre] = None
    cover: bytes = b""
    tags: set[str] = dataclasses.field(default_factory=set)
    file: Path = Path(".")
    album: Optional[Album] = None


def test_filters_compare_in_the_same_forms(store: holdfast.Store) -> None:
    songs = store.repository("songs", cls=Song)
    early, late = (
        Song(
            uuid.uuid4(),
            WHEN + datetime.timedelta(days=day),
            datetime.timedelta(minutes=day),
            Decimal(day),
            Genre.ROCK,
            bytes([day]),
            {str(day), "x"},
            Path(str(day)),
            Album("Horses", datetime.date(2024, 1, day + 1)),
        )
        for day in (0, 1)
    )
    songs.save_many([early, late])
    for filter in (
        F.id == late.id,
        F.released > early.released,
        F.released >= (WHEN + datetime.timedelta(days=1)).astimezone(BERLIN),
        F.length > early.length,
        F.price > Decimal("0.5"),
        F.price.is_in([Decimal("1.00")]),
        (F.genre == Genre.ROCK) & (F.cover == late.cover),
        F.tags == "1",
        F.tags.has_all({"1", "x"}),
        {"tags": {"x", "1"}},
        F.file == Path("1"),
        F.album.released == datetime.date(2024, 1, 2),
        {"album": late.album},
        {"released": {"$in": {late.released}}},
    ):
        assert songs.find(filter) == [late], filter
        assert songs.deferred.find(filter).perform() == [late]
        assert songs.count(filter) == 1
        assert next(songs.observe(filter)).entities == [late]
    assert songs.find({"released": {"$lt": {"$param": "then"}}}, parameters={"then": late.released}) == [
        early
    ]
    assert songs.find(sort={"released": -1}) == [late, early]
    with songs.iterate(sort={"length": -1}) as cursor:
        assert list(cursor) == [late, early]


def test_updates_and_patches_write_the_same_forms(store: holdfast.Store) -> None:
    songs = store.repository("songs", cls=Song)
    song = songs.save(Song(UUID))
    assert songs.modify(
        song.id, {"$set": {"released": WHEN, "price": Decimal("19.90"), "cover": b"a"}}
    ) == Song(UUID, WHEN, price=Decimal("19.90"), cover=b"a")
    assert b'"price":19.90' in (songs.fetch_bytes(UUID) or b"")
    assert songs.modify(UUID, {"$push": {"tags": {"$each": {"b", "a"}}}}).tags == {"a", "b"}
    assert songs.modify(UUID, {"$addToSet": {"tags": Genre.ROCK}}).tags == {"a", "b", "rock"}
    assert songs.modify(UUID, {"$max": {"released": WHEN + datetime.timedelta(1)}}).released > WHEN
    assert songs.modify(UUID, {"$set": {"album": Album("Horses")}}).album == Album("Horses")
    assert songs.patch(UUID, {"genre": Genre.ROCK, "file": Path("a")}).genre is Genre.ROCK
    assert songs.patch_many([{"id": UUID, "length": datetime.timedelta(seconds=3)}])[0].length.seconds == 3
    assert songs.modify_all({"id": UUID}, {"$set": {"released": WHEN}}).modified == 1
    operation = songs.deferred.modify(UUID, {"$set": {"price": Decimal("0.10")}}, initial=Song(UUID))
    assert store.sequence(operation).perform()[0].price == Decimal("0.10")


def test_decimals_are_compared_by_so_many_digits_as_are_exact_and_never_calculated_with(
    store: holdfast.Store,
) -> None:
    songs = store.repository("songs", cls=Song)
    songs.save(Song(UUID, price=Decimal("1.10")))
    assert songs.count({"price": Decimal("1.1")}) == 1
    assert songs.count({"price": {"$lt": Decimal(2**63 - 1)}}) == 1
    for ask in (
        lambda: songs.find({"price": {"$gt": Decimal("1.1000000000000000001")}}),
        lambda: songs.find({"price": {"$param": "p"}}, parameters={"p": Decimal("1e300")}),
        lambda: songs.modify(UUID, {"$min": {"price": Decimal("1.1000000000000000001")}}),
        lambda: songs.modify(UUID, {"$inc": {"price": Decimal("0.1")}}),
        lambda: songs.deferred.modify(UUID, {"$mul": {"price": Decimal(2)}}),
        lambda: songs.modify_all(None, {"$inc": {"price": Decimal(1)}}),
        lambda: songs.modify(UUID, {"$set": {"album": {UUID: 1}}, "$inc": {"price": Decimal(1)}}),
    ):
        with pytest.raises(holdfast.InvalidQueryError, match="smallest unit"):
            ask()
    with pytest.raises(holdfast.InvalidQueryError) as refused:
        songs.modify(UUID, {"$set": {"price": Decimal(3)}, "$inc": {"plays.0": Decimal("0.1")}})
    assert refused.value.detail["path"] == "$inc.plays.0"
    assert songs[UUID].price == Decimal("1.10")


# --- Everywhere ---------------------------------------------------------------------------------------


def test_an_id_may_be_a_uuid(store: holdfast.Store) -> None:
    songs = store.repository("songs", cls=Song)
    assert songs.fetch(UUID) is None and UUID not in songs
    with pytest.raises(holdfast.NotFoundError, match=str(UUID)):
        songs[UUID]
    song = songs.add(Song(UUID))
    assert song == songs[UUID] == songs.fetch(str(UUID)) == songs.as_mapping()[UUID]
    assert songs.fetch_many([UUID]) == [song] == songs.deferred.fetch_many([UUID]).perform()
    assert songs.fetch_versioned(UUID) is not None and UUID in songs and UUID in songs.as_mapping()
    with songs.changes(id=UUID) as changes:
        songs[UUID] = Song(UUID, file=Path("b"))
        (change,) = changes.next(timeout=60)
    assert (change.id, change.entity) == (str(UUID), songs[UUID])
    songs.invalidate_cache(UUID)
    songs.modify(UUID, {"$set": {"cover": b"b"}}, initial=Song(UUID))
    songs.deferred.modify(UUID, {"$set": {"cover": b"c"}}, initial=Song(UUID)).perform()
    songs.delete(UUID)
    songs.save(Song(UUID))
    songs.delete_many([UUID])
    songs.delete(UUID, missing_ok=True)
    assert songs.deferred.contains(UUID).perform() is False


def test_an_id_that_the_library_gives_is_a_uuid_where_that_is_annotated(store: holdfast.Store) -> None:
    @dataclasses.dataclass
    class Note:
        text: str
        id: Optional[uuid.UUID] = None

    notes = store.repository("notes", cls=Note)
    note = notes.add(Note("a"))
    assert isinstance(note.id, uuid.UUID)
    assert notes[note.id] == note


@pytest.mark.parametrize("id", [1.5, None, b"a", True, datetime.date(2024, 5, 17)])
def test_what_is_no_id_is_refused(id: Any, songs: "holdfast.Repository[Any]") -> None:
    with pytest.raises(TypeError, match="An id is text, an integer, a UUID or an Enum"):
        songs.fetch(id)


@pytest.mark.parametrize("digits", ["19.90", "0.1234567890123456789", "-1E-7", "1E+3", "-0"])
def test_decimals_come_back_digit_by_digit_from_every_call(digits: str, store: holdfast.Store) -> None:
    price = Decimal(digits)
    songs = store.repository("songs", cls=Song)
    expected = Song(UUID, price=price)
    with songs.changes(old=True) as changes, songs.observe() as live:
        next(live)
        songs.save_many([expected])
        assert next(live).entities == [expected]
        assert next(iter(changes.next(timeout=60))).entity == expected
    prices = [
        songs[UUID],
        songs.first(),
        *songs.find(),
        *songs.find(lambda song: song.price == price),
        *songs.fetch_all(),
        *songs.fetch_many([UUID]),
        *songs.iterate(),
        songs.patch(UUID, {"cover": b"a"}),
        songs.modify(UUID, {"$set": {"cover": b"b"}}),
        songs.deferred.fetch(UUID).perform(),
        songs.deferred.fetch_versioned(UUID).perform()[0],  # type: ignore[index]
        store.sequence(songs.deferred.fetch(UUID)).perform()[0],
        *songs.deferred.find().submit().result(),
    ]
    with holdfast.Controller(songs) as controller:
        controller.dispatch({"action": "request"})
        for _ in controller.states(timeout=60):
            if controller.entities():
                break
        prices += controller.entities()
    assert [str(it.price) for it in prices] == [digits if digits != "-0" else str(Decimal(0))] * len(prices)


def test_numbers_of_a_class_with_decimals_stay_floats(store: holdfast.Store) -> None:
    @dataclasses.dataclass
    class Measured:
        id: str
        price: Decimal
        weight: float
        rest: Any

    measured = store.repository("measured", cls=Measured)
    measured.save(b'{"id":"a","price":1.50,"weight":2.50,"rest":[1e2]}')
    assert measured["a"] == Measured("a", Decimal("1.50"), 2.5, [100.0])
    assert repr(measured["a"].weight) == "2.5" and json.dumps(measured["a"].rest) == "[100.0]"


def test_what_other_programs_wrote_is_read_too(store: holdfast.Store) -> None:
    songs = store.repository("songs", cls=Song)
    for text in ("2024-05-17T08:30:00Z", "2024-05-17T10:30:00+02:00", "2024-05-17T08:30:00.000Z"):
        songs.save(b'{"id":"%s","released":"%s","price":"1.50"}' % (str(UUID).encode(), text.encode()))
        assert songs[UUID] == Song(UUID, WHEN, price=Decimal("1.50"))


# --- Models -------------------------------------------------------------------------------------------


class Strict(pydantic.BaseModel, strict=True):
    id: uuid.UUID
    at: datetime.datetime = pydantic.Field(alias="when")
    photo: Optional[bytes] = None
    price: Decimal = Decimal(0)
    tags: frozenset[Genre] = frozenset()


class Nested(pydantic.BaseModel):
    id: str
    songs: list[Strict]
    by_day: dict[datetime.date, bytes] = {}
    album: Optional[Album] = None


def test_a_strict_model_is_read_again(store: holdfast.Store) -> None:
    song = Strict(id=UUID, when=WHEN, photo=b"\xff", price=Decimal("1.50"), tags=frozenset({Genre.ROCK}))
    songs = store.repository("songs", cls=Strict)
    songs.save(song)
    assert songs[UUID] == song
    assert songs.find({"when": WHEN, "photo": b"\xff"}) == [song]
    songs.set_validator(Strict)
    songs.save(song)


def test_models_within_models_are_read_again(store: holdfast.Store) -> None:
    nested = store.repository("nested", cls=Nested)
    entity = Nested(
        id="a",
        songs=[Strict(id=UUID, when=WHEN, photo=b"\xff")],
        by_day={WHEN.date(): b"\xfe"},
        album=Album("b"),
    )
    nested.save(entity)
    assert nested["a"] == entity


class Written(pydantic.BaseModel):
    id: str
    at: datetime.datetime
    url: Optional[pydantic.AnyUrl] = None
    secret: pydantic.Base64Bytes = b""

    @pydantic.field_serializer("at")
    def write(self, at: datetime.datetime) -> str:
        return f"{at:%Y/%m/%d}"

    @pydantic.field_validator("at", mode="before")
    @classmethod
    def read(cls, at: Any) -> Any:
        return datetime.datetime.strptime(at, "%Y/%m/%d") if isinstance(at, str) else at


def test_what_a_model_serializes_itself_stays_its_own(store: holdfast.Store) -> None:
    written = store.repository("written", cls=Written)
    entity = Written(id="a", at=datetime.datetime(2024, 5, 17), url="https://a.b", secret=b"YQ==")
    written.save(entity)
    assert written["a"] == entity
    assert store.repository("written")["a"]["at"] == "2024/05/17"


class Tagged(msgspec.Struct, tag="song", rename="camel"):
    id: str
    release_date: datetime.date
    note: Union[str, msgspec.UnsetType] = msgspec.UNSET


def test_a_struct_keeps_its_names_and_tag(store: holdfast.Store) -> None:
    songs = store.repository("songs", cls=Tagged)
    song = songs.save(Tagged("a", datetime.date(2024, 5, 17)))
    assert songs.fetch_bytes("a") == b'{"type":"song","id":"a","releaseDate":"2024-05-17"}'
    assert songs["a"] == song


# --- One's own ----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Money:
    amount: Decimal
    currency: str

    @classmethod
    def parse(cls, text: str) -> "Money":
        amount, currency = text.split()
        return cls(Decimal(amount), currency)


@dataclasses.dataclass
class Offer:
    id: str
    price: Money
    others: dict[Money, list[Money]]


def test_a_registered_type_has_the_form_that_it_is_told(store: holdfast.Store) -> None:
    holdfast.register_type(Money, to_json=lambda it: f"{it.amount} {it.currency}", from_json=Money.parse)
    offers = store.repository("offers", cls=Offer)
    euro = Money(Decimal("1.50"), "EUR")
    offer = offers.save(Offer("a", euro, {euro: [euro]}))
    assert offers.fetch_bytes("a") == b'{"id":"a","price":"1.50 EUR","others":{"1.50 EUR":["1.50 EUR"]}}'
    assert offers.find({"price": euro}) == [offer]
    store.repository("offers").save({"id": "a", "price": "much", "others": {}})
    with pytest.raises(holdfast.CorruptError, match='"price" cannot be read: not enough values'):
        offers["a"]


def test_a_registration_counts_for_classes_that_were_in_use_before(store: holdfast.Store) -> None:
    class Colour:
        def __init__(self, name: str) -> None:
            self.name = name

    painted = class_of("dataclass", Colour)
    songs = store.repository("songs", cls=painted)
    with pytest.raises(TypeError, match=r'"it" is of the type .*Colour, .* holdfast\.register_type'):
        songs.save(painted("a", Colour("red")))
    songs.save(b'{"id":"a","it":"red"}')
    assert songs["a"].it == "red"
    holdfast.register_type(Colour, to_json=lambda it: it.name, from_json=Colour)
    songs.save(songs["a"])
    assert songs["a"].it.name == "red"


@pytest.mark.parametrize("cls", [str, dict, Place, datetime.datetime, Decimal, Path, enum.Enum, Stars])
def test_a_type_that_has_a_form_gets_no_other(cls: type) -> None:
    with pytest.raises(TypeError, match="has a form already"):
        holdfast.register_type(cls, to_json=str, from_json=cls)
