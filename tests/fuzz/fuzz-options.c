/* SPDX-License-Identifier: MIT */

/*
 * The words of a command line, separated by NUL: the first byte says whether an operand ends the
 * options. Operands are words of the input, in order; an error always has what, why and fix.
 */

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/options.h"
#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

struct values {
	bool flag;
	int count;
	int fd;
	const char *string, *path, *choice;
	uint64_t number, size, time;
	struct option_list list;
};

#define ROW(member, letter_, kind_, metavar_)                                                      \
	{                                                                                          \
		.name = #member, .letter = (letter_), .kind = (kind_),                             \
		.offset = offsetof(struct values, member), .metavar = (metavar_), .help = "x"      \
	}

static const char *const choices[] = { "auto", "always", NULL };

static const struct option_spec table[] = {
	ROW(flag, 'f', OPTION_FLAG, NULL),
	ROW(count, 'c', OPTION_COUNT, NULL),
	ROW(fd, 0, OPTION_FD, "FD"),
	ROW(string, 's', OPTION_STRING, "S"),
	ROW(path, 'p', OPTION_PATH, "P"),
	{ .name = "choice",
	  .letter = 'o',
	  .kind = OPTION_CHOICE,
	  .offset = offsetof(struct values, choice),
	  .metavar = "C",
	  .choices = choices,
	  .help = "x" },
	ROW(number, 'n', OPTION_NUMBER, "N"),
	ROW(size, 'z', OPTION_SIZE, "Z"),
	ROW(time, 't', OPTION_TIME, "T"),
	ROW(list, 'l', OPTION_LIST, "L"),
	OPTION_END,
};

#define WORDS_MAX 64

/* Splits @words in place; returns their number. */
static int split(char *words, size_t n_bytes, char *argv[WORDS_MAX + 2])
{
	int argc = 0;

	argv[argc++] = words + n_bytes; /* "", for the tool's name */
	for (size_t at = 0; at < n_bytes && argc <= WORDS_MAX; at += strlen(words + at) + 1)
		argv[argc++] = words + at;
	argv[argc] = NULL;
	return argc;
}

static void check_operands(char *const before[], int argc, char *const after[], int n)
{
	int at = 1;

	for (int i = 0; i < n; i++, at++) {
		while (at < argc && before[at] != after[i])
			at++;
		assert(at < argc);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct values values = { .flag = false };
	struct option_group groups[] = { { table, &values }, { NULL, NULL } };
	struct sbx_error err = { .code = 0 };
	char *argv[WORDS_MAX + 2], *before[WORDS_MAX + 2];
	_cleanup_free_ char *words = NULL;
	int argc, n;

	if (n_bytes == 0)
		return 0;
	words = calloc(1, n_bytes);
	assert(words);
	memcpy(words, bytes + 1, n_bytes - 1);
	argc = split(words, n_bytes - 1, argv);
	memcpy(before, argv, sizeof(before));

	n = options_parse(groups, NULL, bytes[0] & 1, argc, argv, &err);
	if (n < 0) {
		assert(n == -EINVAL && err.code == n);
		assert(err.what[0] != '\0' && err.why[0] != '\0' && err.fix[0] != '\0');
	} else {
		assert(n < argc || n == 0);
		check_operands(before, argc, argv, n);
	}
	options_release(groups);
	assert(values.list.items == NULL && values.list.n_items == 0);
	return 0;
}
