"""Cursors over a provider that fails now and then."""

from collections.abc import Iterator
from typing import Optional

import pytest

import holdfast


class Failing(holdfast.StorageProvider):
    """In memory; the fetch of one number fails."""

    def __init__(self) -> None:
        self.bodies: dict[tuple[str, str], bytes] = {}
        self.fetches = 0
        self.failing = 0

    def save(self, repository: str, id: str, body: bytes) -> None:
        self.bodies[repository, id] = body

    def fetch(self, repository: str, id: str) -> Optional[bytes]:
        self.fetches += 1
        if self.fetches == self.failing:
            raise OSError("the disk is away")
        return self.bodies.get((repository, id))

    def fetch_all(self, repository: str) -> Iterator[tuple[str, bytes]]:
        return ((id, body) for (name, id), body in list(self.bodies.items()) if name == repository)

    def delete(self, repository: str, id: str) -> None:
        self.bodies.pop((repository, id), None)


@pytest.mark.parametrize("failing", range(1, 7))
def test_a_sorted_cursor_loses_nothing_of_a_piece_that_failed(failing: int) -> None:
    provider = Failing()
    with holdfast.open_provider(provider) as store:
        songs = store.repository("songs")
        songs.add_many({"id": str(number), "n": number} for number in range(6))
        provider.fetches, provider.failing = 0, failing
        with songs.iterate(sort={"n": -1}) as cursor:
            with pytest.raises(holdfast.HostError):
                list(cursor)
            assert [song["n"] for song in cursor] == [5, 4, 3, 2, 1, 0]
