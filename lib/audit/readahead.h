/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Large reads of a database that is read sequentially
 */

#include <sqlite3.h>

struct readahead;

/*
 * Hooks into the reads of the main file of @db, which must be open read-only. 0 or negative errno.
 * Free it after @db is closed.
 */
int readahead_new(sqlite3 *db, struct readahead **ret);
struct readahead *readahead_free(struct readahead *readahead);
