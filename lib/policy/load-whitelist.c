/* SPDX-License-Identifier: MIT */

/*
 * network_whitelist: each host is a rule that allows to connect to it, at port 443 unless it says
 * another one. The rule is called by its place: "network_whitelist.ai[0]".
 */

#include "policy/load-internal.h"

#include "policy/network.h"

static void add_host(struct loader *loader, const struct tree_node *item)
{
	struct host_port host;
	struct rule *rule;

	if (item->type != TREE_STRING || network_parse_host_port(item->text, &host, NULL) < 0)
		return; /* already a mistake */
	rule = load_add_rule(loader, text_string(&loader->path), item->place);
	if (!rule)
		return;
	rule->action = POLICY_ALLOW;
	rule->match.operations = operation_set("net.connect");
	load_set_value(loader, &rule->match, host.is_address ? MATCH_CIDR : MATCH_HOST, host.host,
		       false, item->place);
	load_set_value(loader, &rule->match, MATCH_PORT, host.port[0] ? host.port : "443", false,
		       item->place);
}

static void add_hosts(struct loader *loader, const struct tree_node *list)
{
	size_t len = loader->path.len, i = 0;

	for (const struct tree_node *item = list->first; item; item = item->next) {
		text_addf(&loader->path, "[%zu]", i++);
		add_host(loader, item);
		text_truncate(&loader->path, len);
	}
}

void load_whitelist(struct loader *loader, const struct tree_node *node)
{
	size_t len = loader->path.len;

	if (node->type == TREE_LIST) {
		add_hosts(loader, node);
		return;
	}
	for (const struct tree_node *group = node->first; group; group = group->next) {
		text_addf(&loader->path, ".%s", group->key);
		add_hosts(loader, group);
		text_truncate(&loader->path, len);
	}
}
