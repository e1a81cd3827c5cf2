/* SPDX-License-Identifier: MIT */

/*
 * Reading an archive: records and notes each through their own stream over the same file, so that a
 * verifier can read both side by side without keeping either in memory
 *
 * A decompression bomb would make the reader unpack for ever. zstd cannot compress a hash or a
 * signature, so a file of N bytes holds at most N / 32 records and N / 64 notes: larger numbers in
 * segment.json are refused before anything is unpacked. A file that has anything after its one zstd
 * frame is refused too: libarchive looks for another frame, and would read a sparse file to its
 * end.
 */

#include "audit/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/base64.h"
#include "audit/checkpoint.h"
#include "audit/key.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"

/* {"seq":9223372036854775807,"hash":"44 characters","record": ... } and a newline */
#define ARCHIVE_LINE_MAX (ENTRY_BYTES_MAX + 128)

#define HASH_TEXT_SIZE 44
#define ROWS_BUFFER_SIZE (2 * ARCHIVE_LINE_MAX)
#define NOTES_BUFFER_SIZE (4 * STORE_NOTE_MAX)

struct audit_archive {
	int fd;
	uint64_t n_bytes;
	char name[SEGMENT_FILE_SIZE * 4];
	struct segment_about about;
	struct stream *notes; /* NULL: not opened yet */
	uint64_t note_size;   /* log size in the note at the stream's position */
	size_t n_note;	      /* that note's length; 0: not read yet */
	uint64_t passed_size; /* log size in the note before it */
};

/* ---- open ---- */

struct audit_archive *audit_archive_free(struct audit_archive *archive)
{
	if (!archive)
		return NULL;
	(void)stream_free(archive->notes);
	close_fd(&archive->fd);
	free(archive);
	return NULL;
}

const struct segment_about *audit_archive_about(const struct audit_archive *archive)
{
	return &archive->about;
}

/* Unpacks segment.json into the stream's buffer. */
static int pass_about(struct stream *stream, struct sbx_error *err)
{
	int r = stream_next_member(stream, SEGMENT_ABOUT_MAX, err);

	return r < 0 ? r : stream_fill(stream, err);
}

static int read_about(struct audit_archive *archive, struct sbx_error *err)
{
	_cleanup_stream_ struct stream *stream = NULL;
	int r = stream_open(archive->fd, archive->n_bytes, archive->name, SEGMENT_ABOUT_MAX,
			    &stream, err);

	if (r < 0)
		return r;
	r = pass_about(stream, err);
	if (r < 0)
		return r;
	r = segment_parse_about(stream->bytes, stream->end, &archive->about);
	if (r == -ENOTSUP)
		return archive_fail(err, r, archive->name, "its format is newer than this program",
				    "use a later release of sbx-audit");
	if (r == -ENOMEM)
		return archive_fail(err, r, archive->name, NULL, "free some memory");
	if (r < 0)
		return archive_fail_format(err, archive->name,
					   "it does not name its first and last record");
	if ((archive->about.size - archive->about.first) > archive->n_bytes / AUDIT_HASH_SIZE)
		return archive_fail_format(err, archive->name,
					   "it names more records than its size allows");
	return 0;
}

int audit_archive_open(int directory, const char *name, struct audit_archive **ret,
		       struct sbx_error *err)
{
	_cleanup_audit_archive_ struct audit_archive *archive = calloc(1, sizeof(*archive));
	struct stat st;
	int r;

	if (!archive)
		return archive_fail(err, -ENOMEM, name, NULL, "free some memory");
	(void)snprintf(archive->name, sizeof(archive->name), "%s", name);
	archive->fd = path_open_beneath(directory, name, O_RDONLY | O_NONBLOCK, 0);
	if (archive->fd < 0)
		return archive_fail(err, archive->fd, name, NULL,
				    "check that it exists and can be read");
	if (fstat(archive->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return archive_fail_format(err, name, "it is not a regular file");
	archive->n_bytes = (uint64_t)st.st_size;
	r = archive_check_frame(archive->fd, archive->n_bytes, archive->name, err);
	if (r < 0)
		return r;
	r = read_about(archive, err);
	if (r < 0)
		return r;
	*ret = take_ptr(archive);
	return 0;
}

/* ---- notes ---- */

/* Opens a stream that is positioned at the first byte of the checkpoints. */
static int open_at_notes(struct audit_archive *archive, size_t size, struct stream **ret,
			 struct sbx_error *err)
{
	_cleanup_stream_ struct stream *stream = NULL;
	uint64_t n_max = archive->n_bytes / SIGNATURE_SIZE + 1;
	int r = stream_open(archive->fd, archive->n_bytes, archive->name, size, &stream, err);

	if (r < 0)
		return r;
	r = pass_about(stream, err);
	if (r < 0)
		return r;
	r = stream_next_member(stream, n_max * STORE_NOTE_MAX, err);
	if (r < 0)
		return r;
	*ret = take_ptr(stream);
	return 0;
}

static int begin_notes(struct audit_archive *archive, struct sbx_error *err)
{
	archive->notes = stream_free(archive->notes);
	archive->n_note = 0;
	archive->note_size = archive->passed_size = 0;
	return open_at_notes(archive, NOTES_BUFFER_SIZE, &archive->notes, err);
}

/* The log size that the note signs; 0 if it is not a checkpoint. */
static uint64_t size_of(const char *note, size_t n)
{
	struct audit_checkpoint checkpoint;

	return checkpoint_peek(note, n, &checkpoint) < 0 ? 0 : checkpoint.size;
}

/* Length of the note at the stream's position; 0 if there is not a whole one. */
static size_t note_length(const struct stream *stream)
{
	return notes_next(stream->bytes + stream->begin, stream->end - stream->begin,
			  stream->left == 0);
}

/* Reads the next note to the stream's position: 1, or 0 after the last one. */
static int next_note(struct audit_archive *archive, struct sbx_error *err)
{
	struct stream *stream = archive->notes;
	size_t n = archive->n_note;
	uint64_t size;

	if (n > 0)
		return 1;
	n = note_length(stream);
	if (n == 0) {
		int r = stream_fill(stream, err);

		if (r < 0 || stream_is_at_end(stream))
			return r;
		n = note_length(stream);
	}
	size = n > 0 ? size_of(stream->bytes + stream->begin, n) : 0;
	if (size <= archive->note_size || n > STORE_NOTE_MAX)
		return archive_fail_format(err, archive->name,
					   "its checkpoints are not a sequence of notes");
	archive->n_note = n;
	archive->passed_size = archive->note_size;
	archive->note_size = size;
	return 1;
}

int audit_archive_each_checkpoint(struct audit_archive *archive, uint64_t from_size,
				  store_visit_note visit, void *userdata, struct sbx_error *err)
{
	bool is_behind = archive->notes && from_size <= (archive->n_note > 0 ? archive->passed_size
									     : archive->note_size);
	int r = !archive->notes || is_behind ? begin_notes(archive, err) : 0;

	if (r < 0)
		return r;
	while ((r = next_note(archive, err)) > 0) {
		struct stream *stream = archive->notes;

		if (archive->note_size >= from_size) {
			r = visit(userdata, archive->note_size, stream->bytes + stream->begin,
				  archive->n_note, err);
			if (r != 0)
				return r;
		}
		stream->begin += archive->n_note;
		archive->n_note = 0;
	}
	return r;
}

/* ---- rows ---- */

#define ARCHIVE_LINE_END "}\n"

/* Adds what a record's line begins with. */
static void add_line_begin(struct text *out, uint64_t seq, const struct audit_hash *hash)
{
	text_addf(out, "{\"seq\":%" PRIu64 ",\"hash\":\"", seq);
	base64_add(out, hash->bytes, sizeof(hash->bytes));
	text_add(out, "\",\"record\":");
}

struct rows {
	struct audit_archive *archive;
	struct stream *stream;
	struct text expected; /* what the current line must begin with */
	uint64_t from, to;
	store_visit visit;
	void *userdata;
};

static int fail_line(const struct rows *rows, uint64_t seq, const char *why, struct sbx_error *err)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "the line of record %" PRIu64 " %s", seq, why);
	return archive_fail_format(err, rows->archive->name, text);
}

/* @line is without its newline. The hash is taken by its place; then the start of the line is
 * written again and must be identical. */
static int take_line(struct rows *rows, uint64_t seq, const char *line, size_t n,
		     struct sbx_error *err)
{
	static const char digits[] = "{\"seq\":,\"hash\":\"";
	struct store_row row = { .seq = seq };
	char number[24];
	size_t at;

	(void)snprintf(number, sizeof(number), "%" PRIu64, seq);
	at = strlen(digits) + strlen(number);
	if (n < at + HASH_TEXT_SIZE ||
	    base64_decode_exactly(line + at, HASH_TEXT_SIZE, row.hash.bytes,
				  sizeof(row.hash.bytes)) < 0)
		return fail_line(rows, seq, "is malformed", err);
	text_reset(&rows->expected);
	add_line_begin(&rows->expected, seq, &row.hash);
	if (text_status(&rows->expected) < 0)
		return archive_fail(err, -ENOMEM, rows->archive->name, NULL, "free some memory");
	at = rows->expected.len;
	if (n <= at + 1 || memcmp(line, rows->expected.data, at) != 0 || line[n - 1] != '}')
		return fail_line(rows, seq, "is malformed", err);
	row.body = line + at;
	row.n_body = (uint32_t)(n - at - 1);
	if (row.n_body > ENTRY_BYTES_MAX)
		return fail_line(rows, seq, "is too long", err);
	return seq < rows->from ? 0 : rows->visit(rows->userdata, &row, err);
}

static int next_line(struct rows *rows, uint64_t seq, struct sbx_error *err)
{
	struct stream *stream = rows->stream;
	const char *line = stream->bytes + stream->begin, *newline;

	newline = memchr(line, '\n', stream->end - stream->begin);
	if (!newline) {
		int r = stream_fill(stream, err);

		if (r < 0)
			return r;
		line = stream->bytes;
		newline = memchr(line, '\n', stream->end);
	}
	if (!newline)
		return fail_line(rows, seq, "is missing, or too long", err);
	stream->begin = (size_t)(newline + 1 - stream->bytes);
	return take_line(rows, seq, line, (size_t)(newline - line), err);
}

static int each_row(struct rows *rows, struct sbx_error *err)
{
	const struct segment_about *about = &rows->archive->about;
	uint64_t n = about->size - about->first;
	int r = stream_skip(rows->stream, err);

	if (r < 0)
		return r;
	r = stream_next_member(rows->stream, n * ARCHIVE_LINE_MAX, err);
	if (r < 0)
		return r;
	for (uint64_t seq = about->first; seq < about->size; seq++) {
		if (seq > rows->to)
			return 0;
		r = next_line(rows, seq, err);
		if (r != 0)
			return r;
	}
	if (!stream_is_at_end(rows->stream))
		return archive_fail_format(err, rows->archive->name,
					   "it has more lines than records");
	return stream_expect_end(rows->stream, err);
}

int audit_archive_each(struct audit_archive *archive, uint64_t from, uint64_t to, store_visit visit,
		       void *userdata, struct sbx_error *err)
{
	_cleanup_stream_ struct stream *stream = NULL;
	struct rows rows = {
		.archive = archive, .from = from, .to = to, .visit = visit, .userdata = userdata
	};
	int r;

	if (from >= archive->about.size || to < archive->about.first)
		return 0;
	r = open_at_notes(archive, ROWS_BUFFER_SIZE, &stream, err);
	if (r != 0)
		return r;
	rows.stream = stream;
	r = each_row(&rows, err);
	text_deinit(&rows.expected);
	return r;
}

/* ---- the file ---- */

static void context_free(EVP_MD_CTX **context)
{
	EVP_MD_CTX_free(*context);
}

int audit_archive_digest(struct audit_archive *archive, struct audit_hash *ret,
			 struct sbx_error *err)
{
	_cleanup_(context_free) EVP_MD_CTX *context = EVP_MD_CTX_new();
	char bytes[32 * 1024];
	struct audit_hash hash;
	uint64_t at = 0;
	ssize_t n = 1;

	if (!context || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1)
		return archive_fail(err, -EIO, archive->name, "libcrypto has no SHA-256",
				    "check how libcrypto is configured");
	while (at < archive->n_bytes && n > 0) {
		uint64_t left = archive->n_bytes - at;

		n = pread(archive->fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes),
			  (off_t)at);
		if (n > 0)
			(void)EVP_DigestUpdate(context, bytes, (size_t)n);
		at += n > 0 ? (uint64_t)n : 0;
	}
	if (n < 0 || EVP_DigestFinal_ex(context, hash.bytes, NULL) != 1)
		return archive_fail(err, n < 0 ? -errno : -EIO, archive->name, NULL,
				    "check the file system");
	*ret = hash;
	return 0;
}

/* ---- write ---- */

/*
 * Writing an archive needs two passes over the source, because a tar header gives the member's size
 * before its content. The archive contains no host name, user or current time, so the same records
 * give the same tar.
 */

#define FLUSH_BYTES (64 * 1024)
#define LEVEL "6"

struct writer {
	struct archive *tar;
	const char *name;
	const struct archive_source *source;
	struct text out;
	uint64_t next; /* number of the next record */
	uint64_t n_notes;
	uint64_t n_records; /* size of each member in bytes */
	bool is_measuring;
};

static int fail(struct writer *writer, int code, const char *why, const char *fix,
		struct sbx_error *err)
{
	return error_fill(err, code, why, fix, "cannot write the archive '%s'", writer->name);
}

static int fail_tar(struct writer *writer, struct sbx_error *err)
{
	int code = archive_errno(writer->tar) > 0 ? -archive_errno(writer->tar) : -EIO;

	return fail(writer, code, archive_error_string(writer->tar), error_fix_of_write(code), err);
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
	add_line_begin(&writer->out, row->seq, &row->hash);
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
	if (r != 0)
		return r;
	return writer->next == source->about.size
		       ? 0
		       : fail_row(writer, "records are missing at its end", err);
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

/* @put may be NULL: then writer->out already holds the whole member. */
static int put_member(struct writer *writer, enum archive_member member, uint64_t n_bytes,
		      int (*put)(struct writer *writer, struct sbx_error *err),
		      struct sbx_error *err)
{
	int r = begin_member(writer, member, n_bytes, err);

	if (r < 0)
		return r;
	r = put ? put(writer, err) : 0;
	return r == 0 ? flush(writer, 0, err) : r;
}

static int put_members(struct writer *writer, struct sbx_error *err)
{
	int r;

	segment_add_about(&writer->out, &writer->source->about);
	r = put_member(writer, MEMBER_ABOUT, writer->out.len, NULL, err);
	if (r != 0)
		return r;
	r = put_member(writer, MEMBER_NOTES, writer->n_notes, put_notes, err);
	if (r != 0)
		return r;
	r = put_member(writer, MEMBER_RECORDS, writer->n_records, put_rows, err);
	if (r != 0)
		return r;
	return archive_write_close(writer->tar) == ARCHIVE_OK ? 0 : fail_tar(writer, err);
}

static int begin_tar(struct writer *writer, int fd, struct sbx_error *err)
{
	struct archive *tar = writer->tar;

	/* ARCHIVE_WARN means that libarchive would run an external zstd program: refuse that,
	 * too. */
	if (archive_write_add_filter_zstd(tar) != ARCHIVE_OK ||
	    archive_write_set_filter_option(tar, "zstd", "compression-level", LEVEL) !=
		    ARCHIVE_OK ||
	    archive_write_set_format_pax_restricted(tar) != ARCHIVE_OK)
		return fail(writer, -ENOTSUP, "libarchive cannot write zstd",
			    "install a libarchive with zstd", err);
	return archive_write_open_fd(tar, fd) == ARCHIVE_OK ? 0 : fail_tar(writer, err);
}

static void writer_deinit(struct writer *writer)
{
	text_deinit(&writer->out);
	if (writer->tar)
		(void)archive_write_free(writer->tar);
}

int audit_archive_write(int fd, const char *name, const struct archive_source *source,
			struct sbx_error *err)
{
	_cleanup_(writer_deinit) struct writer writer = { .tar = archive_write_new(),
							  .name = name,
							  .source = source };
	int r;

	if (!writer.tar)
		return fail(&writer, -ENOMEM, NULL, "free some memory", err);
	writer.is_measuring = true;
	r = put_notes(&writer, err);
	if (r != 0)
		return r;
	r = put_rows(&writer, err);
	if (r != 0)
		return r;
	writer.is_measuring = false;
	r = begin_tar(&writer, fd, err);
	return r < 0 ? r : put_members(&writer, err);
}
