"""The contract as data is what the headers say, and a change that breaks programs, or is not described, is refused."""

import copy
import ctypes
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "bindings" / "abi"))

import comparison  # noqa: E402
import generate  # noqa: E402

ABI: "dict[str, Any]" = json.loads(generate.DATA.read_text())
FUNCTIONS = {it["name"]: it for it in ABI["functions"]}
SONAME = ABI["soname"]


def parameter(function: str, name: str) -> "dict[str, Any]":
    return next(it for it in FUNCTIONS[function]["parameters"] if it["name"] == name)


def changed(tmp_path: Path, header: str, before: str, after: str) -> "dict[str, Any]":
    """The contract of headers in which something was changed."""
    include = tmp_path / "include"
    shutil.copytree(REPOSITORY / "include", include)
    text = (include / "holdfast" / header).read_text()
    assert text.count(before) == 1
    (include / "holdfast" / header).write_text(text.replace(before, after))
    return generate.abi_of(
        include, "0.2.0", SONAME, json.loads(generate.RELEASED.read_text())
    )


def test_what_comments_say_is_found() -> None:
    save = FUNCTIONS["hf_repository_save"]
    assert save["must_use"] and save["thread"] == "Any thread"
    assert parameter("hf_repository_save", "transaction")["nullable"]
    entity = parameter("hf_repository_save", "entity")
    assert (entity["length"], entity["nullable"], entity["direction"]) == (
        "length",
        False,
        "in",
    )
    stored = parameter("hf_repository_save", "out_entity")
    assert (stored["nullable"], stored["ownership"], stored["free"]) == (
        True,
        "caller",
        "hf_entity_free",
    )
    assert not parameter("hf_repository_fetch", "out_entity")["nullable"]
    busy = next(
        it
        for it in FUNCTIONS["hf_transaction_submit"]["statuses"]
        if it["name"] == "HF_BUSY"
    )
    assert busy["when"].startswith("no place")
    options = {
        it["name"]: (it["form"], it["default"])
        for it in FUNCTIONS["hf_store_transact"]["options"]
    }
    assert options["max_attempts"] == ("1..1000", "100")
    assert options["isolation"] == ('"serializable" | "snapshot"', "serializable")
    kept = parameter("hf_transaction_submit", "user_data")
    assert kept["lifetime"] == "until free_user_data is called"
    event = next(it for it in ABI["callbacks"] if it["name"] == "hf_event_fn")
    assert event["threads"] == "Runs on the store's callback thread."


def test_statuses_referred_to_are_those_of_the_other_function() -> None:
    of_find = {it["name"] for it in FUNCTIONS["hf_repository_find"]["statuses"]}
    assert of_find < {
        it["name"] for it in FUNCTIONS["hf_stream_open_query"]["statuses"]
    }


def test_structs_lie_in_memory_as_the_compiler_lays_them(tmp_path: Path) -> None:
    lines = ["#include <holdfast.h>", "#include <stddef.h>"]
    for struct in ABI["structs"]:
        lines.append(
            f'_Static_assert(sizeof({struct["name"]}) == {struct["size"]}, "");'
        )
        for field in struct["fields"]:
            place = f"offsetof({struct['name']}, {field['name']})"
            lines.append(f'_Static_assert({place} == {field["offset"]}, "");')
    for enum in ABI["enums"]:
        lines += [
            f'_Static_assert({it["name"]} == {it["value"]}, "");'
            for it in enum["values"]
        ]
    program = tmp_path / "layout.c"
    program.write_text("\n".join(lines) + "\n")
    include = REPOSITORY / "include"
    subprocess.run(
        ["cc", "-std=c11", f"-I{include}", "-fsyntax-only", program], check=True
    )
    assert ctypes.sizeof(ctypes.c_void_p) == 8


def test_a_function_without_a_description_is_refused(tmp_path: Path) -> None:
    declaration = (
        "HF_EXPORT hf_status hf_store_sync(hf_store *store, hf_error **out_error);"
    )
    added = declaration.replace("sync", "halt").replace(
        "hf_error", "int64_t timeout_ms, hf_error"
    )
    with pytest.raises(SystemExit) as refused:
        changed(tmp_path, "store.h", declaration, f"{declaration}\n\n{added}")
    told = str(refused.value)
    assert "hf_store_halt has no comment that describes it" in told
    assert "hf_store_halt does not describe timeout_ms" in told
    assert "hf_store_halt says not which statuses it may answer" in told


@pytest.mark.parametrize(
    ("header", "before", "after", "what"),
    [
        (
            "store.h",
            "timeout_ms: how long to wait, in milliseconds; -1",
            "How long it waits: -1",
            "timeout_ms",
        ),
        (
            "event.h",
            " * Runs on the store's callback thread.\n",
            "",
            "hf_event_fn says not on which thread",
        ),
        ("status.h", "    /** Done. */\n", "", "HF_OK has no comment"),
        (
            "error.h",
            " The result belongs to the caller, who frees it, and stays",
            " It stays",
            "belongs to",
        ),
    ],
)
def test_whatever_the_comments_leave_out_is_named(
    tmp_path: Path, header: str, before: str, after: str, what: str
) -> None:
    with pytest.raises(SystemExit) as refused:
        changed(tmp_path, header, before, after)
    assert what in str(refused.value)


def broken_by(tmp_path: Path, header: str, before: str, after: str) -> "list[str]":
    released = comparison.of_release(ABI)
    return comparison.breaks(
        released, comparison.of_release(changed(tmp_path, header, before, after))
    )


@pytest.mark.parametrize(
    ("header", "before", "after", "what"),
    [
        (
            "store.h",
            "hf_store_close(hf_store *store, int64_t",
            "hf_store_close(hf_store *store, int32_t",
            "close",
        ),
        (
            "event.h",
            "    hf_status status;\n",
            "    hf_status status;\n    uint64_t time;\n",
            "hf_event.sequence",
        ),
        (
            "entity.h",
            "size_t capacity;\n    uint64_t",
            "size_t capacity;\n    int64_t",
            "hf_entity.version",
        ),
        ("status.h", "HF_BUSY = 31", "HF_BUSY = 39", "HF_BUSY was 31, and is 39"),
        (
            "interrupt.h",
            "typedef bool (*hf_interrupt_fn)",
            "typedef int (*hf_interrupt_fn)",
            "hf_interrupt_fn",
        ),
        (
            "transaction.h",
            '"max_attempts": 1..1000 (100)',
            "as there",
            "has lost the option max_attempts",
        ),
        (
            "provider.h",
            "    hf_provider_sync_fn on_sync;\n",
            "",
            "hf_provider.on_sync is gone",
        ),
    ],
)
def test_what_would_break_programs_is_told(
    tmp_path: Path, header: str, before: str, after: str, what: str
) -> None:
    told = broken_by(tmp_path, header, before, after)
    assert told and what in "\n".join(told)


@pytest.mark.parametrize(
    ("header", "before", "after"),
    [
        # What tells its own size may grow at its end, and there may be more statuses and functions.
        (
            "provider.h",
            "on_sync;\n} hf_provider;",
            "on_sync;\n    hf_provider_sync_fn on_trim;\n} hf_provider;",
        ),
        (
            "status.h",
            "    HF_INTERNAL = 61\n",
            "    HF_INTERNAL = 61,\n    /** New. */\n    HF_NEW = 62\n",
        ),
        (
            "version.h",
            "HF_EXPORT int32_t hf_version_number(void);",
            "HF_EXPORT int32_t hf_version_number(void);\n/** The year. Cannot fail. Any thread. */\n"
            "HF_EXPORT int32_t hf_version_year(void);",
        ),
    ],
)
def test_what_breaks_nothing_is_allowed(
    tmp_path: Path, header: str, before: str, after: str
) -> None:
    assert not broken_by(tmp_path, header, before, after)


def test_a_new_function_is_of_this_version_and_the_others_keep_theirs(
    tmp_path: Path,
) -> None:
    declaration = "HF_EXPORT int32_t hf_version_number(void);"
    added = "/** The year. Cannot fail. Any thread. */\nHF_EXPORT int32_t hf_version_year(void);"
    now = changed(tmp_path, "version.h", declaration, f"{declaration}\n{added}")
    since = {it["name"]: it["since"] for it in now["functions"]}
    assert (since["hf_version_number"], since["hf_version_year"]) == ("0.1.0", "0.2.0")


def test_another_soname_allows_everything() -> None:
    released = comparison.of_release(ABI)
    moved = copy.deepcopy(released)
    moved["functions"].clear()
    assert len(comparison.breaks(released, moved)) == len(released["functions"])
    moved["soname"] = "libholdfast.so.1"
    assert not comparison.breaks(released, moved)


def test_lint_compares_the_files_and_fails_where_one_is_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    version = re.search(
        r"^VERSION := (\S+)", (REPOSITORY / "Makefile").read_text(), re.MULTILINE
    )
    assert version
    generate.main(version[1], SONAME, "--check")
    check: Callable[..., None] = generate.main
    with pytest.raises(SystemExit, match="holdfast-abi.json"):
        check(version[1], "libholdfast.so.9", "--check")
