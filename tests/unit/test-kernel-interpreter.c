/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/interpreter.h"
#include "test.h"

static char name[INTERPRETER_MAX];

static int read_from(const char *content)
{
	_cleanup_close_ int fd = memfd_create("program", MFD_CLOEXEC);

	expect_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	return interpreter_read(fd, name);
}

static void reads_the_first_line_of_a_script(void)
{
	expect_eq(read_from("#!/bin/sh\necho"), 0);
	expect_str(name, "/bin/sh");
	expect_eq(read_from("#! \t/usr/bin/env python3\n"), 0);
	expect_str(name, "/usr/bin/env");
}

static void refuses_a_line_that_names_nothing_or_has_no_end(void)
{
	char line[INTERPRETER_MAX + 32] = "#!/";

	expect_eq(read_from(""), -ENOEXEC);
	expect_eq(read_from("#!"), -ENOEXEC);
	expect_eq(read_from("#!\necho"), -ENOEXEC);
	expect_eq(read_from("#!/bin/sh"), -ENOEXEC);
	expect_eq(read_from("echo"), -ENOEXEC);
	memset(line + 3, 'a', sizeof(line) - 5);
	line[sizeof(line) - 2] = '\n';
	expect_eq(read_from(line), -ENOEXEC);
}

/* ELF files of 64 bits, and of 32 bits, whose loader is often missing on 64-bit hosts. */
static void reads_the_loader_of_a_program(void)
{
	static const char *const programs[][2] = {
		{ "elf-32", "/lib/ld-linux.so.2" },
		{ "elf-64", "/lib64/ld-linux-x86-64.so.2" },
	};

	for (size_t i = 0; i < N_ELEMENTS(programs); i++) {
		char path[4096];

		(void)snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/interpreter/%s",
			       getenv("SBX_SOURCE"), programs[i][0]);
		_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

		expect_eq(interpreter_read(fd, name), 0);
		expect_str(name, programs[i][1]);
	}
}

static void only_files_are_programs(void)
{
	int ends[2];

	expect_eq(pipe(ends), 0);
	expect_eq(interpreter_read(ends[0], name), -ENOEXEC);
	expect_eq(interpreter_find_missing("/", name), -ENOEXEC);
	expect_eq(interpreter_find_missing("/nonexistent", name), -ENOENT);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void write_script(const char *path, const char *interpreter)
{
	FILE *file = fopen(path, "we");

	expect(file);
	if (!file)
		return;
	(void)fprintf(file, "#!%s\n", interpreter);
	(void)fclose(file);
	expect_eq(chmod(path, 0755), 0);
}

/* An interpreter may itself be a script: the missing file is the last one of the chain. */
static void goes_on_to_what_is_missing(void)
{
	char directory[] = "/tmp/test-interpreter-XXXXXX";

	expect(mkdtemp(directory) && chdir(directory) == 0);
	write_script("inner", "/no/such/loader");
	write_script("outer", "inner");
	expect_eq(interpreter_find_missing("outer", name), 0);
	expect_str(name, "/no/such/loader");
	write_script("loop", "loop");
	expect_eq(interpreter_find_missing("loop", name), -ELOOP);
	(void)unlink("inner");
	(void)unlink("outer");
	(void)unlink("loop");
	(void)rmdir(directory);
}

static const struct test tests[] = {
	TEST(reads_the_first_line_of_a_script),
	TEST(refuses_a_line_that_names_nothing_or_has_no_end),
	TEST(reads_the_loader_of_a_program),
	TEST(only_files_are_programs),
	TEST(goes_on_to_what_is_missing),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
