/* SPDX-License-Identifier: MIT */

/*
 * Where things are that no policy says: the user's own folders of sbx, which no rule can make
 * writable, the service's socket, and where records go.
 */

#include "policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/path.h"
#include "record/record.h"

#define SYSTEM_SOCKET "/run/sbx/policy.sock"

static const struct {
	const char *variable, *below;
} places[] = {
	{ "XDG_CONFIG_HOME", "/sbx" },	 { "XDG_STATE_HOME", "/sbx" },
	{ "XDG_RUNTIME_DIR", "/sbx" },	 { "HOME", "/.config/sbx" },
	{ "HOME", "/.local/state/sbx" },
};

void policy_places_free(char **paths)
{
	for (size_t i = 0; paths && paths[i]; i++)
		free(paths[i]);
	free(paths);
}

int policy_places_find(char ***ret, struct sbx_error *err)
{
	char **paths = calloc(N_ELEMENTS(places) + 1, sizeof(*paths));
	size_t n = 0;

	for (size_t i = 0; paths && i < N_ELEMENTS(places); i++) {
		const char *folder = getenv(places[i].variable);
		struct text place = TEXT_INIT;

		if (!folder || folder[0] != '/')
			continue;
		words_join(&place, "/", folder);
		text_add(&place, places[i].below);
		paths[n] = text_take(&place);
		if (!paths[n++]) {
			policy_places_free(paths);
			paths = NULL;
		}
	}
	if (!paths)
		return sbx_error_what(err, -ENOMEM, "cannot protect the places of sbx");
	*ret = paths;
	return 0;
}

int policy_open_recorder(struct recorder *ret, const struct policy_values *values,
			 struct sbx_error *err)
{
	if (values->audit_fd < 0)
		return recorder_open_spool(ret, environ, err);
	recorder_use_fd(ret, values->audit_fd);
	return 0;
}

int policy_add_socket_path(struct text *out, struct sbx_error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0) {
		text_add(out, SYSTEM_SOCKET);
	} else if (runtime && runtime[0] == '/') {
		text_addf(out, "%s/sbx/policy.sock", runtime);
	} else {
		(void)sbx_error_what(err, -ENOENT, "cannot tell where the service's socket is");
		sbx_error_why(err, "XDG_RUNTIME_DIR is not set to an absolute path");
		sbx_error_fix(err, "name it with --socket");
		return -ENOENT;
	}
	return text_status(out);
}
