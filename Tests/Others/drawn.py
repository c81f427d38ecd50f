"""Random documents, filters, updates and sorts in MongoDB's language, from a generator of random numbers."""

import random
from typing import Any

Document = dict[str, Any]

NAMES = ["a", "b", "c"]
NUMBERS = [
    0,
    1,
    2,
    3,
    -1,
    -3,
    0.5,
    -1.5,
    1.0,
    2.0,
    2**31,
    2**53,
    2**53 + 1,
    2.0**53,
    -(2**62),
    1e300,
]
TEXTS = ["", "a", "ab", "b", "é", "z\U0001f600"]
TYPES = ["null", "bool", "number", "string", "object", "array"]


class Drawing:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def scalar(self) -> Any:
        kind = self.chance.randrange(8)
        if kind == 0:
            return None
        if kind == 1:
            return self.chance.random() < 0.5
        return self.chance.choice(NUMBERS if kind < 5 else TEXTS)

    def value(self, depth: int = 2) -> Any:
        kind = self.chance.randrange(8) if depth else 0
        if kind < 5:
            return self.scalar()
        if kind < 7:
            return [self.value(depth - 1) for _ in range(self.chance.randrange(4))]
        return self.members(depth - 1)

    def members(self, depth: int) -> Document:
        return {
            self.chance.choice(NAMES): self.value(depth)
            for _ in range(self.chance.randrange(3))
        }

    def document(self) -> Document:
        return {
            self.chance.choice(NAMES): self.value(3)
            for _ in range(self.chance.randrange(4))
        }

    def path(self) -> str:
        parts = [self.chance.choice(NAMES)]
        while self.chance.random() < 0.3 and len(parts) < 4:
            parts.append(self.chance.choice([*NAMES, *NAMES, "0", "1", "2"]))
        return ".".join(parts)

    # --- Filters ---------------------------------------------------------------------------------

    def operators(self, depth: int = 1) -> Document:
        """Conditions on one value."""
        name = self.chance.choice(
            [
                "$eq",
                "$ne",
                "$gt",
                "$gte",
                "$lt",
                "$lte",
                "$in",
                "$nin",
                "$exists",
                "$type",
                "$regex",
                "$mod",
                "$size",
            ]
            + ["$all", "$elemMatch", "$not"] * bool(depth)
        )
        if name in ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte"):
            operand = self.value()
        elif name in ("$in", "$nin", "$all"):
            operand = [self.value(1) for _ in range(self.chance.randrange(1, 4))]
        elif name == "$exists":
            operand = self.chance.random() < 0.5
        elif name == "$type":
            operand = self.chance.choice(TYPES)
        elif name == "$regex":
            operand = self.chance.choice(["^a", "b$", "é", "a?", "^$", "[ab]{2}"])
        elif name == "$mod":
            operand = [self.chance.choice([2, 3, -2]), self.chance.choice([0, 1, -1])]
        elif name == "$size":
            operand = self.chance.randrange(4)
        elif name == "$elemMatch":
            operand = (
                self.operators(0) if self.chance.random() < 0.5 else self.condition(0)
            )
        else:
            operand = self.operators(0)
        return {name: operand}

    def condition(self, depth: int = 1) -> Document:
        if self.chance.random() < 0.25:
            return {self.path(): self.value()}
        operators = self.operators(depth)
        if self.chance.random() < 0.1:
            operators.update(self.operators(depth))
        return {self.path(): operators}

    def filter(self, depth: int = 2) -> Document:
        kind = self.chance.randrange(10) if depth else 0
        if kind < 6:
            return self.condition()
        if kind == 6:
            return {**self.condition(), **self.condition()}
        return {
            self.chance.choice(["$and", "$or", "$nor"]): [
                self.filter(depth - 1) for _ in range(self.chance.randrange(1, 4))
            ]
        }

    # --- Updates ---------------------------------------------------------------------------------

    def update(self) -> Document:
        update: Document = {}
        for _ in range(self.chance.choice([1, 1, 1, 2])):
            name = self.chance.choice(
                [
                    "$set",
                    "$unset",
                    "$inc",
                    "$mul",
                    "$min",
                    "$max",
                    "$push",
                    "$addToSet",
                    "$pull",
                    "$rename",
                ]
            )
            update.setdefault(name, {})[self.path()] = self.operand(name)
        return update

    def operand(self, name: str) -> Any:
        if name == "$unset":
            return ""
        if name in ("$inc", "$mul"):
            return self.chance.choice([1, 2, -3, 0.5, 2.0])
        if name == "$rename":
            return self.path()
        if name == "$pull" and self.chance.random() < 0.4:
            return (
                self.operators(0) if self.chance.random() < 0.5 else self.condition(0)
            )
        if name in ("$push", "$addToSet") and self.chance.random() < 0.4:
            operand: Document = {
                "$each": [self.value(1) for _ in range(self.chance.randrange(4))]
            }
            if name == "$push" and self.chance.random() < 0.5:
                operand["$position"] = self.chance.randrange(-3, 4)
            if name == "$push" and self.chance.random() < 0.5:
                operand["$slice"] = self.chance.randrange(-3, 4)
            return operand
        return self.value()
