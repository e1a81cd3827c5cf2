/* SPDX-License-Identifier: MIT */

/*
 * Runs a fuzz target without libFuzzer: first the corpus, then mutations of it from a fixed seed
 *
 * A mutation depends only on its number, so a failure is reproducible. TEST_SLOW=1 runs a hundred
 * times as many.
 */

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MAX (64 * 1024)
#define FILES_MAX 256
#define MUTATIONS 3000

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

struct input {
	uint8_t *bytes;
	size_t n_bytes;
};

/* A generator with full period: small, and the same on every host. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Passes a heap block of exactly this size, so that a sanitizer detects a read past it. */
static void run_one(const uint8_t *bytes, size_t n_bytes)
{
	uint8_t *exact = malloc(n_bytes + (n_bytes == 0));

	if (!exact)
		abort();
	memcpy(exact, bytes, n_bytes);
	(void)LLVMFuzzerTestOneInput(exact, n_bytes);
	free(exact);
}

static size_t read_input(int dirfd, const char *name, struct input *ret)
{
	static uint8_t buffer[INPUT_MAX];
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, buffer, sizeof(buffer)) : -1;

	if (fd >= 0)
		(void)close(fd);
	if (n < 0)
		return 0;
	ret->bytes = malloc((size_t)n + 1);
	if (!ret->bytes)
		abort();
	memcpy(ret->bytes, buffer, (size_t)n);
	ret->n_bytes = (size_t)n;
	return 1;
}

static size_t read_corpus(const char *path, struct input inputs[FILES_MAX])
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t n = 0;

	while (dir && n < FILES_MAX && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			n += read_input(dirfd(dir), entry->d_name, &inputs[n]);
	if (dir)
		(void)closedir(dir);
	return n;
}

/* Flips bits, writes interesting bytes, removes and duplicates ranges. */
static size_t mutate(uint8_t *bytes, size_t n_bytes, uint64_t *state)
{
	static const uint8_t interesting[] = { 0,    1,	  0x7f, 0x80, 0xff, '"', '\\', '{',  '[',
					       '\n', ' ', ':',	'-',  '/',  '.', '=',  0xc0, 0xed };
	uint64_t n_edits = 1 + next_random(state) % 6;

	for (uint64_t i = 0; i < n_edits; i++) {
		uint64_t what = next_random(state) % 4;
		size_t at = n_bytes > 0 ? next_random(state) % n_bytes : 0;
		size_t len = n_bytes > 0 ? next_random(state) % (n_bytes - at) % 32 : 0;

		if (what == 0 && n_bytes > 0) {
			bytes[at] ^= (uint8_t)(1u << next_random(state) % 8);
		} else if (what == 1 && n_bytes > 0) {
			bytes[at] = interesting[next_random(state) % sizeof(interesting)];
		} else if (what == 2) {
			memmove(bytes + at, bytes + at + len, n_bytes - at - len);
			n_bytes -= len;
		} else if (n_bytes + len < INPUT_MAX) {
			memmove(bytes + at + len, bytes + at, n_bytes - at);
			n_bytes += len;
		}
	}
	return n_bytes;
}

static void run_mutations(const struct input *inputs, size_t n_inputs, uint64_t n_mutations)
{
	static uint8_t buffer[INPUT_MAX];

	for (uint64_t i = 0; i < n_mutations; i++) {
		uint64_t state = i;
		const struct input *input = &inputs[next_random(&state) % n_inputs];

		memcpy(buffer, input->bytes, input->n_bytes);
		run_one(buffer, mutate(buffer, input->n_bytes, &state));
		if (i % 1000 == 0)
			printf("# mutation %llu\n", (unsigned long long)i);
	}
}

int main(int argc, char *argv[])
{
	static struct input inputs[FILES_MAX];
	const char *slow = getenv("TEST_SLOW");
	uint64_t n_mutations = MUTATIONS * (slow && strcmp(slow, "1") == 0 ? 100 : 1);
	size_t n_inputs = argc > 1 ? read_corpus(argv[1], inputs) : 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("1..2");
	if (n_inputs == 0) {
		puts("not ok 1 - has a corpus\nnot ok 2 - survives mutations");
		return 1;
	}
	for (size_t i = 0; i < n_inputs; i++)
		run_one(inputs[i].bytes, inputs[i].n_bytes);
	printf("ok 1 - survives its corpus of %zu files\n", n_inputs);
	run_mutations(inputs, n_inputs, n_mutations);
	printf("ok 2 - survives %llu mutations of it\n", (unsigned long long)n_mutations);
	for (size_t i = 0; i < n_inputs; i++)
		free(inputs[i].bytes);
	return 0;
}
