"""Deferred: the calls of a repository, described now and run later."""

from typing import Any, Callable, TypeVar

from ._answers import Answer
from ._calls import Description, member
from ._codec import dump
from ._doors import Later
from ._handles import OfOneProcess
from ._query import Filter
from ._verbs import RepositoryVerbs

T = TypeVar("T")


class Describing(OfOneProcess):
    """What both packages' repositories have whose calls do nothing yet."""

    def __init__(self, make: Callable[[Description], Any], repository: Any) -> None:
        self._make = make
        self._repository = repository
        self._store = repository.store
        self._codec = repository._codec

    @property
    def name(self) -> str:
        """The repository's name: see `Repository.name`."""
        name: str = self._repository.name
        return name

    def _ask(self, operation: str, answer: Answer[Any], _: Any = None, **arguments: Any) -> Any:
        opened, start = self._repository._described()
        rest = start + b"".join(map(member, arguments.items())) + b"}"
        head = b'{"operation":' + dump(operation) + b',"repository":'
        if opened is None:
            return self._make(Description((head + rest,), (), answer, self._repository._note))
        return self._make(Description((head, rest), (opened,), answer))


class DeferredRepository(Describing, Later, RepositoryVerbs[T, Filter]):
    """A repository whose calls do nothing yet: each answers an `Operation` that does it when it is run.

    What is given is taken as it is at this moment; of everything else, such as an id that is taken, the run
    tells. Parameters and results are those of the repository's methods of the same names. A call that
    answers bytes or a version is not for a sequence.
    """
