/* SPDX-License-Identifier: MIT */

/*
 * Writing an archive: twice through what it is made of, because a tar says how long a member is
 * before the member. Nothing of the machine or the hour is in it, so the same records give the same
 * tar.
 */

#include "audit/archive-internal.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/base64.h"
#include "base/text.h"

#define FLUSH_BYTES (64 * 1024)
#define LEVEL "6"

void archive_add_line_begin(struct text *out, uint64_t seq, const struct audit_hash *hash)
{
	text_addf(out, "{\"seq\":%" PRIu64 ",\"hash\":\"", seq);
	base64_add(out, hash->bytes, sizeof(hash->bytes));
	text_add(out, "\",\"record\":");
}

struct writer {
	struct archive *tar;
	const char *name;
	const struct archive_source *source;
	struct text out;
	uint64_t next; /* number of the record that has to come */
	uint64_t n_notes;
	uint64_t n_records; /* bytes of each member */
	bool is_measuring;
};

static int fail(struct writer *writer, int code, const char *why, const char *fix,
		struct sbx_error *err)
{
	(void)sbx_error_what(err, code, "cannot write the archive '%s'", writer->name);
	if (why)
		sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return code;
}

static int fail_tar(struct writer *writer, struct sbx_error *err)
{
	int code = archive_errno(writer->tar);
	const char *why = archive_error_string(writer->tar);

	return fail(writer, code > 0 ? -code : -EIO, why, "check the room on the file system", err);
}

static int fail_row(struct writer *writer, const char *why, struct sbx_error *err)
{
	return fail(writer, -EBADMSG, why, "see what is wrong: sbx-audit verify --full", err);
}

static int flush(struct writer *writer, size_t at_least, struct sbx_error *err)
{
	struct text *out = &writer->out;

	if (text_status(out) < 0)
		return fail(writer, -ENOMEM, NULL, "free some memory", err);
	if (out->len < at_least)
		return 0;
	if (archive_write_data(writer->tar, out->data, out->len) != (la_ssize_t)out->len)
		return fail_tar(writer, err);
	text_reset(out);
	return 0;
}

/* ---- rows and notes ---- */

static const char *why_no_row(const struct writer *writer, const struct store_row *row)
{
	if (row->problem)
		return row->problem;
	if (row->seq != writer->next || row->seq >= writer->source->about.size)
		return "a record is missing";
	if (row->n_body == 0 || row->n_body > ENTRY_BYTES_MAX ||
	    memchr(row->body, '\n', row->n_body))
		return "a record is not on one line";
	return NULL;
}

static int put_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct writer *writer = userdata;
	const char *why = why_no_row(writer, row);
	size_t begin = writer->out.len;

	if (why)
		return fail_row(writer, why, err);
	writer->next++;
	archive_add_line_begin(&writer->out, row->seq, &row->hash);
	if (writer->is_measuring) {
		writer->n_records += writer->out.len - begin + row->n_body;
		writer->n_records += strlen(ARCHIVE_LINE_END);
		text_truncate(&writer->out, begin);
		return flush(writer, SIZE_MAX, err);
	}
	text_add_bytes(&writer->out, row->body, row->n_body);
	text_add(&writer->out, ARCHIVE_LINE_END);
	return flush(writer, FLUSH_BYTES, err);
}

static int put_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		    struct sbx_error *err)
{
	struct writer *writer = userdata;

	if (writer->is_measuring) {
		writer->n_notes += n_bytes;
		return 0;
	}
	text_add_bytes(&writer->out, note, n_bytes);
	return flush(writer, FLUSH_BYTES, err);
}

static int put_notes(struct writer *writer, struct sbx_error *err)
{
	const struct archive_source *source = writer->source;

	return source->each_checkpoint(source->userdata, put_note, writer, err);
}

static int put_rows(struct writer *writer, struct sbx_error *err)
{
	const struct archive_source *source = writer->source;
	int r;

	writer->next = source->about.first;
	r = source->each(source->userdata, put_row, writer, err);
	if (r == 0 && writer->next != source->about.size)
		r = fail_row(writer, "records are missing at its end", err);
	return r;
}

/* ---- members ---- */

static void entry_free(struct archive_entry **entry)
{
	archive_entry_free(*entry);
}

static int begin_member(struct writer *writer, enum archive_member member, uint64_t n_bytes,
			struct sbx_error *err)
{
	_cleanup_(entry_free) struct archive_entry *entry = archive_entry_new();

	if (!entry)
		return fail(writer, -ENOMEM, NULL, "free some memory", err);
	archive_entry_set_pathname(entry, archive_member_name(member));
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, ARCHIVE_MODE);
	archive_entry_set_mtime(entry, 0, 0);
	archive_entry_set_size(entry, (la_int64_t)n_bytes);
	return archive_write_header(writer->tar, entry) == ARCHIVE_OK ? 0 : fail_tar(writer, err);
}

static int put_members(struct writer *writer, struct sbx_error *err)
{
	int r;

	segment_add_about(&writer->out, &writer->source->about);
	r = begin_member(writer, MEMBER_ABOUT, writer->out.len, err);
	if (r == 0)
		r = flush(writer, 0, err);
	if (r == 0)
		r = begin_member(writer, MEMBER_NOTES, writer->n_notes, err);
	if (r == 0)
		r = put_notes(writer, err);
	if (r == 0)
		r = flush(writer, 0, err);
	if (r == 0)
		r = begin_member(writer, MEMBER_RECORDS, writer->n_records, err);
	if (r == 0)
		r = put_rows(writer, err);
	if (r == 0)
		r = flush(writer, 0, err);
	if (r == 0 && archive_write_close(writer->tar) != ARCHIVE_OK)
		r = fail_tar(writer, err);
	return r;
}

static int begin_tar(struct writer *writer, int fd, struct sbx_error *err)
{
	struct archive *tar = writer->tar;

	/* ARCHIVE_WARN: it would run a program for that. */
	if (archive_write_add_filter_zstd(tar) != ARCHIVE_OK ||
	    archive_write_set_filter_option(tar, "zstd", "compression-level", LEVEL) !=
		    ARCHIVE_OK ||
	    archive_write_set_format_pax_restricted(tar) != ARCHIVE_OK)
		return fail(writer, -ENOTSUP, "libarchive cannot write zstd",
			    "install a libarchive with zstd", err);
	return archive_write_open_fd(tar, fd) == ARCHIVE_OK ? 0 : fail_tar(writer, err);
}

static void tar_free(struct archive **tar)
{
	if (*tar)
		(void)archive_write_free(*tar);
}

int audit_archive_write(int fd, const char *name, const struct archive_source *source,
			struct sbx_error *err)
{
	_cleanup_(tar_free) struct archive *tar = archive_write_new();
	struct writer writer = { .tar = tar, .name = name, .source = source };
	int r;

	if (!tar)
		return fail(&writer, -ENOMEM, NULL, "free some memory", err);
	writer.is_measuring = true;
	r = put_notes(&writer, err);
	if (r == 0)
		r = put_rows(&writer, err);
	writer.is_measuring = false;
	if (r == 0)
		r = begin_tar(&writer, fd, err);
	if (r == 0)
		r = put_members(&writer, err);
	text_deinit(&writer.out);
	return r;
}
