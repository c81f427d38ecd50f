"""Text indexes against SQLite's FTS5, and against a model, over random entities."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast

SCORE = {"$meta": "textScore"}
# Only such as both take for one word: Unicode's rules have "don't" and "3.14" for one each, FTS5 for two.
WORDS = (
    "coffee coffees roast roasted roasting roasts dark darker darkness light relational conditional "
    "run running runs café CAFE Über uber naïve 東 привет ПРИВЕТ λογου ΛΟΓΟΥ 42 a the happily happiness "
    "hopping hoped flies dies agreed"
).split()
TEXT = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
DOCUMENTS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=12)
SEARCH = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)


class Both:
    """The same texts in an index of ours and in a table of FTS5."""

    def __init__(self, documents: list[tuple[str, str]], *, stemmed: bool) -> None:
        self.store = holdfast.open("memory:")
        self.texts = self.store.repository("texts")
        self.texts.create_index({"a": 3, "b": 1}, kind="text", language="porter" if stemmed else "none")
        tokenizer = "porter unicode61 remove_diacritics 2" if stemmed else "unicode61 remove_diacritics 2"
        self.table = sqlite3.connect(":memory:")
        self.table.execute(f"CREATE VIRTUAL TABLE texts USING fts5(a, b, tokenize='{tokenizer}')")
        for number, (a, b) in enumerate(documents):
            self.texts.save({"id": f"{number:03}", "a": a, "b": b})
            self.table.execute("INSERT INTO texts (rowid, a, b) VALUES (?, ?, ?)", (number, a, b))

    def __enter__(self) -> "Both":
        return self

    def __exit__(self, *_: Any) -> None:
        self.store.close()
        self.table.close()

    def ours(self, search: str) -> list[tuple[str, float]]:
        found = self.texts.find(
            {"$text": {"$search": search}}, sort={"score": SCORE}, fields={"score": SCORE}
        )
        return [(entity["id"], entity["score"]) for entity in found]

    def theirs(self, match: str) -> dict[str, float]:
        rows = self.table.execute("SELECT rowid, -bm25(texts, 3, 1) FROM texts WHERE texts MATCH ?", (match,))
        return {f"{number:03}": score for number, score in rows}


@settings(max_examples=150, deadline=None)
@given(documents=DOCUMENTS, words=SEARCH, stemmed=st.booleans())
def test_words_are_found_and_scored_as_by_fts5(
    documents: list[tuple[str, str]], words: list[str], stemmed: bool
) -> None:
    # A term that the search names twice, as "roast roasts", counts once here and twice there.
    with Both(documents, stemmed=stemmed) as both:
        distinct = [word for n, word in enumerate(words) if word.lower() not in map(str.lower, words[:n])]
        ours = both.ours(" ".join(distinct))
        theirs = both.theirs(" OR ".join(f'"{word}"' for word in distinct))
        assert {id for id, _ in ours} == set(theirs)
        assert [score for _, score in ours] == sorted((score for _, score in ours), reverse=True)
        if len(distinct) == 1:
            for id, score in ours:
                assert score == pytest.approx(theirs[id])


@settings(max_examples=150, deadline=None)
@given(documents=DOCUMENTS, words=SEARCH, without=SEARCH, stemmed=st.booleans())
def test_phrases_and_exclusions_are_found_as_by_fts5(
    documents: list[tuple[str, str]], words: list[str], without: list[str], stemmed: bool
) -> None:
    phrase, excluded = " ".join(words), " ".join(without)
    with Both(documents, stemmed=stemmed) as both:
        assert {id for id, _ in both.ours(f'"{phrase}"')} == set(both.theirs(f'"{phrase}"'))
        ours = both.ours(f'"{phrase}" -"{excluded}"')
        assert {id for id, _ in ours} == set(both.theirs(f'"{phrase}" NOT "{excluded}"'))


def text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(0, 6)))


@pytest.mark.parametrize("seed", range(4))
def test_random_commits_while_it_is_built_leave_it_right(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    with holdfast.open(str(tmp_path / "texts.db")) as store:
        texts = store.repository("texts")
        texts.save_many([{"id": str(n), "a": text(rng)} for n in range(2000)])
        is_over = threading.Event()
        failures: list[BaseException] = []

        def write() -> None:
            mine = random.Random(seed + 100)
            try:
                while not is_over.is_set():
                    id = str(mine.randrange(2500))
                    if mine.random() < 0.3:
                        texts.delete(id, missing_ok=True)
                    else:
                        texts.save({"id": id, "a": text(mine)})
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=write)
        thread.start()
        for _ in range(2):
            texts.create_index(["a"], kind="text", name="words")
            texts.drop_index("words")
        texts.create_index(["a"], kind="text", name="words")
        is_over.set()
        thread.join()
        assert not failures
        report = texts.verify()
        assert report["ok"], report
        with holdfast.open("memory:") as fresh:
            again = fresh.repository("texts")
            again.create_index(["a"], kind="text")
            again.save_many(texts.find())
            for word in WORDS:
                for search in (word, f"{word} -roast", f'"{word} dark"'):
                    asked = {"$text": {"$search": search}}
                    options: dict[str, Any] = {"sort": {"s": SCORE, "id": 1}, "fields": {"s": SCORE}}
                    assert texts.find(asked, **options) == again.find(asked, **options)


def test_a_process_that_is_killed_leaves_it_right(tmp_path: Path) -> None:
    path = str(tmp_path / "texts.db")
    program = f"""
import holdfast, random
store = holdfast.open({path!r})
texts = store.repository("texts")
texts.create_index(["a"], kind="text")
print("begun", flush=True)
rng = random.Random(1)
while True:
    texts.save({{"id": str(rng.randrange(200)), "a": " ".join(rng.choices({WORDS!r}, k=5))}})
"""
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, env=os.environ
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            threading.Event().wait(0.3)
            child.send_signal(signal.SIGKILL)
        with holdfast.open(path) as store:
            texts = store.repository("texts")
            assert texts.verify()["ok"] and len(texts) > 0
            for word in ("roast", "cafe", "42"):
                found = {entity["id"] for entity in texts.find({"$text": {"$search": word}})}
                scanned = {
                    entity["id"]
                    for entity in texts.find()
                    if texts.exists({"id": entity["id"], "$text": {"$search": word}})
                }
                assert found == scanned


def test_a_build_that_is_killed_is_gone_on_with(tmp_path: Path) -> None:
    path = str(tmp_path / "texts.db")
    rng = random.Random(1)
    entities = {str(n): {"id": str(n), "a": text(rng)} for n in range(1500)}
    with holdfast.open(path) as store:
        store.repository("texts").save_many(list(entities.values()))
    program = f"""
import holdfast, os, signal, sys
store = holdfast.open({path!r})
texts = store.repository("texts")
def progress(done):
    if done >= int(sys.argv[1]): os.kill(os.getpid(), signal.SIGKILL)
    texts.save({{"id": "0", "a": f"roast {{done}}"}})
    texts.delete("new", missing_ok=True)
    texts.save({{"id": "new", "a": "dark"}})
texts.create_index(["a"], kind="text", name="words", progress=progress)
"""
    # Each piece is of few entities, and of few words.
    limits = {
        "HOLDFAST_LIMITS": "indexPieceEntries=50,indexRunBytes=60000,textRowBytes=120,textFragmentBytes=10"
    }
    for done in (100, 300, 900, 1300):
        killed = subprocess.run([sys.executable, "-c", program, str(done)], env={**os.environ, **limits})
        assert killed.returncode == -signal.SIGKILL
        with holdfast.open(path) as store:
            texts = store.repository("texts")
            assert [index["state"] for index in texts.indexes()] == ["building"]
            texts.save({"id": "1", "a": f"light {done}"})
            texts.delete(str(done), missing_ok=True)
    with holdfast.open(path) as store:
        texts = store.repository("texts")
        texts.create_index(["a"], kind="text", name="words")
        report = texts.verify()
        assert report["ok"], report
        for word in ("roast", "light", "900", "dark"):
            found = {entity["id"] for entity in texts.find({"$text": {"$search": word}})}
            ids = texts.ids()
            assert found == {id for id in ids if texts.exists({"id": id, "$text": {"$search": word}})}


def test_what_is_replaced_or_deleted_leaves_no_words_of_its_damaged_text(tmp_path: Path) -> None:
    path = str(tmp_path / "texts.db")
    with holdfast.open(path) as store:
        texts = store.repository("texts")
        texts.create_index(["a"], kind="text")
        texts.save_many([{"id": str(n), "a": f"dark w{n}"} for n in range(400)])
    with sqlite3.connect(path) as file:
        file.execute("UPDATE holdfast_entity SET body = '{' WHERE id IN ('7', '300')")
    file.close()
    with holdfast.open(path) as store:
        texts = store.repository("texts")
        texts.save({"id": "7", "a": "light"})
        texts.delete("300")
        for word, count in (("w7", 0), ("w300", 0), ("dark", 398), ("light", 1)):
            assert texts.count({"$text": {"$search": word}}) == count
        assert texts.verify()["ok"]


@pytest.mark.parametrize("place", ["memory:", "texts.db"])
def test_a_renamed_repository_keeps_it_and_a_dropped_one_does_not(tmp_path: Path, place: str) -> None:
    asked = {"$text": {"$search": "coffee"}}
    with holdfast.open(place if place == "memory:" else str(tmp_path / place)) as store:
        articles = store.repository("articles")
        articles.create_index(["title"], kind="text")
        articles.save({"id": "1", "title": "Coffee"})
        store.rename("articles", "papers")
        papers = store.repository("papers")
        papers.save({"id": "2", "title": "coffees"})
        assert sorted(entity["id"] for entity in papers.find(asked)) == ["1", "2"]
        store.drop("papers")
        with pytest.raises(holdfast.InvalidQueryError, match="text index"):
            papers.find(asked)


def test_a_backup_and_a_file_opened_again_have_it(tmp_path: Path) -> None:
    asked = {"$text": {"$search": "coffee"}}
    with holdfast.open(str(tmp_path / "texts.db")) as store:
        articles = store.repository("articles")
        articles.create_index(["title"], kind="text")
        articles.save({"id": "1", "title": "Coffee"})
        store.backup(str(tmp_path / "copy.db"))
        with sqlite3.connect(tmp_path / "texts.db") as file:
            reader = "SELECT value FROM holdfast_meta WHERE name = 'minimum_reader'"
            assert file.execute(reader).fetchone() == (4,)
    for name in ("texts.db", "copy.db"):
        with holdfast.open(str(tmp_path / name)) as store:
            articles = store.repository("articles")
            assert [entity["id"] for entity in articles.find(asked)] == ["1"]
            assert articles.verify()["ok"]


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("count, shortest, longest", [(2000, 80, 120), (8000, 6, 10)])
def test_it_takes_at_most_half_as_much_again_as_that_of_fts5(
    tmp_path: Path, in_place: bool, count: int, shortest: int, longest: int
) -> None:
    rng = random.Random(1)
    vocabulary = [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 10))) for _ in range(5000)
    ]
    weights = [1 / (n + 2) for n in range(5000)]
    lengths = [rng.randint(shortest, longest) for _ in range(count)]
    bodies = [" ".join(rng.choices(vocabulary, weights, k=length)) for length in lengths]

    def bytes_of(path: Path, tables: str) -> int:
        with sqlite3.connect(path) as file:
            (size,) = file.execute("SELECT sum(pgsize) FROM dbstat WHERE name LIKE ?", (tables,)).fetchone()
        file.close()
        return int(size)

    with holdfast.open(str(tmp_path / "ours.db")) as store:
        texts = store.repository("texts")
        if in_place:
            texts.create_index(["a"], kind="text", language="porter")
        for start in range(0, len(bodies), 100):
            texts.add_many(
                {"id": f"text-{n:05}", "a": bodies[n]} for n in range(start, min(len(bodies), start + 100))
            )
        if not in_place:
            texts.create_index(["a"], kind="text", language="porter")
    with sqlite3.connect(tmp_path / "theirs.db") as file:
        file.execute(
            "CREATE VIRTUAL TABLE texts USING fts5"
            " (a, content = '', tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        file.executemany("INSERT INTO texts (rowid, a) VALUES (?, ?)", enumerate(bodies))
    file.close()
    ours = bytes_of(tmp_path / "ours.db", "holdfast_index_%")
    assert ours <= 1.5 * bytes_of(tmp_path / "theirs.db", "texts_%")


@pytest.mark.parametrize("in_order", [False, True])
def test_names_of_all_sorts_come_and_go(tmp_path: Path, in_order: bool) -> None:
    rng = random.Random(5)
    letters = ["a", "b", " ", "~", "\u00ff", "\U0001f600", "long" * 18]
    ids = list({"".join(rng.choices(letters, k=rng.randint(1, 6))) for _ in range(600)})
    if in_order:
        ids.sort(key=lambda id: id.encode())
    with holdfast.open(str(tmp_path / "texts.db")) as store:
        texts = store.repository("texts")
        texts.create_index(["a"], kind="text", language="none")
        kept: dict[str, str] = {}
        for _ in range(2):
            for start in range(0, len(ids), 100):
                some = {id: text(rng) for id in ids[start : start + 100]}
                texts.save_many([{"id": id, "a": words} for id, words in some.items()])
                kept |= some
            assert texts.verify()["ok"]
            for id in rng.sample(sorted(kept), len(kept) * 9 // 10):
                texts.delete(id)
                del kept[id]
            report = texts.verify()
            assert report["ok"], report
        for word in ("coffee", "dark", "flies", "42"):
            found = [entity["id"] for entity in texts.find({"$text": {"$search": word}}, sort={"id": 1})]
            assert set(found) == {id for id, words in kept.items() if word in words.split()}
