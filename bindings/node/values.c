/* Values: strings, handles and errors between JavaScript and C. */
#include "addon.h"

napi_value set_error_class(napi_env env, napi_callback_info info) {
    napi_value class;
    napi_ref reference, before = NULL;
    if (!arguments(env, info, 1, &class))
        return NULL;
    TRY(napi_create_reference(env, class, 1, &reference));
    TRY(napi_get_instance_data(env, (void **)&before));
    if (before != NULL)
        TRY(napi_delete_reference(env, before));
    TRY(napi_set_instance_data(env, reference, NULL, NULL));
    return NULL;
}

napi_value thrown(napi_env env) {
    const napi_extended_error_info *info = NULL;
    bool pending = false;
    napi_get_last_error_info(env, &info);
    const char *message =
        info == NULL || info->error_message == NULL ? "Node-API failed" : info->error_message;
    if (napi_is_exception_pending(env, &pending) == napi_ok && !pending)
        napi_throw_error(env, NULL, message);
    return NULL;
}

napi_value error_value(napi_env env, hf_status status, const hf_error *error) {
    napi_ref reference = NULL;
    napi_value class, values[5], made;
    /* Without an error object there is the status alone. */
    const char *message = error == NULL ? hf_status_name(status) : hf_error_message(error);
    TRY(napi_get_instance_data(env, (void **)&reference));
    TRY(napi_get_reference_value(env, reference, &class));
    TRY(napi_create_string_utf8(env, hf_status_name(status), NAPI_AUTO_LENGTH, &values[0]));
    TRY(napi_create_string_utf8(env, message, NAPI_AUTO_LENGTH, &values[1]));
    TRY(napi_create_string_utf8(env, hf_error_detail(error, NULL), NAPI_AUTO_LENGTH, &values[2]));
    TRY(napi_get_boolean(env, hf_error_is_retryable(error), &values[3]));
    TRY(napi_create_uint32(env, hf_error_commit_state(error), &values[4]));
    TRY(napi_new_instance(env, class, 5, values, &made));
    return made;
}

napi_value throw_error(napi_env env, hf_status status, hf_error *error) {
    napi_value made = error_value(env, status, error);
    hf_error_free(error);
    if (made != NULL)
        napi_throw(env, made);
    return NULL;
}

static bool is_nothing(napi_env env, napi_value value) {
    napi_valuetype type = napi_undefined;
    napi_typeof(env, value, &type);
    return type == napi_undefined || type == napi_null;
}

bool text_of(napi_env env, napi_value value, char **out_text, size_t *out_length) {
    size_t length = 0;
    *out_text = NULL;
    if (out_length != NULL)
        *out_length = 0;
    if (is_nothing(env, value))
        return true;
    if (napi_get_value_string_utf8(env, value, NULL, 0, &length) != napi_ok) {
        thrown(env);
        return false;
    }
    char *text = malloc(length + 1);
    if (text == NULL || napi_get_value_string_utf8(env, value, text, length + 1, &length) != napi_ok) {
        free(text);
        thrown(env);
        return false;
    }
    if (out_length == NULL && memchr(text, '\0', length) != NULL) {
        free(text);
        throw_error(env, HF_INVALID_ARGUMENT,
                    hf_error_create(HF_INVALID_ARGUMENT, 0, "a text with a NUL in it names nothing"));
        return false;
    }
    *out_text = text;
    if (out_length != NULL)
        *out_length = length;
    return true;
}

bool pointer_of(napi_env env, napi_value value, void *out_pointer) {
    void *pointer = NULL;
    if (!is_nothing(env, value) && napi_get_value_external(env, value, &pointer) != napi_ok) {
        thrown(env);
        return false;
    }
    memcpy(out_pointer, &pointer, sizeof pointer);
    return true;
}

bool arguments(napi_env env, napi_callback_info info, size_t count, napi_value *out_arguments) {
    if (napi_get_cb_info(env, info, &count, out_arguments, NULL, NULL) == napi_ok)
        return true;
    thrown(env);
    return false;
}

napi_value handle_value(napi_env env, void *handle, napi_finalize finalize) {
    napi_value external;
    if (napi_create_external(env, handle, finalize, NULL, &external) == napi_ok)
        return external;
    finalize(env, handle, NULL);
    return thrown(env);
}
