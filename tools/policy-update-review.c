/* SPDX-License-Identifier: MIT */

/*
 * The review that every new policy needs
 *
 * A person on a terminal answers "yes". A script approves with --yes, and only together with the
 * digest of what it has seen, so that it cannot approve what somebody put there since. Where more
 * than a few recorded requests would be answered worse than before, the number has to be typed.
 */

#include "policy-update.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/fd.h"

#include "tool.h"

#define BREAKING_WITHOUT_PHRASE 5

static int refuse(struct sbx_error *err, int status, const char *path, const char *why,
		  const char *fix)
{
	(void)sbx_error_what(err, -EPERM, "the policy at '%s' stays as it is", path);
	sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return status;
}

bool review_ask(const char *question, char *answer, size_t size)
{
	size_t n = 0;
	char byte;

	(void)fd_write_all(STDERR_FILENO, question, strlen(question));
	while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n')
		if (n + 1 < size)
			answer[n++] = byte;
		else
			n = size; /* too long to be any of the answers */
	answer[n < size ? n : 0] = '\0';
	return byte == '\n';
}

static int review_by_script(const struct update *update, const char *phrase, struct sbx_error *err)
{
	const struct policy_values *values = update->values;

	if (!values->expect_digest)
		return refuse(err, TOOL_USAGE, update->path,
			      "--yes alone would approve whatever is there now",
			      "add --expect-digest=HEX with the SHA-256 of the file that was "
			      "reviewed");
	if (strcmp(values->expect_digest, update->digest) != 0)
		return refuse(err, TOOL_NO, update->path,
			      "the new policy is not the one that was reviewed: its digest differs",
			      "look at it again, and give the digest of what you saw");
	if (phrase[0] != '\0' && (!values->confirm || strcmp(values->confirm, phrase) != 0)) {
		(void)refuse(err, TOOL_REVIEW, update->path, "it breaks too much", "");
		sbx_error_why(err, "%zu recorded requests would no longer be allowed",
			      update->replay.n_breaking);
		sbx_error_fix(err, "if that is meant, add --confirm='%s'", phrase);
		return TOOL_REVIEW;
	}
	return TOOL_YES;
}

static int review_by_person(const struct update *update, const char *phrase, struct sbx_error *err)
{
	const char *wanted = phrase[0] != '\0' ? phrase : "yes";
	_cleanup_text_ struct text question = TEXT_INIT;
	char answer[64];

	text_addf(&question, "Put this policy into force at '%s'? Type '%s': ", update->path,
		  wanted);
	if (review_ask(text_string(&question), answer, sizeof(answer)) &&
	    strcmp(answer, wanted) == 0)
		return TOOL_YES;
	return refuse(err, TOOL_NO, update->path, "it was not approved",
		      "run it again, and type exactly what it asks for");
}

int update_review(const struct update *update, struct sbx_error *err)
{
	char phrase[64] = "";

	if (update->replay.n_breaking > BREAKING_WITHOUT_PHRASE)
		(void)snprintf(phrase, sizeof(phrase), "apply %zu breaking",
			       update->replay.n_breaking);
	if (update->values->yes)
		return review_by_script(update, phrase, err);
	if (isatty(STDIN_FILENO))
		return review_by_person(update, phrase, err);
	return refuse(err, TOOL_REVIEW, update->path,
		      "it needs a review, and there is no terminal to ask on",
		      "run it on a terminal, or add --yes and --expect-digest=HEX");
}
