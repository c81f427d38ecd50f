"""The package's copy of the C contract is the contract."""

import ctypes
import ctypes.util
import inspect
import re
import typing
from pathlib import Path
from typing import Any

import headers
import pytest

import holdfast
from holdfast import _library, _log, _signatures, _types, repository
from holdfast._options import ProviderOptions, StoreOptions
from holdfast.cache import TrimLevel

CONTRACT = headers.read()

SCALARS: dict[str, Any] = {
    "void": None,
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint8_t": ctypes.c_uint8,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "void*": ctypes.c_void_p,
    "char*": ctypes.c_char_p,
    "destructor": _types.destructor,
    **dict.fromkeys(CONTRACT.enums, ctypes.c_int),
}


def expected(c_type: str) -> Any:
    if c_type in SCALARS:
        return SCALARS[c_type]
    if c_type in CONTRACT.function_types:
        return getattr(_types, c_type)
    if c_type.endswith("*"):
        return ctypes.POINTER(expected(c_type[:-1]))
    return getattr(_types, c_type)


def test_the_reader_finds_the_contract() -> None:
    assert len(CONTRACT.functions) > 50
    assert CONTRACT.functions["hf_store_close"] == ("hf_status", ["hf_store*", "int64_t", "hf_error**"])
    assert {"hf_store", "hf_repository", "hf_transaction", "hf_error", "hf_future"} < CONTRACT.opaque


def test_the_table_names_every_function_of_the_headers_and_no_other() -> None:
    assert set(_signatures.FUNCTIONS) == set(CONTRACT.functions)


def options_of(header: str, function: str) -> "dict[str, str]":
    """The options that a function's comment tells of, with their forms."""
    text = (headers.HEADERS / header).read_text()
    comment = text[: text.index(f"{function}(")].rpartition("/**")[2]
    return dict(re.findall(r'^ \*   "(\w+)": (bool|[0-9]+\.\.|")', comment, re.MULTILINE))


def test_the_options_of_stores_are_those_of_the_headers() -> None:
    told = options_of("store.h", "hf_store_open")
    del told["delivery"]
    kinds = {
        name: "bool" if it is bool else "" if it is int else '"' for name, it in _hints(StoreOptions).items()
    }
    assert {name: "" if ".." in form else form for name, form in told.items()} == kinds
    more = options_of("provider.h", "hf_store_open_provider")
    assert _hints(ProviderOptions).keys() == told.keys() | more.keys()


def _hints(options: type) -> "dict[str, Any]":
    return typing.get_type_hints(options)


def test_the_first_header_lists_all_headers_and_all_handles() -> None:
    umbrella = (headers.HEADERS.parent / "holdfast.h").read_text()
    names = {path.name for path in headers.HEADERS.glob("*.h")}
    assert set(re.findall(r"^ \*   holdfast/(\w+\.h) ", umbrella, re.MULTILINE)) == names
    assert set(re.findall(r'^#include "holdfast/(\w+\.h)"$', umbrella, re.MULTILINE)) == names
    listed = re.search(r" \* Handles\. (.*?) are opaque", umbrella, re.DOTALL)
    assert listed and set(re.findall(r"\bhf_\w+", listed[1])) == CONTRACT.opaque


# What Python has in a form of its own: futures, receipts, values by key, waiting, transactions of trees
# alone; and it never waits for events without an end.
OWN_FORM = {
    "hf_await",
    "hf_error_participant",
    "hf_future_complete",
    "hf_future_create",
    "hf_future_fail",
    "hf_future_is_ended",
    "hf_future_wait",
    "hf_json_quote",
    "hf_operation_create",
    "hf_operation_create_function",
    "hf_operation_create_get",
    "hf_operation_create_put",
    "hf_operation_create_remove",
    "hf_operation_start",
    "hf_operation_subscribe",
    "hf_participant_transact",
    "hf_participant_user_data",
    "hf_receipt_free",
    "hf_receipt_read",
    "hf_store_wake",
    "hf_transaction_submit_future",
    "hf_version_number",
}


def test_the_package_uses_every_function_that_it_has_no_form_of_its_own_for() -> None:
    sources = Path(_signatures.__file__).parent.rglob("*.py")
    text = "".join(path.read_text() for path in sources if path != Path(_signatures.__file__))
    used = set(re.findall(r"\bhf_\w+", text))
    # The calls of a repository name their functions by what follows this.
    used |= {f"hf_repository_{name}" for name in re.findall(r'\._(?:ask|write|query)\w*\(\s*"(\w+)"', text)}
    assert set(CONTRACT.functions) - used == OWN_FORM


@pytest.mark.parametrize("name", sorted(CONTRACT.functions))
def test_a_function_has_the_header_s_result_and_parameters(name: str) -> None:
    declared = CONTRACT.functions[name]
    result, parameters = _signatures.FUNCTIONS[name]
    assert result == expected(declared.result)
    assert list(parameters) == [expected(parameter) for parameter in declared.parameters]


@pytest.mark.parametrize("name", sorted(CONTRACT.function_types))
def test_a_function_type_has_the_header_s_result_and_parameters(name: str) -> None:
    declared = CONTRACT.function_types[name]
    function_type = getattr(_types, name)
    assert function_type._restype_ == expected(declared.result)
    # Text with a length has no NUL at its end, up to which ctypes would read a char *.
    following = [*declared.parameters[1:], ""]
    assert list(function_type._argtypes_) == [
        ctypes.POINTER(ctypes.c_char) if (parameter, next_one) == ("char*", "size_t") else expected(parameter)
        for parameter, next_one in zip(declared.parameters, following)
    ]


def test_types_of_callbacks_are_named_alike() -> None:
    # Any function is cast to the other one.
    assert {name for name in CONTRACT.function_types if not name.endswith("_fn")} == {"hf_function"}


@pytest.mark.parametrize("name", sorted(CONTRACT.structs))
def test_a_struct_has_the_header_s_fields(name: str) -> None:
    # The address of text that somebody owns is kept as an address: ctypes would copy a char * up to its NUL.
    fields = [
        (field, ctypes.c_void_p if c_type == "char*" else expected(c_type))
        for field, c_type in CONTRACT.structs[name]
    ]
    assert getattr(_types, name)._fields_ == fields


def test_every_struct_and_handle_of_the_package_is_in_the_headers() -> None:
    classes = {
        name
        for name, value in vars(_types).items()
        if inspect.isclass(value) and issubclass(value, ctypes.Structure)
    }
    assert classes == set(CONTRACT.structs) | CONTRACT.opaque


def test_the_constants_are_the_headers_numbers() -> None:
    statuses = CONTRACT.enums["hf_status"]
    copies = {name: value for name, value in vars(_types).items() if name.startswith("HF_")}
    assert copies
    assert copies == {name: statuses[name] for name in copies}
    kinds = CONTRACT.enums["hf_event_kind"]
    assert (_types.EVENT_CHANGES, _types.EVENT_STATE) == (
        kinds["HF_EVENT_CHANGES"],
        kinds["HF_EVENT_STATE"],
    )
    assert _types.API_VERSION == CONTRACT.constants["HF_API_VERSION"]


@pytest.mark.parametrize(
    ("c_name", "prefix", "enum"),
    [
        ("hf_commit_state", "HF_COMMIT_", holdfast.CommitState),
        ("hf_transaction_state", "HF_TRANSACTION_", holdfast.TransactionState),
        ("hf_trim_level", "HF_TRIM_", TrimLevel),
        ("hf_log_level", "HF_LOG_", _log.Level),
    ],
)
def test_an_enumeration_has_the_header_s_members(c_name: str, prefix: str, enum: Any) -> None:
    declared = {name[len(prefix) :]: value for name, value in CONTRACT.enums[c_name].items()}
    assert {member.name: member.value for member in enum} == declared


def test_what_is_passed_without_a_signature_is_what_the_signature_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(repository, "_fetch", _library.lib.hf_repository_fetch)
    with holdfast.open("memory:") as store, store.transaction():
        songs = store.repository("songs")
        assert songs.fetch_bytes("s1") is None
        songs.add(b'{"id":"s1"}')
        assert songs.fetch_bytes("s1") == b'{"id":"s1"}'


def test_a_library_without_one_of_the_functions_is_refused_by_that_name() -> None:
    with pytest.raises(ImportError, match=r"has no function hf_.*build it anew"):
        _library.load(Path(ctypes.util.find_library("c") or "libc.so.6"))


def test_a_missing_library_is_an_import_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ImportError, match=r"nowhere\.so"):
        _library.load(tmp_path / "nowhere.so")


def test_a_range_of_versions_is_accepted() -> None:
    for version in ("0.1.0", "0.1.7", "0.9.0"):
        _library.check_version(version, Path("lib"))
    for version in ("0.0.9", "1.0.0", "2.3.4"):
        with pytest.raises(ImportError, match=version):
            _library.check_version(version, Path("lib"))


def test_the_library_tells_its_version_and_features() -> None:
    assert holdfast.version_text().count(".") == 2
    assert holdfast.feature_available("queue_delivery")
    assert not holdfast.feature_available("time travel")
