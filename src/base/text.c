#include "roast/text.h"

#include <string.h>

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Optimal string alignment: three rows of the table are alive at a time, all of them on the stack.
 */
size_t roast_edit_distance(roast_str a, roast_str b) {
    if (a.data == NULL || b.data == NULL || a.len > ROAST_EDIT_MAX || b.len > ROAST_EDIT_MAX)
        return SIZE_MAX;
    size_t rows[3][ROAST_EDIT_MAX + 1];
    size_t *older = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b.len; j++)
        last[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t replaced = last[j - 1] + (a.data[i - 1] != b.data[j - 1]);
            row[j] = smaller(replaced, smaller(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1])
                row[j] = smaller(row[j], older[j - 2] + 1);
        }
        size_t *free_row = older;
        older = last;
        last = row;
        row = free_row;
    }
    return last[b.len];
}

static size_t near_enough(roast_str wanted) {
    if (wanted.len < 4)
        return 1;
    return wanted.len < 6 ? 2 : wanted.len / 3;
}

void roast_nearest_init(roast_nearest *nearest, roast_str wanted) {
    *nearest = (roast_nearest){.wanted = wanted, .distance = near_enough(wanted) + 1};
}

static bool goes_on(roast_str name, roast_str wanted) {
    return wanted.len >= 3 && name.len > wanted.len &&
           memcmp(name.data, wanted.data, wanted.len) == 0;
}

void roast_nearest_offer(roast_nearest *nearest, roast_str name) {
    size_t distance = roast_edit_distance(nearest->wanted, name);
    if (distance == SIZE_MAX || nearest->wanted.len == 0 || name.len == 0)
        return;
    if (goes_on(name, nearest->wanted))
        distance = smaller(distance, near_enough(nearest->wanted));
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->found = name;
    }
}
