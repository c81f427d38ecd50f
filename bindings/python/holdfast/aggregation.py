"""Aggregation: what a pipeline of stages makes of a repository's entities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypedDict, TypeVar, Union, overload

from . import _readers, errors
from ._answers import Json
from ._codec import as_dict, options_of
from ._doors import threaded
from ._handles import call
from ._json import Load, dump_operands, load, load_digits
from ._library import lib
from ._options import takes, whole
from ._query import Damaged, Parameters
from ._sources import Source
from .expressions import Expression

if TYPE_CHECKING:
    from typing_extensions import Unpack

D = TypeVar("D")

#: Stages, each a dict with one member; or the JSON of all in bytes.
Pipeline = Union[Sequence[Mapping[str, Any]], bytes]


class AggregateOptions(TypedDict, total=False):
    """How a pipeline is carried out: `holdfast.Repository.aggregate` tells of each."""

    parameters: Parameters
    max_memory_bytes: Optional[int]
    max_stages: Optional[int]
    max_groups: Optional[int]
    max_depth: Optional[int]
    damaged: Damaged


@dataclass(frozen=True)
class AggregateEvent(Generic[D]):
    """What a pipeline makes of the entities by now: what a live aggregation tells."""

    #: The place in the store's history that they are read at.
    position: str
    documents: list[D]
    #: How many commits it brings together; 0 for the first.
    merged: int


def aggregate_options(
    *,
    parameters: Parameters = None,
    max_memory_bytes: Optional[int] = None,
    max_stages: Optional[int] = None,
    max_groups: Optional[int] = None,
    max_depth: Optional[int] = None,
    damaged: Damaged = "refuse",
) -> Optional[bytes]:
    """The options of an aggregation, or None where all are the defaults."""
    return options_of(
        {
            "parameters": as_dict(parameters, "Parameters", '{"least": 30}') if parameters else None,
            "max_memory_bytes": whole(max_memory_bytes, "max_memory_bytes"),
            "max_stages": whole(max_stages, "max_stages"),
            "max_groups": whole(max_groups, "max_groups"),
            "max_depth": whole(max_depth, "max_depth"),
            "damaged": None if damaged == "refuse" else damaged,
        }
    )


def pipeline_text(pipeline: Pipeline) -> bytes:
    """The JSON of a pipeline."""
    if isinstance(pipeline, (bytes, bytearray, memoryview)):
        return bytes(pipeline)
    if isinstance(pipeline, (str, Mapping)) or not isinstance(pipeline, Sequence):
        raise TypeError(f"A pipeline is a list of stages or JSON in bytes, not {type(pipeline).__name__}.")
    return dump_operands([_plain_stage(stage) for stage in pipeline])


def _plain_stage(stage: Any) -> dict[str, Any]:
    if not isinstance(stage, Mapping):
        raise TypeError(f'A stage is a dict such as {{"$limit": 5}}, not {type(stage).__name__}.')
    return {
        name: operand.to_filter() if isinstance(operand, Expression) else operand
        for name, operand in stage.items()
    }


class Documents:
    """Reads documents as dicts, or as objects of a class."""

    def __init__(self, cls: Optional[type]) -> None:
        self._cls = cls
        self._read: Optional[Callable[[Any], Any]] = None if cls is None else _readers.entity_reader(cls)

    def loader(self) -> Load:
        """What parses their text."""
        return load_digits if self._cls is not None and _readers.is_of_digits(self._cls) else load

    def read(self, documents: list[Any]) -> list[Any]:
        """All of them."""
        return documents if self._read is None else [self._one(*it) for it in enumerate(documents)]

    def _one(self, index: int, document: Any) -> Any:
        assert self._read is not None and self._cls is not None
        try:
            return self._read(document)
        except Exception as raised:  # of the class
            raise errors.InvalidArgumentError(
                f"The document {index} is no {self._cls.__name__}: {raised}; have the pipeline make members "
                f"that fit, as by $project, or leave `cls` out.",
                detail={"index": index},
            ) from raised


class AggregateSource(Source["AggregateEvent[Any]"]):
    """A live aggregation."""

    def __init__(
        self, repository: Any, pipeline: bytes, options: Optional[bytes], cls: Optional[type]
    ) -> None:
        self._repository = repository
        self._arguments = (pipeline, len(pipeline), options)
        self._documents = Documents(cls)

    def _open(self, *arguments: Any) -> None:
        call(lib.hf_stream_open_aggregate, self._repository.pointer, *self._arguments, *arguments)

    def _read(self, text: bytes) -> "AggregateEvent[Any]":
        data = self._documents.loader()(text)
        return AggregateEvent(data["position"], self._documents.read(data["documents"]), data["merged"])


class Explaining:
    """What tells of a pipeline, whoever waits for it."""

    _ask: Callable[..., Any]

    @threaded
    @takes(aggregate_options)
    def explain_aggregate(self, pipeline: Pipeline, **options: "Unpack[AggregateOptions]") -> dict[str, Any]:
        """How `aggregate` carries a pipeline out, found by carrying it out.

        What `explain` tells of the first stages, and "stages", the others in their order, "returned" (how
        many documents there are), "memory" (the most bytes kept at once) and "time_us".
        """
        given = aggregate_options(**options)
        return self._ask("explain_aggregate", Json(), pipeline=pipeline_text(pipeline), options=given)


class Aggregating(Explaining):
    """What is made of a repository's entities."""

    @overload
    def aggregate(
        self, pipeline: Pipeline, **options: "Unpack[AggregateOptions]"
    ) -> list[dict[str, Any]]: ...

    @overload
    def aggregate(
        self, pipeline: Pipeline, *, cls: type[D], **options: "Unpack[AggregateOptions]"
    ) -> list[D]: ...

    @takes(aggregate_options)
    def aggregate(self, pipeline: Pipeline, *, cls: Optional[type] = None, **options: Any) -> list[Any]:
        """What a pipeline in MongoDB's language makes of the entities, as dicts or objects of a class.

            orders.aggregate([
                {"$match": F.paid == True},
                {"$group": {"_id": "$country", "total": {"$sum": "$amount"}}},
                {"$sort": {"total": -1}},
            ])

        The stages are $match (a filter, or an expression of `F`), $group, $sort, $limit, $skip, $project,
        $set, $unset, $unwind, $count, $sortByCount, $bucket, $lookup and $replaceRoot; holdfast/aggregate.h
        tells of each, and of the operators in them. Fractions are summed as doubles, also Decimals: who adds
        up money exactly stores whole cents. All repositories are read at one snapshot; in a transaction that
        is its own, with what it has written, and what is looked at counts as read.

        `parameters` gives the values for each {"$param": "name"}. More than `max_memory_bytes` (100 MiB) of
        groups, of documents to be sorted and of what was looked up raise NoMemoryError; more than
        `max_stages` (1,000) stages, than `max_groups` (10,000,000) groups of one of them, and than
        `max_depth` (200) arrays and objects in each other in what they make InvalidQueryError with "option"
        in its detail. `damaged`: see `find`. Raises InvalidQueryError with "stage", "operator" and "path" in
        its detail, and InvalidArgumentError where a document does not fit the class.
        """
        documents = Documents(cls)
        answer = Json(documents.read, documents.loader)
        given = aggregate_options(**options)
        return self._ask("aggregate", answer, pipeline=pipeline_text(pipeline), options=given)  # type: ignore[no-any-return]
