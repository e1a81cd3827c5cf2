/* SPDX-License-Identifier: MIT */

/*
 * The file of epochs is replaced as a whole: it grows by one note when a key has changed, and is
 * whole at any crash. Nothing in it is believed, but what is no row of notes is not passed on.
 */

#include "audit/epochs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include <sbx/error.h>

#include "audit/checkpoint.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"

#define SIGNATURE_LINE "\xe2\x80\x94 "
#define SIGNATURE_LINE_SIZE (sizeof(SIGNATURE_LINE) - 1)

/* ---- notes one behind the other ---- */

static bool is_signature(const char *at, size_t n)
{
	return n >= SIGNATURE_LINE_SIZE && memcmp(at, SIGNATURE_LINE, SIGNATURE_LINE_SIZE) == 0;
}

size_t notes_next(const char *bytes, size_t n_bytes, bool is_end)
{
	const char *end = bytes + n_bytes, *at = memmem(bytes, n_bytes, "\n\n", 2), *newline;
	const char *begin;

	if (!at)
		return 0;
	for (begin = at += 2; is_signature(at, (size_t)(end - at)); at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			return 0;
	}
	/* Perhaps another signature comes. */
	if (at == begin || ((size_t)(end - at) < SIGNATURE_LINE_SIZE && !is_end))
		return 0;
	return (size_t)(at - bytes);
}

/* ---- the file ---- */

static int fail(struct sbx_error *err, int code, const char *why, const char *fix)
{
	(void)sbx_error_what(err, code, "cannot use the file '%s' of the log", EPOCHS_NAME);
	if (why)
		sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return code;
}

/* 0, -EBADMSG or -ENOMEM. */
static int parse(const char *note, size_t n_bytes, struct audit_checkpoint *ret)
{
	const char *end = memmem(note, n_bytes, "\n\n", 2);
	int r = end ? checkpoint_parse(note, (size_t)(end - note) + 1, ret, NULL) : -EBADMSG;

	return r == 0 && !ret->is_last_of_epoch ? -EBADMSG : r;
}

/* Without a file: nothing. */
static int read_file(int folder, char **ret_bytes, size_t *ret_n, struct sbx_error *err)
{
	_cleanup_close_ int fd = path_open_beneath(folder, EPOCHS_NAME, O_RDONLY | O_NONBLOCK, 0);
	struct stat st;

	*ret_n = 0;
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fail(err, fd, NULL, "check that it is a file and can be read");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fail(err, -EBADMSG, "it is no regular file",
			    "put a copy of it in its place");
	return file_read_fd(fd, EPOCHS_NAME, EPOCHS_BYTES_MAX, ret_bytes, ret_n, err);
}

static int each(const char *bytes, size_t n, store_visit_note visit, void *userdata,
		struct sbx_error *err)
{
	struct audit_checkpoint last = { .size = 0 }, next;

	for (size_t at = 0, n_note; at < n; at += n_note, last = next) {
		int r;

		n_note = notes_next(bytes + at, n - at, true);
		r = n_note == 0 || n_note > STORE_NOTE_MAX ? -EBADMSG
							   : parse(bytes + at, n_note, &next);
		if (r == -ENOMEM)
			return fail(err, r, NULL, "free some memory");
		if (r < 0 || next.size <= last.size || (at > 0 && next.epoch <= last.epoch))
			return fail(err, -EBADMSG, "it is not a row of last checkpoints",
				    "put a copy of it in its place");
		r = visit(userdata, next.size, bytes + at, n_note, err);
		if (r != 0)
			return r;
	}
	return 0;
}

int epochs_each(int folder, store_visit_note visit, void *userdata, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n;
	int r = read_file(folder, &bytes, &n, err);

	return r < 0 ? r : each(bytes, n, visit, userdata, err);
}

/* Where a note stands, or would. */
struct place {
	const char *bytes; /* of the file */
	uint64_t epoch;
	size_t at; /* behind those of the epochs before */
	const char *note;
	size_t n_note; /* 0: there is none of this epoch */
};

static int find_place(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		      struct sbx_error *err)
{
	struct place *place = userdata;
	struct audit_checkpoint there;
	int r = parse(note, n_bytes, &there);

	if (r < 0 || there.epoch > place->epoch)
		return r < 0 ? r : 1;
	if (there.epoch < place->epoch) {
		place->at = (size_t)(note - place->bytes) + n_bytes;
		return 0;
	}
	place->note = note;
	place->n_note = n_bytes;
	return 1;
}

static int read_place(int folder, const char *note, size_t n_bytes, char **ret_bytes, size_t *ret_n,
		      struct place *ret, struct sbx_error *err)
{
	struct audit_checkpoint wanted;
	int r = n_bytes > STORE_NOTE_MAX ? -EBADMSG : parse(note, n_bytes, &wanted);

	if (r < 0)
		return fail(err, r == -ENOMEM ? r : -EINVAL, "the checkpoint ends no epoch",
			    "look at the log with 'sbx-audit verify --full'");
	r = read_file(folder, ret_bytes, ret_n, err);
	if (r < 0)
		return r;
	*ret = (struct place){ .bytes = *ret_bytes, .epoch = wanted.epoch };
	r = each(*ret_bytes, *ret_n, find_place, ret, err);
	return r < 0 ? r : 0;
}

int epochs_has(int folder, const char *note, size_t n_bytes, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	struct place place;
	size_t n;
	int r = read_place(folder, note, n_bytes, &bytes, &n, &place, err);

	return r < 0 ? r : place.n_note == n_bytes && memcmp(place.note, note, n_bytes) == 0;
}

static int pass(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		struct sbx_error *err)
{
	return 0;
}

int epochs_add(int folder, const char *note, size_t n_bytes, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	_cleanup_text_ struct text all = TEXT_INIT;
	struct place place;
	size_t n;
	int r = read_place(folder, note, n_bytes, &bytes, &n, &place, err);

	if (r < 0 || place.n_note > 0)
		return r;
	text_add_bytes(&all, bytes, place.at);
	text_add_bytes(&all, note, n_bytes);
	text_add_bytes(&all, bytes + place.at, n - place.at);
	if (text_status(&all) < 0)
		return fail(err, -ENOMEM, NULL, "free some memory");
	if (all.len > EPOCHS_BYTES_MAX)
		return fail(err, -EFBIG, "there are too many epochs", "begin a new log");
	r = each(all.data, all.len, pass, NULL, err);
	return r < 0 ? r : file_replace(folder, EPOCHS_NAME, all.data, all.len, 0600, err);
}
