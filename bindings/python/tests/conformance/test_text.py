"""Text indexes, on every engine."""

import io
from typing import Any, Callable

import pytest

import holdfast

SCORE = {"$meta": "textScore"}
ARTICLES = [
    {"id": "1", "title": "Coffee", "body": "Dark roasts and light ones", "stars": 3},
    {"id": "2", "title": "Tea", "body": "No coffee here, only leaves", "stars": 5},
    {"id": "3", "title": "Decaf", "body": "Coffee without its point: a dark roast, decaf", "stars": 1},
    {"id": "4", "title": "Café", "body": ["crème", "brûlée à la crème"], "stars": 4},
    {"id": "5", "title": 5, "stars": 2},
]


@pytest.fixture
def store(open_store: Callable[..., holdfast.Store]) -> holdfast.Store:
    return open_store()


@pytest.fixture
def articles(store: holdfast.Store) -> Any:
    articles = store.repository("articles")
    articles.save_many(ARTICLES)
    articles.create_index({"title": 10, "body": 1}, kind="text")
    return articles


def ids(repository: Any, search: str, **options: Any) -> list[str]:
    found = repository.find({"$text": {"$search": search}}, **options)
    return [entity["id"] for entity in found]


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("coffee", ["1", "2", "3"]),
        ("COFFEES", ["1", "2", "3"]),
        ("cafe creme", ["4"]),
        ("cafe tea", ["2", "4"]),
        ('"dark roast"', ["1", "3"]),
        ('coffee "dark roast" -decaf', ["1"]),
        ('coffee -"dark roast"', ["2"]),
        ("coffee -dark-roast", ["2"]),
        ('tea "dark roast"', ["1", "3"]),
        ('"creme brulee"', []),
        ('"brulee a la creme"', ["4"]),
        ('"dark roast', ["1", "3"]),
        ("-coffee", []),
        ("", []),
        ("5", []),
        ("coffee -coffee", []),
    ],
)
def test_words_phrases_and_exclusions_are_found(articles: Any, search: str, expected: list[str]) -> None:
    assert sorted(ids(articles, search)) == expected
    assert articles.count({"$text": {"$search": search}}) == len(expected)


def test_the_best_come_first_and_tell_their_scores(articles: Any) -> None:
    assert ids(articles, "coffee", sort={"score": SCORE})[0] == "1"
    found = articles.find(
        {"$text": {"$search": "coffee tea"}},
        sort={"score": SCORE},
        fields={"score": SCORE, "title": 1},
        limit=2,
    )
    assert [sorted(entity) for entity in found] == [["id", "score", "title"]] * 2
    assert found[0]["score"] > found[1]["score"] > 0
    whole = articles.find({"$text": {"$search": "tea"}}, fields={"relevance": SCORE})
    assert whole[0].pop("relevance") > 0 and whole == [ARTICLES[1]]


def test_it_goes_together_with_other_conditions(articles: Any) -> None:
    asked = {"$text": {"$search": "coffee"}}
    assert [a["id"] for a in articles.find({**asked, "stars": {"$gte": 3}}, sort={"stars": -1})] == ["2", "1"]
    assert [a["id"] for a in articles.find({**asked, "id": "3"}, sort={"score": SCORE})] == ["3"]
    assert sorted(a["id"] for a in articles.find({"$or": [asked, {"stars": 4}]})) == ["1", "2", "3", "4"]
    assert [a["id"] for a in articles.find({"$and": [asked, {"stars": 1}]})] == ["3"]
    parameters = {"words": "tea", "language": "none"}
    asked = {"$text": {"$search": {"$param": "words"}, "$language": {"$param": "language"}}}
    assert [a["id"] for a in articles.find(asked, parameters=parameters)] == ["2"]
    assert articles.distinct("stars", {"$text": {"$search": "dark"}}) == [1, 3]
    assert articles.delete_all({"$text": {"$search": "decaf"}}) == 1
    assert sorted(ids(articles, "coffee")) == ["1", "2"]


def test_a_cursor_hands_out_the_best_first(articles: Any) -> None:
    for n in range(300):
        articles.save({"id": f"x{n:03}", "body": "coffee " * (n % 7 + 1), "stars": 0})
    asked: dict[str, Any] = {"$text": {"$search": "coffee"}}
    options: dict[str, Any] = {"sort": {"score": SCORE}, "fields": {"score": SCORE}}
    expected = articles.find(asked, **options)
    assert [entity["score"] for entity in expected] == sorted((e["score"] for e in expected), reverse=True)
    assert list(articles.iterate(asked, **options)) == expected


def test_every_commit_keeps_it(articles: Any) -> None:
    articles.save({"id": "6", "body": "coffee"})
    articles.patch("2", {"body": "only leaves"})
    articles.delete("3")
    assert sorted(ids(articles, "coffee")) == ["1", "6"]
    assert articles.verify()["ok"]
    articles.drop_index("title_body_text")
    with pytest.raises(holdfast.InvalidQueryError, match="text index"):
        articles.find({"$text": {"$search": "coffee"}})


def test_a_transaction_sees_what_it_has_written(store: holdfast.Store, articles: Any) -> None:
    with store.transaction():
        articles.save({"id": "0", "title": "Coffee coffee"})
        articles.patch("2", {"body": "leaves"})
        articles.delete("3")
        assert sorted(ids(articles, "coffee")) == ["0", "1"]
        assert ids(articles, "coffee", sort={"score": SCORE})[0] == "0"
    assert sorted(ids(articles, "coffee")) == ["0", "1"]


def test_what_was_searched_is_validated(store: holdfast.Store, articles: Any) -> None:
    def attempt(body: str) -> None:
        other = store.begin()
        with other.joined():
            assert len(articles.find({"$text": {"$search": "coffee"}})) == 3
            articles.save({"id": "count", "n": 3})
        articles.save({"id": "new", "body": body})
        other.commit()

    attempt("nothing of the kind")
    with pytest.raises(holdfast.ConflictError):
        attempt("more coffees")


def test_of_the_best_those_count_that_were_handed_out_and_what_matches_since(
    store: holdfast.Store, articles: Any
) -> None:
    def attempt(change: Callable[[], object]) -> None:
        articles.save_many(ARTICLES)
        other = store.begin()
        with other.joined():
            assert ids(articles, "coffee", sort={"score": SCORE}, limit=1) == ["1"]
            store.repository("counts").save({"id": "count"})
        change()
        other.commit()

    attempt(lambda: articles.delete("3"))
    attempt(lambda: articles.save({"id": "2", "body": "no more leaves"}))
    for change in (
        lambda: articles.save({"id": "1", "title": "Coffee"}),
        lambda: articles.save({"id": "2", "body": "coffee still"}),
        lambda: articles.save({"id": "new", "body": "coffee"}),
    ):
        with pytest.raises(holdfast.ConflictError):
            attempt(change)


def test_a_repository_has_one_text_index(articles: Any) -> None:
    articles.create_index({"title": 10, "body": 1}, kind="text")
    with pytest.raises(holdfast.ExistsError, match="title_body_text"):
        articles.create_index(["title"], kind="text")
    assert articles.indexes() == [
        {
            "name": "title_body_text",
            "kind": "text",
            "fields": {"title": 10, "body": 1},
            "language": "english",
            "stop_words": [],
            "unique": False,
            "state": "ready",
            "arrays": False,
        }
    ]


def test_what_is_explained(articles: Any) -> None:
    report = articles.explain({"$text": {"$search": "coffee"}})
    assert (report["access"], report["index"], report["exact"]) == ("index", "title_body_text", True)
    assert report["bounds"] == {"$text": ["coffe"]} and report["matched"] == 3
    report = articles.explain({"$text": {"$search": '"light ones"'}}, sort={"score": SCORE})
    assert report["bounds"] == {"$text": ["light", "one"]} and report["sort"] == "memory"
    assert (report["examined"], report["matched"], report["exact"]) == (0, 1, True)


def test_stop_words_count_in_phrases_alone(store: holdfast.Store) -> None:
    texts = store.repository("texts")
    texts.create_index(["a"], kind="text", stop_words=["The", "is", "to", "be"])
    texts.save_many([{"id": "1", "a": "The end is near"}, {"id": "2", "a": "To be at an end"}])
    assert ids(texts, "the is") == []
    assert sorted(ids(texts, "the end")) == ["1", "2"]
    assert ids(texts, '"the end"') == ["1"]
    assert ids(texts, '"to be" end') == ["2"]
    assert ids(texts, '"to be"') == []
    assert sorted(ids(texts, "end -the")) == ["1", "2"]
    assert ids(texts, 'end -"the end"') == ["2"]


@pytest.mark.parametrize(
    ("filter", "told"),
    [
        ({"$text": "coffee"}, r"\$search"),
        ({"$text": {}}, r"\$search"),
        ({"$text": {"$search": 1}}, "string"),
        ({"$text": {"$search": "a", "$language": "klingon"}}, "klingon"),
        ({"$text": {"$search": "a", "$caseSensitive": True}}, r"\$regex"),
        ({"$text": {"$search": "a", "$fuzzy": 1}}, r"\$fuzzy"),
        ({"$nor": [{"$text": {"$search": "a"}}]}, r"\$nor"),
        ({"a": {"$elemMatch": {"$text": {"$search": "a"}}}}, r"\$elemMatch"),
        ({"a": {"$text": {"$search": "a"}}}, "beside paths"),
        ({"$and": [{"$text": {"$search": "a"}}, {"$text": {"$search": "b"}}]}, "twice"),
        ({"$text": {"$search": "w " * 257}}, "256"),
    ],
)
def test_what_cannot_be_searched_is_told(articles: Any, filter: dict[str, Any], told: str) -> None:
    with pytest.raises(holdfast.InvalidQueryError, match=told):
        articles.find(filter)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"fields": {"a": 0}}, "weight"),
        ({"fields": {"a": 100_000}}, "weight"),
        ({"fields": ["a"], "language": "klingon"}, "klingon"),
        ({"fields": ["a"], "stop_words": [1]}, "stop_words"),
        ({"fields": ["a"], "unique": True}, "unique"),
        ({"fields": ["a"], "expire_after": 1}, "expire_after_ms"),
    ],
)
def test_what_no_text_index_can_be_is_told(store: holdfast.Store, options: dict[str, Any], told: str) -> None:
    with pytest.raises(holdfast.InvalidOptionError, match=told):
        store.repository("texts").create_index(kind="text", **options)


def test_an_index_that_is_still_building_is_named(store: holdfast.Store) -> None:
    texts = store.repository("texts")
    texts.save_many([{"id": str(n), "a": "coffee"} for n in range(3)])
    told = []

    def progress(done: int) -> None:
        for ask in (
            lambda: texts.find({"$text": {"$search": "coffee"}}),
            lambda: texts.aggregate([{"$match": {"$text": {"$search": "coffee"}}}]),
        ):
            with pytest.raises(
                holdfast.InvalidQueryError, match='"a_text", which is still building'
            ) as refused:
                ask()
            told.append(refused.value.detail["index"])

    texts.create_index(["a"], kind="text", progress=progress)
    assert len(told) >= 2
    assert set(told) == {"a_text"}
    assert ids(texts, "coffee") == ["0", "1", "2"]


def test_scores_are_refused_where_there_are_none(articles: Any) -> None:
    for options in ({"sort": {"score": SCORE}}, {"fields": {"score": SCORE}}):
        with pytest.raises(holdfast.InvalidOptionError, match=r"\$text"):
            articles.find({"stars": 1}, **options)
        with pytest.raises(holdfast.InvalidOptionError, match="live query"):
            with articles.observe({"$text": {"$search": "a"}}, **options) as query:
                query.next(120)


def test_limits_are_kept_at_their_edges(store: holdfast.Store) -> None:
    texts = store.repository("texts")
    texts.create_index(["a"], kind="text", language="none")
    texts.save({"id": "1", "a": "x" * 256 + "y"})
    assert ids(texts, "x" * 256) == ids(texts, "x" * 300) == ["1"]
    assert ids(texts, "x" * 255) == []
    texts.save({"id": "2", "a": " ".join(str(n) for n in range(99_999))})
    assert ids(texts, "99998") == ["2"]
    with pytest.raises(holdfast.InvalidEntityError, match="100000"):
        texts.save({"id": "3", "a": " ".join(str(n) for n in range(100_000))})
    assert len(texts.find({"$text": {"$search": "0 " * 256}})) == 1


def test_an_export_takes_it_along(store: holdfast.Store, articles: Any) -> None:
    file = io.BytesIO()
    store.export_lines(file)
    file.seek(0)
    with holdfast.open("memory:") as other:
        other.import_lines(file)
        again = other.repository("articles")
        assert again.indexes() == articles.indexes()
        assert sorted(ids(again, "coffee")) == ["1", "2", "3"]


def test_a_live_query_follows_words(articles: Any) -> None:
    with articles.observe({"$text": {"$search": "coffee -decaf"}}) as query:
        assert [entity["id"] for entity in query.next(120).entities] == ["1", "2"]
        articles.patch("4", {"body": "Coffees of all kinds"})
        assert [entity["id"] for entity in query.next(120).entities] == ["1", "2", "4"]
        articles.patch("2", {"body": "decaf coffee"})
        assert [entity["id"] for entity in query.next(120).entities] == ["1", "4"]
