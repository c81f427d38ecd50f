"""A proxy between a program and a PostgreSQL server, which has connections go wrong where it is told to.

It knows the protocol just enough to tell where one message ends and the next begins ("Message Formats" in
PostgreSQL's documentation): each has a letter and a length; the first of a client has no letter.
"""

import contextlib
import os
import re
import shutil
import socket
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Callable, Optional
from urllib.parse import quote, unquote


class Direction(Enum):
    TO_SERVER = "to the server"
    TO_CLIENT = "to the client"


class Kind(Enum):
    #: Both ends are closed.
    CUT = "cut"
    #: The client's end is closed, and the server gets what was sent to it, after a while, and then the end.
    LATE = "late"
    #: Nothing goes in this direction for a while.
    STALL = "stall"
    #: Nothing goes in any direction for a while.
    STALL_BOTH = "stall both"
    #: All connections are closed, and new ones, for a while.
    OUTAGE = "outage"


@dataclass
class Fault:
    """What happens as soon as so many bytes, or messages, have gone in one direction: on the connection on
    which the last of them went."""

    direction: Direction
    after: int
    unit: str = "messages"
    kind: Kind = Kind.CUT
    seconds: float = 0
    passed: int = 0
    has_struck: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def strikes(self, direction: Direction, length: int, ends: "list[int]") -> Optional[int]:
        """Behind how many of so many bytes, in which messages end at `ends`; None where it does not yet."""
        with self._lock:
            if direction is not self.direction or self.has_struck:
                return None
            left = self.after - self.passed
            if self.unit == "bytes":
                self.passed += length
                place = left if length >= left else None
            else:
                self.passed += len(ends)
                place = None if len(ends) < left else ends[left - 1] if left > 0 else 0
            self.has_struck = place is not None
            return place


class _Ends:
    """Tells where messages end in what comes in pieces, and counts them by their letters."""

    def __init__(self, direction: Direction, letters: "Counter[bytes]") -> None:
        self._counted = letters
        self._letters = 0 if direction is Direction.TO_SERVER else 1
        self._head = b""
        self._rest = 0

    def of(self, data: bytes) -> "list[int]":
        ends, place = [], 0
        while place < len(data):
            if self._rest == 0:
                taken = data[place : place + self._letters + 4 - len(self._head)]
                self._head += taken
                place += len(taken)
                if len(self._head) < self._letters + 4:
                    break
                self._counted[self._head[: self._letters]] += 1
                self._rest = int.from_bytes(self._head[self._letters :], "big") - 4
                self._head, self._letters = b"", 1
            step = min(self._rest, len(data) - place)
            self._rest -= step
            place += step
            if self._rest == 0:
                ends.append(place)
        return ends


class _Link:
    """A connection of a client, and that to the server."""

    def __init__(self, client: socket.socket, server: socket.socket, fault: Optional[Fault]) -> None:
        self.client, self.server, self.fault = client, server, fault
        #: Until when nothing goes in a direction.
        self.silent_until = dict.fromkeys(Direction, 0.0)
        #: While what was sent comes late, the server's end stays open, and the client's is closed.
        self.is_late = False
        self._pumps = len(Direction)
        self._lock = threading.Lock()

    def end(self) -> None:
        for one in (self.client, self.server):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def let_go(self) -> None:
        """By each pump, as its last."""
        if not self.is_late:
            self.end()
        with self._lock:
            self._pumps -= 1
            if self._pumps == 0:
                self.client.close()
                self.server.close()


class Proxy:
    """In front of the server of a URL, until `stop`. `draw` gives the fault of each new connection; `arm` one
    that all share. `delay`: how many seconds everything takes in each direction."""

    def __init__(
        self, url: str, draw: "Callable[[], Optional[Fault]]" = lambda: None, delay: float = 0
    ) -> None:
        self.folder = tempfile.mkdtemp(prefix="holdfast-proxy-", dir="/tmp")
        there = re.findall("@([^:/]+):", url)[0]
        self.url = url.replace(there, quote(self.folder, safe=""))
        self._delay = delay
        self._target = os.path.join(unquote(there), ".s.PGSQL.5432")
        self._draw = draw
        self._armed: Optional[Fault] = None
        #: What the server says is replaced by something as long.
        self.replaced: Optional[tuple[bytes, bytes]] = None
        self._down_until = 0.0
        #: Nothing goes anywhere, on what is connected and on what comes.
        self._is_silent = False
        self._links: set[_Link] = set()
        self._lock = threading.Lock()
        #: How many faults have struck, by their kind, and by their direction.
        self.struck = dict.fromkeys(Kind, 0)
        self.struck_in = dict.fromkeys(Direction, 0)
        #: How many messages have gone in each direction, by their letters.
        self.messages: dict[Direction, Counter[bytes]] = {direction: Counter() for direction in Direction}
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.path.join(self.folder, ".s.PGSQL.5432"))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, fault: Optional[Fault]) -> None:
        self._armed = fault

    def cut_all(self) -> None:
        """Ends what is connected."""
        with self._lock:
            links = list(self._links)
        for link in links:
            link.end()

    def lose_all(self) -> None:
        """Nothing goes on what is connected, until `heal`, as of a machine that is no more; what comes is
        served."""
        with self._lock:
            for link in self._links:
                link.silent_until = dict.fromkeys(Direction, float("inf"))

    def fall_silent(self) -> None:
        """As a server does that is stopped, until `heal`."""
        self._is_silent = True

    def heal(self) -> None:
        """Nothing goes wrong from now on, also of what is connected."""
        self._draw = lambda: None
        self._armed = None
        self._down_until = 0.0
        self._is_silent = False
        with self._lock:
            for link in self._links:
                link.fault = None
                link.silent_until = dict.fromkeys(Direction, 0.0)

    def stop(self) -> None:
        self._is_silent = False
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                if time.monotonic() < self._down_until:
                    raise ConnectionRefusedError
                server.connect(self._target)
            except OSError:
                server.close()
                client.close()
                continue
            link = _Link(client, server, self._draw())
            with self._lock:
                self._links.add(link)
            for direction in Direction:
                threading.Thread(target=self._pump, args=(link, direction), daemon=True).start()

    def _pump(self, link: _Link, direction: Direction) -> None:
        is_up = direction is Direction.TO_SERVER
        source, sink = (link.client, link.server) if is_up else (link.server, link.client)
        ends = _Ends(direction, self.messages[direction])
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if link.is_late:
                    break
                self._pass(link, direction, sink, data, ends.of(data))
        link.let_go()
        with self._lock:
            self._links.discard(link)

    def _pass(
        self, link: _Link, direction: Direction, sink: socket.socket, data: bytes, ends: "list[int]"
    ) -> None:
        if self.replaced and direction is Direction.TO_CLIENT:
            data = data.replace(*self.replaced)
        for fault in filter(None, (link.fault, self._armed)):
            place = fault.strikes(direction, len(data), ends)
            if place is None:
                continue
            self._wait(link, direction)
            sink.sendall(data[:place])
            data = data[place:]
            with self._lock:
                self.struck[fault.kind] += 1
                self.struck_in[direction] += 1
            self._strike(link, direction, fault, data)
            break
        self._wait(link, direction)
        if self._delay:
            time.sleep(self._delay)
        sink.sendall(data)

    def _strike(self, link: _Link, direction: Direction, fault: Fault, held: bytes) -> None:
        if fault.kind is Kind.OUTAGE:
            self._down_until = time.monotonic() + fault.seconds
            self.cut_all()
        if fault.kind in (Kind.CUT, Kind.OUTAGE):
            link.end()
            raise OSError("cut")
        if fault.kind is Kind.LATE:
            link.is_late = True
            # What is on its way to the server comes there all the same.
            if direction is Direction.TO_SERVER:
                with contextlib.suppress(OSError):
                    link.client.setblocking(False)
                    held += link.client.recv(1 << 20)
            with contextlib.suppress(OSError):
                link.client.shutdown(socket.SHUT_RDWR)
            time.sleep(fault.seconds)
            if direction is Direction.TO_SERVER:
                link.server.sendall(held)
                # It reads what has come before it looks for the end.
                link.server.shutdown(socket.SHUT_WR)
                time.sleep(0.05)
            link.is_late = False
            raise OSError("cut")
        for silent in Direction if fault.kind is Kind.STALL_BOTH else [direction]:
            link.silent_until[silent] = time.monotonic() + fault.seconds

    def _wait(self, link: _Link, direction: Direction) -> None:
        while (rest := link.silent_until[direction] - time.monotonic()) > 0 or self._is_silent:
            time.sleep(max(0.01, min(rest, 0.05)))
