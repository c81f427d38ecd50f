"""The inspector's page: ten tasks, each done by the keyboard alone."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Page

import holdfast
from holdfast.inspector import Inspector

TITLES = ["Gloria", "Redondo Beach", "Birdland", "Free Money", "Kimberly", "Break It Up", "Land", "Elegie"]


@pytest.fixture
def music(path: str) -> Iterator[holdfast.Store]:
    """A store with songs."""
    with holdfast.open(path) as store:
        store.repository("songs").save_many(
            {"id": f"s{number:04}", "title": f"{TITLES[number % 8]} {number}", "plays": number * 7 % 1000}
            for number in range(2000)
        )
        store.repository("people").save({"id": "p1", "name": "Patti"})
        yield store


@pytest.fixture
def songs(music: holdfast.Store) -> "holdfast.Repository[dict[str, Any]]":
    return music.repository("songs")


@pytest.fixture
def at_songs(music: holdfast.Store, page: Page) -> Iterator[Page]:
    """The page of the songs, with the right to write."""
    with Inspector([music], write=True) as inspector:
        page.open(inspector.link())
        page.command("Go to songs")
        page.wait(lambda: page.status() == "100 of 2,000")
        yield page
        page.driver.get("about:blank")


def test_find_the_entity_whose_title_begins_with_a_word(at_songs: Page) -> None:
    page = at_songs
    page.press("/")
    # What is proposed is taken with Enter: the path, then the operator.
    page.type("{tit")
    page.wait(lambda: "title" in page.text(".proposals [aria-selected=true]"))
    page.press("Enter")
    page.type("{$re")
    page.wait(lambda: "$regex" in page.text(".proposals [aria-selected=true]"))
    page.press("Enter")
    page.type('"^Birdland 186$"')
    page.press("Control+Enter")
    page.wait(lambda: page.ids() == ["s0186"])
    page.press("Escape", "Enter")
    page.wait(lambda: page.text("h1") == "s0186")
    page.wait(lambda: "Birdland 186" in page.text(".tree"))


def test_why_is_this_query_slow(at_songs: Page) -> None:
    page = at_songs
    page.press("/")
    page.type("{plays: 7")
    page.press("Enter")
    page.wait(lambda: page.text(".plan-box .badge") == "costly")
    page.press("Escape", "x")
    page.wait(lambda: page.text(".plan"))
    steps = page.text(".plan")
    assert "Scan" in steps and "2,000 held against it" in steps
    assert "plays" in page.text(".advice")
    page.picture("task-why-is-this-slow")


def test_make_an_index_for_a_slow_query(at_songs: Page, songs: "holdfast.Repository[Any]") -> None:
    page = at_songs
    page.press("/")
    page.type("{plays: {$gte: 990")
    page.press("Enter")
    page.wait(lambda: page.text(".plan-box .badge") == "costly")
    page.press("Escape", "i")
    page.wait(lambda: page.focused() == "Make the index")
    page.press("Enter")
    page.wait(lambda: "by index plays" in page.text(".plan-box summary"))
    assert [it["name"] for it in songs.indexes()] == ["plays"]


def test_what_changed_in_the_last_minute(at_songs: Page, songs: "holdfast.Repository[Any]") -> None:
    page = at_songs
    songs.modify("s0007", {"$inc": {"plays": 1}})
    page.press("C")
    page.wait(lambda: page.text("h1") == "Changes")
    page.press("m")
    page.wait(lambda: "s0007" in page.text(".changes tbody tr"))
    songs.delete("s0008")
    page.wait(lambda: "s0008" in page.text(".changes tbody tr"))
    assert page.text(".changes tbody tr .badge") == "delete"
    page.press("p")
    songs.delete("s0009")
    page.wait(lambda: "paused, 1 wait" in page.status())
    assert "s0009" not in page.text(".changes")
    page.press("p", "/")
    page.type("0009")
    page.wait(lambda: page.status() == "2 changes")


def test_who_holds_the_oldest_snapshot(at_songs: Page, music: holdfast.Store) -> None:
    page = at_songs
    with music.transaction(name="nightly report"):
        music.repository("songs").fetch("s0001")
        done = threading.Thread(target=lambda: music.repository("people").save({"id": "p2"}))
        done.start()
        done.join()
        page.press("S")
        page.command("oldest snapshot")
        page.wait(lambda: "nightly report" in page.text(".cards tbody tr"))
        assert page.focused() == "Open snapshots"
        page.picture("task-oldest-snapshot")


def test_repair_one_field(at_songs: Page, songs: "holdfast.Repository[Any]") -> None:
    page = at_songs
    before = songs["s0002"]
    open_entity(page, "s0002")
    page.press("Down", "Down", "e")
    page.wait(lambda: page.focused("aria-label") == "Value of plays")
    page.type("4711")
    page.press("Control+Enter")
    page.wait(lambda: page.focused() == "Save")
    assert "- " in page.text(".diff .went") and "4711" in page.text(".diff .came")
    page.picture("task-repair-one-field")
    page.press("Enter")
    page.wait(lambda: "4711" in page.text(".tree"))
    assert songs["s0002"] == {**before, "plays": 4711}


def test_undo_an_edit(at_songs: Page, songs: "holdfast.Repository[Any]") -> None:
    page = at_songs
    before = songs["s0003"]
    open_entity(page, "s0003")
    page.press("D")
    page.wait(lambda: page.focused() == "Delete")
    page.press("Enter")
    page.wait(lambda: "s0003" not in songs)
    page.wait(lambda: "There is no entity" in page.text(".view > .wrong"))
    page.press("u")
    page.wait(lambda: "s0003" in songs)
    assert songs["s0003"] == before
    page.wait(lambda: "plays" in page.text(".tree"))


def test_see_an_entitys_history(at_songs: Page, songs: "holdfast.Repository[Any]") -> None:
    page = at_songs
    songs.modify("s0004", {"$inc": {"plays": 1}})
    # Who is quicker than the answer keeps the focus when that comes.
    page.script("""
        const asked = window.fetch;
        const answered = new Promise((done) => { window.letGo = done; });
        window.fetch = (what, how) =>
          `${what}`.includes("api/history") ? answered.then(() => asked(what, how)) : asked(what, how);
    """)
    open_entity(page, "s0004")
    page.press("h")
    page.wait(lambda: page.focused() == "Changes")
    page.script("window.letGo()")
    page.wait(lambda: page.text(".past tbody"))
    assert page.focused() == "Changes"
    rows = page.wait(
        lambda: page.script("return [...document.querySelectorAll('.past tbody tr')].map(it => it.innerText)")
    )
    assert len(rows) == 2
    version = songs.fetch_versioned("s0004")
    assert version is not None and str(version[1]) in rows[0] and str(version[1]) in page.text(".facts")


def test_back_up_the_store(at_songs: Page, music: holdfast.Store, tmp_path: Path) -> None:
    page = at_songs
    page.command("The store as a whole")
    page.wait(lambda: page.text("h1").endswith("store.db"))
    page.press("b")
    page.wait(
        lambda: page.focused("value") is not None and page.script("return document.activeElement.value")
    )
    page.press("Control+a")
    page.type(str(tmp_path / "copy.db"))
    page.press("Enter")
    page.wait(lambda: "done" in page.text(".job .badge"))
    assert "copy.db" in page.text(".job")
    with holdfast.open(tmp_path / "copy.db", read_only=True) as copy:
        assert copy.repository("songs", create=False).count() == 2000


def test_follow_a_live_query(at_songs: Page, songs: "holdfast.Repository[Any]") -> None:
    page = at_songs
    page.press("/")
    page.type("{plays: {$gte: 990")
    page.press("Enter")
    page.wait(lambda: page.status() == "20 of 20")
    page.press("Escape", "l")
    page.wait(lambda: "live" in page.status())
    songs.save({"id": "new", "title": "New", "plays": 999})
    page.wait(lambda: "1 came" in page.status())
    assert marked(page, "came") == ["new"]
    page.picture("task-live")
    songs.modify("new", {"$set": {"title": "Newer"}})
    page.wait(lambda: marked(page, "changed") == ["new"])
    songs.delete("new")
    page.wait(lambda: "1 went" in page.status())
    assert "new" not in page.ids()


def open_entity(page: Page, id: str) -> None:
    """Opens it, by its id."""
    page.press("/")
    page.type('{id: "' + id + '"')
    page.press("Enter")
    page.wait(lambda: page.ids() == [id])
    page.press("Escape", "Enter")
    page.wait(lambda: page.text("h1") == id and page.text(".tree"))
    page.press("t")
    page.wait(lambda: page.focused("role") == "treeitem")


def marked(page: Page, how: str) -> list[str]:
    return page.script(f"return [...document.querySelectorAll('tr.{how}')].map(it => it.dataset.id)")


def test_who_comes_back_from_an_entity_goes_on_where_he_was(at_songs: Page) -> None:
    page = at_songs
    page.press("/")
    page.type("{plays: {$lt: 20}")
    page.press("Control+Enter")
    page.wait(lambda: page.ids()[:1] == ["s0000"] and "of 2,000" not in page.status())
    status, ids = page.status(), page.ids()
    page.press("Escape", "Down", "Down", "Enter")
    page.wait(lambda: page.text("h1") == ids[2] and page.text(".tree"))
    page.press("Escape")
    page.wait(lambda: page.status() == status)
    assert page.ids() == ids
    page.wait(lambda: page.focused() == ids[2])
    page.press("Down", "Enter")
    page.wait(lambda: page.text("h1") == ids[3])


def test_what_was_typed_is_not_lost_with_one_key(at_songs: Page) -> None:
    page = at_songs
    open_entity(page, "s0004")
    page.press("E")
    page.wait(lambda: page.focused("aria-label") == "Entity as JSON")
    page.press("Escape")
    page.wait(lambda: not page.script("return document.querySelector('dialog')"))
    page.press("E")
    page.wait(lambda: page.focused("aria-label") == "Entity as JSON")
    page.type("typed")
    page.press("Escape")
    page.wait(lambda: "lost" in page.text("dialog .wrong"))
    assert page.script("return document.activeElement.value").startswith("typed")
    page.press("Escape")
    page.wait(lambda: not page.script("return document.querySelector('dialog')"))


def test_no_task_needed_more_than_is_told_of_keys(at_songs: Page) -> None:
    page = at_songs
    page.press("?")
    page.wait(lambda: "Follow the query live" in page.text("dialog"))
    page.press("Escape")
    page.wait(lambda: not page.text("dialog"))
