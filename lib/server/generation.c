/* SPDX-License-Identifier: MIT */

/*
 * Loading a policy: files → one model → artefact → checked artefact → engine, and the extension
 * programs. Everything that can fail happens here, before the server switches its pointer to the
 * new generation.
 */

#include "server/generation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "extension/extension.h"
#include "policy/compose.h"
#include "policy/model.h"
#include "token/scope.h"
#include "token/token.h"

#define POLICY_BYTES_MAX (256 * 1024 * 1024)

static void generation_free(struct generation *generation)
{
	for (size_t i = 0; i < generation->n_extensions; i++) {
		(void)sd_event_source_disable_unref(generation->extensions[i].source);
		(void)extension_free(generation->extensions[i].extension);
	}
	arena_deinit(&generation->arena);
	(void)policy_engine_free(generation->engine);
	(void)policy_free(generation->policy);
	free(generation->block);
	free(generation->bytes);
	free(generation);
}

struct generation *generation_ref(struct generation *generation)
{
	generation->n_refs++;
	return generation;
}

struct generation *generation_unref(struct generation *generation)
{
	if (generation && --generation->n_refs == 0)
		generation_free(generation);
	return NULL;
}

const uint8_t *generation_digest(const struct generation *generation)
{
	return generation->artefact.header->policy_digest;
}

/* ---- loading ---- */

/* The server waits for nobody who writes to a pipe. */
static int read_policy(const char *path, char **ret_bytes, size_t *ret_n_bytes,
		       struct sbx_error *err)
{
	return file_read_regular(AT_FDCWD, path, POLICY_BYTES_MAX, ret_bytes, ret_n_bytes, err);
}

static int load_layer(const char *path, struct policy **ret, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	int r = read_policy(path, &bytes, &n_bytes, err);

	return r < 0 ? r : policy_load(path, bytes, n_bytes, ret, err);
}

static int load_layers(const char *const *paths, size_t n_paths, struct policy **ret,
		       struct sbx_error *err)
{
	_cleanup_free_ struct policy **all = calloc(n_paths, sizeof(*all));

	if (!all)
		return sbx_error_what(err, -ENOMEM, "cannot load the policy");
	for (size_t n = 0; n < n_paths; n++) {
		int r = load_layer(paths[n], &all[n], err);

		if (r < 0) {
			while (n > 0)
				(void)policy_free(all[--n]);
			return r;
		}
	}
	return policy_merge(all, n_paths, 0, ret, err);
}

static int load_one(struct generation *generation, const char *path, struct sbx_error *err)
{
	size_t n_bytes = 0;
	int r = read_policy(path, &generation->bytes, &n_bytes, err);

	if (r < 0)
		return r;
	if (artefact_has_magic(generation->bytes, n_bytes))
		return artefact_open(generation->bytes, n_bytes, &generation->artefact, err);
	r = policy_load(path, generation->bytes, n_bytes, &generation->policy, err);
	free(take_ptr(generation->bytes));
	return r;
}

static int load(struct generation *generation, const char *const *paths, size_t n_paths,
		struct sbx_error *err)
{
	size_t n_block = 0;
	int r = n_paths == 1 ? load_one(generation, paths[0], err)
			     : load_layers(paths, n_paths, &generation->policy, err);

	if (r < 0 || !generation->policy)
		return r;
	r = policy_compile_composed(generation->policy, NULL, path_follow, &generation->block,
				    &n_block, err);
	return r < 0 ? r : artefact_open(generation->block, n_block, &generation->artefact, err);
}

static int start_extension(struct generation *generation, const struct extension_program *program,
			   struct sbx_error *err)
{
	struct generation_extension *extension = &generation->extensions[generation->n_extensions];
	int r = extension_new(program->name, program->argv, &extension->extension, err);

	if (r < 0)
		return r;
	extension->generation = generation;
	extension->index = generation->n_extensions++;
	return 0;
}

static int start_extensions(struct generation *generation, struct sbx_error *err)
{
	const struct policy *policy = generation->policy;
	size_t n = policy ? policy->n_extensions : 0;
	int r = 0;

	if (n > GENERATION_EXTENSIONS_MAX) {
		r = sbx_error_what(err, -E2BIG, "cannot start %zu extensions", n);
		sbx_error_why(err, "every request would wait for all of them");
		sbx_error_fix(err, "name at most %d", GENERATION_EXTENSIONS_MAX);
	}
	for (size_t i = 0; i < n && r == 0; i++)
		r = start_extension(generation, &policy->extensions[i], err);
	return r;
}

static int prepare(struct generation *generation, const char *const *paths, size_t n_paths,
		   char *const *environment)
{
	int r = policy_engine_new(&generation->artefact, &generation->engine);

	if (r < 0)
		return r;
	return guarded_find(environment, geteuid(), paths, n_paths, &generation->arena,
			    &generation->guarded);
}

int generation_load(const char *const *paths, size_t n_paths, char *const *environment,
		    struct generation **ret, struct sbx_error *err)
{
	_cleanup_generation_ struct generation *generation = calloc(1, sizeof(*generation));
	int r;

	if (!generation)
		return sbx_error_what(err, -ENOMEM, "cannot load the policy");
	generation->n_refs = 1;
	r = load(generation, paths, n_paths, err);
	if (r < 0)
		return r;
	r = prepare(generation, paths, n_paths, environment);
	if (r < 0)
		return sbx_error_what(err, r, "cannot prepare the policy '%s'", paths[0]);
	policy_engine_guard(generation->engine, &generation->guarded);
	r = start_extensions(generation, err);
	if (r < 0)
		return r;
	*ret = take_ptr(generation);
	return 0;
}

/* ---- tokens ---- */

static int judge_example(struct generation *generation, const struct token_terms *terms,
			 struct policy_decision *ret)
{
	enum operation_argument argument = operation_at(operation_find(terms->operation))->argument;
	struct policy_request request = { .operation = terms->operation,
					  .project_root = terms->project_root,
					  .has_token = true };
	_cleanup_text_ struct text example = TEXT_INIT;
	struct scope scope;

	if (argument != ARGUMENT_NONE &&
	    (scope_parse(argument, terms->glob, terms->project_root, &scope, NULL) < 0 ||
	     scope_add_example(&scope, &example) < 0))
		return -ENOENT;
	if (argument == ARGUMENT_PATH)
		request.path = text_string(&example);
	if (argument == ARGUMENT_HOST) {
		request.host = text_string(&example);
		request.has_port = scope.host.port[0] != '\0';
		request.port = (uint16_t)strtoul(scope.host.port, NULL, 10);
	}
	policy_decide(generation->engine, &request, ret);
	return 0;
}

static int refuse(struct sbx_error *err, int code, const char *why, const char *fix)
{
	return error_fill(err, code, why, fix, "cannot carry out the request for a token");
}

static int refuse_denied(const struct generation *generation, uint32_t row, struct sbx_error *err)
{
	const struct artefact *artefact = &generation->artefact;
	const struct artefact_rule *rule = artefact_rule_at(artefact, row);
	_cleanup_text_ struct text why = TEXT_INIT;

	text_addf(&why, "the policy denies a part of its scope: rule '%s' (%s:%u)",
		  artefact_text(artefact, rule->name), artefact_file_of(artefact, rule),
		  rule->line);
	return refuse(err, -EACCES, text_string(&why), "change the policy, or ask for less");
}

int generation_check_token(struct generation *generation, const struct token_terms *terms,
			   struct sbx_error *err)
{
	const struct artefact_header *header = generation->artefact.header;
	int row = operation_find(terms->operation);
	struct policy_decision decision;
	uint32_t rule;
	int r;

	if (operation_at(row)->argument == ARGUMENT_PATH && !terms->project_root &&
	    (header->needs_project >> row & 1))
		return refuse(err, -EINVAL,
			      "the policy has rules for paths below the project's root, and no "
			      "project is named",
			      "name it: --project=DIR");
	r = denial_find(&generation->artefact, terms, &rule);

	if (r < 0)
		return sbx_error_what(err, r, "cannot evaluate the token");
	if (r > 0)
		return refuse_denied(generation, rule, err);
	/* One example path is enough: built-in rules and a missing port are checked again at every
	 * use of the token. */
	if (judge_example(generation, terms, &decision) < 0 || decision.verdict != POLICY_DENY)
		return 0;
	if (decision.cause == CAUSE_BAD_REQUEST)
		return refuse(err, -EINVAL, decision.reason,
			      "name what is missing: a port in the glob (HOST:PORT)");
	return decision.cause == CAUSE_BUILTIN
		       ? refuse(err, -EACCES, "a built-in rule denies its scope",
				"ask for something else")
		       : 0;
}
