"""Calls every function of the contract wrongly: with NULL, a handle that was freed, one of another kind, an
impossible length, one place after the other, what else it is given being right. A process of its own, which a
crash would end.

Prints a line for each call whose answer is none of the contract's.
"""

import ctypes
from collections.abc import Iterator
from typing import Any

import headers

from holdfast import _signatures, _types
from holdfast._library import lib

CONTRACT = headers.read()
STATUSES = set(CONTRACT.enums["hf_status"].values())
INVALID_ARGUMENT = CONTRACT.enums["hf_status"]["HF_INVALID_ARGUMENT"]
INVALID_HANDLE = CONTRACT.enums["hf_status"]["HF_INVALID_HANDLE"]
TEXT_ENDS_AT_NUL = ctypes.c_size_t(-1).value
IMPOSSIBLE = TEXT_ENDS_AT_NUL // 2 + 1

#: What gets a function that lives on, and so is not asked for again.
LASTING = {"hf_answer_declare"}


def functions() -> dict[str, Any]:
    """One of each type, that answers 0, or nothing, whatever it is given."""
    made = {}
    for name in CONTRACT.function_types:
        function_type = getattr(_types, name)
        made[name] = function_type((lambda *_: None) if function_type._restype_ is None else (lambda *_: 0))
    return {**made, "destructor": _types.destructor(lambda _: None)}


FUNCTIONS = functions()


class Living:
    """A handle of each kind, made for one call."""

    def __init__(self) -> None:
        self.handles: dict[str, Any] = {}
        self._make("hf_store", lib.hf_store_open, b"memory:", None)
        self._make("hf_repository", lib.hf_repository_open, self["hf_store"], b"things", None)
        self._make("hf_transaction", lib.hf_transaction_begin, self["hf_store"], None)
        self._make("hf_cursor", lib.hf_cursor_open, self["hf_repository"], None, None, 0, None)
        self._make("hf_operation", lib.hf_operation_create_get, self["hf_store"], b"things", b"a", 1)
        self._make("hf_future", lib.hf_future_create)
        no_function, no_destructor = _types.hf_event_fn(), _types.destructor()
        self._make("hf_stream", lib.hf_stream_open, self["hf_store"], None, no_function, None, no_destructor)
        self._make("hf_participant", lib.hf_participant_create, None, None, None, no_destructor)
        no_middleware = _types.hf_middleware_fn()
        self._make(
            "hf_controller",
            lib.hf_controller_create,
            self["hf_repository"],
            no_middleware,
            no_function,
            None,
            no_destructor,
        )
        self.handles["hf_error"] = lib.hf_error_create(INVALID_ARGUMENT, 0, b"an error")
        assert set(self.handles) == CONTRACT.opaque

    def __getitem__(self, kind: str) -> Any:
        return self.handles[kind]

    def _make(self, kind: str, function: Any, *arguments: Any) -> None:
        handle = ctypes.POINTER(getattr(_types, kind))()
        assert function(*arguments, ctypes.byref(handle), None) == _types.HF_OK
        self.handles[kind] = handle

    def free(self) -> None:
        for kind, handle in self.handles.items():
            getattr(lib, f"{kind}_free")(handle)


class Call:
    """One function with arguments that it can work with, of which some are to be wrong."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parameters = CONTRACT.functions[name].parameters
        self.living = Living()
        self.out: list[tuple[str, Any]] = []
        self.arguments = [self._right(place) for place in range(len(self.parameters))]

    def _right(self, place: int) -> Any:
        c_type = self.parameters[place]
        before = self.parameters[place - 1] if place > 0 else ""
        if c_type == "char*":
            return b"{}"
        if c_type == "size_t":
            return TEXT_ENDS_AT_NUL if before == "char*" else 4
        if c_type.endswith("**"):
            return self._place(c_type[:-2])
        kind = c_type.removesuffix("*")
        if c_type in ("void*", "uint8_t*"):
            return None if c_type == "void*" else (ctypes.c_uint8 * 16)()
        if c_type == "hf_event*":
            return (_types.hf_event * 4)()
        if kind in CONTRACT.opaque:
            return self.living[kind]
        if c_type == "hf_status":
            return INVALID_ARGUMENT
        if c_type.endswith("*"):
            made = _signatures.FUNCTIONS[self.name][1][place]._type_()
            if hasattr(made, "size"):
                made.size = ctypes.sizeof(made)
            self.out.append((kind, made))
            return ctypes.pointer(made)
        return FUNCTIONS.get(c_type, 0)

    def _place(self, kind: str) -> Any:
        handle = ctypes.POINTER(getattr(_types, kind))()
        self.out.append((kind, handle))
        return ctypes.pointer(handle)

    def run(self, place: int, argument: Any, expected: set[int], what: str) -> None:
        self.arguments[place] = argument
        answer = getattr(lib, self.name)(*self.arguments)
        result = CONTRACT.functions[self.name].result
        if result == "hf_status" and answer not in expected:
            print(f"{self.name}, parameter {place} {what}: {answer}")
        elif result == "hf_error*":
            lib.hf_error_free(answer)
        self.end()

    def end(self) -> None:
        for kind, made in self.out:
            if kind in CONTRACT.opaque:
                getattr(lib, f"{kind}_free")(made)
            elif kind in ("hf_buffer", "hf_entity", "hf_entity_list", "hf_receipt"):
                getattr(lib, f"{kind}_free")(ctypes.byref(made))
        self.living.free()


def wrong_arguments(name: str) -> Iterator[tuple[int, Any, set[int], str]]:
    """Each place with each thing that may be wrong there, and what may be answered."""
    for place, c_type in enumerate(CONTRACT.functions[name].parameters):
        kind = c_type.removesuffix("*")
        if c_type in FUNCTIONS:
            yield place, type(FUNCTIONS[c_type])(), STATUSES, "NULL"
        elif c_type == "size_t" and name != "hf_events_free":
            yield place, 0, STATUSES, "0"
            if CONTRACT.functions[name].parameters[place - 1] == "char*":
                yield place, IMPOSSIBLE, STATUSES - {0}, "beyond all memory"
        elif kind in CONTRACT.opaque:
            yield place, None, STATUSES if place else {INVALID_ARGUMENT, *also_null(name)}, "NULL"
            for what, handle in wrong_handles(kind):
                yield place, handle, {INVALID_HANDLE}, what
        elif c_type.endswith("*"):
            yield place, None, STATUSES, "NULL"
        elif c_type in ("int64_t", "int32_t", "uint64_t"):
            # -1 and great numbers of 64 bits may be times to wait.
            for number in (-2, -(2**63)) if c_type == "int64_t" else (-1, 2**31 - 1):
                yield place, number, STATUSES, str(number)


def also_null(name: str) -> set[int]:
    """What a function may answer to NULL in its first place besides, by its header."""
    return {"hf_participant_create": {0}, "hf_error_status": {INVALID_HANDLE}}.get(name, set())


def wrong_handles(kind: str) -> Iterator[tuple[str, Any]]:
    living = Living()
    freed, other = living[kind], living["hf_store" if kind != "hf_store" else "hf_future"]
    pointer = ctypes.POINTER(getattr(_types, kind))
    yield "of another kind", ctypes.cast(other, pointer)
    living.free()
    yield "freed", freed
    yield "no address", ctypes.cast(ctypes.c_void_p(0xDEAD), pointer)


def main() -> None:
    calls = 0
    for name in sorted(set(CONTRACT.functions) - LASTING):
        for place, argument, expected, what in wrong_arguments(name):
            Call(name).run(place, argument, expected, what)
            calls += 1
    left = lib.hf_handle_count(None)
    print(f"{calls} calls, {left} handles left")


if __name__ == "__main__":
    main()
