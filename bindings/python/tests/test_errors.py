"""One exception class for each status, and what it carries."""

import builtins
import concurrent.futures
import pickle
from typing import Any

import headers
import pytest

import holdfast
from holdfast import errors

STATUSES = {name: value for name, value in headers.read().enums["hf_status"].items() if name != "HF_OK"}


def test_there_is_one_class_for_each_status_named_after_it() -> None:
    declared = {
        value: name[len("HF_") :].removesuffix("_ERROR").replace("_", "") for name, value in STATUSES.items()
    }
    classes = {status: cls.__name__[: -len("Error")].upper() for status, cls in errors.CLASSES.items()}
    assert classes == declared
    assert all(cls.__name__ in holdfast.__all__ for cls in errors.CLASSES.values())


@pytest.mark.parametrize(
    ("cls", "built_in"),
    [
        (holdfast.NotFoundError, KeyError),
        (holdfast.TimeoutError, builtins.TimeoutError),
        (holdfast.CancelledError, concurrent.futures.CancelledError),
        (holdfast.IOError, OSError),
        (holdfast.NoMemoryError, MemoryError),
        (holdfast.InvalidIdError, ValueError),
    ],
)
def test_an_error_is_also_python_s_own_where_there_is_one(cls: type[Any], built_in: type[Exception]) -> None:
    with pytest.raises(built_in) as caught:
        raise cls("The thing is so; do that.", detail={"id": "a"})
    assert str(caught.value) == "The thing is so; do that."
    assert caught.value.detail == {"id": "a"}


def test_an_error_survives_pickling() -> None:
    error = holdfast.VersionMismatchError("no", detail={"expected": 1, "actual": 2}, retryable=True)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.detail, copy.retryable) == (type(error), "no", error.detail, True)


def test_a_version_mismatch_tells_both_versions(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.add({"id": "s1"})
    _, version = songs.fetch_versioned("s1")
    with pytest.raises(holdfast.VersionMismatchError) as caught:
        songs.update({"id": "s1", "plays": 1}, expected_version=version + 7)
    assert caught.value.status == STATUSES["HF_VERSION_MISMATCH"]
    assert (caught.value.detail["expected"], caught.value.detail["actual"]) == (version + 7, version)
    assert caught.value.retryable is False
    assert caught.value.commit_state is holdfast.CommitState.NONE
    assert str(caught.value)


def test_a_conflict_is_retryable_and_names_the_ids(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.save({"id": "s1"})
    transaction = store.begin()
    with transaction.joined():
        songs.fetch("s1")
        songs.save({"id": "s2"})
    songs.save({"id": "s1", "plays": 1})
    with pytest.raises(holdfast.ConflictError) as caught:
        transaction.commit()
    assert caught.value.retryable is True
    assert "s1" in str(caught.value.detail["ids"])


def test_bad_json_tells_its_position(store: holdfast.Store) -> None:
    with pytest.raises(holdfast.InvalidJsonError) as caught:
        store.repository("songs").add(b'{"id": "s1", "plays": }')
    assert caught.value.detail["position"] > 0


def test_a_wrong_option_is_named_with_the_nearest() -> None:
    with pytest.raises(holdfast.InvalidOptionError) as caught:
        holdfast.open("memory:", durabilty="full")
    assert caught.value.detail["option"] == "durabilty"


@pytest.mark.parametrize(
    ("entity", "cls"),
    [
        (b"[1]", holdfast.InvalidEntityError),
        (b'{"id": ""}', holdfast.InvalidIdError),
        (b'{"id": true}', holdfast.InvalidIdError),
        (b'{"id": "a", "id": "b"}', holdfast.InvalidJsonError),
        (b'{"id": "a"} x', holdfast.InvalidJsonError),
        (b'{"id": "\xff"}', holdfast.InvalidJsonError),
        (b"", holdfast.InvalidJsonError),
    ],
)
def test_an_unfit_payload_is_refused_and_stores_nothing(
    store: holdfast.Store, entity: bytes, cls: type[holdfast.Error]
) -> None:
    songs = store.repository("songs")
    with pytest.raises(cls):
        songs.save(entity)
    assert songs.count() == 0


def test_numbers_that_json_has_not_are_refused(store: holdfast.Store) -> None:
    with pytest.raises(ValueError):
        store.repository("songs").add({"id": "s1", "plays": float("nan")})


def test_text_that_has_no_form_in_utf_8_is_refused_and_not_replaced(
    store: holdfast.Store, songs: holdfast.Repository[dict[str, Any]]
) -> None:
    half = "\ud83d"
    for entity in ({"id": "s1", "title": half}, {"id": half}, {"id": "s1", half: 1}):
        with pytest.raises(UnicodeEncodeError):
            songs.save(entity)
    with pytest.raises(UnicodeEncodeError):
        songs.find({"title": half})
    assert songs.count() == 0


def test_what_is_no_entity_is_a_type_error(store: holdfast.Store) -> None:
    songs: Any = store.repository("songs")
    for thing in (7, None, "text", [1]):
        with pytest.raises(TypeError):
            songs.add(thing)


def test_what_is_no_id_is_a_type_error(store: holdfast.Store) -> None:
    songs: Any = store.repository("songs")
    for thing in (1.5, None, True, b"s1"):
        with pytest.raises(TypeError):
            songs.fetch(thing)
