"""An index changes how a query is carried out, and never what it answers."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

import holdfast

NUMBERS = [0, 1, 2, 3, -1, 1.0, 1.5, 2**53, 2**53 + 1, -(2**63), 1e300, -0.0]
TEXTS = ["", "a", "b", "a\0", "é", "ab"]
PATHS = ["a", "b", "a.b", "a.0", "c"]
INDEXES = [
    {"a": 1},
    {"a": -1},
    {"b": 1, "a": -1},
    {"a.b": 1},
    {"a": 1, "c": 1},
    {"c": -1, "a": 1},
    {"a.0": 1},
]


def value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if kind < 0.1:
        return None
    if kind < 0.45:
        return rng.choice(NUMBERS)
    if kind < 0.6:
        return rng.choice(TEXTS)
    if kind < 0.7:
        return rng.choice([True, False])
    if depth < 2 and kind < 0.85:
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if depth < 2:
        return {name: value(rng, depth + 1) for name in rng.sample("ab0", rng.randint(0, 2))}
    return 1


def condition(rng: random.Random) -> Any:
    if rng.random() < 0.4:
        return {"$eq": value(rng, 1)}
    operators = rng.sample(
        ["$eq", "$gt", "$gte", "$lt", "$lte", "$in", "$ne", "$exists", "$regex"], rng.randint(1, 2)
    )
    operands = {
        "$in": lambda: [value(rng, 1) for _ in range(rng.randint(0, 3))],
        "$exists": lambda: True,
        "$regex": lambda: rng.choice(["^a", "^ab?", "^a|b", "^é", "b", "^a\\x00", "^"]),
    }
    return {name: operands.get(name, lambda: value(rng, 1))() for name in operators}


def conditions(rng: random.Random) -> dict[str, Any]:
    names = rng.sample([*PATHS, "id"], rng.randint(0, 2))
    return {name: rng.choice(["3", {"$gt": "2"}]) if name == "id" else condition(rng) for name in names}


def change_some(rng: random.Random, repositories: list[Any]) -> None:
    for _ in range(25):
        names = [name for name in "abc" if rng.random() < 0.7]
        entity = {"id": str(rng.randint(0, 40)), **{name: value(rng) for name in names}}
        gone = str(rng.randint(0, 40)) if rng.random() < 0.2 else None
        for repository in repositories:
            repository.save(entity)
            if gone is not None:
                repository.delete(gone, missing_ok=True)


def compare(rng: random.Random, plain: Any, indexed: list[Any]) -> None:
    filter = conditions(rng)
    if rng.random() < 0.4:
        filter["$or"] = [conditions(rng) or {"a": 1} for _ in range(rng.randint(1, 3))]
    sort = {path: rng.choice([1, -1]) for path in rng.sample(PATHS, rng.randint(1, 2))}
    limit = rng.choice([0, 1, 5])
    found = sorted(json.dumps(entity, sort_keys=True) for entity in plain.find(filter))
    ordered = plain.find(filter, sort=sort, limit=limit)
    for repository in indexed:
        answers = repository.find(filter)
        assert sorted(json.dumps(entity, sort_keys=True) for entity in answers) == found, filter
        assert repository.explain(filter)["matched"] == len(found)
        assert repository.find(filter, sort=sort, limit=limit) == ordered, (filter, sort, limit)
        assert list(repository.iterate(filter, sort=sort, limit=limit)) == ordered, (filter, sort, limit)


@pytest.mark.parametrize("seed", range(12))
def test_with_and_without_indexes_queries_answer_the_same(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    urls = ["memory:", "memory:", str(tmp_path / "store.db")]
    stores = [holdfast.open(url) for url in urls]
    try:
        plain, *indexed = [store.repository("things") for store in stores]
        chosen = rng.sample(INDEXES, 2)
        for phase in range(3):
            change_some(rng, [plain, *indexed])
            for repository in indexed if phase == 1 else []:
                for fields in chosen:
                    repository.create_index(fields)
            for _ in range(40):
                compare(rng, plain, indexed)
        assert all(repository.verify()["ok"] for repository in indexed)
    finally:
        for store in stores:
            store.close()
