"""A request: who may ask, and what is answered."""

import json
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .. import errors
from .._limits import LIMITS
from .answers import json_text
from .routes import ANSWERS, STREAMS, Refused

if TYPE_CHECKING:
    from .server import Inspector

# Names by which a browser may ask for the page. Others lead here too where somebody's name server says so.
HOSTS = ("127.0.0.1", "localhost")
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Handler(BaseHTTPRequestHandler):
    """Answers one request.

    A page's files are told to whoever is on this machine: they say nothing of a store. All else is a POST to
    "api/…" with a JSON object, and needs the header Authorization. A browser never sends that by itself, so
    that no other page can ask in a person's name, and it is for one port, which a cookie is not.
    """

    server: "Inspector"
    server_version, sys_version = "holdfast", ""
    protocol_version = "HTTP/1.1"
    # Who connects and asks nothing is not waited for longer.
    timeout = 30

    def parse_request(self) -> bool:
        """Refuses, whatever the method, who asks for another host's page or comes from one."""
        if not super().parse_request():
            return False
        try:
            self.place = urlsplit(self.path).path.lstrip("/")
        except ValueError:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return False
        if self._is_own_host() and self._is_own_page():
            return True
        self.send_error(HTTPStatus.FORBIDDEN)
        return False

    def _is_own_host(self) -> bool:
        hosts = self.headers.get_all("Host", [])
        name, _, port = hosts[0].partition(":") if len(hosts) == 1 else ("", "", "")
        return name.lower() in HOSTS and (port or "80") == str(self.server.server_port)

    def _is_own_page(self) -> bool:
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site", "none")
        own = (None, f"http://{self.headers['Host'].lower()}")
        return origin in own and (site in ("none", "same-origin") or self.place == "")

    def do_GET(self) -> None:
        """Answers with a file of the page."""
        name = self.place or "index.html"
        file = resources.files(__package__) / "page" / name
        kind = KINDS.get(name.rpartition(".")[2])
        if kind is None or "/" in name or name.startswith(".") or not file.is_file():
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        content = file.read_bytes()
        if name == "index.html":
            # In the first answer, so that nothing is shown in other colours first.
            theme = f'data-theme="{self.server.memory.theme}"'
            content = content.replace(b'data-theme="auto"', theme.encode())
        self._send(content, kind)

    def do_POST(self) -> None:
        """Answers with data."""
        try:
            self._answer(self._given())
        except Refused as refused:
            self._refuse(str(refused), refused.status)
        except errors.Error as error:
            self._refuse(str(error), status_of(error), kind=type(error).__name__, detail=error.detail)
        except (ValueError, TypeError, KeyError, RecursionError, OSError) as error:
            self._refuse(str(error) or type(error).__name__, HTTPStatus.BAD_REQUEST)

    def _given(self) -> dict[str, Any]:
        # What is not read would be taken for the next request.
        closes, self.close_connection = self.close_connection, True
        most = LIMITS.request_bytes
        if self.place == "session":
            most = 1000  # of who is not known yet
        elif not self._is_known():
            raise Refused("Only who has this program's token is told.", HTTPStatus.UNAUTHORIZED)
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > most:
            raise Refused("The request is too large.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        text = self.rfile.read(int(length))
        self.close_connection = closes
        given = json.loads(text)
        if not isinstance(given, dict):
            raise ValueError("What is asked is a JSON object.")
        return given

    def _is_known(self) -> bool:
        scheme, _, secret = self.headers.get("Authorization", "").partition(" ")
        return scheme == "Bearer" and self.server.knows(secret)

    def _answer(self, given: dict[str, Any]) -> None:
        if self.place == "session":
            session = self.server.session(str(given.get("link")))
            if session is None:
                raise Refused("This link was used, or is another program's.", HTTPStatus.UNAUTHORIZED)
            self._send_json({"session": session})
            return
        area, _, name = self.place.partition("/")
        if area == "api" and name in ANSWERS:
            self._send_json(ANSWERS[name](self.server, given))
        elif area == "api" and name in STREAMS:
            self._stream(STREAMS[name](self.server, given))
        else:
            raise Refused("There is nothing of this name.", HTTPStatus.NOT_FOUND)

    def _stream(self, lines: Iterator[Any]) -> None:
        """Sends a line of JSON for each thing as it comes, and an empty one where none came for a while."""
        first = next(lines)  # what is wrong with the question is an answer yet
        self.close_connection = True
        self._begin("application/jsonl", HTTPStatus.OK)
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            self._send_line(first)
            # What goes wrong from here on ends the answer, after a line that says it.
            try:
                for line in lines:
                    self._send_line(line)
            except errors.Error as error:
                self._send_line({"error": str(error), "kind": type(error).__name__})
        finally:
            with suppress(errors.Error):
                lines.close()  # type: ignore[attr-defined]

    def _send_line(self, line: Any) -> None:
        self.wfile.write((b"" if line is None else json_text(line).encode()) + b"\n")

    def _refuse(self, message: str, status: HTTPStatus, **more: Any) -> None:
        self._send_json({"error": message, **more}, status)

    def _send_json(self, value: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(json_text(value).encode(), "application/json", status)

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
        """Logs nothing."""


def status_of(error: errors.Error) -> HTTPStatus:
    """The status of HTTP for what the library refuses."""
    if isinstance(error, errors.NotFoundError):
        return HTTPStatus.NOT_FOUND
    if isinstance(error, (errors.VersionMismatchError, errors.ConflictError, errors.ExistsError)):
        return HTTPStatus.CONFLICT
    return HTTPStatus.GONE if isinstance(error, errors.ClosedError) else HTTPStatus.BAD_REQUEST
