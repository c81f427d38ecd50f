"""The forms of values that JSON does not have, and ids that are UUIDs or members of Enums, at the other
faces: asyncio, preferences, controllers, models, mappings."""

import asyncio
import dataclasses
import datetime
import enum
import uuid
from decimal import Decimal
from typing import Any, Optional

import pytest

import holdfast
import holdfast.aio
from holdfast import F

UUID = uuid.UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
DAY = datetime.date(2024, 5, 17)


class Number(enum.Enum):
    """Neither a text nor an integer itself."""

    ONE = 1
    TWO = uuid.UUID(int=2)


@dataclasses.dataclass
class Song:
    id: uuid.UUID
    released: Optional[datetime.date] = None
    price: Decimal = Decimal(0)
    tags: set[str] = dataclasses.field(default_factory=set)


def test_they_hold_within_asyncio(tmp_path: Any) -> None:
    async def main() -> None:
        async with holdfast.aio.open(str(tmp_path / "music.db")) as store:
            songs = store.repository("songs", cls=Song)
            song = await songs.add(Song(UUID, DAY, Decimal("1.50"), {"a"}))
            assert await songs.fetch(UUID) == song == await songs.first(F.released == DAY)
            assert await songs.fetch_many([UUID]) == [song] == await songs.find({"price": Decimal("1.5")})
            assert [it async for it in songs.iterate({"id": UUID})] == [song]
            assert await songs.contains(UUID) and await songs.count({"tags": {"a"}}) == 1
            assert (await songs.patch(UUID, {"price": Decimal("0.10")})).price == Decimal("0.10")
            assert (await songs.modify(UUID, {"$addToSet": {"tags": "b"}})).tags == {"a", "b"}
            with pytest.raises(holdfast.InvalidQueryError):
                await songs.modify(UUID, {"$inc": {"price": Decimal(1)}})
            async with store.transaction():
                await songs.save(dataclasses.replace(song, released=None))
                assert await songs.fetch(UUID) == dataclasses.replace(song, released=None)
            async with songs.changes(id=UUID) as changes, songs.observe({"id": UUID}) as live:
                assert (await live.next()).entities == [dataclasses.replace(song, released=None)]
                await songs.save(song)
                assert next(iter(await changes.next())).entity == song
            await songs.delete(UUID)
            await songs.delete_many([])
            assert await songs.fetch(UUID) is None

    asyncio.run(main())


def test_a_member_of_any_enumeration_is_an_id_by_its_value(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    for number, text in ((Number.ONE, "1"), (Number.TWO, str(Number.TWO.value))):
        songs.save({"id": number})
        songs[number] = {"plays": 1}
        assert number in songs and songs[number]["plays"] == 1 == songs.as_mapping()[number]["plays"]
        assert songs.find({"id": number}) == songs.fetch_many([number])
        assert songs.ids() == [text]
        songs.patch_many([{"id": number, "plays": 2}])
        songs.deferred.modify(number, {"$inc": {"plays": 1}}, initial={}).perform()
        assert songs.deferred.fetch(number).perform() == songs[text]
        songs.invalidate_cache(number)
        del songs.as_mapping()[number]
        assert songs.count() == 0


class Settings(holdfast.Preferences):
    day = holdfast.Preference(DAY)
    pause = holdfast.Preference(datetime.timedelta(seconds=1.5))
    token = holdfast.Preference(None, uuid.UUID)
    tags = holdfast.Preference(frozenset({"a"}))


def test_preferences_have_them(store: holdfast.Store) -> None:
    settings = Settings(store)
    assert (settings.day, settings.token) == (DAY, None)
    settings.day = datetime.date(2025, 1, 1)
    settings.pause = datetime.timedelta(minutes=1)
    settings.token = UUID  # type: ignore[assignment]
    settings.tags = frozenset({"c", "b"})
    assert (settings.day, settings.pause) == (datetime.date(2025, 1, 1), datetime.timedelta(minutes=1))
    assert (settings.token, settings.tags) == (UUID, frozenset({"b", "c"}))
    assert store.repository("preferences")["tags"]["value"] == ["b", "c"]
    with pytest.raises(holdfast.CorruptError):
        settings.get("tags", DAY)


def test_actions_have_them(store: holdfast.Store) -> None:
    songs = store.repository("songs", cls=Song)
    song = Song(UUID, DAY, Decimal("1.50"))
    with holdfast.Controller(songs) as controller:
        controller.dispatch({"action": "save", "element": song})
        for state in controller.states(timeout=60):
            if state["persist"]["state"] == "succeeded":
                break
        filter = (F.released == DAY) & (F.price == Decimal("1.5"))
        controller.dispatch({"action": "request", "request": {"filter": filter}})
        for _ in controller.states(timeout=60):
            if controller.entities():
                break
        assert controller.entities() == [song]
        controller.dispatch({"action": "delete", "element": {"id": UUID}})
        for _ in controller.states(timeout=60):
            if UUID not in songs:
                break


@holdfast.Model
@dataclasses.dataclass
class Chart:
    id: uuid.UUID
    days: dict[datetime.date, set[int]] = dataclasses.field(default_factory=dict)


def test_models_are_stored_with_them(store: holdfast.Store) -> None:
    charts = store.repository("charts", cls=Chart)
    chart = Chart(UUID).bind(charts)
    with store.transaction(chart):
        chart.days[DAY] = {2, 1}
    assert charts[UUID].days == {DAY: {1, 2}}
    with pytest.raises(ZeroDivisionError), store.transaction(chart):
        chart.days[DAY].add(1 // 0)
    assert chart.days == {DAY: {1, 2}}
