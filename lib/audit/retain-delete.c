/* SPDX-License-Identifier: MIT */

/*
 * Deleting the oldest archive
 *
 * The record that says so is signed and on the disk before the file goes, and the segment keeps in
 * the same transaction how far the log is deleted: after a crash in between the file goes without
 * another record.
 *
 * Records about deleted archives are deleted one day, too. So the one about an archive that holds
 * such records speaks for all that they spoke for: it begins with record 0.
 */

#include "audit/retain-internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/archive.h"
#include "base/text.h"

#define FIX_VERIFY "find the fault, and keep the directory as it is: sbx-audit verify --full"
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
				"its segment does not say what was deleted", FIX_VERIFY);
	deleted->size = log_get_u64(bytes);
	memcpy(deleted->head.bytes, bytes + 8, sizeof(deleted->head.bytes));
	return 0;
}

static int write_deleted(struct audit_log *log, const struct audit_stub *stub,
			 struct sbx_error *err)
{
	uint8_t bytes[DELETED_SIZE];

	log_put_u64(bytes, stub->last + 1);
	memcpy(bytes + 8, stub->head.bytes, sizeof(stub->head.bytes));
	return store_set_meta(log->store, META_DELETED, bytes, sizeof(bytes), err);
}

/* A pattern that cuts out of records could cut into this one, which would then excuse nothing. */
static int check_said(struct audit_log *log, const struct audit_stub *stub, struct sbx_error *err)
{
	const struct text *body = &log->entry.body;
	struct audit_stub said;

	if (stub_read(body->data, body->len, &said, NULL) == 0 && said.first == stub->first &&
	    said.last == stub->last && audit_hash_equal(&said.root, &stub->root))
		return 0;
	(void)sbx_error_what(err, -EINVAL, "cannot record that an archive is deleted");
	sbx_error_why(err, "a pattern for secrets cuts something out of that record");
	sbx_error_fix(err, "make the patterns match less");
	return -EINVAL;
}

static int say(struct audit_log *log, const struct audit_stub *stub, struct sbx_error *err)
{
	_cleanup_text_ struct text members = TEXT_INIT;
	int r = stub_add_members(&members, stub);

	if (r < 0)
		return sbx_error_what(err, r, "cannot record that an archive is deleted");
	r = audit_log_say(log, STUB_EVENT, members.data, err);
	if (r == 0)
		r = check_said(log, stub, err);
	if (r == 0)
		r = write_deleted(log, stub, err);
	if (r < 0) {
		audit_log_rollback(log);
		return r;
	}
	return audit_log_checkpoint(log, err);
}

/* ---- what there is to say ---- */

static int fail_gap(const struct segment_file *file, struct sbx_error *err)
{
	return retain_fail(err, -EBADMSG, "delete", file->name,
			   "records before it are missing, and nothing says why", FIX_VERIFY);
}

static int describe(const struct segment_end *end, enum retain_action action,
		    struct audit_stub *stub, struct sbx_error *err)
{
	_cleanup_hasher_ struct hasher *hasher = NULL;
	int r = hasher_new(&hasher);

	if (r == 0)
		r = merkle_root(hasher, &end->frontier, &stub->root);
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
	int r = segment_open_patiently(work->folder, file, &segment, err);

	if (r == 0)
		r = retain_find_epochs(work, segment, err);
	if (r < 0)
		return r;
	about = audit_archive_about(segment->archive);
	work->is_said = about->size <= work->deleted.size;
	if (work->is_said)
		return 0;
	if (about->first != file->first || about->first != work->deleted.size ||
	    !audit_hash_equal(&about->previous, &work->deleted.head))
		return fail_gap(file, err);
	stub->first = about->first;
	stub->previous = about->previous;
	r = retain_read_end(segment, file->name, &end, err);
	if (r == 0)
		r = retain_check_joint(work->folder, &work->behind, file->name, &end, err);
	if (r == 0)
		r = audit_archive_digest(segment->archive, &stub->archive, err);
	return r == 0 ? describe(&end, work->action, stub, err) : r;
}

int retain_delete(struct audit_log *log, const struct retain_work *work, struct sbx_error *err)
{
	int r = work->lacks_epochs ? retain_keep_epochs(work, err) : 0;

	if (r == 0 && !work->is_said)
		r = say(log, &work->stub, err);
	if (r < 0)
		return r;
	if (unlinkat(work->folder, work->file.name, 0) < 0 || fsync(work->folder) < 0)
		return retain_fail(err, -errno, "delete", work->file.name, NULL,
				   "check the file system");
	return 0;
}
