"""The verbs of a repository, with dicts, bytes and classes."""

from dataclasses import dataclass, field
from typing import Any, Optional

import pytest
from threads import in_threads

import holdfast

Songs = holdfast.Repository[dict[str, Any]]


@dataclass
class Artist:
    name: str
    born: Optional[int] = None


@dataclass
class Song:
    title: str
    id: Optional[str] = None
    artist: Optional[Artist] = None
    covers: list[Artist] = field(default_factory=list)
    credits: dict[str, Artist] = field(default_factory=dict)
    parts: list["Song"] = field(default_factory=list)


class Tape:
    """Has methods of its own for its members."""

    def __init__(self, label: str) -> None:
        self.label = label

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.label}

    @classmethod
    def from_dict(cls, members: dict[str, Any]) -> "Tape":
        return cls(members["id"])


class Model:
    """Looks like a pydantic model."""

    def __init__(self, **members: Any) -> None:
        self.id: Optional[str] = None
        vars(self).update(members)

    def model_dump(self, mode: str = "python") -> dict[str, Any]:
        assert mode == "json"
        return dict(vars(self))

    @classmethod
    def model_validate(cls, members: dict[str, Any]) -> "Model":
        return cls(**members)


def test_add_stores_a_new_entity_and_refuses_a_second(songs: Songs) -> None:
    assert songs.add({"id": "s1", "plays": 1}) == {"id": "s1", "plays": 1}
    with pytest.raises(holdfast.ExistsError):
        songs.add({"id": "s1", "plays": 2})
    assert songs.fetch("s1") == {"id": "s1", "plays": 1}


def test_add_gives_an_id_to_an_entity_without_one_and_leaves_the_given_alone(songs: Songs) -> None:
    given = {"plays": 1}
    stored = songs.add(given)
    assert given == {"plays": 1}
    assert next(iter(stored)) == "id"
    assert songs.fetch(stored["id"]) == stored
    assert songs.add({"id": None, "plays": 2})["id"] != stored["id"]


def test_ids_that_are_given_rise(songs: Songs) -> None:
    ids = [songs.add({})["id"] for _ in range(20)]
    assert ids == sorted(set(ids))


def test_update_replaces_what_is_there_and_only_that(songs: Songs) -> None:
    with pytest.raises(holdfast.NotFoundError):
        songs.update({"id": "s1"})
    songs.add({"id": "s1", "plays": 1, "title": "a"})
    songs.update({"id": "s1", "plays": 2})
    assert songs.fetch("s1") == {"id": "s1", "plays": 2}


def test_update_and_patch_and_delete_keep_to_the_expected_version(songs: Songs) -> None:
    songs.add({"id": "s1", "plays": 1})
    _, first = songs.fetch_versioned("s1")
    songs.update({"id": "s1", "plays": 2}, expected_version=first)
    _, second = songs.fetch_versioned("s1")
    assert second > first
    with pytest.raises(holdfast.VersionMismatchError):
        songs.update({"id": "s1", "plays": 3}, expected_version=first)
    with pytest.raises(holdfast.VersionMismatchError):
        songs.patch("s1", {"plays": 3}, expected_version=first)
    with pytest.raises(holdfast.VersionMismatchError):
        songs.delete("s1", expected_version=first)
    assert songs.fetch_versioned("s1") == ({"id": "s1", "plays": 2}, second)
    songs.delete("s1", expected_version=second)
    assert songs.fetch_versioned("s1") is None


def test_save_stores_new_and_old(songs: Songs) -> None:
    songs.save({"id": "s1", "plays": 1})
    songs.save({"id": "s1", "plays": 2})
    assert songs.fetch_all() == [{"id": "s1", "plays": 2}]


def test_patch_merges_and_removes_and_answers_the_whole(songs: Songs) -> None:
    songs.add({"id": "s1", "plays": 1, "old": True, "artist": {"name": "a", "born": 1}})
    patched = songs.patch("s1", {"plays": 2, "old": None, "artist": {"born": 2}})
    assert patched == {"id": "s1", "plays": 2, "artist": {"name": "a", "born": 2}}
    assert songs.fetch("s1") == patched
    assert songs.patch("s1", b'{"plays": 3}')["plays"] == 3
    with pytest.raises(holdfast.NotFoundError):
        songs.patch("s2", {"plays": 1})
    with pytest.raises(holdfast.InvalidEntityError):
        songs.patch("s1", {"id": "s9"})


def test_delete_of_a_missing_entity_is_refused_unless_that_is_all_right(songs: Songs) -> None:
    with pytest.raises(holdfast.NotFoundError):
        songs.delete("s1")
    songs.delete("s1", missing_ok=True)
    songs.add({"id": "s1"})
    songs.delete("s1")
    assert songs.fetch("s1") is None


def test_fetch_of_a_missing_entity_is_none_or_the_default(songs: Songs) -> None:
    assert songs.fetch("s1") is None
    assert songs.fetch("s1", "nothing") == "nothing"
    assert songs.fetch_bytes("s1") is None


def test_bytes_are_stored_and_returned_untouched(songs: Songs) -> None:
    text = '{ "id" : "s1",\t"größe": 1.50, "emoji": "\U0001f3b5", "nul": "a\\u0000b" }'.encode()
    assert songs.add(text)["emoji"] == "\U0001f3b5"
    assert songs.fetch_bytes("s1") == text
    assert songs.fetch("s1")["nul"] == "a\0b"


def test_a_large_entity_comes_back_whole(songs: Songs) -> None:
    large = {"id": "s1", "text": "x" * 3_000_000}
    songs.add(large)
    songs.add({"id": "s2"})
    assert songs.fetch("s1") == large
    assert songs.fetch("s2") == {"id": "s2"}


def test_text_and_integer_ids_of_the_same_digits_are_one(songs: Songs) -> None:
    songs.add({"id": 42, "plays": 1})
    assert songs.fetch("42") == songs.fetch(42) == {"id": 42, "plays": 1}
    # To a filter the id is a member like any other, of the type that it was stored with, along an index too.
    for _ in range(2):
        assert songs.find({"id": 42}) == songs.find({"id": {"$in": [42, "42"]}}) == [{"id": 42, "plays": 1}]
        assert songs.find({"id": "42"}) == songs.find({"id": {"$gt": "4"}}) == []
        songs.create_index("id")
    assert songs.fetch_many([42, "43"]) == [{"id": 42, "plays": 1}]
    songs.add({"id": -(2**63)})
    assert songs.contains(-(2**63))
    songs.delete_many([42, str(-(2**63))])
    assert len(songs) == 0


def test_the_batches_do_as_the_single_verbs(songs: Songs) -> None:
    assert songs.add_many({"id": f"s{number}"} for number in range(3)) == [{"id": f"s{n}"} for n in range(3)]
    assert songs.update_many([{"id": "s0", "plays": 1}]) == [{"id": "s0", "plays": 1}]
    assert songs.save_many([{"id": "s3"}, {"id": "s3", "plays": 2}])[-1] == {"id": "s3", "plays": 2}
    assert songs.patch_many([{"id": "s1", "plays": 7}]) == [{"id": "s1", "plays": 7}]
    songs.delete_many(["s2"])
    assert songs.fetch_all() == [{"id": "s0", "plays": 1}, {"id": "s1", "plays": 7}, {"id": "s3", "plays": 2}]
    assert songs.add_many([]) == []


def test_a_batch_is_stored_whole_or_not_at_all(songs: Songs) -> None:
    songs.add({"id": "s1"})
    with pytest.raises(holdfast.ExistsError):
        songs.add_many([{"id": "s0"}, {"id": "s1"}])
    with pytest.raises(holdfast.NotFoundError):
        songs.update_many([{"id": "s1", "plays": 1}, {"id": "s2"}])
    with pytest.raises(holdfast.NotFoundError):
        songs.delete_many(["s1", "s2"])
    with pytest.raises(holdfast.NotFoundError):
        songs.patch_many([{"id": "s1", "plays": 1}, {"id": "s2", "plays": 1}])
    assert songs.fetch_all() == [{"id": "s1"}]


def test_a_batch_gives_ids_and_takes_bytes_among_dicts(songs: Songs) -> None:
    first, second, third = songs.add_many([{"plays": 1}, b'{"id": "s2"}', {"id": "s3"}])
    assert first["id"] and first["plays"] == 1
    assert (second, third) == ({"id": "s2"}, {"id": "s3"})
    fourth, fifth = songs.add_many([{"id": None, "plays": 2}, {"id": "s5"}])
    assert fourth["id"] and fourth["plays"] == 2
    assert fifth == {"id": "s5"}


def test_fetch_many_keeps_the_order_given(songs: Songs) -> None:
    songs.add_many({"id": id} for id in "abc")
    assert songs.fetch_many(["c", "x", "a"]) == [{"id": "c"}, {"id": "a"}]


def test_fetch_all_is_ordered_by_the_bytes_of_the_ids(songs: Songs) -> None:
    ids = ["10", "9", "a", "B", "é", "z"]
    songs.add_many({"id": id} for id in ids)
    assert [song["id"] for song in songs.fetch_all()] == sorted(ids, key=str.encode)
    assert songs.ids() == sorted(ids, key=str.encode)


def test_find_matches_members_of_members_and_arrays(songs: Songs) -> None:
    songs.add_many(
        [
            {"id": "1", "artist": {"city": "Kassel"}, "tags": ["a", "b"]},
            {"id": "2", "artist": {"city": "Bonn"}, "tags": "a", "deleted": None},
            {"id": "3", "deleted": True},
        ]
    )

    def found(filter: Optional[dict[str, Any]], **options: Any) -> list[str]:
        return [song["id"] for song in songs.find(filter, **options)]

    assert found({"artist.city": "Kassel"}) == ["1"]
    assert found({"tags": "a"}) == ["1", "2"]
    assert found({"deleted": None}) == ["1", "2"]
    assert found({"deleted": {"$eq": True}}) == ["3"]
    assert found(None) == found({}) == ["1", "2", "3"]
    assert found(None, limit=1, skip=1) == ["2"]
    assert found(None, limit=0) == ["1", "2", "3"]
    assert songs.first({"tags": "a"})["id"] == "1"
    assert songs.first({"tags": "c"}) is None
    assert songs.count({"tags": "a"}) == 2
    with pytest.raises(holdfast.InvalidQueryError):
        songs.find({"plays": {"$nearly": 1}})


def test_delete_all_answers_how_many(songs: Songs) -> None:
    songs.add_many({"id": str(number), "even": number % 2 == 0} for number in range(10))
    assert songs.delete_all({"even": True}) == 5
    assert songs.count() == 5
    assert songs.delete_all() == 5
    assert songs.delete_all() == 0


def test_a_repository_is_a_container_of_entities(songs: Songs) -> None:
    songs["s1"] = {"plays": 1}
    songs["s2"] = {"id": "s2"}
    assert songs["s1"] == {"id": "s1", "plays": 1}
    assert "s1" in songs and "s3" not in songs
    assert len(songs) == 2
    assert list(songs) == songs.fetch_all()
    del songs["s1"]
    with pytest.raises(KeyError):
        songs["s1"]
    with pytest.raises(KeyError):
        del songs["s1"]
    with pytest.raises(holdfast.InvalidIdError):
        songs["s4"] = {"id": "s5"}
    assert songs.ids() == ["s2"]


def test_the_key_may_be_another_member_and_is_remembered(store: holdfast.Store) -> None:
    countries = store.repository("countries", key="code")
    countries.add({"code": "DE", "id": 7})
    again = store.repository("countries")
    assert again.key == "code"
    again["FR"] = {"name": "France"}
    assert again.ids() == ["DE", "FR"]
    with pytest.raises(holdfast.InvalidOptionError):
        store.repository("countries", key="name")


def test_a_repository_that_must_exist_is_not_created(store: holdfast.Store) -> None:
    with pytest.raises(holdfast.NotFoundError):
        store.repository("songs", create=False)
    assert store.describe()["repositories"] == []


@pytest.mark.parametrize("name", ["", "1a", "a b", "sqlite_x", "holdfast_x", "a" * 65, "ä", "a\0b"])
def test_a_name_that_breaks_the_rule_is_refused(store: holdfast.Store, name: str) -> None:
    with pytest.raises(ValueError):
        store.repository(name)


def test_dataclasses_go_in_and_come_out(store: holdfast.Store) -> None:
    songs = store.repository("songs", cls=Song)
    song = Song(
        "a",
        artist=Artist("b", 1900),
        covers=[Artist("c"), Artist("d")],
        credits={"bass": Artist("e")},
        parts=[Song("f", id="x", artist=Artist("g"))],
    )
    stored = songs.add(song)
    assert song.id is None and stored.id is not None
    assert stored == Song("a", stored.id, song.artist, song.covers, song.credits, song.parts)
    assert songs.fetch(stored.id) == stored == songs[stored.id] == songs.first({"artist.name": "b"})
    assert list(songs) == songs.fetch_many([stored.id]) == [stored]
    assert songs.save(stored) is stored
    assert songs.patch(stored.id, {"title": "z"}).title == "z"
    added = songs.add_many([Song("y"), Song("x", id="x")])
    assert [entity.title for entity in added] == ["y", "x"] and all(entity.id for entity in added)
    songs["w"] = Song("w")
    assert songs["w"] == Song("w", id="w")


def test_members_that_are_no_fields_are_ignored_and_missing_ones_take_defaults(store: holdfast.Store) -> None:
    store.repository("songs").add({"id": "s1", "title": "a", "later": 1})
    assert store.repository("songs", cls=Song).fetch("s1") == Song("a", id="s1")


def test_a_dict_in_a_repository_of_a_class_comes_out_as_that_class(store: holdfast.Store) -> None:
    assert store.repository("songs", cls=Song).add({"id": "s1", "title": "a"}) == Song("a", id="s1")


def test_classes_with_methods_of_their_own_are_used_by_them(store: holdfast.Store) -> None:
    tapes = store.repository("tapes", cls=Tape)
    tapes.add(Tape("t1"))
    fetched = tapes.fetch("t1")
    assert isinstance(fetched, Tape) and fetched.label == "t1"


def test_models_are_dumped_and_validated(store: holdfast.Store) -> None:
    models = store.repository("models", cls=Model)
    stored = models.add(Model(title="a"))
    assert isinstance(stored, Model) and stored.id
    fetched = models.fetch(stored.id)
    assert vars(fetched) == {"id": stored.id, "title": "a"}


def test_a_class_that_cannot_be_read_back_is_refused(store: holdfast.Store) -> None:
    with pytest.raises(TypeError, match="int"):
        store.repository("numbers", cls=int)


def test_readers_on_many_threads_get_their_own_entity(songs: Songs) -> None:
    songs.add_many({"id": str(number), "text": str(number) * (number + 1)} for number in range(50))
    wrong: list[Any] = []

    def read(start: int) -> None:
        for step in range(500):
            id = str((start + step) % 50)
            entity = songs.fetch(id)
            if entity is None or entity["text"] != id * (int(id) + 1):
                wrong.append((id, entity))

    in_threads(read, range(8))
    assert wrong == []
