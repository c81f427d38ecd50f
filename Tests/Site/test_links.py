"""Every link leads somewhere, in the sources as they lie in the repository and in the site; nothing is fetched from elsewhere."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT, SITE, pages_of_sphinx

SOURCES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    ROOT / "CHANGELOG.md",
    ROOT / "bindings/python/README.md",
    *(it for it in (ROOT / "docs").rglob("*.md") if "generated" not in it.parts),
]
#: What a page loads, and not what a reader may follow.
LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.anchors, self.followed, self.loaded = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name"):
                self.anchors.add(value)
            if tag == "a" and name == "href":
                self.followed.append(value)
            if (tag, name) in LOADED:
                self.loaded.append(value)


page_of = cache(Page)


def anchors_of(document):
    """As the places that show Markdown make them of headings."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.DOTALL | re.M)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", it.lower()).replace(" ", "-") for it in headings}


@pytest.mark.parametrize("document", SOURCES, ids=lambda it: str(it.relative_to(ROOT)))
def test_a_source_s_links_lead_to_what_is_there(document):
    text = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.DOTALL | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        assert file.exists(), f"{target} is not there"
        assert not anchor or anchor in anchors_of(file), f"{target} has no such heading"


def test_every_page_is_reached_from_the_first():
    seen, left = set(), [SITE / "index.html"]
    while left:
        page = left.pop()
        if page in seen:
            continue
        seen.add(page)
        for target in page_of(page).followed:
            place = urlsplit(target)
            if (
                not place.scheme
                and place.path.endswith(".html")
                and "/swift/" not in target
            ):
                left.append((page.parent / unquote(place.path)).resolve())
    pages = set(pages_of_sphinx())
    made = {SITE / f"{name}.html" for name in ("genindex", "py-modindex", "search")}
    assert pages - seen <= made
    assert len(seen) > 50


def test_every_link_of_the_site_leads_somewhere_and_nothing_is_loaded_from_elsewhere():
    for path in pages_of_sphinx():
        page = page_of(path)
        for target in page.followed + page.loaded:
            place = urlsplit(target)
            if place.scheme in ("https", "http"):
                assert target not in page.loaded, f"{path.name} loads {target}"
                continue
            if place.scheme:
                assert place.scheme == "data", target
                continue
            file = (path.parent / unquote(place.path)).resolve() if place.path else path
            file = file / "index.html" if file.is_dir() else file
            assert file.is_file(), f"{path.name}: {target}"
            if place.fragment and file.suffix == ".html":
                names = page_of(file).anchors
                assert unquote(place.fragment) in names, f"{path.name}: {target}"


def test_no_style_fetches_anything():
    for style in (SITE / "_static").rglob("*.css"):
        for target in re.findall(
            r"(?:url\(|@import )['\"]?([^'\")]+)", style.read_text()
        ):
            assert not target.startswith(("http", "//")), f"{style.name}: {target}"
            assert (
                target.startswith("data:")
                or (style.parent / Path(target.split("?")[0].split("#")[0])).exists()
            )
