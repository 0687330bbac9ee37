/* SPDX-License-Identifier: MIT
 * html_files.S - the files of src/cli/html, as they lie there, each from sc_html_NAME on up to
 * sc_html_NAME_end. */
#define FILE(symbol, name)                                                                         \
    .globl sc_html_##symbol;                                                                       \
    .globl sc_html_##symbol##_end;                                                                 \
    sc_html_##symbol: .incbin name;                                                                \
    sc_html_##symbol##_end: .byte 0;
#define SCRIPT FILE
    .section .rodata
#include "cli/html_files.def"
    .section .note.GNU-stack,"",@progbits
