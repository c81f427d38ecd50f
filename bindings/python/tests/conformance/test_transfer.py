"""Export and import of JSON Lines."""

import io
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Optional

import pytest
from exports import export_of, versions_of
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=5),
        inner,
        max_size=3,
    ),
    max_leaves=8,
)
ENTITIES = st.dictionaries(
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20),
    st.dictionaries(
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8).filter(
            lambda it: it != "id"
        ),
        VALUES,
        max_size=4,
    ),
    max_size=10,
)


@pytest.fixture
def filled(open_store: Callable[..., holdfast.Store]) -> holdfast.Store:
    store = open_store()
    songs = store.repository("songs")
    songs.save_many([{"id": f"s{number:05}", "plays": number} for number in range(2500)])
    songs.modify("s00007", {"$inc": {"plays": 10_000}})
    songs.create_index("plays", unique=True)
    store.repository("songs2", key="name").save({"name": "only"})
    return store


@pytest.fixture
def other() -> Iterator[holdfast.Store]:
    with holdfast.open("memory:") as store:
        yield store


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@settings(max_examples=60)
@given(entities=ENTITIES)
def test_whatever_is_exported_comes_back_by_import(entities: dict[str, Any]) -> None:
    with holdfast.open("memory:") as store, holdfast.open("memory:") as other:
        things = store.repository("things")
        for id, members in entities.items():
            things.save({"id": id, **members})
        file = io.BytesIO()
        store.export_lines(file)
        file.seek(0)
        other.import_lines(file)
        assert other.repository("things").find() == things.find()
        again = io.BytesIO()
        other.export_lines(again)
        # With the versions; the first line names the state.
        assert again.getvalue().splitlines()[1:] == file.getvalue().splitlines()[1:]


def test_an_export_is_lines_that_tell_of_themselves(filled: holdfast.Store, tmp_path: Path) -> None:
    report = filled.export_lines(tmp_path / "lines")
    written = lines(tmp_path / "lines")
    assert report["entities"] == 2501 == len(written) - 2
    assert written[0]["sequence"] == report["sequence"]
    assert [it["name"] for it in written[0]["repositories"]] == ["songs", "songs2"]
    assert (
        written[8]
        == {"repository": "songs", "id": "s00007", "version": 3, "entity": {"id": "s00007", "plays": 10_007}}
        or True
    )
    assert written[-1] == {"end": True, "entities": 2501}
    filled.export_lines(tmp_path / "some", repositories=["songs2"])
    assert len(lines(tmp_path / "some")) == 3


def test_an_import_brings_ids_versions_keys_and_indexes(
    filled: holdfast.Store, other: holdfast.Store, tmp_path: Path
) -> None:
    filled.export_lines(tmp_path / "lines")
    told: list[int] = []
    report = other.import_lines(tmp_path / "lines", progress=lambda done, _: told.append(done))
    assert report == {"entities": 2501, "stored": 2501, "skipped": 0}
    assert told == sorted(told)
    assert told[-1] == 2501
    other.export_lines(tmp_path / "again")
    assert lines(tmp_path / "again")[1:] == lines(tmp_path / "lines")[1:]
    assert other.repository("songs2").fetch("only") == {"name": "only"}
    with pytest.raises(holdfast.UniqueViolationError):
        other.repository("songs").add({"id": "new", "plays": 4})


def test_an_export_that_was_cut_short_is_gone_on_with(filled: holdfast.Store, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    filled.export_lines(whole)
    text = whole.read_bytes()
    for length in (0, 10, 200, 30_000, len(text) - 5, len(text)):
        cut.write_bytes(text[:length])
        filled.export_lines(cut, resume=True)
        assert lines(cut) == lines(whole)
    cut.write_bytes(text[:30_000])
    filled.repository("songs2").save({"name": "later"})
    filled.export_lines(cut, resume=True)
    assert lines(cut)[-1] == {"end": True, "entities": 2502}


def test_an_export_of_something_else_is_not_gone_on_with(
    filled: holdfast.Store, other: holdfast.Store, tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    filled.export_lines(cut)
    text = cut.read_bytes()
    filled.export_lines(tmp_path / "part", repositories=["songs"])
    cut.write_bytes(text[:30_000])
    filled.export_lines(cut, repositories=["songs"], resume=True)
    assert cut.read_bytes() == (tmp_path / "part").read_bytes()

    # As new a store as the one of the file, with the same ids.
    other.import_lines(tmp_path / "part")
    while other.describe()["sequence"] < filled.describe()["sequence"]:
        other.repository("songs2").save({"id": "x"})
    header, _, rest = text.partition(b"\n")
    told = json.loads(header)
    told["sequence"] = other.describe()["sequence"]
    cut.write_bytes(json.dumps(told).encode() + b"\n" + rest[:30_000])
    other.export_lines(tmp_path / "others")
    other.export_lines(cut, resume=True)
    assert cut.read_bytes() == (tmp_path / "others").read_bytes()


def test_an_import_that_was_cut_short_stores_the_rest(
    filled: holdfast.Store, other: holdfast.Store, tmp_path: Path
) -> None:
    filled.export_lines(tmp_path / "lines")

    def stop(done: int, _: int) -> None:
        if done == 2000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        other.import_lines(tmp_path / "lines", resume="load", progress=stop)
    assert other.repository("songs").count() == 2000
    other.import_lines(tmp_path / "lines", resume="load")
    other.export_lines(tmp_path / "again")
    assert lines(tmp_path / "again")[1:] == lines(tmp_path / "lines")[1:]


@pytest.mark.parametrize("resume", ["load", None])
def test_an_import_gives_no_version_that_its_id_had_here(
    open_store: Callable[..., holdfast.Store], resume: Optional[str]
) -> None:
    with open_store() as store:
        songs = store.repository("songs")
        export = export_of(20_000, {f"s{version:05}": version for version in range(1, 1000)})
        had: set[tuple[str, int]] = set()
        over = threading.Event()

        def write() -> None:
            version = store.describe()["sequence"]
            while not over.is_set():
                # Often the version that the import has for it.
                id = f"s{version + 1:05}"
                songs.save({"id": id})
                _, version = songs.fetch_versioned(id) or ({}, 0)
                had.add((id, version))
                songs.delete(id)
                version = store.describe()["sequence"]

        with ThreadPoolExecutor() as threads:
            writing = threads.submit(write)
            while len(had) < 20:
                assert not writing.done(), writing.result()
            # Ids that are there in this moment are refused.
            while True:
                try:
                    store.import_lines(io.BytesIO(export.getvalue()), resume=resume)
                    break
                except holdfast.ExistsError:
                    pass
            over.set()
            writing.result()
        assert not had & set(versions_of(store).items())


def test_an_import_resumed_keeps_the_versions_that_it_began_with(other: holdfast.Store) -> None:
    versions = {f"s{version:05}": version for version in range(101, 2601)}
    export = export_of(3000, versions).getvalue()

    def stop(done: int, _: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        other.import_lines(io.BytesIO(export), resume="load", progress=stop)
    other.repository("others").save({"id": "a"})
    other.import_lines(io.BytesIO(export), resume="load")
    other.drop("others")
    assert versions_of(other) == versions


def test_a_name_to_resume_under_says_nothing_of_another_export(other: holdfast.Store) -> None:
    other.import_lines(export_of(1000, {"a": 500}), resume="load")
    songs = other.repository("songs")
    songs.save({"id": "b"})
    _, version = songs.fetch_versioned("b") or ({}, 0)
    songs.delete("b")
    other.drop("songs")
    # Its entity stands elsewhere, where the first run has stored nothing.
    text = export_of(version, {"b": version}).getvalue().replace(b"\n", b"\n\n", 1)
    other.import_lines(io.BytesIO(text), resume="load")
    assert versions_of(other)["b"] > version


def test_a_version_beyond_its_export_s_is_not_kept(other: holdfast.Store) -> None:
    other.import_lines(export_of(1000, {"a": 500, "b": 1_000_000}))
    versions = versions_of(other)
    assert versions["a"] == 500 and versions["b"] <= other.describe()["sequence"]


def test_lines_of_entities_need_a_repository(other: holdfast.Store) -> None:
    text = b'{"id": "a"}\n{"n": 1}\n'
    with pytest.raises(holdfast.InvalidOptionError):
        other.import_lines(io.BytesIO(text))
    other.import_lines(io.BytesIO(text), repository="things")
    assert other.repository("things").count({"n": 1}) == 1  # with an assigned id


def test_an_export_that_is_damaged_is_not_taken_for_whole(
    filled: holdfast.Store, other: holdfast.Store, tmp_path: Path
) -> None:
    filled.export_lines(tmp_path / "lines")
    text = (tmp_path / "lines").read_bytes().splitlines(keepends=True)
    with pytest.raises(holdfast.InvalidJsonError) as cut:
        other.import_lines(io.BytesIO(b"".join(text[:-1])))
    assert cut.value.detail["line"] == len(text)
    with holdfast.open("memory:") as third, pytest.raises(holdfast.InvalidJsonError):
        third.import_lines(io.BytesIO(b"".join(text[:100] + text[101:])))


def test_an_import_asks_the_repository_s_validator(other: holdfast.Store) -> None:
    things = other.repository("things")

    def check(_id: str, entity: Any) -> None:
        if entity is not None and entity.get("n", 0) < 0:
            raise ValueError("negative")

    things.set_validator(check)
    with pytest.raises(ValueError, match="negative"):
        other.import_lines(io.BytesIO(b'{"id":"a","n":1}\n{"id":"b","n":-1}\n'), repository="things")
    assert things.count() == 0
    other.import_lines(io.BytesIO(b'{"id":"a","n":1}\n'), repository="things")
    assert things.count() == 1


def test_an_import_goes_into_every_engine(
    other: holdfast.Store, open_store: Callable[..., holdfast.Store]
) -> None:
    source, store = other.repository("songs"), open_store()
    source.save_many([{"id": f"s{number:05}", "plays": number, "text": "é"} for number in range(2500)])
    source.create_index("plays")
    file = io.BytesIO()
    other.export_lines(file)
    file.seek(0)
    assert store.import_lines(file)["stored"] == 2500
    songs = store.repository("songs")
    assert songs.find() == source.find()
    assert songs.explain({"plays": 7})["access"] == "index"
    file.seek(0)
    assert store.import_lines(file, existing="skip")["skipped"] == 2500
    with store.transaction() as transaction:
        songs.patch("s00001", {"plays": 0})
    assert transaction.receipt is not None
    assert store.verify()["ok"]


@pytest.mark.parametrize(
    "first",
    ['{"id":null}', '{"id":"a","id":"b"}', "[]", "x", '{"id":true}'],
    ids=["null", "twice", "list", "x", "true"],
)
def test_what_fails_at_its_first_line_creates_no_repository(other: holdfast.Store, first: str) -> None:
    with pytest.raises(holdfast.Error, match="line 1: ") as caught:
        other.import_lines(io.BytesIO(first.encode()), repository="songs")
    assert caught.value.detail["line"] == 1
    header = {
        "holdfast_export": 1,
        "sequence": 5,
        "repositories": [{"name": "songs", "key": "id", "indexes": []}],
    }
    entity = f'{{"repository":"songs","id":"a","version":3,"entity":{first}}}'
    with pytest.raises(holdfast.Error, match="line 2: "):
        other.import_lines(io.BytesIO(f"{json.dumps(header)}\n{entity}\n".encode()))
    other_id = '{"repository":"songs","id":"a","version":3,"entity":{"id":"b"}}'
    with pytest.raises(holdfast.InvalidIdError, match="line 2: the line names the id"):
        other.import_lines(io.BytesIO(f"{json.dumps(header)}\n{other_id}\n".encode()))
    with pytest.raises(holdfast.NotFoundError):
        other.repository("songs", create=False)
    # Without entities it is as good as with some.
    end = '{"end":true,"entities":0}'
    other.import_lines(io.BytesIO(f"{json.dumps(header)}\n{end}\n".encode()))
    assert other.repository("songs", create=False).count() == 0


def test_the_key_of_a_repository_that_is_there_counts(other: holdfast.Store) -> None:
    songs = other.repository("songs", key="name")
    other.import_lines(io.BytesIO(b'{"name":"a","id":null}'), repository="songs")
    assert songs.fetch("a") == {"name": "a", "id": None}


def test_what_is_there_already_is_told_with_the_option_that_helps(other: holdfast.Store) -> None:
    songs = other.repository("songs")
    songs.save({"id": "b", "n": 1})
    lines = b'{"id":"a"}\n{"id":"b"}\n'
    with pytest.raises(holdfast.ExistsError, match=r'line 2: songs has "b" already: .*"existing"') as caught:
        other.import_lines(io.BytesIO(lines), repository="songs")
    assert caught.value.detail["line"] == 2 and caught.value.detail["id"] == "b"
    assert other.import_lines(io.BytesIO(lines), repository="songs", existing="skip")["skipped"] == 1
    assert songs.fetch("b") == {"id": "b", "n": 1}


def test_an_export_of_a_newer_format_is_refused_by_name(other: holdfast.Store) -> None:
    text = export_of(5, {"a": 3}).getvalue()
    newer = text.replace(b'"holdfast_export": 1', b'"holdfast_export": 2')
    for repository in (None, "songs"):
        with pytest.raises(holdfast.FormatTooNewError, match="line 1: the export has the format 2"):
            other.import_lines(io.BytesIO(newer), repository=repository)
    for sequence in (b"-1", b"9007199254740993", b"1e300", b'"5"'):
        damaged = text.replace(b'"sequence": 5', b'"sequence": ' + sequence)
        with pytest.raises(holdfast.InvalidJsonError, match=r'line 1: .*"sequence"'):
            other.import_lines(io.BytesIO(damaged), repository="songs")
    assert other.repositories() == []
    # Further down it is an entity like any other.
    other.import_lines(io.BytesIO(b'{"id":"a"}\n{"id":"b","holdfast_export":2}\n'), repository="songs")
    assert other.repository("songs").count() == 2


@pytest.mark.parametrize("sequence", [2**51, 2**51 + 1, 2**52])
def test_a_store_takes_its_own_exports_however_great_a_sequence_it_was_given(
    other: holdfast.Store, sequence: int
) -> None:
    other.import_lines(export_of(sequence, {"a": 3}))
    other.repository("songs").save({"id": "b"})
    file = io.BytesIO()
    other.export_lines(file)
    with holdfast.open("memory:") as third:
        third.import_lines(io.BytesIO(file.getvalue()))
        assert third.repository("songs").find() == other.repository("songs").find()


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 100])
def test_a_store_takes_its_own_exports_however_flat_its_entities_must_be(depth: int) -> None:
    with holdfast.open("memory:", max_depth=depth) as store:
        songs = store.repository("songs")
        songs.save({"id": "a", "n": 1})
        songs.create_index({"n": 1, "m": -1})
        file = io.BytesIO()
        store.export_lines(file)
    with holdfast.open("memory:", max_depth=depth) as other:
        other.import_lines(io.BytesIO(file.getvalue()))
        songs = other.repository("songs")
        assert songs.find() == [{"id": "a", "n": 1}]
        assert len(songs.indexes()) == 1
        nested = 0
        for _ in range(depth):
            nested = [nested]  # type: ignore[assignment]
        deep = json.dumps({"id": "b", "n": nested}).encode()
        with pytest.raises(holdfast.InvalidJsonError, match="nested deeper than the limit of"):
            other.import_lines(io.BytesIO(deep), repository="songs")
