/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Credentials: what a directory contains that nobody means when they grant the directory
 *
 * Keys, tokens, histories and the sockets of services that act for the user lie among the files of
 * a home; what the host executes later (startup files) lies there, too. A grant from the command
 * line or of the working directory loses them, unless it names the entry or something in it. They
 * are no denials: a rule of a policy shows what it allows.
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
	CREDENTIAL_STARTUP = 1 << 1, /* the host executes it or what it says: not written where the
					home is writable */
	CREDENTIAL_SOCKET = 1 << 2,  /* not shown: a service behind it acts outside */
};

struct credential_row {
	const char *path; /* below its place */
	unsigned kinds;	  /* enum credential_kind */
};

/* Which table a place has. */
enum credential_table {
	CREDENTIALS_OF_HOME,
	CREDENTIALS_OF_RUNTIME, /* $XDG_RUNTIME_DIR */
	CREDENTIALS_OF_ROOT,
	N_CREDENTIAL_TABLES
};

const struct credential_row *credential_rows(enum credential_table table, size_t *ret_n);

/* Where a table's entries are; or, with kinds, an entry itself. */
struct credential_place {
	const char *path; /* absolute, normal and without links */
	enum credential_table table;
	const char *prefix; /* of the rows that count, which is not in their path here: ".config/"
			       at $XDG_CONFIG_HOME; "": all rows */
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
 * credentials-find.c: the places of this process: $HOME and the home that /etc/passwd has for @uid,
 * for root of every account; the XDG directories; $SSH_AUTH_SOCK. 0 or negative errno with @err.
 */
int credentials_find(char *const *environment, uid_t uid, struct arena *arena,
		     struct credential_list *ret, struct sbx_error *err);
/* The same with the accounts of @passwd. */
int credentials_find_in(const char *passwd, char *const *environment, uid_t uid,
			struct arena *arena, struct credential_list *ret);
