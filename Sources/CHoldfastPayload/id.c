#include "parse.h"

size_t hfpayload_utf8_length(const char *text, size_t length) {
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned char first = bytes[0];
    unsigned char low = 0x80, high = 0xBF; /* of the second byte */
    size_t count;
    if (first < 0x80) {
        return 1;
    } else if (first >= 0xC2 && first <= 0xDF) {
        count = 2;
    } else if (first >= 0xE0 && first <= 0xEF) {
        count = 3;
        low = first == 0xE0 ? 0xA0 : low;
        high = first == 0xED ? 0x9F : high;
    } else if (first >= 0xF0 && first <= 0xF4) {
        count = 4;
        low = first == 0xF0 ? 0x90 : low;
        high = first == 0xF4 ? 0x8F : high;
    } else {
        return 0;
    }
    if (count > length || bytes[1] < low || bytes[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < count; i++) {
        if (bytes[i] < 0x80 || bytes[i] > 0xBF) {
            return 0;
        }
    }
    return count;
}

bool hfpayload_id_check(const char *bytes, size_t length, hfpayload_error *error) {
    if (length == 0) {
        return hfpayload_refuse(error, HFPAYLOAD_INVALID_ID, 0,
                                "the id is empty: it must have at least one character");
    }
    if (length > HFPAYLOAD_ID_MAX_BYTES) {
        return hfpayload_refuse(error, HFPAYLOAD_INVALID_ID, HFPAYLOAD_ID_MAX_BYTES,
                                "the id has %zu bytes: the limit is %d", length, HFPAYLOAD_ID_MAX_BYTES);
    }
    const unsigned char *text = (const unsigned char *)bytes;
    for (size_t at = 0; at < length;) {
        if (text[at] < 0x20 || text[at] == 0x7F) {
            return hfpayload_refuse(error, HFPAYLOAD_INVALID_ID, at,
                                    "the id contains the control character U+%04X: it must be left out",
                                    text[at]);
        }
        size_t step = hfpayload_utf8_length(bytes + at, length - at);
        if (step == 0) {
            return hfpayload_refuse(error, HFPAYLOAD_INVALID_ID, at, "the id is not valid UTF-8");
        }
        at += step;
    }
    return true;
}
