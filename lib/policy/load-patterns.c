/* SPDX-License-Identifier: MIT */

/*
 * Values that are matched with requests: operations, globs, hosts, networks, ports
 */

#include "policy/load-internal.h"

#include <stdio.h>
#include <string.h>

#include "policy/glob.h"
#include "policy/network.h"
#include "policy/operation.h"

void load_check_operation(struct loader *loader, const struct policy_key *row,
			  const struct tree_node *node, uint64_t *ret_number)
{
	const char *meant;

	if (operation_set(node->text) != 0)
		return;
	meant = operation_suggest(node->text);
	load_mistake(loader, node->place, "unknown operation '%s'", node->text);
	sbx_error_why(&loader->mistake, "no tool asks for it, so the rule would never apply");
	if (meant)
		sbx_error_fix(&loader->mistake, "did you mean '%s'?", meant);
	else
		sbx_error_fix(&loader->mistake, "write an operation such as fs.read, exec, "
						"net.connect, a group such as fs.*, or *");
}

static void check_path(struct loader *loader, const struct tree_node *node, bool literal)
{
	const char *text = node->text + (!literal && node->text[0] == '!');
	struct sbx_error err;
	struct glob glob;

	if (!load_check_expansion(loader, node, text) ||
	    glob_parse(node->text, literal, &glob, NULL) == 0)
		return;
	err = (struct sbx_error){ .code = 0 };
	(void)glob_parse(node->text, literal, &glob, &err);
	load_mistake_of(loader, node->place, &err);
}

void load_check_glob(struct loader *loader, const struct policy_key *row,
		     const struct tree_node *node, uint64_t *ret_number)
{
	check_path(loader, node, false);
}

void load_check_literal(struct loader *loader, const struct policy_key *row,
			const struct tree_node *node, uint64_t *ret_number)
{
	check_path(loader, node, true);
}

void load_check_host(struct loader *loader, const struct policy_key *row,
		     const struct tree_node *node, uint64_t *ret_number)
{
	struct sbx_error err = { .code = 0 };

	if (network_check_host(node->text, &err) < 0)
		load_mistake_of(loader, node->place, &err);
}

void load_check_host_port(struct loader *loader, const struct policy_key *row,
			  const struct tree_node *node, uint64_t *ret_number)
{
	struct sbx_error err = { .code = 0 };
	struct host_port ignored;

	if (network_parse_host_port(node->text, &ignored, &err) < 0)
		load_mistake_of(loader, node->place, &err);
}

void load_check_cidr(struct loader *loader, const struct policy_key *row,
		     const struct tree_node *node, uint64_t *ret_number)
{
	struct sbx_error err = { .code = 0 };
	struct network ignored;

	if (network_parse(node->text, &ignored, &err) < 0)
		load_mistake_of(loader, node->place, &err);
}

void load_check_ports(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node, uint64_t *ret_number)
{
	struct sbx_error err = { .code = 0 };
	const char *at = node->text, *item;
	struct port_range ignored;
	size_t len;

	while (network_next_port(&at, &item, &len))
		if (network_parse_ports(item, len, &ignored, &err) < 0) {
			load_mistake_of(loader, node->place, &err);
			return;
		}
}
