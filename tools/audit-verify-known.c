/* SPDX-License-Identifier: MIT */

/*
 * What is known of a log from elsewhere: how far it was verified, and the heads that others have
 * seen
 */

#include "audit-verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <sbx/error.h>

#include "audit/checkpoint.h"
#include "audit/journal.h"
#include "audit/segment.h"
#include "base/file.h"
#include "tool.h"

#define STATE_BYTES_MAX 16384
#define WITNESS_BYTES_MAX (64 * 1024 * 1024)
#define STATE_SUFFIX ".verified"

/* ---- how far it was verified ---- */

static bool known_state_path(const struct audit_values *values, struct text *out)
{
	if (values->state) {
		text_add(out, values->state);
		return true;
	}
	/* Beside the log of this user's place, and beside no other: that may be a copy. */
	if (values->folder || places_folder(values, out, NULL) < 0)
		return false;
	text_add(out, STATE_SUFFIX);
	return true;
}

/* Where there is no state yet everything is verified. */
int known_read_state(const struct audit_values *values, struct verified_state *ret,
		     struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_free_ char *bytes = NULL;
	struct sbx_error why = { .code = 0 };
	size_t n_bytes = 0;
	int r;

	if (!known_state_path(values, &path))
		return 0;
	r = file_read_regular(AT_FDCWD, text_string(&path), STATE_BYTES_MAX, &bytes, &n_bytes,
			      &why);
	if (r == -ENOENT || (r == -EACCES && !values->state))
		return 0;
	if (r == 0)
		r = verified_state_parse(bytes, n_bytes, ret, &why);
	if (r < 0 && err)
		*err = why;
	return r < 0 ? r : 1;
}

int known_read_last(const struct audit_values *values, uint64_t *ret_size, uint64_t *ret_usec)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	struct verified_state state = { .origin = "" };
	struct stat st;
	int r = known_read_state(values, &state, NULL);

	if (r <= 0 || !known_state_path(values, &path) || stat(text_string(&path), &st) < 0)
		return r < 0 ? r : 0;
	*ret_size = state.frontier.size;
	*ret_usec = (uint64_t)st.st_mtim.tv_sec * 1000000 + (uint64_t)st.st_mtim.tv_nsec / 1000;
	return 1;
}

int known_write_state(struct tool_run *run, const struct verified_state *state,
		      struct sbx_error *err)
{
	const struct audit_values *values = run->values;
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct sbx_error why = { .code = 0 };
	int r;

	if (!known_state_path(values, &path))
		return 0;
	r = verified_state_add_text(&text, state);
	if (r < 0)
		return sbx_error_what(err, r, "cannot keep what was verified");
	r = file_replace(AT_FDCWD, text_string(&path), text.data, text.len, 0600, &why);
	/* Whoever may only read the log verifies all of it again the next time. */
	if (r < 0 && !values->state) {
		if (run->verbosity > 0)
			log_write(&run->log, LOG_LEVEL_INFO, NULL, "%s: %s", why.what, why.why);
		return 0;
	}
	if (r < 0 && err)
		*err = why;
	return r;
}

/* ---- what others have seen ---- */

int known_read_witness(const struct audit_values *values, struct witness *ret,
		       struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	int r = file_read(AT_FDCWD, values->witness, WITNESS_BYTES_MAX, &bytes, &n_bytes, err);

	if (r == 0)
		r = witness_parse(ret, bytes, n_bytes, err);
	if (r < 0 || ret->n_heads > 0)
		return r;
	(void)sbx_error_what(err, -EINVAL, "there is no head in '%s'", values->witness);
	sbx_error_why(err, "then nothing would be compared");
	sbx_error_fix(err, "write checkpoints of the log into it, or leave out --witness-file");
	return -EINVAL;
}

/* As it says itself. Whether that is true is seen when it is verified. */
static int read_origin(int folder, char ret[NOTE_NAME_SIZE], struct sbx_error *err)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	_cleanup_segment_ struct segment *segment = NULL;
	struct segment_about about;
	int r = segment_list(folder, &list);

	if (r == 0 && list.n == 0)
		r = -ENOENT;
	if (r < 0) {
		(void)sbx_error_what(err, r, "cannot tell which log this is");
		sbx_error_fix(err, "name the directory of a log, and its key with --key");
		return r;
	}
	r = segment_open(folder, &list.files[0], &segment, err);
	if (r == 0)
		r = segment_read_about(segment, &about, err);
	if (r < 0)
		return r;
	(void)snprintf(ret, NOTE_NAME_SIZE, CHECKPOINT_ORIGIN_PREFIX "%s", about.log_id);
	return 0;
}

/* Whoever has put another log in its place has to answer for the heads of this one. */
static int find_origin(const struct audit_values *values, const struct verified_state *since,
		       int folder, char ret[NOTE_NAME_SIZE], struct sbx_error *err)
{
	const char *plus = values->key ? strchr(values->key, '+') : NULL;

	if (plus && (size_t)(plus - values->key) < NOTE_NAME_SIZE) {
		memcpy(ret, values->key, (size_t)(plus - values->key));
		ret[plus - values->key] = '\0';
		return 0;
	}
	if (since) {
		memcpy(ret, since->origin, NOTE_NAME_SIZE);
		return 0;
	}
	return read_origin(folder, ret, err);
}

int known_read_journal(const struct audit_values *values, const struct verified_state *since,
		       int folder, struct witness *ret, struct sbx_error *err)
{
	char origin[NOTE_NAME_SIZE];
	struct journal_options options = { .directory = values->journal_directory,
					   .origin = origin };
	struct stat st;
	int r = find_origin(values, since, folder, origin, err);

	if (r < 0)
		return r;
	if (fstat(folder, &st) < 0)
		return sbx_error_what(err, -errno, "cannot tell whose the log is");
	options.owner = st.st_uid;
	r = witness_read_journal(ret, &options, err);
	/* What was verified before was held against the journal then. */
	if (r == 0 && since && !values->full)
		witness_drop(ret, since->frontier.size);
	return r;
}
