"""The reducer alone: actions and states that nobody has thought of."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast

KEYS = st.sampled_from(["a", "b", "default"])
ELEMENTS = st.fixed_dictionaries({"id": st.sampled_from("xyz")}, optional={"n": st.integers(0, 9)})
ERRORS = st.just({"status": "HF_FULL", "message": "full"})
REQUESTS = st.sampled_from([{}, {"filter": {"n": 1}, "limit": 2}])


def action(name: str, key: str, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"action": st.just(name), **members}, optional={key: KEYS})


@st.composite
def results(draw: st.DrawFn) -> dict[str, Any]:
    entities = draw(st.lists(ELEMENTS, max_size=4, unique_by=lambda one: one["id"]))
    return {"position": "p:1", "snapshot": entities, "versions": list(range(len(entities)))}


PLACED = st.fixed_dictionaries(
    {"position": st.integers(0, 4), "id": st.sampled_from("xyz"), "entity": ELEMENTS}
)
CHANGES = st.fixed_dictionaries(
    {"position": st.just("p:2")},
    optional={
        "removed": st.lists(
            st.fixed_dictionaries({"position": st.integers(0, 4), "id": st.sampled_from("xyz")}), max_size=2
        ),
        "inserted": st.lists(PLACED, max_size=2),
        "moved": st.lists(
            st.fixed_dictionaries({"from": st.integers(0, 4), "to": st.integers(0, 4)}), max_size=2
        ),
        "changed": st.lists(PLACED, max_size=2),
    },
)
ACTIONS = st.one_of(
    *(action(name, "id", element=ELEMENTS) for name in ("save", "delete", "saved", "deleted")),
    *(action(name, "id", element=ELEMENTS, error=ERRORS) for name in ("saveFailed", "deleteFailed")),
    action("request", "token", request=REQUESTS),
    action("cancelRequest", "token"),
    *(action(name, "id") for name in ("cancelSave", "cancelDelete")),
    action("received", "token", result=results()),
    action("changed", "token", result=CHANGES),
    action("requestFailed", "token", request=REQUESTS, error=ERRORS),
)
LANES = {"request": ("requests", "token"), "persist": ("saves", "id"), "delete": ("deletes", "id")}


@given(st.lists(ACTIONS, max_size=12))
def test_a_reducer_is_pure_and_its_lanes_show_what_the_maps_hold(actions: list[dict[str, Any]]) -> None:
    state: Any = None
    for one in actions:
        before = copy.deepcopy((one, state))
        following = holdfast.reduce(one, state)
        assert holdfast.reduce(one, state) == following
        assert (one, state) == before
        state = following
        for lane, (entries, reference) in LANES.items():
            shown = dict(state[lane])
            if shown != {"state": "initial"}:
                assert shown.pop(reference) in state[entries]
                assert state[entries][state[lane][reference]] == shown


def difference(before: list[Any], after: list[Any]) -> dict[str, Any]:
    """What a live query tells when `before` has become `after`."""
    ids, new_ids = [one["id"] for one in before], [one["id"] for one in after]
    kept = [id for id in ids if id in new_ids]
    # Whatever is not in its place among the others moves.
    moved = [id for id, other in zip([id for id in new_ids if id in ids], kept) if id != other]
    return {
        "position": "p:2",
        "merged": 1,
        "removed": [{"position": i, "id": id} for i, id in enumerate(ids) if id not in new_ids],
        "inserted": [
            {"position": i, "id": one["id"], "version": 5, "entity": one}
            for i, one in enumerate(after)
            if one["id"] not in ids
        ],
        "moved": [{"from": ids.index(id), "to": i, "id": id} for i, id in enumerate(new_ids) if id in moved],
        "changed": [
            {"position": i, "id": one["id"], "version": 5, "entity": one}
            for i, one in enumerate(after)
            if one["id"] in ids and before[ids.index(one["id"])] != one
        ],
    }


LISTS = st.lists(
    st.fixed_dictionaries({"id": st.sampled_from("abcdefgh"), "n": st.integers(0, 1)}),
    unique_by=lambda one: one["id"],
)


@given(LISTS, LISTS)
def test_every_difference_of_two_results_leads_from_the_one_to_the_other(
    before: list[Any], after: list[Any]
) -> None:
    state = holdfast.reduce({"action": "request"})
    state = holdfast.reduce(
        {
            "action": "received",
            "result": {"position": "p:1", "snapshot": before, "versions": [1] * len(before)},
            "ids": [one["id"] for one in before],
        },
        state,
    )
    state = holdfast.reduce({"action": "changed", "result": difference(before, after)}, state)
    assert state["request"]["state"] == "received"
    assert state["request"]["elements"] == after
    assert state["request"]["ids"] == [one["id"] for one in after]


def test_what_is_no_action_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(holdfast.InvalidOptionError, match="unknown option"):
        holdfast.reduce({"action": "save", "element": {}, "ids": 1})
    with pytest.raises(holdfast.InvalidJsonError):
        holdfast.reduce(b"{")
