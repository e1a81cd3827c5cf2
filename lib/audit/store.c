/* SPDX-License-Identifier: MIT */

/*
 * The connection to one segment
 *
 * The file is reached through the folder's fd, so that it is the one in the folder that was opened
 * and locked, whatever its path has become. There is no second writer, but SQLite has locks of its
 * own that shut out everybody for a moment: the last connection that closes a database puts its WAL
 * into it, and whoever finds the WAL's index torn, a reader too, makes it again. So everybody waits
 * for a lock, and only one that stays is an error.
 *
 * The files beside the segment (-wal, -shm) stay when the writer closes it: a reader who may not
 * write in the folder needs them.
 */

#include "audit/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/store-internal.h"
#include "base/path.h"

#define LENGTH_MAX (1024 * 1024)
#define WAL_PAGES 1000
#define NEW_SUFFIX ".new"

static const char *const sqls[] = {
	[STATEMENT_BEGIN] = "BEGIN",
	/* SQLite waits for the lock of the writer here, and not once something was read. */
	[STATEMENT_BEGIN_WRITING] = "BEGIN IMMEDIATE",
	[STATEMENT_COMMIT] = "COMMIT",
	[STATEMENT_ROLLBACK] = "ROLLBACK",
	[STATEMENT_ADD] = "INSERT INTO records VALUES(?1,?2,?3)",
	[STATEMENT_ADD_ORIGINAL] = "INSERT INTO originals VALUES(?1,?2,?3,?4)",
	[STATEMENT_ADD_CHECKPOINT] = "INSERT OR REPLACE INTO checkpoints VALUES(?1,?2)",
	[STATEMENT_SET_META] = "INSERT OR REPLACE INTO meta VALUES(?1,?2)",
	[STATEMENT_DELETE_META] = "DELETE FROM meta WHERE key=?1",
	[STATEMENT_GET_META] = "SELECT value FROM meta WHERE key=?1",
	[STATEMENT_EACH_META] = "SELECT key FROM meta WHERE key>=?1 ORDER BY key",
	[STATEMENT_BOUNDS] = "SELECT (SELECT min(seq) FROM records),(SELECT max(seq) FROM records)",
	[STATEMENT_EACH] =
		("SELECT 1 FROM records WHERE seq BETWEEN ?1 AND ?2 AND visit(seq,hash,body) "
		 "ORDER BY seq"),
	[STATEMENT_EACH_CHECKPOINT] =
		"SELECT size,note FROM checkpoints WHERE size>=?1 ORDER BY size",
	[STATEMENT_LAST_CHECKPOINT] =
		"SELECT size,note FROM checkpoints ORDER BY size DESC LIMIT 1",
	[STATEMENT_EACH_ORIGINAL] = ("SELECT seq,member,salt,original FROM originals WHERE seq>=?1 "
				     "AND original IS NOT NULL ORDER BY seq"),
};

/* ---- errors ---- */

static const struct {
	int sqlite;
	int code;
	const char *fix;
} causes[] = {
	{ SQLITE_FULL, -ENOSPC, "make room on the file system" },
	{ SQLITE_BUSY, -EBUSY, "let nothing but sbx-audit write to the log's files" },
	{ SQLITE_LOCKED, -EBUSY, "let nothing but sbx-audit write to the log's files" },
	{ SQLITE_CORRUPT, -EBADMSG, "look at it with 'sbx-audit verify --full'" },
	{ SQLITE_NOTADB, -EBADMSG, "look at it with 'sbx-audit verify --full'" },
	{ SQLITE_ERROR, -EBADMSG, "look at it with 'sbx-audit verify --full'" },
	{ SQLITE_MISMATCH, -EBADMSG, "look at it with 'sbx-audit verify --full'" },
	{ SQLITE_CONSTRAINT, -EEXIST, "look at it with 'sbx-audit verify --full'" },
	{ SQLITE_NOMEM, -ENOMEM, "free some memory" },
	{ SQLITE_READONLY, -EROFS, "check the file system and the permissions of the file" },
	{ SQLITE_PERM, -EACCES, "check the permissions of the file" },
	{ SQLITE_AUTH, -EACCES, "check the permissions of the file" },
	{ SQLITE_CANTOPEN, -EACCES, "check the permissions of the directory" },
	{ SQLITE_TOOBIG, -EMSGSIZE, "split what is too long" },
};

int store_fail(struct store *store, const char *doing, struct sbx_error *err)
{
	int sqlite = sqlite3_errcode(store->db), code = -EIO;
	const char *fix = "check the file system";

	for (size_t i = 0; i < N_ELEMENTS(causes); i++)
		if (causes[i].sqlite == sqlite) {
			code = causes[i].code;
			fix = causes[i].fix;
		}
	if (sqlite == SQLITE_IOERR && (sqlite3_system_errno(store->db) == ENOSPC ||
				       sqlite3_system_errno(store->db) == EDQUOT)) {
		code = -ENOSPC;
		fix = "make room on the file system";
	}
	(void)sbx_error_what(err, code, "cannot %s the segment '%s'", doing, store->name);
	sbx_error_why(err, "%s", sqlite3_errmsg(store->db));
	sbx_error_fix(err, "%s", fix);
	return code;
}

int store_fail_format(const char *name, const char *why, struct sbx_error *err)
{
	(void)sbx_error_what(err, -EBADMSG, "cannot use the segment '%s'", name);
	sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "move it out of the log's directory, and keep it: it was changed");
	return -EBADMSG;
}

static int fail_file(const char *name, int code, const char *why, const char *fix,
		     struct sbx_error *err)
{
	(void)sbx_error_what(err, code, "cannot open the segment '%s'", name);
	if (why)
		sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return code;
}

/* ---- statements ---- */

sqlite3_stmt *store_statement(struct store *store, enum store_statement which, int *ret_code,
			      struct sbx_error *err)
{
	sqlite3_stmt **statement = &store->statements[which];

	if (!*statement && sqlite3_prepare_v3(store->db, sqls[which], -1, SQLITE_PREPARE_PERSISTENT,
					      statement, NULL) != SQLITE_OK) {
		*ret_code = store_fail(store, "use", err);
		return NULL;
	}
	return *statement;
}

int store_run(struct store *store, enum store_statement which, struct sbx_error *err)
{
	int r = 0;
	sqlite3_stmt *statement = store_statement(store, which, &r, err);

	if (!statement)
		return r;
	if (sqlite3_step(statement) != SQLITE_DONE)
		r = store_fail(store, "write to", err);
	(void)sqlite3_reset(statement);
	return r;
}

int store_begin(struct store *store, struct sbx_error *err)
{
	return store_run(store, STATEMENT_BEGIN_WRITING, err);
}

int store_commit(struct store *store, struct sbx_error *err)
{
	return store_run(store, STATEMENT_COMMIT, err);
}

/* SQLite has done it itself after some failures. */
void store_rollback(struct store *store)
{
	if (!sqlite3_get_autocommit(store->db))
		(void)store_run(store, STATEMENT_ROLLBACK, NULL);
}

int store_begin_reading(struct store *store, struct sbx_error *err)
{
	uint64_t first, last;
	int r = store_run(store, STATEMENT_BEGIN, err);

	/* The snapshot is taken by the first read. */
	if (r == 0)
		r = store_bounds(store, &first, &last, err);
	if (r < 0)
		store_rollback(store);
	return r < 0 ? r : 0;
}

void store_end_reading(struct store *store)
{
	store_rollback(store);
}

/* ---- open ---- */

struct store *store_free(struct store *store)
{
	if (!store)
		return NULL;
	for (size_t i = 0; i < N_STATEMENTS; i++)
		(void)sqlite3_finalize(store->statements[i]);
	(void)sqlite3_close(store->db);
	free(store);
	return NULL;
}

void store_free_ptr(struct store **store)
{
	*store = store_free(*store);
}

/* A file of somebody else's could be changed below us. Readers have nothing to lose by that: they
 * check what they read. */
static int check_file(int folder, const char *name, bool to_write, struct sbx_error *err)
{
	_cleanup_close_ int fd = path_open_beneath(folder, name, O_PATH, 0);
	struct stat st;

	if (fd < 0)
		return fail_file(name, fd, NULL, "check that it is there, and no link", err);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fail_file(name, -EBADMSG, "it is no regular file",
				 "move it out of the log's directory", err);
	if (to_write && (st.st_uid != geteuid() || (st.st_mode & 022) != 0))
		return fail_file(name, -EPERM, "others could write it",
				 "change its owner to the user of the log, and its mode to 0600",
				 err);
	return 0;
}

static int run_pragmas(struct store *store, const char *pragmas, struct sbx_error *err)
{
	if (sqlite3_exec(store->db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
		return store_fail(store, "open", err);
	return 0;
}

void store_set_patience(struct store *store, unsigned msec)
{
	(void)sqlite3_busy_timeout(store->db, (int)msec);
}

static void harden(struct store *store)
{
	int persistent = 1;

	(void)sqlite3_extended_result_codes(store->db, 0);
	store_set_patience(store, STORE_PATIENCE_MSEC);
	(void)sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
	(void)sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	(void)sqlite3_file_control(store->db, "main", SQLITE_FCNTL_PERSIST_WAL, &persistent);
}

/* NULL with @err and *@ret_code. */
static struct store *connect(int folder, const char *name, int flags, int *ret_code,
			     struct sbx_error *err)
{
	_cleanup_store_ struct store *store = calloc(1, sizeof(*store));
	char path[STORE_NAME_SIZE + 32];

	if (!store || strlen(name) >= sizeof(store->name) || strchr(name, '/')) {
		*ret_code =
			fail_file(name, store ? -EINVAL : -ENOMEM, NULL, "use another name", err);
		return NULL;
	}
	(void)snprintf(store->name, sizeof(store->name), "%s", name);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", folder, name);
	if (sqlite3_open_v2(path, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
		*ret_code = store->db ? store_fail(store, "open", err)
				      : fail_file(name, -ENOMEM, NULL, "free some memory", err);
		return NULL;
	}
	harden(store);
	/* A file under mmap that somebody cuts short would kill who reads it. */
	*ret_code = run_pragmas(store, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0", err);
	if (*ret_code == 0)
		*ret_code = store_prepare_scan(store, err);
	return *ret_code < 0 ? NULL : take_ptr(store);
}

static int keep_mode(void *userdata, int n, char **values, char **names)
{
	bool *is_wal = userdata;

	*is_wal = n == 1 && values[0] && strcmp(values[0], "wal") == 0;
	return 0;
}

static int prepare_writing(struct store *store, struct sbx_error *err)
{
	bool is_wal = false;

	if (sqlite3_exec(store->db, "PRAGMA journal_mode=WAL", keep_mode, &is_wal, NULL) !=
	    SQLITE_OK)
		return store_fail(store, "open", err);
	if (!is_wal)
		return fail_file(store->name, -ENOTSUP, "its file system has no shared memory",
				 "keep the log on a local file system", err);
	/* A commit waits for the disk; without a checkpoint now and then the WAL would only grow.
	 */
	(void)sqlite3_wal_autocheckpoint(store->db, WAL_PAGES);
	return run_pragmas(store, "PRAGMA synchronous=FULL; PRAGMA journal_size_limit=0", err);
}

static int open_checked(int folder, const char *name, bool to_write, struct store **ret,
			struct sbx_error *err)
{
	_cleanup_store_ struct store *store = NULL;
	int r = check_file(folder, name, to_write, err);

	if (r < 0)
		return r;
	store = connect(folder, name, to_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, &r,
			err);
	if (!store)
		return r;
	r = store_check_schema(store, err);
	if (r == 0 && to_write)
		r = prepare_writing(store, err);
	if (r < 0)
		return r;
	*ret = take_ptr(store);
	return 0;
}

int store_open(int folder, const char *name, struct store **ret, struct sbx_error *err)
{
	return open_checked(folder, name, true, ret, err);
}

int store_open_to_read(int folder, const char *name, struct store **ret, struct sbx_error *err)
{
	return open_checked(folder, name, false, ret, err);
}

/* ---- create ---- */

static void remove_new(int folder, const char *name)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
	char path[STORE_NAME_SIZE + 16];

	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", name, suffixes[i]);
		(void)unlinkat(folder, path, 0);
	}
}

/* Without a WAL yet: what is renamed must be one file, and complete. */
static int fill_new(int folder, const char *name, store_fill fill, void *userdata,
		    struct sbx_error *err)
{
	_cleanup_store_ struct store *store = NULL;
	int r;

	store = connect(folder, name, SQLITE_OPEN_READWRITE, &r, err);
	if (!store)
		return r;
	r = run_pragmas(store, "PRAGMA page_size=4096; PRAGMA synchronous=EXTRA", err);
	if (r == 0)
		r = store_begin(store, err);
	if (r == 0)
		r = store_make_schema(store, err);
	if (r == 0 && fill)
		r = fill(store, userdata, err);
	if (r == 0)
		r = store_commit(store, err);
	return r;
}

int store_create(int folder, const char *name, store_fill fill, void *userdata,
		 struct sbx_error *err)
{
	char new_name[STORE_NAME_SIZE];
	int fd, r;

	if ((size_t)snprintf(new_name, sizeof(new_name), "%s" NEW_SUFFIX, name) >= sizeof(new_name))
		return fail_file(name, -ENAMETOOLONG, NULL, "use another name", err);
	remove_new(folder, new_name);
	fd = openat(folder, new_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_file(name, -errno, NULL,
				 "check the permissions of the directory, and its room", err);
	(void)close(fd);
	r = fill_new(folder, new_name, fill, userdata, err);
	if (r == 0 && renameat2(folder, new_name, folder, name, RENAME_NOREPLACE) < 0)
		r = fail_file(name, -errno, NULL, "look at what is there", err);
	if (r == 0 && fsync(folder) < 0)
		r = fail_file(name, -errno, NULL, "check the file system", err);
	if (r < 0)
		remove_new(folder, new_name);
	return r;
}
