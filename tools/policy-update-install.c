/* SPDX-License-Identifier: MIT */

/*
 * Putting a policy into the place of another
 *
 * The rename of the policy itself is the one moment at which something changes; before and after
 * it, whatever happens, one of the two is there, whole. The old one is kept beside it before, and
 * what is known about the new one after: metadata whose digest is not the policy's belongs to an
 * update that was interrupted.
 */

#include "policy-update.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "base/tree.h"
#include "record/record.h"

#include "tool.h"

#define NEW_FILE_MODE 0644

static int fail(struct sbx_error *err, int code, const char *path, const char *why, const char *fix)
{
	(void)sbx_error_what(err, code, "cannot replace the policy at '%s'", path);
	if (why)
		sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return code;
}

/* Two updates of policies of one folder do not meet. The lock ends with the fd. */
static int lock_folder(const char *path, struct sbx_error *err)
{
	size_t n = (size_t)(path_last(path) - path);
	_cleanup_free_ char *folder = n > 0 ? strndup(path, n) : strdup(".");
	_cleanup_close_ int fd = -EBADF;

	if (!folder)
		return fail(err, -ENOMEM, path, NULL, "free some memory");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail(err, -errno, path, NULL, "make its directory, or correct the path");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return fail(err, -errno, path, "another update is in progress",
			    "wait until it has ended, then look at the changes again");
	return take_fd(&fd);
}

/* What was compared must be what is replaced. */
static int check_unchanged(const struct update *update, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	int r = file_read(AT_FDCWD, update->path, TREE_BYTES_MAX, &bytes, &n_bytes, NULL);

	if (r == -ENOENT && !update->old_bytes)
		return 0;
	if (r == 0 && update->old_bytes && n_bytes == update->n_old_bytes &&
	    memcmp(bytes, update->old_bytes, n_bytes) == 0)
		return 0;
	return fail(err, -EBUSY, update->path, "it has changed since it was compared",
		    "run it again, and look at the changes again");
}

/* ---- metadata ---- */

static void add_time(struct json_writer *json)
{
	struct timespec now;
	struct tm parts;
	char text[32];

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &parts);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
	json_member_string(json, "appliedAt", text);
}

static void add_keys(struct json_writer *json, const struct policy_source *source)
{
	_cleanup_tree_ struct tree *tree = NULL;
	size_t n = 0;

	json_add_name(json, "keys");
	json_add_array(json);
	if (tree_read(source->name, source->bytes, source->n_bytes, &tree, NULL) == 0 &&
	    tree_root(tree)->type == TREE_MAP)
		for (const struct tree_node *node = tree_root(tree)->first; node;
		     node = node->next) {
			json_add_string(json, node->key);
			n++;
		}
	json_end_array(json);
	json_member_u64(json, "count", n);
}

static void add_counts(struct json_writer *json, const struct policy *policy)
{
	size_t n_rules[POLICY_DENY + 1] = { 0 };

	json_add_name(json, "defaults");
	json_add_object(json);
	for (int i = 0; i < N_CLASSES; i++)
		json_member_string(json, operation_class_name((enum operation_class)i),
				   policy_action_name(policy->defaults[i]));
	json_end_object(json);
	for (size_t i = 0; i < policy->n_rules; i++)
		n_rules[policy->rules[i].action]++;
	json_add_name(json, "rules");
	json_add_object(json);
	for (int action = POLICY_PASS; action <= POLICY_DENY; action++)
		json_member_u64(json, policy_action_name((enum policy_action)action),
				n_rules[action]);
	json_end_object(json);
	json_member_u64(json, "extensions", policy->n_extensions);
}

static void add_who(struct json_writer *json)
{
	const struct passwd *user = getpwuid(getuid());

	json_add_name(json, "by");
	json_add_object(json);
	json_member_u64(json, "uid", getuid());
	if (user)
		json_member_string(json, "user", user->pw_name);
	json_end_object(json);
}

static void add_digests(struct json_writer *json, const struct update *update)
{
	json_member_string(json, "digest", update->digest);
	json_member_string(json, "previous", update->old_bytes ? update->old_digest : NULL);
}

static void add_metadata(struct text *out, const struct update *update)
{
	const struct policy *policy = update->after.policy;
	struct json_writer json;

	json_write(&json, out);
	json_add_object(&json);
	add_keys(&json, &policy->sources[0]);
	add_counts(&json, policy);
	add_digests(&json, update);
	json_member_string(&json, "source", "apply");
	json_member_string(&json, "from", update->from);
	add_time(&json);
	add_who(&json);
	json_end_object(&json);
	text_add_char(out, '\n');
}

/* ---- records ---- */

static int record(struct recorder *recorder, const struct update *update, const char *stage,
		  struct sbx_error *err)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct json_writer json;

	record_begin(recorder, &out, &json, "policy_update", "sbx-policy");
	json_member_string(&json, "stage", stage);
	json_member_string(&json, "path", update->path);
	json_member_string(&json, "from", update->from);
	add_digests(&json, update);
	add_who(&json);
	json_member_u64(&json, "replayed", update->replay.n_replayed);
	json_member_u64(&json, "breaking", update->replay.n_breaking);
	json_member_u64(&json, "widening", update->replay.n_widening);
	return record_send(recorder, &out, &json, err);
}

/* ---- files ---- */

static int write_beside(const struct update *update, const char *suffix, const void *bytes,
			size_t n_bytes, mode_t mode, struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	text_addf(&path, "%s%s", update->path, suffix);
	if (text_status(&path) < 0)
		return fail(err, -ENOMEM, update->path, NULL, "free some memory");
	return file_replace(AT_FDCWD, text_string(&path), bytes, n_bytes, mode, err);
}

static int replace(const struct update *update, struct sbx_error *err)
{
	const struct policy_source *source = &update->after.policy->sources[0];
	_cleanup_text_ struct text metadata = TEXT_INIT;
	struct stat st;
	mode_t mode = stat(update->path, &st) == 0 ? st.st_mode & 0777 : NEW_FILE_MODE;
	int r = 0;

	add_metadata(&metadata, update);
	if (text_status(&metadata) < 0)
		return fail(err, -ENOMEM, update->path, NULL, "free some memory");
	if (update->old_bytes)
		r = write_beside(update, ".previous", update->old_bytes, update->n_old_bytes, mode,
				 err);
	if (r >= 0)
		r = write_beside(update, "", source->bytes, source->n_bytes, mode, err);
	if (r < 0)
		return r;
	return write_beside(update, ".meta.json", metadata.data, metadata.len, mode, err);
}

int update_install(const struct update *update, struct sbx_error *err)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	_cleanup_close_ int lock = -EBADF;
	int r = policy_open_recorder(&recorder, update->values, err);

	if (r < 0)
		return r;
	lock = lock_folder(update->path, err);
	if (lock < 0)
		return lock;
	r = check_unchanged(update, err);
	/* Before: a change that cannot be recorded does not happen. */
	if (r >= 0)
		r = record(&recorder, update, "approved", err);
	if (r >= 0)
		r = replace(update, err);
	if (r >= 0)
		r = record(&recorder, update, "installed", err);
	if (r < 0)
		return r;
	if (update->old_bytes)
		text_addf(&update->run->out, "'%s' is replaced; the old policy is '%s.previous'\n",
			  update->path, update->path);
	else
		text_addf(&update->run->out, "'%s' is in force; there was no policy before\n",
			  update->path);
	return TOOL_YES;
}
