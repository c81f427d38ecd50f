"""A query along a range of ids takes entities from the cache, and answers as if there were none."""

import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Optional

import pytest

import holdfast

COUNT = 500
Songs = "holdfast.Repository[Any]"


def entity(number: int) -> dict[str, Any]:
    return {"id": f"{number * 7919 % COUNT:05}", "plays": number, "text": "x" * (number % 90)}


@pytest.fixture
def songs(tmp_path: Any) -> Any:
    with holdfast.open(tmp_path / "store.db") as store:
        repository = store.repository("songs")
        repository.add_many([entity(number) for number in range(COUNT)])
        yield repository


def between(low: str, high: Optional[str]) -> dict[str, Any]:
    return {"id": {"$gte": low} if high is None else {"$gte": low, "$lt": high}}


def random_range(chance: random.Random) -> tuple[str, Optional[str]]:
    low, high = sorted(f"{chance.randrange(COUNT + 10):05}" for _ in range(2))
    return low, high if chance.random() < 0.7 else None


def elsewhere(body: Callable[[], Any]) -> None:
    """Runs it outside of the current transaction."""
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


def compare(songs: Songs, model: dict[str, dict[str, Any]], chance: random.Random) -> None:
    """A query of each kind finds what the model has."""
    low, high = random_range(chance)
    ids = [id for id in sorted(model) if low <= id and (high is None or id < high)]
    expected = [model[id] for id in ids]
    filter, skip, limit = between(low, high), chance.randrange(5), chance.randrange(1, 60)
    assert songs.find(filter) == expected
    assert list(songs.iterate(filter)) == expected
    assert songs.find(filter, skip=skip, limit=limit) == expected[skip : skip + limit]
    assert songs.find(filter, sort={"id": -1}) == expected[::-1]
    assert songs.find(filter, sort={"id": -1}, limit=limit) == expected[::-1][:limit]
    assert songs.count(filter) == len(expected)
    plays = chance.randrange(COUNT)
    assert songs.find(filter | {"plays": {"$lt": plays}}) == [one for one in expected if one["plays"] < plays]
    listed = chance.sample([*ids, "none", "such"], min(len(ids), 8))
    assert songs.find({"id": {"$in": listed}}) == [model[id] for id in sorted(listed) if id in model]


def change(songs: Songs, model: dict[str, dict[str, Any]], chance: random.Random) -> None:
    for id in chance.sample(sorted(model), 40):
        if chance.random() < 0.3:
            songs.delete(id)
            del model[id]
        else:
            model[id] = model[id] | {"text": chance.choice("ab") * chance.randrange(300)}
            songs.save(model[id])
    for number in range(5):
        added = {"id": f"{chance.randrange(COUNT):05}+{number}", "plays": number, "text": "new"}
        model[added["id"]] = added
        songs.save(added)


def test_what_the_cache_has_is_taken_from_there(songs: Songs) -> None:
    expected = songs.find(between("00100", "00400"))
    for one in expected:
        songs.fetch(one["id"])
    before = songs.cache_statistics()
    assert songs.find(between("00100", "00400")) == expected
    after = songs.cache_statistics()
    assert after["hits"] - before["hits"] == len(expected) == 300
    assert (after["misses"], after["fills"]) == (before["misses"], before["fills"])


@pytest.mark.parametrize("kept", [0, 1, 2, 3, 40, 250, COUNT - 3, COUNT])
def test_whatever_the_cache_has_a_query_finds_the_same(songs: Songs, kept: int) -> None:
    chance = random.Random(kept)
    model = {one["id"]: one for one in map(entity, range(COUNT))}
    for id in chance.sample(sorted(model), kept):
        songs.fetch(id)
    for _ in range(12):
        compare(songs, model, chance)


@pytest.mark.parametrize("seed", range(3))
def test_a_transaction_finds_its_own_snapshot_and_its_own_writes_among_them(songs: Songs, seed: int) -> None:
    chance = random.Random(seed)
    model = {one["id"]: one for one in map(entity, range(COUNT))}
    for id in model:
        songs.fetch(id)
    for _ in range(3):
        with pytest.raises(RuntimeError), songs.store.transaction():
            compare(songs, model, chance)
            earlier = dict(model)
            elsewhere(lambda: change(songs, model, chance))
            elsewhere(lambda: compare(songs, model, chance))
            compare(songs, earlier, chance)
            change(songs, earlier, chance)
            compare(songs, earlier, chance)
            raise RuntimeError
        compare(songs, model, chance)


def test_a_damaged_row_among_cached_ones_is_told(tmp_path: Any) -> None:
    with holdfast.open(tmp_path / "store.db") as store:
        songs: Songs = store.repository("songs")
        songs.add_many([entity(number) for number in range(COUNT)])
    with sqlite3.connect(tmp_path / "store.db") as file:
        file.execute("UPDATE holdfast_entity SET body = '{\"id\":\"other\"}' WHERE id = '00150'")
    file.close()
    with holdfast.open(tmp_path / "store.db") as store:
        songs = store.repository("songs")
        for number in [*range(100, 150), *range(151, 200)]:
            songs.fetch(f"{number:05}")
        assert len(songs.find(between("00100", "00150"))) == 50
        with pytest.raises(holdfast.CorruptError, match="00150"):
            songs.find(between("00100", "00200"))
        assert len(songs.find(between("00100", "00200"), damaged="skip")) == 99


def test_what_has_expired_is_read_anew(tmp_path: Any) -> None:
    with holdfast.open(tmp_path / "store.db") as store:
        songs: Songs = store.repository("songs", cache=holdfast.CachePolicy(time_to_live=0.2))
        songs.add_many([entity(number) for number in range(100)])
        everything = between("", None)
        expected = sorted(map(entity, range(100)), key=lambda one: one["id"])
        assert songs.find(everything) == expected
        time.sleep(0.3)
        before = songs.cache_statistics()["hits"]
        assert songs.find(everything) == expected
        assert songs.cache_statistics()["hits"] == before


def test_pieces_and_questions_behind_each_entity_change_no_answer() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "own"],
        env=os.environ | {"HOLDFAST_LIMITS": "pieceBytes=1,interruptInterval=1,interruptSteps=1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout
