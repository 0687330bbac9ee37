/* SPDX-License-Identifier: MIT
 * start.c - where the tool begins, on a C library older than the one it was linked with too.
 *
 * Since glibc 2.34 the start code asks for a new version of __libc_start_main, which an older
 * system refuses before the first instruction. The old version is still there and does the same for
 * a program without constructors, which this is. The linker sends the start code's call through
 * here (--wrap). */

typedef int main_function(int count, char **arguments, char **environment);

int start_main(main_function *main, int count, char **arguments, void (*init)(void),
               void (*fini)(void), void (*loader_fini)(void), void *stack_end);
int __wrap___libc_start_main(main_function *main, int count, char **arguments, void (*init)(void),
                             void (*fini)(void), void (*loader_fini)(void), void *stack_end);

#if defined(__x86_64__)
__asm__(".symver start_main, __libc_start_main@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver start_main, __libc_start_main@GLIBC_2.17");
#endif

int __wrap___libc_start_main(main_function *main, int count, char **arguments, void (*init)(void),
                             void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
    return start_main(main, count, arguments, init, fini, loader_fini, stack_end);
}
