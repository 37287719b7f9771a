/* What the test programs tell of themselves, one line each:
 *     address NAME ADDRESS
 *     stack NAME IP SP BP BYTES-IN-HEX
 *     maps, and then /proc/self/maps to the end. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the hooks of unspin copy. */
enum { COPIED = 3800 };

static void tell(const char *name, const volatile void *address) {
    printf("address %s %#lx\n", name, (unsigned long)(uintptr_t)address);
}

static void tell_maps(void) {
    static char text[1 << 16];
    FILE *maps = fopen("/proc/self/maps", "r");
    size_t length = fread(text, 1, sizeof text, maps);
    fclose(maps);
    puts("maps");
    fwrite(text, 1, length, stdout);
    fflush(stdout);
}

/* The end of the mapping that holds an address: the copy must not run beyond the stack. */
static uintptr_t end_of_mapping(uintptr_t address) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    unsigned long start = 0, end = 0;
    while (fgets(line, sizeof line, maps) && sscanf(line, "%lx-%lx", &start, &end) == 2 && end <= address) {
    }
    fclose(maps);
    return end;
}

__attribute__((used)) static void probe_told(const char *name, uintptr_t ip, uintptr_t sp, uintptr_t bp) {
    uintptr_t length = end_of_mapping(sp) - sp;
    if (length > COPIED) {
        length = COPIED;
    }
    printf("stack %s %#lx %#lx %#lx ", name, (unsigned long)ip, (unsigned long)sp, (unsigned long)bp);
    for (uintptr_t i = 0; i < length; i++) {
        printf("%02x", ((const volatile unsigned char *)sp)[i]);
    }
    puts("");
}

/* As a hooked function sees its caller: the return address, the stack as it is after the return, and rbp. */
void probe(const char *name);
__asm__(".pushsection .text\n"
        ".type probe, @function\n"
        "probe:\n"
        "    mov (%rsp), %rsi\n"
        "    lea 8(%rsp), %rdx\n"
        "    mov %rbp, %rcx\n"
        "    jmp probe_told\n"
        ".size probe, .-probe\n"
        ".popsection\n");

#ifdef __cplusplus
}
#endif
