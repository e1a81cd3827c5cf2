/* SPDX-License-Identifier: MIT */
#pragma once

/* The directory in which the programs of a user store their state */

#include <sys/types.h>

struct text;

#define STATE_BELOW_HOME "/.local/state"

enum state_place {
	STATE_OF_ENVIRONMENT, /* /var/lib (root), $XDG_STATE_HOME, or below $HOME */
	STATE_OF_ACCOUNT,     /* below the home directory in /etc/passwd */
	STATE_FALLBACK,	      /* in the runtime directory, lost at reboot */
};

/*
 * Adds /var/lib for root. For other users the first usable one of $XDG_STATE_HOME,
 * $HOME/.local/state, ~/.local/state of the user's account, $XDG_RUNTIME_DIR/sbx/state and
 * /tmp/sbx-UID/state. An absolute XDG_STATE_HOME is always used; a home directory only if the
 * caller can write there. Returns a value of enum state_place, or -ENOMEM.
 */
int state_find(struct text *out, char *const *environment, uid_t uid);
/* The same, with another file instead of /etc/passwd. */
int state_find_by(struct text *out, char *const *environment, uid_t uid, const char *accounts);

/*
 * Creates the parent of a STATE_FALLBACK and checks that the caller owns it and that no other user
 * can write there: in /tmp another user may have created it first. 0, or negative errno: -EPERM if
 * another user owns it.
 */
int state_make_fallback(const char *path);
