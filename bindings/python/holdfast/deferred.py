"""Deferred: the calls of a repository, described now and run later."""

from collections.abc import Mapping
from typing import Any, Callable, Optional, TypeVar

from ._answers import Answer
from ._calls import Description, member
from ._codec import Codec, dump
from ._doors import Later
from ._handles import OfOneProcess
from ._query import Filter
from ._verbs import RepositoryVerbs

T = TypeVar("T")


class Describing(OfOneProcess):
    """What both packages' repositories have whose calls do nothing yet."""

    def __init__(
        self,
        make: Callable[[Description], Any],
        store: Any,
        name: str,
        codec: Codec[Any],
        key: Optional[str] = None,
        cache: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._make = make
        self._store = store
        #: The repository's name.
        self.name = name
        self._codec = codec
        given = {"repository": name, "key": key, "cache": cache}
        self._repository = b"".join(map(member, given.items()))

    def _ask(self, operation: str, answer: Answer[Any], _: Any = None, **arguments: Any) -> Any:
        start = b'{"operation":' + dump(operation) + self._repository
        return self._make(Description(start + b"".join(map(member, arguments.items())) + b"}", answer))


class DeferredRepository(Describing, Later, RepositoryVerbs[T, Filter]):
    """A repository whose calls do nothing yet: each answers an `Operation` that does it when it is run.

    What is given is taken as it is at this moment; of everything else, such as an id that is taken, the run
    tells. Parameters and results are those of the repository's methods of the same names. A call that
    answers bytes or a version is not for a sequence.
    """
