/* SPDX-License-Identifier: MIT */

/*
 * Three tables of paths → what they are
 *
 * A row is worth its line where a program keeps a key, a token or a history there by default, or
 * where a program of the host executes what it finds there. Only what lies at a fixed path can have
 * a row. The man page lists the same rows; tests/check/credentials.py compares them.
 */

#include "policy/credentials.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"

#define SECRET CREDENTIAL_SECRET
#define STARTUP CREDENTIAL_STARTUP
#define BOTH (CREDENTIAL_SECRET | CREDENTIAL_STARTUP)
#define SOCKET CREDENTIAL_SOCKET

/* clang-format off */
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
	/* What was typed. */
	{ ".history", SECRET }, { ".sh_history", SECRET }, { ".bash_history", SECRET },
	{ ".zsh_history", SECRET }, { ".zhistory", SECRET }, { ".ksh_history", SECRET },
	{ ".local/share/fish/fish_history", SECRET }, { ".python_history", SECRET },
	{ ".node_repl_history", SECRET }, { ".irb_history", SECRET }, { ".psql_history", SECRET },
	{ ".mysql_history", SECRET }, { ".mariadb_history", SECRET },
	{ ".sqlite_history", SECRET }, { ".rediscli_history", SECRET },
	{ ".mongodb", SECRET }, { ".dbshell", SECRET }, { ".lesshst", SECRET },
	{ ".viminfo", SECRET }, { ".local/state/nvim/shada", SECRET },
	/* sbx's own. */
	{ ".config/sbx", BOTH }, { ".local/state/sbx", BOTH },

	/* What is found by PATH, and the version managers that put themselves there. */
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

const struct credential_row *credential_rows(enum credential_table table, size_t *ret_n)
{
	*ret_n = tables[table].n_rows;
	return tables[table].rows;
}

/* Both normal: what of @path lies in @directory, "" where they are the same; NULL: @path does not
 * lie in it. */
static const char *rest_of(const char *path, const char *directory)
{
	size_t len = strcmp(directory, "/") == 0 ? 0 : strlen(directory);

	if (strncmp(path, directory, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return path + len + strspn(path + len, "/");
}

/* The row's path at the place, or NULL. */
static const char *row_at(const struct credential_place *place, const struct credential_row *row)
{
	size_t len = strlen(place->prefix);

	return strncmp(row->path, place->prefix, len) == 0 ? row->path + len : NULL;
}

struct gathering {
	struct arena *arena;
	struct credential *rows;
	size_t n_rows;
	size_t n_room;
};

static int make_room(struct gathering *gathering)
{
	size_t n = gathering->n_room > 0 ? 2 * gathering->n_room : 64;
	struct credential *rows;

	if (gathering->n_rows < gathering->n_room)
		return 0;
	rows = arena_alloc(gathering->arena, n * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	if (gathering->n_rows > 0)
		memcpy(rows, gathering->rows, gathering->n_rows * sizeof(*rows));
	gathering->rows = rows;
	gathering->n_room = n;
	return 0;
}

/* The path is both parts together; with "" the first one alone. */
static int add(struct gathering *gathering, const char *directory, const char *rest, unsigned kinds)
{
	size_t len = strcmp(directory, "/") == 0 ? 0 : strlen(directory), n_rest = strlen(rest);
	char *path = arena_alloc(gathering->arena, len + n_rest + 2);

	if (!path || make_room(gathering) < 0)
		return -ENOMEM;
	memcpy(path, directory, len);
	path[len] = n_rest > 0 ? '/' : '\0';
	memcpy(path + len + (n_rest > 0), rest, n_rest + 1);
	gathering->rows[gathering->n_rows++] = (struct credential){ path, kinds };
	return 0;
}

/* @inside: what the path lies in, below the place; NULL: all of the place lies in the path. */
static int add_rows(struct gathering *gathering, const struct credential_place *place,
		    const char *inside)
{
	size_t n;
	const struct credential_row *rows = credential_rows(place->table, &n);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const char *path = row_at(place, &rows[i]);
		const char *rest = path && inside ? rest_of(path, inside) : path;

		if (rest && *rest)
			r = add(gathering, place->path, path, rows[i].kinds);
	}
	return r;
}

int credentials_below(const struct credential_list *list, const char *path, struct arena *arena,
		      const struct credential **ret, size_t *ret_n)
{
	struct gathering gathering = { .arena = arena };
	int r = 0;

	for (size_t i = 0; i < list->n_places && r == 0; i++) {
		const struct credential_place *place = &list->places[i];
		const char *rest = rest_of(place->path, path);

		if (place->kinds && rest && *rest)
			r = add(&gathering, place->path, "", place->kinds);
		if (place->kinds)
			continue;
		if (rest)
			r = add_rows(&gathering, place, NULL);
		else if (rest_of(path, place->path))
			r = add_rows(&gathering, place, rest_of(path, place->path));
	}
	if (r < 0)
		return r;
	*ret = gathering.rows;
	*ret_n = gathering.n_rows;
	return 0;
}

/* Of the rows that @rest, below the place, is or lies in; the narrowest row has the most to say. */
static const char *match_rows(const struct credential_place *place, const char *rest,
			      unsigned *ret_kinds)
{
	const char *found = NULL;
	size_t n;
	const struct credential_row *rows = credential_rows(place->table, &n);

	for (size_t i = 0; i < n; i++) {
		const char *path = row_at(place, &rows[i]);

		if (!path || !rest_of(rest, path) || (found && strlen(path) < strlen(found)))
			continue;
		found = path;
		*ret_kinds = rows[i].kinds;
	}
	return found;
}

bool credentials_match(const struct credential_list *list, const char *path, struct arena *arena,
		       struct credential *ret)
{
	struct gathering gathering = { .arena = arena };

	for (size_t i = 0; i < list->n_places && gathering.n_rows == 0; i++) {
		const struct credential_place *place = &list->places[i];
		const char *rest = rest_of(path, place->path);
		unsigned kinds = place->kinds;
		const char *row = rest && !kinds ? match_rows(place, rest, &kinds) : rest;

		if (row && kinds)
			(void)add(&gathering, place->path, place->kinds ? "" : row, kinds);
	}
	if (gathering.n_rows == 0)
		return false;
	*ret = gathering.rows[0];
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
