/* SPDX-License-Identifier: MIT */

/*
 * generate FILE: writes the compiled profiles as C; runs when sbx is built
 *
 * Variants with the same instructions share one array.
 */

#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "filter/checksum.h"
#include "filter/compile.h"
#include "filter/filter.h"
#include "filter/profile.h"

#define PROFILES_MAX 8
#define ALL (PROFILES_MAX * FILTER_VARIANTS)

struct program {
	struct sock_filter *code;
	size_t n;
	size_t same_as; /* index of the first program with the same instructions */
};

static void find_same(struct program *programs, size_t i)
{
	size_t k = 0;

	while (k < i && (programs[k].n != programs[i].n ||
			 memcmp(programs[k].code, programs[i].code,
				programs[i].n * sizeof(struct sock_filter)) != 0))
		k++;
	programs[i].same_as = k;
}

static int compile_all(struct program *programs)
{
	size_t n = 0;

	for (const struct filter_profile_row *row = filter_profile_rows; row->name; row++)
		for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++, n++) {
			int r = n < ALL ? filter_compile(row->name, variant, &programs[n].code,
							 &programs[n].n)
					: -E2BIG;

			if (r < 0)
				return r;
			find_same(programs, n);
		}
	return 0;
}

static void write_code(FILE *out, const struct program *programs)
{
	for (size_t i = 0; i < ALL && programs[i].code; i++) {
		if (programs[i].same_as != i)
			continue;
		(void)fprintf(out, "static const struct sock_filter code_%zu[] = {\n", i);
		for (size_t k = 0; k < programs[i].n; k++) {
			const struct sock_filter *f = &programs[i].code[k];

			(void)fprintf(out, "\t{ 0x%02x, %u, %u, 0x%08x },\n", f->code, f->jt, f->jf,
				      f->k);
		}
		(void)fputs("};\n\n", out);
	}
}

static bool needs_notify(const struct program *program)
{
	for (size_t i = 0; i < program->n; i++)
		if (program->code[i].code == (BPF_RET | BPF_K) &&
		    program->code[i].k == SECCOMP_RET_USER_NOTIF)
			return true;
	return false;
}

/* struct sock_fprog has a non-const pointer, but the kernel does not write through it. */
static void write_profiles(FILE *out, const struct program *programs)
{
	const struct program *p = programs;

	(void)fputs("const struct filter_profile filter_profiles[] = {\n", out);
	for (const struct filter_profile_row *row = filter_profile_rows; row->name; row++) {
		(void)fprintf(out, "\t{ \"%s\", %s, {\n", row->name,
			      needs_notify(p) ? "true" : "false");
		for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++, p++)
			(void)fprintf(out, "\t\t{ %zu, (struct sock_filter *)code_%zu },\n", p->n,
				      p->same_as);
		(void)fputs("\t} },\n", out);
	}
	(void)fputs("\t{ NULL, false, { { 0, NULL } } },\n};\n\n", out);
}

static uint64_t generation_of(const struct program *programs)
{
	uint64_t sum = CHECKSUM_START;

	for (size_t i = 0; i < ALL && programs[i].code; i++)
		sum = checksum_add(sum, programs[i].code,
				   programs[i].n * sizeof(struct sock_filter));
	return sum;
}

static int write_file(const char *path, const struct program *programs)
{
	_cleanup_fclose_ FILE *out = fopen(path, "we");

	if (!out)
		return -errno;
	(void)fputs("/* Written by lib/filter/generate.c. */\n\n#include \"filter/table.h\"\n\n",
		    out);
	write_code(out, programs);
	write_profiles(out, programs);
	(void)fprintf(out, "const uint64_t filter_generation = 0x%016" PRIx64 ";\n",
		      generation_of(programs));
	return fflush(out) == 0 && !ferror(out) ? 0 : -EIO;
}

int main(int argc, char *argv[])
{
	struct program programs[ALL] = { 0 };
	int r = argc == 2 ? compile_all(programs) : -EINVAL;

	if (r == 0)
		r = write_file(argv[1], programs);
	for (size_t i = 0; i < ALL; i++)
		free(programs[i].code);
	if (r < 0)
		(void)dprintf(STDERR_FILENO, "cannot generate the filters: %s\n", strerror(-r));
	return r < 0;
}
