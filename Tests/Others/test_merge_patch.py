"""RFC 7396, JSON Merge Patch: the examples of its section 1, 3 and appendix A, and its pseudocode.

An entity is an object and its id is not to be changed, so each example stands one level deeper, under the
member "it"; and where patch and target are objects, once more as the entity itself.
"""

import json
import random
from typing import Any

import pytest

import holdfast

Documents = holdfast.Repository[dict[str, Any]]

#: Appendix A: original, patch, result.
APPENDIX = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]

#: Section 1, and the document of section 3.
PROSE = [
    (
        {"a": "b", "c": {"d": "e", "f": "g"}},
        {"a": "z", "c": {"f": None}},
        {"a": "z", "c": {"d": "e"}},
    ),
    (
        {
            "title": "Goodbye!",
            "author": {"givenName": "John", "familyName": "Doe"},
            "tags": ["example", "sample"],
            "content": "This will be unchanged",
        },
        {
            "title": "Hello!",
            "phoneNumber": "+01-123-456-7890",
            "author": {"familyName": None},
            "tags": ["example"],
        },
        {
            "title": "Hello!",
            "author": {"givenName": "John"},
            "tags": ["example"],
            "content": "This will be unchanged",
            "phoneNumber": "+01-123-456-7890",
        },
    ),
]


def merge_patch(target: Any, patch: Any) -> Any:
    """The pseudocode of section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def text(value: Any) -> str:
    """As JSON, where 1, 1.0 and true differ; members in any order."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize(("original", "patch", "result"), APPENDIX + PROSE)
def test_the_examples(
    documents: Documents, original: Any, patch: Any, result: Any
) -> None:
    documents.save({"_id": "1", "it": original})
    assert text(documents.patch("1", {"it": patch})) == text({"_id": "1", "it": result})
    if isinstance(original, dict) and isinstance(patch, dict):
        documents.save({"_id": "2", **original})
        assert text(documents.patch("2", patch)) == text({"_id": "2", **result})


def test_null_takes_a_member_away(documents: Documents) -> None:
    documents.save({"_id": "1", "it": {"a": "foo"}})
    # In the appendix a null in place of the whole document is its result; here the whole is a member.
    assert documents.patch("1", {"it": None}) == {"_id": "1"}


def drawn(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(9 if depth else 5)
    if kind == 0:
        return None
    if kind < 5:
        return chance.choice(
            [0, 1, -1, 1.0, 2.5, True, False, "", "a", 'é\U0001f600\0"\\/', 2**63 - 1]
        )
    if kind < 7:
        return [drawn(chance, depth - 1) for _ in range(chance.randrange(3))]
    return drawn_object(chance, depth)


def drawn_object(chance: random.Random, depth: int) -> dict[str, Any]:
    return {
        chance.choice(["a", "b", "c", "", "é", "a.b", "$set", "~0", "a/b"]): drawn(
            chance, depth - 1
        )
        for _ in range(chance.randrange(4))
    }


def test_the_pseudocode(
    documents: Documents, chance: random.Random, cases: int
) -> None:
    for _ in range(cases):
        original, patch = drawn_object(chance, 4), drawn_object(chance, 4)
        documents.save({"_id": "1", **original})
        patched = documents.patch("1", patch)
        assert text(patched) == text({"_id": "1", **merge_patch(original, patch)}), (
            original,
            patch,
        )
        assert documents["1"] == patched
