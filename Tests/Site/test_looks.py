"""What a reader sees, in a browser: on a desk and on a phone, light and dark. The pictures lie in .build/site-pictures."""

import pytest
from conftest import ROOT
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PICTURES = ROOT / ".build/site-pictures"
SIZES = {"desk": (1280, 900, 1, False), "phone": (390, 844, 3, True)}
PAGES = [
    "index",
    "start",
    "errors",
    "architecture",
    "performance",
    "guides/two-writers-one-balance",
    "generated/c/store",
    "generated/python/index",
]


def look(browser, address, page, size="desk", scheme="light"):
    width, height, scale, is_phone = SIZES[size]
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {
            "width": width,
            "height": height,
            "deviceScaleFactor": scale,
            "mobile": is_phone,
        },
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    browser.get(f"{address}/{page}.html")


def brightness(browser, property_):
    colour = browser.execute_script(
        f"return getComputedStyle(document.body).{property_}"
    )
    red, green, blue = (int(it) for it in colour.strip("rgba()").split(",")[:3])
    return (red + green + blue) / 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_and_can_be_read(browser, address, page, size, scheme):
    look(browser, address, page, size, scheme)
    PICTURES.mkdir(parents=True, exist_ok=True)
    name = f"{page.replace('/', '-')}-{size}-{scheme}.png"
    browser.save_screenshot(str(PICTURES / name))

    needed = browser.execute_script("return document.documentElement.scrollWidth")
    assert needed <= SIZES[size][0], "it would scroll to the side"
    text, ground = (
        brightness(browser, "color"),
        brightness(browser, "backgroundColor"),
    )
    assert (text < ground) == (scheme == "light")
    assert abs(text - ground) > 120
    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map(it => it.name)"
    )
    assert [it for it in loaded if not it.startswith((address, "data:"))] == []
    errors = [it for it in browser.get_log("browser") if it["level"] == "SEVERE"]
    assert [it for it in errors if "favicon" not in it["message"]] == []


def test_a_language_that_is_chosen_once_is_chosen_everywhere(browser, address):
    look(browser, address, "guides/two-writers-one-balance")
    tabs = browser.find_elements(By.XPATH, "//label[normalize-space()='Swift']")
    assert len(tabs) == 4
    browser.execute_script("arguments[0].click()", tabs[1])
    shown = browser.find_elements(By.CSS_SELECTOR, ".sd-tab-content .highlight-swift")
    assert [it.is_displayed() for it in shown] == [True] * 4


def test_the_search_finds_what_a_page_tells(browser, address):
    look(browser, address, "search")
    browser.get(f"{address}/search.html?q=idempotency")
    # The words of each page are looked through one by one.
    WebDriverWait(browser, 60).until(
        lambda it: it.find_elements(
            By.XPATH, "//*[@id='search-results']//a[.='The same request twice']"
        )
    )


def test_dark_and_light_can_be_chosen(browser, address):
    look(browser, address, "index")
    before = brightness(browser, "backgroundColor")
    for _ in range(2):
        button = browser.find_element(By.CSS_SELECTOR, ".theme-toggle-header button")
        browser.execute_script("arguments[0].click()", button)
        if brightness(browser, "backgroundColor") != before:
            break
    assert brightness(browser, "backgroundColor") < before
    browser.execute_script("localStorage.clear()")


def test_the_reference_of_swift_is_a_part_of_the_site(browser, address):
    look(browser, address, "reference/swift")
    browser.find_element(By.LINK_TEXT, "Holdfast").click()
    WebDriverWait(browser, 60).until(
        lambda it: "Stores entities" in it.find_element(By.TAG_NAME, "body").text
    )
    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map(it => it.name)"
    )
    assert [it for it in loaded if not it.startswith((address, "data:"))] == []
