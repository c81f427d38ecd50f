"""The rules that hold on every engine: what is there, what is missing, in which order, in which version."""

from typing import Any, Callable

import pytest

import holdfast

Songs = holdfast.Repository[dict[str, Any]]
OpenStore = Callable[..., holdfast.Store]

# In the order of their UTF-8 bytes, which is the order of no alphabet.
IDS = [" ", "!", "%41", "..", "../b", "/", "10", "9", "A", "A.json", "a", "a%", "a.b", "aa", "e\u0301", "z"]
IDS += ["\u00e9", "\u65e5\u672c", "\uffff", "\U0001d11e"]


def test_what_exists_cannot_be_added(songs: Songs) -> None:
    songs.add({"id": "a", "n": 1})
    with pytest.raises(holdfast.ExistsError):
        songs.add({"id": "a", "n": 2})
    assert songs["a"] == {"id": "a", "n": 1}


def test_what_is_missing_cannot_be_updated_patched_modified_or_deleted(songs: Songs) -> None:
    for call in (
        lambda: songs.update({"id": "a"}),
        lambda: songs.patch("a", {"n": 1}),
        lambda: songs.modify("a", {"$inc": {"n": 1}}),
        lambda: songs.delete("a"),
    ):
        with pytest.raises(holdfast.NotFoundError):
            call()
    songs.delete("a", missing_ok=True)
    assert songs.count() == 0


def test_saving_creates_and_replaces(songs: Songs) -> None:
    songs.save({"id": "a", "n": 1, "x": 1})
    songs.save({"id": "a", "n": 2})
    assert songs.fetch_all() == [{"id": "a", "n": 2}]


def test_fetching_what_is_missing_is_no_error(songs: Songs) -> None:
    assert songs.fetch("a") is None
    assert songs.fetch_bytes("a") is None
    assert songs.fetch_many(["a", "b"]) == []
    assert songs.first({"n": 1}) is None
    assert songs.find({}) == []
    assert songs.delete_all() == 0
    assert "a" not in songs


def test_everything_is_listed_in_the_order_of_the_ids_bytes(songs: Songs) -> None:
    for id in reversed(IDS):
        songs.save({"id": id})
    expected = sorted(IDS, key=str.encode)
    assert songs.ids() == [song["id"] for song in songs.fetch_all()] == expected
    assert [song["id"] for song in songs.find({"id": {"$gte": ""}})] == expected
    with songs.iterate() as cursor:
        assert [song["id"] for song in cursor] == expected
    for id in IDS:
        assert songs.fetch(id) == {"id": id}
        songs.delete(id)
    assert songs.count() == 0


def test_an_id_may_have_any_length_up_to_the_limit(songs: Songs) -> None:
    for length in (1, 100, 200, 201, 255, 256, 400, 512):
        songs.add({"id": "/" * length, "n": length})
    assert [song["n"] for song in songs.fetch_all()] == [1, 100, 200, 201, 255, 256, 400, 512]
    with pytest.raises(holdfast.InvalidIdError):
        songs.add({"id": "/" * 513})
    for length in (512, 201, 1):
        songs.delete("/" * length)
    assert songs.count() == 5


def test_the_bytes_of_an_entity_come_back_as_they_were(songs: Songs) -> None:
    texts = [
        b'{ "n" : 1.0e2 , "id":"a" , "t":"\\u0000\\ud834\\udd1e\xc3\xa9" }',
        b'{"id":"b","deep":' + b"[" * 90 + b"]" * 90 + b"}",
        b'{"id":"c","long":"' + b"0123456789" * 20_000 + b'"}',
    ]
    songs.save_many(texts)
    assert [songs.fetch_bytes(id) for id in "abc"] == texts


def test_repositories_whose_names_begin_alike_are_apart(store: holdfast.Store) -> None:
    names = ["app", "app2", "app_", "ap"]
    for name in names:
        store.repository(name).save({"id": "a", "name": name})
    for name in names:
        assert store.repository(name).fetch_all() == [{"id": "a", "name": name}]
    store.repository("app").delete_all()
    assert [store.repository(name).count() for name in names] == [0, 1, 1, 1]


def test_a_version_rises_with_every_change_and_with_nothing_else(songs: Songs) -> None:
    versions = []
    for n in range(5):
        songs.save({"id": "a", "n": n})
        songs.save({"id": "b"})
        versions.append(songs.fetch_versioned("a")[1])
        assert songs.fetch_versioned("a")[1] == versions[-1]
    songs.delete("a")
    songs.add({"id": "a"})
    versions.append(songs.fetch_versioned("a")[1])
    assert versions == sorted(set(versions))


def test_an_expected_version_that_is_not_the_entity_s_is_refused(songs: Songs) -> None:
    songs.add({"id": "a", "n": 1})
    _, version = songs.fetch_versioned("a")
    songs.update({"id": "a", "n": 2}, expected_version=version)
    for call in (
        lambda: songs.update({"id": "a", "n": 3}, expected_version=version),
        lambda: songs.patch("a", {"n": 3}, expected_version=version),
        lambda: songs.delete("a", expected_version=version),
    ):
        with pytest.raises(holdfast.VersionMismatchError) as caught:
            call()
        assert caught.value.detail["expected"] == version < caught.value.detail["actual"]
    assert songs["a"]["n"] == 2


def test_a_receipt_tells_the_versions_of_what_it_changed(store: holdfast.Store, songs: Songs) -> None:
    songs.add({"id": "b"})
    with store.transaction() as transaction:
        songs.delete("b")
        songs.add({"id": "a"})
    receipt = transaction.receipt
    assert receipt is not None and receipt.durable and receipt.attempts == 1 and not receipt.replayed
    assert [(change.id, change.operation) for change in receipt.changes] == [("a", "put"), ("b", "delete")]
    assert receipt.changes[0].version == receipt.sequence == songs.fetch_versioned("a")[1]


def test_many_are_stored_together_or_not_at_all(songs: Songs) -> None:
    songs.add({"id": "5"})
    with pytest.raises(holdfast.ExistsError) as caught:
        songs.add_many([{"id": str(n)} for n in range(10)])
    assert caught.value.detail["index"] == 5
    assert songs.ids() == ["5"]
    songs.save_many([{"id": str(n)} for n in range(300)])
    assert songs.count() == 300
    assert songs.delete_all({"id": {"$gte": "2"}}) > 0
    assert all(id < "2" for id in songs.ids())


def test_a_failed_call_leaves_the_store_as_it_was(store: holdfast.Store, songs: Songs) -> None:
    songs.add({"id": "a", "n": 1})
    for wrong in (b"{", b"[]", b'{"id":1.5}', b'{"id":"a","id":"a"}', b'{"id":"\xff"}'):
        with pytest.raises(ValueError):
            songs.save(wrong)
    with pytest.raises(holdfast.InvalidQueryError):
        songs.find({"$nonsense": 1})
    assert songs.fetch_all() == [{"id": "a", "n": 1}]


def test_a_unique_index_holds_for_what_is_there_and_what_comes(store: holdfast.Store, songs: Songs) -> None:
    songs.save_many([{"id": "a", "n": 1}, {"id": "b", "n": 1}])
    with pytest.raises(holdfast.UniqueViolationError):
        songs.create_index("n", unique=True)
    assert songs.indexes() == []
    songs.patch("b", {"n": 2})
    songs.create_index("n", unique=True)
    with pytest.raises(holdfast.UniqueViolationError):
        songs.add({"id": "c", "n": 2})
    with store.transaction():
        songs.patch("a", {"n": 2})
        songs.patch("b", {"n": 1})
    assert songs.find({"n": 1}) == [{"id": "b", "n": 1}]
    assert songs.verify()["ok"]


def test_an_index_changes_no_answer(songs: Songs) -> None:
    songs.save_many([{"id": f"{n:03}", "n": n % 7, "tags": [n % 3, n % 5]} for n in range(100)])
    queries: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"n": 3}, {}),
        ({"n": {"$gt": 4}}, {"sort": {"n": -1}}),
        ({"tags": 2, "n": {"$in": [1, 2]}}, {}),
        ({"tags": {"$all": [1, 4]}}, {"limit": 3}),
        ({}, {"sort": {"n": 1}, "limit": 10}),
    ]

    def answers() -> list[Any]:
        return [sorted(songs.find(filter, **options), key=repr) for filter, options in queries[:3]]

    before = answers()
    songs.create_index("n")
    songs.create_index("tags")
    assert answers() == before
    songs.modify_all({"n": 3}, {"$set": {"n": 9}})
    assert songs.count({"n": 3}) == 0 and songs.count({"n": 9}) == len(before[0])
    assert songs.verify()["ok"]
    songs.drop_index("n")
    assert songs.count({"n": 9}) == len(before[0])


def test_a_closed_store_refuses_everything(open_store: OpenStore) -> None:
    store = open_store()
    songs = store.repository("songs")
    songs.add({"id": "a"})
    transaction = store.begin()
    store.close()
    for call in (
        lambda: songs.fetch("a"),
        lambda: songs.save({"id": "b"}),
        songs.count,
        store.begin,
        store.describe,
        store.sync,
    ):
        with pytest.raises(holdfast.ClosedError):
            call()
    assert transaction.state is holdfast.TransactionState.ROLLED_BACK
