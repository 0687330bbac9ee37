/* SPDX-License-Identifier: MIT
 * bootstrap.S - the exported dlsym: see bootstrap.h. */
#if !defined(__x86_64__) || defined(__ILP32__)
#error "hooks/bootstrap.S is written for x86-64 (LP64); another machine needs its own dlsym stub"
#endif

#if defined(__has_include)
#if __has_include(<cet.h>)
#include <cet.h>
#endif
#endif
#ifndef _CET_ENDBR
#define _CET_ENDBR
#endif

    .text
    .globl dlsym
    .type dlsym, @function
    .globl sc_dlsym_entry
    .hidden sc_dlsym_entry
    .type sc_dlsym_entry, @function
    .p2align 4
dlsym:
sc_dlsym_entry:
    .cfi_startproc
    _CET_ENDBR
    leaq 1(%rdi), %rax /* RTLD_NEXT, -1, becomes 0; RTLD_DEFAULT, 0, becomes 1 */
    cmpq $1, %rax
    jbe .Lforward
    testq %rsi, %rsi
    jz .Lforward
    cmpb $'c', (%rsi)
    jne .Lforward
    cmpb $'u', 1(%rsi)
    jne .Lforward
    movzbl 2(%rsi), %eax
    subl $'A', %eax
    cmpl $25, %eax
    ja .Lforward
    jmp sc_dlsym_named
.Lforward:
    movq sc_dlsym_target(%rip), %rax
    testq %rax, %rax
    jz .Lfirst
    jmp *%rax
.Lfirst:
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call sc_dlsym_next
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    jz .Lnone
    jmp *%rax
.Lnone:
    xorl %eax, %eax
    ret
    .cfi_endproc
    .size dlsym, .-dlsym
    .size sc_dlsym_entry, .-sc_dlsym_entry

    .section .note.GNU-stack,"",@progbits
