/* SPDX-License-Identifier: MIT */

/* An accepted host prints to a text that is read as the same host and prints to itself. */

#include "base/hostname.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_host(const struct hostname *host)
{
	char printed[HOSTNAME_TEXT_SIZE], twice[HOSTNAME_TEXT_SIZE];
	size_t len = hostname_print(host, printed);
	struct hostname again;

	check(len > 0 && len <= HOST_BYTES_MAX && strlen(printed) == len);
	for (size_t i = 0; i < len; i++)
		check(strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.:", printed[i]) != NULL);
	check(printed[len - 1] != '.');
	check(hostname_read(printed, len, &again) == HOSTNAME_OK);
	check(hostname_equal(host, &again));
	check(hostname_print(&again, twice) == len && memcmp(printed, twice, len) == 0);
	check((host->kind == HOSTNAME_IPV6) == (host->n_labels == 0));
	for (size_t i = 0; i < host->n_labels; i++)
		check(i == 0 ? host->labels[i] == 0 : host->name[host->labels[i] - 1] == '.');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct hostname host;
	enum hostname_problem problem = hostname_read((const char *)bytes, n_bytes, &host);

	if (problem == HOSTNAME_OK)
		check_host(&host);
	check(hostname_problem_text(problem) != NULL);
	return 0;
}
