"""`holdfast inspect`: the page in a real browser, and what its server refuses."""

import http.client
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable
from urllib.parse import quote, urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from test_command import COMMAND, call, run

import holdfast

SONGS = [{"id": f"s{number}", "title": f"<b>Song {number}</b>", "plays": number} for number in range(20)]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with songs, singers and a guest."""
    path = str(tmp_path_factory.mktemp("inspect") / "store.db")
    with holdfast.open(path) as store:
        store.repository("songs").save_many(SONGS)
        store.repository("songs").create_index("plays")
        store.repository("singers").save({"id": "p", "big": 9007199254740993})
        store.repository("guests").save({"id": "a"})
    return path


@pytest.fixture(scope="module")
def url(filled: str) -> Iterator[str]:
    """The address that the command prints."""
    command = subprocess.Popen([*COMMAND, "inspect", filled], stdout=subprocess.PIPE, text=True)
    assert command.stdout is not None
    with command.stdout as output:
        yield output.readline().strip()
        command.send_signal(signal.SIGINT)
        assert command.wait(120) == 130


class Page:
    """The page as somebody at the browser meets it."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def choose(self, repository: str) -> None:
        """Shows a repository."""
        # In one step, for the page makes the buttons anew whenever it asks.
        buttons = "[...document.querySelectorAll('nav button')]"
        find = f"{buttons}.find(button => button.innerText.startsWith(arguments[0]))"
        self.driver.execute_script(f"{find}.click()", repository)
        self.wait(lambda: repository in self.text("nav [aria-current=true]"))

    def text(self, selector: str) -> str:
        """What an element shows; nothing where there is none."""
        script = "return document.querySelector(arguments[0])?.innerText ?? ''"
        return self.driver.execute_script(script, selector)

    def rows(self) -> list[list[str]]:
        script = (
            "return [...document.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
        )
        return self.driver.execute_script(script)

    def changed(self) -> list[str]:
        script = "return [...document.querySelectorAll('tr.changed')].map(row => row.dataset.id)"
        return self.driver.execute_script(script)

    def type(self, **fields: str) -> None:
        """Fills the form and asks."""
        for name, text in fields.items():
            field = self.driver.find_element(By.NAME, name)
            field.clear()
            field.send_keys(text)
        self.driver.find_element(By.CSS_SELECTOR, "form button").click()

    def wait(self, condition: Callable[[], Any]) -> None:
        WebDriverWait(self.driver, 120, poll_frequency=0.02).until(lambda _: condition())


@pytest.fixture(scope="module")
def driver() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options, Service("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


@pytest.fixture
def page(driver: webdriver.Chrome, url: str) -> Iterator[Page]:
    """The page, which has shown the first repository."""
    page = Page(driver)
    driver.get(url)
    page.wait(page.rows)
    yield page
    driver.get("about:blank")
    for kind in ("performance", "browser"):
        driver.get_log(kind)


def test_the_page_lists_repositories_and_shows_their_entities(page: Page, filled: str) -> None:
    assert page.text("nav").split() == ["guests", "1", "singers", "1", "songs", "20"]
    assert page.text("#store") == filled
    page.choose("singers")
    # A browser's own numbers would have lost the last digit.
    page.wait(lambda: page.rows()[0][:2] == ['"p"', "9007199254740993"])
    page.choose("songs")
    page.wait(lambda: len(page.rows()) == 20)
    assert page.rows()[3][:3] == ['"s11"', '"<b>Song 11</b>"', "11"], "text is never taken for HTML"
    assert page.text("[role=status]") == "20 entities"


def test_a_query_shows_its_rows_and_how_it_is_carried_out(page: Page) -> None:
    page.choose("songs")
    page.type(filter='{"plays": {"$gte": 15}}', sort='{"plays": -1}', limit="2", skip="1")
    page.wait(lambda: [row[0] for row in page.rows()] == ['"s18"', '"s17"'])
    explain = page.driver.find_element(By.ID, "explain")
    assert explain.text.startswith("Found by index plays: ")
    explain.find_element(By.TAG_NAME, "summary").click()
    page.wait(lambda: '"index"' in explain.text)


def test_an_error_in_the_filter_is_shown(page: Page) -> None:
    for filter, message in (
        ("{", "filter: "),
        ('{"a": {"$near": 1}}', "$near"),
        ("[1]", "A filter is a dict"),
    ):
        page.type(filter=filter)
        page.wait(lambda message=message: message in page.text("[role=alert]"))
    page.type(filter="{}")
    page.wait(lambda: page.text("[role=alert]") == "")


def test_an_entity_that_another_process_changes_appears_without_reload(page: Page, filled: str) -> None:
    page.choose("guests")
    page.driver.find_element(By.NAME, "live").click()
    page.wait(lambda: "live" in page.text("[role=status]"))
    run("put", filled, "guests", '{"id": "b", "name": "Patti"}')
    page.wait(lambda: len(page.rows()) == 2)
    assert page.changed() == ["b"]
    run("put", filled, "guests", '{"id": "a", "name": "Bob"}')
    page.wait(lambda: page.changed() == ["a"])
    run("delete", filled, "guests", "b")
    page.wait(lambda: [row[0] for row in page.rows()] == ['"a"'])


def test_no_request_leaves_for_another_host_and_the_console_is_silent(page: Page, url: str) -> None:
    page.driver.find_element(By.NAME, "live").click()
    page.wait(lambda: "live" in page.text("[role=status]"))
    told = [json.loads(entry["message"])["message"] for entry in page.driver.get_log("performance")]
    asked = [it["params"]["request"]["url"] for it in told if it["method"] == "Network.requestWillBeSent"]
    assert {"", "page.css", "page.js", "store", "find", "live"} <= {
        urlsplit(address).path.rpartition("/")[2] for address in asked
    }
    assert [address for address in asked if not address.startswith((url, "about:"))] == []
    assert page.driver.get_log("browser") == []
    # What the policy forbids, should a value ever be taken for code.
    script = "return fetch('http://localhost:1/').then(() => 'sent', error => error.name)"
    assert page.driver.execute_script(script) == "TypeError"
    blocked = [entry["message"] for entry in page.driver.get_log("browser")]
    assert any("Content Security Policy" in message for message in blocked)


def ask(url: str, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    """A request to the server, with the headers that are given."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    answer.body = answer.read()  # type: ignore[attr-defined]
    connection.close()
    return answer


def test_who_lacks_the_token_or_comes_by_another_name_is_refused(url: str) -> None:
    token = urlsplit(url).path
    paths = (
        "/",
        "/store",
        "/page.js",
        "/favicon.ico",
        token[:-2] + "/",
        f"{token[:-1]}x/store",
        f"//x{token}",
    )
    for method in ("GET", "POST", "HEAD", "OPTIONS", "NONSENSE"):
        for path in paths:
            assert ask(url, path, method).status == 403, (method, path)
    for host in ("evil.example", f"evil.example:{urlsplit(url).port}", "127.0.0.1:1", "127.0.0.1", ""):
        assert ask(url, token + "store", Host=host).status == 403, host
    assert ask(url, token + "store", Host=f"localhost:{urlsplit(url).port}").status == 200
    assert ask(url, token + "../../../etc/passwd").status == 404
    assert ask(url, token + "store", "POST").status == 501


def test_every_answer_forbids_what_is_not_its_own(url: str) -> None:
    for path in (urlsplit(url).path, urlsplit(url).path + "store", "/"):
        headers = ask(url, path, Origin="http://evil.example").headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
        assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert "Python" not in headers["Server"]


@pytest.mark.parametrize("query", ["[]", '{"repository": 1}', '{"repository": "none"}', "{", "", "[" * 20000])
def test_a_query_that_is_none_is_an_error_and_the_server_goes_on(url: str, query: str) -> None:
    for place in ("find", "live"):
        answer = ask(url, f"{urlsplit(url).path}{place}?query={quote(query)}")
        assert answer.status == 400
        assert json.loads(answer.body)["error"]  # type: ignore[attr-defined]


def test_it_listens_on_this_machine_alone_and_creates_no_store(filled: str, tmp_path: Path) -> None:
    from holdfast.command.inspect_server import InspectServer

    with holdfast.open(filled, read_only=True) as store, InspectServer(store) as server:
        assert server.socket.getsockname()[0] == "127.0.0.1"
        with InspectServer(store) as other:
            assert other.token != server.token and len(other.token) >= 43
    call("inspect", tmp_path / "typo.db", code=3)
    assert not (tmp_path / "typo.db").exists()
