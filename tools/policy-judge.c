/* SPDX-License-Identifier: MIT */

/*
 * A policy that is ready to evaluate requests
 *
 * A text is loaded, merged with its layers and compiled in memory; a compiled file is checked and
 * used directly. From there on both are the same, so that no answer depends on the form. The file
 * is read and not mapped: otherwise an attacker with write access could change it after the check.
 */

#include "policy.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "extension/extension.h"
#include "policy/compose.h"
#include "policy/view.h"

#include "tool.h"

#define POLICY_BYTES_MAX (256 * 1024 * 1024)

int policy_bad_input(int r)
{
	return r == -ENOMEM ? r : TOOL_USAGE;
}

static bool is_stdin(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

int policy_check_stdin(const struct policy_values *values, size_t n_files, char *const files[],
		       bool reads_requests, struct sbx_error *err)
{
	size_t n = reads_requests + is_stdin(values->project_file) + is_stdin(values->replay) +
		   is_stdin(values->from);

	for (size_t i = 0; i < n_files; i++)
		n += is_stdin(files[i]);
	for (size_t i = 0; i < values->layers.n_items; i++)
		n += is_stdin(values->layers.items[i]);
	if (n <= 1)
		return 0;
	return error_fill(err, -EINVAL,
			  reads_requests ? "the requests are read from it, and a file is '-'"
					 : "more than one file is '-'",
			  "save it to a file, and name that", "standard input can be used once");
}

void judge_close(struct judge *judge)
{
	for (size_t i = 0; judge->extensions && i < judge->policy->n_extensions; i++)
		judge->extensions[i] = extension_free(judge->extensions[i]);
	free(judge->extensions);
	free(judge->votes);
	arena_deinit(&judge->arena);
	arena_deinit(&judge->places_arena);
	judge->engine = policy_engine_free(judge->engine);
	judge->policy = policy_free(judge->policy);
	free(judge->bytes);
	free(judge->block);
	free(judge->project);
	text_deinit(&judge->request_json);
	text_deinit(&judge->note);
	*judge = (struct judge){ .policy = NULL };
}

int judge_read(const char *path, char **ret_bytes, size_t *ret_n_bytes, struct sbx_error *err)
{
	const char *name;

	return file_read_operand(AT_FDCWD, path, POLICY_BYTES_MAX, &name, ret_bytes, ret_n_bytes,
				 err);
}

static bool has_layers(const struct policy_values *values)
{
	return values && (values->layers.n_items > 0 || values->project_file);
}

static int refuse_compiled(const char *path, const char *why, struct sbx_error *err)
{
	return error_fill(err, -EINVAL, why, "name the file that it was compiled from",
			  "cannot use the compiled policy '%s' here", path);
}

static int load_text(const char *path, const char *bytes, size_t n_bytes, struct policy **ret,
		     struct sbx_error *err)
{
	if (artefact_has_magic(bytes, n_bytes))
		return refuse_compiled(path, "the text of its rules is not in it", err);
	return policy_load(strcmp(path, "-") == 0 ? "<stdin>" : path, bytes, n_bytes, ret, err);
}

static int load_layer(const char *path, struct policy **ret, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	int r = judge_read(path, &bytes, &n_bytes, err);

	return r < 0 ? r : load_text(path, bytes, n_bytes, ret, err);
}

/* Merges the layers, then @policy (taken over, even on failure), then the project's file. */
static int add_layers(struct policy *policy, const struct policy_values *values,
		      struct policy **ret, struct sbx_error *err)
{
	size_t n_layers = values->layers.n_items, n = 0;
	_cleanup_policy_ struct policy *named = policy;
	_cleanup_free_ struct policy **all = calloc(n_layers + 2, sizeof(*all));
	int r = 0;

	if (!all)
		return sbx_error_what(err, -ENOMEM, "cannot load the policy");
	while (r >= 0 && n < n_layers) {
		r = load_layer(values->layers.items[n], &all[n], err);
		n += r >= 0;
	}
	if (r >= 0) {
		all[n++] = take_ptr(named);
		if (values->project_file) {
			r = load_layer(values->project_file, &all[n], err);
			n += r >= 0;
		}
	}
	if (r >= 0)
		return policy_merge(all, n, values->project_file != NULL, ret, err);
	for (size_t i = 0; i < n; i++)
		(void)policy_free(all[i]);
	return r;
}

static int load_all(const char *path, const char *bytes, size_t n_bytes,
		    const struct policy_values *values, struct policy **ret, struct sbx_error *err)
{
	struct policy *policy = NULL;
	int r = load_text(path, bytes, n_bytes, &policy, err);

	if (r < 0)
		return r;
	if (has_layers(values))
		return add_layers(policy, values, ret, err);
	*ret = policy;
	return 0;
}

int judge_load(const char *path, const struct policy_values *values, struct policy **ret,
	       struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	int r = judge_read(path, &bytes, &n_bytes, err);

	return r < 0 ? r : load_all(path, bytes, n_bytes, values, ret, err);
}

/* Denies the policy's own files and the user's guarded paths, whatever the rules say. */
static int guard(struct judge *judge, const char *path, const struct policy_values *values)
{
	size_t n_layers = values ? values->layers.n_items : 0, n = 0;
	_cleanup_free_ const char **files = calloc(n_layers + 2, sizeof(*files));
	int r;

	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < n_layers; i++)
		files[n++] = values->layers.items[i];
	files[n++] = path;
	if (values && values->project_file)
		files[n++] = values->project_file;
	r = guarded_find(environ, geteuid(), files, n, &judge->arena, &judge->guarded);
	if (r == 0)
		policy_engine_guard(judge->engine, &judge->guarded);
	return r;
}

static int compile(struct judge *judge, const char *path, const struct policy_values *values,
		   size_t n_bytes, struct sbx_error *err)
{
	size_t n_block = 0;
	int r;

	if (artefact_has_magic(judge->bytes, n_bytes)) {
		if (has_layers(values))
			return refuse_compiled(path, "layers are joined before they are compiled",
					       err);
		return artefact_open(judge->bytes, n_bytes, &judge->artefact, err);
	}
	r = load_all(path, judge->bytes, n_bytes, values, &judge->policy, err);
	if (r < 0)
		return r;
	r = policy_compile_composed(judge->policy, NULL, path_follow, &judge->block, &n_block, err);
	return r < 0 ? r : artefact_open(judge->block, n_block, &judge->artefact, err);
}

static int prepare(struct judge *judge, const char *path, const struct policy_values *values)
{
	size_t n_extensions = judge->policy ? judge->policy->n_extensions : 0;
	int r = policy_engine_new(&judge->artefact, &judge->engine);

	if (r < 0)
		return r;
	if (n_extensions > 0) {
		judge->votes = calloc(n_extensions, sizeof(*judge->votes));
		judge->extensions = calloc(n_extensions, sizeof(struct extension *));
		if (!judge->votes || !judge->extensions)
			return -ENOMEM;
	}
	return guard(judge, path, values);
}

static int read_and_prepare(struct judge *judge, const char *path,
			    const struct policy_values *values, struct sbx_error *err)
{
	size_t n_bytes = 0;
	int r = judge_read(path, &judge->bytes, &n_bytes, err);

	if (r < 0)
		return r;
	r = compile(judge, path, values, n_bytes, err);
	if (r < 0)
		return r;
	r = prepare(judge, path, values);
	return r < 0 ? sbx_error_what(err, r, "cannot prepare the policy '%s'", path) : 0;
}

int judge_open(const char *path, const struct policy_values *values, struct judge *ret,
	       struct sbx_error *err)
{
	/* Do not move it when it is open: the engine points to its artefact. */
	struct judge *judge = ret;
	int r;

	*judge = (struct judge){ .policy = NULL };
	r = read_and_prepare(judge, path, values, err);
	if (r < 0)
		judge_close(judge);
	return r;
}

/* Does a relative path of the list lead through a link? A pattern is not a path. */
static bool has_links(const struct match_list *list, const char *project)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < list->n_values; i++) {
		const char *text = list->values[i].text;
		int n;

		text += !list->values[i].literal && text[0] == '!';
		n = snprintf(path, sizeof(path), "%s/%s", project, text);
		for (; n > 0 && n < PATH_MAX && (path[n - 1] == '*' || path[n - 1] == '/'); n--)
			path[n - 1] = '\0';
		if (text[0] != '/' && n > 0 && n < PATH_MAX && !path_has_no_links(path))
			return true;
	}
	return false;
}

static bool depends_on_project(const struct policy *policy, const char *project)
{
	struct policy_mount mount;
	bool depends = view_names_project_absolutely(policy, project) ||
		       policy_get_mount(policy, 0, &mount);

	for (size_t i = 0; i < policy->n_rules && !depends; i++) {
		const struct rule *rule = &policy->rules[i];

		depends = has_links(&rule->match.lists[MATCH_PATH], project);
		for (size_t k = 0; k < rule->n_exceptions && !depends; k++)
			depends = has_links(&rule->exceptions[k].lists[MATCH_PATH], project);
	}
	return depends;
}

static int compile_for(struct judge *judge, const char *project, struct sbx_error *err)
{
	_cleanup_free_ char *kept = project ? strdup(project) : NULL;
	_cleanup_free_ void *block = NULL;
	size_t n_block = 0;
	int r;

	if (project && !kept)
		return -ENOMEM;
	r = policy_compile_composed(judge->policy, project, path_follow, &block, &n_block, err);
	if (r < 0)
		return r;
	judge->engine = policy_engine_free(judge->engine);
	free(judge->block);
	free(judge->project);
	judge->block = take_ptr(block);
	judge->project = take_ptr(kept);
	r = artefact_open(judge->block, n_block, &judge->artefact, err);
	if (r < 0)
		return r;
	r = policy_engine_new(&judge->artefact, &judge->engine);
	if (r < 0)
		return r;
	policy_engine_guard(judge->engine, &judge->guarded);
	return 0;
}

int judge_adapt(struct judge *judge, const struct policy_request *request, struct sbx_error *err)
{
	const char *project = request->project_root;
	int r;

	if (!judge->policy || !project || !path_is_normal(project) ||
	    (judge->project && strcmp(judge->project, project) == 0))
		return 0;
	if (!depends_on_project(judge->policy, project))
		project = NULL;
	if (!project && !judge->project)
		return 0;
	r = compile_for(judge, project, err);
	return r < 0 ? sbx_error_what(err, r, "cannot compile the policy for this project") : 0;
}

/* A program that cannot be started denies, like one that does not answer. */
static void ask(struct judge *judge, size_t i, const struct extension_program *program)
{
	struct policy_vote *vote = &judge->votes[i];

	if (judge->extensions[i] ||
	    extension_new(program->name, program->argv, &judge->extensions[i], NULL) >= 0) {
		extension_ask(judge->extensions[i], text_string(&judge->request_json),
			      judge->request_json.len, vote);
		return;
	}
	*vote = (struct policy_vote){ .extension = program->name,
				      .action = POLICY_DENY,
				      .reason = "it cannot be started" };
}

void judge_decide(struct judge *judge, const struct request_buffer *request,
		  struct policy_decision *ret)
{
	size_t n_extensions = judge->policy ? judge->policy->n_extensions : 0;

	policy_decide(judge->engine, &request->request, ret);
	if (n_extensions == 0 || !policy_wants_votes(ret))
		return;
	text_reset(&judge->request_json);
	request_add_json(&judge->request_json, request);
	for (size_t i = 0; i < n_extensions; i++)
		ask(judge, i, &judge->policy->extensions[i]);
	policy_add_votes(ret, judge->votes, n_extensions);
}

int judge_status(const struct policy_decision *decision)
{
	return decision->cause == CAUSE_BAD_REQUEST ? TOOL_USAGE
						    : decision_status(decision->verdict);
}
