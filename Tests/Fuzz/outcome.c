#include "outcome.h"

#include <string.h>

static void expect_one_line(const char *call, const char *message) {
    json_t *is_text = json_string(message); /* NULL for what is no UTF-8 */
    if (message[0] == '\0' || is_text == NULL)
        fail("%s: the message is empty or no UTF-8: %s", call, message);
    json_decref(is_text);
    for (const char *c = message; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            fail("%s: the message has a control character: %s", call, message);
}

hf_status outcome(const char *call, hf_status status, hf_error *error) {
    if (strcmp(hf_status_name(status), "HF_UNKNOWN") == 0)
        fail("%s answered %d, which is no status", call, (int)status);
    if (error == NULL) {
        if (status != HF_OK && status != HF_NOT_FOUND && status != HF_TIMEOUT)
            fail("%s answered %s without an error", call, hf_status_name(status));
        return status;
    }
    expect_one_line(call, hf_error_message(error));
    if (status == HF_OK || status == HF_INTERNAL || hf_error_status(error) != status)
        fail("%s answered %s with %s: %s", call, hf_status_name(status),
             hf_status_name(hf_error_status(error)), hf_error_message(error));
    size_t length;
    const char *text = hf_error_detail(error, &length);
    json_t *detail = parse_json(text, length);
    if (!json_is_object(detail))
        fail("%s: the detail is no JSON object: %s", call, text);
    json_decref(detail);
    hf_error_free(error);
    return status;
}

void expect_stored(hf_repository *repository, hf_transaction *transaction, const char *id, size_t id_length,
                   const char *bytes, size_t length) {
    static hf_entity entity = HF_ENTITY_INIT;
    hf_status status = CALL(hf_repository_fetch, repository, transaction, id, id_length, &entity);
    if (status != HF_OK)
        fail("\"%.*s\" was stored and then answered %s", (int)id_length, id, hf_status_name(status));
    if (entity.length != length || memcmp(entity.data, bytes, length) != 0 || entity.data[length] != '\0')
        fail("\"%.*s\" came back as %s, not as %.*s", (int)id_length, id, entity.data, (int)length, bytes);
}
