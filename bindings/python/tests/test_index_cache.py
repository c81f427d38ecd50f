"""A query along an index takes entities from the cache, and answers as if there were none."""

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, Callable

import pytest

import holdfast

COUNT = 2_000
COLOURS = 4
ANSWERS = "find", "iterate"


def entity(number: int) -> dict[str, Any]:
    return {"id": f"{number * 7919 % COUNT:05}", "colour": number % COLOURS, "text": "x" * (number % 90)}


def answer(songs: "holdfast.Repository[Any]", how: str, colour: int) -> list[dict[str, Any]]:
    return list(getattr(songs, how)({"colour": colour}))


def filled(store: holdfast.Store) -> "holdfast.Repository[Any]":
    songs = store.repository("songs")
    songs.create_index({"colour": 1})
    songs.add_many([entity(number) for number in range(COUNT)])
    return songs


@pytest.fixture
def songs(tmp_path: Any) -> Iterator["holdfast.Repository[Any]"]:
    with holdfast.open(tmp_path / "store.db") as store:
        yield filled(store)


def elsewhere(body: Callable[[], Any]) -> None:
    """Runs it outside of the current transaction."""
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


@pytest.mark.parametrize("how", ANSWERS)
def test_what_was_found_is_in_the_cache_the_next_time(songs: "holdfast.Repository[Any]", how: str) -> None:
    first = answer(songs, how, 1)
    before = songs.cache_statistics()
    assert before["fills"] == len(first) == COUNT / COLOURS
    assert answer(songs, how, 1) == first
    after = songs.cache_statistics()
    assert after["hits"] - before["hits"] == len(first)
    assert after["fills"] == before["fills"]


@pytest.mark.parametrize("how", ANSWERS)
def test_each_transaction_finds_what_its_own_snapshot_has(
    songs: "holdfast.Repository[Any]", how: str
) -> None:
    chance = random.Random(1)
    model = {one["id"]: one for one in (entity(number) for number in range(COUNT))}

    def expected() -> list[list[dict[str, Any]]]:
        ids = sorted(model)
        return [[model[id] for id in ids if model[id]["colour"] == colour] for colour in range(COLOURS)]

    def found() -> list[list[dict[str, Any]]]:
        return [answer(songs, how, colour) for colour in range(COLOURS)]

    def change() -> None:
        for id in chance.sample(sorted(model), 60):
            if chance.random() < 0.3:
                songs.delete(id)
                del model[id]
            else:
                model[id] = model[id] | {"colour": chance.randrange(COLOURS), "text": chance.choice("ab")}
                songs.save(model[id])

    for _ in range(4):
        earlier = expected()
        assert found() == earlier
        with songs.store.transaction():
            assert found() == earlier
            newer = []
            elsewhere(change)
            elsewhere(lambda newer=newer: newer.append(found()))
            assert newer == [expected()]
            assert found() == earlier


@pytest.mark.parametrize("how", ANSWERS)
def test_a_query_that_meets_some_in_the_cache_answers_as_well(
    songs: "holdfast.Repository[Any]", how: str
) -> None:
    everything = answer(songs, "find", 2)
    for kept in (0, 1, 2, 3, 5, 50, len(everything) - 3):
        songs.invalidate_cache()
        for one in random.Random(kept).sample(everything, kept):
            songs.fetch(one["id"])
        assert answer(songs, how, 2) == everything


def test_a_query_pushes_nothing_out_of_a_full_cache(tmp_path: Any) -> None:
    with holdfast.open(tmp_path / "store.db", cache_bytes=100_000) as store:
        songs = filled(store)
        used = [entity(number)["id"] for number in range(100)]
        for id in used:
            songs.fetch(id)
        for _ in range(2):
            assert len(answer(songs, "find", 1)) == COUNT / COLOURS
        before = songs.cache_statistics()
        assert before["evictions"] == 0 and before["bytes"] <= 100_000
        for id in used:
            songs.fetch(id)
        assert songs.cache_statistics()["hits"] - before["hits"] == len(used)


def test_pieces_and_questions_behind_each_entity_change_no_answer() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "snapshot or some"],
        env=os.environ | {"HOLDFAST_LIMITS": "pieceBytes=1,interruptInterval=1,interruptSteps=1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout


def test_what_has_expired_makes_room_for_what_a_query_reads(tmp_path: Any) -> None:
    with holdfast.open(tmp_path / "store.db") as store:
        policy = holdfast.CachePolicy(max_entries=10, time_to_live=0.2)
        songs: holdfast.Repository[Any] = store.repository("songs", cache=policy)
        songs.create_index({"colour": 1})
        songs.add_many([{"id": str(number), "colour": 1} for number in range(10)])
        found = answer(songs, "find", 1)
        time.sleep(0.3)
        before = songs.cache_statistics()
        assert answer(songs, "find", 1) == found
        after = songs.cache_statistics()
        assert (after["expirations"] - before["expirations"], after["fills"] - before["fills"]) == (10, 10)
