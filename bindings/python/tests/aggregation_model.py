"""MongoDB's expressions in plain Python, for what mongomock lacks or has wrong."""

import itertools
import math
from collections.abc import Iterable
from typing import Any, Callable

MISSING: Any = object()
TYPES = [type(None), (int, float), str, dict, list, bool]


def rank(value: Any) -> int:
    """Where the type of a value stands in MongoDB's order."""
    if isinstance(value, bool):
        return 5
    return next(rank for rank, types in enumerate(TYPES) if isinstance(value, types))


def compare(left: Any, right: Any) -> int:
    if left is MISSING or right is MISSING:
        return (left is not MISSING) - (right is not MISSING)
    if rank(left) != rank(right):
        return -1 if rank(left) < rank(right) else 1
    if isinstance(left, list):
        return next((order for order in map(compare, left, right) if order), sign(len(left) - len(right)))
    if isinstance(left, dict):
        for (name, value), (other_name, other) in zip(left.items(), right.items()):
            order = sign(rank(value) - rank(other)) or compare(name, other_name) or compare(value, other)
            if order:
                return order
        return sign(len(left) - len(right))
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    return 0 if left is None else (left > right) - (left < right)


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


def is_nothing(value: Any) -> bool:
    return value is MISSING or value is None


def is_true(value: Any) -> bool:
    return not is_nothing(value) and (value is True or isinstance(value, (str, list, dict)) or bool(value))


def at(value: Any, names: list[str]) -> Any:
    """What a path leads to; of an array, what it leads to in each object in it."""
    for index, name in enumerate(names):
        if isinstance(value, list):
            found = [at(element, names[index:]) for element in value if isinstance(element, dict)]
            return [element for element in found if element is not MISSING]
        if not isinstance(value, dict) or name not in value:
            return MISSING
        value = value[name]
    return value


def unique(values: Iterable[Any]) -> list[Any]:
    result: list[Any] = []
    for value in values:
        if not contains(result, value):
            result.append(value)
    return result


def contains(values: Iterable[Any], wanted: Any) -> bool:
    return any(compare(value, wanted) == 0 for value in values)


def position(values: list[Any], wanted: Any) -> int:
    return next((index for index, value in enumerate(values) if compare(value, wanted) == 0), -1)


def part(array: list[Any], *numbers: int) -> list[Any]:
    if len(numbers) == 1:
        return array[: numbers[0]] if numbers[0] >= 0 else array[numbers[0] :]
    start = numbers[0] if numbers[0] >= 0 else max(0, len(array) + numbers[0])
    return array[start : start + numbers[1]]


def element(array: list[Any], index: int) -> Any:
    return array[index] if -len(array) <= index < len(array) else MISSING


def numbers_of(*operands: Any) -> list[Any]:
    values = operands[0] if len(operands) == 1 and isinstance(operands[0], list) else operands
    return [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]


def extreme(direction: int) -> Callable[..., Any]:
    def of(*operands: Any) -> Any:
        values = operands[0] if len(operands) == 1 and isinstance(operands[0], list) else operands
        best: Any = None
        for value in values:
            if not is_nothing(value) and (best is None or compare(value, best) * direction > 0):
                best = value
        return best

    return of


def average(*operands: Any) -> Any:
    numbers = numbers_of(*operands)
    return math.fsum(numbers) / len(numbers) if numbers else None


#: Where an operand is null or missing, these are null.
NULL_IN_NULL_OUT: dict[str, Callable[..., Any]] = {
    "$add": lambda *numbers: math.fsum(numbers)
    if any(isinstance(n, float) for n in numbers)
    else sum(numbers),
    "$multiply": lambda *numbers: math.prod(numbers),
    "$subtract": lambda left, right: left - right,
    "$abs": abs,
    "$floor": math.floor,
    "$ceil": math.ceil,
    "$trunc": math.trunc,
    "$round": round,
    "$concat": lambda *texts: "".join(texts),
    "$split": lambda text, separator: text.split(separator),
    "$indexOfCP": lambda text, wanted: text.find(wanted),
    "$reverseArray": lambda array: array[::-1],
    "$concatArrays": lambda *arrays: list(itertools.chain(*arrays)),
    "$arrayElemAt": element,
    "$first": lambda array: element(array, 0),
    "$last": lambda array: element(array, -1),
    "$slice": part,
    "$setUnion": lambda *arrays: unique(itertools.chain(*arrays)),
    "$setIntersection": lambda left, right: unique(value for value in left if contains(right, value)),
    "$setDifference": lambda left, right: unique(value for value in left if not contains(right, value)),
    "$objectToArray": lambda members: [{"k": name, "v": value} for name, value in members.items()],
    "$arrayToObject": lambda pairs: {pair["k"]: pair["v"] for pair in pairs},
}

STRICT: dict[str, Callable[..., Any]] = {
    "$eq": lambda left, right: compare(left, right) == 0,
    "$ne": lambda left, right: compare(left, right) != 0,
    "$gt": lambda left, right: compare(left, right) > 0,
    "$gte": lambda left, right: compare(left, right) >= 0,
    "$lt": lambda left, right: compare(left, right) < 0,
    "$lte": lambda left, right: compare(left, right) <= 0,
    "$cmp": compare,
    "$and": lambda *conditions: all(map(is_true, conditions)),
    "$or": lambda *conditions: any(map(is_true, conditions)),
    "$not": lambda condition: not is_true(condition),
    "$cond": lambda condition, then, otherwise: then if is_true(condition) else otherwise,
    "$ifNull": lambda *values: next((value for value in values if not is_nothing(value)), values[-1]),
    "$toLower": lambda text: "" if is_nothing(text) else text.lower(),
    "$toUpper": lambda text: "" if is_nothing(text) else text.upper(),
    "$substrCP": lambda text, start, count: "" if is_nothing(text) else text[start : start + count],
    "$strLenCP": len,
    "$size": len,
    "$in": lambda value, array: contains(array, value),
    "$isArray": lambda value: isinstance(value, list),
    "$isNumber": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "$range": lambda *numbers: list(range(*numbers)),
    "$indexOfArray": lambda array, value: None if is_nothing(array) else position(array, value),
    "$setIsSubset": lambda left, right: all(contains(right, value) for value in left),
    "$setEquals": lambda *arrays: all(
        contains(right, v) for left in arrays for right in arrays for v in left
    ),
    "$mergeObjects": lambda *objects: {k: v for o in objects if not is_nothing(o) for k, v in o.items()},
    "$sum": lambda *operands: sum(numbers_of(*operands)),
    "$avg": average,
    "$min": extreme(-1),
    "$max": extreme(1),
}


def evaluate(expression: Any, document: Any, variables: dict[str, Any]) -> Any:
    """What an expression makes of a document; `MISSING` where that is missing."""

    def value(part: Any, **more: Any) -> Any:
        return evaluate(part, document, {**variables, **more})

    if isinstance(expression, str) and expression.startswith("$$"):
        name, *names = expression[2:].split(".")
        return at(document if name == "ROOT" else variables[name], names)
    if isinstance(expression, str) and expression.startswith("$"):
        return at(document, expression[1:].split("."))
    if isinstance(expression, list):
        return [None if item is MISSING else item for item in map(value, expression)]
    if not isinstance(expression, dict):
        return expression
    name, operand = next(iter(expression.items()), ("", None))
    if not name.startswith("$"):
        members = {name: value(part) for name, part in expression.items()}
        return {name: part for name, part in members.items() if part is not MISSING}
    if name == "$literal":
        return operand
    if name == "$let":
        return value(operand["in"], **{name: value(part) for name, part in operand["vars"].items()})
    if name == "$switch":
        chosen = (branch["then"] for branch in operand["branches"] if is_true(value(branch["case"])))
        return value(next(chosen, operand["default"]))
    if name in ("$map", "$filter", "$reduce"):
        array = value(operand["input"])
        if is_nothing(array):
            return None
        if name == "$map":
            results = (value(operand["in"], this=item) for item in array)
            return [None if result is MISSING else result for result in results]
        if name == "$filter":
            return [item for item in array if is_true(value(operand["cond"], this=item))]
        result = value(operand["initialValue"])
        for item in array:
            result = value(operand["in"], value=result, this=item)
        return result
    operands = [value(part) for part in (operand if isinstance(operand, list) else [operand])]
    if name in NULL_IN_NULL_OUT:
        return None if any(map(is_nothing, operands)) else NULL_IN_NULL_OUT[name](*operands)
    return STRICT[name](*operands)
