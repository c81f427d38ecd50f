"""The inspector's page in a real browser: what a person does and sees there."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import axe_core_python
import pytest
from browser import Page
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

import holdfast
from holdfast.inspector import Inspector

SCRIPT = "<img src=x onerror='document.title=1'>"
AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()


@pytest.fixture
def music(path: str) -> Iterator[holdfast.Store]:
    """A store with songs, and with names that are code where somebody takes them for it."""
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save_many(
            {
                "id": f"s{number:04}",
                "title": f"Song {number}",
                "plays": number,
                "album": {"year": 1960 + number % 40, "tracks": [{"n": 1}, {"n": number}]},
                "lyrics": "la " * (2000 if number == 3 else 5),
            }
            for number in range(1000)
        )
        songs.create_index("plays")
        store.repository("code").save({"id": SCRIPT, SCRIPT: SCRIPT, "big": 9007199254740993})
        yield store


@pytest.fixture
def inspector(music: holdfast.Store, tmp_path: Path) -> Iterator[Inspector]:
    """What serves the page, with the right to write."""
    with Inspector([music], write=True, memory=tmp_path / "remembered.json") as inspector:
        yield inspector


@pytest.fixture
def at_songs(inspector: Inspector, page: Page) -> Iterator[Page]:
    page.open(inspector.link())
    show(page, "data", "songs")
    page.wait(lambda: page.status() == "100 of 1,000")
    yield page
    page.driver.get("about:blank")


def show(page: Page, view: str, *names: str, **query: str) -> None:
    """Shows a view by its address."""
    tail = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    address = "#/" + "/".join(["0", view, *(quote(name, safe="") for name in names)])
    page.script("location.hash = arguments[0]", f"{address}?{tail}" if tail else address)
    page.wait(lambda: page.script("return document.querySelector('.view-' + arguments[0])", view))


def test_the_secret_leaves_the_address_and_the_page_asks_nobody_else(
    inspector: Inspector,
    page: Page,
) -> None:
    link = inspector.link()
    page.open(link)
    secret = link.partition("token=")[2]
    assert secret not in page.driver.current_url
    page.driver.refresh()
    page.wait(lambda: page.text("#main h1"))
    asked = page.requests()
    assert {"", "main.js", "session", "stores", "find"} <= {
        urlsplit(it).path.rpartition("/")[2] for it in asked
    }
    own = (inspector.address, "about:", "data:")
    assert [it for it in asked if not it.startswith(own)] == []
    assert not any(secret in it for it in asked[1:] if not it.startswith(link))
    page.driver.get("about:blank")
    # In another browser, which has no session, a link that was used opens nothing.
    page.driver.get(inspector.address)
    page.script("localStorage.clear()")
    page.driver.get("about:blank")
    page.driver.get(link)
    page.wait(lambda: page.text("#main h1") == "This page needs a link")


def test_text_is_never_taken_for_code(at_songs: Page, music: holdfast.Store) -> None:
    page = at_songs
    for view in ("data", "shape", "aggregate"):
        show(page, view, "code")
        page.wait(lambda: page.text("h1") == "code")
    show(page, "data", "code", filter=json.dumps({SCRIPT: {"$near": 1}}))
    page.wait(lambda: "$near" in page.text(".editor-error"))
    show(page, "entity", "code", SCRIPT)
    page.wait(lambda: "9007199254740993" in page.text(".tree"))
    show(page, "changes")
    page.wait(lambda: SCRIPT in page.text(".changes"))
    show(page, "store")
    page.wait(lambda: SCRIPT in page.text(".card.whole"))
    assert page.script("return document.querySelectorAll('img[src=x]').length") == 0
    assert "Holdfast" in page.driver.title
    script = "try { document.body.innerHTML = '<b>'; return 'made' } catch (error) { return error.name }"
    assert page.script(script) == "TypeError"
    script = "return fetch('http://localhost:1/').then(() => 'sent', error => error.name)"
    assert page.script(script) == "TypeError"
    blocked = page.console()
    assert sum("Content Security Policy" in it or "TrustedHTML" in it for it in blocked) >= 2
    page.console()


def test_rows_go_on_as_far_as_one_scrolls(at_songs: Page) -> None:
    page = at_songs
    assert page.headings() == ["id", "title", "plays", "album", "lyrics"]
    for _ in range(4):
        page.script("const it = document.querySelector('.grid'); it.scrollTop = it.scrollHeight")
    page.wait(lambda: page.status() in ("200 of 1,000", "300 of 1,000", "400 of 1,000", "500 of 1,000"))
    assert page.ids()[-1] > "s0099"
    # However many there are, those in the page are those that can be seen.
    assert len(page.rows()) < 100


def test_a_click_sorts_and_columns_are_chosen_and_remembered(at_songs: Page, inspector: Inspector) -> None:
    page = at_songs
    page.click(".grid th[data-name=plays] button")
    page.wait(lambda: page.ids()[0] == "s0000" and "plays" in page.driver.current_url)
    page.click(".grid th[data-name=plays] button")
    page.wait(lambda: page.ids()[0] == "s0999")
    page.wait(lambda: "by index plays" in page.text(".plan-box summary"))
    page.click(".bar-above button", "Columns")
    page.click("dialog label", "lyrics")
    page.wait(lambda: "lyrics" not in page.headings())
    page.press("Escape")
    handle = page.driver.find_element(By.CSS_SELECTOR, ".grid th[data-name=title] .resize")
    width = "return document.querySelector('.grid th[data-name=title]').offsetWidth"
    before = page.script(width)
    ActionChains(page.driver).drag_and_drop_by_offset(handle, 80, 0).perform()
    page.wait(lambda: abs(page.script(width) - before - 80) < 3)
    page.wait(lambda: "widths" in json.dumps(inspector.memory.of(inspector.shown[0].url)))
    page.driver.refresh()
    page.wait(lambda: page.ids()[:1] == ["s0999"])
    assert page.headings() == ["id", "title", "plays", "album"] and abs(page.script(width) - before - 80) < 3


def test_long_values_are_folded_and_nested_ones_open(at_songs: Page) -> None:
    page = at_songs
    page.click('tr[data-id=s0003] td[data-column="3"]')
    page.wait(lambda: "tracks" in page.text(".peek"))
    assert "1963" in page.text(".peek")
    page.click('tr[data-id=s0003] td[data-column="4"]')
    page.wait(
        lambda: len(page.script("return document.querySelector('.peek pre')?.textContent ?? ''")) == 6000
    )
    assert len(page.text('tr[data-id=s0003] td[data-column="4"]')) < 400
    page.picture("peek")
    page.press("Escape")
    page.wait(lambda: page.script("return document.querySelector('.peek').hidden"))
    page.click("tr[data-id=s0003] td.key")
    page.wait(lambda: page.text("h1") == "s0003")
    leaf = "return [...document.querySelectorAll('.leaf')].at(-1)?.textContent.length"
    page.wait(lambda: page.script(leaf) == 1000)
    page.click(".unfold")
    page.wait(lambda: page.script(leaf) == 6002)
    page.click("button", "Text")
    page.wait(lambda: '"title": "Song 3",' in page.text("pre.text"))
    assert "as=text" in page.driver.current_url


def test_a_field_may_be_called_as_the_browser_calls_its_own(at_songs: Page, music: holdfast.Store) -> None:
    page = at_songs
    odd = music.repository("constructor")
    odd.save_many(
        [{"id": "a", "constructor": "mine", "toString": 1}, {"id": "b"}, {"id": "c", "__proto__": 5}]
    )
    odd.create_index("toString", name="valueOf")
    show(page, "data", "constructor")
    page.wait(lambda: page.status() == "3 of 3")
    assert set(page.headings()) == {"id", "constructor", "toString", "__proto__"}
    assert "native code" not in page.text("#main") and '"mine"' in page.text("table")
    show(page, "shape", "constructor")
    page.wait(lambda: "valueOf" in page.text("#main"))
    assert "NaN" not in page.text("body")


def test_each_button_takes_its_own_edit_back(music: holdfast.Store, page: Page) -> None:
    with (
        holdfast.open("memory:") as other,
        Inspector([music, other], write=True) as inspector,
    ):
        songs, notes = music.repository("songs"), other.repository("notes")
        notes.save({"id": "n", "text": "first"})
        page.open(inspector.link())

        def change(store: int, repository: str, id: str, text: str) -> None:
            page.script("location.hash = arguments[0]", f"#/{store}/entity/{repository}/{id}")
            page.wait(lambda: page.text("h1") == id and page.text(".tree"))
            page.press("E")
            page.wait(lambda: page.script("return document.activeElement.tagName") == "TEXTAREA")
            page.script("document.activeElement.value = arguments[0]", text)
            page.press("Control+Enter")
            page.wait(lambda: page.focused() == "Save")
            page.press("Enter")
            page.wait(lambda: not page.script("return document.querySelector('dialog')"))

        press = "document.querySelectorAll('#notes button')[arguments[0]].click()"
        before = songs["s0001"]
        change(0, "songs", "s0001", '{"id":"s0001"}')
        change(1, "notes", "n", '{"id":"n","text":"second"}')
        # That of the first store, while the second is shown, and where both are their store's first edit.
        page.script(press, 0)
        page.wait(lambda: songs["s0001"] == before)
        assert notes["n"]["text"] == "second"
        page.script(press, 0)
        page.wait(lambda: notes["n"]["text"] == "first")
        page.driver.get("about:blank")


def test_who_looked_away_while_the_connection_was_lost_is_told_again(
    at_songs: Page, music: holdfast.Store
) -> None:
    page = at_songs
    page.script("""
        Object.defineProperty(document, "hidden", { get: () => window.isHidden === true });
        window.look = (away) => {
          window.isHidden = away;
          document.dispatchEvent(new Event("visibilitychange"));
        };
        const asked = window.fetch;
        window.fetch = (what, how) => window.isCut && `${what}`.includes("api/changes")
          ? Promise.reject(new TypeError("cut")) : asked(what, how);
        window.isCut = true;
    """)
    show(page, "changes")
    page.wait(lambda: "tried again" in page.text(".view > .wrong"))
    page.script("window.look(true); window.isCut = false; window.look(false)")
    page.wait(lambda: page.text(".view > .wrong") == "")
    music.repository("songs").save({"id": "told"})
    page.wait(lambda: "told" in page.text(".changes"))


def test_a_query_is_proposed_marked_remembered_and_in_the_address(at_songs: Page) -> None:
    page = at_songs
    page.click(".editor textarea")
    page.type("{alb")
    page.wait(lambda: page.text(".proposals").startswith("album"))
    page.press("Down", "Enter")
    page.type("{$gt")
    page.wait(lambda: "$gte" in page.text(".proposals"))
    page.picture("proposals")
    page.press("Down", "Enter")
    page.type("1998")
    page.press("Control+Enter")
    page.wait(lambda: page.status().endswith("of 50"))
    link = page.driver.current_url
    page.press("Control+a")
    page.type('{"plays": {"$near": 1')
    page.press("Enter")
    page.wait(lambda: "$near" in page.text(".editor-error"))
    assert page.text(".editor mark") == '"$near"'
    page.press("Control+a")
    page.type("{plays 1")
    page.press("Enter")
    page.wait(lambda: "A : belongs here" in page.text(".editor-error"))
    assert page.text(".editor mark") == "1"
    page.picture("error-at-its-place")
    page.driver.get("about:blank")
    page.driver.get(link)
    page.wait(lambda: page.status().endswith("of 50"))
    page.click("button", "History")
    assert "1998" in page.text("dialog .history")
    page.press("Escape")


def test_each_stage_of_a_pipeline_tells_what_it_gives(at_songs: Page) -> None:
    page = at_songs
    pipeline = '[{"$match": {"plays": {"$lt": 100}}}, {"$group": {"_id": "$album.year", "n": {"$sum": 1}}}]'
    show(page, "aggregate", "songs", pipeline=pipeline)
    page.wait(lambda: page.status() == "40 of 40 documents")
    assert page.rows()[:2] == [["1960", "3"], ["1961", "3"]]
    page.wait(lambda: "100 documents" in page.text(".stages") and "40 documents" in page.text(".stages"))
    assert "Song 0" in page.text(".stages li:first-child")
    assert "index plays" in page.text(".plan-box").replace("Index", "index")
    page.picture("pipeline")
    show(page, "aggregate", "songs", pipeline='[{"$grop": {}}]')
    page.wait(lambda: "$group" in page.text(".editor-error") and page.text(".editor mark") == '"$grop"')


def test_an_index_is_dropped_and_made(at_songs: Page, music: holdfast.Store) -> None:
    page = at_songs
    show(page, "shape", "songs")
    page.click("button", "Count entries")
    page.wait(lambda: "1,000" in page.text(".cards tbody"))
    assert "album.year" in page.text(".cards")
    page.picture("shape")
    page.click("button", "Drop")
    page.click("dialog button.bad", "Drop")
    page.wait(lambda: music.repository("songs").indexes() == [])
    page.wait(lambda: "There are none" in page.text(".cards"))
    page.click("button", "Make an index")
    page.type("{title: 1}")
    page.press("Enter")
    page.wait(lambda: [it["name"] for it in music.repository("songs").indexes()] == ["title"])
    page.wait(lambda: "ready" in page.text(".cards"))


def test_what_another_changed_is_not_written_over(at_songs: Page, music: holdfast.Store) -> None:
    page = at_songs
    show(page, "entity", "songs", "s0001")
    page.click("button", "Edit")
    page.press("Control+a")
    page.type('{"id": "s0001", "title": "Mine')
    page.click("dialog button", "Review")
    page.wait(lambda: page.text("dialog .wrong") == "This text does not end.")
    page.press("Control+End")
    page.type('"}')
    music.repository("songs").modify("s0001", {"$set": {"title": "Theirs"}})
    page.click("dialog button", "Review")
    page.wait(lambda: page.text(".diff"))
    page.picture("diff")
    page.click("dialog button", "Save")
    page.wait(lambda: "Somebody changed it meanwhile" in page.script(TEXT))
    assert music.repository("songs")["s0001"]["title"] == "Theirs"
    # Behind the dialogs is the newest by then, and that can be edited.
    page.click("dialog button", "Back")
    page.click("dialog button", "Cancel")
    page.wait(lambda: "Theirs" in page.text(".tree"))
    page.press("E")
    page.wait(lambda: "Theirs" in page.script("return document.activeElement.value ?? ''"))


def test_an_address_that_names_nothing_leads_to_what_there_is(at_songs: Page) -> None:
    page = at_songs
    for address in ("#/0/constructor", "#/0/data", "#/0/nothing/songs"):
        page.script("location.hash = arguments[0]", address)
        page.wait(lambda: "/data/songs" in page.driver.current_url)
        page.wait(lambda: page.text("h1") == "songs" and page.status() == "100 of 1,000")


def test_a_text_in_single_quotes_may_have_any_others(at_songs: Page) -> None:
    page = at_songs
    script = """
        const [text, done] = arguments;
        import("/json.js").then(({ parse }) => done(parse(text).value)).catch((error) => done(error.message));
    """
    for text, value in (("'\"\"'", '""'), (r"'\\\"'", '\\"'), (r"'it\'s \"'", "it's \""), ("'\\n'", "\n")):
        assert page.driver.execute_async_script(script, text) == value


TEXT = "return document.body.innerText"


def test_nothing_to_write_is_offered_without_the_right(music: holdfast.Store, page: Page) -> None:
    with Inspector([music]) as inspector:
        page.open(inspector.link())
        for view, names in (("data", ["songs"]), ("entity", ["songs", "s0001"]), ("shape", ["songs"])):
            show(page, view, *names)
            page.wait(lambda: page.text("h1"))
            for words in ("Edit", "Delete", "New entity", "Make an index", "Drop"):
                assert words not in page.text("#main"), (view, words)
        page.driver.get("about:blank")


def test_it_begins_with_the_repository_seen_last(music: holdfast.Store, page: Page, tmp_path: Path) -> None:
    music.repository("a_first_one")
    with holdfast.open("memory:") as other:
        other.repository("things").save({"id": "t"})
        for before, after in (("a_first_one", "songs"), ("songs", "songs")):
            with Inspector([music, other], memory=tmp_path / "remembered") as inspector:
                page.open(inspector.link())
                page.wait(lambda before=before: page.text("h1") == before)
                page.click("#side a", after)
                page.wait(lambda after=after: page.text("h1") == after)
                kept = inspector.shown[0].url
                page.wait(lambda inspector=inspector, kept=kept: "repository" in inspector.memory.of(kept))
                page.driver.get("about:blank")
        with Inspector([music, other]) as inspector:
            page.open(inspector.link())
            page.click("select[aria-label=Store] option", "memory:")
            page.wait(lambda: page.text("h1") == "things" and page.ids() == ["t"])
            page.driver.get("about:blank")


def test_repositories_that_others_make_come_and_the_focus_stays(
    at_songs: Page, music: holdfast.Store
) -> None:
    page = at_songs
    music.repository("singers").save({"id": "p"})
    page.script("document.querySelector('#side a[href$=changes]').focus()")
    page.press("Enter")
    page.wait(lambda: "singers" in page.text("#side"))
    page.wait(lambda: page.text("h1") == "Changes" and page.focused() == "Changes")
    page.press("Tab", "Tab", "Enter")
    page.wait(lambda: page.text("h1") == "singers" and page.ids() == ["p"])


def axe(page: Page) -> list[str]:
    """What axe finds: for each rule, what it is and where."""
    if not page.script("return typeof axe !== 'undefined'"):
        page.script(AXE)
    run = (
        "const done = arguments[0]; axe.run({ resultTypes: ['violations'] }).then(it => done(it.violations"
        ".map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html.slice(0, 160)).join(' | ')}`)))"
    )
    return page.driver.execute_async_script(run)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_view_is_open_to_everybody(inspector: Inspector, page: Page, theme: str) -> None:
    inspector.memory.keep("page", "theme", theme)
    page.driver.set_script_timeout(120)
    page.open(inspector.link())
    pipeline = '[{"$sortByCount": "$album.year"}]'
    for view, names, query in (
        ("data", ["songs"], {"filter": '{"album.year": 1999}', "sort": '{"title": 1}'}),
        ("entity", ["songs", "s0003"], {}),
        ("aggregate", ["songs"], {"pipeline": pipeline}),
        ("shape", ["songs"], {}),
        ("changes", [], {}),
        ("store", [], {}),
    ):
        show(page, view, *names, **query)
        page.wait(lambda: page.text("h1") and not page.script("return document.querySelector('[aria-busy]')"))
        page.wait(lambda: page.text("tbody") or page.text(".tree") or page.text(".grid"))
        if view == "data":
            page.wait(lambda: page.text(".plan-box"))
            page.script("document.querySelector('.plan-box').open = true")
        page.picture(f"{view}-{theme}")
        assert axe(page) == [], view
    page.command("Keys")
    page.wait(lambda: page.text("dialog"))
    assert axe(page) == []
    page.driver.get("about:blank")


def test_it_fits_a_phone(inspector: Inspector, page: Page) -> None:
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True},
    )
    try:
        page.open(inspector.link())
        for view, names in (
            ("data", ["songs"]),
            ("entity", ["songs", "s0003"]),
            ("store", []),
            ("changes", []),
        ):
            show(page, view, *names)
            page.wait(lambda: page.text("h1") and (page.text("tbody") or page.text(".tree")))
            page.picture(f"{view}-phone")
            wide = page.script("return document.documentElement.scrollWidth")
            assert wide <= 390, (view, wide)
        page.driver.get("about:blank")
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_figures_move_while_something_is_committed(
    inspector: Inspector, page: Page, music: holdfast.Store
) -> None:
    page.open(inspector.link())
    show(page, "store")
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.01):
            music.repository("songs").modify("s0001", {"$inc": {"plays": 1}})

    worker = threading.Thread(target=work)
    worker.start()
    try:
        page.wait(
            lambda: page.text(".chart strong")[:1].isdecimal() and float(page.text(".chart strong")) > 1
        )
        page.picture("store-busy")
    finally:
        stop.set()
        worker.join()
    page.click("button", "Verify")
    page.wait(lambda: "All is well: 1,001 entities" in page.text(".jobs"))
    page.driver.get("about:blank")


def commits_a_second(page: Page) -> float:
    told = page.text(".chart strong")
    return float(told) if told[:1].isdecimal() else 0.0
