/* SPDX-License-Identifier: MIT */
#include "base/hint.h"
#include <string.h>

void sc_hint_label(sc_hint *hint, const char *label, size_t length)
{
    length = sc_text_fitting(label, length, SC_HINT_LABEL_BYTES - 1);
    memcpy(hint->label, label, length);
    hint->label[length] = '\0';
}

bool sc_hint_is_same(const sc_hint *a, const sc_hint *b)
{
    return a->count == b->count && strcmp(a->label, b->label) == 0 &&
           memcmp(a->dims, b->dims, a->count * sizeof(*a->dims)) == 0;
}

void sc_hint_dims(const sc_hint *hint, sc_text *text)
{
    for (unsigned i = 0; i < hint->count; i++) {
        if (i > 0)
            sc_text_char(text, 'x');
        sc_text_u64(text, hint->dims[i]);
    }
}
