/* SPDX-License-Identifier: MIT */

/* sbx-policy merge, print, schema and compile: convert a policy to other forms */

#include "policy.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "policy/compose.h"
#include "policy/keys.h"

#include "tool.h"

static int print_policy(struct tool_run *run, const struct policy *policy, struct sbx_error *err)
{
	const struct rule *rule = policy_find_unprintable(policy);
	const char *file = rule ? policy->sources[rule->place.source].name : NULL;
	int r;

	if (rule) {
		(void)error_fill(
			err, -EINVAL,
			"what a project's file allows counts only where the files above it "
			"allow it as well, and one file cannot say that",
			NULL, "%s:%u:%u: rule '%s' cannot be printed", file, rule->place.at.line,
			rule->place.at.column, rule->name);
		error_fix_word(err, "use the files as they are: sbx-policy eval --project-file ",
			       file, "");
		return TOOL_USAGE;
	}
	r = run->json ? policy_print_json(policy, &run->out) : policy_print(policy, &run->out);

	return r < 0 ? sbx_error_what(err, r, "cannot print the policy") : TOOL_YES;
}

/* The files, and their digests, from which a policy was merged. */
static void add_origins(struct text *out, const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_sources; i++) {
		const struct policy_source *source = &policy->sources[i];

		text_add(out, "# from ");
		text_add_visible_string(out, source->name);
		text_add(out, source->narrows ? ", which only narrows, sha256 " : ", sha256 ");
		text_add_hex(out, source->digest, DIGEST_SIZE);
		text_add_char(out, '\n');
	}
}

int policy_verb_merge(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct policy_values *values = run->values;
	_cleanup_policy_ struct policy *policy = NULL;
	/* The last operand is the policy; those before it are its layers. */
	struct policy_values layered = {
		.layers = { (const char **)operands, (size_t)n_operands - 1 },
		.project_file = values->project_file,
	};
	int r = policy_check_stdin(values, (size_t)n_operands, operands, false, err);

	if (r >= 0)
		r = judge_load(operands[n_operands - 1], &layered, &policy, err);
	if (r < 0)
		return policy_bad_input(r);
	if (!run->json && !policy_find_unprintable(policy))
		add_origins(&run->out, policy);
	return print_policy(run, policy, err);
}

int policy_verb_print(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_policy_ struct policy *policy = NULL;
	int r = policy_check_stdin(run->values, 1, operands, false, err);

	if (r >= 0)
		r = judge_load(operands[0], run->values, &policy, err);
	return r < 0 ? policy_bad_input(r) : print_policy(run, policy, err);
}

int policy_verb_schema(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;

	policy_add_schema(&run->out);
	return TOOL_YES;
}

/* A compiled policy cannot contain extension programs: without them it would allow more than the
 * text. */
static int refuse_extensions(const char *path, const struct policy *policy, struct sbx_error *err)
{
	int r;

	if (policy->n_extensions == 0)
		return 0;
	r = sbx_error_what(err, -EINVAL, "cannot compile '%s'", path);
	sbx_error_why(err, "the program of its extension '%s' would be lost",
		      policy->extensions[0].name);
	sbx_error_fix(err, "use the text as it is, or take 'extensions' out of it");
	return r;
}

static int compile(const char *path, const struct policy_values *values, void **ret_block,
		   size_t *ret_n_block, struct sbx_error *err)
{
	_cleanup_policy_ struct policy *policy = NULL;
	int r = judge_load(path, values, &policy, err);

	if (r < 0)
		return r;
	r = refuse_extensions(path, policy, err);
	if (r < 0)
		return r;
	return policy_compile_composed(policy, NULL, path_follow, ret_block, ret_n_block, err);
}

int policy_verb_compile(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct policy_values *values = run->values;
	bool to_stdout = !values->output || strcmp(values->output, "-") == 0;
	_cleanup_free_ void *block = NULL;
	size_t n_block = 0;
	int r;

	if (to_stdout && isatty(STDOUT_FILENO)) {
		(void)error_fill(err, -EINVAL, "it is not text",
				 "name a file with --output=FILE, or redirect the output",
				 "cannot write a compiled policy to a terminal");
		return TOOL_USAGE;
	}
	r = policy_check_stdin(values, 1, operands, false, err);
	if (r < 0)
		return policy_bad_input(r);
	r = compile(operands[0], values, &block, &n_block, err);
	if (r < 0)
		return policy_bad_input(r);
	if (to_stdout)
		text_add_bytes(&run->out, block, n_block);
	else
		r = file_replace(AT_FDCWD, values->output, block, n_block, 0644, err);
	return r < 0 ? r : TOOL_YES;
}
