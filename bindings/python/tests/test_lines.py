"""Lines that are exported to files of all kinds, and imported from them."""

import io
import json
from pathlib import Path
from typing import Any, Callable

import pytest
from programs import start_program

import holdfast

Songs = holdfast.Repository[dict[str, Any]]
LINES = "".join(
    json.dumps({"id": str(number), "text": "ü" * 400}, ensure_ascii=False) + "\n" for number in range(500)
)


class Reader:
    """Answers what a function makes of all lines, at once."""

    def __init__(self, function: Callable[[bytes], Any]) -> None:
        self._pieces = [function(LINES.encode()), function(b"")]

    def read(self, _: int) -> Any:
        return self._pieces.pop(0)


def words(text: bytes) -> memoryview:
    """The text as a view whose items are two bytes long."""
    return memoryview(text + b"\n" * (len(text) % 2)).cast("H")


@pytest.mark.parametrize(
    "source",
    [
        lambda: Reader(bytes),
        lambda: Reader(bytearray),
        lambda: Reader(memoryview),
        lambda: Reader(words),
        lambda: Reader(bytes.decode),
        lambda: io.StringIO(LINES),
    ],
    ids=["bytes", "bytearray", "memoryview", "words", "text", "text file"],
)
def test_a_reader_may_give_more_than_it_is_asked_for(
    source: Callable[[], Any], store: holdfast.Store, songs: Songs
) -> None:
    assert store.import_lines(source(), repository="songs")["stored"] == 500
    assert songs.fetch("499") == {"id": "499", "text": "ü" * 400}


def test_a_reader_that_gives_far_more_does_not_write_over_what_is_behind_the_buffer() -> None:
    program = start_program("""
        import holdfast

        class Reader:
            pieces = [b'{"id":"a"}' + b" " * (4 << 20), b""]

            def read(self, _):
                return self.pieces.pop(0)

        with holdfast.open("memory:") as store:
            print(store.import_lines(Reader(), repository="songs")["stored"])
    """)
    end = program.wait()
    assert (end.returncode, end.stdout) == (0, "1\n")


@pytest.mark.parametrize(("piece", "error"), [(5, TypeError), (None, BlockingIOError), ([1], TypeError)])
def test_what_is_neither_bytes_nor_text_is_refused_by_name(
    piece: Any, error: type[Exception], store: holdfast.Store
) -> None:
    with pytest.raises(error):
        store.import_lines(Reader(lambda _: piece), repository="songs")


def test_a_file_that_takes_a_part_of_what_it_is_given_gets_the_rest(
    store: holdfast.Store, songs: Songs, tmp_path: Path
) -> None:
    class Narrow(io.FileIO):
        def write(self, text: Any) -> int:
            return super().write(text[:100])

    store.import_lines(io.StringIO(LINES), repository="songs")
    with Narrow(tmp_path / "narrow", "w") as file:
        store.export_lines(file)
    store.export_lines(tmp_path / "whole")
    narrow, whole = ((tmp_path / name).read_bytes().splitlines() for name in ("narrow", "whole"))
    assert narrow[1:] == whole[1:]
    assert len(narrow) > 500


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-lock"])
def test_a_store_is_neither_exported_onto_its_own_files_nor_imported_from_them(
    path: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Path(path)
    monkeypatch.chdir(place.parent)
    (place.parent / "link").symlink_to(path + ending)
    (place.parent / "elsewhere").mkdir()
    with holdfast.open(f"sqlite:{place.name}") as store:
        store.repository("songs").save({"id": "s1"})
        monkeypatch.chdir("elsewhere")
        for own in (path + ending, Path("..") / "link"):
            for call in (store.export_lines, store.import_lines):
                with pytest.raises(holdfast.InvalidArgumentError, match="store itself"):
                    call(own)
            with pytest.raises(holdfast.InvalidArgumentError, match="store itself"):
                store.export_lines(own, resume=True)
        assert store.verify()["ok"]
    with holdfast.open(path) as store:
        assert store.repository("songs").ids() == ["s1"]
