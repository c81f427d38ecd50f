"""A country and its subdivisions as a tree of objects, renamed and moved in one transaction.

    python country_tree.py [path of the store]

The country comes from the ISO registers of Debian's package iso-codes. Its objects need no methods for their
transactions: a rollback brings back what they were, and a commit stores those that changed. Every step checks
what it shows; the program exits with 1 at the first check that fails.
"""

import json
import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import holdfast

REGISTERS = Path("/usr/share/iso-codes/json")
COUNTRY = "FR"


@dataclass
class Place(holdfast.Model):
    """A country or a subdivision."""

    code: str
    name: str
    parent: Optional[str] = None
    #: The codes of what lies directly in it, in order.
    parts: list[str] = field(default_factory=list)

    def on_validate_commit(self) -> None:
        """Refuses a name that says nothing."""
        if not self.name.strip():
            raise ValueError(f"{self.code} must have a name")


class Atlas:
    """The places of one country, each attached to the one in which it lies."""

    def __init__(self, places: "holdfast.Repository[Place]") -> None:
        self.places = places
        self.by_code: dict[str, Place] = {}

    def add(self, code: str, name: str, parent: Optional[str]) -> None:
        """Adds a place to the tree, and to what is stored of it."""
        place = self.by_code[code] = Place(code, name, parent).bind(self.places)
        if parent is not None:
            self.by_code[parent].parts.append(code)
            place.attach(self.by_code[parent])

    def move(self, code: str, parent: str) -> None:
        """Moves a place, with all that lies in it."""
        place = self.by_code[code]
        self.by_code[place.parent or ""].parts.remove(code)
        self.by_code[parent].parts.append(code)
        place.parent = parent
        place.attach(self.by_code[parent])

    def agree(self) -> bool:
        """Whether objects and store say the same."""
        return {place.code: place for place in self.places} == self.by_code


def main() -> None:
    """Runs the tour, in the place given or in a temporary directory."""
    with tempfile.TemporaryDirectory() as directory:
        path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(directory, "places.db")
        print(f"A country as a tree, store {path}")
        with holdfast.open(path) as store:
            atlas = Atlas(store.repository("places", cls=Place, key="code"))
            draw(store, atlas)
            rename_and_move(store, atlas)
            refuse(store, atlas)
    print("Everything held.")


def draw(store: holdfast.Store, atlas: Atlas) -> None:
    """Makes the tree from the registers and stores it in one commit."""
    country = next(entry for entry in register("3166-1") if entry["alpha_2"] == COUNTRY)
    parts = [entry for entry in register("3166-2") if entry["code"].startswith(COUNTRY + "-")]
    atlas.add(COUNTRY, country["name"], None)
    with store.transaction(atlas.by_code[COUNTRY]) as transaction:
        # Parents before what lies in them.
        for entry in sorted(parts, key=lambda entry: ("parent" in entry, entry["code"])):
            parent = entry.get("parent")
            atlas.add(
                entry["code"], entry["name"], f"{COUNTRY}-{parent.split('-')[-1]}" if parent else COUNTRY
            )
    assert transaction.receipt is not None
    check(
        len(transaction.receipt.changes) == len(parts) + 1 == len(atlas.places),
        f"{country['name']} and its {len(parts)} subdivisions are stored by one commit",
    )
    check(atlas.agree(), "objects and store say the same")


def rename_and_move(store: holdfast.Store, atlas: Atlas) -> None:
    """Changes three places; the others are not written."""
    regions = [place for place in atlas.by_code.values() if place.parent == COUNTRY and len(place.parts) > 1]
    region, target = regions[:2]
    moved = region.parts[0]
    with store.transaction(atlas.by_code[COUNTRY]) as transaction:
        region.name += " (new)"
        atlas.move(moved, target.code)
    assert transaction.receipt is not None
    check(
        {change.id for change in transaction.receipt.changes} == {region.code, target.code, moved},
        f"{region.name} is renamed, and {atlas.by_code[moved].name} moved to {target.name}, in one commit",
    )
    check(atlas.agree(), "objects and store say the same")


def refuse(store: holdfast.Store, atlas: Atlas) -> None:
    """One place refuses, and all of them are what they were."""
    country = atlas.by_code[COUNTRY]
    before = country.name
    last = country.parts[-1]
    try:
        with store.transaction(country):
            country.name = "Nowhere"
            atlas.by_code[last].name = " "
    except ValueError as error:
        check(str(error) == f"{last} must have a name", f"refused: {error}")
    check(country.name == before and atlas.agree(), "the others are what they were, in both places")


def register(name: str) -> list[dict[str, Any]]:
    """The entries of a register."""
    return json.loads((REGISTERS / f"iso_{name}.json").read_text())[name]


def check(holds: bool, sentence: str) -> None:
    """Prints what was checked; ends the program when it does not hold."""
    print(f"  {'ok' if holds else 'FAILED'}  {sentence}")
    if not holds:
        sys.exit(1)


if __name__ == "__main__":
    main()
