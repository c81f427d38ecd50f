"""The contract as ctypes has it: the modules `_types` and `_signatures` of the Python package."""

import re
import subprocess
import sys
from typing import Any

_SCALARS = {
    "void": "None",
    "bool": "c_bool",
    "int": "c_int",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "uint8_t": "c_uint8",
    "uint64_t": "c_uint64",
    "size_t": "c_size_t",
    "void *": "c_void_p",
    "void (*)(void *)": "destructor",
}
_NAMES = ("POINTER", "c_char", "c_char_p", *sorted({it for it in _SCALARS.values() if it.startswith("c_")}))
_GENERATED = "# Generated from the headers by `make abi`: change those instead.\n"
#: The kinds of events have no prefix of C's in Python, and neither has the version of the contract.
_UNPREFIXED = {"hf_event_kind": "EVENT_"}


def modules(abi: "dict[str, Any]") -> "dict[str, str]":
    """The text of each module, by the file's name."""
    return {
        name: _formatted(text)
        for name, text in (("_types.py", _types(abi)), ("_signatures.py", _signatures(abi)))
    }


def _formatted(text: str) -> str:
    for how in (["check", "--fix", "--quiet", "--select", "I"], ["format"]):
        command = [sys.executable, "-m", "ruff", *how, "--isolated", "--config", "line-length = 110", "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def _types(abi: "dict[str, Any]") -> str:
    lines = ['"""The contract in C as types of ctypes, under their names in C."""\n', _GENERATED]
    lines.append("import ctypes")
    lines.append(f"from ctypes import {', '.join(_NAMES)}\n")
    lines.append("# Enumerations: each is an int at the boundary.")
    lines += [f"{enum['name']} = c_int" for enum in abi["enums"]]
    lines.append(f"\nAPI_VERSION = {abi['api_version']}")
    for enum in abi["enums"]:
        for value in enum["values"]:
            if enum["name"] == "hf_status" or enum["name"] in _UNPREFIXED:
                name = value["name"] if enum["name"] == "hf_status" else value["name"].removeprefix("HF_")
                lines.append(f"{name} = {value['value']}")
    lines.append(
        "\n\n# One type for each handle, so that ctypes refuses one for another. Structs get fields below."
    )
    for made in abi["handles"] + abi["structs"]:
        lines += [f"class {made['name']}(ctypes.Structure):", f"    {_docstring(made['description'])}\n\n"]
    lines += ["# Functions that the host hands over.", "destructor = ctypes.CFUNCTYPE(None, c_void_p)"]
    lines += [_callback(callback) for callback in _ordered(abi["callbacks"])]
    for struct in abi["structs"]:
        fields = ", ".join(f'("{it["name"]}", {_field(it["type"])})' for it in struct["fields"])
        lines.append(f"\n{struct['name']}._fields_ = [{fields}]")
    return "\n".join(lines) + "\n"


def _docstring(description: str) -> str:
    text = " ".join(description.split("\n\n")[0].split())
    first = re.split(r"(?<=[.:;]) ", text)[0].rstrip(".:;")
    if len(first) > 95:
        first = first[:95].rpartition(",")[0]
    return f'"""{first[0].upper()}{first[1:]}."""'


def _ordered(callbacks: "list[dict[str, Any]]") -> "list[dict[str, Any]]":
    """Those first that others take."""
    names = {it["name"] for it in callbacks}
    taken = [it["name"] for callback in callbacks for it in callback["parameters"] if it["type"] in names]
    return sorted(callbacks, key=lambda it: it["name"] not in taken)


def _callback(callback: "dict[str, Any]") -> str:
    taken = [_callback_parameter(it) for it in callback["parameters"]]
    return f"{callback['name']} = ctypes.CFUNCTYPE({', '.join([_type(callback['result']['type']), *taken])})"


def _callback_parameter(it: "dict[str, Any]") -> str:
    # Text with a length has no NUL at its end, up to which ctypes would read a char *.
    return "POINTER(c_char)" if "char" in it["type"] and it["length"] else _type(it["type"])


def _field(type_: str) -> str:
    # The address of text that somebody owns is kept as an address: ctypes would copy a char * up to its NUL.
    return "c_void_p" if "char" in type_ else _type(type_)


def _type(type_: str) -> str:
    plain = " ".join(type_.replace("const", " ").replace("*", " * ").split()) if "(" not in type_ else type_
    if plain in _SCALARS:
        return _SCALARS[plain]
    if plain == "char *":
        return "c_char_p"
    return f"POINTER({_type(plain[:-1].strip())})" if plain.endswith("*") else plain


def _signatures(abi: "dict[str, Any]") -> str:
    pointers = {
        f"POINTER({it['name']})": it["name"].replace("hf_", "_") for it in abi["handles"] + abi["structs"]
    }
    rows = [_function(it, pointers) for it in abi["functions"]]
    used = sorted(name for name in pointers if any(pointers[name] in row for row in rows))
    text = "\n".join(rows)
    names = {word for word in re.findall(r"\b(?:c_\w+|hf_\w+|destructor|POINTER)\b", text.replace('"', " "))}
    functions = {it["name"] for it in abi["functions"]}
    c_names = sorted({"POINTER", "c_char_p", "c_size_t"} | {it for it in names if it.startswith("c_")})
    types = sorted(
        {it[8:-1] for it in used} | {it for it in names if it.startswith(("hf_", "dest"))} - functions
    )
    return "\n".join(
        [
            '"""The functions of the contract in C, each with its result and its parameters."""\n',
            _GENERATED,
            f"from ctypes import {', '.join(c_names)}\n",
            f"from ._types import ({', '.join(sorted(types))})\n",
            *(f"{pointers[name]} = {name}" for name in used),
            "_out_error = POINTER(_error)",
            "# A text or payload and its length.",
            "_bytes = (c_char_p, c_size_t)\n",
            "# Name: (result, parameters).",
            "FUNCTIONS = {",
            text,
            "}\n",
        ]
    )


def _function(function: "dict[str, Any]", pointers: "dict[str, str]") -> str:
    types = ", ".join(_type(it["type"]) for it in function["parameters"])
    types = types.replace("c_char_p, c_size_t", "*_bytes").replace("POINTER(POINTER(hf_error))", "_out_error")
    for long, short in pointers.items():
        types = types.replace(long, short)
    result = _type(function["result"]["type"])
    result = pointers.get(result, result)
    return (
        f'    "{function["name"]}": ({result}, ({types}{"," if len(function["parameters"]) == 1 else ""})),'
    )
