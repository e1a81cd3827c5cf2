/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Credentials: files that a grant of their directory does not include
 *
 * A home contains keys, tokens, histories, sockets of services that act for the user, and startup
 * files, which the host executes later. A grant from the command line or of the working directory
 * does not include them, unless it names the entry or a path in it. They are no denials: a rule of
 * a policy that allows one shows it.
 *
 * An entry is a path below a home, a runtime directory or the root, never a name: a project's own
 * ".npmrc" is no credential. It means its path and everything below it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct arena;
struct sbx_error;

enum credential_kind {
	CREDENTIAL_SECRET = 1 << 0,  /* not shown */
	CREDENTIAL_STARTUP = 1 << 1, /* the host executes it, or a program that it names: not
					written where the home is writable */
	CREDENTIAL_SOCKET = 1 << 2,  /* not shown: a service behind it acts outside */
};

enum credential_table {
	CREDENTIALS_OF_HOME,
	CREDENTIALS_OF_RUNTIME, /* $XDG_RUNTIME_DIR */
	CREDENTIALS_OF_ROOT,
	N_CREDENTIAL_TABLES
};

/* Where a table's entries are; or, with kinds, an entry itself. */
struct credential_place {
	const char *path; /* absolute, normal and without links */
	enum credential_table table;
	const char *prefix; /* only rows that begin with it count, and their path here is without
			       it: ".config/" at $XDG_CONFIG_HOME; "": all rows */
	unsigned kinds;	    /* not 0: the path is an entry, and has no table */
};

struct credential_list {
	const struct credential_place *places;
	size_t n_places;
	const char *home; /* the caller's, for messages; or NULL */
};

struct credential {
	const char *path; /* without links up to the directory that its place is */
	unsigned kinds;
};

/* Pure. The entries that lie in @path (not those that are @path or contain it); 0 or -ENOMEM. */
int credentials_below(const struct credential_list *list, const char *path, struct arena *arena,
		      const struct credential **ret, size_t *ret_n);
/* The entry that @path is or lies in; false where it does in none. */
bool credentials_match(const struct credential_list *list, const char *path, struct arena *arena,
		       struct credential *ret);
/* Homes that are @path or lie in it. */
size_t credentials_count_homes(const struct credential_list *list, const char *path);

/*
 * The places of this process: $HOME and the home that /etc/passwd has for @uid,
 * for root of every account; the XDG directories; $SSH_AUTH_SOCK. 0 or negative errno with @err.
 */
int credentials_find(char *const *environment, uid_t uid, struct arena *arena,
		     struct credential_list *ret, struct sbx_error *err);
/* The same with the accounts of @passwd, which it cuts into fields; NULL: none. 0 or -ENOMEM. */
int credentials_find_in(char *passwd, char *const *environment, uid_t uid, struct arena *arena,
			struct credential_list *ret);
