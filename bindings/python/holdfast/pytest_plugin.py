"""Fixtures for pytest: in a `conftest.py`, `pytest_plugins = ["holdfast.pytest_plugin"]`."""

from collections.abc import Iterator

import pytest

from .store import Store, open
from .testing import MockClock, MockStorage


@pytest.fixture
def holdfast_store() -> Iterator[Store]:
    """A store in memory, which is closed after the test."""
    with open("memory:") as store:
        yield store


@pytest.fixture
def holdfast_clock(holdfast_store: Store) -> MockClock:
    """The clock of `holdfast_store`: what its caches hold expires when it is advanced."""
    clock = MockClock()
    holdfast_store.set_clock(clock)
    return clock


@pytest.fixture
def holdfast_storage() -> MockStorage:
    """A storage for `holdfast.open_provider` that counts its calls, and fails where it is told to."""
    return MockStorage()
