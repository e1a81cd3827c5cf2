/* SPDX-License-Identifier: MIT */

#include <sys/stat.h>

#include "base/text.h"
#include "kernel/git-config.h"
#include "probe-rig.h"

/*
 * main/ with a repository whose configuration each test writes, and what it may name:
 *
 *   main/.git/{HEAD,config}   main/hooks/   main/tools/run   more/first   more/second
 */

/* As if main/ might be written. */
static void probe(struct rig *rig, const char *config)
{
	make_file("main/.git/config", config);
	rig_probe(rig, "main/.git", HOST_FOLDER, NULL);
}

static bool has(const struct rig *rig, const char *name, enum host_path_kind kind)
{
	for (size_t i = 0; i < rig->host.n_repository; i++)
		if (strcmp(rig->host.repository[i].path, in_place(name)) == 0)
			return rig->host.repository[i].kind == kind;
	return false;
}

static void finds_what_the_configuration_names(void)
{
	static const struct {
		const char *config;
		const char *name;
		enum host_path_kind kind;
	} cases[] = {
		{ "[core]\nhooksPath=hooks", "main/hooks", HOST_FOLDER },
		{ "[core]\nhooksPath=hooks/", "main/hooks", HOST_FOLDER },
		{ "[core]\nhooksPath=tools/../hooks", "main/hooks", HOST_FOLDER },
		{ "[core]\nhooksPath=\"@/main/hooks\"", "main/hooks", HOST_FOLDER },
		{ "[core]\nhooksPath=~/main/hooks", "main/hooks", HOST_FOLDER },
		{ "[core]\nhooksPath=a/b/c", "main/a", HOST_MISSING },
		{ "[core]\nhooksPath=hooks/c", "main/hooks/c", HOST_MISSING },
		{ "[core]\nhooksPath=tools/run/c", "main/tools/run", HOST_FILE },
		{ "[core]\nhooksPath=@/main", "main/pre-commit", HOST_MISSING },
		{ "[core]\nhooksPath=x\nhooksPath=hooks", "main/x", HOST_MISSING },
		{ "[core]\nworktree=../../more\nhooksPath=first", "more/first", HOST_FILE },
		{ "[core]\nfsmonitor=tools/run", "main/tools/run", HOST_FILE },
		{ "[core]\nfsmonitor=\"sh -c 'exec ./tools/run'\"", "main/tools/run", HOST_FILE },
		{ "[core]\nfsmonitor=sh file", "main/file", HOST_FILE },
		{ "[core]\naskPass=tools/run", "main/tools/run", HOST_FILE },
		{ "[gpg]\nprogram=./tools/run", "main/tools/run", HOST_FILE },
		{ "[gpg \"ssh\"]\nprogram=./tools/run", "main/tools/run", HOST_FILE },
		{ "[include]\npath=../../more/second", "more/second", HOST_FILE },
		{ "[include]\npath=../../more/first", "more/second", HOST_FILE },
		{ "[include]\npath=../../more/first", "main/hooks", HOST_FOLDER },
		{ "[includeIf \"x\"]\npath=../../more/third", "more/third", HOST_MISSING },
	};
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		probe(&rig, cases[i].config);
		if (!has(&rig, cases[i].name, cases[i].kind))
			printf("# %s\n", cases[i].config);
		expect(has(&rig, cases[i].name, cases[i].kind));
		expect(!rig.host.git_unclear);
	}
}

static void what_names_nothing_adds_nothing(void)
{
	static const char *const cases[] = {
		"",
		"[core]\nfsmonitor\n",
		"[core]\nfsmonitor=true\n",
		"[core]\nhooksPath=\n",
		"[core \"x\"]\nhooksPath=hooks\n",
		"[hooksPath]\ncore=hooks\n",
		"[gpg]\nprogram=gpg2\n",
		"[core]\nsshCommand=./tools/run\n",
	};
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		probe(&rig, cases[i]);
		expect_eq(rig.host.n_repository, 4);
		expect(!rig.host.git_unclear);
	}
}

static void a_link_on_the_way_is_a_name(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_eq(symlink("hooks", in_place("main/link")), 0);
	expect_eq(lchown(in_place("main/link"), ORDINARY, -1) == 0 || geteuid() != 0, 1);
	probe(&rig, "[core]\nhooksPath=link\n");
	expect(has(&rig, "main/link", HOST_LINK_REFUSED));
	expect(has(&rig, "main/hooks", HOST_FOLDER));
	expect_eq(unlink(in_place("main/link")), 0);
}

static void what_cannot_be_made_out_is_told(void)
{
	static const char *const cases[] = {
		"[core\n",
		"[core]\nhooksPath=~nobody/hooks\n",
		"[core]\nhooksPath=%(prefix)/hooks\n",
		"[core]\nhooksPath=:(optional)hooks\n",
		"[core]\nhooksPath=\"a\\nb\"\n",
		"[include]\npath=/dev/null\n",
		"[include]\npath=config\n", /* and so on */
		"[include]\npath=../../more/wrong\n",
		"[include]\npath=../../more/long\n",
	};
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };

	expect_eq(truncate(in_place("more/long"), (off_t)GIT_CONFIG_MAX + 1), 0);
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		probe(&rig, cases[i]);
		expect(rig.host.git_unclear);
		if (rig.host.git_unclear)
			expect_str(rig.host.git_unclear, in_place("main/.git"));
		expect(rig.host.git_unclear_why);
	}
}

static void many_includes_come_to_an_end(void)
{
	_cleanup_rig_ struct rig rig = { .arena = ARENA_INIT };
	_cleanup_text_ struct text many = TEXT_INIT;

	probe(&rig, "[include]\npath=config\npath=config\npath=config\npath=config\n");
	expect(rig.host.git_unclear);
	expect(rig.host.n_repository < 64);
	text_add(&many, "[include]\n");
	for (int i = 0; i < 1000; i++)
		text_addf(&many, "path=x%d\n", i);
	probe(&rig, text_string(&many));
	expect(rig.host.git_unclear);
	expect(rig.host.n_repository < 300);
}

static const struct test tests[] = {
	TEST(finds_what_the_configuration_names), TEST(what_names_nothing_adds_nothing),
	TEST(a_link_on_the_way_is_a_name),	  TEST(what_cannot_be_made_out_is_told),
	TEST(many_includes_come_to_an_end),	  TEST_END,
};

static void make_place(void)
{
	make_folder("main/.git");
	make_folder("main/hooks");
	make_folder("main/tools");
	make_folder("more");
	make_file("main/.git/HEAD", "ref: refs/heads/main\n");
	make_file("main/tools/run", "");
	make_file("main/file", "");
	make_file("more/first", "[include]\npath = second\n");
	make_file("more/second", "[core]\nhooksPath = hooks\n");
	make_file("more/wrong", "[core]\nhooksPath = \"\n");
	make_file("more/long", "[core]\n");
	if (setenv("HOME", place, 1) < 0)
		abort();
}

int main(void)
{
	return run_in_place(tests, make_place);
}
