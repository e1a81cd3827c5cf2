/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A policy of several files; its canonical text
 */

#include <stddef.h>

struct policy;
struct rule;
struct sbx_error;
struct text;

/*
 * Joins @policies (which it takes over, also on failure) in the order system, user, project. Rules
 * are all kept: severity decides, not order. Defaults: of those that files give, deny wins; one
 * that the first file does not give is deny, and a later file without it changes nothing. Settings:
 * a later file may only narrow a limit, drop a mount or a device, never widen: -EACCES with both
 * places in @err. Two extensions of one name are -EEXIST.
 *
 * With @last_narrows the last file is a project's own: its allows count only for what the files
 * before it allow as well; it names no extension; and a setting that no file before it has, it may
 * have only where that cannot widen (-EACCES).
 */
int policy_merge(struct policy **policies, size_t n_policies, int last_narrows, struct policy **ret,
		 struct sbx_error *err);

/*
 * Canonical text in our own dialect; loading it gives a policy that decides the same. Where two
 * files use one name for a rule, the second gets a number. -EOPNOTSUPP for a rule that one file
 * cannot express: an allow of a source that only narrows.
 */
int policy_print(const struct policy *policy, struct text *out);
int policy_print_json(const struct policy *policy, struct text *out);
/* The first such rule; NULL where the policy can be printed. */
const struct rule *policy_find_unprintable(const struct policy *policy);
