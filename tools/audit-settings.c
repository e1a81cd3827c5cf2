/* SPDX-License-Identifier: MIT */

/*
 * What the policy in force says about the log: the section audit of it
 *
 * Every verb that writes follows it, because every one of them may take in what waits in the spool,
 * and what it cuts out of a record must not depend on which verb came first. A policy that cannot
 * be read stops them: a secret in the chain stays there.
 */

#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sbx/error.h>

#include "policy/load.h"
#include "policy/model.h"

#define POLICY_PATH "/etc/sbx/policy.yaml"

void settings_deinit(struct audit_settings *settings)
{
	free(settings->patterns);
	settings->policy = policy_free(settings->policy);
}

/* The list's length stands in itself, its items behind it. */
static int read_patterns(struct audit_settings *settings, struct sbx_error *err)
{
	const struct setting *list = policy_get_setting(settings->policy, "audit.redact");
	char path[sizeof("audit.redact[]") + 20];

	if (!list || list->number == 0)
		return 0;
	settings->patterns = calloc(list->number, sizeof(*settings->patterns));
	if (!settings->patterns)
		return sbx_error_what(err, -ENOMEM, "cannot read what the policy says");
	for (uint64_t i = 0; i < list->number; i++) {
		const struct setting *item;

		(void)snprintf(path, sizeof(path), "audit.redact[%llu]", (unsigned long long)i);
		item = policy_get_setting(settings->policy, path);
		if (item)
			settings->patterns[settings->n_patterns++] = item->text;
	}
	return 0;
}

static uint64_t number_of(const struct audit_settings *settings, const char *path)
{
	const struct setting *setting = policy_get_setting(settings->policy, path);

	return setting ? setting->number : 0;
}

int settings_read(const struct audit_values *values, struct audit_settings *ret,
		  struct sbx_error *err)
{
	const char *path = values->policy ? values->policy : POLICY_PATH;
	const struct setting *rotation;
	int r;

	*ret = (struct audit_settings){ .policy = NULL };
	if (!values->policy && access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	r = policy_load_file(AT_FDCWD, path, &ret->policy, err);
	if (r < 0)
		return r;
	ret->keep_originals = number_of(ret, "audit.keep_originals") != 0;
	ret->retention_days = number_of(ret, "audit.retention_days");
	ret->max_size = number_of(ret, "audit.max_size");
	rotation = policy_get_setting(ret->policy, "audit.rotation");
	ret->rotation = rotation ? rotation->text : NULL;
	return read_patterns(ret, err);
}
