"""Implementations of MongoDB's language, each behind the same few functions. What one does not know, or fails
at, it answers with `Unknown`."""

import copy
import functools
import itertools
import json
from typing import Any, Callable

import mongita
import mongomock
import mongoquery
import montydb
import neosqlite

import holdfast

Document = dict[str, Any]


class Unknown(Exception):
    """The implementation has no answer."""


class Refused(Exception):
    """The update does not fit the document."""


class Collection:
    """One with a collection as pymongo has it."""

    def __init__(self, name: str, collection: Any) -> None:
        self.name = name
        self.collection = collection

    def matches(self, documents: list[Document], filter: Document) -> set[int]:
        """The places of the documents that match."""
        self._fill(documents)
        try:
            return {
                int(found["_id"])
                for found in self.collection.find(copy.deepcopy(filter))
            }
        except (
            Exception
        ) as error:  # of any class; an implementation is no model of errors
            raise Unknown(repr(error)) from None

    def order(
        self, documents: list[Document], sort: list[tuple[str, int]]
    ) -> list[int]:
        self._fill(documents)
        try:
            return [int(found["_id"]) for found in self.collection.find({}).sort(sort)]
        except Exception as error:
            raise Unknown(repr(error)) from None

    def updated(self, document: Document, update: Document) -> Document:
        self._fill([document])
        try:
            self.collection.update_one({"_id": "0"}, copy.deepcopy(update))
        except Exception as error:
            raise Refused(repr(error)) from None
        found = dict(self.collection.find_one({"_id": "0"}))
        del found["_id"]
        return found

    def _fill(self, documents: list[Document]) -> None:
        self.collection.delete_many({})
        if documents:
            self.collection.insert_many(
                [
                    {"_id": str(place), **copy.deepcopy(document)}
                    for place, document in enumerate(documents)
                ]
            )


class Mongoquery:
    """Filters alone, on Python's objects."""

    name = "mongoquery"

    def matches(self, documents: list[Document], filter: Document) -> set[int]:
        query = mongoquery.Query(filter)
        try:
            return {
                place
                for place, document in enumerate(documents)
                if query.match(document)
            }
        except Exception as error:
            raise Unknown(repr(error)) from None


class Holdfast:
    name = "holdfast"

    def __init__(self, documents: "holdfast.Repository[Document]") -> None:
        self.documents = documents

    def matches(self, documents: list[Document], filter: Document) -> set[int]:
        self._fill(documents)
        return {int(found["_id"]) for found in self.documents.find(filter)}

    def order(
        self, documents: list[Document], sort: list[tuple[str, int]]
    ) -> list[int]:
        self._fill(documents)
        return [int(found["_id"]) for found in self.documents.find(sort=dict(sort))]

    def updated(self, document: Document, update: Document) -> Document:
        self._fill([document])
        try:
            changed = self.documents.modify("0", update)
        except (holdfast.InvalidQueryError, holdfast.InvalidEntityError) as error:
            raise Refused(str(error)) from None
        del changed["_id"]
        return changed

    def _fill(self, documents: list[Document]) -> None:
        with self.documents.store.transaction():
            self.documents.delete_all()
            self.documents.save_many(
                {"_id": str(place), **document}
                for place, document in enumerate(documents)
            )


class Mongita(Collection):
    """It takes the names of operators between filters for those of members, and refuses what else it has not."""

    def matches(self, documents: list[Document], filter: Document) -> set[int]:
        if any(name.startswith("$") for name in filter):
            raise Unknown(str(filter))
        return super().matches(documents, filter)


_numbers = itertools.count()


@functools.cache
def _montydb() -> Any:
    # Of one process it bears one.
    return montydb.MontyClient(":memory:")


#: What makes a collection of each, by its name.
COLLECTIONS: dict[str, Callable[[], Any]] = {
    "montydb": lambda: _montydb().holdfast[f"documents{next(_numbers)}"],
    "mongomock": lambda: mongomock.MongoClient().holdfast.documents,
    "mongita": lambda: mongita.MongitaClientMemory().holdfast[
        f"documents{next(_numbers)}"
    ],
    "neosqlite": lambda: neosqlite.Connection(":memory:")["documents"],
}


def implementation(name: str) -> Any:
    if name == "mongoquery":
        return Mongoquery()
    return (Mongita if name == "mongita" else Collection)(name, COLLECTIONS[name]())


def as_json(value: Any) -> str:
    """Where 1, 1.0 and true differ; members in any order."""
    return json.dumps(value, sort_keys=True)
