"""Random commits against random live queries: what is told ends in what the query answers."""

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from actions import WAIT, Diary, eventually, request, shows
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Writer

import holdfast
from holdfast._inbox import Inbox

# By name: an entity's members, or None to delete it.
Commit = dict[str, Any]

NUMBERS = st.one_of(st.integers(-1, 3), st.sampled_from([1.5, None, "text", True]))
ENTITIES = st.fixed_dictionaries(
    {},
    optional={"n": NUMBERS, "tag": st.sampled_from("xyz"), "list": st.lists(st.integers(0, 2), max_size=2)},
)
COMMITS = st.lists(
    st.dictionaries(
        st.sampled_from("abcdefgh"), st.one_of(ENTITIES, ENTITIES, st.none()), min_size=1, max_size=4
    ),
    min_size=1,
    max_size=12,
)
CONDITIONS = st.one_of(
    st.builds(
        lambda operator, number: {"n": {operator: number}}, st.sampled_from(["$gte", "$lt", "$ne"]), NUMBERS
    ),
    st.builds(lambda tag: {"tag": tag}, st.sampled_from("xy")),
    st.builds(lambda number: {"list": number}, st.integers(0, 2)),
    st.just({"n": {"$exists": True}}),
)
FILTERS = st.one_of(
    st.none(), CONDITIONS, st.builds(lambda *both: {"$or": list(both)}, CONDITIONS, CONDITIONS)
)
QUERIES = st.fixed_dictionaries(
    {
        "filter": FILTERS,
        "sort": st.sampled_from([{"id": 1}, {"n": 1}, {"n": -1}, {"tag": -1, "n": 1}]),
        "skip": st.integers(0, 2),
        "limit": st.one_of(st.none(), st.integers(1, 4)),
        "fields": st.sampled_from([None, None, ["n"], ["tag"]]),
    }
)


@pytest.fixture(scope="module")
def memory() -> Iterator[holdfast.Store]:
    with holdfast.open("memory:") as store:
        yield store


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[holdfast.Store]:
    with holdfast.open(tmp_path_factory.mktemp("streams") / "store.db", durability="relaxed") as store:
        yield store


@pytest.fixture(scope="module")
def writer(file: holdfast.Store) -> Iterator[Writer]:
    """Another process on the file's store."""
    writer = Writer(file._url)
    writer(f"commit = {{}}; exec({COMMIT!r}, commit); commit = commit['commit']")
    yield writer
    writer.close()


COMMIT = """
def commit(store, name, changes):
    repository = store.repository(name)
    with store.transaction():
        for id, members in changes.items():
            if members is None:
                repository.delete(id, missing_ok=True)
            else:
                repository.save({"id": id, **members})
"""
commit: Any = {}
exec(COMMIT, commit)
commit = commit["commit"]
names = (f"r{number}" for number in itertools.count())


def new_repository(store: holdfast.Store, is_indexed: bool, before: Commit) -> Any:
    repository = store.repository(next(names))
    if is_indexed:
        repository.create_index("n")
    commit(store, repository.name, before)
    return repository


def events_of(store: holdfast.Store, query: Any) -> list[Any]:
    """What a live query tells of what was committed before."""
    # A stream hears of a commit before its owner does.
    store.submit(lambda: store.repository("others").save({"id": "x"})).result(120)
    events = []
    with contextlib.suppress(holdfast.TimeoutError):
        while True:
            events.append(query.next(0))
    return events


@settings(max_examples=150)
@given(COMMITS, QUERIES, st.booleans())
def test_after_each_commit_the_result_that_was_followed_is_the_query_s(
    memory: holdfast.Store, commits: list[Commit], query: dict[str, Any], is_indexed: bool
) -> None:
    songs = new_repository(memory, is_indexed, commits[0])
    with songs.observe(**query) as live:
        followed = live.next(120).entities
        assert followed == songs.find(**query)
        for changes in commits[1:]:
            commit(memory, songs.name, changes)
            for event in events_of(memory, live):
                assert event.removed or event.inserted or event.moved or event.changed
                followed = holdfast.apply_difference(followed, event)
                assert followed == event.entities
            assert followed == songs.find(**query)


@settings(max_examples=60)
@given(COMMITS, QUERIES, st.integers(1, 4))
def test_a_consumer_that_does_not_keep_up_ends_in_the_query_s_result(
    memory: holdfast.Store,
    monkeypatch: pytest.MonkeyPatch,
    commits: list[Commit],
    query: dict[str, Any],
    most: int,
) -> None:
    monkeypatch.setattr(Inbox, "MOST_EVENTS", most)
    songs = new_repository(memory, False, commits[0])
    with songs.observe(**query) as live:
        for changes in commits[1:]:
            commit(memory, songs.name, changes)
        memory.submit(lambda: memory.repository("others").save({"id": "x"})).result(120)
        followed: list[Any] = []
        while followed != songs.find(**query) or not live._source._entities == followed:
            event = live.next(120)
            followed = holdfast.apply_difference(followed, event)
            assert followed == event.entities


@settings(max_examples=40)
@given(COMMITS, QUERIES, st.lists(st.booleans(), min_size=12, max_size=12))
def test_commits_of_two_processes_end_in_the_query_s_result(
    file: holdfast.Store, writer: Writer, commits: list[Commit], query: dict[str, Any], ours: list[bool]
) -> None:
    songs = new_repository(file, False, commits[0])
    with songs.observe(**query) as live:
        followed = live.next(120).entities
        for changes, is_ours in zip(commits[1:], ours):
            if is_ours:
                commit(file, songs.name, changes)
            else:
                writer(f"commit(store, {songs.name!r}, {changes!r})")
        for event in events_of(file, live):
            followed = holdfast.apply_difference(followed, event)
            assert followed == event.entities
        assert followed == songs.find(**query)


@settings(max_examples=60)
@given(COMMITS, st.lists(QUERIES, min_size=1, max_size=3))
def test_requests_of_a_controller_show_what_their_queries_find_and_the_reducer_alone_explains_it(
    memory: holdfast.Store, commits: list[Commit], queries: list[dict[str, Any]]
) -> None:
    songs = new_repository(memory, False, commits[0])
    diary = Diary()
    with holdfast.Controller(songs, diary) as controller:
        for token, query in enumerate(queries):
            controller.dispatch(request(token, **{name: it for name, it in query.items() if it is not None}))
        for changes in commits[1:]:
            commit(memory, songs.name, changes)
        found = [shows(str(token), songs.find(**query)) for token, query in enumerate(queries)]
        controller.wait_for(lambda state: all(shows(state) for shows in found), WAIT)
        eventually(lambda: explained(diary) == controller.state)
        assert diary.noted("requestFailed") == 0


def explained(diary: Diary) -> Any:
    """What the reducer makes of the actions that were noted, each on the state that was noted before it."""
    state: Any = None
    for action, before in list(diary.entries):
        assert state is None or state == before
        state = holdfast.reduce(action, state)
    return state
