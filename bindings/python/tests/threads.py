"""Other threads for tests."""

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import holdfast


def in_thread(function: Callable[[], Any]) -> Any:
    """Runs a function on another thread, where no transaction is current, and answers what it returns."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(function).result()


def in_threads(function: Callable[[Any], object], values: Iterable[Any]) -> None:
    """Calls a function with each of these at once, on a thread each, and waits for all."""
    threads = [threading.Thread(target=function, args=(value,)) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def hold_event_thread(store: holdfast.Store) -> threading.Event:
    """Keeps futures from being completed until the gate that it answers is set."""
    caller, gate, held = threading.current_thread(), threading.Event(), threading.Event()

    def hold(_: object) -> None:
        if threading.current_thread() is not caller:
            held.set()
            gate.wait(120)

    # A commit may end before its callback is added, which then runs here: try another.
    while not held.wait(0.05):
        store.submit(lambda: None).add_done_callback(hold)
    return gate
