/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Credentials: files that a grant of their directory does not include
 *
 * A home contains keys, tokens, histories, sockets of services that act for the user, and startup
 * files, which the host executes later. A grant from the command line or of the working directory
 * does not include these, unless it names the entry or a path in it. They are not denials: a rule
 * of a policy can allow one.
 *
 * An entry is a path below a home, a runtime directory or the root, never a bare name: a project's
 * own ".npmrc" is not a credential. It stands for its path and everything below it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct arena;
struct sbx_error;

enum credential_kind {
	CREDENTIAL_SECRET = 1 << 0,  /* must not be visible */
	CREDENTIAL_STARTUP = 1 << 1, /* the host executes it, or a program that it names: must not
					be writable in a writable home */
	CREDENTIAL_SOCKET = 1 << 2,  /* must not be visible: the service that listens there acts
					outside the sandbox */
};

enum credential_table {
	CREDENTIALS_OF_HOME,
	CREDENTIALS_OF_RUNTIME, /* $XDG_RUNTIME_DIR */
	CREDENTIALS_OF_ROOT,
	N_CREDENTIAL_TABLES
};

/* A directory to which a table applies; or, with kinds, an entry itself. */
struct credential_place {
	const char *path; /* absolute, normal and without symbolic links */
	enum credential_table table;
	const char *prefix; /* only rows with this prefix apply, and without it: ".config/" for
			       $XDG_CONFIG_HOME; "": all rows */
	unsigned kinds;	    /* nonzero: the path is an entry and has no table */
};

struct credential_list {
	const struct credential_place *places;
	size_t n_places;
	const char *home; /* the caller's home, for messages; or NULL */
};

struct credential {
	const char *path; /* without symbolic links up to its place */
	unsigned kinds;
};

/* Pure. Finds the entries below @path (not those that equal or contain it); 0 or -ENOMEM. */
int credentials_below(const struct credential_list *list, const char *path, struct arena *arena,
		      const struct credential **ret, size_t *ret_n);
/* Finds the entry that equals or contains @path; false if none does. */
bool credentials_match(const struct credential_list *list, const char *path, struct arena *arena,
		       struct credential *ret);
/* The number of homes that equal @path or lie in it. */
size_t credentials_count_homes(const struct credential_list *list, const char *path);

/*
 * Finds the places of this process: $HOME and the home of @uid in /etc/passwd, for root of every
 * account; the XDG directories; $SSH_AUTH_SOCK. 0 or negative errno with @err.
 */
int credentials_find(char *const *environment, uid_t uid, struct arena *arena,
		     struct credential_list *ret, struct sbx_error *err);
/* The same with the text of @passwd, which it modifies; NULL: no accounts. 0 or -ENOMEM. */
int credentials_find_in(char *passwd, char *const *environment, uid_t uid, struct arena *arena,
			struct credential_list *ret);
