/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Arrays that grow at their end
 *
 * Nothing but ARRAY_ADD() makes such an array longer, and free() frees it. It may become shorter.
 */

#include <stddef.h>

/* Adds a copy of *@item to @items, an array of @n elements of its type. 0, or -ENOMEM: then nothing
 * has changed. */
#define ARRAY_ADD(items, n, item) array_add(&(items), &(n), 1 ? (item) : (items), sizeof(*(items)))

int array_add(void *items, size_t *n, const void *item, size_t size);
