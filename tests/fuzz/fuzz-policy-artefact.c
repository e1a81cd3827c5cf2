/* SPDX-License-Identifier: MIT */

/*
 * The first byte says what the rest is:
 *
 *   B  a block from elsewhere, in this host's byte order
 *   D  damage to a compiled policy: for each change four bytes of place and four of content
 *
 * Lengths and checksum are made right, so that all of the check is reached. What passes it must be
 * safe to ask anything. A failed check is an abort.
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "policy/artefact-internal.h"
#include "policy/digest.h"
#include "../unit/policy-build.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void ask(const struct artefact *artefact)
{
	static const char *const tags[] = { "a", "b", NULL };
	static const struct policy_request requests[] = {
		{ .operation = "fs.read",
		  .path = "/p/src/x/a.key",
		  .project_root = "/p",
		  .caller_tags = tags,
		  .caller = "me",
		  .state = "s" },
		{ .operation = "fs.write",
		  .path = "/etc/d/x.c",
		  .project_root = "/p",
		  .caller_tags = tags,
		  .sandbox = "L2" },
		{ .operation = "exec", .path = "/x/src/x/q/git/y", .project_root = "/" },
		{ .operation = "net.connect", .host = "c.a.example", .port = 80, .has_port = true },
		{ .operation = "net.bind", .host = "2001:db8::1", .port = 1500, .has_port = true },
		{ .operation = "net.connect",
		  .host = "10.1.2.3",
		  .port = 600,
		  .has_port = true,
		  .proto = "udp" },
		{ .operation = "test.run", .caller = "me", .mode = "strict" },
	};
	_cleanup_engine_ struct policy_engine *engine = NULL;
	size_t n_rules = artefact_n_rows(artefact, SECTION_RULES);
	struct policy_explanation rows[8];
	struct policy_decision decision;

	check(policy_engine_new(artefact, &engine) == 0);
	for (size_t i = 0; i < N_ELEMENTS(requests); i++) {
		policy_decide(engine, &requests[i], &decision);
		check(decision.verdict >= POLICY_ALLOW && decision.verdict <= POLICY_DENY);
		for (size_t k = 0; k < decision.n_rules; k++)
			check(decision.rules[k] < n_rules);
		check(policy_explain(engine, &requests[i], rows, N_ELEMENTS(rows)) <= n_rules);
	}
}

static void open_and_ask(uint8_t *block, size_t n_bytes)
{
	struct artefact_header *header = (void *)block;
	struct artefact artefact = { .block = NULL };
	struct sbx_error err = { 0 };

	if (n_bytes >= sizeof(*header)) {
		header->magic = ARTEFACT_MAGIC;
		header->version = ARTEFACT_VERSION;
		header->n_bytes = (uint32_t)n_bytes;
		digest_of(block + CHECKSUM_END, n_bytes - CHECKSUM_END, header->checksum);
	}
	if (artefact_open(block, n_bytes, &artefact, &err) == 0) {
		ask(&artefact);
		return;
	}
	check(err.code == -EBADMSG && err.why[0] != '\0');
	check(artefact.block == NULL);
}

/* Rules that put something into every section. */
static void build_everything(struct built *built)
{
	struct rule *rule = build_rule(
		built, POLICY_ALLOW, "fs.*",
		"path=src/** path=!src/*.key path=/etc/[a-f]*/*.c path=/x/**/*/y tag=a tag=b");

	build_except(built, rule, NULL, "path=src/x/** state=s");
	build_except(built, rule, "fs.read", "caller=me");
	build_rule(built, POLICY_DENY, "net.*", "host=*.a.example host=b.example cidr=10.0.0.0/8");
	build_rule(built, POLICY_DENY, "net.*", "cidr=2001:db8::/32 port=80 port=1000-2000");
	build_rule(built, POLICY_REVIEW, "net.connect", "port=1-700 proto=udp");
	build_rule(built, POLICY_WARN, "test.run git.*", "caller=me mode=strict");
	build_rule(built, POLICY_DENY, "exec", "path=git");
	build_engine(built);
}

static void damage_and_ask(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_built_ struct built built = build_new();
	uint32_t place, content;

	build_everything(&built);

	_cleanup_free_ uint8_t *block = malloc(built.n_bytes);

	check(block != NULL);
	memcpy(block, built.block, built.n_bytes);
	for (; n_bytes >= 8; bytes += 8, n_bytes -= 8) {
		memcpy(&place, bytes, 4);
		memcpy(&content, bytes + 4, 4);
		memcpy(block + place % (built.n_bytes / 4) * 4, &content, 4);
	}
	open_and_ask(block, built.n_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	if (n_bytes > 0 && bytes[0] == 'B') {
		/* The address that malloc() gives is aligned. */
		_cleanup_free_ uint8_t *block = malloc(n_bytes);

		if (!block)
			abort();
		memcpy(block, bytes + 1, n_bytes - 1);
		open_and_ask(block, n_bytes - 1);
	}
	if (n_bytes > 0 && bytes[0] == 'D')
		damage_and_ask(bytes + 1, n_bytes - 1);
	return 0;
}
