/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Handing the spools of root and of services over to the user who keeps the log
 *
 * That user may read none of them, and needs no capability to: root moves each file into a
 * directory of that user, and gives it to it. The name says whose file it was (audit/claim.h), so a
 * service that has been taken over can lie about itself only.
 */

#include <stdint.h>

struct sbx_error;

struct gather_options {
	int state;   /* spools are below it, in NAME/sbx/spool: /var/lib/sbx */
	int staging; /* our own spool, and nobody else's; on the same file system */
	int inbox;   /* of the user who keeps the log; may be the same directory as staging */
};

/*
 * Where the inbox is our own spool, that one stays as it is: the log takes it in itself. A spool
 * that others could have written to is left alone and told of; the others are moved all the same.
 * 0 or the first negative errno; *@ret_n_files is set in any case.
 */
int audit_gather(const struct gather_options *options, uint64_t *ret_n_files,
		 struct sbx_error *err);
