/* SPDX-License-Identifier: MIT */

/*
 * Where credentials are for this process
 *
 * HOME may name another directory than the one where the account keeps its keys, so the home of
 * /etc/passwd counts as well. Root's grants may contain every account's home. Other sources of
 * accounts than the file are not asked: a name service would be code of a plug-in in a static
 * program. Links are followed once here, because grants are compared with what they really are.
 */

#include "policy/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include <sbx/error.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "base/units.h"

#define PASSWD "/etc/passwd"
#define PASSWD_BYTES_MAX (4 * 1024 * 1024)
#define PLACES_FIRST 16

/* Homes of accounts that nobody logs in to; they contain the system's programs. */
static const char *const no_homes[] = {
	"/",	      "/bin",	      "/sbin", "/usr/bin", "/usr/sbin",
	"/usr/games", "/nonexistent", "/dev",  "/proc",	   "",
};

struct finding {
	struct arena *arena;
	struct credential_place *places;
	size_t n_places;
	size_t n_room;
	bool no_memory;
};

static bool is_known(const struct finding *finding, const char *path, const char *prefix)
{
	for (size_t i = 0; i < finding->n_places; i++)
		if (strcmp(finding->places[i].path, path) == 0 &&
		    strcmp(finding->places[i].prefix, prefix) == 0)
			return true;
	return false;
}

static void make_room(struct finding *finding)
{
	size_t n = finding->n_room > 0 ? 2 * finding->n_room : PLACES_FIRST;
	struct credential_place *places;

	if (finding->n_places < finding->n_room)
		return;
	places = arena_alloc(finding->arena, n * sizeof(*places));
	finding->no_memory |= !places;
	if (!places)
		return;
	if (finding->n_places > 0)
		memcpy(places, finding->places, finding->n_places * sizeof(*places));
	finding->places = places;
	finding->n_room = n;
}

static void add_place(struct finding *finding, const char *path, enum credential_table table,
		      const char *prefix, unsigned kinds)
{
	char *copy;

	if (!path_is_normal(path) || is_known(finding, path, prefix))
		return;
	make_room(finding);
	copy = arena_copy(finding->arena, path, strlen(path));
	finding->no_memory |= !copy;
	if (!finding->no_memory)
		finding->places[finding->n_places++] =
			(struct credential_place){ copy, table, prefix, kinds };
}

/* What it really is; the name itself where nothing is there. */
static void add_followed(struct finding *finding, const char *path, enum credential_table table,
			 const char *prefix, unsigned kinds)
{
	if (path)
		add_place(finding, path_follow(finding->arena, path), table, prefix, kinds);
}

static void add_home(struct finding *finding, const char *path)
{
	for (size_t i = 0; i < N_ELEMENTS(no_homes); i++)
		if (strcmp(path, no_homes[i]) == 0)
			return;
	if (path[0] == '/')
		add_followed(finding, path, CREDENTIALS_OF_HOME, "", 0);
}

/* What a program makes for a user at a path with the number in it. */
static void add_of_uid(struct finding *finding, const char *uid)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	text_addf(&path, "/run/user/%s", uid);
	if (text_status(&path) == 0)
		add_place(finding, text_string(&path), CREDENTIALS_OF_RUNTIME, "", 0);
	text_reset(&path);
	text_addf(&path, "/tmp/tmux-%s", uid);
	if (text_status(&path) == 0)
		add_place(finding, text_string(&path), CREDENTIALS_OF_ROOT, "", CREDENTIAL_SOCKET);
	finding->no_memory |= text_status(&path) < 0;
}

/* NAME:PASSWORD:UID:GID:COMMENT:HOME:SHELL; what is no such line is nobody's account. */
static void add_account(struct finding *finding, char *line, uid_t uid)
{
	enum { UID = 2, HOME = 5, N_FIELDS = 7 };
	char *fields[N_FIELDS];
	uint64_t number = 0;

	for (int i = 0; i < N_FIELDS; i++)
		fields[i] = strsep(&line, ":");
	if (!fields[N_FIELDS - 1] || units_parse_count(fields[UID], &number, NULL) < 0)
		return;
	if (uid != 0 && number != uid)
		return;
	add_home(finding, fields[HOME]);
	add_of_uid(finding, fields[UID]);
}

static void add_accounts(struct finding *finding, char *accounts, uid_t uid)
{
	char *line;

	while ((line = strsep(&accounts, "\n")))
		add_account(finding, line, uid);
}

static void add_own(struct finding *finding, char *const *environment)
{
	static const struct {
		const char *variable;
		enum credential_table table;
		const char *prefix;
		unsigned kinds;
	} own[] = {
		{ "XDG_CONFIG_HOME", CREDENTIALS_OF_HOME, ".config/", 0 },
		{ "XDG_DATA_HOME", CREDENTIALS_OF_HOME, ".local/share/", 0 },
		{ "XDG_STATE_HOME", CREDENTIALS_OF_HOME, ".local/state/", 0 },
		{ "XDG_RUNTIME_DIR", CREDENTIALS_OF_RUNTIME, "", 0 },
		{ "SSH_AUTH_SOCK", CREDENTIALS_OF_ROOT, "", CREDENTIAL_SOCKET },
	};

	for (size_t i = 0; i < N_ELEMENTS(own); i++)
		add_followed(finding, environment_find_folder(environment, own[i].variable),
			     own[i].table, own[i].prefix, own[i].kinds);
}

static int find(char *accounts, char *const *environment, uid_t uid, struct arena *arena,
		struct credential_list *ret)
{
	const char *home = environment_find_folder(environment, "HOME");
	struct finding finding = { .arena = arena };

	if (home)
		add_home(&finding, home);
	home = finding.n_places > 0 ? finding.places[0].path : NULL;
	add_accounts(&finding, accounts, uid);
	add_own(&finding, environment);
	add_place(&finding, "/", CREDENTIALS_OF_ROOT, "", 0);
	if (finding.no_memory)
		return -ENOMEM;
	*ret = (struct credential_list){ finding.places, finding.n_places, home };
	return 0;
}

int credentials_find(char *const *environment, uid_t uid, struct arena *arena,
		     struct credential_list *ret, struct sbx_error *err)
{
	_cleanup_free_ char *accounts = NULL;
	struct sbx_error unread = { .code = 0 };
	size_t n_bytes;
	int r = file_read(AT_FDCWD, PASSWD, PASSWD_BYTES_MAX, &accounts, &n_bytes, &unread);

	if (r < 0 && r != -ENOENT) {
		*err = unread;
		return r;
	}
	r = find(accounts, environment, uid, arena, ret);
	return r < 0 ? sbx_error_what(err, r, "cannot tell where credentials are") : 0;
}

int credentials_find_in(const char *passwd, char *const *environment, uid_t uid,
			struct arena *arena, struct credential_list *ret)
{
	char *accounts = arena_copy(arena, passwd, strlen(passwd));

	return accounts ? find(accounts, environment, uid, arena, ret) : -ENOMEM;
}
