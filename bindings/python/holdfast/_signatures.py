"""The functions of the contract in C, each with its result and its parameters."""

# Generated from the headers by `make abi`: change those instead.

from ctypes import POINTER, c_bool, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint64, c_void_p

from ._types import (
    destructor,
    hf_buffer,
    hf_clock_fn,
    hf_commit_state,
    hf_controller,
    hf_cursor,
    hf_entity,
    hf_entity_list,
    hf_error,
    hf_event,
    hf_event_fn,
    hf_function,
    hf_future,
    hf_index_progress_fn,
    hf_interrupt_fn,
    hf_log_fn,
    hf_middleware_fn,
    hf_operation,
    hf_operation_fn,
    hf_participant,
    hf_participant_body_fn,
    hf_participant_callbacks,
    hf_predicate_fn,
    hf_progress_fn,
    hf_provider,
    hf_read_fn,
    hf_receipt,
    hf_repository,
    hf_starter_fn,
    hf_status,
    hf_store,
    hf_stream,
    hf_transaction,
    hf_transaction_fn,
    hf_transaction_state,
    hf_trim_level,
    hf_upgrade_fn,
    hf_validator_fn,
    hf_write_fn,
)

_buffer = POINTER(hf_buffer)
_controller = POINTER(hf_controller)
_cursor = POINTER(hf_cursor)
_entity = POINTER(hf_entity)
_entity_list = POINTER(hf_entity_list)
_error = POINTER(hf_error)
_event = POINTER(hf_event)
_future = POINTER(hf_future)
_operation = POINTER(hf_operation)
_participant = POINTER(hf_participant)
_participant_callbacks = POINTER(hf_participant_callbacks)
_provider = POINTER(hf_provider)
_receipt = POINTER(hf_receipt)
_repository = POINTER(hf_repository)
_store = POINTER(hf_store)
_stream = POINTER(hf_stream)
_transaction = POINTER(hf_transaction)
_out_error = POINTER(_error)
# A text or payload and its length.
_bytes = (c_char_p, c_size_t)

# Name: (result, parameters).
FUNCTIONS = {
    "hf_buffer_free": (None, (_buffer,)),
    "hf_buffer_set": (c_bool, (_buffer, *_bytes)),
    "hf_status_name": (c_char_p, (hf_status,)),
    "hf_error_status": (hf_status, (_error,)),
    "hf_error_message": (c_char_p, (_error,)),
    "hf_error_is_retryable": (c_bool, (_error,)),
    "hf_error_commit_state": (hf_commit_state, (_error,)),
    "hf_error_detail": (c_char_p, (_error, POINTER(c_size_t))),
    "hf_error_cause": (_error, (_error,)),
    "hf_error_create": (_error, (hf_status, c_int64, c_char_p)),
    "hf_error_free": (None, (_error,)),
    "hf_entity_free": (None, (_entity,)),
    "hf_entity_list_free": (None, (_entity_list,)),
    "hf_json_quote": (hf_status, (*_bytes, _buffer, _out_error)),
    "hf_events_free": (None, (_event, c_size_t)),
    "hf_store_open": (hf_status, (c_char_p, c_char_p, POINTER(_store), _out_error)),
    "hf_store_close": (hf_status, (_store, c_int64, _out_error)),
    "hf_store_free": (None, (_store,)),
    "hf_store_sync": (hf_status, (_store, _out_error)),
    "hf_store_events": (c_int32, (_store, _event, c_size_t, c_int64)),
    "hf_store_wake": (hf_status, (_store, _out_error)),
    "hf_store_event_fd": (hf_status, (_store, POINTER(c_int), _out_error)),
    "hf_store_describe": (hf_status, (_store, _buffer, _out_error)),
    "hf_handle_count": (c_size_t, (c_char_p,)),
    "hf_receipt_read": (hf_status, (*_bytes, _receipt, _out_error)),
    "hf_receipt_free": (None, (_receipt,)),
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
    "hf_store_transact": (hf_status, (_store, hf_transaction_fn, c_void_p, c_char_p, _buffer, _out_error)),
    "hf_repository_open": (hf_status, (_store, c_char_p, c_char_p, POINTER(_repository), _out_error)),
    "hf_repository_name": (hf_status, (_repository, _buffer, _out_error)),
    "hf_repository_free": (None, (_repository,)),
    "hf_store_repositories": (hf_status, (_store, _buffer, _out_error)),
    "hf_store_drop": (hf_status, (_store, c_char_p, _out_error)),
    "hf_store_rename": (hf_status, (_store, c_char_p, c_char_p, _out_error)),
    "hf_repository_add": (hf_status, (_repository, _transaction, *_bytes, _entity, _out_error)),
    "hf_repository_update": (hf_status, (_repository, _transaction, *_bytes, c_uint64, _entity, _out_error)),
    "hf_repository_save": (hf_status, (_repository, _transaction, *_bytes, _entity, _out_error)),
    "hf_repository_patch": (
        hf_status,
        (_repository, _transaction, *_bytes, *_bytes, c_uint64, _entity, _out_error),
    ),
    "hf_repository_modify": (
        hf_status,
        (_repository, _transaction, *_bytes, *_bytes, *_bytes, c_uint64, _entity, _out_error),
    ),
    "hf_repository_delete": (hf_status, (_repository, _transaction, *_bytes, c_uint64, _out_error)),
    "hf_repository_add_many": (hf_status, (_repository, _transaction, *_bytes, _entity_list, _out_error)),
    "hf_repository_update_many": (hf_status, (_repository, _transaction, *_bytes, _entity_list, _out_error)),
    "hf_repository_save_many": (hf_status, (_repository, _transaction, *_bytes, _entity_list, _out_error)),
    "hf_repository_patch_many": (hf_status, (_repository, _transaction, *_bytes, _entity_list, _out_error)),
    "hf_repository_delete_many": (hf_status, (_repository, _transaction, *_bytes, _out_error)),
    "hf_repository_modify_all": (
        hf_status,
        (
            _repository,
            _transaction,
            *_bytes,
            *_bytes,
            c_char_p,
            POINTER(c_uint64),
            POINTER(c_uint64),
            _out_error,
        ),
    ),
    "hf_repository_delete_all": (
        hf_status,
        (_repository, _transaction, *_bytes, c_char_p, POINTER(c_uint64), _out_error),
    ),
    "hf_repository_fetch": (hf_status, (_repository, _transaction, *_bytes, _entity, _out_error)),
    "hf_repository_fetch_many": (hf_status, (_repository, _transaction, *_bytes, _entity_list, _out_error)),
    "hf_repository_fetch_all": (hf_status, (_repository, _transaction, _entity_list, _out_error)),
    "hf_repository_find": (
        hf_status,
        (_repository, _transaction, *_bytes, c_char_p, _entity_list, _out_error),
    ),
    "hf_repository_first": (hf_status, (_repository, _transaction, *_bytes, c_char_p, _entity, _out_error)),
    "hf_repository_count": (
        hf_status,
        (_repository, _transaction, *_bytes, c_char_p, POINTER(c_uint64), _out_error),
    ),
    "hf_repository_exists": (
        hf_status,
        (_repository, _transaction, *_bytes, c_char_p, POINTER(c_bool), _out_error),
    ),
    "hf_repository_distinct": (
        hf_status,
        (_repository, _transaction, c_char_p, *_bytes, c_char_p, _buffer, _out_error),
    ),
    "hf_repository_find_if": (
        hf_status,
        (_repository, _transaction, hf_predicate_fn, c_void_p, c_char_p, _entity_list, _out_error),
    ),
    "hf_repository_contains": (hf_status, (_repository, _transaction, *_bytes, POINTER(c_bool), _out_error)),
    "hf_stream_open": (
        hf_status,
        (_store, c_char_p, hf_event_fn, c_void_p, destructor, POINTER(_stream), _out_error),
    ),
    "hf_stream_open_query": (
        hf_status,
        (_repository, *_bytes, c_char_p, hf_event_fn, c_void_p, destructor, POINTER(_stream), _out_error),
    ),
    "hf_stream_acknowledge": (hf_status, (_stream, c_char_p, _out_error)),
    "hf_stream_free": (None, (_stream,)),
    "hf_store_changes_since": (hf_status, (_store, c_char_p, c_char_p, _buffer, _out_error)),
    "hf_store_position": (hf_status, (_store, _buffer, _out_error)),
    "hf_repository_aggregate": (
        hf_status,
        (_repository, _transaction, *_bytes, c_char_p, _buffer, _out_error),
    ),
    "hf_repository_explain_aggregate": (
        hf_status,
        (_repository, _transaction, *_bytes, c_char_p, _buffer, _out_error),
    ),
    "hf_stream_open_aggregate": (
        hf_status,
        (_repository, *_bytes, c_char_p, hf_event_fn, c_void_p, destructor, POINTER(_stream), _out_error),
    ),
    "hf_answer_declare": (hf_status, (hf_function, _out_error)),
    "hf_answer": (c_int32, (c_int64,)),
    "hf_repository_invalidate_cache": (hf_status, (_repository, *_bytes, _out_error)),
    "hf_repository_trim_cache": (hf_status, (_repository, hf_trim_level, _out_error)),
    "hf_repository_cache_statistics": (hf_status, (_repository, _buffer, _out_error)),
    "hf_store_set_clock": (hf_status, (_store, hf_clock_fn, c_void_p, destructor, _out_error)),
    "hf_controller_create": (
        hf_status,
        (_repository, hf_middleware_fn, hf_event_fn, c_void_p, destructor, POINTER(_controller), _out_error),
    ),
    "hf_controller_dispatch": (hf_status, (_controller, *_bytes, _out_error)),
    "hf_controller_state": (hf_status, (_controller, _buffer, _out_error)),
    "hf_reduce": (hf_status, (*_bytes, *_bytes, _buffer, _out_error)),
    "hf_controller_free": (None, (_controller,)),
    "hf_cursor_open": (
        hf_status,
        (_repository, _transaction, *_bytes, c_char_p, POINTER(_cursor), _out_error),
    ),
    "hf_cursor_next": (hf_status, (_cursor, c_uint64, _entity_list, _out_error)),
    "hf_cursor_free": (None, (_cursor,)),
    "hf_future_create": (hf_status, (POINTER(_future), _out_error)),
    "hf_future_complete": (hf_status, (_future, *_bytes, _out_error)),
    "hf_future_fail": (hf_status, (_future, hf_status, c_char_p, _out_error)),
    "hf_future_wait": (hf_status, (_future, c_char_p, c_int64, _entity, _buffer, _out_error)),
    "hf_future_is_ended": (c_bool, (_future,)),
    "hf_future_observe": (hf_status, (_future, hf_event_fn, c_void_p, destructor, _out_error)),
    "hf_future_cancel": (hf_status, (_future, _out_error)),
    "hf_future_free": (None, (_future,)),
    "hf_transaction_submit_future": (hf_status, (_transaction, POINTER(_future), _out_error)),
    "hf_transaction_retry": (
        hf_status,
        (_transaction, c_char_p, POINTER(_transaction), POINTER(_future), _out_error),
    ),
    "hf_await": (
        hf_status,
        (hf_starter_fn, c_void_p, c_char_p, c_int64, _entity, POINTER(_future), _out_error),
    ),
    "hf_repository_create_index": (
        hf_status,
        (_repository, c_char_p, hf_index_progress_fn, c_void_p, _out_error),
    ),
    "hf_repository_drop_index": (hf_status, (_repository, c_char_p, _out_error)),
    "hf_repository_indexes": (hf_status, (_repository, _buffer, _out_error)),
    "hf_repository_explain": (hf_status, (_repository, _transaction, *_bytes, c_char_p, _buffer, _out_error)),
    "hf_repository_verify": (hf_status, (_repository, _buffer, _out_error)),
    "hf_interrupt_set_check": (None, (hf_interrupt_fn, c_void_p)),
    "hf_log_set_callback": (hf_status, (hf_log_fn, c_void_p, destructor, _out_error)),
    "hf_store_backup": (hf_status, (_store, c_char_p, hf_progress_fn, c_void_p, _buffer, _out_error)),
    "hf_store_restore": (hf_status, (c_char_p, c_char_p, c_char_p, hf_progress_fn, c_void_p, _out_error)),
    "hf_store_verify": (hf_status, (_store, hf_progress_fn, c_void_p, _buffer, _out_error)),
    "hf_store_compact": (hf_status, (_store, _buffer, _out_error)),
    "hf_store_upgrade": (
        hf_status,
        (_store, c_int64, hf_upgrade_fn, c_char_p, hf_progress_fn, c_void_p, _buffer, _out_error),
    ),
    "hf_store_schema_version": (hf_status, (_store, POINTER(c_int64), _out_error)),
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
    "hf_participant_create": (
        hf_status,
        (_participant, _participant_callbacks, c_void_p, destructor, POINTER(_participant), _out_error),
    ),
    "hf_participant_attach": (hf_status, (_participant, _participant, _out_error)),
    "hf_participant_detach": (hf_status, (_participant, _out_error)),
    "hf_participant_user_data": (c_void_p, (_participant,)),
    "hf_participant_free": (None, (_participant,)),
    "hf_participant_active": (hf_status, (_participant, POINTER(c_bool), POINTER(c_uint8), _out_error)),
    "hf_participant_begin": (hf_status, (_participant, POINTER(c_uint8), _out_error)),
    "hf_participant_commit": (hf_status, (_participant, POINTER(c_uint8), _out_error)),
    "hf_participant_rollback": (hf_status, (_participant, POINTER(c_uint8), _out_error)),
    "hf_participant_savepoint": (hf_status, (_participant, POINTER(c_uint8), POINTER(c_uint64), _out_error)),
    "hf_participant_rollback_to": (hf_status, (_participant, POINTER(c_uint8), c_uint64, _out_error)),
    "hf_participant_begin_scope": (hf_status, (_participant, POINTER(c_uint64), _out_error)),
    "hf_participant_end_scope": (hf_status, (_participant, c_uint64, c_bool, _out_error)),
    "hf_participant_transact": (hf_status, (_participant, hf_participant_body_fn, c_void_p, _out_error)),
    "hf_transaction_enlist": (hf_status, (_transaction, _participant, _out_error)),
    "hf_transaction_validate": (hf_status, (_transaction, _out_error)),
    "hf_error_participant": (_participant, (_error,)),
    "hf_store_open_provider": (hf_status, (_provider, c_char_p, POINTER(_store), _out_error)),
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
    "hf_repository_set_validator": (
        hf_status,
        (_repository, hf_validator_fn, c_void_p, destructor, _out_error),
    ),
    "hf_version_select": (hf_status, (c_int32, _out_error)),
    "hf_version_text": (c_char_p, ()),
    "hf_version_number": (c_int32, ()),
    "hf_feature_available": (c_bool, (c_char_p,)),
}
