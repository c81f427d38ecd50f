"""The contract in C as types of ctypes, under their names in C."""

# Generated from the headers by `make abi`: change those instead.

import ctypes
from ctypes import (
    POINTER,
    c_bool,
    c_char,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint64,
    c_void_p,
)

# Enumerations: each is an int at the boundary.
hf_status = c_int
hf_commit_state = c_int
hf_event_kind = c_int
hf_transaction_state = c_int
hf_trim_level = c_int
hf_log_level = c_int

API_VERSION = 1
HF_OK = 0
HF_INVALID_ARGUMENT = 1
HF_INVALID_HANDLE = 2
HF_INVALID_JSON = 3
HF_INVALID_ENTITY = 4
HF_INVALID_ID = 5
HF_INVALID_NAME = 6
HF_INVALID_OPTION = 7
HF_INVALID_QUERY = 8
HF_INVALID_URL = 9
HF_INVALID_STATE = 10
HF_UNSUPPORTED = 11
HF_VERSION_UNSUPPORTED = 12
HF_NOT_FOUND = 20
HF_EXISTS = 21
HF_VERSION_MISMATCH = 22
HF_KEY_REUSED = 23
HF_CORRUPT = 24
HF_UNIQUE_VIOLATION = 25
HF_CONFLICT = 30
HF_BUSY = 31
HF_TIMEOUT = 32
HF_CANCELLED = 33
HF_WOULD_DEADLOCK = 34
HF_CLOSED = 35
HF_FORKED = 36
HF_HISTORY_LOST = 37
HF_CANNOT_OPEN = 40
HF_NOT_A_STORE = 41
HF_FORMAT_TOO_NEW = 42
HF_READ_ONLY = 43
HF_FULL = 44
HF_IO = 45
HF_NO_MEMORY = 46
HF_UNSAFE_LOCATION = 47
HF_SCHEMA_TOO_NEW = 48
HF_CURSOR_LOST = 49
HF_TRANSACTION_ACTIVE = 50
HF_TRANSACTION_NOT_ACTIVE = 51
HF_WRONG_DESCRIPTOR = 52
HF_CYCLE = 53
HF_REENTRANT = 54
HF_REFUSED = 55
HF_HOST_ERROR = 60
HF_INTERNAL = 61
EVENT_COMMIT = 1
EVENT_END = 2
EVENT_VALUE = 3
EVENT_CHANGES = 4
EVENT_STATE = 5


# One type for each handle, so that ctypes refuses one for another. Structs get fields below.
class hf_error(ctypes.Structure):
    """What went wrong, as an object that travels with the call."""


class hf_store(ctypes.Structure):
    """One database, opened by URL."""


class hf_transaction(ctypes.Structure):
    """One unit of work over a store."""


class hf_repository(ctypes.Structure):
    """A named collection of entities in a store."""


class hf_stream(ctypes.Structure):
    """What was committed, in order, told after the commit to whoever wants to know."""


class hf_controller(ctypes.Structure):
    """Persistence for programs with one direction of flow."""


class hf_cursor(ctypes.Structure):
    """What a query finds, in pieces, so that any number of entities takes little memory."""


class hf_future(ctypes.Structure):
    """The pending result of anything asynchronous, completed by the library or by the host."""


class hf_operation(ctypes.Structure):
    """A transaction described now and run later, as often as wanted."""


class hf_participant(ctypes.Structure):
    """An object of the host's that begins, validates, commits and rolls back with others."""


class hf_buffer(ctypes.Structure):
    """Text that the caller owns."""


class hf_entity(ctypes.Structure):
    """One entity that the caller owns."""


class hf_entity_view(ctypes.Structure):
    """One entity of a list, borrowed from it."""


class hf_entity_list(ctypes.Structure):
    """Entities that the caller owns."""


class hf_event(ctypes.Structure):
    """One event."""


class hf_receipt_change(ctypes.Structure):
    """What became of one entity."""


class hf_receipt(ctypes.Structure):
    """A receipt that was read, whose memory the caller owns."""


class hf_participant_callbacks(ctypes.Structure):
    """What a participant is called for."""


class hf_provider_write(ctypes.Structure):
    """One write of a commit."""


class hf_provider(ctypes.Structure):
    """What a provider does."""


# Functions that the host hands over.
destructor = ctypes.CFUNCTYPE(None, c_void_p)
hf_event_fn = ctypes.CFUNCTYPE(None, POINTER(hf_event), c_void_p)
hf_transaction_fn = ctypes.CFUNCTYPE(hf_status, POINTER(hf_transaction), c_void_p, POINTER(POINTER(hf_error)))
hf_predicate_fn = ctypes.CFUNCTYPE(c_bool, POINTER(hf_entity_view), c_void_p)
hf_function = ctypes.CFUNCTYPE(None)
hf_clock_fn = ctypes.CFUNCTYPE(c_uint64, c_void_p)
hf_middleware_fn = ctypes.CFUNCTYPE(None, POINTER(c_char), c_size_t, POINTER(c_char), c_size_t, c_void_p)
hf_starter_fn = ctypes.CFUNCTYPE(hf_status, POINTER(hf_future), c_void_p, POINTER(POINTER(hf_error)))
hf_index_progress_fn = ctypes.CFUNCTYPE(c_bool, c_uint64, c_void_p)
hf_interrupt_fn = ctypes.CFUNCTYPE(c_bool, c_void_p)
hf_log_fn = ctypes.CFUNCTYPE(None, hf_log_level, c_char_p, c_char_p, c_void_p)
hf_progress_fn = ctypes.CFUNCTYPE(c_bool, c_uint64, c_uint64, c_void_p)
hf_upgrade_fn = ctypes.CFUNCTYPE(
    hf_status, POINTER(hf_transaction), c_int64, c_int64, c_void_p, POINTER(POINTER(hf_error))
)
hf_operation_fn = ctypes.CFUNCTYPE(
    hf_status, POINTER(hf_transaction), POINTER(hf_buffer), c_void_p, POINTER(POINTER(hf_error))
)
hf_participant_fn = ctypes.CFUNCTYPE(None, POINTER(c_uint8), c_void_p)
hf_participant_validate_fn = ctypes.CFUNCTYPE(
    hf_status, POINTER(hf_transaction), c_void_p, POINTER(POINTER(hf_error))
)
hf_participant_savepoint_fn = ctypes.CFUNCTYPE(None, c_uint64, c_void_p)
hf_participant_body_fn = ctypes.CFUNCTYPE(
    hf_status, POINTER(hf_participant), c_void_p, POINTER(POINTER(hf_error))
)
hf_provider_visit_fn = ctypes.CFUNCTYPE(
    c_bool, POINTER(c_char), c_size_t, POINTER(c_char), c_size_t, c_void_p
)
hf_provider_save_fn = ctypes.CFUNCTYPE(
    hf_status,
    c_char_p,
    POINTER(c_char),
    c_size_t,
    POINTER(c_char),
    c_size_t,
    c_void_p,
    POINTER(POINTER(hf_error)),
)
hf_provider_fetch_fn = ctypes.CFUNCTYPE(
    hf_status, c_char_p, POINTER(c_char), c_size_t, POINTER(hf_buffer), c_void_p, POINTER(POINTER(hf_error))
)
hf_provider_fetch_all_fn = ctypes.CFUNCTYPE(
    hf_status, c_char_p, hf_provider_visit_fn, c_void_p, c_void_p, POINTER(POINTER(hf_error))
)
hf_provider_delete_fn = ctypes.CFUNCTYPE(
    hf_status, c_char_p, POINTER(c_char), c_size_t, c_void_p, POINTER(POINTER(hf_error))
)
hf_provider_apply_fn = ctypes.CFUNCTYPE(
    hf_status, POINTER(hf_provider_write), c_size_t, c_void_p, POINTER(POINTER(hf_error))
)
hf_provider_find_fn = ctypes.CFUNCTYPE(
    hf_status,
    c_char_p,
    POINTER(c_char),
    c_size_t,
    hf_provider_visit_fn,
    c_void_p,
    c_void_p,
    POINTER(POINTER(hf_error)),
)
hf_provider_change_token_fn = ctypes.CFUNCTYPE(
    hf_status, POINTER(c_uint64), c_void_p, POINTER(POINTER(hf_error))
)
hf_provider_sync_fn = ctypes.CFUNCTYPE(hf_status, c_void_p, POINTER(POINTER(hf_error)))
hf_write_fn = ctypes.CFUNCTYPE(hf_status, POINTER(c_char), c_size_t, c_void_p, POINTER(POINTER(hf_error)))
hf_read_fn = ctypes.CFUNCTYPE(c_int64, POINTER(c_char), c_size_t, c_void_p, POINTER(POINTER(hf_error)))
hf_validator_fn = ctypes.CFUNCTYPE(
    hf_status,
    POINTER(hf_transaction),
    POINTER(c_char),
    c_size_t,
    POINTER(c_char),
    c_size_t,
    c_void_p,
    POINTER(POINTER(hf_error)),
)

hf_buffer._fields_ = [("data", c_void_p), ("length", c_size_t), ("capacity", c_size_t)]

hf_entity._fields_ = [("data", c_void_p), ("length", c_size_t), ("capacity", c_size_t), ("version", c_uint64)]

hf_entity_view._fields_ = [
    ("id", c_void_p),
    ("id_length", c_size_t),
    ("data", c_void_p),
    ("length", c_size_t),
    ("version", c_uint64),
]

hf_entity_list._fields_ = [
    ("items", POINTER(hf_entity_view)),
    ("count", c_size_t),
    ("json", c_void_p),
    ("json_length", c_size_t),
]

hf_event._fields_ = [
    ("kind", hf_event_kind),
    ("status", hf_status),
    ("sequence", c_uint64),
    ("position", hf_buffer),
    ("receipt", hf_buffer),
    ("value", hf_entity),
    ("error", POINTER(hf_error)),
    ("callback", hf_event_fn),
    ("user_data", c_void_p),
    ("free_user_data", destructor),
]

hf_receipt_change._fields_ = [
    ("repository", c_void_p),
    ("id", c_void_p),
    ("id_length", c_size_t),
    ("version", c_uint64),
    ("is_deletion", c_bool),
]

hf_receipt._fields_ = [
    ("sequence", c_uint64),
    ("position", c_void_p),
    ("changes", POINTER(hf_receipt_change)),
    ("change_count", c_size_t),
    ("attempts", c_int32),
    ("is_durable", c_bool),
    ("is_replayed", c_bool),
    ("is_atomic", c_bool),
]

hf_participant_callbacks._fields_ = [
    ("size", c_size_t),
    ("on_begin", hf_participant_fn),
    ("on_validate", hf_participant_validate_fn),
    ("on_commit", hf_participant_fn),
    ("on_rollback", hf_participant_fn),
    ("on_savepoint", hf_participant_savepoint_fn),
    ("on_rollback_to", hf_participant_savepoint_fn),
]

hf_provider_write._fields_ = [
    ("repository", c_void_p),
    ("id", c_void_p),
    ("id_length", c_size_t),
    ("entity", c_void_p),
    ("length", c_size_t),
]

hf_provider._fields_ = [
    ("size", c_size_t),
    ("user_data", c_void_p),
    ("free_user_data", destructor),
    ("on_save", hf_provider_save_fn),
    ("on_fetch", hf_provider_fetch_fn),
    ("on_fetch_all", hf_provider_fetch_all_fn),
    ("on_delete", hf_provider_delete_fn),
    ("on_apply", hf_provider_apply_fn),
    ("on_find", hf_provider_find_fn),
    ("on_change_token", hf_provider_change_token_fn),
    ("on_sync", hf_provider_sync_fn),
]
