"""Whether a program that was built for the last release still runs with this contract."""

from typing import Any


def of_release(abi: "dict[str, Any]") -> "dict[str, Any]":
    """What of a contract a built program relies on, and since when there is each function."""
    parts = {
        "functions": {it["name"]: {"type": _signature(it), "since": it["since"]} for it in abi["functions"]},
        "callbacks": {it["name"]: _signature(it) for it in abi["callbacks"]},
        "structs": {
            it["name"]: {
                "size": it["size"],
                "grows": it["fields"][0]["name"] == "size",
                "fields": {field["name"]: [field["offset"], field["type"]] for field in it["fields"]},
            }
            for it in abi["structs"]
        },
        "values": {it["name"]: it["value"] for enum in abi["enums"] for it in enum["values"]},
        "constants": {it["name"]: it["value"] for it in abi["constants"]},
        "options": {
            it["name"]: [option["name"] for option in it["options"]]
            for it in abi["functions"]
            if it["options"]
        },
    }
    return {"soname": abi["soname"], **parts}


def _signature(function: "dict[str, Any]") -> str:
    return f"{function['result']['type']} ({', '.join(it['type'] for it in function['parameters'])})"


def breaks(released: "dict[str, Any]", now: "dict[str, Any]") -> "list[str]":
    """What a program built for the release finds gone or different; nothing where the soname has moved."""
    if released["soname"] != now["soname"]:
        return []
    found: list[str] = []
    for name, function in released["functions"].items():
        found += _differs(name, function["type"], now["functions"].get(name, {}).get("type"))
    for name, callback in released["callbacks"].items():
        found += _differs(name, callback, now["callbacks"].get(name))
    for name, struct in released["structs"].items():
        found += _struct(name, struct, now["structs"].get(name))
    for name, value in released["values"].items():
        found += _differs(name, value, now["values"].get(name))
    for name, value in released["constants"].items():
        # Programs ask for the contract that they were built for; a later library knows it.
        if name != "HF_API_VERSION" or now["constants"].get(name, 0) < value:
            found += _differs(name, value, now["constants"].get(name))
    for name, options in released["options"].items():
        found += [
            f"{name} has lost the option {it}" for it in options if it not in now["options"].get(name, [])
        ]
    return found


def _differs(name: str, before: Any, after: Any) -> "list[str]":
    if before == after:
        return []
    return [f"{name} is gone" if after is None else f"{name} was {before}, and is {after}"]


def _struct(name: str, before: "dict[str, Any]", after: "dict[str, Any] | None") -> "list[str]":
    if after is None:
        return [f"{name} is gone"]
    found: list[str] = []
    for field, place in before["fields"].items():
        found += _differs(f"{name}.{field}", place, after["fields"].get(field))
    # One that begins with its size tells the library how far it goes, so it may grow at its end.
    if after["size"] < before["size"] or (after["size"] != before["size"] and not before["grows"]):
        found += _differs(f"sizeof({name})", before["size"], after["size"])
    return found
