"""Maintenance of a store: backup and restore, checking, compacting, export and import, schema upgrades."""

import ctypes
import functools
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Callable, Optional, Union

from . import _callbacks, errors
from ._callbacks import Callbacks
from ._codec import as_dict, as_list, load, native_text, options_of
from ._doors import Blocking, threaded
from ._handles import call, native_buffer, text_of
from ._library import lib
from ._limits import LIMITS
from ._plain import done
from ._progress import Progress
from ._query import Damaged
from ._types import HF_CONFLICT, HF_OK
from .transaction import Transaction, open_transaction

if TYPE_CHECKING:
    from .store import Store

StrPath = Union[str, "os.PathLike[str]"]
#: One upgrade. What it does through the store joins the transaction that records the new version.
Upgrade = Callable[["Store"], object]


def restore(
    backup: StrPath,
    url: StrPath,
    *,
    replace: bool = False,
    lock_timeout_ms: Optional[int] = None,
    allow_unsafe_location: Optional[bool] = None,
    progress: Optional[Progress] = None,
) -> None:
    """Makes a store from a backup, or from the file of any store that nobody changes meanwhile.

    `replace` allows it to replace a store that is there, which nobody may have open, and which stays as it is
    until the copy is complete and sound. `progress` is told the bytes done and in all.
    Raises ExistsError, BusyError, NotAStoreError, CorruptError (the backup is damaged).
    """
    options = {
        "replace": replace,
        "lock_timeout_ms": lock_timeout_ms,
        "allow_unsafe_location": allow_unsafe_location,
    }
    with Callbacks(progress, name="restore", unit="B").calling() as token:
        call(
            lib.hf_store_restore,
            native_text(backup),
            native_text(url),
            options_of(options),
            _callbacks.progress_for(progress),
            token,
            stored=nothing,
        )


class StoreMaintenance:
    """Maintenance of an open store, whoever waits for it."""

    pointer: Any
    schema_version: Any
    #: The members that hold the ids of the repositories that are known: what is awaited cannot ask.
    _keys: dict[str, str]

    # --- State -----------------------------------------------------------------------------------

    @threaded
    def sync(self) -> None:
        """Makes everything committed before this call durable, also what was committed as "relaxed".

        Raises HistoryLostError where a server is just found to have lost some of it.
        """
        call(lib.hf_store_sync, self.pointer)

    @threaded
    def describe(self) -> dict[str, Any]:
        """The store's state, for people and programs that watch over it; `hf_store_describe` in
        holdfast/store.h tells each member."""
        return self._report(lib.hf_store_describe)

    # --- Repositories ----------------------------------------------------------------------------

    @threaded
    def repositories(self) -> list[str]:
        """The names of the repositories that are there, in order: those that were opened once, in whatever
        process, with entities or without, and were not dropped."""
        names: list[str] = self._report(lib.hf_store_repositories)
        return names

    @threaded
    def drop(self, name: str) -> None:
        """Drops a repository: its entities and indexes and the repository itself, in one commit.

        `Repository` objects of it stay good, in every process: they find an empty repository, which is there
        again as soon as something is stored in it or it is opened anew, then also with another key. A
        transaction that has read entities of it raises ConflictError when it commits afterwards. Streams
        tell it as one change, "drop". No validator is asked. Other commits wait while the entities are
        deleted, some seconds for a million.

        It is a commit of its own and refused inside a transaction: InvalidStateError. Raises NotFoundError,
        and UnsupportedError where the entities lie with a provider.
        """
        self._outside("drop")
        call(lib.hf_store_drop, self.pointer, native_text(name), stored=nothing)
        self._keys.pop(name, None)

    @threaded
    def rename(self, name: str, new_name: str) -> None:
        """Gives a repository another name, in one commit, however many entities it has.

        `Repository` objects, streams and live queries of it stay good, in every process, and are of it by
        its new name; the old name is free. Streams tell it as one change, "rename", and what was committed
        before under the name from before.

        It is a commit of its own and refused inside a transaction: InvalidStateError. Raises NotFoundError,
        ExistsError where there is one of the new name, and UnsupportedError where the entities lie with a
        provider.
        """
        self._outside("rename")
        call(lib.hf_store_rename, self.pointer, native_text(name), native_text(new_name), stored=nothing)
        if (key := self._keys.pop(name, None)) is not None:
            self._keys[new_name] = key

    def _outside(self, what: str) -> None:
        if open_transaction(self) is not None:  # type: ignore[arg-type]
            raise errors.InvalidStateError(
                f"`{what}` is a commit of its own and cannot be a part of a transaction; call it outside."
            )

    # --- Backup and checking ---------------------------------------------------------------------

    @threaded
    def backup(self, path: StrPath, *, progress: Optional[Progress] = None) -> dict[str, Any]:
        """Copies the newest committed state into a new file, which is a store of its own.

        Beside commits it rests up to three times as long as it works, so that they keep most of their speed.
        `progress` is told the bytes done and in all. Answers "path", "sequence" and "bytes". Raises
        ExistsError where there is a file already, UnsupportedError for a store without a file.
        """
        with Callbacks(progress, name="backup", unit="B").calling() as token:
            function = _callbacks.progress_for(progress)
            return self._report(lib.hf_store_backup, native_text(path), function, token, stores=True)

    @threaded
    def verify(self, *, progress: Optional[Progress] = None) -> dict[str, Any]:
        """Checks the file, every entity and every index: "ok", "problems", "repositories".

        `progress` is told the entities done. What is wrong is an answer and raises nothing.
        """
        with Callbacks(progress, name="verify").calling() as token:
            return self._report(lib.hf_store_verify, _callbacks.progress_for(progress), token)

    @threaded
    def compact(self) -> dict[str, Any]:
        """Gives unused space back to the file system; commits wait meanwhile. "bytes_before", "bytes_after".

        Raises BusyError where another process has the store open.
        """
        return self._report(lib.hf_store_compact, stores=True)

    # --- Export and import -----------------------------------------------------------------------

    @threaded
    def export_lines(
        self,
        target: Union[StrPath, IO[bytes]],
        *,
        repositories: Optional[Sequence[str]] = None,
        resume: bool = False,
        damaged: Damaged = "refuse",
        progress: Optional[Progress] = None,
    ) -> dict[str, Any]:
        """Writes the store, or some of its repositories, as JSON Lines with ids and versions, in one state.

        `target` is a path, where a file that is there is written over, or a file opened for writing bytes.
        InvalidArgumentError refuses a path of the store's own files.
        With `resume` a path that holds an export which was cut short is gone on with, if it is of this store
        and these repositories and nothing was committed since, and else begun anew. An entity that is damaged
        where it is stored raises CorruptError; with `damaged="skip"` such are left out. `progress` is told
        the entities done. Answers "sequence", "entities" (those written now) and "skipped" (those left out).
        """
        if not isinstance(resume, bool):
            raise TypeError("`resume` is True or False: the file tells by itself how far it got.")
        if not isinstance(target, (str, os.PathLike)):
            given: IO[bytes] = target
            return self._export(lambda: given, repositories, None, damaged, progress)
        path = Path(target)
        self._refuse_own_file(path)
        if resume:
            with _resumed(path) as (file, after):
                if file is not None:
                    rest: IO[bytes] = file
                    try:
                        return self._export(lambda: rest, repositories, after, damaged, progress)
                    except errors.ConflictError:
                        pass  # written since, or of something else: anew
        with ExitStack() as opened:
            # When the first line comes, so that an export that is refused leaves an older one as it was.
            anew = functools.cache(lambda: opened.enter_context(path.open("wb")))
            return self._export(anew, repositories, None, damaged, progress)

    def _refuse_own_file(self, path: StrPath) -> None:
        """Before one is opened: writing destroys what is the store's, and closing drops its locks."""
        for own in (self._file + ending for ending in ("", "-wal", "-shm", "-lock")):
            if os.path.exists(own) and os.path.exists(path) and os.path.samefile(own, path):
                raise errors.InvalidArgumentError(
                    f"{path} is a file of the store itself: choose another one."
                )

    def _export(
        self,
        target: Callable[[], IO[bytes]],
        repositories: Optional[Sequence[str]],
        after: Optional[Mapping[str, Any]],
        damaged: Damaged,
        progress: Optional[Progress],
    ) -> dict[str, Any]:
        def write(text: Any, length: int) -> int:
            rest = ctypes.string_at(text, length)
            file = target()
            written = file.write(rest)
            # A file without a buffer may take a part, and says how much.
            while isinstance(file, io.RawIOBase) and written != len(rest):
                if not written:
                    raise BlockingIOError("The file takes nothing just now; open it so that writing waits.")
                rest = rest[written:]
                written = file.write(rest)
            return HF_OK

        options = {
            "repositories": None if repositories is None else as_list(repositories, "Repositories"),
            "after": after,
            "damaged": None if damaged == "refuse" else damaged,
        }
        functions = (_callbacks.write, _callbacks.progress_for(progress))
        with Callbacks(progress, write, name="export").calling() as token:
            report = self._report(lib.hf_store_export, options_of(options), *functions, token, stores=True)
        target().flush()
        return report

    @threaded
    def import_lines(
        self,
        source: Union[StrPath, IO[bytes], IO[str]],
        *,
        repository: Optional[str] = None,
        existing: Optional[str] = None,
        resume: Optional[str] = None,
        indexes: Optional[bool] = None,
        progress: Optional[Progress] = None,
    ) -> dict[str, Any]:
        """Stores what an export has written, or lines that are entities of `repository`, a piece at a time
        and as no part of a transaction: what was stored before an error stays.

        `source` is a path, or what has a `read` that answers bytes or text, empty at its end. `existing` says
        what becomes of an entity whose id is taken: "refuse" (ExistsError), "replace" or "skip". With a name
        in `resume`, an import that was cut short can be run again and stores only the rest. A store without
        entities takes over those of an export with their versions; one that has some gives new ones.
        `indexes` False leaves the export's indexes out. `progress` is told the entities done. Answers
        "entities", "stored" and "skipped"; errors name the "line" in their detail.
        """
        if isinstance(source, (str, os.PathLike)):
            self._refuse_own_file(source)
            with Path(source).open("rb") as file:
                return self.import_lines(
                    file,
                    repository=repository,
                    existing=existing,
                    resume=resume,
                    indexes=indexes,
                    progress=progress,
                )

        left = memoryview(b"")

        def read(buffer: Any, capacity: int) -> int:
            nonlocal left
            # A reader may give more than it is asked for, as text in other letters than ASCII's does.
            piece = left or memoryview(_octets(source.read(capacity)))
            left = piece[capacity:]
            ctypes.memmove(buffer, bytes(piece[:capacity]), min(len(piece), capacity))
            return min(len(piece), capacity)

        options = {"repository": repository, "existing": existing, "resume": resume, "indexes": indexes}
        functions = (_callbacks.read, _callbacks.progress_for(progress))
        with Callbacks(progress, read, name="import").calling() as token:
            return self._report(
                lib.hf_store_import, options_of(options), *functions, token, is_piecemeal=True
            )

    @threaded
    def import_table(
        self,
        path: StrPath,
        table: str,
        *,
        repository: Optional[str] = None,
        id: Optional[str] = None,
        json: Sequence[str] = (),
        existing: Optional[str] = None,
        resume: Optional[str] = None,
        progress: Optional[Progress] = None,
    ) -> dict[str, Any]:
        """Stores the rows of a table or view of any SQLite file as entities, the columns as members.

        They go to `repository`, by default one of the table's name. `id` is the column whose value becomes
        the id: by default the one called like the repository's key, the primary key, or the row's number.
        Columns in `json` hold JSON text. Otherwise as `import_lines`.
        """
        options = {
            "repository": repository,
            "id": id,
            "json": as_list(json, "Columns that hold JSON") or None,
            "existing": existing,
            "resume": resume,
        }
        with Callbacks(progress, name="import").calling() as token:
            return self._report(
                lib.hf_store_import_table,
                native_text(path),
                native_text(table),
                options_of(options),
                _callbacks.progress_for(progress),
                token,
                is_piecemeal=True,
            )

    # --- The schema ------------------------------------------------------------------------------

    @threaded
    def upgrade(
        self,
        upgrades: Mapping[int, Upgrade],
        *,
        backup: bool = True,
        progress: Optional[Progress] = None,
    ) -> dict[str, Any]:
        """Brings the store to the program's schema, one version after the other.

        `upgrades` maps each version to the function that leads to the next, without gaps: {1: one_to_two, 2:
        two_to_three} leads to version 3. A function is called with the store, and what it does there joins
        the transaction that records the new version: what fails is done again as a whole at the next call. A
        new store gets the newest version at once: call it before `repository`, which makes one; a store with
        repositories and without a recorded version has version 0. Before the first step a store with a file
        is backed up beside itself, unless `backup` is False; `progress` is told of that; on a server none is
        made. Answers "from", "to" and "backup".

        Other processes that have the store open are told nothing, and go on writing old shapes: end them
        first. Raises ConflictError where they have changed what a step reads in each of 100 attempts,
        SchemaTooNewError when the store is newer than the program, and InvalidStateError inside a
        transaction, because these are transactions of their own.
        """
        self._outside("upgrade")
        upgrades = as_dict(upgrades, "Upgrades", "{1: from_one_to_two}")
        versions = sorted(upgrades)
        if not versions:
            raise errors.InvalidArgumentError("There are no upgrades: give one for each version to leave.")
        if versions != list(range(versions[0], versions[-1] + 1)):
            missing = next(version for version in range(versions[0], versions[-1]) if version not in upgrades)
            raise errors.InvalidArgumentError(f"The upgrades have none for version {missing}: add it.")
        recorded = self.schema_version or 0
        if self._is_old(recorded, versions):
            raise errors.InvalidArgumentError(
                f"The store has schema version {recorded}, and the upgrades begin at {versions[0]}."
            )
        store: Any = self

        def run(pointer: Any, version: int) -> int:
            transaction = Transaction(store, pointer, owned=False)
            try:
                with transaction.joined():
                    done(upgrades[version](store), "A step of an upgrade, which gets a blocking store,")
            except errors.ConflictError:
                return HF_CONFLICT
            return HF_OK

        functions = (_callbacks.upgrade, options_of({"backup": backup}), _callbacks.progress_for(progress))
        with Callbacks(progress, run, name="upgrade", unit="B").calling() as token:
            return self._report(lib.hf_store_upgrade, versions[-1] + 1, *functions, token, is_piecemeal=True)

    def _is_old(self, recorded: int, versions: Sequence[int]) -> bool:
        if recorded >= versions[0]:
            return False
        store: Any = self
        return self.schema_version is not None or bool(store.describe()["repositories"])

    def _report(
        self, function: Callable[..., int], *arguments: Any, stores: bool = False, is_piecemeal: bool = False
    ) -> Any:
        with native_buffer() as buffer:

            def report() -> Any:
                return load(text_of(buffer))

            stored = report if stores or is_piecemeal else None
            arguments += (ctypes.byref(buffer),)
            call(function, self.pointer, *arguments, stored=stored, is_piecemeal=is_piecemeal)
            return report()


class Maintenance(Blocking, StoreMaintenance):
    """Maintenance of an open store. All of it goes on beside other reading and writing.

    `progress` is a function, which is called on the calling thread, and whose exception ends the work and is
    raised; or what shows a person how far it is: `tqdm`, of which a bar is made that is closed at the end
    (also in a `functools.partial` with options of a bar), a bar of tqdm that is there already, or a
    `rich.progress.Progress`, which gets a task.
    """

    @property
    def schema_version(self) -> Optional[int]:
        """The recorded version of the program's schema; None where none is."""
        version = ctypes.c_int64()
        call(lib.hf_store_schema_version, self.pointer, ctypes.byref(version))
        return None if version.value < 0 else version.value


def nothing() -> None:
    """What a restore answers."""


def _octets(piece: Any) -> bytes:
    """What a reader gave, as bytes."""
    if isinstance(piece, str):
        return piece.encode()
    if isinstance(piece, (bytes, bytearray, memoryview)):
        return bytes(piece)
    if piece is None:
        raise BlockingIOError("The file has nothing to read just now; open it so that reading waits.")
    raise TypeError(f"A file's read answers bytes or text, not {type(piece).__name__}.")


@contextmanager
def _resumed(path: Path) -> Iterator[tuple[Optional[IO[bytes]], Optional[dict[str, Any]]]]:
    """An export that was cut short, up to its last whole line, and where it ends; None where none is."""
    try:
        file = path.open("r+b")
    except FileNotFoundError:
        yield None, None
        return
    with file:
        after = None
        try:
            header, last, end = _ends(file)
            if "entity" in last:
                after = {
                    "sequence": header["sequence"],
                    "incarnation": header["incarnation"],
                    "repositories": [repository["name"] for repository in header["repositories"]],
                    "repository": last["repository"],
                    "id": last["id"],
                }
                file.seek(end)
                file.truncate()
        except (KeyError, TypeError, ValueError):
            pass  # no export
        yield (file if after else None), after


def _ends(file: IO[bytes]) -> tuple[dict[str, Any], dict[str, Any], int]:
    """The first line, the last whole one, and where that ends."""
    first = file.readline()
    start, end = len(first), file.seek(0, os.SEEK_END)
    tail = b""
    while end > start and tail.count(b"\n") < 2:
        end = max(start, end - LIMITS.tail_bytes)
        file.seek(end)
        tail = file.read()
    whole = tail[: tail.rfind(b"\n") + 1]
    return json.loads(first), json.loads(whole.splitlines()[-1] if whole else b"{}"), end + len(whole)
