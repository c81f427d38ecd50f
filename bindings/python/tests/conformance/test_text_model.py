"""Text indexes against a model of what they must answer, over random commits, on every engine."""

import random
from typing import Any, Callable

import pytest
from text_model import TextModel, search_text

import holdfast

SCORE = {"$meta": "textScore"}
# A few that are in nearly every text, and many that are in few.
WORDS = [f"{chr(97 + n % 26)}{'xyz'[n % 3]}{n}" for n in range(120)]
WEIGHTS = [1 / (n + 1) for n in range(120)]


def text(rng: random.Random, longest: int = 30) -> str:
    return " ".join(rng.choices(WORDS, WEIGHTS, k=rng.randint(0, longest)))


def entity(rng: random.Random, id: str) -> dict[str, Any]:
    made: dict[str, Any] = {"id": id, "a": text(rng)}
    kind = rng.random()
    if kind < 0.1:
        made["a"] = [text(rng, 8) for _ in range(rng.randint(0, 3))]
    elif kind < 0.15:
        made["a"] = rng.choice([None, 5, {}])
    elif kind < 0.2:
        # Positions that no row holds.
        made["a"] = f"{rng.choice(WORDS[:5])} " * rng.randint(300, 1500) + text(rng)
    if rng.random() < 0.3:
        made["b"] = text(rng, 5)
    return made


def pieces(rng: random.Random) -> tuple[list[str], list[list[str]], list[list[str]]]:
    def phrase() -> list[str]:
        return rng.choices(WORDS[:12], WEIGHTS[:12], k=rng.randint(1, 3))

    words = rng.choices(WORDS, k=rng.randint(0, 3)) + rng.choices(WORDS[:6], k=rng.randint(0, 1))
    phrases = [phrase() for _ in range(rng.choice([0, 0, 1, 1, 2]))]
    return words, phrases, [phrase() for _ in range(rng.choice([0, 0, 0, 1]))]


def check(texts: Any, model: TextModel, rng: random.Random, searches: int) -> None:
    for _ in range(searches):
        asked = pieces(rng)
        expected = model.search(*asked)
        filter = search_text(*asked)
        ranked: dict[str, Any] = {"sort": {"score": SCORE}, "fields": {"score": SCORE}}
        found = texts.find(filter, **ranked)
        assert sorted(it["id"] for it in found) == sorted(id for id, _ in expected), asked
        scores = dict(expected)
        for it in found:
            assert it["score"] == pytest.approx(scores[it["id"]], rel=1e-9), asked
        assert texts.count(filter) == len(expected)
        assert sorted(it["id"] for it in texts.find(filter)) == sorted(scores)
        limit = rng.randint(1, 8)
        assert texts.find(filter, **ranked, limit=limit) == found[:limit]


@pytest.mark.parametrize("seed", range(3))
def test_random_commits_are_found_and_scored_as_by_the_model(
    open_store: Callable[..., holdfast.Store], seed: int
) -> None:
    rng = random.Random(seed)
    model = TextModel({"a": 3, "b": 1})
    store = open_store()
    texts = store.repository("texts")

    def save(number: int) -> None:
        made = [entity(rng, str(rng.randrange(90))) for _ in range(number)]
        made = list({it["id"]: it for it in made}.values())
        texts.save_many(made)
        model.entities.update({it["id"]: it for it in made})

    save(rng.choice([0, 40]))
    texts.create_index({"a": 3, "b": 1}, kind="text", language="none")
    for step in range(24):
        kind = rng.random()
        if kind < 0.5:
            save(rng.choice([1, 1, 2, 30]))
        elif kind < 0.7:
            for id in rng.sample(sorted(model.entities), min(len(model.entities), rng.choice([1, 20]))):
                texts.delete(id)
                del model.entities[id]
        elif kind < 0.85:
            with store.transaction():
                save(rng.choice([1, 5]))
                gone = rng.choice(sorted(model.entities))
                texts.delete(gone)
                del model.entities[gone]
                # What the transaction wrote is found, and scored by the state before.
                asked = pieces(rng)
                found = {it["id"] for it in texts.find(search_text(*asked))}
                assert found == {id for id, _ in model.search(*asked)}
        elif kind < 0.9:
            with pytest.raises(ZeroDivisionError), store.transaction():
                texts.save({"id": "0", "a": "never there"})
                _ = 1 / 0
        else:
            texts.drop_index("a_b_text")
            texts.create_index({"a": 3, "b": 1}, kind="text", language="none")
        check(texts, model, rng, 3)
        if step % 8 == 7:
            report = texts.verify()
            assert report["ok"], report


def test_words_in_more_entities_than_a_row_holds_are_found(open_store: Callable[..., holdfast.Store]) -> None:
    model = TextModel({"a": 1})
    store = open_store()
    texts = store.repository("texts")
    rng = random.Random(1)
    made = [{"id": f"{n:04}", "a": f"all {text(rng, 6)} all{n % 7}"} for n in range(1500)]
    texts.save_many(made[:500])
    texts.create_index(["a"], kind="text", language="none")
    texts.save_many(made[500:])
    model.entities = {it["id"]: it for it in made}
    check(texts, model, rng, 5)
    assert texts.count(search_text(["all"])) == 1500
    # What grows in the middle, and from the end to the beginning.
    for n in [*range(600, 640), *range(300, 0, -10)]:
        model.entities[f"{n:04}"] = {"id": f"{n:04}", "a": "late all " * 40 + text(rng, 6)}
    texts.save_many(list(model.entities.values()))
    check(texts, model, rng, 5)
    assert texts.verify()["ok"]
    texts.delete_many([f"{n:04}" for n in range(1, 1500)])
    model.entities = {"0000": model.entities["0000"]}
    assert texts.verify()["ok"]
    for words in (["all"], ["late"], ["all0", "late"]):
        assert [it["id"] for it in texts.find(search_text(words))] == [id for id, _ in model.search(words)]
