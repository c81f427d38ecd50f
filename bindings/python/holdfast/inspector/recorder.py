"""Recorder: the newest changes of a store, and how many there were in each second."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, Optional

from .. import errors
from .._limits import LIMITS
from ..changes import ChangeBatch
from ..store import Store
from ..stream import ChangeStream

#: So many seconds are charted.
CHARTED = 120


class Recorder:
    """Reads the store's changes, ids without contents, once for all who look at them, from the first who
    does on. It keeps the newest, however fast they come."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: deque[dict[str, Any]] = deque(maxlen=LIMITS.kept_changes)
        #: How many were recorded: the newest one's number.
        self._recorded = 0
        self._seconds: dict[int, list[float]] = {}
        self._heard = threading.Condition()
        self._stream: Optional[ChangeStream[Any]] = None
        self._thread: Optional[threading.Thread] = None
        self._is_closed = False
        #: Why nothing is recorded any more.
        self._failure: Optional[errors.Error] = None

    def start(self) -> None:
        """Begins, unless it has."""
        with self._heard:
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._run, name="holdfast recorder", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Ends it."""
        with self._heard:
            self._is_closed = True
            stream, thread = self._stream, self._thread
            self._heard.notify_all()
        if stream is not None:
            stream.close()
        if thread is not None:
            thread.join()

    def after(self, number: int, wait: float) -> "tuple[int, int, list[dict[str, Any]]]":
        """What was recorded after so many changes, waited for: how many were recorded, how many of the later
        ones are kept no longer or too many to tell at once, and the newest of them. Raises what ended it."""
        with self._heard:
            # Who has a number of an earlier run gets all that is kept.
            number = number if number <= self._recorded else 0
            self._heard.wait_for(lambda: self._recorded > number or self._is_ended(), wait)
            if self._failure is not None and self._recorded == number:
                raise self._failure
            # Who begins gets all that is kept, and what was before that is not missed.
            most = LIMITS.told_changes if number else len(self._kept)
            new = min(self._recorded - number, len(self._kept), most)
            told = [self._kept[index] for index in range(len(self._kept) - new, len(self._kept))]
            return self._recorded, self._recorded - number - new if number else 0, told

    def rates(self) -> "list[dict[str, float]]":
        """For each of the last seconds: commits, changes, and how many milliseconds after it was stored a
        commit was heard of on average."""
        now = int(time.time())
        with self._heard:
            found = []
            for second in range(now - CHARTED, now):
                commits, changes, delay, timed = self._seconds.get(second, (0, 0, 0, 0))
                told = {"commits": commits, "changes": changes, "delay_ms": delay / timed if timed else 0}
                found.append(told)
            return found

    def _run(self) -> None:
        position = self._beginning()
        failure: Optional[errors.Error] = None
        while failure is None and not self._is_closed:
            try:
                self._follow(position)
                failure = errors.ClosedError("The store was closed.")
            except errors.CursorLostError as error:
                position = error.detail["position"]
            except errors.Error as error:
                failure = error
        with self._heard:
            self._failure = failure
            self._heard.notify_all()

    def _is_ended(self) -> bool:
        return self._is_closed or self._failure is not None

    def _beginning(self) -> Optional[str]:
        """A place a little before the present, so that what was just changed can be seen, and near enough
        that not much more is read than is kept: one commit may have changed a million entities."""
        position = None
        try:
            incarnation, _, sequence = self._store.position.rpartition(":")
            back = 1
            while back <= LIMITS.past_commits and not self._is_closed:
                # The token of another place is for the library to make, and this is a part of it.
                position = f"{incarnation}:{max(0, int(sequence) - back)}"
                past = self._store.changes_since(position, entities=False, limit=back)
                if sum(len(commit.changes) for commit in past.commits) >= LIMITS.kept_changes:
                    break
                back *= 2
        except errors.CursorLostError as error:
            # The first that the log has.
            return error.detail["position"]  # type: ignore[no-any-return]
        except errors.Error:
            pass
        return position

    def _follow(self, position: Optional[str]) -> None:
        began = time.time()
        stream = self._store.changes(since=position, entities=False)
        with self._heard:
            self._stream = stream
        with stream:
            if self._is_closed:
                return
            for batch in stream:
                self._record(batch, began)

    def _record(self, batch: "ChangeBatch[Any]", began: float) -> None:
        now = time.time()
        with self._heard:
            for commit in batch.commits:
                second = self._seconds.setdefault(int(commit.time), [0, 0, 0, 0])
                second[0] += 1
                second[1] += len(commit.changes)
                if commit.time >= began and not batch.behind:
                    second[2] += max(0.0, now - commit.time) * 1000
                    second[3] += 1
                # Of a commit with more than are kept, the last are as good as any.
                for change in commit.changes[-LIMITS.kept_changes :]:
                    self._kept.append(told(change, commit.sequence, commit.time))
                self._recorded += len(commit.changes)
            for second_ in [it for it in self._seconds if it < now - 2 * CHARTED]:
                del self._seconds[second_]
            self._heard.notify_all()


def told(change: Any, sequence: int, seconds: float) -> dict[str, Any]:
    """A change as it is shown."""
    return {
        "sequence": str(sequence),
        "time": round(seconds * 1000),
        "repository": change.repository,
        "id": change.id,
        "operation": change.operation,
        **({"to": change.new_name} if change.new_name else {}),
    }


def changes_after(recorder: Recorder, number: int, closing: threading.Event) -> Iterator[Any]:
    """What was recorded after so many changes by now, and then what comes, at most ten times a second."""
    recorder.start()
    recorded, missed, changes = recorder.after(number, 0.5)
    while True:
        yield {"changes": changes, "missed": missed, "recorded": recorded}
        if closing.wait(0.1):
            return
        while True:
            newer, missed, changes = recorder.after(recorded, LIMITS.heartbeat / 1000)
            if newer != recorded:
                break
            if closing.is_set():
                return
            yield None
        recorded = newer
