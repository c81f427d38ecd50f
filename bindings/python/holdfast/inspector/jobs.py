"""Jobs: long work on a store, on threads of its own, with how far it is."""

import itertools
import threading
import time
from typing import Any, Callable, Optional

from .. import errors
from .._limits import LIMITS
from .answers import json_text

#: Hears how much is done, and of how much where that is known.
Tell = Callable[..., None]


class Cancelled(Exception):
    """The work was ended by who asked for it."""


class Job:
    """One piece of work."""

    def __init__(self, number: int, what: str, total: int) -> None:
        self.number, self.what = number, what
        self.done, self.total = 0, total
        self.state = "running"
        self.result: Any = None
        self.began = time.monotonic()
        self.ended: Optional[float] = None
        self.is_wanted = True

    def tell(self, done: int, total: int = 0) -> None:
        """Hears how far it is."""
        self.done, self.total = done, total or self.total
        if not self.is_wanted:
            raise Cancelled("It was cancelled.")

    def told(self) -> dict[str, Any]:
        """What is shown of it."""
        seconds = (self.ended or time.monotonic()) - self.began
        members = ("number", "what", "done", "total", "state", "result")
        return {**{name: getattr(self, name) for name in members}, "seconds": round(seconds, 2)}


class Jobs:
    """The work on one store, newest last; the oldest that have ended are forgotten."""

    def __init__(self) -> None:
        self._jobs: dict[int, tuple[Job, threading.Thread]] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def begin(self, what: str, work: Callable[[Tell], Any], total: int = 0) -> dict[str, Any]:
        """Begins to work."""
        with self._lock:
            if sum(job.state == "running" for job, _ in self._jobs.values()) >= LIMITS.jobs_at_once:
                raise errors.BusyError("Wait until other work on this store is done, or cancel it.")
            ended = [number for number, (job, _) in self._jobs.items() if job.state != "running"]
            for number in ended[: -LIMITS.jobs_at_once]:
                del self._jobs[number]
            job = Job(next(self._numbers), what, total)
            thread = threading.Thread(target=_run, args=(job, work), name=f"holdfast {what}", daemon=True)
            self._jobs[job.number] = job, thread
        thread.start()
        return job.told()

    def cancel(self, number: int) -> None:
        """Has a job end the next time that it tells how far it is."""
        with self._lock:
            found = self._jobs.get(number)
        if found is None:
            raise errors.NotFoundError("There is no such job.")
        found[0].is_wanted = False

    def told(self) -> list[dict[str, Any]]:
        """What is shown of all."""
        with self._lock:
            return [job.told() for job, _ in self._jobs.values()]

    def close(self) -> None:
        """Ends all, and waits for that."""
        with self._lock:
            jobs = list(self._jobs.values())
        for job, _ in jobs:
            job.is_wanted = False
        for _, thread in jobs:
            thread.join()


def _run(job: Job, work: Callable[[Tell], Any]) -> None:
    state = "failed"
    try:
        job.result = work(job.tell)
        json_text(job.result)
        state = "done"
    except Cancelled:
        state = "cancelled"
    except Exception as error:  # whoever asked looks for it there
        job.result = {"error": str(error) or type(error).__name__}
    job.ended = time.monotonic()
    job.state = state
