"""Expressions become the filters that the Swift package's become: one file says which."""

import json
from pathlib import Path

import pytest

import holdfast
from holdfast import F

FILTERS = json.loads((Path(__file__).parents[3] / "Tests/Expressions/expressions.json").read_text())

EXPRESSIONS = {
    "equal": F.title == "Gloria",
    "unequal": F.title != "Gloria",
    "less": F.plays < 3,
    "less or equal": F.plays <= 3,
    "greater": F.rating > 2.5,
    "greater or equal": F.released_in >= 1965,
    "nested": F.label.town == "Baarn",
    "null": F.rating == None,  # noqa: E711
    "both": (F.released_in >= 1965) & (F.label.name == "Philips"),
    "three": (F.plays > 1) & (F.plays < 9) & (F.live == True),  # noqa: E712
    "either": (F.plays > 1) | (F.live == True),  # noqa: E712
    "mixed": (F.plays == 1) | ((F.plays == 2) & (F.plays != 3)),
    "not": ~(F.released_in >= 1965),
    "in": F.genre.is_in(["rock", "soul"]),
    "not in": F.genre.not_in(["rock"]),
    "exists": F.formerLabel.exists(),
    "missing": F.formerLabel.exists(False),
    "type": F.rating.is_type("number", "null"),
    "pattern": F.title.matches("^Glo"),
    "pattern with options": F.title.matches("^glo", "i"),
    "remainder": F.released_in.remainder(4, 0),
    "an element equals": F.tags == "voice",
    "all elements": F.tags.has_all(["voice", "piano"]),
    "so many elements": F.tags.has_size(2),
    "an element of objects": F.reviews.any((F.author == "y") & (F.stars > 3)),
    "an element itself": F.scores.any((F >= 50) & (F < 70)),
    "no such element": F.scores.any(~(F < 50)),
}


def test_every_filter_of_the_file_has_its_expression() -> None:
    assert EXPRESSIONS.keys() == FILTERS.keys()


@pytest.mark.parametrize("name", FILTERS)
def test_an_expression_becomes_the_filter(name: str) -> None:
    assert EXPRESSIONS[name].to_filter() == FILTERS[name]


def test_a_field_or_a_condition_in_a_pipeline_s_expression_is_told_what_to_write() -> None:
    with holdfast.open("memory:") as store:
        orders = store.repository("orders")
        with pytest.raises(TypeError, match=r'group\._id" is F\[.customer.name.\], .* "\$customer.name"'):
            orders.aggregate([{"$group": {"_id": F.customer.name}}])
        with pytest.raises(TypeError, match=r'"0.\$set.x.\$not" is the condition .*MongoDB'):
            orders.aggregate([{"$set": {"x": {"$not": F.plays > 2}}}])
        with pytest.raises(TypeError, match=r"A path is a text .* not NoneType"):
            orders.distinct(None)  # type: ignore[arg-type]
