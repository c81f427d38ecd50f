"""Commits of several machines on one server, in an order that a seed draws, with messages that are lost or
late.

python scheduled.py 1000 runs so many seeds, drawn, and prints figures; python scheduled.py --seed SEED runs
one of them again, which goes the same way but for what two machines do at once, and tells what happens.
"""

import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Callable

from server import Server, new_store
from world import LONGEST_STEP, Fate, Machine, World

import holdfast

MACHINES = 3
STEPS = 25
#: Beyond so many draws everything is passed on.
MOST_DRAWS = 400


class Outcome:
    DONE, REFUSED, UNKNOWN = "done", "refused", "unknown"
    #: The entity was there already, or was not.
    NO = "no"


@dataclass
class Event:
    """What a machine did, from one time of the history to another."""

    kind: str
    name: str
    began: int
    ended: float = float("inf")
    outcome: str = Outcome.UNKNOWN
    #: Of a read.
    found: str = ""


@dataclass
class History:
    events: "list[Event]" = field(default_factory=list)
    clock: int = 0

    def begin(self, kind: str, name: str) -> Event:
        self.clock += 1
        event = Event(kind, name, self.clock)
        self.events.append(event)
        return event

    def end(self, event: Event, outcome: str) -> None:
        self.clock += 1
        # What nobody knows the outcome of may come to pass later.
        event.ended = float("inf") if outcome is Outcome.UNKNOWN else self.clock
        event.outcome = outcome

    def of(self, kind: str) -> "list[Event]":
        return [event for event in self.events if event.kind == kind]


class Client:
    """A program on a machine, which goes on after failures."""

    def __init__(self, machine: Machine, url: str, history: History, draw: random.Random) -> None:
        self.machine, self.history, self.draw = machine, history, draw
        self.store = holdfast.open(machine.world.url(machine, url), lock_timeout_ms=60_000)
        self.entries = self.store.repository("entries")
        self.count = 0

    def next_work(self) -> "Callable[[], None]":
        self.count += 1
        name = f"{self.machine.number}.{self.count}"
        kind = self.draw.choices(["append", "twin", "claim", "free", "read"], [40, 20, 10, 10, 20])[0]
        if kind == "append":
            return lambda: self._append(self.history.begin("append", name), self.draw.random() < 0.5)
        if kind == "twin":
            # Another machine comes with the same request.
            return lambda: self._save(self.history.begin(f"twin{self.count // 2}", name))
        event = self.history.begin
        if kind == "read":
            return lambda: self._read(event("read", name))
        if kind == "claim":
            return lambda: self._tell(event("claim", name), lambda: self.entries.add({"id": "slot"}))
        return lambda: self._tell(event("free", name), lambda: self.entries.delete("slot"))

    def _append(self, event: Event, has_key: bool) -> None:
        def body() -> None:
            last = self.entries["last"]["name"]
            self.entries.save({"id": event.name, "behind": last})
            self.entries.save({"id": "last", "name": event.name})

        key = event.name if has_key else None
        self._tell(event, lambda: self.store.transact(body, idempotency_key=key, timeout=600))

    def _save(self, event: Event) -> None:
        """Depends on nothing that it reads: the key alone tells that another one has done it."""

        def body() -> None:
            self.entries.save({"id": event.name, "request": event.kind})

        self._tell(event, lambda: self.store.transact(body, idempotency_key=event.kind, timeout=600))

    def _read(self, event: Event) -> None:
        def read() -> None:
            event.found = self.entries["last"]["name"]

        self._tell(event, read)

    def _tell(self, event: Event, work: "Callable[[], object]") -> None:
        try:
            work()
            outcome = Outcome.DONE
        except (holdfast.ExistsError, holdfast.NotFoundError):
            outcome = Outcome.NO
        except holdfast.Error as error:
            state = error.commit_state
            outcome = {
                holdfast.CommitState.NONE: Outcome.REFUSED,
                holdfast.CommitState.DONE: Outcome.DONE,
            }.get(state, Outcome.UNKNOWN)
            words = error.message.partition("postgresql:")[0]
            self.machine.world.tell(f"  {self.machine}: {type(error).__name__} {state.name}: {words}")
        self.history.end(event, outcome)
        self.machine.world.tell(f"{self.machine}: {event.kind} {event.name} {outcome} {event.found}")


def judge(url: str, history: History) -> "list[str]":
    """What is wrong with what is stored, and with what was told."""
    with holdfast.open(url) as store:
        store.verify()
        entries = {entry["id"]: entry for entry in store.repository("entries")}
    faults = []
    last = entries.pop("last")["name"]
    has_slot = entries.pop("slot", None) is not None
    unknown = [event.name for event in history.events if event.outcome is Outcome.UNKNOWN]
    if unknown:
        faults.append(f"nobody knows what became of {unknown}, though the server is there")
    requests = Counter(entry["request"] for entry in entries.values() if "request" in entry)
    behind = {name: entry["behind"] for name, entry in entries.items() if "behind" in entry}
    # Each was written by whoever had seen the one before.
    order = []
    while last in behind and last not in order:
        order.append(last)
        last = behind[last]
    order.reverse()
    if last != "first" or len(order) != len(behind):
        faults.append(
            f"{sorted(set(behind) - set(order))} are stored beside the others, or {last} is missing"
        )
    place = {name: number for number, name in enumerate(["first", *order])}
    appends = [event for event in history.events if event.kind == "append" or event.kind.startswith("twin")]
    for event in appends:
        is_stored = event.name in entries or requests[event.kind] > 0
        if event.outcome is Outcome.DONE and not is_stored:
            faults.append(f"{event.name} was acknowledged and is lost")
        if event.outcome is Outcome.REFUSED and event.name in entries:
            faults.append(f"{event.name} is stored although refused")
        if requests[event.kind] > 1:
            faults.append(f"{event.kind} is stored {requests[event.kind]} times")
    # What was acknowledged comes before what began then, and is seen by whoever reads then.
    seen = [(event, event.name) for event in appends if event.name in place]
    for event in history.of("read"):
        if event.outcome is Outcome.DONE:
            seen.append((event, event.found))
            if event.found not in place:
                faults.append(f"{event.name} has read {event.found}, which is not stored")
    for event in appends:
        if event.outcome is not Outcome.DONE or event.name not in place:
            continue
        for other, name in seen:
            if event.ended < other.began and place.get(name, len(place)) < place[event.name]:
                faults.append(
                    f"{other.name} ({name}) does not know of {event.name}, which was acknowledged before"
                )
    if not explained(history.of("claim") + history.of("free"), has_slot):
        faults.append("no order explains who has claimed the slot and freed it")
    return faults


def explained(events: "list[Event]", is_claimed: bool) -> bool:
    """Whether there is an order of these in which each was answered as the slot then was, and that ends so:
    an event that had ended before another began comes before it (Wing and Gong, 1993)."""
    events = [event for event in events if event.outcome is not Outcome.REFUSED]
    seen: set[tuple[frozenset[int], bool]] = set()

    def search(left: "frozenset[int]", is_there: bool) -> bool:
        if all(events[one].outcome is Outcome.UNKNOWN for one in left) and is_there is is_claimed:
            return True
        if (left, is_there) in seen:
            return False
        seen.add((left, is_there))
        first = min((events[one].ended for one in left), default=0.0)
        for one in left:
            event = events[one]
            if event.began > first:
                continue
            is_free = not is_there if event.kind == "claim" else is_there
            if event.outcome is not Outcome.UNKNOWN and is_free is not (event.outcome is Outcome.DONE):
                continue
            if search(left - {one}, (event.kind == "claim") if is_free else is_there):
                return True
        return False

    return search(frozenset(range(len(events))), False)


def draw_steps(world: World, clients: "list[Client]", draw: random.Random) -> None:
    """Draws until everything has come to its end."""
    left, draws = STEPS, 0
    lost = draw.choice([5, 15, 35])
    deadline = time.monotonic() + LONGEST_STEP
    while True:
        world.settle()
        choices: list[tuple[str, object]] = []
        if left > 0:
            choices += [("start", client) for client in clients if not client.machine.is_busy]
        choices += [("pass", request) for request in world.gates]
        choices += [("deliver", request) for request in world.late]
        if not choices:
            if not any(client.machine.is_busy for client in clients):
                return
            # Whose lock they wait for just lets go of it.
            assert time.monotonic() < deadline, "each waits for the others"
            continue
        deadline = time.monotonic() + LONGEST_STEP
        what, one = draw.choice(choices)
        if what == "start":
            left -= 1
            one.machine.start(one.next_work())  # type: ignore[attr-defined]
        elif what == "deliver":
            world.deliver(one)  # type: ignore[arg-type]
        else:
            draws += 1
            goes_wrong = draws < MOST_DRAWS and draw.randrange(100) < lost
            fate = draw.choices(list(Fate)[1:], [2, 3, 4])[0] if goes_wrong else Fate.PASSED
            world.dispose(one, fate)  # type: ignore[arg-type]


@dataclass
class Told:
    faults: "list[str]"
    trace: "list[str]"
    outcomes: "Counter[str]"
    fates: "Counter[Fate]"


def run(server: Server, seed: int, tells: bool = False) -> Told:
    draw = random.Random(seed)
    history = History()
    url = f"{server.url}?{new_store()}"
    with holdfast.open(url) as store:
        store.repository("entries").save({"id": "last", "name": "first"})
    world = World(server, MACHINES, tells)
    try:
        clients = [
            Client(machine, url, history, random.Random(f"{seed} {machine.number}"))
            for machine in world.machines
        ]
        world.is_gated = True
        try:
            draw_steps(world, clients, draw)
        except AssertionError as error:
            world.faults.append(str(error))
        world.is_gated = False
        stored = sum(
            event.outcome is Outcome.DONE and event.kind in ("append", "claim", "free")
            for event in history.events
        )
        if stored > world.kinds["compare"] + world.kinds["end"]:
            world.faults.append(f"commits passed the gates unseen: {stored} of {dict(world.kinds)}")
        if not world.faults:
            for client in clients:
                client.store.close()
            world.faults += judge(url, history)
    finally:
        world.stop()
    return Told(world.faults, world.trace, Counter(event.outcome for event in history.events), world.fates)


def main(seeds: "list[int]", tells: bool) -> int:
    server = Server.shared()
    began, wrong = time.monotonic(), 0
    outcomes: Counter[str] = Counter()
    fates: Counter[Fate] = Counter()
    for seed in seeds:
        told = run(server, seed, tells)
        outcomes += told.outcomes
        fates += told.fates
        for fault in told.faults:
            print(f"WRONG: {fault}")
        if told.faults:
            wrong += 1
            print(f"seed {seed} shows it again (scheduled.py --seed {seed})", flush=True)
    print(
        f"{len(seeds)} seeds from {seeds[0]}, {wrong} wrong, in {time.monotonic() - began:.0f} s: "
        f"{', '.join(f'{count} {name}' for name, count in outcomes.items())}; "
        f"{', '.join(f'{count} {fate.value}' for fate, count in fates.items())}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1] == "--seed":
        sys.exit(main([int(sys.argv[2])], True))
    first = random.randrange(1 << 30)
    sys.exit(main([first + number for number in range(int(sys.argv[1]))], False))
