"""Text indexes where words, searches and texts are at their edges."""

import os
import re
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast

SCORE = {"$meta": "textScore"}


def search(words: str) -> dict[str, Any]:
    return {"$text": {"$search": words}}


def along(texts: Any, words: str) -> list[str]:
    """The ids of what is found along the index, in their order."""
    return sorted(entity["id"] for entity in texts.find(search(words)))


def one_by_one(texts: Any, words: str) -> list[str]:
    """The same, each entity looked at for itself."""
    return [id for id in sorted(texts.ids()) if texts.exists({"id": id, **search(words)})]


# --- Words ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "word"), [("porter", "s"), ("arabic", "ـ"), ("nepali", "छ")])
def test_a_word_that_is_but_an_ending_is_a_word(language: str, word: str) -> None:
    with holdfast.open("memory:") as store:
        texts = store.repository("texts")
        texts.create_index(["a"], kind="text", language=language)
        texts.save_many([{"id": "1", "a": f"{word} {word}"}, {"id": "2", "a": "42"}, {"id": "3", "a": "43"}])
        assert along(texts, word) == one_by_one(texts, word) == ["1"]
        assert texts.count(search(word)) == 1
        (best,) = texts.find(search("42"), fields={"score": SCORE})
        # Of three entities with two, one and one words, one of which has it.
        length = 1 / (4 / 3)
        expected = 0.5108256237659907 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length))
        assert best["score"] == pytest.approx(expected)
        assert texts.verify()["ok"]


WORDS = "computing computer computes is the a fun funny dark roast roasts café".split()
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
PIECES = st.tuples(
    st.sampled_from(["", "-", '"', '-"']), st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)
)


def piece(kind: str, words: list[str]) -> str:
    return f'{kind}{" ".join(words)}"' if '"' in kind else f"{kind}{words[0]}"


def check_ranks(texts: Any, words: str) -> None:
    """The best few are the first of all, and all have the scores by which they are ordered."""
    ranked = texts.find(search(words), sort={"s": SCORE}, fields={"s": SCORE})
    assert sorted(entity["id"] for entity in ranked) == along(texts, words)
    assert [entity["s"] for entity in ranked] == sorted((entity["s"] for entity in ranked), reverse=True)
    for count in range(1, len(ranked) + 1):
        best = texts.find(search(words), sort={"s": SCORE}, fields={"s": SCORE}, limit=count)
        assert best == ranked[:count]


@settings(max_examples=200, deadline=None)
@given(
    texts=st.lists(st.one_of(TEXTS, st.lists(TEXTS, max_size=3), st.none()), min_size=1, max_size=8),
    pieces=st.lists(PIECES, min_size=1, max_size=4),
    stop_words=st.lists(st.sampled_from(WORDS), max_size=3),
)
def test_the_index_finds_what_looking_at_each_entity_finds(
    texts: list[Any], pieces: list[tuple[str, list[str]]], stop_words: list[str]
) -> None:
    words = " ".join(piece(*it) for it in pieces)
    with holdfast.open("memory:") as store:
        repository = store.repository("texts")
        repository.create_index(["a"], kind="text", stop_words=stop_words)
        half = len(texts) // 2
        repository.save_many([{"id": str(n), "a": text} for n, text in enumerate(texts[:half])])
        with store.transaction():
            repository.save_many([{"id": str(n), "a": text} for n, text in enumerate(texts) if n >= half])
            inside = along(repository, words)
            assert inside == one_by_one(repository, words)
            check_ranks(repository, words)
        assert along(repository, words) == inside == one_by_one(repository, words)
        check_ranks(repository, words)


def test_the_stop_words_of_a_phrase_are_not_asked_of_the_index() -> None:
    with holdfast.open("memory:") as store:
        texts = store.repository("texts")
        texts.create_index(["a"], kind="text", stop_words=["computing"])
        texts.save_many([{"id": "1", "a": "Computing is fun"}, {"id": "2", "a": "A computer is fun"}])
        assert along(texts, 'computer "computing is"') == ["1", "2"]


def test_a_phrase_is_found_behind_its_own_beginning_and_within_one_text() -> None:
    with holdfast.open("memory:") as store:
        texts = store.repository("texts")
        texts.create_index(["a"], kind="text")
        texts.save_many([{"id": "1", "a": "dark dark dark roast"}, {"id": "2", "a": ["dark dark", "roast"]}])
        assert along(texts, '"dark dark roast"') == ["1"]
        assert along(texts, 'dark -"dark dark roast"') == ["2"]
        # The index has where words stand, so that no text is looked at.
        report = texts.explain(search('"dark dark roast"'))
        assert (report["examined"], report["exact"]) == (0, True)


def test_scores_go_by_the_state_that_is_read() -> None:
    def scores(texts: Any) -> Any:
        return texts.find(search("roast"), sort={"s": SCORE}, fields={"s": SCORE}, limit=3)

    with holdfast.open("memory:") as store, holdfast.open("memory:") as fresh:
        texts, again = store.repository("texts"), fresh.repository("texts")
        for it in (texts, again):
            it.create_index(["a"], kind="text")
        for n in range(10):
            texts.save({"id": str(n), "a": "roast " * (n % 3) + "dark " * n})
            before = scores(texts)
        again.save_many(texts.find())
        assert before == scores(texts) == scores(again)


def beside(work: Callable[[], Any]) -> None:
    """Outside of the transaction that is running."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(work).result()


@pytest.mark.parametrize("url", ["memory:", "{}/texts.db"])
@pytest.mark.parametrize("has_transaction", [True, False])
def test_a_walk_whose_snapshot_is_taken_back_leaves_out_what_no_longer_matches(
    tmp_path: Path, url: str, has_transaction: bool
) -> None:
    with holdfast.open(url.format(tmp_path), max_snapshots=1) as store:
        texts = store.repository("texts")
        texts.create_index(["a"], kind="text")
        texts.save_many({"id": f"{n:03}", "a": "red", "b": "x" * 3000} for n in range(300))
        with store.transaction() if has_transaction else nullcontext():
            walk = iter(texts.iterate(search("red")))
            found = [next(walk)]
            beside(lambda: texts.save_many({"id": f"{n:03}", "a": "blue"} for n in range(200, 290)))
            beside(lambda: texts.find({"b": 0}))
            found += walk
        assert [it["id"] for it in found] == [f"{n:03}" for n in range(300) if not 200 <= n < 290]


def test_the_best_matches_are_asked_for_again_where_the_snapshot_is_taken_back(tmp_path: Path) -> None:
    program = f"""if True:
        import signal, threading
        import holdfast

        store = holdfast.open({str(tmp_path / "texts.db")!r}, max_snapshots=1)
        texts = store.repository("texts")
        texts.create_index(["a"], kind="text")

        def beside(work):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

        def disturb(*_):
            beside(lambda: texts.save_many({{"id": f"{{n:03}}", "a": "blue"}} for n in range(60, 200)))
            beside(lambda: texts.find({{"b": 0}}))

        signal.signal(signal.SIGALRM, disturb)
        for attempt in range(200):
            texts.save_many({{"id": f"{{n:03}}", "a": "red"}} for n in range(400))
            try:
                with store.transaction():
                    signal.setitimer(signal.ITIMER_REAL, 0.0002 * (attempt % 20 + 1))
                    found = texts.find(
                        {{"$text": {{"$search": "red"}}}}, sort={{"s": {{"$meta": "textScore"}}}}, limit=150
                    )
                assert len(found) == 150 and all(it["a"] == "red" for it in found)
            except holdfast.ConflictError as conflict:
                if "best matches" in conflict.message:
                    break
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        else:
            raise SystemExit("no search was disturbed in its middle")
    """
    limits = {"HOLDFAST_LIMITS": "interruptInterval=1,interruptSteps=1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | limits, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_scores_stay_where_entities_are_read_as_they_lie(tmp_path: Path) -> None:
    with holdfast.open(str(tmp_path / "texts.db")) as store:
        texts = store.repository("texts")
        texts.create_index(["a"], kind="text")
        texts.save_many({"id": str(n), "a": "roast " * (n % 3) + "dark " * n, "n": n % 5} for n in range(50))
        asked = {"$or": [search("roast"), {"n": 1}]}
        found = texts.find(asked, sort={"s": SCORE}, fields={"s": SCORE})
        assert found[0]["s"] > 0 and [it["s"] for it in found] == sorted(
            (it["s"] for it in found), reverse=True
        )


def test_values_are_distinct_beside_an_index_of_their_words() -> None:
    with holdfast.open("memory:") as store:
        texts = store.repository("texts")
        texts.create_index(["a"], kind="text")
        texts.save_many({"id": str(n), "a": "dark roast" if n < 3000 else "roast dark"} for n in range(6000))
        assert texts.distinct("a") == ["dark roast", "roast dark"]


# --- Cost ----------------------------------------------------------------------------------------------


def seconds(call: Callable[[], Any]) -> float:
    """Of the fastest of three."""
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
    return best


def test_a_long_phrase_costs_no_more_where_a_text_seems_to_have_it_again_and_again() -> None:
    with holdfast.open("memory:") as store:
        texts = store.repository("texts")
        texts.create_index(["a"], kind="text")
        texts.save({"id": "1", "a": "a " * 500_000})
        short, long = (f'"{"a " * count}b" a' for count in (1, 254))
        assert texts.count(search(short)) == texts.count(search(long)) == 0
        asked = [
            seconds(lambda words=words: texts.exists({"id": "1", **search(words)})) for words in (short, long)
        ]
        assert asked[1] < 6 * asked[0]


def test_many_stop_words_are_read_once() -> None:
    def asked(stop_words: list[str]) -> float:
        with holdfast.open("memory:") as store:
            texts = store.repository("texts")
            texts.create_index(["a"], kind="text", stop_words=stop_words)
            texts.save({"id": "1", "a": "dark roast"})
            return seconds(lambda: [texts.count(search("roast")) for _ in range(10)])

    assert asked([f"stop{n}" for n in range(10_000)]) < 30 * asked([])


READ_ONE_OF_MANY = """
import sys
import holdfast

def most():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

with holdfast.open(sys.argv[1], cache_bytes=0) as store:
    texts = store.repository("texts")
    texts.find({"id": "0"})
    before = most()
    found = texts.find({"$text": {"$search": "word"}}, limit=17, fields=["id"])
    assert len(found) == 17, found
    print(most() - before)
"""


def test_a_search_for_a_few_does_not_read_those_behind_them(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "store.db", durability="relaxed") as store:
        texts: holdfast.Repository[Any] = store.repository("texts")
        texts.create_index(["text"], kind="text")
        for number in range(60):
            body = "x" * (10 if number < 16 else 1 << 20)
            texts.save({"id": str(number), "text": "word", "body": body})
    program = [sys.executable, "-c", READ_ONE_OF_MANY, str(tmp_path / "store.db")]
    run = subprocess.run(program, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 16 << 10  # of 44 MiB, in KiB


def test_an_index_that_an_older_library_made_is_named_by_the_search(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with holdfast.open(path) as store:
        store.repository("texts").create_index(["text"], kind="text", name="words")
    with sqlite3.connect(path) as database:
        (definition,) = database.execute("SELECT definition FROM holdfast_index").fetchone()
        older = re.sub('"entries": ?[0-9]+', '"entries":1', definition)
        assert older != definition
        database.execute("UPDATE holdfast_index SET definition = ?", [older])
    database.close()
    with holdfast.open(path) as store:
        with pytest.raises(holdfast.UnsupportedError, match=r'"words" .* drop it and create it again'):
            store.repository("texts").find({"$text": {"$search": "word"}})
