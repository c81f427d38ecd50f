"""Exports as a store of some age would write them, and the versions that an import has brought."""

import io
import json

import holdfast


def export_of(sequence: int, versions: dict[str, int]) -> io.BytesIO:
    """An export whose entities have these versions."""
    file = io.BytesIO()
    with holdfast.open("memory:") as store:
        store.repository("songs").save_many({"id": id} for id in versions)
        store.export_lines(file)
    header, *entities, end = [json.loads(line) for line in file.getvalue().splitlines()]
    header["sequence"] = sequence
    for entity in entities:
        entity["version"] = versions[entity["id"]]
    return io.BytesIO(b"".join(json.dumps(it).encode() + b"\n" for it in (header, *entities, end)))


def versions_of(store: holdfast.Store) -> dict[str, int]:
    file = io.BytesIO()
    store.export_lines(file)
    entities = [json.loads(line) for line in file.getvalue().splitlines()[1:-1]]
    return {it["id"]: it["version"] for it in entities}
