"""The server of `holdfast inspect`: one page, its data, and a token without which nothing is told."""

import ctypes
import hmac
import json
import secrets
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any, Callable, Optional
from urllib.parse import parse_qs, urlsplit

from .. import errors
from .._answers import Views
from .._codec import load
from .._limits import LIMITS
from ..difference import Snapshot, apply_difference
from ..store import Store
from ..stream import LiveQuery
from .output import json_text

ADDRESS = "127.0.0.1"
# Names by which a browser may ask for the page. Others lead here too where somebody's name server says so.
HOSTS = (ADDRESS, "localhost")

FILES = {
    "": ("page.html", "text/html"),
    "page.css": ("page.css", "text/css"),
    "page.js": ("page.js", "text/javascript"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class InspectServer(ThreadingHTTPServer):
    """Serves the page of one store on the loopback address, each request on a thread of its own."""

    def __init__(self, store: Store, port: int = 0) -> None:
        self.store = store
        self.token = secrets.token_urlsafe(32)
        super().__init__((ADDRESS, port), Handler)

    @property
    def url(self) -> str:
        """The page's address, with the token."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Reports a failure, unless it is that the connection was closed."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: InspectServer
    server_version, sys_version = "holdfast", ""
    # Who connects and asks nothing is not waited for longer.
    timeout = 30

    def parse_request(self) -> bool:
        """Refuses, whatever the method, who does not know the token or asks for another host's page."""
        if not super().parse_request():
            return False
        first, _, self.place = urlsplit(self.path).path.lstrip("/").partition("/")
        if hmac.compare_digest(first.encode(), self.server.token.encode()) and self._is_own_host():
            return True
        self.send_error(HTTPStatus.FORBIDDEN)
        return False

    def _is_own_host(self) -> bool:
        hosts = self.headers.get_all("Host", [])
        name, _, port = hosts[0].partition(":") if len(hosts) == 1 else ("", "", "")
        return name.lower() in HOSTS and (port or "80") == str(self.server.server_port)

    def do_GET(self) -> None:
        """Answers with a file of the page, or with data."""
        answer: dict[str, Callable[[], None]] = {"store": self._store, "find": self._find, "live": self._live}
        if self.place in FILES:
            name, kind = FILES[self.place]
            self._send((resources.files(__package__) / "inspect_page" / name).read_bytes(), kind)
        elif self.place in answer:
            try:
                answer[self.place]()
            except (errors.Error, ValueError, TypeError, RecursionError) as error:
                text = json_text({"error": str(error) or type(error).__name__})
                self._send(text.encode(), "application/json", HTTPStatus.BAD_REQUEST)
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _store(self) -> None:
        described = self.server.store.describe()
        for entry in described["repositories"]:
            repository = self.server.store.repository(entry["name"], create=False)
            entry.update(entities=repository.count(), indexes=repository.indexes())
        self._send_json(described)

    def _find(self) -> None:
        repository, filter, options = self._query()
        explained = repository.explain(filter, **options)
        self._send_json({"rows": _rows(repository, filter, options), "explain": explained})

    def _live(self) -> None:
        """Sends the query's result, and again whenever it has changed, as server-sent events."""
        repository, filter, options = self._query()
        with repository.observe(filter, **options) as query:
            self._begin("text/event-stream", HTTPStatus.OK)
            self.end_headers()
            # What goes wrong from here on ends the answer; the page asks again and is told.
            with suppress(errors.Error):
                for rows in _results(query, repository.key):
                    text = ":\n\n" if rows is None else f"data: {json_text({'rows': rows})}\n\n"
                    self.wfile.write(text.encode())

    def _query(self) -> tuple[Any, Any, dict[str, Any]]:
        """The repository, filter and options that the request names."""
        (text,) = parse_qs(urlsplit(self.path).query).get("query", ["{}"])
        query = json.loads(text)
        if not isinstance(query, dict) or not isinstance(query.get("repository"), str):
            raise ValueError("A query is an object that names its repository.")
        limit, skip = query.get("limit") or LIMITS.page_rows, query.get("skip") or 0
        if not all(isinstance(number, int) and number >= 0 for number in (limit, skip)):
            raise ValueError("Limit and skip are whole numbers.")
        options = {"sort": query.get("sort"), "skip": skip, "limit": min(limit, LIMITS.page_rows)}
        return self.server.store.repository(query["repository"], create=False), query.get("filter"), options

    def _send_json(self, value: Any) -> None:
        self._send(json_text(value).encode(), "application/json")

    def _send(self, content: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._begin(kind, status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _begin(self, kind: str, status: HTTPStatus) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")

    def end_headers(self) -> None:
        """Ends the headers with those of every answer, also of a refusal."""
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Logs nothing: addresses have the token."""


def _rows(repository: Any, filter: Any, options: dict[str, Any]) -> list[dict[str, Any]]:
    """What a query finds, as it is shown."""
    rows = Views(lambda it: _row(load(ctypes.string_at(it.data, it.length)), repository.key, it.version))
    return repository._query("find", rows, filter, **options)


def _row(entity: dict[str, Any], key: str, version: int) -> dict[str, Any]:
    """An entity as it is shown: each value as JSON, for a browser's numbers lose digits."""
    members = {name: json_text(value) for name, value in entity.items()}
    return {"id": str(entity[key]), "version": str(version), "members": members}


def _results(query: "LiveQuery[Any]", key: str) -> Iterator[Optional[list[dict[str, Any]]]]:
    """The rows of a live query, again after each change; None where nothing has changed for a while."""
    rows: list[dict[str, Any]] = []
    while True:
        try:
            event = query.next(LIMITS.heartbeat / 1000)
        except errors.TimeoutError:
            yield None
            continue
        if isinstance(event, Snapshot):
            rows = [_row(entity, key, version) for entity, version in zip(event.entities, event.versions)]
        else:
            placed = {
                name: [replace(it, entity=_row(it.entity, key, it.version)) for it in getattr(event, name)]
                for name in ("inserted", "changed")
            }
            rows = apply_difference(rows, replace(event, **placed))
        yield rows
