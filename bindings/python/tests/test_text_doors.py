"""Text indexes where they are awaited, and at the command."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import holdfast
import holdfast.aio

SCORE = {"$meta": "textScore"}


def search(words: str) -> dict[str, Any]:
    return {"$text": {"$search": words}}


def test_what_is_awaited_searches_texts(tmp_path: Path) -> None:
    async def main() -> None:
        async with holdfast.aio.open(str(tmp_path / "texts.db")) as store:
            texts = store.repository("texts")
            await texts.create_index({"a": 2, "b": 1}, kind="text", stop_words=["the"])
            await texts.save_many(
                [{"id": "1", "b": "The coffee"}, {"id": "2", "a": "Coffees"}, {"id": "3", "a": "tea"}]
            )
            found = await texts.find(
                search("coffee"), sort={"score": SCORE}, fields={"score": SCORE}, limit=2
            )
            assert [entity["id"] for entity in found] == ["2", "1"] and found[0]["score"] > found[1]["score"]
            async with store.transaction():
                await texts.delete("2")
                assert [entity["id"] async for entity in texts.iterate(search("coffee -tea"))] == ["1"]
            assert await texts.count(search("the")) == 0
            assert (await texts.explain(search("coffee")))["index"] == "a_b_text"

    asyncio.run(main())


def test_the_command_makes_a_text_index_and_searches(tmp_path: Path) -> None:
    path = str(tmp_path / "texts.db")
    with holdfast.open(path) as store:
        store.repository("texts").save_many([{"id": "1", "a": "The coffees"}, {"id": "2", "b": "coffee"}])

    def run(*words: str) -> list[Any]:
        ended = subprocess.run(
            [sys.executable, "-m", "holdfast", *words],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        return [json.loads(line) for line in ended.stdout.splitlines()]

    run("index", "create", path, "texts", "a:3", "b", "--text", "--language", "en", "--stop-word", "the")
    (index,) = run("index", "list", path)
    assert (index["kind"], index["fields"], index["stop_words"]) == ("text", {"a": 3, "b": 1}, ["the"])
    found = run("find", path, "texts", json.dumps(search("coffee")))
    assert sorted(entity["id"] for entity in found) == ["1", "2"]
    assert run("find", path, "texts", json.dumps(search("the")), "--count") == [0]
