"""Named values with defaults."""

import asyncio
import dataclasses
from typing import Any, Callable, Optional

import pytest

import holdfast
import holdfast.aio

Open = Callable[..., holdfast.Store]


@dataclasses.dataclass
class Window:
    width: int
    height: int = 600


class Settings(holdfast.Preferences):
    theme = holdfast.Preference("light")
    volume = holdfast.Preference(0.5)
    muted = holdfast.Preference(False)
    window = holdfast.Preference(Window(800))
    editor = holdfast.Preference[Optional[str]](None, str)


def test_a_default_holds_until_a_value_is_stored_and_again_when_it_is_deleted(store: holdfast.Store) -> None:
    settings = store.preferences("settings")
    assert settings.get("volume", 0.5) == 0.5
    settings.set("volume", 0.75)
    assert settings.get("volume", 0.5) == 0.75
    settings.delete("volume")
    assert settings.get("volume", 0.5) == 0.5
    settings.delete("volume")
    assert store.repository("settings").fetch_all() == []


def test_declared_preferences_are_attributes(store: holdfast.Store) -> None:
    settings = Settings(store)
    assert (settings.theme, settings.volume, settings.muted) == ("light", 0.5, False)
    settings.theme, settings.volume, settings.window = "dark", 1, Window(1024, 768)
    again = Settings(store)
    assert (again.theme, again.volume, again.window) == ("dark", 1.0, Window(1024, 768))
    assert type(again.volume) is float
    del settings.theme
    assert again.theme == "light"
    assert Settings.theme.default == "light"
    assert store.repository("preferences").ids() == ["volume", "window"]


@pytest.mark.parametrize(
    ("value", "default"),
    [
        ("a", "b"),
        (True, False),
        (0, 1),
        (-1.5, 0.0),
        ([1, None], []),
        ({"a": {"b": 1}}, {}),
        (Window(1), Window(0)),
        (None, None),
    ],
)
def test_a_value_of_each_type_comes_back(store: holdfast.Store, value: Any, default: Any) -> None:
    settings = store.preferences()
    settings.set("it", value)
    found = settings.get("it", default)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("stored", "default", "cls"),
    [
        ("loud", 0.5, None),
        (None, 0.5, None),
        (True, 1, None),
        (True, 1.0, None),
        (1.5, 1, None),
        (0, False, None),
        (7, None, str),
        ({"height": 1}, Window(800), None),
        ([], Window(800), None),
    ],
)
def test_what_is_not_of_its_type_is_an_error_and_never_the_default(
    store: holdfast.Store, stored: Any, default: Any, cls: Optional[type]
) -> None:
    settings = store.preferences("settings")
    settings.set("it", stored)
    with pytest.raises(holdfast.CorruptError) as raised:
        settings.get("it", default, cls)
    assert raised.value.detail == {"repository": "settings", "id": "it"}
    # The others stay readable.
    settings.set("other", 1)
    assert settings.get("other", 0) == 1


def test_an_entity_that_holds_no_value_is_an_error(store: holdfast.Store) -> None:
    store.repository("settings").save({"id": "it"})
    with pytest.raises(holdfast.CorruptError):
        store.preferences("settings").get("it", None)


def test_what_could_not_be_read_back_is_not_stored(store: holdfast.Store) -> None:
    settings = Settings(store)
    with pytest.raises(TypeError):
        settings.theme = 7  # type: ignore[assignment]
    settings.editor = None
    with pytest.raises(TypeError):
        settings.editor = 7  # type: ignore[assignment]
    settings.editor = "vi"
    assert (settings.theme, settings.editor) == ("light", "vi")


def test_it_is_stored_in_the_shape_that_all_languages_share(store: holdfast.Store) -> None:
    settings = store.preferences("settings")
    settings.set("volume", 0.5)
    settings.set("editor", None)
    stored = store.repository("settings")
    assert stored.fetch_bytes("volume") == b'{"id":"volume","value":0.5}'
    assert stored.fetch_bytes("editor") == b'{"id":"editor","value":null}'


def test_it_joins_the_transaction(store: holdfast.Store) -> None:
    settings = Settings(store)
    with pytest.raises(ZeroDivisionError), store.transaction():
        settings.theme = "dark"
        settings.muted = True
        assert settings.theme == "dark"
        raise ZeroDivisionError
    assert (settings.theme, settings.muted) == ("light", False)


def test_names_where_one_begins_with_the_other_are_separate(store: holdfast.Store) -> None:
    short, long = store.preferences("App"), store.preferences("App2")
    short.set("it", 1)
    assert long.get("it", 0) == 0
    long.delete("it")
    assert short.get("it", 0) == 1


def test_it_is_awaited_under_asyncio(open_store: Open, path: str, engine: str) -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:" if engine == "memory" else path) as store:
            settings = store.preferences("settings")
            assert await settings.get("theme", "light") == "light"
            await settings.set("theme", "dark")
            assert await settings.get("theme", "light") == "dark"
            with pytest.raises(holdfast.CorruptError):
                await settings.get("theme", 1)
            await settings.delete("theme")
            assert await settings.get("theme", "light") == "light"

    asyncio.run(main())


def test_a_type_that_json_cannot_hold_is_refused_at_once(store: holdfast.Store) -> None:
    settings = store.preferences()
    with pytest.raises(TypeError):
        settings.get("it", object())
    with pytest.raises(TypeError, match='"value" is of the type'):
        settings.set("it", object())
