"""Validators of repositories: what they refuse is not stored, whichever way it was written."""

import asyncio
import gc
from typing import Any, Callable, Optional

import jsonschema
import pydantic
import pytest
from programs import run_program
from threads import in_thread

import holdfast
import holdfast.aio

Songs = holdfast.Repository[dict[str, Any]]


class Song(pydantic.BaseModel):
    """A song, as it must be."""

    id: str
    plays: int = pydantic.Field(ge=0)


SCHEMA = {"type": "object", "properties": {"plays": {"minimum": 0}}, "required": ["plays"]}


class Refusal(Exception):
    """What a validator raises."""


def never_negative(id: str, song: Optional[dict[str, Any]]) -> None:
    if song is None and id == "pinned":
        raise Refusal("pinned")
    if song is not None and song["plays"] < 0:
        raise Refusal(f"{id} has less than none")


@pytest.mark.parametrize(
    ("validator", "error"),
    [
        (Song, pydantic.ValidationError),
        (jsonschema.Draft202012Validator(SCHEMA), jsonschema.ValidationError),
        (never_negative, Refusal),
    ],
    ids=["pydantic", "jsonschema", "function"],
)
def test_a_validator_of_every_kind_is_plugged_in(
    store: holdfast.Store, songs: Songs, validator: Any, error: type[Exception]
) -> None:
    songs.set_validator(validator)
    songs.add({"id": "s1", "plays": 0})
    with pytest.raises(error):
        songs.add({"id": "s2", "plays": -1})
    with pytest.raises(error):
        songs.patch("s1", {"plays": -1})
    with pytest.raises(error), store.transaction():
        songs.save({"id": "s2", "plays": 1})
        songs.save({"id": "s3", "plays": -1})
    assert songs.fetch_all() == [{"id": "s1", "plays": 0}]
    songs.delete("s1")
    songs.set_validator(None)
    songs.add({"id": "s2", "plays": -1})


WRITES: dict[str, Callable[[holdfast.Store, Songs], Any]] = {
    "add": lambda store, songs: songs.add({"id": "s2", "plays": -1}),
    "modify": lambda store, songs: songs.modify("pinned", {"$inc": {"plays": -9}}),
    "add_many": lambda store, songs: songs.add_many([{"id": "s2", "plays": 1}, {"id": "s3", "plays": -1}]),
    "delete": lambda store, songs: songs.delete("pinned"),
    "delete_all": lambda store, songs: songs.delete_all(),
    "modify_all": lambda store, songs: songs.modify_all(None, {"$inc": {"plays": -9}}),
    "transact": lambda store, songs: store.transact(lambda: songs.add({"id": "s2", "plays": -1})),
    "submit": lambda store, songs: store.submit(lambda: songs.add({"id": "s2", "plays": -1})),
    "perform": lambda store, songs: songs.deferred.add({"id": "s2", "plays": -1}).perform(),
    "operation": lambda store, songs: songs.deferred.add({"id": "s2", "plays": -1}).submit().result(120),
    "sequence": lambda store, songs: (
        store.sequence(songs.deferred.delete("pinned"), songs.deferred.count()).submit().result(120)
    ),
}


@pytest.mark.parametrize("write", WRITES)
def test_the_exception_of_a_validator_is_the_one_that_the_write_raises(
    store: holdfast.Store, songs: Songs, write: str
) -> None:
    songs.add({"id": "pinned", "plays": 1})
    raised: list[Refusal] = []

    def check(id: str, song: Optional[dict[str, Any]]) -> None:
        try:
            never_negative(id, song)
        except Refusal as error:
            raised.append(error)
            raise

    songs.set_validator(check)
    with pytest.raises(Refusal) as caught:
        WRITES[write](store, songs)
    assert caught.value is raised[-1]
    assert songs.fetch_all() == [{"id": "pinned", "plays": 1}]


def test_what_a_validator_raises_may_say_anything(store: holdfast.Store, songs: Songs) -> None:
    mine = Refusal("half a character: \ud83d, and a NUL: \0")

    def refuse(*_: Any) -> None:
        raise mine

    class Node(holdfast.Transactable):
        """Refuses."""

        def on_validate_commit(self) -> None:
            raise mine

    songs.set_validator(refuse)
    with pytest.raises(Refusal) as raised:
        songs.save({"id": "s1"})
    assert raised.value is mine
    songs.set_validator(None)
    with pytest.raises(Refusal) as raised, store.transaction(Node()):
        songs.save({"id": "s1"})
    assert raised.value is mine
    mine.__traceback__ = None
    assert songs.count() == 0


def test_a_transaction_is_checked_as_it_is_in_the_end(store: holdfast.Store, songs: Songs) -> None:
    seen: list[Any] = []
    songs.set_validator(lambda id, song: seen.append((id, song)))
    with store.transaction():
        songs.add({"id": "b", "plays": -1})
        songs.patch("b", {"plays": 1})
        songs.add({"id": "a"})
        assert not seen
    assert seen == [("a", {"id": "a"}), ("b", {"id": "b", "plays": 1})]


def test_a_refused_explicit_commit_stays_open_for_repair(store: holdfast.Store, songs: Songs) -> None:
    songs.set_validator(never_negative)
    with store.transaction() as transaction:
        songs.add({"id": "s1", "plays": -1})
        with pytest.raises(Refusal):
            transaction.commit()
        songs.patch("s1", {"plays": 1})
    assert songs["s1"]["plays"] == 1


def test_a_validator_reads_and_writes_in_the_transaction(store: holdfast.Store, songs: Songs) -> None:
    totals = store.repository("totals")
    totals.add({"id": "songs", "count": 0})
    runs = []

    def count(id: str, song: Optional[dict[str, Any]]) -> None:
        total = totals["songs"]["count"]
        runs.append(total)
        if len(runs) == 1:
            in_thread(lambda: totals.patch("songs", {"count": 10}))
        totals.patch("songs", {"count": total + 1})

    songs.set_validator(count)
    songs.add({"id": "s1"})
    assert runs == [0, 10] and totals["songs"]["count"] == 11


def test_objects_and_entities_are_validated_together(store: holdfast.Store, songs: Songs) -> None:
    class Chart(holdfast.Model):
        """Stored when it commits."""

        def __init__(self) -> None:
            self.id, self.plays = "chart", 1

    songs.set_validator(never_negative)
    chart = Chart().bind(songs)
    with store.transaction(chart):
        chart.plays = 2
    with pytest.raises(Refusal), store.transaction(chart):
        chart.plays = -2
    assert chart.plays == 2 == songs["chart"]["plays"]


def test_awaited_writes_are_checked_too(path: str) -> None:
    async def main() -> None:
        async with holdfast.aio.open(path) as store:
            songs = store.repository("songs")
            await songs.set_validator(never_negative)
            await songs.add({"id": "s1", "plays": 1})
            with pytest.raises(Refusal, match="s2 has less than none"):
                await songs.add({"id": "s2", "plays": -1})
            with pytest.raises(Refusal):
                async with store.transaction():
                    await songs.add({"id": "s2", "plays": -1})
            results = await asyncio.gather(
                *[songs.save({"id": f"n{n}", "plays": n % 2 - 1}) for n in range(200)], return_exceptions=True
            )
            assert [type(result) for result in results] == [Refusal, dict] * 100
            assert await songs.count() == 101
            await songs.set_validator(None)

    asyncio.run(main())


def test_what_is_no_validator_is_refused_and_one_is_let_go(store: holdfast.Store, songs: Songs) -> None:
    with pytest.raises(TypeError, match="not int"):
        songs.set_validator(17)

    class Check:
        """Notes that it goes."""

        gone = 0

        def __call__(self, id: str, song: Any) -> None:
            pass

        def __del__(self) -> None:
            Check.gone += 1

    for gone in (0, 1, 2):
        songs.set_validator(Check())
        gc.collect()
        assert Check.gone == gone
    store.close()
    gc.collect()
    assert Check.gone == 3
    with pytest.raises(holdfast.ClosedError):
        songs.set_validator(Check())
    gc.collect()
    assert Check.gone == 4


def test_an_interpreter_that_ends_while_validators_run_loses_nothing(path: str) -> None:
    ended = run_program(
        """
        import sys, holdfast
        store = holdfast.open(sys.argv[1])
        songs = store.repository("songs")
        songs.set_validator(lambda id, song: sum(range(1000)))
        for number in range(500):
            songs.deferred.add({"id": number}).submit()
        """,
        path,
    )
    assert (ended.returncode, ended.stderr.count("Traceback")) == (0, 0), ended.stderr
