"""Models: objects whose state goes back with their transaction, and is stored with it."""

import asyncio
import collections
import copy
from dataclasses import dataclass, field
from typing import Any, Optional

import pydantic
import pytest
from threads import in_thread

import holdfast
import holdfast.aio


class Plain(holdfast.Model):
    """A plain class."""

    def __init__(self, id: Optional[str] = None, plays: int = 0, tags: Optional[list[Any]] = None) -> None:
        self.id, self.plays, self.tags = id, plays, tags or []


@dataclass
class Record(holdfast.Model):
    """A dataclass."""

    id: Optional[str] = None
    plays: int = 0
    tags: list[Any] = field(default_factory=list)


class Checked(pydantic.BaseModel, holdfast.Model):
    """A pydantic model."""

    id: Optional[str] = None
    plays: int = 0
    tags: list[Any] = []
    _private: int = 0


@holdfast.Model
class Decorated:
    """A plain class, decorated."""

    def __init__(self, id: Optional[str] = None, plays: int = 0, tags: Optional[list[Any]] = None) -> None:
        self.id, self.plays, self.tags = id, plays, tags or []


@holdfast.Model
@dataclass
class DecoratedRecord:
    """A dataclass, decorated."""

    id: Optional[str] = None
    plays: int = 0
    tags: list[Any] = field(default_factory=list)


@dataclass
class Slotted(holdfast.Model):
    """Attributes that stand in no dict."""

    __slots__ = ("__weakref__", "id", "plays", "tags")

    id: Optional[str]
    plays: int
    tags: list[Any]


KINDS = [Plain, Record, Checked, Decorated, DecoratedRecord, Slotted]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def model(request: pytest.FixtureRequest) -> Any:
    return request.param(id="s1", plays=1, tags=["rock", {"deep": [1, 2]}])


def state(model: Any) -> Any:
    return copy.deepcopy((model.id, model.plays, model.tags))


def change(model: Any) -> None:
    model.plays += 1
    model.tags.append("soul")
    model.tags[1]["deep"].clear()
    model.tags[1]["more"] = 1


def test_a_rollback_restores_attributes_and_containers_in_the_same_objects(model: Any) -> None:
    before, tags, deep = state(model), model.tags, model.tags[1]["deep"]
    for replace in (False, True):
        with pytest.raises(LookupError), model.transaction():
            change(model)
            if replace:
                model.tags = []
            raise LookupError
        assert state(model) == before
        assert model.tags is tags and model.tags[1]["deep"] is deep


def test_a_commit_keeps_what_was_changed(model: Any) -> None:
    with model.transaction():
        change(model)
    after = state(model)
    assert (model.plays, model.tags[1]) == (2, {"deep": [], "more": 1})
    with pytest.raises(LookupError), model.transaction():
        change(model)
        raise LookupError
    assert state(model) == after


def test_a_refusal_restores_in_the_block_and_waits_for_repair_after_an_explicit_commit() -> None:
    class Careful(Record):
        """Refuses."""

        def on_validate_commit(self) -> None:
            if self.plays > 1:
                raise ValueError("too many")

    careful = Careful("s1", 1)
    with pytest.raises(ValueError, match="too many"), careful.transaction():
        careful.plays = 2
    assert careful.plays == 1
    careful.begin_transaction()
    careful.plays = 2
    with pytest.raises(ValueError, match="too many"):
        careful.commit_transaction()
    assert careful.plays == 2
    careful.plays = 0
    careful.commit_transaction()
    assert careful.plays == 0


def test_an_object_s_own_methods_are_called_with_its_state_restored() -> None:
    seen: list[tuple[str, int]] = []

    class Listener(Record):
        """Hears of it all."""

        def on_begin(self, transaction: bytes) -> None:
            seen.append(("begin", self.plays))

        def on_commit(self, transaction: bytes) -> None:
            seen.append(("commit", self.plays))

        def on_rollback(self, transaction: bytes) -> None:
            seen.append(("rollback", self.plays))

    listener = Listener("s1", 1)
    with pytest.raises(LookupError), listener.transaction():
        listener.plays = 2
        raise LookupError
    with listener.transaction():
        listener.plays = 3
    assert seen == [("begin", 1), ("rollback", 1), ("begin", 1), ("commit", 3)]


def test_what_was_added_and_deleted_comes_back_and_goes() -> None:
    plain = Plain("s1")
    with pytest.raises(LookupError), plain.transaction():
        plain.new = 1  # type: ignore[attr-defined]
        del plain.plays
        raise LookupError
    assert vars(plain) == {"id": "s1", "plays": 0, "tags": []}


def test_containers_of_every_kind_are_restored() -> None:
    @dataclass
    class Part:
        """A part of the model, because it is a dataclass."""

        names: list[str]

    plain = Plain("s1")
    values = {
        "list": [1],
        "dict": {"a": 1},
        "set": {1},
        "bytearray": bytearray(b"a"),
        "deque": collections.deque([1]),
        "ordered": collections.OrderedDict(a=1, b=2),
        "default": collections.defaultdict(list, a=[1]),
        "tuple": ([1],),
        "part": Part(["a"]),
        "itself": plain,
    }
    plain.tags = [values, values]
    before = copy.deepcopy({name: value for name, value in values.items() if name != "itself"})
    with pytest.raises(LookupError), plain.transaction():
        values["list"].append(2)
        values["dict"].clear()
        values["set"].add(2)
        values["bytearray"].extend(b"b")
        values["deque"].appendleft(0)
        values["ordered"].move_to_end("a")
        values["default"]["b"].append(1)
        values["tuple"][0].append(2)
        values["part"].names.append("b")
        raise LookupError
    assert {name: value for name, value in values.items() if name != "itself"} == before
    assert list(values["ordered"]) == ["a", "b"] and plain.tags[1] is values


def test_a_pydantic_model_gets_all_of_its_state_back() -> None:
    checked = Checked(id="s1")
    with pytest.raises(LookupError), checked.transaction():
        checked.plays = 2
        checked._private = 2
        raise LookupError
    assert (checked.plays, checked._private, checked.model_fields_set) == (0, 0, {"id"})
    assert checked.model_dump() == {"id": "s1", "plays": 0, "tags": []} and checked == Checked(id="s1")


def test_a_savepoint_restores_the_state_at_it(model: Any, store: holdfast.Store) -> None:
    for enter, savepoint in ((model.transaction, model.savepoint), (None, store.savepoint)):
        with enter() if enter is not None else store.transaction(model):
            change(model)
            before = state(model)
            with pytest.raises(LookupError), savepoint():
                change(model)
                raise LookupError
            assert state(model) == before


def test_trees_of_models_go_back_together() -> None:
    root, child = Record("root"), Record("child")
    child.attach(root)
    root.tags.append(child)
    with pytest.raises(LookupError), root.transaction():
        child.plays = 1
        late = Record("late")
        late.attach(child)
        late.plays = 5
        root.tags.append(late)
        raise LookupError
    assert (child.plays, late.plays, root.tags) == (0, 0, [child])


# --- Stored ----------------------------------------------------------------------------------------


def test_committing_a_bound_object_stores_it(model: Any, store: holdfast.Store) -> None:
    songs = store.repository("songs")
    assert model.bind(songs) is model
    for _ in range(2):
        with store.transaction(model):
            model.plays += 1
        assert songs["s1"] == {"id": "s1", "plays": model.plays, "tags": model.tags}
    with store.transaction(model) as unchanged:
        pass
    assert unchanged.receipt.changes == ()
    with store.transaction(model) as changed:
        model.tags[1]["deep"].append(3)
    assert [change.id for change in changed.receipt.changes] == ["s1"]
    # Equal, and written otherwise.
    for value in (1, True):
        with store.transaction(model):
            model.tags[1]["more"] = value
        assert songs["s1"]["tags"][1]["more"] is value
    before = state(model)
    with pytest.raises(LookupError), store.transaction(model):
        change(model)
        raise LookupError
    assert state(model) == before
    assert (songs["s1"]["plays"], songs["s1"]["tags"]) == before[1:]


def test_an_object_without_an_id_is_given_one(store: holdfast.Store) -> None:
    for kind in (Plain, Record, Checked):
        songs = store.repository(kind.__name__.lower(), cls=None if kind is Plain else kind)
        song = kind().bind(songs)
        with pytest.raises(LookupError), store.transaction(song) as transaction:
            transaction.validate()
            raise LookupError
        assert song.id is None and songs.count() == 0
        with store.transaction(song):
            song.plays = 3
        assert song.id is not None and songs.contains(song.id) and songs.count() == 1
        with store.transaction(song):
            song.plays = 4
        assert songs.count({"plays": 4}) == songs.count() == 1


def test_a_model_is_bound_to_what_can_store_it_without_waiting() -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            with pytest.raises(TypeError, match="with holdfast"):
                Record("s1").bind(store.repository("songs"))

    asyncio.run(main())


def test_a_fetched_object_can_be_bound(store: holdfast.Store) -> None:
    songs = store.repository("songs", cls=Record)
    songs.add(Record("s1", 1))
    song = songs["s1"].bind(songs)
    with store.transaction(song):
        song.plays += 1
    assert songs["s1"] == Record("s1", 2)
    with song.transaction():  # of the object alone: nothing is stored
        song.plays += 1
    assert songs["s1"].plays == 2


def test_a_bound_object_is_given_back_when_the_store_refuses(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.create_index("plays", unique=True)
    songs.add({"id": "other", "plays": 7})
    song = Record("s1", 1).bind(songs)
    with pytest.raises(holdfast.UniqueViolationError), store.transaction(song):
        song.plays = 7
    assert song.plays == 1 and not songs.contains("s1")


def test_models_and_store_agree_wherever_another_commit_comes_between(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.add({"id": "clock"})
    root, child = Record("root").bind(songs), Record("child").bind(songs)
    child.attach(root)
    outcomes: set[str] = set()
    for place in range(6):

        def tick(step: int, place: int = place) -> None:
            if step == place:
                in_thread(lambda: songs.modify("clock", {"$inc": {"time": 1}}))

        before = root.plays
        try:
            with store.transaction(root):
                tick(0)
                songs.fetch("clock")
                tick(1)
                root.plays += 1
                tick(2)
                child.plays += 1
                child.tags.append(place)
                tick(3)
                store.current_transaction.validate()
                tick(4)
        except holdfast.ConflictError:
            outcomes.add("conflict")
            assert root.plays == before
        else:
            outcomes.add("commit")
            assert root.plays == before + 1
        for model in (root, child):
            stored = songs.fetch(model.id, {"plays": 0, "tags": []})
            assert (stored["plays"], stored["tags"]) == (model.plays, model.tags)
    assert outcomes == {"conflict", "commit"}
