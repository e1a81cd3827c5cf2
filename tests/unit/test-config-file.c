/* SPDX-License-Identifier: MIT */
#include "base/config.h"

#include <errno.h>
#include <sys/wait.h>

#include "config-rig.h"

/* Tries to set color to "purple" where -EINVAL is expected, else to "never". */
static void expect_refused_save(const char *path, enum config_origin origin, int code,
				const char *word)
{
	const char *value = code == -EINVAL ? "purple" : "never";
	struct sbx_error err = { .code = 0 };

	expect_eq(config_save(path, origin, "color", value, &err), code);
	expect(err.what[0] && err.why[0] && err.fix[0]);
	expect(strstr(err.why, word) != NULL);
	expect_eq(config_save(path, origin, "color", value, NULL), code);
}

static void refuses_links_in_the_place_of_the_project_file(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };

	layers_init(&layers);
	write_file(layers.system_path, "color: never\n");
	expect_eq(symlink("../system.yaml", layers.project_path), 0);
	expect_refused_load(&layers.sources, -ELOOP, "cannot open", "symbolic link");
	(void)unlink(layers.project_path);
	expect_eq(rmdir(layers.sbx), 0);
	expect_eq(symlink(".", layers.sbx), 0);
	expect_refused_load(&layers.sources, -ELOOP, "cannot open", "symbolic link");
}

static void follows_a_link_in_the_place_of_the_users_own_file(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };
	_cleanup_config_ struct config *config = NULL;

	layers_init(&layers);
	write_file(layers.system_path, "color: never\n");
	expect_eq(symlink("system.yaml", layers.user_path), 0);
	layers.sources.system_path = NULL;
	config = load(&layers.sources);
	expect_eq(config_get(config, "color").origin, CONFIG_FROM_USER);
}

static void refuses_a_pipe_in_the_place_of_a_file_without_waiting(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };
	const char *const paths[] = { layers.system_path, layers.user_path, layers.project_path };

	layers_init(&layers);
	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		expect_eq(mkfifo(paths[i], 0600), 0);
		expect_refused_load(&layers.sources, -ENXIO, "cannot read", "a named pipe");
		expect_refused_load(&layers.sources, -ENXIO, paths[i], "put a plain file there");
		expect_refused_save(paths[i], CONFIG_FROM_USER, -ENXIO, "a named pipe");
		expect_refused_save(paths[i], CONFIG_FROM_PROJECT, -ENXIO, "a named pipe");
		expect_eq(unlink(paths[i]), 0);
	}
}

/* In a child without privileges: root may search every directory. */
static int load_as_nobody(const struct config_sources *sources, struct sbx_error *err)
{
	struct config *config = NULL;
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(255);
		_exit(-config_load(sources, &config, err));
	}
	expect_eq(waitpid(child, &status, 0), child);
	expect(WIFEXITED(status) && WEXITSTATUS(status) != 255);
	return -WEXITSTATUS(status);
}

static void a_directory_that_cannot_be_searched_has_no_files(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };
	const struct config_sources project = { .project_path = layers.project_path };

	layers_init(&layers);
	write_file(layers.user_path, "color: never\n");
	write_file(layers.project_path, "color: purple\n");
	expect_eq(chmod(layers.directory, 0), 0);
	expect_eq(load_as_nobody(&layers.sources, NULL), 0);
	expect_eq(chmod(layers.directory, 0711), 0);
	expect_eq(chmod(layers.sbx, 0), 0);
	expect_eq(load_as_nobody(&project, NULL), 0);
	expect_eq(chmod(layers.sbx, 0711), 0);
	expect_eq(load_as_nobody(&project, NULL), -EINVAL);
	expect_eq(chmod(layers.directory, 0700), 0);
	expect_eq(chmod(layers.sbx, 0700), 0);
}

static void a_file_that_cannot_be_read_is_an_error(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };

	layers_init(&layers);
	expect_eq(chmod(layers.directory, 0711), 0);
	expect_eq(chmod(layers.sbx, 0711), 0);
	write_file(layers.user_path, "color: never\n");
	expect_eq(chmod(layers.user_path, 0), 0);
	expect_eq(load_as_nobody(&layers.sources, NULL), -EACCES);
	expect_eq(unlink(layers.user_path), 0);
	write_file(layers.project_path, "color: never\n");
	expect_eq(chmod(layers.project_path, 0), 0);
	expect_eq(load_as_nobody(&layers.sources, NULL), -EACCES);
}

static void expect_text(const char *path, const char *want)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char text[128] = "";

	expect(file && fread(text, 1, sizeof(text) - 1, file) > 0);
	expect_str(text, want);
}

static mode_t mode_of(const char *path)
{
	struct stat st = { .st_mode = 0 };

	expect_eq(lstat(path, &st), 0);
	return st.st_mode;
}

static void saves_into_a_new_file_as_the_umask_says(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };
	mode_t before = umask(027);

	layers_init(&layers);
	expect_eq(rmdir(layers.sbx), 0);
	expect_eq(config_save(layers.project_path, CONFIG_FROM_PROJECT, "color", "never", NULL), 0);
	expect_text(layers.project_path, "color: never\n");
	expect_eq(mode_of(layers.project_path) & 07777, 0640);
	expect_eq(config_save(layers.user_path, CONFIG_FROM_USER, "color", "never", NULL), 0);
	expect_eq(mode_of(layers.user_path) & 07777, 0640);
	(void)umask(before);
}

static void a_saved_file_keeps_its_mode_and_its_owner(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };
	struct stat st;

	layers_init(&layers);
	write_file(layers.user_path, "color: auto\n");
	expect_eq(chmod(layers.user_path, 0604), 0);
	if (geteuid() == 0)
		expect_eq(chown(layers.user_path, 1234, 2345), 0);
	expect_eq(config_save(layers.user_path, CONFIG_FROM_USER, "color", "never", NULL), 0);
	expect_text(layers.user_path, "color: never\n");
	expect_eq(stat(layers.user_path, &st), 0);
	expect_eq(st.st_mode & 07777, 0604);
	expect_eq(st.st_uid, geteuid() == 0 ? 1234 : geteuid());
	expect(geteuid() != 0 || st.st_gid == 2345);
}

static void saving_goes_through_a_link_of_the_users_own(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };

	layers_init(&layers);
	write_file(layers.system_path, "color: auto\n");
	expect_eq(symlink("system.yaml", layers.user_path), 0);
	expect_eq(config_save(layers.user_path, CONFIG_FROM_USER, "color", "never", NULL), 0);
	expect(S_ISLNK(mode_of(layers.user_path)));
	expect_text(layers.system_path, "color: never\n");
	expect_eq(unlink(layers.system_path), 0);
	expect_refused_save(layers.user_path, CONFIG_FROM_USER, -ELOOP, "dangling");
	expect(S_ISLNK(mode_of(layers.user_path)));
}

static void refuses_to_save_what_is_wrong_or_cannot_be_edited(void)
{
	_cleanup_layers_ struct layers layers = { .directory = "" };

	layers_init(&layers);
	expect_refused_save(layers.user_path, CONFIG_FROM_USER, -EINVAL, "one of");
	write_file(layers.user_path, "color: [auto] # c\n");
	expect_eq(config_save(layers.user_path, CONFIG_FROM_USER, "color", "never", NULL),
		  -ENOTSUP);
	expect_text(layers.user_path, "color: [auto] # c\n");
}

static void refuses_a_directory_in_the_place_of_a_file(void)
{
	struct config_sources sources = { .user_path = "/tmp" };
	struct config *config = NULL;

	expect_eq(config_load(&sources, &config, NULL), -EISDIR);
}

static const struct test tests[] = {
	TEST(refuses_links_in_the_place_of_the_project_file),
	TEST(follows_a_link_in_the_place_of_the_users_own_file),
	TEST(refuses_a_pipe_in_the_place_of_a_file_without_waiting),
	TEST(a_directory_that_cannot_be_searched_has_no_files),
	TEST(a_file_that_cannot_be_read_is_an_error),
	TEST(saves_into_a_new_file_as_the_umask_says),
	TEST(a_saved_file_keeps_its_mode_and_its_owner),
	TEST(saving_goes_through_a_link_of_the_users_own),
	TEST(refuses_to_save_what_is_wrong_or_cannot_be_edited),
	TEST(refuses_a_directory_in_the_place_of_a_file),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
