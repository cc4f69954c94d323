/*
 * Memory that is never given back: an instance lives for one call, and all of it goes with it. Takes the place of the C
 * library's allocator, whose lists of free blocks are pages that each fresh instance would touch. It also makes literals safe
 * to return: the generated code frees what it has handed to the host.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 65536, ALIGNMENT = 16 };

extern uint8_t __heap_base;
static uintptr_t next;

void *malloc(size_t size) {
    if (next == 0) {
        next = ((uintptr_t)&__heap_base + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
    }
    uintptr_t start = next, whole;
    if (__builtin_add_overflow(size, (size_t)ALIGNMENT - 1, &whole)) {
        return NULL;
    }
    whole &= ~(uintptr_t)(ALIGNMENT - 1);
    if (__builtin_add_overflow(start, whole, &whole)) {
        return NULL;
    }
    uintptr_t there = __builtin_wasm_memory_size(0) * (uintptr_t)PAGE;
    if (whole > there && __builtin_wasm_memory_grow(0, (whole - there + PAGE - 1) / PAGE) == (size_t)-1) {
        return NULL;
    }
    next = whole;
    return (void *)start;
}

void free(void *block) {
    (void)block;
}

void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    /* Fresh memory is zeroed, and none is used twice. */
    return malloc(bytes);
}

/* Copies as much as may have been there: how long the old block was is not kept, and what lies behind it is memory, too. */
void *realloc(void *block, size_t size) {
    void *fresh = malloc(size);
    if (block != NULL && fresh != NULL) {
        size_t behind = (uintptr_t)fresh - (uintptr_t)block;
        memcpy(fresh, block, size < behind ? size : behind);
    }
    return fresh;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return alignment <= ALIGNMENT ? malloc(size) : NULL;
}
