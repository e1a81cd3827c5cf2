/* SPDX-License-Identifier: MIT */

/*
 * From a closed segment to its archive
 *
 * The archive is written under a temporary name, read again to its end, compared with the segment
 * and synced; then it is renamed to its final name, and only then is the segment deleted. A process
 * that is killed meanwhile leaves the segment, and all of this is repeated.
 */

#include "audit/retain-work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/archive.h"
#include "audit/checkpoint.h"
#include "audit/key.h"
#include "audit/chain.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/moment.h"
#include "base/text.h"

/* The state at the end of a closed segment. */
struct segment_end {
	struct audit_hash head;
	struct merkle_frontier frontier;
	struct audit_hash notes; /* digest of all its notes */
	bool has_stub;		 /* it contains a stub of a deleted archive */
};

/* Fills @err with "cannot @doing the segment 'NAME'"; returns @code. */
static int retain_fail(struct sbx_error *err, int code, const char *doing, const char *name,
		       const char *why, const char *fix)
{
	(void)error_fill(err, code, why, fix, "cannot %s the segment '%s'", doing, name);
	return code; /* written out: an analyser of this file sees that the callers stop */
}

static void count_row(struct retain_count *count)
{
	count->n_read++;
	if (count->progress)
		count->progress(count->userdata, count->n_read);
}

/* ---- read a segment to its end ---- */

struct walk {
	struct retain_count *count;
	const char *name;
	struct segment_about about;
	struct segment_end end;
	struct audit_checkpoint last;
};

static int fail_walk(struct walk *walk, const char *why, struct sbx_error *err)
{
	return retain_fail(
		err, -EBADMSG, "close", walk->name, why,
		"keep the directory as it is, and find the fault: sbx-audit verify --full");
}

static int walk_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct walk *walk = userdata;
	struct segment_end *end = &walk->end;

	count_row(walk->count);
	if (row->problem)
		return fail_walk(walk, row->problem, err);
	if (row->seq != end->frontier.size)
		return fail_walk(walk, "a record is missing in it", err);
	if (chain_next(row->seq, &end->head, row->body, row->n_body, &end->head) < 0 ||
	    merkle_add(&end->frontier, &end->head) < 0)
		return fail_walk(walk, "libcrypto cannot hash", err);
	if (!audit_hash_equal(&end->head, &row->hash))
		return fail_walk(walk, "a record was changed", err);
	end->has_stub |= stub_is(row->body, row->n_body);
	return 0;
}

static int walk_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	struct walk *walk = userdata;
	const struct iovec parts[] = {
		{ walk->end.notes.bytes, sizeof(walk->end.notes.bytes) },
		{ (void *)note, n_bytes },
	};

	if (checkpoint_peek(note, n_bytes, &walk->last) < 0 || walk->last.size != size)
		return fail_walk(walk, "a checkpoint in it is not valid", err);
	if (audit_hash_digest(parts, N_ELEMENTS(parts), &walk->end.notes) < 0)
		return fail_walk(walk, "libcrypto cannot hash", err);
	return 0;
}

static int check_signed(struct walk *walk, struct sbx_error *err)
{
	struct audit_hash root;

	if (walk->end.frontier.size != walk->about.size || walk->last.size != walk->about.size ||
	    merkle_root(&walk->end.frontier, &root) < 0 ||
	    !audit_hash_equal(&root, &walk->last.root) ||
	    !audit_hash_equal(&walk->end.head, &walk->last.head))
		return fail_walk(walk, "its last checkpoint does not match its records", err);
	return 0;
}

static int retain_read_end(const struct retain_work *work, struct segment *segment,
			   const char *name, struct segment_end *ret, struct sbx_error *err)
{
	struct walk walk = { .count = work->count, .name = name };
	int r = segment_read_about(segment, &walk.about, err);

	if (r < 0)
		return r;
	walk.end.head = walk.about.previous;
	walk.end.frontier = walk.about.frontier;
	if (walk.about.first != walk.about.frontier.size)
		return fail_walk(&walk, "its initial tree does not match its first record", err);
	r = segment_each(segment, 0, UINT64_MAX, walk_row, &walk, err);
	if (r < 0)
		return r;
	r = segment_each_checkpoint(segment, 0, walk_note, &walk, err);
	if (r < 0)
		return r;
	r = check_signed(&walk, err);
	if (r < 0)
		return r;
	*ret = walk.end;
	return 0;
}

static int retain_check_joint(int directory, const struct segment_file *behind, const char *name,
			      const struct segment_end *end, struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	struct segment_about about = { .size = 0 };
	/* The next segment may be the one that is being written to. */
	int r = segment_open_patiently(directory, behind, &segment, err);

	if (r < 0)
		return r;
	r = segment_read_about(segment, &about, err);
	if (r < 0)
		return r;
	if (about.first == end->frontier.size && audit_hash_equal(&about.previous, &end->head) &&
	    merkle_equal(&about.frontier, &end->frontier))
		return 0;
	return retain_fail(
		err, -EBADMSG, "close", name,
		"the segment after it does not continue where it ends",
		"keep the directory as it is, and find the fault: sbx-audit verify --full");
}

/* ---- epochs that end in it ---- */

/*
 * The archive may hold the last copy of an epoch's last checkpoint, which names the next key
 *
 * The writer added these notes to the file of epochs when it closed the segment. If they were
 * removed from that file, restore them just before the archive is deleted, and not earlier: until
 * then 'sbx-audit verify' must report the loss.
 */

static int find_epoch(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		      struct sbx_error *err)
{
	struct retain_work *work = userdata;
	int r = checkpoint_ends_epoch(note, n_bytes)
			? epochs_has(work->directory, note, n_bytes, err)
			: 1;

	work->lacks_epochs |= r == 0;
	return r < 0 ? r : 0;
}

static int keep_epoch(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		      struct sbx_error *err)
{
	const struct retain_work *work = userdata;
	int r;

	if (!checkpoint_ends_epoch(note, n_bytes))
		return 0;
	r = epochs_add(work->directory, note, n_bytes, err);
	if (r < 0)
		return r;
	r = epochs_has(work->directory, note, n_bytes, err);
	if (r != 0)
		return r < 0 ? r : 0;
	return retain_fail(err, -EBADMSG, "delete", work->file.name,
			   "the file '" EPOCHS_NAME "' has another key for one of its epochs",
			   "restore the file '" EPOCHS_NAME "' from a copy");
}

static int retain_keep_epochs(const struct retain_work *work, struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	int r = segment_open(work->directory, &work->file, &segment, err);

	return r < 0 ? r : segment_each_checkpoint(segment, 0, keep_epoch, (void *)work, err);
}

/* ---- archive ---- */

#define NEW_SUFFIX RETAIN_NEW_SUFFIX
#define FIX_DISK "check the file system and its free space"
/* Estimate the archive at a quarter of the segment; zstd usually reaches an eighth. */
#define ROOM_SHARE 4

struct names {
	char archive[SEGMENT_FILE_SIZE];
	char new_archive[SEGMENT_FILE_SIZE];
};

static void make_names(const struct segment_file *file, struct names *ret)
{
	(void)snprintf(ret->archive, sizeof(ret->archive), "%.*s" SEGMENT_ARCHIVE_SUFFIX,
		       SEGMENT_DIGITS, file->name);
	(void)snprintf(ret->new_archive, sizeof(ret->new_archive),
		       "%.*s" SEGMENT_ARCHIVE_SUFFIX NEW_SUFFIX, SEGMENT_DIGITS, file->name);
}

/* The source of the rows that an archive gets. */
struct packing {
	struct segment *segment;
	struct retain_count *count;
	store_visit visit;
	void *visitor;
};

static int pack_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	const struct packing *packing = userdata;

	count_row(packing->count);
	return packing->visit(packing->visitor, row, err);
}

static int each_row(void *userdata, store_visit visit, void *visitor, struct sbx_error *err)
{
	struct packing *packing = userdata;

	packing->visit = visit;
	packing->visitor = visitor;
	return segment_each(packing->segment, 0, UINT64_MAX, pack_row, packing, err);
}

static int each_note(void *userdata, store_visit_note visit, void *visitor, struct sbx_error *err)
{
	const struct packing *packing = userdata;

	return segment_each_checkpoint(packing->segment, 0, visit, visitor, err);
}

/* Gives the archive the mtime of its segment, from which its age is counted. */
static int set_age(int fd, uint64_t usec)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, moment_timespec(usec) };

	return futimens(fd, times) < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int write_new(const struct retain_work *work, const char *name, struct segment *segment,
		     struct sbx_error *err)
{
	_cleanup_close_ int fd = -EBADF;
	const struct segment_file *file = &work->file;
	int directory = work->directory;
	struct packing packing = { .segment = segment, .count = work->count };
	struct archive_source source = { .each = each_row,
					 .each_checkpoint = each_note,
					 .userdata = &packing };
	int r = segment_read_about(segment, &source.about, err);

	if (r < 0)
		return r;
	if (source.about.next != 0 && source.about.next != source.about.size)
		return retain_fail(err, -EBADMSG, "archive", file->name,
				   "another segment begins where it continues",
				   "see what is missing: sbx-audit verify --full");
	(void)unlinkat(directory, name, 0);
	fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return retain_fail(err, -errno, "archive", file->name, NULL, FIX_DISK);
	r = audit_archive_write(fd, name, &source, err);
	if (r < 0)
		return r;
	r = set_age(fd, file->mtime_usec);
	return r < 0 ? retain_fail(err, r, "archive", file->name, NULL, FIX_DISK) : 0;
}

/* Reads the new archive from the disk and compares it with the segment. */
static int check_new(const struct retain_work *work, const struct names *names,
		     const struct segment_end *end, struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	struct segment_file archive = { .kind = SEGMENT_ARCHIVE };
	struct segment_end there;
	int r;

	memcpy(archive.name, names->new_archive, sizeof(archive.name));
	r = segment_open_patiently(work->directory, &archive, &segment, err);
	if (r < 0)
		return r;
	r = retain_read_end(work, segment, archive.name, &there, err);
	if (r < 0)
		return r;
	if (audit_hash_equal(&there.head, &end->head) &&
	    audit_hash_equal(&there.notes, &end->notes))
		return 0;
	return retain_fail(err, -EIO, "archive", work->file.name,
			   "the archive on the disk differs from the records",
			   "check the disk and the memory of this machine");
}

/* Deletes the database first: without it, -wal and -shm are leftovers that a later run removes. */
static int remove_store(int directory, const struct segment_file *file, struct sbx_error *err)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };

	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		char name[SEGMENT_FILE_SIZE + 8];

		(void)snprintf(name, sizeof(name), "%s%s", file->name, suffixes[i]);
		if (unlinkat(directory, name, 0) < 0 && errno != ENOENT)
			return retain_fail(err, -errno, "remove", file->name, NULL, FIX_DISK);
	}
	return fsync(directory) < 0 ? retain_fail(err, -errno, "remove", file->name, NULL, FIX_DISK)
				    : 0;
}

static int put_in_place(int directory, const struct segment_file *file, const struct names *names,
			struct sbx_error *err)
{
	if (renameat(directory, names->new_archive, directory, names->archive) < 0 ||
	    fsync(directory) < 0)
		return retain_fail(err, -errno, "archive", file->name, NULL, FIX_DISK);
	return remove_store(directory, file, err);
}

/* The archive must not use up the disk: the log itself and other programs still write to it. */
static int check_room(const struct retain_work *work, struct sbx_error *err)
{
	struct statvfs fs;
	uint64_t wanted = work->file.n_bytes / ROOM_SHARE;

	if (fstatvfs(work->directory, &fs) < 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= wanted)
		return 0;
	return retain_fail(err, -ENOSPC, "archive", work->file.name,
			   "there is too little free space for the archive",
			   "free some space on the file system");
}

static int make_archive(const struct retain_work *work, const struct names *names,
			struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	const struct segment_file *file = &work->file;
	struct segment_end end;
	int directory = work->directory, r = check_room(work, err);

	if (r < 0)
		return r;
	r = segment_open_patiently(directory, file, &segment, err);
	if (r < 0)
		return r;
	r = retain_read_end(work, segment, file->name, &end, err);
	if (r < 0)
		return r;
	r = retain_check_joint(directory, &work->behind, file->name, &end, err);
	if (r < 0)
		return r;
	r = write_new(work, names->new_archive, segment, err);
	return r < 0 ? r : check_new(work, names, &end, err);
}

int retain_archive(const struct retain_work *work, struct sbx_error *err)
{
	struct names names = { .archive = "" };
	int r;

	make_names(&work->file, &names);
	r = make_archive(work, &names, err);
	if (r < 0) {
		(void)unlinkat(work->directory, names.new_archive, 0);
		return r;
	}
	return put_in_place(work->directory, &work->file, &names, err);
}

/* ---- leftovers of a crash ---- */

static bool is_there(int directory, const char *name, size_t n)
{
	char path[SEGMENT_FILE_SIZE];

	(void)snprintf(path, sizeof(path), "%.*s", (int)n, name);
	return faccessat(directory, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Is @name an incomplete file, or a file of SQLite's whose database is gone? */
static bool is_left_over(int directory, const char *name)
{
	static const char *const unfinished[] = {
		".db" NEW_SUFFIX,	 ".db" NEW_SUFFIX "-journal",	    ".db" NEW_SUFFIX "-wal",
		".db" NEW_SUFFIX "-shm", SEGMENT_ARCHIVE_SUFFIX NEW_SUFFIX,
	};
	const char *suffix = name + SEGMENT_DIGITS;

	if (strspn(name, "0123456789") != SEGMENT_DIGITS)
		return false;
	for (size_t i = 0; i < N_ELEMENTS(unfinished); i++)
		if (strcmp(suffix, unfinished[i]) == 0)
			return true;
	return (strcmp(suffix, ".db-wal") == 0 || strcmp(suffix, ".db-shm") == 0) &&
	       !is_there(directory, name, SEGMENT_DIGITS + strlen(".db"));
}

void retain_clean(int directory)
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(directory);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_left_over(directory, entry->d_name))
			(void)unlinkat(directory, entry->d_name, 0);
}

int retain_measure(int directory, uint64_t *ret)
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(directory);
	const struct dirent *entry;
	uint64_t n_bytes = 0;
	struct stat st;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			n_bytes += (uint64_t)st.st_size;
	*ret = n_bytes;
	return 0;
}

/* ---- delete ---- */

/*
 * Deleting the oldest archive
 *
 * The record of the deletion is signed and on disk before the file is deleted, and the same
 * transaction stores in the segment how far the log is deleted: after a crash in between, the file
 * is deleted without another record.
 *
 * Records of deleted archives are deleted one day, too. So the stub of an archive that holds stubs
 * replaces them all: it begins with record 0.
 */

#define FIX_VERIFY "keep the directory as it is, and find the fault: sbx-audit verify --full"
#define DELETED_SIZE (8 + AUDIT_HASH_SIZE)

int retain_read_deleted(struct audit_log *log, struct retain_work *work, struct sbx_error *err)
{
	struct deleted *deleted = &work->deleted;
	uint8_t bytes[DELETED_SIZE];
	int n = store_get_meta(log->store, META_DELETED, bytes, sizeof(bytes), err);

	*deleted = (struct deleted){ .size = 0 };
	if (n < 0)
		return n == -ENOENT ? 0 : n;
	if (n != DELETED_SIZE)
		return log_fail(err, -EBADMSG, log->log_id,
				"its segment does not name the deleted records", FIX_VERIFY);
	deleted->size = log_get_u64(bytes);
	memcpy(deleted->head.bytes, bytes + 8, sizeof(deleted->head.bytes));
	return 0;
}

/* A user's redaction pattern could match in the stub, which then would excuse nothing: check the
 * stored record. */
static int check_said(struct audit_log *log, const struct audit_stub *stub, struct sbx_error *err)
{
	const struct text *body = &log->entry.body;
	struct audit_stub said;

	if (stub_read(body->data, body->len, &said) == 0 && said.first == stub->first &&
	    said.last == stub->last && audit_hash_equal(&said.root, &stub->root))
		return 0;
	return error_fill(err, -EINVAL, "a pattern for secrets cuts something out of that record",
			  "make the patterns match less",
			  "cannot record that an archive is deleted");
}

static int add_stub(struct audit_log *log, const struct audit_stub *stub, const char *members,
		    struct sbx_error *err)
{
	uint8_t deleted[DELETED_SIZE];
	int r = audit_log_say(log, STUB_EVENT, members, err);

	if (r < 0)
		return r;
	r = check_said(log, stub, err);
	if (r < 0)
		return r;
	log_put_u64(deleted, stub->last + 1);
	memcpy(deleted + 8, stub->head.bytes, sizeof(stub->head.bytes));
	return store_set_meta(log->store, META_DELETED, deleted, sizeof(deleted), err);
}

static int say(struct audit_log *log, const struct audit_stub *stub, struct sbx_error *err)
{
	_cleanup_text_ struct text members = TEXT_INIT;
	int r = stub_add_members(&members, stub);

	if (r < 0)
		return sbx_error_what(err, r, "cannot record that an archive is deleted");
	r = add_stub(log, stub, members.data, err);
	if (r < 0) {
		audit_log_rollback(log);
		return r;
	}
	return audit_log_checkpoint(log, err);
}

/* ---- preparing the stub ---- */

static int describe(const struct segment_end *end, enum retain_action action,
		    struct audit_stub *stub, struct sbx_error *err)
{
	int r = merkle_root(&end->frontier, &stub->root);

	if (r < 0)
		return sbx_error_what(err, r, "cannot record that an archive is deleted");
	stub->last = end->frontier.size - 1;
	stub->head = end->head;
	stub->reason = action == RETAIN_DELETE_AGE ? STUB_AGE : STUB_SIZE;
	if (end->has_stub) {
		stub->first = 0;
		memset(&stub->previous, 0, sizeof(stub->previous));
	}
	return 0;
}

int retain_prepare_deletion(struct retain_work *work, struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	const struct segment_file *file = &work->file;
	const struct segment_about *about;
	struct audit_stub *stub = &work->stub;
	struct segment_end end;
	int r = segment_open_patiently(work->directory, file, &segment, err);

	if (r < 0)
		return r;
	r = segment_each_checkpoint(segment, 0, find_epoch, work, err);
	if (r < 0)
		return r;
	about = audit_archive_about(segment->archive);
	work->is_said = about->size <= work->deleted.size;
	if (work->is_said)
		return 0;
	if (about->first != file->first || about->first != work->deleted.size ||
	    !audit_hash_equal(&about->previous, &work->deleted.head))
		return retain_fail(err, -EBADMSG, "delete", file->name,
				   "earlier records are missing, and no record says why",
				   FIX_VERIFY);
	stub->first = about->first;
	stub->previous = about->previous;
	r = retain_read_end(work, segment, file->name, &end, err);
	if (r < 0)
		return r;
	r = retain_check_joint(work->directory, &work->behind, file->name, &end, err);
	if (r < 0)
		return r;
	r = audit_archive_digest(segment->archive, &stub->archive, err);
	return r < 0 ? r : describe(&end, work->action, stub, err);
}

int retain_delete(struct audit_log *log, const struct retain_work *work, struct sbx_error *err)
{
	int r = work->lacks_epochs ? retain_keep_epochs(work, err) : 0;

	if (r < 0)
		return r;
	r = work->is_said ? 0 : say(log, &work->stub, err);
	if (r < 0)
		return r;
	if (unlinkat(work->directory, work->file.name, 0) < 0 || fsync(work->directory) < 0)
		return retain_fail(err, -errno, "delete", work->file.name, NULL,
				   "check the file system");
	return 0;
}
