/* SPDX-License-Identifier: MIT */
#pragma once

/* A policy that fills every section of its artefact, and requests that use each section */

#include "policy-build.h"

/* Rules that put something into every section. */
static void build_everything(struct built *built)
{
	struct rule *rule = build_rule(
		built, POLICY_ALLOW, "fs.*",
		"path=src/** path=!src/*.key path=/etc/[a-f]*/*.c path=/x/**/*/y tag=a tag=b");

	rule->reason = "because";
	rule->constraints.require_sandbox = "L2";
	build_except(built, rule, NULL, "path=src/x/** state=s");
	build_except(built, rule, "fs.read", "caller=me");
	build_rule(built, POLICY_DENY, "net.*", "host=*.a.example host=b.example cidr=10.0.0.0/8");
	build_rule(built, POLICY_DENY, "net.*", "cidr=2001:db8::/32 port=80 port=1000-2000");
	build_rule(built, POLICY_REVIEW, "net.connect", "port=1-700 proto=udp");
	build_rule(built, POLICY_WARN, "test.run git.*", "caller=me mode=strict");
	build_rule(built, POLICY_DENY, "exec", "path=git");
	build_rule(built, POLICY_ALLOW, "net.connect", "cidr=64:ff9b::/96 cidr=10.0.0.1")
		->constraints.tls = TLS_ANY;
	built->policy->special_needs_cidr = true;
	build_engine(built);
}

static const char *const every_tag[] = { "a", "b", NULL };
static const struct policy_request every_request[] = {
	{ .operation = "fs.read",
	  .path = "/p/src/x/a.key",
	  .project_root = "/p",
	  .caller_tags = every_tag,
	  .caller = "me",
	  .state = "s" },
	{ .operation = "fs.write",
	  .path = "/etc/d/x.c",
	  .project_root = "/p",
	  .caller_tags = every_tag,
	  .sandbox = "L2" },
	{ .operation = "exec", .path = "/x/src/x/q/git/y", .project_root = "/" },
	{ .operation = "net.connect", .host = "c.a.example", .port = 80, .has_port = true },
	{ .operation = "net.bind", .host = "2001:db8::1", .port = 1500, .has_port = true },
	{ .operation = "net.connect",
	  .host = "b.example",
	  .address = "64:ff9b::10.0.0.1",
	  .port = 80,
	  .has_port = true },
	{ .operation = "net.connect",
	  .host = "b.example",
	  .address = "10.0.0.1",
	  .port = 80,
	  .has_port = true,
	  .has_token = true },
	{ .operation = "net.connect",
	  .host = "10.1.2.3",
	  .port = 600,
	  .has_port = true,
	  .proto = "udp" },
	{ .operation = "test.run", .caller = "me", .mode = "strict" },
};
