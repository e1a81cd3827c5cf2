/* SPDX-License-Identifier: MIT */

/* The command line: runs one attack of the tables */

#include "escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct escape *const tables[] = {
	escapes_namespaces, escapes_mounts,	escapes_files,
	escapes_processes,  escapes_sockets,	escapes_kernel,
	escapes_privileges, escapes_attributes, NULL,
};

const char *escape_target(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

long escape_number(const char *name)
{
	return strtol(escape_target(name), NULL, 0);
}

static void list_all(void)
{
	static const char *const who[] = { "user", "root", "nobody" };

	for (const struct escape *const *table = tables; *table; table++)
		for (const struct escape *escape = *table; escape->name; escape++)
			printf("%s %s\n", escape->name, who[escape->needs]);
}

int main(int argc, char *argv[])
{
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		list_all();
		return 0;
	}
	/* An attack has executed this program with the set-user-ID bit. */
	if (argc == 2 && strcmp(argv[1], "--am-i-root") == 0)
		return geteuid() == 0 ? ESCAPED : REFUSED;
	if (argc != 2) {
		(void)fputs("usage: escape NAME | --list\n", stderr);
		return 3;
	}
	/* An attack that hangs has not succeeded. */
	(void)alarm(60);
	for (const struct escape *const *table = tables; *table; table++)
		for (const struct escape *escape = *table; escape->name; escape++)
			if (strcmp(escape->name, argv[1]) == 0)
				return (int)escape->run(escape->parameter);
	(void)fprintf(stderr, "escape: there is no attack '%s'\n", argv[1]);
	return 3;
}
