"""Reads the C headers, so that tests can compare the package's tables with the contract."""

import re
from pathlib import Path
from typing import NamedTuple

HEADERS = Path(__file__).parents[3] / "include" / "holdfast"


class Function(NamedTuple):
    """A function or function type: its result and its parameters, as C types without const."""

    result: str
    parameters: list[str]


class Contract(NamedTuple):
    """What the headers declare."""

    functions: dict[str, Function]
    function_types: dict[str, Function]
    structs: dict[str, list[tuple[str, str]]]
    enums: dict[str, dict[str, int]]
    opaque: set[str]
    constants: dict[str, int]


def read() -> Contract:
    """The contract of all headers together."""
    contract = Contract({}, {}, {}, {}, set(), {})
    for header in sorted(HEADERS.glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.DOTALL)
        contract.constants.update(
            (name, int(value)) for name, value in re.findall(r"^#define (HF_\w+) (\d+)$", text, re.MULTILINE)
        )
        _read_declarations(_plain(text), contract)
    return contract


def _plain(text: str) -> str:
    text = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\bHF_(EXPORT|WARN_UNUSED|OPEN_ENUM|BEGIN_DECLS|END_DECLS)\b", "", text)
    text = re.sub(r"\bHF_ENUM\((\w+)\)", r"\1", text)
    return " ".join(text.split())


def _read_declarations(text: str, contract: Contract) -> None:
    for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} (\w+);", text):
        contract.enums[name] = {
            item.split("=")[0].strip(): int(item.split("=")[1]) for item in body.split(",") if item.strip()
        }
    text = re.sub(r"typedef enum \w+ \{.*?\} \w+;", "", text)
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text):
        contract.structs[name] = [_declaration(field) for field in body.split(";") if field.strip()]
    text = re.sub(r"typedef struct \w+ \{.*?\} \w+;", "", text)
    contract.opaque.update(name for name in re.findall(r"typedef struct (\w+) \w+;", text))
    text = re.sub(r"(typedef )?struct \w+( \w+)?;", "", text)
    pattern = re.compile(r"typedef ([\w ]+?\**) ?\(\*(\w+)\)\((.*?)\);")
    for result, name, parameters in pattern.findall(text):
        contract.function_types[name] = _function(result, parameters)
    text = pattern.sub("", text)
    for declaration in filter(str.strip, text.split(";")):
        matched = re.fullmatch(r"\s*(.+?)\b(hf_\w+)\((.*)\)\s*", declaration)
        assert matched, f"the reader does not understand: {declaration}"
        contract.functions[matched[2]] = _function(matched[1], matched[3])


def _function(result: str, parameters: str) -> Function:
    if parameters.strip() == "void":
        return Function(_type(result), [])
    items = re.split(r",(?![^()]*\))", parameters)
    return Function(_type(result), [_declaration(item)[1] for item in items])


def _declaration(text: str) -> tuple[str, str]:
    """The name and the type of one parameter or field."""
    function = re.fullmatch(r"\s*void \(\* ?(\w+)\)\(void \* ?\)\s*", text)
    if function:
        return function[1], "destructor"
    matched = re.fullmatch(r"\s*(.*?)(\w+)\s*", text)
    assert matched, f"the reader does not understand: {text}"
    return matched[2], _type(matched[1])


def _type(text: str) -> str:
    words = re.sub(r"\b(const|struct)\b", " ", text).replace("*", " * ").split()
    return words[0] + "*" * (len(words) - 1)
