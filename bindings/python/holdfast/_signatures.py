"""The C contract as data: its types, structs and one table of every function, under their C names."""

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
hf_log_level = c_int
hf_transaction_state = c_int
hf_trim_level = c_int

API_VERSION = 1
HF_OK = 0
HF_NOT_FOUND = 20
HF_CORRUPT = 24
HF_CONFLICT = 30
HF_TIMEOUT = 32
HF_CANCELLED = 33
HF_CLOSED = 35
HF_REFUSED = 55
HF_HOST_ERROR = 60
# The kinds of events that a stream or controller goes on after.
EVENT_CHANGES = 4
EVENT_STATE = 5


# Opaque handles, one distinct type each, so that ctypes refuses one for another.
class hf_store(ctypes.Structure):
    """A database."""


class hf_repository(ctypes.Structure):
    """A named collection of entities."""


class hf_cursor(ctypes.Structure):
    """What a query finds, in pieces."""


class hf_transaction(ctypes.Structure):
    """One unit of work."""


class hf_operation(ctypes.Structure):
    """A transaction described now and run later."""


class hf_future(ctypes.Structure):
    """The pending result of anything asynchronous."""


class hf_stream(ctypes.Structure):
    """What was committed, in order."""


class hf_controller(ctypes.Structure):
    """Actions in, state out."""


class hf_participant(ctypes.Structure):
    """An object of the host's that takes part in transactions."""


class hf_error(ctypes.Structure):
    """What went wrong."""


class hf_buffer(ctypes.Structure):
    """Text that the caller owns."""

    _fields_ = [("data", c_void_p), ("length", c_size_t), ("capacity", c_size_t)]


class hf_entity(ctypes.Structure):
    """One entity that the caller owns."""

    _fields_ = [("data", c_void_p), ("length", c_size_t), ("capacity", c_size_t), ("version", c_uint64)]


class hf_entity_view(ctypes.Structure):
    """One entity of a list, borrowed from it."""

    _fields_ = [
        ("id", c_void_p),
        ("id_length", c_size_t),
        ("data", c_void_p),
        ("length", c_size_t),
        ("version", c_uint64),
    ]


class hf_entity_list(ctypes.Structure):
    """Entities that the caller owns, in one block of memory."""

    _fields_ = [
        ("items", POINTER(hf_entity_view)),
        ("count", c_size_t),
        ("json", c_void_p),
        ("json_length", c_size_t),
    ]


class hf_receipt_change(ctypes.Structure):
    """What became of one entity, borrowed from a receipt."""

    _fields_ = [
        ("repository", c_void_p),
        ("id", c_void_p),
        ("id_length", c_size_t),
        ("version", c_uint64),
        ("is_deletion", c_bool),
    ]


class hf_receipt(ctypes.Structure):
    """What a commit answers, read."""

    _fields_ = [
        ("sequence", c_uint64),
        ("position", c_void_p),
        ("changes", POINTER(hf_receipt_change)),
        ("change_count", c_size_t),
        ("attempts", c_int32),
        ("is_durable", c_bool),
        ("is_replayed", c_bool),
        ("is_atomic", c_bool),
    ]


class hf_event(ctypes.Structure):
    """The end of something asynchronous. The fields follow, because one is a function of this type."""


_out_error = POINTER(POINTER(hf_error))

# Functions that the host hands over.
hf_function = ctypes.CFUNCTYPE(None)
hf_event_fn = ctypes.CFUNCTYPE(None, POINTER(hf_event), c_void_p)
hf_middleware_fn = ctypes.CFUNCTYPE(None, POINTER(c_char), c_size_t, POINTER(c_char), c_size_t, c_void_p)
hf_transaction_fn = ctypes.CFUNCTYPE(hf_status, POINTER(hf_transaction), c_void_p, _out_error)
hf_index_progress_fn = ctypes.CFUNCTYPE(c_bool, c_uint64, c_void_p)
hf_progress_fn = ctypes.CFUNCTYPE(c_bool, c_uint64, c_uint64, c_void_p)
hf_upgrade_fn = ctypes.CFUNCTYPE(hf_status, POINTER(hf_transaction), c_int64, c_int64, c_void_p, _out_error)
hf_write_fn = ctypes.CFUNCTYPE(hf_status, POINTER(c_char), c_size_t, c_void_p, _out_error)
hf_read_fn = ctypes.CFUNCTYPE(c_int64, POINTER(c_char), c_size_t, c_void_p, _out_error)
hf_log_fn = ctypes.CFUNCTYPE(None, hf_log_level, c_char_p, c_char_p, c_void_p)
hf_operation_fn = ctypes.CFUNCTYPE(
    hf_status, POINTER(hf_transaction), POINTER(hf_buffer), c_void_p, _out_error
)
hf_interrupt_fn = ctypes.CFUNCTYPE(c_bool, c_void_p)
hf_clock_fn = ctypes.CFUNCTYPE(c_uint64, c_void_p)
hf_starter_fn = ctypes.CFUNCTYPE(hf_status, POINTER(hf_future), c_void_p, _out_error)
hf_predicate_fn = ctypes.CFUNCTYPE(c_bool, POINTER(hf_entity_view), c_void_p)
hf_participant_fn = ctypes.CFUNCTYPE(None, POINTER(c_uint8), c_void_p)
hf_participant_validate_fn = ctypes.CFUNCTYPE(hf_status, POINTER(hf_transaction), c_void_p, _out_error)
hf_participant_savepoint_fn = ctypes.CFUNCTYPE(None, c_uint64, c_void_p)
hf_participant_body_fn = ctypes.CFUNCTYPE(hf_status, POINTER(hf_participant), c_void_p, _out_error)
hf_validator_fn = ctypes.CFUNCTYPE(
    hf_status,
    POINTER(hf_transaction),
    POINTER(c_char),
    c_size_t,
    POINTER(c_char),
    c_size_t,
    c_void_p,
    _out_error,
)
destructor = ctypes.CFUNCTYPE(None, c_void_p)


class hf_provider_write(ctypes.Structure):
    """One write of a commit, borrowed."""

    _fields_ = [
        ("repository", c_void_p),
        ("id", c_void_p),
        ("id_length", c_size_t),
        ("entity", c_void_p),
        ("length", c_size_t),
    ]


# What a provider's functions take last.
_provided = (c_void_p, _out_error)
# Text that is not closed with NUL.
_characters = (POINTER(c_char), c_size_t)
hf_provider_visit_fn = ctypes.CFUNCTYPE(c_bool, *_characters, *_characters, c_void_p)
hf_provider_save_fn = ctypes.CFUNCTYPE(hf_status, c_char_p, *_characters, *_characters, *_provided)
hf_provider_fetch_fn = ctypes.CFUNCTYPE(hf_status, c_char_p, *_characters, POINTER(hf_buffer), *_provided)
hf_provider_fetch_all_fn = ctypes.CFUNCTYPE(hf_status, c_char_p, hf_provider_visit_fn, c_void_p, *_provided)
hf_provider_delete_fn = ctypes.CFUNCTYPE(hf_status, c_char_p, *_characters, *_provided)
hf_provider_apply_fn = ctypes.CFUNCTYPE(hf_status, POINTER(hf_provider_write), c_size_t, *_provided)
hf_provider_find_fn = ctypes.CFUNCTYPE(
    hf_status, c_char_p, *_characters, hf_provider_visit_fn, c_void_p, *_provided
)
hf_provider_change_token_fn = ctypes.CFUNCTYPE(hf_status, POINTER(c_uint64), *_provided)
hf_provider_sync_fn = ctypes.CFUNCTYPE(hf_status, *_provided)


class hf_provider(ctypes.Structure):
    """What a provider does."""

    _fields_ = [
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


class hf_participant_callbacks(ctypes.Structure):
    """What a participant is called for."""

    _fields_ = [
        ("size", c_size_t),
        ("on_begin", hf_participant_fn),
        ("on_validate", hf_participant_validate_fn),
        ("on_commit", hf_participant_fn),
        ("on_rollback", hf_participant_fn),
        ("on_savepoint", hf_participant_savepoint_fn),
        ("on_rollback_to", hf_participant_savepoint_fn),
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

_store = POINTER(hf_store)
_repository = POINTER(hf_repository)
_transaction = POINTER(hf_transaction)
_cursor = POINTER(hf_cursor)
_operation = POINTER(hf_operation)
_future = POINTER(hf_future)
_stream = POINTER(hf_stream)
_controller = POINTER(hf_controller)
_participant = POINTER(hf_participant)
_descriptor = POINTER(c_uint8)
_error = POINTER(hf_error)
_buffer = POINTER(hf_buffer)
_entity = POINTER(hf_entity)
_entity_list = POINTER(hf_entity_list)
_events = POINTER(hf_event)

# A text or payload and its length.
_bytes = (c_char_p, c_size_t)
# What every function of a repository takes first.
_scope = (_repository, _transaction)
# What a query takes first: the filter, and the options.
_query = (*_scope, *_bytes, c_char_p)

# What a function that opens a stream takes last.
_opening = (hf_event_fn, c_void_p, destructor, POINTER(_stream), _out_error)

# Name: (result, parameters).
FUNCTIONS = {
    "hf_buffer_free": (None, (_buffer,)),
    "hf_buffer_set": (c_bool, (_buffer, *_bytes)),
    "hf_entity_free": (None, (_entity,)),
    "hf_entity_list_free": (None, (_entity_list,)),
    "hf_receipt_read": (hf_status, (*_bytes, POINTER(hf_receipt), _out_error)),
    "hf_receipt_free": (None, (POINTER(hf_receipt),)),
    "hf_status_name": (c_char_p, (hf_status,)),
    "hf_error_status": (hf_status, (_error,)),
    "hf_error_message": (c_char_p, (_error,)),
    "hf_error_is_retryable": (c_bool, (_error,)),
    "hf_error_commit_state": (hf_commit_state, (_error,)),
    "hf_error_detail": (c_char_p, (_error, POINTER(c_size_t))),
    "hf_error_cause": (_error, (_error,)),
    "hf_error_create": (_error, (hf_status, c_int64, c_char_p)),
    "hf_error_participant": (_participant, (_error,)),
    "hf_error_free": (None, (_error,)),
    "hf_version_select": (hf_status, (c_int32, _out_error)),
    "hf_version_text": (c_char_p, ()),
    "hf_version_number": (c_int32, ()),
    "hf_json_quote": (hf_status, (*_bytes, _buffer, _out_error)),
    "hf_feature_available": (c_bool, (c_char_p,)),
    "hf_log_set_callback": (hf_status, (hf_log_fn, c_void_p, destructor, _out_error)),
    "hf_events_free": (None, (_events, c_size_t)),
    "hf_answer_declare": (hf_status, (hf_function, _out_error)),
    "hf_answer": (c_int32, (c_int64,)),
    "hf_interrupt_set_check": (None, (hf_interrupt_fn, c_void_p)),
    "hf_store_open": (hf_status, (c_char_p, c_char_p, POINTER(_store), _out_error)),
    "hf_store_open_provider": (hf_status, (POINTER(hf_provider), c_char_p, POINTER(_store), _out_error)),
    "hf_store_close": (hf_status, (_store, c_int64, _out_error)),
    "hf_store_free": (None, (_store,)),
    "hf_store_sync": (hf_status, (_store, _out_error)),
    "hf_store_events": (c_int32, (_store, _events, c_size_t, c_int64)),
    "hf_store_wake": (hf_status, (_store, _out_error)),
    "hf_store_event_fd": (hf_status, (_store, POINTER(c_int), _out_error)),
    "hf_store_describe": (hf_status, (_store, _buffer, _out_error)),
    "hf_store_repositories": (hf_status, (_store, _buffer, _out_error)),
    "hf_store_drop": (hf_status, (_store, c_char_p, _out_error)),
    "hf_store_rename": (hf_status, (_store, c_char_p, c_char_p, _out_error)),
    "hf_store_transact": (hf_status, (_store, hf_transaction_fn, c_void_p, c_char_p, _buffer, _out_error)),
    "hf_handle_count": (c_size_t, (c_char_p,)),
    "hf_transaction_begin": (hf_status, (_store, c_char_p, POINTER(_transaction), _out_error)),
    "hf_transaction_commit": (hf_status, (_transaction, _buffer, _out_error)),
    "hf_transaction_submit": (hf_status, (_transaction, hf_event_fn, c_void_p, destructor, _out_error)),
    "hf_transaction_cancel": (hf_status, (_transaction, _out_error)),
    "hf_transaction_rollback": (hf_status, (_transaction, _out_error)),
    "hf_transaction_savepoint": (hf_status, (_transaction, POINTER(c_uint64), _out_error)),
    "hf_transaction_rollback_to": (hf_status, (_transaction, c_uint64, _out_error)),
    "hf_transaction_release": (hf_status, (_transaction, c_uint64, _out_error)),
    "hf_transaction_begin_scope": (hf_status, (_transaction, c_uint64, POINTER(c_uint64), _out_error)),
    "hf_transaction_end_scope": (hf_status, (_transaction, c_uint64, c_bool, _out_error)),
    "hf_transaction_get_state": (hf_status, (_transaction, POINTER(hf_transaction_state), _out_error)),
    "hf_transaction_free": (None, (_transaction,)),
    "hf_transaction_submit_future": (hf_status, (_transaction, POINTER(_future), _out_error)),
    "hf_transaction_retry": (
        hf_status,
        (_transaction, c_char_p, POINTER(_transaction), POINTER(_future), _out_error),
    ),
    "hf_future_create": (hf_status, (POINTER(_future), _out_error)),
    "hf_future_complete": (hf_status, (_future, *_bytes, _out_error)),
    "hf_future_fail": (hf_status, (_future, hf_status, c_char_p, _out_error)),
    "hf_future_wait": (hf_status, (_future, c_char_p, c_int64, _entity, _buffer, _out_error)),
    "hf_future_is_ended": (c_bool, (_future,)),
    "hf_future_observe": (hf_status, (_future, hf_event_fn, c_void_p, destructor, _out_error)),
    "hf_future_cancel": (hf_status, (_future, _out_error)),
    "hf_future_free": (None, (_future,)),
    "hf_stream_open": (hf_status, (_store, c_char_p, *_opening)),
    "hf_stream_open_query": (hf_status, (_repository, *_bytes, c_char_p, *_opening)),
    "hf_stream_open_aggregate": (hf_status, (_repository, *_bytes, c_char_p, *_opening)),
    "hf_stream_acknowledge": (hf_status, (_stream, c_char_p, _out_error)),
    "hf_stream_free": (None, (_stream,)),
    "hf_store_changes_since": (hf_status, (_store, c_char_p, c_char_p, _buffer, _out_error)),
    "hf_store_position": (hf_status, (_store, _buffer, _out_error)),
    "hf_await": (
        hf_status,
        (hf_starter_fn, c_void_p, c_char_p, c_int64, _entity, POINTER(_future), _out_error),
    ),
    "hf_operation_create": (hf_status, (_store, *_bytes, POINTER(_operation), _out_error)),
    "hf_operation_create_on": (
        hf_status,
        (_store, *_bytes, POINTER(_repository), c_size_t, POINTER(_operation), _out_error),
    ),
    "hf_operation_create_get": (hf_status, (_store, c_char_p, *_bytes, POINTER(_operation), _out_error)),
    "hf_operation_create_put": (
        hf_status,
        (_store, c_char_p, *_bytes, *_bytes, POINTER(_operation), _out_error),
    ),
    "hf_operation_create_remove": (hf_status, (_store, c_char_p, *_bytes, POINTER(_operation), _out_error)),
    "hf_operation_create_function": (
        hf_status,
        (_store, hf_operation_fn, c_void_p, destructor, c_char_p, POINTER(_operation), _out_error),
    ),
    "hf_operation_perform": (hf_status, (_operation, _transaction, _entity, _buffer, _out_error)),
    "hf_operation_start": (hf_status, (_operation, _transaction, POINTER(_future), _out_error)),
    "hf_operation_submit": (
        hf_status,
        (_operation, _transaction, hf_event_fn, c_void_p, destructor, POINTER(_future), _out_error),
    ),
    "hf_operation_subscribe": (
        hf_status,
        (_operation, _transaction, hf_event_fn, c_void_p, destructor, POINTER(_future), _out_error),
    ),
    "hf_operation_free": (None, (_operation,)),
    "hf_controller_create": (
        hf_status,
        (_repository, hf_middleware_fn, hf_event_fn, c_void_p, destructor, POINTER(_controller), _out_error),
    ),
    "hf_controller_dispatch": (hf_status, (_controller, *_bytes, _out_error)),
    "hf_controller_state": (hf_status, (_controller, _buffer, _out_error)),
    "hf_controller_free": (None, (_controller,)),
    "hf_reduce": (hf_status, (*_bytes, *_bytes, _buffer, _out_error)),
    "hf_transaction_enlist": (hf_status, (_transaction, _participant, _out_error)),
    "hf_transaction_validate": (hf_status, (_transaction, _out_error)),
    "hf_participant_create": (
        hf_status,
        (
            _participant,
            POINTER(hf_participant_callbacks),
            c_void_p,
            destructor,
            POINTER(_participant),
            _out_error,
        ),
    ),
    "hf_participant_attach": (hf_status, (_participant, _participant, _out_error)),
    "hf_participant_detach": (hf_status, (_participant, _out_error)),
    "hf_participant_user_data": (c_void_p, (_participant,)),
    "hf_participant_free": (None, (_participant,)),
    "hf_participant_active": (hf_status, (_participant, POINTER(c_bool), _descriptor, _out_error)),
    "hf_participant_begin": (hf_status, (_participant, _descriptor, _out_error)),
    "hf_participant_commit": (hf_status, (_participant, _descriptor, _out_error)),
    "hf_participant_rollback": (hf_status, (_participant, _descriptor, _out_error)),
    "hf_participant_savepoint": (hf_status, (_participant, _descriptor, POINTER(c_uint64), _out_error)),
    "hf_participant_rollback_to": (hf_status, (_participant, _descriptor, c_uint64, _out_error)),
    "hf_participant_begin_scope": (hf_status, (_participant, POINTER(c_uint64), _out_error)),
    "hf_participant_end_scope": (hf_status, (_participant, c_uint64, c_bool, _out_error)),
    "hf_participant_transact": (hf_status, (_participant, hf_participant_body_fn, c_void_p, _out_error)),
    "hf_repository_open": (hf_status, (_store, c_char_p, c_char_p, POINTER(_repository), _out_error)),
    "hf_repository_name": (hf_status, (_repository, _buffer, _out_error)),
    "hf_repository_free": (None, (_repository,)),
    "hf_repository_set_validator": (
        hf_status,
        (_repository, hf_validator_fn, c_void_p, destructor, _out_error),
    ),
    "hf_repository_invalidate_cache": (hf_status, (_repository, *_bytes, _out_error)),
    "hf_repository_trim_cache": (hf_status, (_repository, hf_trim_level, _out_error)),
    "hf_repository_cache_statistics": (hf_status, (_repository, _buffer, _out_error)),
    "hf_store_set_clock": (hf_status, (_store, hf_clock_fn, c_void_p, destructor, _out_error)),
    "hf_repository_add": (hf_status, (*_scope, *_bytes, _entity, _out_error)),
    "hf_repository_update": (hf_status, (*_scope, *_bytes, c_uint64, _entity, _out_error)),
    "hf_repository_save": (hf_status, (*_scope, *_bytes, _entity, _out_error)),
    "hf_repository_patch": (hf_status, (*_scope, *_bytes, *_bytes, c_uint64, _entity, _out_error)),
    "hf_repository_modify": (
        hf_status,
        (*_scope, *_bytes, *_bytes, *_bytes, c_uint64, _entity, _out_error),
    ),
    "hf_repository_delete": (hf_status, (*_scope, *_bytes, c_uint64, _out_error)),
    "hf_repository_add_many": (hf_status, (*_scope, *_bytes, _entity_list, _out_error)),
    "hf_repository_update_many": (hf_status, (*_scope, *_bytes, _entity_list, _out_error)),
    "hf_repository_save_many": (hf_status, (*_scope, *_bytes, _entity_list, _out_error)),
    "hf_repository_patch_many": (hf_status, (*_scope, *_bytes, _entity_list, _out_error)),
    "hf_repository_delete_many": (hf_status, (*_scope, *_bytes, _out_error)),
    "hf_repository_modify_all": (
        hf_status,
        (*_scope, *_bytes, *_bytes, c_char_p, POINTER(c_uint64), POINTER(c_uint64), _out_error),
    ),
    "hf_repository_delete_all": (hf_status, (*_query, POINTER(c_uint64), _out_error)),
    "hf_repository_fetch": (hf_status, (*_scope, *_bytes, _entity, _out_error)),
    "hf_repository_fetch_many": (hf_status, (*_scope, *_bytes, _entity_list, _out_error)),
    "hf_repository_fetch_all": (hf_status, (*_scope, _entity_list, _out_error)),
    "hf_repository_find": (hf_status, (*_query, _entity_list, _out_error)),
    "hf_repository_find_if": (
        hf_status,
        (*_scope, hf_predicate_fn, c_void_p, c_char_p, _entity_list, _out_error),
    ),
    "hf_repository_first": (hf_status, (*_query, _entity, _out_error)),
    "hf_repository_count": (hf_status, (*_query, POINTER(c_uint64), _out_error)),
    "hf_repository_exists": (hf_status, (*_query, POINTER(c_bool), _out_error)),
    "hf_repository_distinct": (hf_status, (*_scope, c_char_p, *_bytes, c_char_p, _buffer, _out_error)),
    "hf_repository_create_index": (
        hf_status,
        (_repository, c_char_p, hf_index_progress_fn, c_void_p, _out_error),
    ),
    "hf_repository_drop_index": (hf_status, (_repository, c_char_p, _out_error)),
    "hf_repository_indexes": (hf_status, (_repository, _buffer, _out_error)),
    "hf_repository_explain": (hf_status, (*_query, _buffer, _out_error)),
    "hf_repository_aggregate": (hf_status, (*_query, _buffer, _out_error)),
    "hf_repository_explain_aggregate": (hf_status, (*_query, _buffer, _out_error)),
    "hf_repository_verify": (hf_status, (_repository, _buffer, _out_error)),
    "hf_cursor_open": (hf_status, (*_query, POINTER(_cursor), _out_error)),
    "hf_cursor_next": (hf_status, (_cursor, c_uint64, _entity_list, _out_error)),
    "hf_cursor_free": (None, (_cursor,)),
    "hf_store_backup": (hf_status, (_store, c_char_p, hf_progress_fn, c_void_p, _buffer, _out_error)),
    "hf_store_restore": (hf_status, (c_char_p, c_char_p, c_char_p, hf_progress_fn, c_void_p, _out_error)),
    "hf_store_verify": (hf_status, (_store, hf_progress_fn, c_void_p, _buffer, _out_error)),
    "hf_store_compact": (hf_status, (_store, _buffer, _out_error)),
    "hf_store_upgrade": (
        hf_status,
        (_store, c_int64, hf_upgrade_fn, c_char_p, hf_progress_fn, c_void_p, _buffer, _out_error),
    ),
    "hf_store_schema_version": (hf_status, (_store, POINTER(c_int64), _out_error)),
    "hf_store_export": (
        hf_status,
        (_store, c_char_p, hf_write_fn, hf_progress_fn, c_void_p, _buffer, _out_error),
    ),
    "hf_store_import": (
        hf_status,
        (_store, c_char_p, hf_read_fn, hf_progress_fn, c_void_p, _buffer, _out_error),
    ),
    "hf_store_import_table": (
        hf_status,
        (_store, c_char_p, c_char_p, c_char_p, hf_progress_fn, c_void_p, _buffer, _out_error),
    ),
    "hf_repository_contains": (hf_status, (*_scope, *_bytes, POINTER(c_bool), _out_error)),
}
