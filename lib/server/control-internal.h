/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the files of the control packets share
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/tree.h"

struct question;
struct sbx_error;

struct control {
	struct question *question;
	const struct tree *tree;
	struct json_writer json; /* the answer, behind {"ok":true */
	bool is_recorded;	 /* a failure is, by who failed */
};

/* The text under @key; NULL where there is none. -EINVAL for another type. */
int control_text(const struct control *control, const char *key, const char **ret,
		 struct sbx_error *err);
/* The same for a whole number; *@ret stays as it is where there is none. */
int control_number(const struct control *control, const char *key, uint64_t *ret,
		   struct sbx_error *err);

typedef int control_fn(struct control *control, struct sbx_error *err);
control_fn control_token_issue;
control_fn control_token_check;
control_fn control_token_revoke;
control_fn control_token_list;
