/* SPDX-License-Identifier: MIT */

/* Git's configuration, compared with git's own reading of it */

#include "kernel/git-config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "test.h"

/* Adds each variable as "name=value;", or "name;" without a value. */
static int write_down(void *context, const char *name, const char *value)
{
	struct text *out = context;

	if (strcmp(name, "stop.here") == 0)
		return -ECANCELED;
	text_addf(out, "%s%s%s;", name, value ? "=" : "", value ? value : "");
	return 0;
}

static int read_text(const char *text, struct text *out)
{
	text_reset(out);
	return git_config_read(text, strlen(text), write_down, out);
}

static void reads_what_git_reads(void)
{
	static const struct {
		const char *text;
		const char *read;
	} cases[] = {
		{ "", "" },
		{ "\n \t\r\n# c\n; [core]\n", "" },
		{ "[core]\n\thooksPath = .husky\n", "core.hookspath=.husky;" },
		{ "[CORE]HooksPath=a", "core.hookspath=a;" },
		{ "[core]\r\nhooksPath = a b \t \r\n", "core.hookspath=a b;" },
		{ "\xef\xbb\xbf[a]b=c", "a.b=c;" },
		{ "[a] b = 1 # c\n[d] e\n g\n", "a.b=1;d.e;d.g;" },
		{ "[a]\nb = \"x # y\" ; z\n", "a.b=x # y;" },
		{ "[a]\nb = x\"  y  \"z\n", "a.b=x  y  z;" },
		{ "[a]\nb = \" x \"  \n", "a.b= x ;" },
		{ "[a]\nb = x\\\n y\\\\\\\"\\t\\n\\b.\n", "a.b=x y\\\"\t\n\b.;" },
		{ "[a]\nb = x # y \\\n c = z\n", "a.b=x;a.c=z;" },
		{ "[a]\nb =\nc = \"\"\n", "a.b=;a.c=;" },
		{ "[a \"B \\\"c\\\\ ]\"]\nd = e\n", "a.B \"c\\ ].d=e;" },
		{ "[a.B]\nc = d\n[e-1.f]g-2=h\n", "a.b.c=d;e-1.f.g-2=h;" },
		{ "[includeIf \"gitdir:~/x/\"]\n path = ../y\n",
		  "includeif.gitdir:~/x/.path=../y;" },
		{ "[a]\nb=c\\", "a.b=c;" },
		{ "[]\nx=y\n", ".x=y;" },
		{ "x = y\n", "x=y;" },
	};
	_cleanup_text_ struct text out = TEXT_INIT;

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		expect_eq(read_text(cases[i].text, &out), 0);
		expect_str(text_string(&out), cases[i].read);
	}
}

static void refuses_what_git_refuses(void)
{
	static const char *const cases[] = {
		"[core",	 "[core\n]",	   "[co_re]\n",	 "[a \"b]\n",
		"[a \"b\n\"]\n", "[a \"b\" ]\n",   "[a b]\n",	 "[a \"b\\\n\"]\n",
		"[a]\n1b = c\n", "[a]\nb_c = d\n", "[a]\nb c\n", "[a]\nb = \"c\n",
		"[a]\nb = \"c",	 "[a]\nb = \\c\n", "[a]\n= b\n", "\x01",
		"[a]\nb # c\n",
	};
	_cleanup_text_ struct text out = TEXT_INIT;

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		expect_eq(read_text(cases[i], &out), -EBADMSG);
		expect_str(text_string(&out), "");
	}
	expect_eq(git_config_read("[a]\nb = c\0d\n", 12, write_down, &out), -EBADMSG);
	expect_str(text_string(&out), "");
}

static void a_callback_error_ends_the_parsing(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_eq(read_text("[stop]\na=1\nhere=2\nb=3\n", &out), -ECANCELED);
	expect_str(text_string(&out), "stop.a=1;");
}

static void git_reads_the_same(void)
{
	static const char text[] = "[a \"B\\\\\"] c = \" x\\ty\" z ;\n[a]d=e\\\nf \"g\" \n[h.I]j\n";
	_cleanup_text_ struct text out = TEXT_INIT;
	char path[] = "/tmp/sbx-test-git-config-XXXXXX", command[128], said[256] = "";
	_cleanup_close_ int fd = mkstemp(path);
	FILE *git;

	expect(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	(void)snprintf(command, sizeof(command),
		       "git config --file %s --list -z 2>/dev/null | tr '\\n' =", path);
	git = popen(command, "re"); /* NOLINT(cert-env33-c): a fixed command */
	if (!git)
		abort();
	said[fread(said, 1, sizeof(said) - 1, git)] = '\0';
	(void)pclose(git);
	(void)unlink(path);
	if (said[0] == '\0')
		skip("git is not here");
	expect_eq(read_text(text, &out), 0);
	expect_str(text_string(&out), "a.B\\.c= x\ty z;a.d=ef g;h.i.j;");
	expect_str(said, "a.B\\.c= x\ty z");
	expect_str(said + strlen(said) + 1, "a.d=ef g");
}

static const struct test tests[] = {
	TEST(reads_what_git_reads),
	TEST(refuses_what_git_refuses),
	TEST(a_callback_error_ends_the_parsing),
	TEST(git_reads_the_same),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
