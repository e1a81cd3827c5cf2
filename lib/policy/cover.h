/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Covers: paths at which a sandbox has other files than the rules around them are about
 *
 * A mount hides the host's files, and a tmpfs hides them all; what is shown of the host inside a
 * tmpfs is a cover of that.
 */

#include <stdbool.h>
#include <stddef.h>

struct composer;

struct cover {
	size_t number;	  /* number of its rule */
	const char *path; /* before links are resolved */
	bool is_of_host;  /* the host's own files, which other grants may also show; it only counts
			     as a cover if the rules around it are about a tmpfs */
	bool is_tmpfs;
	bool adds; /* the operations of covers around it that show the host's files apply, too */
};

void cover_add(struct composer *composer, struct cover cover);
/* When all rules are known: adds denials for the paths of covers, and exceptions to the grants of
 * tmpfs. */
void covers_apply(struct composer *composer);
