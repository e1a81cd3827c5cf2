/* SPDX-License-Identifier: MIT */

/*
 * The examples of a rule, tried at every load
 *
 * Each rule that has some is compiled alone, so that an example is about this rule and nothing
 * else. An example is a request in words; a relative path in it is one of a project, as a relative
 * glob is.
 */

#include "policy/load-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/compile.h"
#include "policy/decide.h"
#include "policy/request.h"

#define PROJECT "/project"
#define WORDS_MAX 32

/* The operation's argument as an absolute path, where it is a relative one. */
static void add_argument(struct text *out, const char *operation, const char *argument)
{
	int row = operation_find(operation);

	if (row != OPERATION_UNKNOWN && operation_at(row)->argument == ARGUMENT_PATH &&
	    argument[0] != '/')
		text_add(out, PROJECT "/");
	text_add(out, strncmp(argument, "./", 2) == 0 ? argument + 2 : argument);
}

/* "tag=x", and not "src/a=b.c". */
static bool is_named(const char *word)
{
	return word[strspn(word, "abcdefghijklmnopqrstuvwxyz")] == '=';
}

static int no_request(struct sbx_error *err, const char *text)
{
	(void)sbx_error_what(err, -EINVAL, "not an example: '%s'", text);
	sbx_error_why(err, "an example is an operation, its argument and words such as tag=NAME");
	sbx_error_fix(err, "write it like 'fs.write src/a.c' or 'net.connect example.com:443'");
	return -EINVAL;
}

static int parse_example(const char *text, struct request_buffer *ret, struct sbx_error *err)
{
	_cleanup_text_ struct text bytes = TEXT_INIT, argument = TEXT_INIT;
	char *words[WORDS_MAX], *rest = NULL, project[] = "project=" PROJECT;
	size_t n_words = 0;

	text_add(&bytes, text);
	if (text_status(&bytes) < 0)
		return text_status(&bytes);
	for (char *word = strtok_r(bytes.data, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		if (n_words < WORDS_MAX - 1)
			words[n_words++] = word;
		else
			return no_request(err, text);
	if (n_words == 0)
		return no_request(err, text);
	if (n_words > 1 && !is_named(words[1])) {
		add_argument(&argument, words[0], words[1]);
		if (text_status(&argument) < 0)
			return text_status(&argument);
		words[1] = argument.data;
	}
	if (!strstr(text, " project="))
		words[n_words++] = project;
	return request_parse_words(words, n_words, ret, err);
}

static void tell_near(struct loader *loader, const struct policy_explanation *near)
{
	struct sbx_error *err = &loader->mistake;

	switch (near ? near->near : NEAR_OPERATION) {
	case NEAR_APPLIES:
		sbx_error_why(err, "everything in its 'match' holds");
		break;
	case NEAR_EXCEPTED:
		sbx_error_why(err, "exception %u takes it back", near->exception + 1);
		break;
	case NEAR_KEY:
		sbx_error_why(err, "its '%s' does not hold", match_key_name(near->key));
		break;
	case NEAR_EXCLUDED:
		sbx_error_why(err, "a glob with '!' excludes the path");
		break;
	case NEAR_OPERATION:
		sbx_error_why(err, near ? "it is about other operations"
					: "nothing in its 'match' comes near");
		break;
	}
}

static void try_example(struct loader *loader, struct policy_engine *engine,
			const struct rule *rule, const struct example *example)
{
	_cleanup_request_ struct request_buffer buffer = { .id = NULL };
	struct policy_explanation near;
	struct sbx_error err = { .code = 0 };
	bool applies, is_near;

	if (parse_example(example->text, &buffer, &err) < 0) {
		load_mistake_of(loader, example->place.at, &err);
		return;
	}
	is_near = policy_explain(engine, &buffer.request, &near, 1) > 0;
	applies = is_near && near.near == NEAR_APPLIES;
	if (applies == example->matches)
		return;
	load_mistake(loader, example->place.at,
		     applies ? "rule '%s' applies to '%s', which it should not"
			     : "rule '%s' does not apply to its example '%s'",
		     rule->name, example->text);
	tell_near(loader, is_near ? &near : NULL);
	sbx_error_fix(&loader->mistake,
		      "change the rule, or put the example under '%s' if the rule is right",
		      example->matches ? "not_match" : "match");
}

static void try_rule(struct loader *loader, struct rule *rule)
{
	struct policy alone = *loader->policy;
	_cleanup_engine_ struct policy_engine *engine = NULL;
	_cleanup_free_ void *block = NULL;
	struct artefact artefact;
	struct sbx_error err = { .code = 0 };
	size_t n_bytes;
	int r;

	alone.rules = rule;
	alone.n_rules = 1;
	r = policy_compile(&alone, &block, &n_bytes, &err);
	if (r >= 0)
		r = artefact_open(block, n_bytes, &artefact, &err);
	if (r >= 0)
		r = policy_engine_new(&artefact, &engine);
	if (r == -ENOMEM) {
		loader->no_memory = true;
		return;
	}
	if (r < 0) {
		load_mistake_of(loader, rule->place.at, &err);
		return;
	}
	for (size_t i = 0; i < rule->n_examples; i++)
		try_example(loader, engine, rule, &rule->examples[i]);
}

void load_try_examples(struct loader *loader)
{
	struct policy *policy = loader->policy;

	for (size_t i = 0; i < policy->n_rules && !loader->no_memory; i++)
		if (policy->rules[i].n_examples > 0)
			try_rule(loader, &policy->rules[i]);
}
