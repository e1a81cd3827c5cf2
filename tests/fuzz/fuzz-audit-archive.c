/* SPDX-License-Identifier: MIT */

/*
 * Files that an attacker could put into the log's directory: the first byte says whether the others
 * are a packed archive, the three members of one (separated by zero bytes, to be packed here), the
 * file of epochs, or the record of a deleted archive. A failed check is an abort.
 */

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/archive.h"
#include "audit/key.h"
#include "audit/segment.h"
#include "audit/chain.h"
#include "base/fd.h"
#include "base/text.h"

#define NAME "0.tar.zst"
#define N_MEMBERS 3

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

/* ---- a temporary directory ---- */

struct place {
	char path[32];
	int directory;
};

static void place_init(struct place *place)
{
	*place = (struct place){ .path = "/tmp/fuzz-XXXXXX", .directory = -EBADF };
	check(mkdtemp(place->path) != NULL);
	place->directory = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(place->directory >= 0);
}

static void place_deinit(struct place *place)
{
	(void)unlinkat(place->directory, NAME, 0);
	(void)unlinkat(place->directory, EPOCHS_NAME, 0);
	(void)close(place->directory);
	(void)rmdir(place->path);
}
#define _cleanup_place_ _cleanup_(place_deinit)

static int make_file(const struct place *place, const char *name)
{
	int fd = openat(place->directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	check(fd >= 0);
	return fd;
}

static void write_file(const struct place *place, const char *name, const void *bytes, size_t n)
{
	int fd = make_file(place, name);

	check(fd_write_all(fd, bytes, n) == 0);
	(void)close(fd);
}

/* ---- archives ---- */

struct rows {
	uint64_t next;
};

static int see_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct rows *rows = userdata;

	check(row->seq == rows->next++);
	check(row->n_body > 0 && row->n_body <= ENTRY_BYTES_MAX);
	check(!memchr(row->body, '\n', row->n_body));
	return 0;
}

static int see_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		    struct sbx_error *err)
{
	uint64_t *last = userdata;

	check(size > *last && n_bytes <= STORE_NOTE_MAX && note[n_bytes - 1] == '\n');
	*last = size;
	return 0;
}

static void read_archive(const struct place *place)
{
	struct audit_archive *archive = NULL;
	const struct segment_about *about;
	uint64_t last = 0;
	struct rows rows;
	int r = audit_archive_open(place->directory, NAME, &archive, NULL);

	check(r == 0 || r == -EBADMSG || r == -ENOTSUP);
	if (r < 0)
		return;
	about = audit_archive_about(archive);
	check(about->size > about->first && about->frontier.size == about->first);
	rows.next = about->first;
	r = audit_archive_each(archive, 0, UINT64_MAX, see_row, &rows, NULL);
	check(r == -EBADMSG || (r == 0 && rows.next == about->size));
	r = audit_archive_each_checkpoint(archive, 0, see_note, &last, NULL);
	check(r == 0 || r == -EBADMSG);
	(void)audit_archive_free(archive);
}

static void pack_member(struct archive *tar, const char *name, const void *bytes, size_t n)
{
	struct archive_entry *entry = archive_entry_new();

	check(entry != NULL);
	archive_entry_set_pathname(entry, name);
	archive_entry_set_mode(entry, AE_IFREG | 0600);
	archive_entry_set_mtime(entry, 0, 0);
	archive_entry_set_size(entry, (la_int64_t)n);
	check(archive_write_header(tar, entry) == ARCHIVE_OK);
	check(archive_write_data(tar, bytes, n) == (la_ssize_t)n);
	archive_entry_free(entry);
}

static void pack(const struct place *place, const uint8_t *bytes, size_t n)
{
	static const char *const names[N_MEMBERS] = { "segment.json", "checkpoints",
						      "records.jsonl" };
	struct archive *tar = archive_write_new();
	int fd = make_file(place, NAME);

	check(tar && archive_write_add_filter_zstd(tar) == ARCHIVE_OK &&
	      archive_write_set_filter_option(tar, "zstd", "compression-level", "1") ==
		      ARCHIVE_OK &&
	      archive_write_set_format_pax_restricted(tar) == ARCHIVE_OK &&
	      archive_write_open_fd(tar, fd) == ARCHIVE_OK);
	for (size_t i = 0; i < N_MEMBERS; i++) {
		const uint8_t *end = i + 1 < N_MEMBERS && n > 0 ? memchr(bytes, 0, n) : NULL;
		size_t n_member = end ? (size_t)(end - bytes) : n;

		pack_member(tar, names[i], bytes, n_member);
		bytes += n_member + (end != NULL);
		n -= n_member + (end != NULL);
	}
	check(archive_write_close(tar) == ARCHIVE_OK);
	(void)archive_write_free(tar);
	(void)close(fd);
}

/* ---- the rest ---- */

static void read_epochs(const struct place *place, const void *bytes, size_t n)
{
	uint64_t last = 0;
	int r;

	write_file(place, EPOCHS_NAME, bytes, n);
	r = epochs_each(place->directory, see_note, &last, NULL);
	check(r == 0 || r == -EBADMSG);
}

static void read_stub(const void *bytes, size_t n)
{
	_cleanup_text_ struct text members = TEXT_INIT;
	struct audit_stub stub;
	int r = stub_read(bytes, n, &stub);

	check(r == 0 || r == -EBADMSG);
	if (r < 0)
		return;
	check(stub_is(bytes, n));
	check(stub_add_members(&members, &stub) == 0);
	check(memmem(bytes, n, members.data, members.len) != NULL);
}

static void read_about(const void *bytes, size_t n)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct segment_about about;
	int r = segment_parse_about(bytes, n, &about);

	check(r == 0 || r == -EBADMSG || r == -ENOTSUP);
	if (r < 0)
		return;
	segment_add_about(&again, &about);
	check(again.len == n && memcmp(again.data, bytes, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_place_ struct place place;

	place_init(&place);
	if (n_bytes > 0 && bytes[0] == 'a') {
		write_file(&place, NAME, bytes + 1, n_bytes - 1);
		read_archive(&place);
	} else if (n_bytes > 0 && bytes[0] == 'm') {
		pack(&place, bytes + 1, n_bytes - 1);
		read_archive(&place);
	} else if (n_bytes > 0 && bytes[0] == 'e') {
		read_epochs(&place, bytes + 1, n_bytes - 1);
	} else {
		read_stub(bytes, n_bytes);
		read_about(bytes, n_bytes);
	}
	return 0;
}
