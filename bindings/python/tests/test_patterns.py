"""What a pattern begins with tells where along an index its matches stand, and which live queries a change
may concern. It never hides a match, whatever else PCRE2 understands in the pattern.
"""

import random

import pytest

import holdfast

TEXTS = [
    "",
    "a",
    "b",
    "ab",
    "aab",
    "B",
    "aB",
    "AB",
    "a.b",
    "abc",
    "a*b",
    "é",
    "éb",
    "ae\u0301",
    "#",
    "a#b",
    "\\b",
    "a b",
]
DOUBTFUL = [
    "^a(?#c)*b",
    "^a(?#c)?b",
    "^a(?#c)+b",
    "^a(?#c){0}b",
    "^a\\E*b",
    "^a\\E?",
    "^a\\Q\\E*b",
    "^a\\Q\\E{0,1}b",
    "^\\Qa\\E*b",
    "^a(?i)b",
    "^(?i)ab",
    "^a(?x) *b",
    "^a(*ACCEPT)*b",
    "^a(?C1)*b",
    "^\\.?b",
    "^a{0}b",
    "^é*b",
    "^(?#a)*",
]
PIECES = [
    *[
        "a",
        "b",
        "B",
        "é",
        ".",
        "#",
        " ",
        "\\.",
        "\\*",
        "\\E",
        "\\Q",
        "\\Q\\E",
        "\\Qb\\E",
        "\\b",
        "\\w",
        "\\x61",
        "\\K",
    ],
    *[
        "(?#c)",
        "(?#*)",
        "(?i)",
        "(?x)",
        "(?-i)",
        "(?:a)",
        "(a)",
        "(?=a)",
        "(?!b)",
        "(*COMMIT)",
        "(?C)",
        "[ab]",
        "[^a]",
    ],
    *[
        "*",
        "+",
        "?",
        "{0}",
        "{0,1}",
        "{,1}",
        "{2}",
        "??",
        "*+",
        "*?",
        "|",
        "^",
        "$",
        "]",
        "}",
        "{",
        "\\",
        "\\N{U+61}",
    ],
]


@pytest.fixture
def words(store: holdfast.Store) -> "holdfast.Repository[dict[str, str]]":
    words = store.repository("words")
    words.add_many([{"id": str(number), "t": text} for number, text in enumerate(TEXTS)])
    words.create_index("t")
    return words


def check(words: "holdfast.Repository[dict[str, str]]", pattern: str) -> None:
    condition = {"t": {"$regex": pattern}}
    try:
        # An alternative that is never met is none that an index helps with.
        expected = words.find({"$or": [condition, {"id": None}]})
    except holdfast.InvalidQueryError:
        with pytest.raises(holdfast.InvalidQueryError):
            words.find(condition)
        return
    found = sorted(words.find(condition), key=lambda word: int(word["id"]))
    assert found == sorted(expected, key=lambda word: int(word["id"])), pattern


@pytest.mark.parametrize("pattern", DOUBTFUL)
def test_an_index_finds_all_that_a_pattern_matches(
    words: "holdfast.Repository[dict[str, str]]", pattern: str
) -> None:
    check(words, pattern)


@pytest.mark.parametrize("seed", range(8))
def test_an_index_finds_all_that_random_patterns_match(
    words: "holdfast.Repository[dict[str, str]]", seed: int
) -> None:
    rng = random.Random(seed)
    for _ in range(300):
        check(words, "^" + "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 5))))


def test_a_live_query_hears_of_what_its_pattern_matches(words: "holdfast.Repository[dict[str, str]]") -> None:
    with words.observe({"t": {"$regex": "^x(?#c)*y"}}) as events:
        assert events.next(timeout=120).entities == []
        words.save({"id": "new", "t": "y"})
        assert [word["id"] for word in events.next(timeout=120).entities] == ["new"]


def test_a_plain_pattern_is_looked_up_along_an_index(words: "holdfast.Repository[dict[str, str]]") -> None:
    for pattern in ["^a", "^ab", "^a\\.b", "^ab.*", "^a[b]", "^a+b", "^ab(c)?$"]:
        report = words.explain({"t": {"$regex": pattern}})
        assert report["access"] == "index"
        assert report["examined"] < len(TEXTS)
