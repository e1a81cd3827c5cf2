/* SPDX-License-Identifier: MIT */
#pragma once

/* A policy from a text, and an engine that judges requests that are written as words */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "policy/compile.h"
#include "policy/decide.h"
#include "policy/model.h"
#include "policy/request.h"

struct rig {
	struct policy *policy;
	void *block;
	struct artefact artefact;
	struct policy_engine *engine;
	struct request_buffer buffer;
	struct policy_decision decision;
	struct text text; /* the output of the last call */
};

#define _cleanup_rig_ _cleanup_(rig_close)

static inline void rig_close(struct rig *rig)
{
	request_deinit(&rig->buffer);
	text_deinit(&rig->text);
	rig->engine = policy_engine_free(rig->engine);
	rig->policy = policy_free(rig->policy);
	free(rig->block);
	rig->block = NULL;
}

/* Ends the test program if the policy does not load: the test itself is wrong. */
static inline void rig_must(int r, const struct sbx_error *err)
{
	if (r >= 0)
		return;
	printf("Bail out! %s: %s\n", err->what, err->why);
	exit(1);
}

static inline void rig_compile(struct rig *rig)
{
	struct sbx_error err = { .code = 0 };
	size_t n_bytes = 0;

	rig_must(policy_compile(rig->policy, &rig->block, &n_bytes, &err), &err);
	rig_must(artefact_open(rig->block, n_bytes, &rig->artefact, &err), &err);
	rig_must(policy_engine_new(&rig->artefact, &rig->engine), &err);
}

static inline void rig_load(struct rig *rig, const char *name, const char *yaml)
{
	struct sbx_error err = { .code = 0 };

	rig_must(policy_load(name, yaml, strlen(yaml), &rig->policy, &err), &err);
}

static inline void rig_open(struct rig *rig, const char *yaml)
{
	rig_load(rig, "p.yaml", yaml);
	rig_compile(rig);
}

/* Splits @request at spaces. */
static inline void rig_read(struct rig *rig, const char *request)
{
	_cleanup_free_ char *copy = strdup(request);
	struct sbx_error err = { .code = 0 };
	char *words[32], *rest = NULL;
	size_t n = 0;

	for (char *word = strtok_r(copy, " ", &rest); word && n < 32;
	     word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	rig_must(request_parse_words(words, n, &rig->buffer, &err), &err);
}

static inline enum policy_action rig_ask(struct rig *rig, const char *request)
{
	rig_read(rig, request);
	policy_decide(rig->engine, &rig->buffer.request, &rig->decision);
	return rig->decision.verdict;
}

static inline const char *rig_text(struct rig *rig, const char *request)
{
	(void)rig_ask(rig, request);
	text_reset(&rig->text);
	decision_add_text(&rig->text, &rig->artefact, &rig->buffer, &rig->decision);
	return text_string(&rig->text);
}

static inline const char *rig_json(struct rig *rig, const char *request)
{
	(void)rig_ask(rig, request);
	text_reset(&rig->text);
	decision_add_json(&rig->text, &rig->artefact, &rig->buffer, &rig->decision);
	return text_string(&rig->text);
}
