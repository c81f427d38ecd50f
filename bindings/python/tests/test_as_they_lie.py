"""Where a file holds little but one repository, it is read as its rows lie. No answer tells of that."""

import contextlib
import itertools
import os
import random
import re
import subprocess
import sys
import threading

import pytest

import holdfast

# More than a few rows, from which on it pays.
COUNT = 6_000


def entity(number):
    return {
        "id": f"{number * 7919 % COUNT:05}",
        "colour": number % 7,
        "size": number % 1013,
        "text": "x" * (number % 90),
    }


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Two repositories in one file: nearly all rows are the first one's, and none lie in the order of ids."""
    with holdfast.open(tmp_path_factory.mktemp("lie") / "store.db") as store:
        many, few = store.repository("many"), store.repository("few")
        for start in range(0, COUNT, 1000):
            many.add_many([entity(number) for number in range(start, start + 1000)])
            few.add({"id": f"{start}", "colour": 3})
        # The rows of what is added again lie behind the others.
        again = random.Random(1).sample(range(COUNT), 300)
        many.delete_many([entity(number)["id"] for number in again])
        many.add_many([entity(number) for number in again])
        yield many, few


@pytest.mark.parametrize("colour", range(8))
def test_what_a_filter_finds_comes_by_ids_and_is_what_reading_everything_finds(filled, colour):
    for repository in filled:
        expected = [one for one in repository.fetch_all() if one["colour"] == colour]
        assert repository.find({"colour": colour}) == expected
        assert repository.find({"colour": colour}, skip=17) == expected[17:]
        assert repository.find({"colour": colour}, skip=17, limit=5) == expected[17:22]
        assert repository.count({"colour": colour}) == len(expected)
        assert list(repository.iterate({"colour": colour})) == expected


def test_what_is_sorted_comes_as_from_reading_everything(filled):
    many, _ = filled
    expected = sorted(
        (one for one in many.fetch_all() if one["colour"] < 3), key=lambda one: (-one["size"], one["id"])
    )
    found = many.find({"colour": {"$lt": 3}}, sort={"size": -1, "id": 1})
    assert found == expected


def test_a_transaction_finds_what_it_has_written_among_them(filled):
    many, _ = filled
    with pytest.raises(RuntimeError), many.store.transaction():
        many.save({"id": "00003x", "colour": 5, "size": 0})
        ids = [one["id"] for one in many.find({"colour": 5})]
        assert "00003x" in ids and ids == sorted(ids)
        raise RuntimeError


def test_few_rows_beside_many_that_were_stored_anew_are_not_sought_among_those(tmp_path):
    path = tmp_path / "store.db"
    with holdfast.open(path) as store:
        few, many = store.repository("few"), store.repository("many")
        few.add({"id": "old", "colour": 1})
        for _ in range(4):
            # It lies behind what goes, and before what comes.
            few.add({"id": "new", "colour": 3})
            many.delete_all()
            many.add_many([{"id": f"{number:04}", "text": "many" * 20} for number in range(2_000)])
            few.delete("new")
        few.add({"id": "new", "colour": 3})
        many.delete_all()
        many.add_many([{"id": f"{number:04}", "text": "many" * 20} for number in range(2_000)])
    # Nobody reads a page in the midst of the many who does not read them all.
    pages = bytearray(path.read_bytes())
    leaf = 13
    for start in range(4096, len(pages), 4096):
        page = pages[start : start + 4096]
        is_at_end = b"colour" in page or b'"id":"1999"' in page
        if page[0] == leaf and re.search(rb'"id":"(09|10)\d\d"', page) and not is_at_end:
            pages[start] = 255
    path.write_bytes(pages)
    with holdfast.open(path) as store:
        assert store.repository("few").find({"colour": 3}) == [{"id": "new", "colour": 3}]
        with pytest.raises(holdfast.CorruptError):
            store.repository("many").find({"colour": 3})


@pytest.mark.parametrize("seed", range(4))
def test_a_transaction_lays_all_that_it_has_written_over_them(filled, seed):
    many, _ = filled
    chance = random.Random(seed)
    written = [entity(number) | {"colour": chance.randrange(9)} for number in chance.sample(range(COUNT), 40)]
    deleted = [one["id"] for one in written[:10]]
    with pytest.raises(RuntimeError), many.store.transaction():
        many.save_many([*written, {"id": "00003x", "colour": 5, "size": 0}])
        many.delete_many(deleted)
        for colour in range(9):
            expected = [one for one in many.fetch_all() if one["colour"] == colour]
            assert many.find({"colour": colour}) == expected
            assert many.count({"colour": colour}) == len(expected)
            by_size = sorted(expected, key=lambda one: (one["size"], one["id"]))
            assert many.find({"colour": colour}, sort={"size": 1, "id": 1}) == by_size
        raise RuntimeError


def elsewhere(body):
    """Runs it outside of the current transaction."""
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


def test_what_a_transaction_has_found_and_what_it_would_find_now_are_conflicts(filled):
    many, _ = filled
    found = many.find({"colour": 6})[7]
    other = many.find({"colour": 5})[7]
    for change, is_conflict in [
        (found | {"text": "another"}, True),
        (other | {"colour": 6}, True),
        (other | {"text": "another"}, False),
    ]:
        before = many.fetch(change["id"])
        with contextlib.ExitStack() as stack:
            if is_conflict:
                stack.enter_context(pytest.raises(holdfast.ConflictError))
            stack.enter_context(many.store.transaction())
            assert len(many.find({"colour": 6})) > 100
            many.save({"id": "00003y", "colour": 8})
            elsewhere(lambda change=change: many.save(change))
        many.save(before)
        if not is_conflict:
            many.delete("00003y")


def test_a_transaction_goes_on_in_newer_states_where_what_it_was_at_has_gone(tmp_path):
    with holdfast.open(tmp_path / "store.db", snapshot_max_age_ms=100) as store:
        many = store.repository("many")
        many.add_many([entity(number) for number in range(COUNT)])
        expected = [one for one in many.fetch_all() if one["colour"] == 6]
        others = [one for one in many.fetch_all() if one["colour"] != 6]
        is_over = threading.Event()

        def store_anew():
            for one in itertools.cycle(others):
                if is_over.is_set():
                    return
                many.delete(one["id"])
                many.save(one)

        writer = threading.Thread(target=store_anew)
        writer.start()
        try:
            for _ in range(5):
                with store.transaction():
                    assert many.find({"colour": 6}) == expected
                    assert many.count({"colour": 6}) == len(expected)
        finally:
            is_over.set()
            writer.join()


def test_a_walk_that_is_stopped_for_questions_all_the_time_goes_on_where_it_was():
    limits = "interruptInterval=1,interruptSteps=1"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            __file__,
            "-k",
            "ids and (3 or 7) or lays and (0 or 1) or newer",
        ],
        env=os.environ | {"HOLDFAST_LIMITS": limits},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "5 passed" in done.stdout, done.stdout
