/* SPDX-License-Identifier: MIT */

/*
 * There is room for the next power of two: no other number has to be kept, and n additions copy
 * fewer than 2n elements
 */

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int array_add(void *items, size_t *n, const void *item, size_t size)
{
	void *array, *longer;

	/* As bytes: @items is the address of a pointer of another type. */
	memcpy(&array, items, sizeof(array));
	if ((*n & (*n - 1)) == 0) {
		longer = reallocarray(array, *n > 0 ? 2 * *n : 1, size);
		if (!longer)
			return -ENOMEM;
		array = longer;
		memcpy(items, &array, sizeof(array));
	}
	memcpy((char *)array + *n * size, item, size);
	(*n)++;
	return 0;
}
