#include "store/numbers.h"

roast_status roast_numbers_begin(roast_buffer *out, size_t count) {
    out->len = 0;
    if (count > SIZE_MAX / 4 / ROAST_NUMBER_MAX)
        return ROAST_ENOMEM;
    ROAST_TRY(roast_buffer_reserve(out, count * ROAST_NUMBER_MAX + 2));
    out->data[out->len++] = '[';
    return ROAST_OK;
}

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536"
    "37383940414243444546474849505152535455565758596061626364656667686970717273"
    "7475767778798081828384858687888990919293949596979899";

/* Two digits at a time, from the end. */
void roast_numbers_put_unsigned(roast_buffer *out, uint64_t value) {
    char digits[20], *at = digits + sizeof digits;
    while (value >= 100) {
        at -= 2;
        memcpy(at, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(at, pairs + value * 2, 2);
    } else {
        *--at = (char)('0' + value);
    }
    roast_buffer_push(out, at, (size_t)(digits + sizeof digits - at));
    out->data[out->len++] = ',';
}

void roast_numbers_put(roast_buffer *out, int64_t value) {
    if (value < 0)
        out->data[out->len++] = '-';
    roast_numbers_put_unsigned(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void roast_numbers_put_known(roast_buffer *out, int64_t value) {
    if (value < 0)
        roast_buffer_push(out, "null,", 5);
    else
        roast_numbers_put_unsigned(out, (uint64_t)value);
}

/* The last comma becomes the bracket. */
void roast_numbers_end(roast_buffer *out) {
    if (out->len == 1)
        out->data[out->len++] = ']';
    else
        out->data[out->len - 1] = ']';
}

bool roast_numbers_open(roast_numbers *list, roast_str text) {
    *list = (roast_numbers){NULL, NULL};
    if (text.len < 2 || text.data[0] != '[' || text.data[text.len - 1] != ']')
        return false;
    *list = (roast_numbers){text.data + 1, text.data + text.len};
    if (text.len == 2)
        list->at = list->end;
    return true;
}

/* Each number ends with a comma or the bracket behind it, both of which stop the digits. */
bool roast_numbers_get_unsigned(roast_numbers *list, uint64_t *value) {
    const char *at = list->at;
    uint64_t number = 0;
    unsigned digits = 0;
    if (at == list->end)
        return false;
    for (; *at >= '0' && *at <= '9'; at++, digits++) {
        unsigned digit = (unsigned)(*at - '0');
        if (digits >= 19 && (digits > 19 || number > (UINT64_MAX - digit) / 10))
            return false;
        number = number * 10 + digit;
    }
    if (digits == 0 || (*at != ',' && at != list->end - 1))
        return false;
    *value = number;
    list->at = at + 1;
    return true;
}

bool roast_numbers_get(roast_numbers *list, int64_t *value) {
    bool negative = list->at != list->end && *list->at == '-';
    uint64_t number, limit = (uint64_t)INT64_MAX + negative;
    list->at += negative;
    if (!roast_numbers_get_unsigned(list, &number) || number > limit)
        return false;
    *value = negative ? (int64_t)-number : (int64_t)number;
    return true;
}

bool roast_numbers_get_known(roast_numbers *list, int64_t *value) {
    if (list->end - list->at >= 5 && memcmp(list->at, "null", 4) == 0 &&
        (list->at[4] == ',' || list->at + 4 == list->end - 1)) {
        *value = -1;
        list->at += 5;
        return true;
    }
    uint64_t number;
    if (!roast_numbers_get_unsigned(list, &number) || number > INT64_MAX)
        return false;
    *value = (int64_t)number;
    return true;
}

bool roast_numbers_done(const roast_numbers *list) {
    return list->at == list->end;
}
