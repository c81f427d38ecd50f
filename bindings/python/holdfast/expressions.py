"""Expressions: filters written as Python, `(F.age >= 30) & (F.address.city == "Paris")`."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, Union

_FLAGS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}


class Expression:
    """A condition on entities: joined with `&` and `|`, negated with `~`. Made from `F`."""

    __slots__ = ("_filter",)

    def __init__(self, filter: Mapping[str, Any]) -> None:
        self._filter = dict(filter)

    def to_filter(self) -> dict[str, Any]:
        """The same as the dict that `Repository.find` takes."""
        return self._filter

    def __and__(self, other: "Expression") -> "Expression":
        return self._join("$and", other)

    def __or__(self, other: "Expression") -> "Expression":
        return self._join("$or", other)

    def __invert__(self) -> "Expression":
        return Expression({"$nor": [self._filter]})

    def _join(self, operator: str, other: "Expression") -> "Expression":
        if not isinstance(other, Expression):
            return NotImplemented
        if isinstance(other, ElementExpression):
            raise TypeError("A condition on F itself stands in any() and joins only its like.")
        return Expression({operator: [*self._parts(operator), *other._parts(operator)]})

    def _parts(self, operator: str) -> list[dict[str, Any]]:
        return self._filter[operator] if list(self._filter) == [operator] else [self._filter]

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "An expression is neither true nor false: join with &, | and ~, not with and, or, not."
        )

    def __repr__(self) -> str:
        return f"<holdfast.Expression {self._filter!r}>"


class ElementExpression(Expression):
    """A condition on an element itself, made from `F` alone: `F.scores.any((F >= 80) & (F < 85))`."""

    __slots__ = ()

    def to_filter(self) -> dict[str, Any]:
        """Refuses: an element has no place outside of `any`."""
        raise TypeError("A condition on F itself stands in any(): F.scores.any(F >= 80).")

    def __invert__(self) -> "Expression":
        return ElementExpression({"$not": self._filter})

    def _join(self, operator: str, other: "Expression") -> "Expression":
        if not isinstance(other, Expression):
            return NotImplemented
        if operator != "$and" or not isinstance(other, ElementExpression):
            raise TypeError("Conditions on F itself are joined with & alone, and with their like.")
        common = self._filter.keys() & other._filter.keys()
        if common:
            raise TypeError(f"{sorted(common)[0]} stands twice in a condition on F itself.")
        return ElementExpression({**self._filter, **other._filter})


class Field:
    """A path into entities: `F.age`, `F.address.city`, `F["odd name"]`, `F.tags["0"]`.

    Comparing it gives an `Expression`. With arrays on the path or at its end, any element may satisfy it.
    Names of the methods below are reached as `F["exists"]`.
    """

    __slots__ = ("_path",)
    # Not what subscripts would make of it: every name is a path, so it would have no end.
    __iter__ = None
    __contains__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, path: str = "") -> None:
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name: str) -> "Field":
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: Union[str, int]) -> "Field":
        name = str(name)
        if name.startswith("$") and not self._path:
            raise ValueError(f"A path cannot begin with $: {name!r} would be taken for an operator.")
        return Field(f"{self._path}.{name}" if self._path else name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError("A field is compared with ==, not assigned.")

    def _is(self, operators: dict[str, Any]) -> Expression:
        return Expression({self._path: operators}) if self._path else ElementExpression(operators)

    def __eq__(self, value: object) -> Expression:  # type: ignore[override]
        return self._is({"$eq": value})

    def __ne__(self, value: object) -> Expression:  # type: ignore[override]
        return self._is({"$ne": value})

    def __lt__(self, value: Any) -> Expression:
        return self._is({"$lt": value})

    def __le__(self, value: Any) -> Expression:
        return self._is({"$lte": value})

    def __gt__(self, value: Any) -> Expression:
        return self._is({"$gt": value})

    def __ge__(self, value: Any) -> Expression:
        return self._is({"$gte": value})

    def is_in(self, values: Iterable[Any]) -> Expression:
        """Equals one of these."""
        return self._is({"$in": list(values)})

    def not_in(self, values: Iterable[Any]) -> Expression:
        """Equals none of these."""
        return self._is({"$nin": list(values)})

    def exists(self, exists: bool = True) -> Expression:
        """There is a value, be it null; with False, there is none."""
        return self._is({"$exists": exists})

    def is_type(self, *names: str) -> Expression:
        """Is of one of these types, such as "string", "number", "array", "null"."""
        return self._is({"$type": list(names)})

    def matches(self, pattern: Union[str, "re.Pattern[str]"], options: str = "") -> Expression:
        """Is text of which a part matches a regular expression of PCRE2; options are letters of "imsx"."""
        if isinstance(pattern, re.Pattern):
            options += "".join(letter for flag, letter in _FLAGS.items() if pattern.flags & flag)
            pattern = pattern.pattern
        return self._is({"$regex": pattern, "$options": options} if options else {"$regex": pattern})

    def remainder(self, divisor: int, remainder: int) -> Expression:
        """Leaves this remainder when it is divided."""
        return self._is({"$mod": [divisor, remainder]})

    def has_all(self, values: Iterable[Any]) -> Expression:
        """Is an array that holds all of these."""
        return self._is({"$all": list(values)})

    def has_size(self, size: int) -> Expression:
        """Is an array of so many elements."""
        return self._is({"$size": size})

    def any(self, condition: Expression) -> Expression:
        """Is an array of which one element satisfies the whole condition."""
        return self._is({"$elemMatch": condition._filter})

    def __bool__(self) -> NoReturn:
        raise TypeError("A field is neither true nor false: compare it, or ask whether it exists().")

    def __repr__(self) -> str:
        return f"F[{self._path!r}]" if self._path else "F"


#: Where expressions begin: `F.age >= 30`.
F = Field()
