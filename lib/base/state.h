/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The directory in which the programs of a user keep their state
 */

#include <sys/types.h>

struct text;

#define STATE_BELOW_HOME "/.local/state"

enum state_place {
	STATE_OF_ENVIRONMENT, /* root's, that of XDG_STATE_HOME, or in HOME */
	STATE_OF_ACCOUNT,     /* in the home that /etc/passwd has for the user */
	STATE_FALLBACK,	      /* in the runtime directory, until the next boot */
};

/*
 * Adds /var/lib for root. For others the first that can be used of $XDG_STATE_HOME,
 * $HOME/.local/state, ~/.local/state of the user's account, $XDG_RUNTIME_DIR/sbx/state and
 * /tmp/sbx-UID/state. An XDG_STATE_HOME that is an absolute path is taken in any case; a home only
 * if the caller may write there. A value of enum state_place, or -ENOMEM.
 */
int state_find(struct text *out, char *const *environment, uid_t uid);
/* The same with another file in place of /etc/passwd. */
int state_find_by(struct text *out, char *const *environment, uid_t uid, const char *accounts);

/*
 * Makes the parent of a STATE_FALLBACK and checks that it belongs to the caller and that no other
 * user may write there: /tmp is open to all, so another user may have made it first. 0, or negative
 * errno: -EPERM where it is another's.
 */
int state_make_fallback(const char *path);
