"""A browser, and the inspector's page as somebody meets it who has a keyboard, a pointer and eyes."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional

import pytest
from selenium import webdriver
from selenium.common.exceptions import (
    ElementNotInteractableException,
    StaleElementReferenceException,
    TimeoutException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

#: So many seconds at most for what the page is to show: a machine may be busy.
WAIT = float(os.environ.get("HOLDFAST_PAGE_WAIT", "60"))
#: Where pictures of the page are kept, for people to look at.
PICTURES = Path(__file__).resolve().parents[3] / ".build" / "inspector"


@pytest.fixture(scope="module")
def driver() -> Iterator[webdriver.Chrome]:
    """A browser without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.add_argument("--window-size=1440,960")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options, Service("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


class Page:
    """The page."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, link: str) -> None:
        """Opens a link of the inspector's, and waits for what it shows."""
        self.driver.get("about:blank")
        self.driver.get(link)
        self.wait(lambda: self.text("#main h1"))

    # --- With the keyboard -----------------------------------------------------------------------

    def press(self, *keys: str) -> None:
        """Presses keys one after the other: "a", "Enter", "Control+k"."""
        for key in keys:
            *held, last = key.split("+") if len(key) > 1 else [key]
            chain = ActionChains(self.driver, duration=0)
            for name in held:
                chain.key_down(getattr(Keys, name.upper()))
            chain.send_keys(_key(last))
            for name in held:
                chain.key_up(getattr(Keys, name.upper()))
            chain.perform()

    def type(self, text: str) -> None:
        """Types a text where the focus is."""
        ActionChains(self.driver, duration=0).send_keys(text).perform()

    def command(self, words: str) -> None:
        """Chooses a command from the list of all."""
        self.press("Control+k")
        self.wait(lambda: self.focused("aria-label") == "What to do, or where to go")
        self.type(words)
        self.wait(lambda: self.text("dialog [aria-selected=true]"))
        self.press("Enter")
        self.wait(lambda: not self.script("return document.querySelector('dialog.palette')"))

    def focused(self, attribute: str = "") -> str:
        """The text, or an attribute, of what has the focus."""
        script = "const it = document.activeElement; const [name] = arguments;"
        return self.script(f"{script} return (name ? it.getAttribute(name) : it.innerText) ?? ''", attribute)

    # --- With the pointer ------------------------------------------------------------------------

    def click(self, selector: str, text: str = "") -> None:
        """Clicks the first such element that shows the text."""
        self.wait(lambda: self._click(selector, text))

    def _click(self, selector: str, text: str) -> bool:
        """Clicks it, unless it is not there, or was drawn anew just now."""
        try:
            self._find(selector, text).click()
            return True
        except (AttributeError, StaleElementReferenceException, ElementNotInteractableException):
            return False

    def _find(self, selector: str, text: str) -> Optional[WebElement]:
        found = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return next((it for it in found if text in it.text and it.is_displayed()), None)

    # --- With the eyes ---------------------------------------------------------------------------

    def text(self, selector: str) -> str:
        """What an element shows; nothing where there is none."""
        return self.script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def rows(self) -> list[list[str]]:
        """The cells of the grid's rows."""
        rows = "[...document.querySelectorAll('.grid tbody tr[data-id]')]"
        return self.script(f"return {rows}.map(row => [...row.cells].map(cell => cell.innerText))")

    def ids(self) -> list[str]:
        """The first cells of the grid's rows."""
        return [row[0] for row in self.rows()]

    def headings(self) -> list[str]:
        """The names of the grid's columns."""
        script = "return [...document.querySelectorAll('.grid th')].map(it => it.dataset.name)"
        return self.script(script)

    def status(self) -> str:
        """What is told of the result."""
        return self.text(".status")

    def wait(self, condition: Callable[[], Any]) -> Any:
        """Waits until it holds, and answers it."""
        try:
            return WebDriverWait(self.driver, WAIT, poll_frequency=0.02).until(lambda _: condition())
        except TimeoutException:
            self.picture("failed")
            raise

    def script(self, script: str, *arguments: Any) -> Any:
        """What a script in the page answers."""
        return self.driver.execute_script(script, *arguments)

    def picture(self, name: str) -> None:
        """Keeps a picture."""
        os.makedirs(PICTURES, exist_ok=True)
        self.driver.save_screenshot(str(PICTURES / f"{name}.png"))

    def console(self) -> list[str]:
        """What the browser complained of since it was asked last."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that it asked for since it was asked last."""
        told = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [it["params"]["request"]["url"] for it in told if it["method"] == "Network.requestWillBeSent"]


def _key(name: str) -> str:
    words = {"Down": "ARROW_DOWN", "Up": "ARROW_UP", "Left": "ARROW_LEFT", "Right": "ARROW_RIGHT"}
    return name if len(name) == 1 else getattr(Keys, words.get(name, name.upper()))


@pytest.fixture
def page(driver: webdriver.Chrome) -> Iterator[Page]:
    """The page, of which nothing is open yet. The browser must not complain of anything."""
    page = Page(driver)
    page.console()
    page.requests()
    yield page
    driver.get("about:blank")
    # That a request was refused is told here, too, and the page tells it in its own words.
    assert [it for it in page.console() if "the server responded with a status of 4" not in it] == []
