"""Machines and a PostgreSQL server, between which messages go one at a time, in an order that somebody else
says: each may be lost on its way there, its answer on the way back, or it may come late, when whoever has
sent it has asked what became of it, and gone on.

Everything is true but the order: the library as it is shipped, and the server. Whatever a machine asks that
has to do with commits stops at a gate. Once it is let through nothing else moves until it is at its next
gate, waits for a lock of another one's, or has done its work.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter, deque
from enum import Enum
from typing import Any, Callable, Optional
from urllib.parse import quote, unquote

from server import Server

#: How long, in seconds, the world may need for one step. On a busy machine all takes longer.
LONGEST_STEP = 120.0


class Fate(Enum):
    PASSED = "passed"
    #: The server never hears of it, and finds the connection ended.
    LOST_THERE = "lost on the way there"
    #: The server does it, and nobody hears of that.
    LOST_BACK = "lost on the way back"
    #: The connection is lost, and the server hears of it later.
    LATE = "late"


class Link:
    """A connection of a machine's, and that to the server."""

    def __init__(self, machine: "Machine", client: socket.socket, server: socket.socket) -> None:
        self.machine, self.client, self.server = machine, client, server
        #: The number of the server's process.
        self.process = 0
        #: What was prepared on it, by its name: from then on only that is said.
        self.prepared: dict[bytes, bytes] = {}
        #: Whether it has the store's row, or waits for it.
        self.is_locked = False
        #: Of each request that the server has and has not answered: whether anybody waits for what it does.
        self.asked: deque[bool] = deque()
        #: Whether nobody hears the server any more.
        self.is_deaf = False
        #: Whether the server was told that this is the end, and has ended, too.
        self.has_ended = False
        self.is_over = False

    def spell_out(self, data: bytes) -> bytes:
        """Messages, and behind them the text of every statement that they name."""
        texts = []
        at = 0
        while at + 5 <= len(data):
            end = at + 1 + int.from_bytes(data[at + 1 : at + 5], "big")
            parts = data[at + 5 : end].split(b"\0", 2)
            if data[at : at + 1] == b"P":
                self.prepared[parts[0]] = parts[1]
            elif data[at : at + 1] == b"B":
                texts.append(self.prepared.get(parts[1], b"") + b"\0")
            at = end
        return data + b"".join(texts)

    def deafen(self) -> None:
        self.is_deaf = True
        with contextlib.suppress(OSError):
            self.client.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """The server looks at what it has got first, and lets go of everything then."""
        self.deafen()
        self.has_ended = True
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_WR)


class Request:
    """Messages up to one that asks for an answer, at a gate."""

    def __init__(self, link: Link, kind: str, data: bytes) -> None:
        self.link, self.kind, self.data = link, kind, data
        self.is_disposed = threading.Event()


class Machine:
    """Does one thing after the other with its own connections, in a thread."""

    def __init__(self, world: "World", number: int) -> None:
        self.world, self.number = world, number
        self.folder = tempfile.mkdtemp(prefix="holdfast-machine-", dir="/tmp")
        self.is_busy = False
        self._work: Optional[Callable[[], None]] = None
        self._wakes = threading.Semaphore(0)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.path.join(self.folder, ".s.PGSQL.5432"))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._run, daemon=True).start()

    def __str__(self) -> str:
        return f"machine {self.number}"

    def start(self, work: "Callable[[], None]") -> None:
        self._work, self.is_busy = work, True
        self._wakes.release()

    def _run(self) -> None:
        while True:
            self._wakes.acquire()
            if self._work is None:
                return
            try:
                self._work()
            except BaseException as error:
                self.world.faults.append(f"{self}: {error!r}")
            with self.world.changed:
                self.is_busy = False
                self.world.changed.notify_all()

    def stop(self) -> None:
        self._work = None
        self._wakes.release()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.world.socket)
            link = Link(self, client, server)
            self.world.links.append(link)
            for pump in (self.world.pump_up, self.world.pump_down):
                threading.Thread(target=pump, args=(link,), daemon=True).start()


def messages(source: socket.socket, has_letters: bool) -> "Any":
    """Each with its letter, but for the first of a client, until the end."""
    rest = b""
    letters = 1 if has_letters else 0
    while True:
        while len(rest) >= letters + 4:
            end = letters + int.from_bytes(rest[letters : letters + 4], "big")
            if len(rest) < end:
                break
            yield rest[:end]
            rest, letters = rest[end:], 1
        try:
            data = source.recv(1 << 16)
        except OSError:
            return
        if not data:
            return
        rest += data


class World:
    """A server, machines, and what is between them; until `stop`."""

    def __init__(self, server: Server, machines: int, tells: bool = False) -> None:
        self.socket = os.path.join(unquote(server.url.partition("@")[2].partition(":")[0]), ".s.PGSQL.5432")
        self.changed = threading.Condition()
        self.links: list[Link] = []
        #: At gates, in the order of machines.
        self.gates: list[Request] = []
        #: Those that will come late.
        self.late: list[Request] = []
        self.is_gated = False
        self.faults: list[str] = []
        self.fates: Counter[Fate] = Counter()
        #: Of what kinds the requests were that came to a gate.
        self.kinds: Counter[str] = Counter()
        self.trace: list[str] = []
        self._tells = tells
        self.machines = [Machine(self, number) for number in range(machines)]
        self._side = subprocess.Popen(
            ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", server.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def url(self, machine: Machine, url: str) -> str:
        return url.replace(quote(os.path.dirname(self.socket), safe=""), quote(machine.folder, safe=""))

    def tell(self, text: str) -> None:
        self.trace.append(text)
        if self._tells:
            print(text, flush=True)

    # --- Messages --------------------------------------------------------------------------------

    def pump_up(self, link: Link) -> None:
        parts: list[bytes] = []
        is_first = True
        for message in messages(link.client, has_letters=False):
            parts.append(message)
            if is_first or message[:1] in b"SXQp":
                data = b"".join(parts)
                self._hand_over(link, data, data if is_first else link.spell_out(data))
                parts = []
            is_first = False
        # What comes late needs the connection still.
        if not link.is_deaf:
            link.end()
        link.client.close()

    def pump_down(self, link: Link) -> None:
        for message in messages(link.server, has_letters=True):
            if message[:1] == b"K":
                link.process = int.from_bytes(message[5:9], "big")
            if not link.is_deaf:
                with contextlib.suppress(OSError):
                    link.client.sendall(message)
            if message[:1] == b"Z":
                with self.changed:
                    if link.asked:
                        link.asked.popleft()
                    self.changed.notify_all()
        link.deafen()
        link.server.close()
        with self.changed:
            link.asked.clear()
            link.is_over = True
            self.changed.notify_all()

    def _hand_over(self, link: Link, data: bytes, text: bytes) -> None:
        kind = self._kind(link, text)
        if kind is None or not self.is_gated:
            # Others may wait for the lock that it lets go of.
            return self._send(link, data, b"ROLLBACK\0" in text)
        request = Request(link, kind, data)
        with self.changed:
            self.gates.append(request)
            self.gates.sort(key=lambda one: one.link.machine.number)
            self.changed.notify_all()
        request.is_disposed.wait()

    @staticmethod
    def _kind(link: Link, text: bytes) -> Optional[str]:
        """What has to do with a commit; None for what machines ask beside that, whenever they like."""
        if b"moved AS" in text:
            return "compare"
        if b"FOR UPDATE OF s" in text:
            link.is_locked = True
            return "lock"
        if link.is_locked:
            link.is_locked = b"COMMIT\0" not in text and b"ROLLBACK\0" not in text
            # Nobody waits for that.
            return None if b"ROLLBACK\0" in text else "end" if b"COMMIT\0" in text else "locked"
        return "judge" if b"READ ONLY\0" in text and b"COMMIT\0" in text else None

    def _send(self, link: Link, data: bytes, is_waited_for: bool = True) -> None:
        with self.changed:
            if data[:1] != b"X":
                link.asked.append(is_waited_for)
        with contextlib.suppress(OSError):
            link.server.sendall(data)

    # --- Steps -----------------------------------------------------------------------------------

    def dispose(self, request: Request, fate: Fate) -> None:
        link = request.link
        self.fates[fate] += 1
        self.kinds[request.kind] += 1
        self.tell(f"  {link.machine}: {request.kind} {fate.value}")
        with self.changed:
            self.gates.remove(request)
        if fate is Fate.PASSED:
            self._send(link, request.data)
        elif fate is Fate.LOST_THERE:
            link.end()
        else:
            # Nobody but it may be heard of meanwhile.
            link.is_deaf = True
            if fate is Fate.LOST_BACK:
                self._send(link, request.data)
                self.settle(link.machine)
            else:
                self.late.append(request)
            link.deafen()
        request.is_disposed.set()

    def deliver(self, request: Request) -> None:
        self.tell(f"  {request.link.machine}: {request.kind} comes late")
        self.late.remove(request)
        self._send(request.link, request.data)

    def settle(self, but: Optional[Machine] = None) -> None:
        """Waits until nobody goes on by himself: has done his work, is at a gate, or waits for a lock."""
        deadline = time.monotonic() + LONGEST_STEP
        looked = time.monotonic()
        while True:
            with self.changed:
                at_gates = {request.link.machine for request in self.gates}
                going = [
                    machine
                    for machine in self.machines
                    if machine.is_busy and machine not in at_gates and machine is not but
                ]
                self._forget()
                asked = [link for link in self.links if any(link.asked) or link.has_ended]
                if not going and not asked:
                    return
                self.changed.wait(0.02)
            now = time.monotonic()
            if now - looked > 0.02:
                waiting, looked = self._waiting_for_locks(), now
                at_locks = {link.machine for link in asked if link.process in waiting}
                if all(link.process in waiting for link in asked) and at_locks.issuperset(going):
                    return
            if now > deadline:
                raise AssertionError(f"{', '.join(map(str, going))} did not come to an end")

    def _forget(self) -> None:
        """Of whom nobody hears, and from whom nothing comes any more, the server may forget."""
        late = {request.link for request in self.late}
        self.links = [link for link in self.links if not link.is_over]
        for link in self.links:
            if link.is_deaf and not link.asked and not link.has_ended and link not in late:
                link.end()

    def _waiting_for_locks(self) -> "set[int]":
        assert self._side.stdin is not None and self._side.stdout is not None
        self._side.stdin.write("SELECT pid FROM pg_locks WHERE NOT granted;\n\\echo end\n")
        self._side.stdin.flush()
        found = set()
        while (line := self._side.stdout.readline().strip()) != "end":
            assert line, "psql has ended"
            found.add(int(line))
        return found

    def stop(self) -> None:
        self.is_gated = False
        for request in self.gates:
            request.is_disposed.set()
        for link in list(self.links):
            link.end()
        for machine in self.machines:
            machine.stop()
        assert self._side.stdin is not None and self._side.stdout is not None
        self._side.stdin.close()
        self._side.wait()
        self._side.stdout.close()
