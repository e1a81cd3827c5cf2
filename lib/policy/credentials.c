/* SPDX-License-Identifier: MIT */

/*
 * Three tables of paths and their kinds, and the places to which they apply for this process
 *
 * A path is listed if a program stores a key, a token or a history there by default, or if a
 * program of the host executes the file. Only fixed paths are listed. The man page has the same
 * rows; tests/check/credentials.py compares them.
 */

#include "policy/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <sbx/error.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "base/units.h"

#define SECRET CREDENTIAL_SECRET
#define STARTUP CREDENTIAL_STARTUP
#define BOTH (CREDENTIAL_SECRET | CREDENTIAL_STARTUP)
#define SOCKET CREDENTIAL_SOCKET

/* clang-format off */
struct credential_row {
	const char *path; /* relative to its place */
	unsigned kinds;	  /* enum credential_kind */
};

static const struct credential_row of_home[] = {
	/* Shells and sessions. */
	{ ".profile", STARTUP }, { ".bash_profile", STARTUP }, { ".bash_login", STARTUP },
	{ ".bashrc", STARTUP }, { ".bash_aliases", STARTUP }, { ".bash_logout", STARTUP },
	{ ".bash_completion", STARTUP }, { ".local/share/bash-completion", STARTUP },
	{ ".zshenv", STARTUP }, { ".zprofile", STARTUP }, { ".zshrc", STARTUP },
	{ ".zlogin", STARTUP }, { ".zlogout", STARTUP }, { ".oh-my-zsh", STARTUP },
	{ ".config/zsh", STARTUP }, { ".config/fish", STARTUP }, { ".kshrc", STARTUP },
	{ ".mkshrc", STARTUP }, { ".cshrc", STARTUP }, { ".tcshrc", STARTUP },
	{ ".login", STARTUP }, { ".logout", STARTUP }, { ".inputrc", STARTUP },
	{ ".pam_environment", STARTUP }, { ".xinitrc", STARTUP }, { ".xsession", STARTUP },
	{ ".xsessionrc", STARTUP }, { ".xprofile", STARTUP }, { ".rhosts", STARTUP },
	{ ".shosts", STARTUP }, { ".forward", STARTUP }, { ".procmailrc", STARTUP },
	{ ".config/autostart", STARTUP }, { ".config/autostart-scripts", STARTUP },
	{ ".config/plasma-workspace", STARTUP }, { ".config/systemd", STARTUP },
	{ ".local/share/systemd", STARTUP }, { ".config/environment.d", STARTUP },
	{ ".config/user-dirs.dirs", STARTUP }, { ".config/dconf", STARTUP },
	{ ".config/i3", STARTUP }, { ".config/sway", STARTUP }, { ".config/hypr", STARTUP },
	{ ".config/openbox", STARTUP }, { ".config/awesome", STARTUP }, { ".xmonad", STARTUP },
	{ ".local/share/gnome-shell", STARTUP }, { ".local/share/plasma", STARTUP },
	{ ".local/share/applications", STARTUP }, { ".local/share/dbus-1", STARTUP },
	{ ".local/share/nautilus", STARTUP }, { ".local/share/kio", STARTUP },
	/* Keys and tokens. A configuration that may name a program to execute is both. */
	{ ".ssh", BOTH }, { ".gnupg", BOTH }, { ".pki", SECRET }, { ".cert", SECRET },
	{ ".putty", SECRET }, { ".age", SECRET }, { ".config/age", SECRET },
	{ ".config/sops", SECRET },
	{ ".netrc", SECRET }, { ".authinfo", SECRET }, { ".authinfo.gpg", SECRET },
	{ ".git-credentials", SECRET }, { ".config/git/credentials", SECRET },
	{ ".config/gh", BOTH }, { ".config/glab-cli", SECRET }, { ".config/hub", SECRET },
	{ ".config/github-copilot", SECRET },
	{ ".aws", BOTH }, { ".azure", SECRET }, { ".config/gcloud", SECRET },
	{ ".boto", SECRET }, { ".s3cfg", SECRET }, { ".oci", SECRET }, { ".config/doctl", SECRET },
	{ ".config/hcloud", SECRET }, { ".config/rclone", SECRET }, { ".fly", SECRET },
	{ ".config/configstore", SECRET }, { ".config/netlify", SECRET },
	{ ".local/share/com.vercel.cli", SECRET },
	{ ".kube", BOTH }, { ".docker", BOTH }, { ".config/containers/auth.json", SECRET },
	{ ".config/helm", SECRET }, { ".terraform.d", SECRET }, { ".terraformrc", SECRET },
	{ ".vault-token", SECRET }, { ".pulumi", SECRET },
	{ ".npmrc", BOTH }, { ".yarnrc", BOTH }, { ".yarnrc.yml", BOTH }, { ".pypirc", SECRET },
	{ ".config/pip", BOTH }, { ".pip", BOTH }, { ".config/pypoetry", BOTH },
	{ ".cargo/credentials", SECRET }, { ".cargo/credentials.toml", SECRET },
	{ ".gem/credentials", SECRET }, { ".bundle/config", BOTH },
	{ ".composer/auth.json", SECRET }, { ".config/composer/auth.json", SECRET },
	{ ".m2/settings.xml", BOTH }, { ".m2/settings-security.xml", SECRET },
	{ ".gradle/gradle.properties", BOTH }, { ".ivy2/.credentials", SECRET },
	{ ".sbt/.credentials", SECRET }, { ".nuget/NuGet", SECRET },
	{ ".pgpass", SECRET }, { ".my.cnf", BOTH }, { ".mylogin.cnf", SECRET },
	{ ".smbcredentials", SECRET }, { ".fetchmailrc", BOTH }, { ".msmtprc", BOTH },
	{ ".mbsyncrc", BOTH }, { ".offlineimaprc", BOTH }, { ".config/msmtp", BOTH },
	{ ".subversion/auth", SECRET }, { ".Xauthority", SECRET }, { ".ICEauthority", SECRET },
	{ ".vnc", BOTH }, { ".purple", SECRET },
	{ ".claude.json", BOTH }, { ".claude/.credentials.json", SECRET },
	{ ".codex/auth.json", SECRET }, { ".gemini/oauth_creds.json", SECRET },
	/* Password stores and keyrings. */
	{ ".password-store", BOTH }, { ".local/share/gopass", SECRET },
	{ ".local/share/keyrings", SECRET }, { ".local/share/kwalletd", SECRET },
	{ ".kde/share/apps/kwallet", SECRET }, { ".gnome2/keyrings", SECRET },
	{ ".keepass", SECRET }, { ".config/keepassxc", SECRET }, { ".config/KeePass", SECRET },
	{ ".config/op", SECRET }, { ".op", SECRET }, { ".config/1Password", SECRET },
	{ ".config/Bitwarden", SECRET }, { ".config/Bitwarden CLI", SECRET },
	{ ".config/rbw", SECRET }, { ".electrum", SECRET }, { ".bitcoin", SECRET },
	{ ".ethereum", SECRET },
	/* Profiles of browsers and of programs that hold sessions or mail. */
	{ ".mozilla", SECRET }, { ".config/mozilla", SECRET }, { ".thunderbird", SECRET },
	{ ".icedove", SECRET }, { ".config/chromium", SECRET }, { ".config/google-chrome", SECRET },
	{ ".config/google-chrome-beta", SECRET }, { ".config/google-chrome-unstable", SECRET },
	{ ".config/BraveSoftware", SECRET }, { ".config/microsoft-edge", SECRET },
	{ ".config/vivaldi", SECRET }, { ".config/opera", SECRET }, { ".librewolf", SECRET },
	{ ".config/falkon", SECRET }, { ".local/share/qutebrowser", SECRET },
	{ ".local/share/epiphany", SECRET }, { ".local/share/evolution", SECRET },
	{ ".local/share/TelegramDesktop", SECRET }, { ".config/Signal", SECRET },
	{ ".config/Slack", SECRET }, { ".config/discord", SECRET }, { ".config/Element", SECRET },
	{ ".config/remmina", SECRET }, { ".local/share/remmina", SECRET },
	{ ".var/app", SECRET }, { "snap/firefox", SECRET }, { "snap/chromium", SECRET },
	/* Histories of shells and other prompts. */
	{ ".history", SECRET }, { ".sh_history", SECRET }, { ".bash_history", SECRET },
	{ ".zsh_history", SECRET }, { ".zhistory", SECRET }, { ".ksh_history", SECRET },
	{ ".local/share/fish/fish_history", SECRET }, { ".python_history", SECRET },
	{ ".node_repl_history", SECRET }, { ".irb_history", SECRET }, { ".psql_history", SECRET },
	{ ".mysql_history", SECRET }, { ".mariadb_history", SECRET },
	{ ".sqlite_history", SECRET }, { ".rediscli_history", SECRET },
	{ ".mongodb", SECRET }, { ".dbshell", SECRET }, { ".lesshst", SECRET },
	{ ".viminfo", SECRET }, { ".local/state/nvim/shada", SECRET },
	/* Directories of sbx itself. */
	{ ".config/sbx", BOTH }, { ".local/state/sbx", BOTH },

	/* Directories of PATH, and version managers that add themselves to it. */
	{ ".local/bin", STARTUP }, { "bin", STARTUP }, { ".local/lib", STARTUP },
	{ ".cargo/bin", STARTUP }, { ".cargo/env", STARTUP }, { ".rustup", STARTUP },
	{ "go/bin", STARTUP }, { ".nvm", STARTUP }, { ".pyenv", STARTUP }, { ".rbenv", STARTUP },
	{ ".asdf", STARTUP }, { ".asdfrc", STARTUP }, { ".config/mise", STARTUP },
	{ ".deno/bin", STARTUP }, { ".bun/bin", STARTUP }, { ".sdkman", STARTUP },
	/* Version control, package managers and build tools. */
	{ ".gitconfig", STARTUP }, { ".config/git", STARTUP }, { ".hgrc", STARTUP },
	{ ".config/hg", STARTUP }, { ".subversion", STARTUP }, { ".config/jj", STARTUP },
	{ ".cargo/config", STARTUP }, { ".cargo/config.toml", STARTUP }, { ".gemrc", STARTUP },
	{ ".condarc", STARTUP }, { ".config/uv", STARTUP }, { ".config/yarn", STARTUP },
	{ ".config/pnpm", STARTUP }, { ".gradle/init.d", STARTUP },
	{ ".gradle/init.gradle", STARTUP }, { ".sbt", STARTUP }, { ".curlrc", STARTUP },
	{ ".wgetrc", STARTUP }, { ".config/containers", STARTUP }, { ".direnvrc", STARTUP },
	{ ".config/direnv", STARTUP }, { ".config/starship.toml", STARTUP },
	/* Editors, terminals, debuggers, interpreters. */
	{ ".vimrc", STARTUP }, { ".gvimrc", STARTUP }, { ".exrc", STARTUP }, { ".vim", STARTUP },
	{ ".config/vim", STARTUP }, { ".config/nvim", STARTUP }, { ".local/share/nvim", STARTUP },
	{ ".emacs", STARTUP }, { ".emacs.el", STARTUP }, { ".emacs.d", STARTUP },
	{ ".config/emacs", STARTUP }, { ".spacemacs", STARTUP }, { ".doom.d", STARTUP },
	{ ".nanorc", STARTUP }, { ".config/helix", STARTUP }, { ".config/kak", STARTUP },
	{ ".vscode", STARTUP }, { ".vscode-server", STARTUP }, { ".config/Code/User", STARTUP },
	{ ".config/VSCodium/User", STARTUP }, { ".cursor", STARTUP },
	{ ".config/Cursor/User", STARTUP }, { ".config/zed", STARTUP },
	{ ".config/sublime-text", STARTUP }, { ".claude", STARTUP }, { ".codex", STARTUP },
	{ ".gemini", STARTUP }, { ".tmux.conf", STARTUP }, { ".tmux", STARTUP },
	{ ".config/tmux", STARTUP }, { ".screenrc", STARTUP }, { ".config/kitty", STARTUP },
	{ ".config/alacritty", STARTUP }, { ".config/wezterm", STARTUP },
	{ ".config/ghostty", STARTUP }, { ".config/mpv", STARTUP }, { ".config/ranger", STARTUP },
	{ ".lessfilter", STARTUP }, { ".lesskey", STARTUP }, { ".mailcap", STARTUP },
	{ ".muttrc", STARTUP }, { ".mutt", STARTUP }, { ".config/mutt", STARTUP },
	{ ".gdbinit", STARTUP }, { ".config/gdb", STARTUP }, { ".lldbinit", STARTUP },
	{ ".pdbrc", STARTUP }, { ".ipython", STARTUP }, { ".jupyter", STARTUP },
	{ ".Rprofile", STARTUP }, { ".Renviron", STARTUP }, { ".irbrc", STARTUP },
	{ ".pryrc", STARTUP }, { ".psqlrc", STARTUP }, { ".sqliterc", STARTUP },
};

static const struct credential_row of_runtime[] = {
	{ "bus", SOCKET }, { "at-spi", SOCKET }, { "systemd/private", SOCKET },
	{ "docker.sock", SOCKET }, { "docker", SOCKET }, { "podman", SOCKET },
	{ "containerd", SOCKET }, { "buildkit", SOCKET }, { "libvirt", SOCKET },
	{ "gnupg", SOCKET }, { "keyring", SOCKET }, { "gcr", SOCKET }, { "p11-kit", SOCKET },
	{ "ssh-agent.socket", SOCKET }, { "ssh-agent", SOCKET }, { "openssh_agent", SOCKET },
	{ "emacs", SOCKET }, { "snapd-session-agent.socket", SOCKET },
	{ "containers", SECRET }, { "credentials", SECRET }, { "krb5cc", SECRET },
	{ "gdm", SECRET }, { "ICEauthority", SECRET },
};

static const struct credential_row of_root[] = {
	{ "run/dbus/system_bus_socket", SOCKET }, { "run/systemd/private", SOCKET },
	{ "run/docker.sock", SOCKET }, { "run/docker", SOCKET }, { "run/podman", SOCKET },
	{ "run/containerd", SOCKET }, { "run/crio", SOCKET }, { "run/buildkit", SOCKET },
	{ "run/libvirt", SOCKET }, { "run/incus", SOCKET }, { "run/snapd.socket", SOCKET },
	{ "run/pcscd", SOCKET }, { "run/screen", SOCKET }, { "tmp/.X11-unix", SOCKET },
	{ "var/lib/lxd/unix.socket", SOCKET }, { "var/lib/incus/unix.socket", SOCKET },
	{ "var/snap/lxd/common/lxd/unix.socket", SOCKET },
	{ "run/credentials", SECRET },
};
/* clang-format on */

static const struct {
	const struct credential_row *rows;
	size_t n_rows;
} tables[N_CREDENTIAL_TABLES] = {
	[CREDENTIALS_OF_HOME] = { of_home, N_ELEMENTS(of_home) },
	[CREDENTIALS_OF_RUNTIME] = { of_runtime, N_ELEMENTS(of_runtime) },
	[CREDENTIALS_OF_ROOT] = { of_root, N_ELEMENTS(of_root) },
};

/* @text after @prefix, or NULL. A start compares thousands of paths, most of which differ in their
 * first bytes: a call of strncmp() for each costs more than the comparison. */
static const char *after_prefix(const char *text, const char *prefix)
{
	for (; *prefix; text++, prefix++)
		if (*text != *prefix)
			return NULL;
	return text;
}

/* The part of @path below @directory, "" if they are equal; NULL if @path is not in it. */
static const char *rest_below(const char *path, const char *directory)
{
	const char *rest = after_prefix(path, directory);

	if (!rest || *rest == '\0')
		return rest;
	return *rest == '/' ? rest + 1 : NULL;
}

/* The same for absolute paths, which are normal: each lies in "/". */
static const char *rest_of(const char *path, const char *directory)
{
	return rest_below(path, strcmp(directory, "/") == 0 ? "" : directory);
}

/* Adds a struct credential whose path is @directory and @rest joined; for "" @directory alone. */
static int add(struct arena *arena, struct arena_rows *found, const char *directory,
	       const char *rest, unsigned kinds)
{
	size_t len = strcmp(directory, "/") == 0 ? 0 : strlen(directory), n_rest = strlen(rest);
	char *path = arena_alloc(arena, len + n_rest + 2);
	struct credential *row = arena_add_row(arena, found, sizeof(*row));

	if (!path || !row)
		return -ENOMEM;
	memcpy(path, directory, len);
	path[len] = n_rest > 0 ? '/' : '\0';
	memcpy(path + len + (n_rest > 0), rest, n_rest + 1);
	*row = (struct credential){ path, kinds };
	return 0;
}

/* @inside: the part of the path below the place; NULL: the path contains the whole place. */
static int add_rows(struct arena *arena, struct arena_rows *found,
		    const struct credential_place *place, const char *inside)
{
	for (size_t i = 0; i < tables[place->table].n_rows; i++) {
		const struct credential_row *row = &tables[place->table].rows[i];
		const char *path = after_prefix(row->path, place->prefix);
		const char *rest = path && inside ? rest_below(path, inside) : path;

		if (rest && *rest && add(arena, found, place->path, path, row->kinds) < 0)
			return -ENOMEM;
	}
	return 0;
}

int credentials_below(const struct credential_list *list, const char *path, struct arena *arena,
		      const struct credential **ret, size_t *ret_n)
{
	struct arena_rows found = { .rows = NULL };

	for (size_t i = 0; i < list->n_places; i++) {
		const struct credential_place *place = &list->places[i];
		const char *rest = rest_of(place->path, path), *inside = rest_of(path, place->path);
		int r = 0;

		if (place->kinds && rest && *rest)
			r = add(arena, &found, place->path, "", place->kinds);
		else if (!place->kinds && (rest || inside))
			r = add_rows(arena, &found, place, rest ? NULL : inside);
		if (r < 0)
			return r;
	}
	*ret = found.rows;
	*ret_n = found.n_rows;
	return 0;
}

/* The longest row that equals @rest (relative to the place) or contains it; NULL if none does. */
static const char *match_rows(const struct credential_place *place, const char *rest,
			      unsigned *ret_kinds)
{
	const char *found = NULL;

	for (size_t i = 0; i < tables[place->table].n_rows; i++) {
		const struct credential_row *row = &tables[place->table].rows[i];
		const char *path = after_prefix(row->path, place->prefix);

		if (!path || !rest_below(rest, path) || (found && strlen(path) < strlen(found)))
			continue;
		found = path;
		*ret_kinds = row->kinds;
	}
	return found;
}

bool credentials_match(const struct credential_list *list, const char *path, struct arena *arena,
		       struct credential *ret)
{
	struct arena_rows found = { .rows = NULL };

	for (size_t i = 0; i < list->n_places && found.n_rows == 0; i++) {
		const struct credential_place *place = &list->places[i];
		const char *rest = rest_of(path, place->path);
		unsigned kinds = place->kinds;
		const char *row = rest && !kinds ? match_rows(place, rest, &kinds) : rest;

		if (row && kinds)
			(void)add(arena, &found, place->path, place->kinds ? "" : row, kinds);
	}
	if (found.n_rows == 0)
		return false;
	*ret = *(const struct credential *)found.rows;
	return true;
}

size_t credentials_count_homes(const struct credential_list *list, const char *path)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n_places; i++) {
		const struct credential_place *place = &list->places[i];

		n += !place->kinds && place->table == CREDENTIALS_OF_HOME && !*place->prefix &&
		     rest_of(place->path, path);
	}
	return n;
}

/*
 * The places of this process
 *
 * HOME may name a directory other than the account's home, which contains its keys, so the home in
 * /etc/passwd counts as well. A grant by root may contain every account's home. Only the file is
 * read: a name service would load a plug-in into a static program. Links are resolved here, because
 * grants are compared by their real paths.
 */

#define PASSWD "/etc/passwd"
#define PASSWD_BYTES_MAX (4 * 1024 * 1024)

/* Homes of system accounts that contain the system's programs, not a user's files. */
static const char *const no_homes[] = {
	"/",	      "/bin",	      "/sbin", "/usr/bin", "/usr/sbin",
	"/usr/games", "/nonexistent", "/dev",  "/proc",	   "",
};

struct finding {
	struct arena *arena;
	struct arena_rows places; /* struct credential_place */
	bool no_memory;
};

static bool is_known(const struct finding *finding, const char *path, const char *prefix)
{
	const struct credential_place *places = finding->places.rows;

	for (size_t i = 0; i < finding->places.n_rows; i++)
		if (strcmp(places[i].path, path) == 0 && strcmp(places[i].prefix, prefix) == 0)
			return true;
	return false;
}

static void add_place(struct finding *finding, const char *path, enum credential_table table,
		      const char *prefix, unsigned kinds)
{
	struct credential_place *place;
	char *copy;

	if (!path_is_normal(path) || is_known(finding, path, prefix))
		return;
	copy = arena_copy(finding->arena, path, strlen(path));
	place = copy ? arena_add_row(finding->arena, &finding->places, sizeof(*place)) : NULL;
	finding->no_memory |= !place;
	if (place)
		*place = (struct credential_place){ copy, table, prefix, kinds };
}

/* Adds the real path of @path, or @path itself if it does not exist. */
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

/* Directories that programs create for a user with the uid in their path. */
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

/* A line NAME:PASSWORD:UID:GID:COMMENT:HOME:SHELL; ignores any other line. */
static void add_account(struct finding *finding, char *line, uid_t uid)
{
	enum { UID = 2, HOME = 5, N_FIELDS = 7 };
	char *fields[N_FIELDS] = { NULL };
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
		add_followed(finding, environment_find_directory(environment, own[i].variable),
			     own[i].table, own[i].prefix, own[i].kinds);
}

int credentials_find_in(char *passwd, char *const *environment, uid_t uid, struct arena *arena,
			struct credential_list *ret)
{
	const char *home = environment_find_directory(environment, "HOME");
	struct finding finding = { .arena = arena };
	const struct credential_place *places;
	char *line;

	if (home)
		add_home(&finding, home);
	places = finding.places.rows;
	home = places ? places[0].path : NULL;
	while ((line = strsep(&passwd, "\n")))
		add_account(&finding, line, uid);
	add_own(&finding, environment);
	add_place(&finding, "/", CREDENTIALS_OF_ROOT, "", 0);
	if (finding.no_memory)
		return -ENOMEM;
	*ret = (struct credential_list){ finding.places.rows, finding.places.n_rows, home };
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
	r = credentials_find_in(accounts, environment, uid, arena, ret);
	return r < 0 ? sbx_error_what(err, r, "cannot determine the paths of credentials") : 0;
}
