"""Maintenance of a repository: its validator, its indexes and its cache."""

import ctypes
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, Literal, Optional, Union

from ._answers import Json
from ._callbacks import Callbacks, index_progress
from ._codec import Id, id_of, load, native_text, options_of
from ._doors import threaded
from ._handles import call, native_buffer, text_of
from ._library import lib
from ._options import milliseconds, takes
from ._progress import IndexProgress
from ._query import Filter, explain_options, filter_text
from ._types import hf_index_progress_fn
from ._validators import set_validator
from .cache import trim_level

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._query import ExplainOptions
    from .store import Store


class RepositoryMaintenance:
    """What a repository has done that takes its time, and that the library has no asynchronous form of."""

    pointer: Any
    _ask: Callable[..., Any]
    _store: "Store"

    @threaded
    def set_validator(self, validator: Any) -> None:
        """Has what is about to be stored here checked: `songs.set_validator(Song)`.

        A pydantic model, or another class with `model_validate`; a dataclass, a class of attrs or msgspec or
        a TypedDict, as which the entity has to be readable; an object with `validate`, such as
        `jsonschema.Draft202012Validator(schema)`; or a function that is called with the id and the entity as
        a dict, or None where it is to be deleted. What it raises refuses the commit, and is raised by that.
        None takes the validator away.

        It sees each entity that a transaction has written as it is in the end, on the thread that commits
        (for an operation in the background, on the library's), and only what is written through this store.
        Calls on repositories within are a part of the transaction. What is stored already is not checked.

        It holds in this process, until the store is closed, and is stored nowhere: each process that writes
        here sets its own. With it each write outside a transaction becomes one, which is run again after a
        conflict, also a `modify`, which meets none otherwise.
        """
        set_validator(self._store, self.pointer, validator)

    # --- Indexes ---------------------------------------------------------------------------------

    @threaded
    def create_index(
        self,
        fields: Union[str, Mapping[str, int], Iterable[str]],
        *,
        unique: bool = False,
        expire_after: Optional[float] = None,
        name: Optional[str] = None,
        kind: Optional[Literal["values", "text"]] = None,
        language: Optional[str] = None,
        stop_words: Optional[Iterable[str]] = None,
        progress: Optional[IndexProgress] = None,
    ) -> None:
        """Creates an index, and returns when queries use it; reading and writing go on meanwhile. It is no
        part of a transaction, so that a rollback, or an upgrade that fails, leaves it there.

        `fields` is a path, several, or a mapping of paths to 1 (ascending) or -1 (descending). The name is by
        default the paths, descending ones with a hyphen before them, joined by underscores. An equal index of
        this name is left as it is. `progress` is called on the call's thread with the number of entities
        looked at so far; an exception of its ends the call, and the index is not created. It may be tqdm or
        a rich.progress.Progress instead, as for `Maintenance`.

        With `expire_after`, in seconds, entities are deleted so long after the time that stands under the one
        path, in milliseconds since 1970. Those without a number there stay for ever, and nothing tells it: a
        datetime is stored as a text, so store `time.time() * 1000` there.

        With `kind="text"` it is one of words, of which a repository has one: `fields` are paths to texts, a
        mapping to their weights from 1 to 99,999. Words are stemmed as those of the `language` ("english" by
        default, "none" keeps them), and `stop_words` do not count. A filter asks it by
        `{"$text": {"$search": 'coffee "dark roast" -decaf'}}`. `sort={"score": {"$meta": "textScore"}}` has
        the best first, and the same in `fields` tells the score in each entity.

        Raises UniqueViolationError when two entities have the same values in a `unique` one, ExistsError when
        there is an index of this name over something else.
        """
        if isinstance(fields, str):
            fields = {fields: 1}
        elif not isinstance(fields, Mapping):
            fields = dict.fromkeys(fields, 1)
        options = options_of(
            {
                "fields": dict(fields),
                "unique": unique or None,
                "expire_after_ms": milliseconds("expire_after", expire_after),
                "name": name,
                "kind": kind,
                "language": language,
                "stop_words": None if stop_words is None else list(stop_words),
            }
        )
        with Callbacks(progress, name="create_index").calling() as token:
            function = hf_index_progress_fn() if progress is None else index_progress
            call(lib.hf_repository_create_index, self.pointer, options, function, token, stored=nothing)

    @threaded
    def drop_index(self, name: str) -> None:
        """Takes an index away at once, also inside a transaction. Raises NotFoundError."""
        call(lib.hf_repository_drop_index, self.pointer, native_text(name), stored=nothing)

    @threaded
    def indexes(self) -> list[dict[str, Any]]:
        """The indexes, ordered by name: "name", "fields", "unique", "state", "arrays"; of a text index
        "kind", "language" and "stop_words", too; and "outdated" where one was created by an older version:
        drop it and create it again."""
        return self._report(lib.hf_repository_indexes)

    @threaded
    def verify(self) -> dict[str, Any]:
        """Looks at every entity, and holds the indexes against them: "ok" (nothing is wrong), "name",
        "entities" (how many there are), "damaged" (how many of them no read hands out) and "damaged_ids" (at
        most a hundred of those), "failure" (why not all could be looked at, where that is so), and for each
        of "indexes" its "name", "entries", "wrong" and "missing" ones. What is damaged can be saved anew or
        deleted; dropping an index and creating it again mends that."""
        return self._report(lib.hf_repository_verify)

    def _report(self, function: Callable[..., int]) -> Any:
        with native_buffer() as buffer:
            call(function, self.pointer, ctypes.byref(buffer))
            return load(text_of(buffer))

    # --- The cache -------------------------------------------------------------------------------

    @threaded
    def invalidate_cache(self, id: Optional[Id] = None) -> None:
        """Drops what is cached of one entity, or of all, never what is stored: the next read asks the
        storage."""
        text = None if id is None else id_of(id)
        call(lib.hf_repository_invalidate_cache, self.pointer, text, 0 if text is None else len(text))

    @threaded
    def trim_cache(self, level: str) -> None:
        """Drops half of what is cached of the repository, at least one entity, at "warning", and all at
        "critical"."""
        call(lib.hf_repository_trim_cache, self.pointer, trim_level(level))

    @threaded
    def cache_statistics(self) -> dict[str, Any]:
        """What the cache has done for the repository since the store was opened: "hits", "misses", "fills",
        "evictions", "expirations", "invalidations", "entries", "bytes", "held_bytes", "policy". See
        holdfast/cache.h."""
        return self._report(lib.hf_repository_cache_statistics)

    # --- Queries ---------------------------------------------------------------------------------

    @threaded
    @takes(explain_options)
    def explain(self, filter: Filter = None, **options: "Unpack[ExplainOptions]") -> dict[str, Any]:
        """How `find`, or with a path as `distinct` that, carries the query out, found by carrying it out.

        "access" is "id", "index", "scan" or "alternatives", of which each is told; "index" its name;
        "bounds" what of the filter it, or the ids, were asked for; "exact" whether that is all of it; "sort"
        "index", "id", "memory" or None; "examined" how many documents were held against the filter;
        "matched" how many were found; "stages" what is done behind ("$project", with fields); "returned" how
        many are answered; "memory" the most bytes kept at once to sort, or to tell values; "time_us" how long
        it took. With `distinct` "leaps" tells how often an index's entries were leapt over that lead to a
        value which was found.
        """
        given = explain_options(**options)
        return self._ask("explain", Json(), filter=filter_text(filter), options=given)


def nothing() -> None:
    """What a change of the indexes answers."""
