"""Ids that are members of enumerations, models with aliases, and classes without a place for the id."""

import dataclasses
import enum
from typing import Any

import pydantic
import pytest

import holdfast


class Code(str, enum.Enum):
    DE = "de"


class Number(enum.IntEnum):
    ONE = 1


@pytest.mark.parametrize(("id", "text"), [(Code.DE, "de"), (Number.ONE, "1")])
def test_a_member_of_an_enumeration_is_an_id_by_its_value(id: Any, text: str, store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.save({"id": id})
    assert songs.ids() == [text]
    for found in (songs.fetch(id), songs[id], songs.deferred.fetch(id).perform(), songs.fetch_many([id])[0]):
        assert found == {"id": id.value}
    assert id in songs
    songs.patch(id, {"plays": 1})
    songs.modify(id, {"$inc": {"plays": 1}}, initial={})
    songs[id] = {"plays": 3}
    songs.delete(id)
    songs.save({"id": id})
    songs.delete_many([id])
    assert songs.count() == 0


class Author(pydantic.BaseModel):
    full_name: str = pydantic.Field(alias="fullName")


class Song(pydantic.BaseModel):
    id: str
    play_count: int = pydantic.Field(0, alias="playCount")
    author: Author


class Named(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(populate_by_name=True)
    id: str
    play_count: int = pydantic.Field(0, alias="playCount")


class Keyed(pydantic.BaseModel):
    key: str = pydantic.Field(alias="_id")


class Torn(pydantic.BaseModel):
    id: str
    plays: int = pydantic.Field(0, validation_alias="in", serialization_alias="out")


def test_a_model_with_aliases_is_stored_as_it_is_read(store: holdfast.Store) -> None:
    songs = store.repository("songs", cls=Song)
    song = Song(id="a", playCount=3, author={"fullName": "Patti Smith"})
    songs.save(song)
    songs.add_many([song.model_copy(update={"id": "b"})])
    assert songs.fetch("a") == song
    assert store.repository("songs").find({"playCount": 3, "author.fullName": "Patti Smith"}) == [
        {"id": id, "playCount": 3, "author": {"fullName": "Patti Smith"}} for id in "ab"
    ]


def test_a_model_that_is_read_by_its_fields_names_is_stored_by_them(store: holdfast.Store) -> None:
    store.repository("songs", cls=Named).save(Named(id="a", play_count=3))
    assert store.repository("songs").fetch("a") == {"id": "a", "play_count": 3}


def test_an_id_may_have_an_alias(store: holdfast.Store) -> None:
    with pytest.raises(TypeError, match='"_id"'):
        store.repository("songs", cls=Keyed, key="key")
    songs = store.repository("songs", cls=Keyed, key="_id")
    assert songs.add(Keyed(_id="a")) == songs.fetch("a")


def test_a_model_that_is_not_read_as_it_is_written_is_refused(store: holdfast.Store) -> None:
    with pytest.raises(TypeError, match=r"Torn\.plays"):
        store.repository("songs", cls=Torn)


@dataclasses.dataclass
class Title:
    text: str


class TitleModel(pydantic.BaseModel):
    text: str


@pytest.mark.parametrize("cls", [Title, TitleModel])
def test_no_entity_is_given_an_id_that_its_class_would_lose(cls: Any, store: holdfast.Store) -> None:
    titles = store.repository("titles", cls=cls)
    for add in (titles.add, titles.save, titles.deferred.add, lambda it: titles.add_many([it])):
        with pytest.raises(TypeError, match='no field "id"'):
            add(cls(text="Gloria"))
    assert titles.count() == 0
    titles["a"] = cls(text="Gloria")
    assert titles["a"] == cls(text="Gloria")
    assert titles.as_mapping()["a"] == cls(text="Gloria")


class WithoutId(pydantic.BaseModel):
    id: str = pydantic.Field("", exclude=True)


class Renaming:
    """Writes its id under another name."""

    def __init__(self, id: str) -> None:
        self.id = id

    def to_dict(self) -> dict[str, Any]:
        return {"_id": self.id}

    @classmethod
    def from_dict(cls, members: dict[str, Any]) -> "Renaming":
        return cls(members["_id"])


@pytest.mark.parametrize("cls", [WithoutId, Renaming])
def test_no_entity_is_stored_under_another_id_than_it_has(cls: Any, store: holdfast.Store) -> None:
    songs = store.repository("songs", cls=cls)
    for write in (songs.save, songs.add, songs.deferred.save, lambda it: songs.save_many([it])):
        with pytest.raises(TypeError, match="another id"):
            write(cls(id="s1"))
    assert songs.ids() == []


class Secret(pydantic.BaseModel):
    id: str
    word: str = pydantic.Field(exclude=True)


class Area(pydantic.BaseModel, extra="forbid"):
    id: str
    width: int = 1

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> int:
        return self.width**2


@pytest.mark.parametrize("cls", [Secret, Area])
def test_a_model_that_cannot_be_read_again_is_refused(cls: Any, store: holdfast.Store) -> None:
    with pytest.raises(TypeError, match=cls.__name__):
        store.repository("songs", cls=cls)
    assert store.describe()["repositories"] == []


def test_what_is_not_written_takes_its_default(store: holdfast.Store) -> None:
    class Song(pydantic.BaseModel):
        id: str
        cached: int = pydantic.Field(0, exclude=True, validation_alias="kept")

    songs = store.repository("songs", cls=Song)
    songs.save(Song(id="s1", kept=3))
    assert songs["s1"] == Song(id="s1")


def test_sqlite_s_name_for_memory_is_refused_by_name(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url in (":memory:", "sqlite::memory:"):
        with pytest.raises(holdfast.InvalidUrlError, match='"memory:"'):
            holdfast.open(url)
    assert list(tmp_path.iterdir()) == []


class Colour(enum.Enum):
    RED = "red"


class Painted(pydantic.BaseModel):
    id: str
    colour: Colour = Colour.RED


def test_what_was_stored_and_does_not_fit_its_class_is_told_to_be_stored(store: holdfast.Store) -> None:
    painted, stored = store.repository("painted", cls=Painted), store.repository("painted")
    painted.save(Painted(id="a"))
    for number, write in enumerate(
        (
            lambda to: painted.patch("a", to),
            lambda to: painted.modify("a", {"$set": to}),
            lambda to: painted.patch_many([{"id": "a", **to}]),
            lambda to: painted.deferred.patch("a", to).perform(),
            lambda to: painted.deferred.modify("a", {"$set": to}).submit().result(),
            lambda to: painted.deferred.patch_many([{"id": "a", **to}]).perform(),
        )
    ):
        with pytest.raises(holdfast.CorruptError) as raised:
            write({"colour": f"pink {number}"})
        assert raised.value.commit_state is holdfast.CommitState.DONE
        assert stored["a"]["colour"] == f"pink {number}"
    # In a transaction nothing is stored by then.
    for inside in (
        lambda: painted.patch("a", {"colour": "blue"}),
        lambda: painted.patch_many([{"id": "a", "colour": "blue"}]),
        painted.deferred.patch("a", {"colour": "blue"}).perform,
    ):
        with pytest.raises(holdfast.CorruptError) as raised, store.transaction():
            inside()
        assert raised.value.commit_state is holdfast.CommitState.NONE
    assert stored["a"]["colour"] == "pink 5"
    with pytest.raises(holdfast.CorruptError) as raised:
        painted.fetch("a")
    assert raised.value.commit_state is holdfast.CommitState.NONE


def test_what_is_given_in_another_form_and_does_not_fit_is_refused_before_it_is_stored(
    store: holdfast.Store,
) -> None:
    painted, stored = store.repository("painted", cls=Painted), store.repository("painted")
    for wrong in ({"id": "a", "colour": "pink"}, b'{"id":"a","colour":"pink"}', {"colour": "pink"}):
        for write in (painted.add, painted.save, painted.deferred.save):
            with pytest.raises(
                holdfast.InvalidEntityError, match=r"(?s)no Painted: .*colour.*nothing was stored"
            ):
                write(wrong)
        for write_many in (painted.add_many, painted.save_many):
            with pytest.raises(holdfast.InvalidEntityError, match="nothing was stored"):
                write_many([Painted(id="b"), wrong])
    assert stored.count() == 0
    with store.transaction(on_error="abort"):
        with pytest.raises(holdfast.InvalidEntityError):
            painted.save({"id": "a", "colour": "pink"})
        assert painted.save({"id": "a", "colour": "red"}) == Painted(id="a")
    assert painted.add({"colour": "red"}).colour is Colour.RED
    with pytest.raises(holdfast.InvalidJsonError):
        painted.save(b'{"id":')
    with pytest.raises(holdfast.InvalidEntityError):
        painted.save(b"[]")
