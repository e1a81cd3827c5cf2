/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Requests and decisions as JSON lines and as words, and as text for people
 *
 *   {"op":"fs.write","path":"/srv/p/src/a.c","project":"/srv/p","caller":"editor","tags":["trusted_write"],
 *    "state":"code_writing","mode":"strict","sandbox":"L2","size":120,"token":"...","id":7}
 *   {"op":"exec","path":"/usr/bin/cc","sha256":"9f86d0..."}
 *   {"op":"net.connect","host":"example.com","port":443,"proto":"tcp"}
 *   {"op":"net.connect","host":"example.com","address":"192.0.2.1","port":443}
 *
 * A decision repeats the id and contains verdict, cause, determining rules with file and line,
 * reasons, constraints, the policy's digest, and for a refusal the fix. Its "input" is the complete
 * normalised request, so that it can be replayed against another policy.
 */

#include <stddef.h>

#include "base/text.h"
#include "policy/decide.h"

struct sbx_error;

#define REQUEST_BYTES_MAX 65536
#define REQUEST_TAGS_MAX 64

/* A request and the memory that its texts point into: must not be copied. Reused from line to line
 * without allocating. */
struct request_buffer {
	struct policy_request request;
	struct text texts;
	const char *tags[REQUEST_TAGS_MAX + 1];
	const char *token;	/* as given, or NULL */
	const char *id;		/* the JSON of "id", or NULL */
	const char *sandbox_id; /* as in the line; a server overwrites it with that of the peer's
				   socket */
};

void request_deinit(struct request_buffer *buffer);
#define _cleanup_request_ _cleanup_(request_deinit)

/* -EINVAL with @err for anything but exactly one request: unknown or repeated names, wrong types,
 * too long. @ret then contains no request. */
int request_parse(const void *bytes, size_t n_bytes, struct request_buffer *ret,
		  struct sbx_error *err);
/* Parses OP ARG...: a path, or HOST[:PORT]; then name=value words (caller= tag= state= mode=
 * project= proto= size= sandbox= sha256= address=). */
int request_parse_words(char *const words[], size_t n_words, struct request_buffer *ret,
			struct sbx_error *err);
/* For examples and tests: -EINVAL if the operation is unknown or lacks its argument. Such a request
 * is denied whatever the rules say, so what is expected of it says nothing about them. */
int request_check_operation(const struct policy_request *request, struct sbx_error *err);
/* Does the word begin with one of these names? */
bool request_is_named(const char *word);
/* Adds the normalised form, which request_parse() parses to an equal request. Leaves out the token
 * and the id. */
void request_add_json(struct text *out, const struct request_buffer *buffer);

/* Adds one line, with a newline. */
void decision_add_json(struct text *out, const struct artefact *artefact,
		       const struct request_buffer *buffer, const struct policy_decision *decision);
/* Adds lines for a terminal: verdict and reason; for a refusal also the fix. */
void decision_add_text(struct text *out, const struct artefact *artefact,
		       const struct request_buffer *buffer, const struct policy_decision *decision);
/* Adds "rule 'NAME' (FILE:LINE)". */
void decision_add_rule(struct text *out, const struct artefact *artefact, uint32_t row);
/* Adds the YAML to write so that the request would be allowed. */
void decision_add_fix(struct text *out, const struct artefact *artefact,
		      const struct request_buffer *buffer, const struct policy_decision *decision);

/* The exit status for a verdict: 0 allow and warn, 1 deny, 3 review. Of several, deny takes
 * precedence, then review. */
int decision_status(enum policy_action verdict);
