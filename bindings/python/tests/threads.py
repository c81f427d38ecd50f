"""Other threads for tests."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable


def in_thread(function: Callable[[], Any]) -> Any:
    """Runs a function on another thread, where no transaction is current, and answers what it returns."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(function).result()
