"""What runs in the middle of a call."""

import signal
from typing import Any

import holdfast

Songs = holdfast.Repository[dict[str, Any]]


def test_a_signal_handler_that_reads_leaves_the_interrupted_reader_its_own_entity(songs: Songs) -> None:
    songs.add_many({"id": id, "text": id * 1000} for id in "ab")
    handled: list[Any] = []
    before = signal.signal(signal.SIGALRM, lambda *_: handled.append(songs.fetch_bytes("b")))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        read = set()
        while len(handled) < 50:
            read.add(songs.fetch_bytes("a"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert {songs.fetch_bytes("a")} == read
    assert {songs.fetch_bytes("b")} == set(handled)
