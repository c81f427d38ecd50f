"""Commits of several machines on one server, in orders that seeds draw, with messages that are lost or late.
`make torture-postgresql` draws a thousand seeds."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scheduled import Event, History, Outcome, explained, judge
from world import Link, World

import holdfast

SCHEDULED = Path(__file__).with_name("scheduled.py")


def test_in_whatever_order_commits_come_they_are_stored_once_or_not_and_told_truly() -> None:
    """Who waits for a lock waits until it is let go of, however long the seed has others wait meanwhile."""
    environment = {**os.environ, "HOLDFAST_LIMITS": "turnInterval=20000000000"}
    done = subprocess.run(
        [sys.executable, SCHEDULED, "8"], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr


def message(letter: bytes, *parts: bytes) -> bytes:
    body = b"".join(part + b"\0" for part in parts)
    return letter + (len(body) + 4).to_bytes(4, "big") + body


def test_the_world_knows_a_commit_by_its_name_once_it_was_prepared() -> None:
    machine: Any = None
    link = Link(machine, socket.socket(), socket.socket())
    text = link.spell_out(message(b"P", b"one", b"WITH moved AS") + message(b"S"))
    assert World._kind(link, text) == "compare"
    named = message(b"B", b"", b"one") + message(b"E", b"") + message(b"S")
    assert World._kind(link, named) is None
    assert World._kind(link, link.spell_out(named)) == "compare"


def event(kind: str, began: int, ended: float, outcome: str, found: str = "") -> Event:
    return Event(kind, f"{kind}{began}", began, ended, outcome, found)


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        ([], None),
        ([event("append", 1, 2, Outcome.DONE), event("append", 3, 4, Outcome.DONE)], None),
        ([event("append", 5, 6, Outcome.DONE)], "append5 was acknowledged and is lost"),
        ([event("append", 1, 2, Outcome.REFUSED)], "append1 is stored although refused"),
        ([event("append", 1, 9, Outcome.DONE), event("append", 3, 4, Outcome.DONE)], None),
        ([event("append", 7, 9, Outcome.DONE), event("append", 3, 4, Outcome.DONE)], "is lost"),
        ([event("twin", 8, 9, Outcome.DONE)], "twin is stored 2 times"),
        ([event("append", 8, 9, Outcome.UNKNOWN)], "nobody knows what became of"),
        (
            [event("append", 3, 4, Outcome.DONE), event("read", 5, 6, Outcome.DONE, "append1")],
            "does not know",
        ),
        ([event("append", 3, 4, Outcome.DONE), event("read", 3, 6, Outcome.DONE, "append1")], None),
        ([event("read", 5, 6, Outcome.DONE, "lost")], "which is not stored"),
        ([event("claim", 1, 2, Outcome.DONE)], "no order explains"),
    ],
)
def test_the_judge_finds_what_is_wrong(path: str, events: "list[Event]", complaint: "str | None") -> None:
    with holdfast.open(path) as store:
        entries = store.repository("entries")
        entries.save({"id": "append1", "behind": "first"})
        entries.save({"id": "append3", "behind": "append1"})
        entries.save_many([{"id": f"twin{number}", "request": "twin"} for number in (1, 2)])
        entries.save({"id": "last", "name": "append3"})
    faults = judge(path, History(events))
    assert any(complaint in fault for fault in faults) if complaint else not faults, faults


def test_the_judge_finds_what_is_stored_beside_the_others(path: str) -> None:
    with holdfast.open(path) as store:
        entries = store.repository("entries")
        entries.save({"id": "lost", "behind": "first"})
        entries.save({"id": "last", "name": "first"})
    assert "beside the others" in "".join(judge(path, History()))


def test_an_order_is_found_where_there_is_one() -> None:
    claim, free = event("claim", 1, 2, Outcome.DONE), event("free", 3, 4, Outcome.DONE)
    assert explained([claim, free], False)
    assert not explained([claim, free], True)
    # The one that was told that the slot is taken had begun before it was free.
    refused = event("claim", 3, 9, Outcome.NO)
    assert explained([claim, free, refused], False)
    assert not explained([claim, free, event("claim", 5, 6, Outcome.NO)], False)
    # What nobody knows the outcome of may have come to pass, also later.
    unknown = event("claim", 5, float("inf"), Outcome.UNKNOWN)
    assert explained([claim, free, unknown], True)
    assert explained([claim, free, unknown], False)
    assert explained([claim, free, unknown, event("claim", 7, 8, Outcome.NO)], True)
    assert explained([unknown, event("free", 7, 8, Outcome.NO), event("claim", 9, 10, Outcome.DONE)], True)
