/* SPDX-License-Identifier: MIT */

/*
 * Warnings: the table of their kinds, and the order in which a policy is looked through
 *
 * A warning is only given where it is certain: whoever is warned once without reason does not read
 * the next one. The order of the rows is the number in the code, so rows are only ever added at the
 * end.
 */

#include "policy/check-internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"

static const struct policy_warning_kind kinds[] = {
	[CHECK_EMPTY_LIST] = { "W01", "an empty list, which never matches" },
	[CHECK_ALWAYS_EXCEPTED] = { "W02", "an exception that cancels the whole rule" },
	[CHECK_NEVER] = { "W03", "a rule that can never apply" },
	[CHECK_PARTLY_NEVER] = { "W04", "a part of a rule that can never apply" },
	[CHECK_DENIED] = { "W05", "an allow that lies wholly under a deny" },
	[CHECK_SHADOWED] = { "W06", "a rule that another one makes superfluous" },
	[CHECK_GLUED_FLOAT] = { "W07", "'**' beside other characters, where it is only '*'" },
	[CHECK_BROKER] = { "W08",
			   "a rule that the kernel alone cannot enforce: it needs the broker" },
	[CHECK_SERVICE] = { "W09", "a rule that only a tool which asks can enforce" },
	[CHECK_EVERYTHING] = { "W10", "a rule that allows to write everywhere" },
	[CHECK_PASS] = { "W11", "a rule that changes no answer" },
	[CHECK_LITERAL] = { "W12", "a path with wildcards in it, which are literal" },
	[CHECK_CONSTRAINTS] = { "W13", "constraints of a rule that does not allow" },
	[CHECK_DEFAULT] = { "W14", "a default that the kernel alone cannot enforce" },
	[CHECK_NOT_BELOW] = { "W15", "a deny that covers the directory but not its contents" },
	[CHECK_HOME] = { "W16", "a path that looks like a home directory and is not one" },
	[CHECK_NETWORK] = { "W17", "a network that this release does not have" },
	[CHECK_HOST_NETWORK] = { "W18",
				 "a rule that the network mode host or loopback does not enforce" },
	[CHECK_UNREADABLE] = { "W19", "a program that may be executed and not be read" },
	[CHECK_MOUNT] = { "W20", "a mount that no sandbox can have" },
	[CHECK_SETTING] = { "W21", "a setting that no sandbox can have" },
	[CHECK_PATH] = { "W22", "a denial that neither a mount nor Landlock can enforce" },
	{ NULL, NULL },
};

const struct policy_warning_kind *policy_warning_kinds(void)
{
	return kinds;
}

static void report_warning(struct checker *checker)
{
	if (checker->has_warning)
		checker->report(&checker->warning, checker->userdata);
	checker->has_warning = false;
}

void check_warn(struct checker *checker, enum check_kind kind, struct policy_place place,
		const char *format, ...)
{
	const char *name = checker->policy->sources[place.source].name;
	char text[SBX_ERROR_TEXT_SIZE];
	va_list args;

	report_warning(checker);
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	checker->warning = (struct policy_warning){ .code = kinds[kind].code, .place = place };
	(void)sbx_error_what(&checker->warning.error, 0, "%s:%u:%u: %s", name, place.at.line,
			     place.at.column, text);
	checker->warning.error.level = SBX_LEVEL_WARN;
	checker->has_warning = true;
	checker->n_warnings++;
}

int policy_check(const struct policy *policy,
		 void (*report)(const struct policy_warning *warning, void *userdata),
		 void *userdata)
{
	struct checker checker = { .policy = policy,
				   .net_mode = policy_net_mode(policy),
				   .report = report,
				   .userdata = userdata };
	int r;

	if (check_index_make(policy, &checker.index) < 0)
		return -ENOMEM;
	if (check_readers_make(policy, &checker.readers) < 0) {
		check_index_deinit(&checker.index);
		return -ENOMEM;
	}
	check_defaults(&checker);
	check_network(&checker);
	check_settings(&checker);
	r = check_mounts(&checker);
	check_groups(&checker);
	for (size_t i = 0; r == 0 && i < policy->n_rules; i++) {
		check_rule(&checker, &policy->rules[i]);
		check_paths(&checker, &policy->rules[i]);
		check_enforcement(&checker, &policy->rules[i]);
		check_programs(&checker, &policy->rules[i]);
		check_neighbours(&checker, &policy->rules[i]);
	}
	report_warning(&checker);
	check_readers_deinit(&checker.readers);
	check_index_deinit(&checker.index);
	return r < 0 ? r : checker.n_warnings;
}
