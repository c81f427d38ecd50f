"""The contract as other hosts have it: Rust's declarations, and the statuses in Rust, Go and TypeScript."""

import re
from typing import Any

_GENERATED = "Generated from the headers by `make abi`: change those instead."

_RUST_SCALARS = {
    "void": "c_void",
    "bool": "bool",
    "char": "c_char",
    "int": "c_int",
    "int32_t": "i32",
    "int64_t": "i64",
    "uint8_t": "u8",
    "uint64_t": "u64",
    "size_t": "usize",
    "void (*)(void *)": 'Option<unsafe extern "C" fn(user_data: *mut c_void)>',
}
_RUST_KEYWORDS = {"type", "in", "match", "move", "ref", "where", "use", "fn", "loop"}


def files(abi: "dict[str, Any]") -> "dict[str, str]":
    """The text of each file, by its path below the folder of the bindings."""
    return {
        "rust/holdfast-sys/src/declarations.rs": _rust(abi),
        "rust/holdfast/src/status.rs": _rust_statuses(_statuses(abi)),
        "go/status.go": _go_statuses(_statuses(abi)),
        "node/status.d.ts": _typescript_statuses(_statuses(abi)),
    }


def _statuses(abi: "dict[str, Any]") -> "list[dict[str, Any]]":
    return next(enum["values"] for enum in abi["enums"] if enum["name"] == "hf_status")


def _go_name(name: str) -> str:
    """HF_NOT_FOUND as ErrNotFound; what is short for something stays in capitals."""
    parts = name.replace("HF_", "", 1).split("_")
    return "Err" + "".join(
        part if part in ("ID", "IO", "JSON", "URL") else part.capitalize() for part in parts
    )


def _comment(text: str, mark: str, indent: str = "") -> "list[str]":
    return [f"{indent}{mark} {line}".rstrip() for line in text.splitlines()]


# --- Rust -------------------------------------------------------------------------------------------------


def _rust(abi: "dict[str, Any]") -> str:
    lines = [f"// {_GENERATED}", "use std::os::raw::{c_char, c_int, c_void};", ""]
    for constant in abi["constants"]:
        lines += _comment(constant["description"], "///")
        kind = {"HF_API_VERSION": "i32", "HF_NO_SCOPE": "u64"}.get(constant["name"], "usize")
        lines.append(f"pub const {constant['name']}: {kind} = {constant['value']};")
    for enum in abi["enums"]:
        lines += ["", *_comment(enum["description"], "///"), f"pub type {enum['name']} = u32;"]
        for value in enum["values"]:
            lines += _comment(value["description"], "///")
            lines.append(f"pub const {value['name']}: {enum['name']} = {value['value']};")
    for handle in abi["handles"]:
        # Of no size, on no known thread, at no known address: what Rust has for what only C knows.
        lines += [
            "",
            *_comment(handle["description"], "///"),
            "#[repr(C)]",
            f"pub struct {handle['name']} {{",
        ]
        lines += ["    _opaque: [u8; 0],", "}"]
    for callback in abi["callbacks"]:
        lines += ["", *_comment(callback["description"], "///")]
        signature = f'unsafe extern "C" fn({_rust_parameters(callback)}){_rust_result(callback)}'
        lines.append(f"pub type {callback['name']} = Option<{signature}>;")
    for struct in abi["structs"]:
        lines += ["", *_comment(struct["description"], "///"), "#[repr(C)]", "#[derive(Clone, Copy)]"]
        lines.append(f"pub struct {struct['name']} {{")
        for field in struct["fields"]:
            lines += _comment(field["description"], "///", "    ")
            lines.append(f"    pub {_rust_name(field['name'])}: {_rust_type(field['type'])},")
        lines.append("}")
        measured = f"std::mem::size_of::<{struct['name']}>() == {struct['size']}"
        lines.append(f"const _: () = assert!({measured});")
    lines += ["", 'extern "C" {']
    for function in abi["functions"]:
        lines += _comment(function["description"], "///", "    ")
        if function.get("must_use"):
            lines.append("    #[must_use]")
        declaration = f"pub fn {function['name']}({_rust_parameters(function)}){_rust_result(function)};"
        lines.append(f"    {declaration}")
    return "\n".join([*lines, "}", ""])


def _rust_parameters(function: "dict[str, Any]") -> str:
    return ", ".join(f"{_rust_name(it['name'])}: {_rust_type(it['type'])}" for it in function["parameters"])


def _rust_result(function: "dict[str, Any]") -> str:
    kind = function["result"]["type"]
    return "" if kind == "void" else f" -> {_rust_type(kind)}"


def _rust_name(name: str) -> str:
    return f"r#{name}" if name in _RUST_KEYWORDS else name


def _rust_type(spelling: str) -> str:
    """A type as C spells it: the pointers behind a name, and what is constant there."""
    if spelling in _RUST_SCALARS:
        return _RUST_SCALARS[spelling]
    match = re.fullmatch(r"(const )?(\w+) ?((?:\*(?:const)? ?)*)", spelling)
    if match is None:
        raise SystemExit(f"No type of Rust's is known for {spelling}")
    constant, name, pointers = match.groups()
    kind = _RUST_SCALARS.get(name, name)
    for pointer in re.findall(r"\*(?:const)?", pointers):
        kind = f"*{'const' if constant else 'mut'} {kind}"
        constant = pointer == "*const"
    return kind


# --- Statuses ---------------------------------------------------------------------------------------------


def _rust_statuses(statuses: "list[dict[str, Any]]") -> str:
    lines = [f"// {_GENERATED}", "use crate::Status;", "", "impl Status {"]
    for status in statuses:
        lines += _comment(status["description"], "///", "    ")
        lines.append(
            f"    pub const {status['name'].removeprefix('HF_')}: Status = Status({status['value']});"
        )
    return "\n".join([*lines, "}", ""])


def _go_statuses(statuses: "list[dict[str, Any]]") -> str:
    lines = ["// Code generated from the headers by `make abi`. DO NOT EDIT.", "", "package holdfast", ""]
    lines += ["// What a call failed with, to be asked for by errors.Is.", "const ("]
    for status in statuses:
        if status["value"] != 0:
            name = _go_name(status["name"])
            lines += _comment(f"{name}: {status['description']}", "//", "\t")
            lines.append(f"\t{name} Status = {status['value']}")
    return "\n".join([*lines, ")", ""])


def _typescript_statuses(statuses: "list[dict[str, Any]]") -> str:
    lines = [f"// {_GENERATED}", "", "/** What a call failed with. */", "export type Status ="]
    for status in statuses:
        if status["value"] != 0:
            lines += [f"  /** {status['description']} */", f'  | "{status["name"].removeprefix("HF_")}"']
    return "\n".join(lines) + ";\n"
