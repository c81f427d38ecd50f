"""A shelf of the standard library as the place where a store's entities live: a provider of one's own.

    python shelve_provider.py

Four methods are enough. `apply` and `change_token`, which make a commit one piece and tell what others
write, are left out here: what was done of a commit that fails is taken back, and the receipt says that
entities came one after the other.
"""

import dbm.dumb
import shelve
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import holdfast


class ShelveProvider(holdfast.StorageProvider):
    """Keeps each repository in a shelf of its own, in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._shelves: dict[str, shelve.Shelf[bytes]] = {}

    def save(self, repository: str, id: str, body: bytes) -> None:
        self._shelf(repository)[id] = body

    def fetch(self, repository: str, id: str) -> Optional[bytes]:
        return self._shelf(repository).get(id)

    def fetch_all(self, repository: str) -> Iterator[tuple[str, bytes]]:
        yield from self._shelf(repository).items()

    def delete(self, repository: str, id: str) -> None:
        self._shelf(repository).pop(id, None)

    def sync(self) -> None:
        """Optional: what makes a commit durable."""
        for shelf in self._shelves.values():
            shelf.sync()

    def close(self) -> None:
        """Not the store's affair: whoever made the provider closes it, after the store."""
        for shelf in self._shelves.values():
            shelf.close()

    def _shelf(self, repository: str) -> "shelve.Shelf[bytes]":
        if repository not in self._shelves:
            # The kind of file that every Python has, under a name that is one whatever it is made of.
            path = self._directory / repository.encode().hex()
            self._shelves[repository] = shelve.Shelf(dbm.dumb.open(str(path), "c"))
        return self._shelves[repository]


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        provider = ShelveProvider(Path(directory))
        with holdfast.open_provider(provider) as store:
            countries = store.repository("countries")
            with store.transaction() as transaction:
                countries.add({"id": "DE", "name": "Germany", "population": 84})
                countries.add({"id": "FR", "name": "France", "population": 68})
            print("committed", [change.id for change in transaction.receipt.changes])
            print("as one piece:", transaction.receipt.atomic)
            print("more than 70 million:", [it["name"] for it in countries.find({"population": {"$gt": 70}})])
            try:
                with store.transaction():
                    countries.delete("DE")
                    countries.add({"id": "FR"})
            except holdfast.ExistsError as error:
                print("refused:", error)
        provider.close()

        with holdfast.open_provider(ShelveProvider(Path(directory))) as store:
            print(
                "after opening again:", sorted(it["name"] for it in store.repository("countries").fetch_all())
            )


if __name__ == "__main__":
    main()
