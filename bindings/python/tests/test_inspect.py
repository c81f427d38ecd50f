"""`holdfast inspect`: what its server answers to programs, and what it refuses."""

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional
from urllib.parse import urlsplit

import pexpect
import pytest
from test_command import COMMAND, call

import holdfast
from holdfast.inspector import Inspector
from holdfast.inspector.memory import Memory
from holdfast.inspector.recorder import Recorder

SONGS = [{"id": f"s{number:02}", "title": f"Song {number}", "plays": number} for number in range(20)]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with songs and singers."""
    path = str(tmp_path_factory.mktemp("inspect") / "store.db")
    with holdfast.open(path) as store:
        store.repository("songs").save_many(SONGS)
        store.repository("songs").create_index("plays")
        store.repository("singers").save({"id": "p", "big": 9007199254740993, "tiny": 1e-300})
    return path


class Server:
    """One that `holdfast inspect` has started, as a script meets it."""

    def __init__(self, told: dict[str, str]) -> None:
        self.link, self.api, self.token = told["url"], told["api"], told["token"]

    def post(
        self, place: str, body: Any = None, *, method: str = "POST", **headers: Optional[str]
    ) -> http.client.HTTPResponse:
        """A request, with the headers that are given in the place of the usual ones."""
        connection = http.client.HTTPConnection(urlsplit(self.api).netloc, timeout=120)
        usual = {"Authorization": f"Bearer {self.token}"}
        given = {name: value for name, value in {**usual, **headers}.items() if value is not None}
        text = body if isinstance(body, (str, bytes)) else json.dumps(body or {})
        connection.request(method, place, text, given)
        answer = connection.getresponse()
        answer.body = answer.read()  # type: ignore[attr-defined]
        connection.close()
        return answer

    def ask(self, what: str, code: int = 200, /, **given: Any) -> Any:
        """What is answered, with this status of HTTP."""
        answer = self.post(f"/api/{what}", given)
        assert answer.status == code, answer.body  # type: ignore[attr-defined]
        return json.loads(answer.body)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def server(filled: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """What the command starts."""
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path_factory.mktemp("state"))}
    command = subprocess.Popen(
        [*COMMAND, "inspect", filled, "--json"], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert command.stdout is not None
    with command.stdout as output:
        yield Server(json.loads(output.readline()))
        command.send_signal(signal.SIGINT)
        assert command.wait(120) == 130


# --- What is answered --------------------------------------------------------------------------------


def test_a_script_has_what_the_page_shows(server: Server, filled: str) -> None:
    assert server.ask("stores")["stores"] == [{"url": filled, "can_write": False}]
    overview = server.ask("overview")
    assert [it["name"] for it in overview["repositories"]] == ["singers", "songs"]
    told = server.ask("counts", repositories=["songs", "none"])
    assert told["counts"] == {"songs": 20, "none": None} and "none" in told["failures"]["none"]
    found = server.ask(
        "find", repository="songs", filter='{"plays": {"$gte": 15}}', sort={"plays": -1}, limit=2
    )
    assert [row["id"] for row in found["rows"]] == ["s19", "s18"]
    assert server.ask("count", repository="songs", filter={"plays": {"$gte": 15}})["count"] == 5
    assert server.ask("explain", repository="songs", filter={"plays": 3})["plan"]["index"] == "plays"
    text = server.ask("entity", repository="singers", id="p")["text"]
    assert json.loads(text)["big"] == 9007199254740993
    assert len(server.ask("history", repository="songs", id="s01")["changes"]) == 1
    paths = {it["path"]: it["types"] for it in server.ask("sampled", repository="songs")["fields"]}
    assert paths == {"id": {"text": 20}, "title": {"text": 20}, "plays": {"integer": 20}}
    pipeline = '[{"$match": {"plays": {"$lt": 3}}}, {"$count": "n"}]'
    assert server.ask("aggregate", repository="songs", pipeline=pipeline)["rows"][0]["members"] == {"n": "3"}
    assert server.ask("aggregate", repository="songs", pipeline=pipeline, upto=1)["count"] == 3


def test_pages_go_on_where_the_last_one_ended(server: Server) -> None:
    for given in ({}, {"sort": {"plays": 1}}, {"filter": {"plays": {"$gte": 0}}, "sort": {"id": -1}}):
        found: list[str] = []
        following: Any = {}
        while following is not None:
            page = server.ask("find", repository="songs", limit=3, **given, **following)
            found += [row["id"] for row in page["rows"]]
            following = page["next"]
        assert sorted(found) == [it["id"] for it in SONGS] and len(found) == 20
    assert server.ask("find", repository="songs", limit=3)["next"] == {"skip": 3, "after": "s02"}


def test_an_error_in_a_query_tells_its_place(server: Server) -> None:
    told = server.ask("find", 400, repository="songs", filter='{"plays": {"$near": 1}}')
    assert told["kind"] == "InvalidQueryError" and told["detail"]["position"] == 11
    assert server.ask("find", 404, repository="none")["error"]
    for wrong in (
        {"repository": 1},
        {"repository": "songs", "limit": -1},
        {"repository": "songs", "sort": [1]},
    ):
        assert server.ask("find", 400, **wrong)["error"]
    for text in ("[]", "{", "[" * 20000, b"\xff"):
        assert server.post("/api/find", text).status == 400


def test_the_stream_of_changes_begins_with_the_past(server: Server) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.api).netloc, timeout=120)
    connection.request("POST", "/api/changes", "{}", {"Authorization": f"Bearer {server.token}"})
    answer = connection.getresponse()
    changes: list[Any] = []
    while len(changes) < 21:
        changes += json.loads(answer.readline().strip() or '{"changes": []}')["changes"]
    connection.close()
    assert {it["id"] for it in changes} == {"p", *(song["id"] for song in SONGS)}


def test_however_fast_changes_come_each_is_told_or_counted(path: str) -> None:
    with holdfast.open(path) as store:
        events = store.repository("events")
        events.save_many({"id": f"old{number}"} for number in range(20_000))
        recorder = Recorder(store)
        recorder.start()
        _, missed, changes = wait_for(lambda: recorder.after(0, 1), lambda told: told[0] == 20_000)
        assert (
            missed == 0 and [it["id"] for it in changes] == sorted(f"old{n}" for n in range(20_000))[-5000:]
        )
        for piece in range(20):
            events.save_many({"id": f"new{piece}-{number}"} for number in range(1000))
        _, missed, changes = wait_for(lambda: recorder.after(20_000, 1), lambda told: told[0] == 40_000)
        assert len(changes) == 500 and missed == 19_500
        assert {it["id"].partition("-")[0] for it in changes} == {"new19"}
        assert sum(second["changes"] for second in recorder.rates()) <= 40_000
        recorder.close()


def wait_for(ask: Callable[[], Any], holds: Callable[[Any], bool]) -> Any:
    """What is answered once it holds."""
    deadline = time.monotonic() + 60
    while not holds(answer := ask()):
        assert time.monotonic() < deadline, answer
    return answer


# --- What is refused ---------------------------------------------------------------------------------


def test_who_lacks_the_token_is_told_nothing(server: Server) -> None:
    for token in (
        None,
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {server.token[:-1]}",
        f"Basic {server.token}",
        "Bearer ü",
    ):
        for name in ("stores", "find", "changes", "none"):
            assert server.post(f"/api/{name}", {}, Authorization=token).status == 401, (token, name)
    for method in ("GET", "HEAD", "OPTIONS", "PUT", "NONSENSE"):
        assert server.post("/api/stores", method=method).status in (404, 501)


def test_who_comes_by_another_name_or_from_another_page_is_refused(server: Server) -> None:
    port = urlsplit(server.api).port
    for place, method in (("/", "GET"), ("/main.js", "GET"), ("/api/stores", "POST"), ("/session", "POST")):
        for host in (
            "evil.example",
            f"evil.example:{port}",
            "127.0.0.1:1",
            "127.0.0.1",
            f"127.0.0.1.evil.example:{port}",
        ):
            assert server.post(place, method=method, Host=host).status == 403, (place, host)
        for origin in ("http://evil.example", "null", f"http://localhost:{port}", "http://127.0.0.1:1"):
            assert server.post(place, method=method, Origin=origin).status == 403, (place, origin)
    for site in ("cross-site", "same-site"):
        assert server.post("/api/stores", **{"Sec-Fetch-Site": site}).status == 403
    assert server.post("/api/stores", Host=f"localhost:{port}").status == 200
    assert server.post("/api/stores", Origin=f"http://127.0.0.1:{port}").status == 200


def test_a_link_is_good_once(filled: str) -> None:
    with holdfast.open(filled, read_only=True) as store, Inspector([store]) as inspector:
        server = Server(
            {"url": inspector.link(), "api": f"{inspector.address}api/", "token": inspector.token}
        )
        link = server.link.partition("#token=")[2]
        assert len(link) >= 43 and server.token != link
        assert server.post("/api/stores", Authorization=f"Bearer {link}").status == 401
        answer = server.post("/session", {"link": link}, Authorization=None)
        session = json.loads(answer.body)["session"]  # type: ignore[attr-defined]
        assert server.post("/api/stores", Authorization=f"Bearer {session}").status == 200
        for used in (link, "", "ü", None):
            assert server.post("/session", {"link": used}, Authorization=None).status == 401
        assert inspector.socket.getsockname()[0] == "127.0.0.1"
        with Inspector([store]) as other:
            assert other.token != inspector.token


def test_a_target_that_is_no_address_is_refused(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    with holdfast.open(path) as store, Inspector([store]) as inspector:
        with socket.create_connection(("127.0.0.1", inspector.server_port), timeout=60) as connection:
            connection.sendall(b"GET http://[/ HTTP/1.1\r\n\r\n")
            assert connection.recv(1000).split(b"\r\n")[0].split()[1] == b"400"
    assert capsys.readouterr().err == ""


def test_every_answer_forbids_what_is_not_its_own(server: Server) -> None:
    for place, method in (("/", "GET"), ("/api/stores", "POST"), ("/none", "GET"), ("/api/none", "POST")):
        headers = server.post(place, method=method).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
        assert (
            "require-trusted-types-for 'script'; trusted-types 'none'" in headers["Content-Security-Policy"]
        )
        assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert "Set-Cookie" not in headers and "Python" not in headers["Server"]
    for place in ("/../server.py", "/%2e%2e/server.py", "/.", "/page/main.js", "/server.py", "//etc/passwd"):
        assert server.post(place, method="GET").status == 404, place


def test_the_page_asks_nobody_else(server: Server) -> None:
    files = Path(holdfast.__file__).parent / "inspector" / "page"
    for file in files.iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http" not in text.replace("httpEquiv", ""), file
        for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
            assert sink not in text, (file, sink)


def test_nothing_is_written_without_being_allowed(server: Server, filled: str, tmp_path: Path) -> None:
    before = holdfast.open(filled, read_only=True)
    sequence = before.describe()["sequence"]
    song = {"repository": "songs", "id": "s01", "version": "2", "text": '{"id":"s01"}'}
    for name in ("save", "delete", "undo", "create_index", "drop_index"):
        told = server.ask(name, 400, **song, fields={"title": 1}, name="plays", number=1)
        assert told["kind"] == "ReadOnlyError" and "--write" in told["error"]
    assert before.describe()["sequence"] == sequence
    before.close()


def test_files_are_never_written_over(server: Server, filled: str, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("backup", "export"):
        assert "taken" in server.ask(name, 409, path=str(taken))["error"]
        assert server.ask(name, 409, path=str(tmp_path / "link"))["kind"] == "ExistsError"
        assert server.ask(name, 409, path=filled)["error"]
        assert server.ask(name, 400, path=str(tmp_path / "none" / "file"))["error"]
        assert server.ask(name, 400, path="")["error"]
    assert taken.read_text() == "mine"


def test_a_store_that_is_closed_is_told(path: str) -> None:
    store = holdfast.open(path)
    store.repository("songs").save_many(SONGS)
    with Inspector([store]) as inspector:
        server = Server({"url": "", "api": f"{inspector.address}api/", "token": inspector.token})
        assert server.ask("find", repository="songs", limit=1)["rows"]
        store.close()
        for name in ("overview", "find", "live", "figures", "history", "changes"):
            told = server.ask(name, 410, repository="songs", id="s01")
            assert told["kind"] == "ClosedError"


# --- The command -------------------------------------------------------------------------------------


def test_the_browser_is_opened_without_a_secret_among_its_words(filled: str, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    seen, words = tmp_path / "seen", tmp_path / "words"
    file = "$(echo $1 | cut -c8-)"
    browser.write_text(
        f'#!/bin/sh\ncp "{file}" {seen}\nstat -c %a "{file}" >> {words}\necho "$@" >> {words}\n'
    )
    browser.chmod(0o700)
    command = subprocess.Popen(
        [*COMMAND, "inspect", filled, "--open"],
        stdout=subprocess.PIPE,
        env={**os.environ, "BROWSER": f"{browser} %s", "XDG_STATE_HOME": str(tmp_path)},
    )
    assert command.stdout is not None
    with command.stdout as output:
        port = urlsplit(output.readline().decode()).port
        wait_for(lambda: words.exists() and words.read_text(), lambda told: str(told).count("\n") == 2)
        command.send_signal(signal.SIGINT)
        assert command.wait(120) == 130
    mode, opened = words.read_text().splitlines()
    assert mode == "600" and "token" not in opened and opened.startswith("file://")
    assert f"http://127.0.0.1:{port}/#token=" in seen.read_text()
    assert not Path(opened.removeprefix("file://")).exists()


def test_enter_prints_another_link(filled: str, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    command = pexpect.spawn(COMMAND[0], [*COMMAND[1:], "inspect", filled], env=environment, timeout=120)
    links = []
    for _ in range(3):
        command.expect(r"#token=([\w-]{43,})")
        links.append(command.match.group(1))
        command.send("\r")
    assert len(set(links)) == 3
    command.sendintr()
    command.expect(pexpect.EOF)
    command.close()
    assert command.exitstatus == 130


def test_it_creates_no_store(tmp_path: Path) -> None:
    call("inspect", tmp_path / "typo.db", code=3)
    assert not (tmp_path / "typo.db").exists()
    call("inspect", code=2)


def test_what_is_remembered_is_this_persons_alone(tmp_path: Path) -> None:
    file = tmp_path / "state" / "inspector.json"
    Memory(file).keep("page", "theme", "dark")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Memory(file).theme == "dark"
    memory = Memory(file)
    with pytest.raises(ValueError, match="remembers no more"):
        memory.keep("store", "columns", "x" * (2 << 20))
    assert memory.theme == "dark"
    memory.keep("page", "theme", "<script>")
    assert memory.theme == "auto"
    for damaged in ("{", "[]", '{"page": 1}', '{"page": {"theme": ["dark"]}}'):
        file.write_text(damaged)
        assert Memory(file).theme == "auto"
