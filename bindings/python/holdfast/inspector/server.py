"""The server: it listens on this machine alone, and tells nothing to who does not know its secret."""

import hmac
import secrets
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, Optional

from ..store import Store
from .handler import Handler
from .memory import Memory
from .shown import ShownStore

ADDRESS = "127.0.0.1"


class Inspector(ThreadingHTTPServer):
    """Serves a page about stores on the loopback address, each request on a thread of its own.

    `port` 0 is any that is free. Without `write` nothing that is asked of it changes a store. `memory` is
    the file in which it keeps what a person chose on the page, such as columns; without one it forgets that
    when it is closed. The stores stay the caller's; close this first. A context manager that starts to serve
    and closes it at the end of the block; `serve_forever` serves on the calling thread instead.
    """

    daemon_threads = True

    def __init__(
        self, stores: Sequence[Store], *, port: int = 0, write: bool = False, memory: Optional[Path] = None
    ) -> None:
        if not stores:
            raise ValueError("An inspector shows at least one store.")
        self.write = write
        self.memory = Memory(memory)
        self.shown = [ShownStore(store, write) for store in stores]
        #: What a script sends as "Authorization: Bearer …".
        self.token = secrets.token_urlsafe(32)
        self._links: set[str] = set()
        self._sessions: set[str] = set()
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._thread: Optional[threading.Thread] = None
        super().__init__((ADDRESS, port), Handler)

    def server_bind(self) -> None:
        """Binds without asking a name server for this machine's name, as the base class does."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = ADDRESS, self.server_address[1]

    @property
    def address(self) -> str:
        """Where it listens, without a secret."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def link(self) -> str:
        """An address that opens the page once: the browser that comes first keeps a session, so that what
        stands in its history afterwards opens nothing. The secret is behind a #, which no browser sends."""
        link = secrets.token_urlsafe(32)
        with self._lock:
            self._links.add(link)
        return f"{self.address}#token={link}"

    def session(self, link: str) -> Optional[str]:
        """A session in exchange for a link's secret; None where there is no such link, or it was used."""
        with self._lock:
            found = next((it for it in self._links if hmac.compare_digest(it.encode(), link.encode())), None)
            if found is None:
                return None
            self._links.remove(found)
            session = secrets.token_urlsafe(32)
            self._sessions.add(session)
            return session

    def knows(self, secret: str) -> bool:
        """Whether this is the token or a session."""
        given = secret.encode()
        with self._lock:
            known = [self.token, *self._sessions]
        # All of them, so that the time tells nothing.
        return any([hmac.compare_digest(it.encode(), given) for it in known])

    def start(self) -> "Inspector":
        """Serves on a thread of its own."""
        self._thread = threading.Thread(
            target=self.serve_forever, args=(0.05,), name="holdfast inspector", daemon=True
        )
        self._thread.start()
        return self

    def __enter__(self) -> "Inspector":
        return self.start()

    def server_close(self) -> None:
        """Ends what it is doing, and listens no more."""
        if self._thread is not None:
            self.shutdown()
            self._thread.join()
            self._thread = None
        super().server_close()
        for shown in self.shown:
            shown.close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            # Whoever waits there for a browser's next question lets go of the stores.
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begins to answer a connection."""
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Reports a failure, unless it is that the connection was closed."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)
