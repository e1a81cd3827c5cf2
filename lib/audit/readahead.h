/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Large reads of a database that is read from its begin to its end
 */

#include <sqlite3.h>

struct readahead;

/*
 * Puts itself between SQLite and the main file of @db, which is open to be read only. 0 or
 * negative errno. Free it when @db is closed.
 */
int readahead_new(sqlite3 *db, struct readahead **ret);
struct readahead *readahead_free(struct readahead *readahead);
