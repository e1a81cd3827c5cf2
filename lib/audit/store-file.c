/* SPDX-License-Identifier: MIT */

/*
 * One segment: an SQLite file, opened through the directory's fd, so that it is in the directory
 * that was opened and locked, wherever its path now leads
 *
 * There is no second writer, but SQLite has its own locks that exclude every other process for a
 * moment: the last connection that closes a database checkpoints its WAL, and any process, even a
 * reader, that finds the WAL's index torn rebuilds it. So every call waits for a lock, and only a
 * lock that stays is an error. The files beside the segment (-wal, -shm) are kept when the writer
 * closes it: a reader without write permission for the directory needs them.
 */

#include "audit/store-file.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/path.h"

/* ---- errors ---- */

static const struct {
	int sqlite;
	int code;
	const char *fix;
} causes[] = {
	{ SQLITE_FULL, -ENOSPC, "free some space on the file system" },
	{ SQLITE_BUSY, -EBUSY, "let nothing but sbx-audit write to the log's files" },
	{ SQLITE_LOCKED, -EBUSY, "let nothing but sbx-audit write to the log's files" },
	{ SQLITE_CORRUPT, -EBADMSG, "check the log: sbx-audit verify --full" },
	{ SQLITE_NOTADB, -EBADMSG, "check the log: sbx-audit verify --full" },
	{ SQLITE_ERROR, -EBADMSG, "check the log: sbx-audit verify --full" },
	{ SQLITE_MISMATCH, -EBADMSG, "check the log: sbx-audit verify --full" },
	{ SQLITE_CONSTRAINT, -EEXIST, "check the log: sbx-audit verify --full" },
	{ SQLITE_NOMEM, -ENOMEM, "free some memory" },
	{ SQLITE_READONLY, -EROFS, "check the file system and the permissions of the file" },
	{ SQLITE_PERM, -EACCES, "check the permissions of the file" },
	{ SQLITE_AUTH, -EACCES, "check the permissions of the file" },
	{ SQLITE_CANTOPEN, -EACCES, "check the permissions of the directory" },
	{ SQLITE_TOOBIG, -EMSGSIZE, "split the record" },
};

/*
 * The reason for SQLite's "disk I/O error". If a write to the WAL fails, because of RLIMIT_FSIZE or
 * a quota for example, sqlite3_system_errno() returns 0 or that of an earlier failure, but errno is
 * still that of write(2).
 */
static int errno_of(const struct store *store, int last)
{
	return sqlite3_errcode(store->db) == SQLITE_IOERR && last != 0
		       ? last
		       : sqlite3_system_errno(store->db);
}

static bool has_failed_to_read(sqlite3_file *file)
{
	int code = 0;

	return file && file->pMethods &&
	       file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &code) == SQLITE_OK &&
	       (code == EIO || code == ENXIO);
}

/* SQLite reports a file that the kernel could not read (EIO) as one that is malformed. */
static bool is_unreadable(struct store *store)
{
	sqlite3_file *file = NULL, *wal = NULL;

	(void)sqlite3_file_control(store->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	(void)sqlite3_file_control(store->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
	return has_failed_to_read(file) || has_failed_to_read(wal);
}

int store_fail(struct store *store, const char *doing, struct sbx_error *err)
{
	int from_kernel = errno_of(store, errno);
	int sqlite = sqlite3_errcode(store->db), code = -EIO;
	const char *why = sqlite3_errmsg(store->db), *fix = "check the file system";

	if (sqlite == SQLITE_CANTOPEN && (from_kernel == EMFILE || from_kernel == ENFILE))
		return error_fill(err, -from_kernel, NULL, NULL, "cannot %s the segment '%s'",
				  doing, store->name);

	if (sqlite == SQLITE_CORRUPT && is_unreadable(store))
		return error_fill(err, code, NULL, fix, "cannot %s the segment '%s'", doing,
				  store->name);
	for (size_t i = 0; i < N_ELEMENTS(causes); i++)
		if (causes[i].sqlite == sqlite) {
			code = causes[i].code;
			fix = causes[i].fix;
		}
	if (sqlite == SQLITE_IOERR && (from_kernel == ENOSPC || from_kernel == EDQUOT ||
				       from_kernel == EFBIG || from_kernel == EROFS)) {
		code = from_kernel == EDQUOT ? -ENOSPC : -from_kernel;
		why = from_kernel == EDQUOT ? strerror(EDQUOT) : NULL;
		fix = error_fix_of_write(code);
	}
	return error_fill(err, code, why, fix, "cannot %s the segment '%s'", doing, store->name);
}

int store_fail_format(const char *name, const char *why, struct sbx_error *err)
{
	return error_fill(err, -EBADMSG, why,
			  "move it out of the log's directory, and keep it: it was changed",
			  "cannot use the segment '%s'", name);
}

static int fail_file(const char *name, int code, const char *why, const char *fix,
		     struct sbx_error *err)
{
	return error_fill(err, code, why, fix, "cannot open the segment '%s'", name);
}

/* ---- tables ---- */

/*
 * SQLite stores the text of every definition. Accept only exactly these texts: then the file
 * contains no trigger, view, generated column or other type.
 */

#define APPLICATION_ID 0x73627861 /* "sbxa" */

#define RECORDS                                                                                    \
	"CREATE TABLE records(seq INTEGER PRIMARY KEY,hash BLOB NOT NULL,body BLOB NOT NULL)STRICT"
#define ORIGINALS                                                                                  \
	"CREATE TABLE originals(seq INTEGER NOT NULL,member TEXT NOT NULL,salt BLOB NOT NULL,"     \
	"original BLOB,PRIMARY KEY(seq,member))STRICT,WITHOUT ROWID"

static const char *const definitions[] = {
	RECORDS,
	"CREATE TABLE checkpoints(size INTEGER PRIMARY KEY,note TEXT NOT NULL)STRICT",
	ORIGINALS,
	"CREATE TABLE meta(key TEXT PRIMARY KEY,value BLOB NOT NULL)STRICT,WITHOUT ROWID",
};

static int store_make_schema(struct store *store, struct sbx_error *err)
{
	char pragmas[96];

	(void)snprintf(pragmas, sizeof(pragmas), "PRAGMA application_id=%d;PRAGMA user_version=%d",
		       APPLICATION_ID, STORE_FORMAT);
	for (size_t i = 0; i < N_ELEMENTS(definitions); i++)
		if (sqlite3_exec(store->db, definitions[i], NULL, NULL, NULL) != SQLITE_OK)
			return store_fail(store, "make", err);
	if (sqlite3_exec(store->db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
		return store_fail(store, "make", err);
	return 0;
}

static void statement_finalize(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement);
}
#define _cleanup_statement_ _cleanup_(statement_finalize)

static int read_number(struct store *store, const char *pragma, int *ret, struct sbx_error *err)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(store->db, pragma, -1, &statement, NULL) != SQLITE_OK ||
	    sqlite3_step(statement) != SQLITE_ROW)
		return store_fail(store, "open", err);
	*ret = sqlite3_column_int(statement, 0);
	return 0;
}

static int check_numbers(struct store *store, struct sbx_error *err)
{
	int application = 0, format = 0;
	int r = read_number(store, "PRAGMA application_id", &application, err);

	if (r < 0)
		return r;
	r = read_number(store, "PRAGMA user_version", &format, err);
	if (r < 0)
		return r;
	if (application != APPLICATION_ID)
		return store_fail_format(store->name, "it is not marked as a segment", err);
	if (format == STORE_FORMAT)
		return 0;
	(void)sbx_error_what(err, -ENOTSUP, "cannot use the segment '%s'", store->name);
	sbx_error_why(err, "its format is %d, and this sbx-audit knows %d", format, STORE_FORMAT);
	sbx_error_fix(err, "use the release of sbx-audit that wrote it, or a later one");
	return -ENOTSUP;
}

static int store_check_schema(struct store *store, struct sbx_error *err)
{
	static const char sql[] = "SELECT sql FROM sqlite_schema ORDER BY rowid";
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int r = check_numbers(store, err), step;
	size_t n = 0;

	if (r < 0)
		return r;
	if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return store_fail(store, "open", err);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(statement, 0);

		if (n == N_ELEMENTS(definitions) || !text || strcmp(text, definitions[n++]) != 0)
			return store_fail_format(store->name,
						 "its tables are not those of a segment", err);
	}
	if (step != SQLITE_DONE)
		return store_fail(store, "open", err);
	if (n != N_ELEMENTS(definitions))
		return store_fail_format(store->name, "tables of a segment are missing", err);
	return 0;
}

/* ---- open ---- */

struct store *store_free(struct store *store)
{
	if (!store)
		return NULL;
	for (size_t i = 0; i < N_STATEMENTS; i++)
		(void)sqlite3_finalize(store->statements[i]);
	(void)sqlite3_close(store->db);
	(void)readahead_free(store->readahead);
	free(store);
	return NULL;
}

/* The owner of a file could change it while it is being written. A reader does not mind: it checks
 * all that it reads. */
static int check_file(int directory, const char *name, bool to_write, struct sbx_error *err)
{
	_cleanup_close_ int fd = path_open_beneath(directory, name, O_PATH, 0);
	struct stat st;

	if (fd < 0)
		return fail_file(name, fd, NULL, "check that it exists and is not a symbolic link",
				 err);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fail_file(name, -EBADMSG, "it is not a regular file",
				 "move it out of the log's directory", err);
	if (to_write && (st.st_uid != geteuid() || (st.st_mode & 022) != 0))
		return fail_file(name, -EPERM, "other users could write it",
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
static struct store *connect(int directory, const char *name, int flags, int *ret_code,
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
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", directory, name);
	if (sqlite3_open_v2(path, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
		*ret_code = store->db ? store_fail(store, "open", err)
				      : fail_file(name, -ENOMEM, NULL, "free some memory", err);
		return NULL;
	}
	harden(store);
	/* Without mmap: SIGBUS would kill this process if another one truncates the file. */
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
	/* A commit waits for the disk; without checkpoints the WAL would grow without bound. */
	(void)sqlite3_wal_autocheckpoint(store->db, WAL_PAGES);
	return run_pragmas(store, "PRAGMA synchronous=FULL; PRAGMA journal_size_limit=0", err);
}

static int prepare_reading(struct store *store, struct sbx_error *err)
{
	int r = readahead_new(store->db, &store->readahead);

	return r < 0 ? fail_file(store->name, r, NULL, "free some memory", err) : 0;
}

static int open_checked(int directory, const char *name, bool to_write, struct store **ret,
			struct sbx_error *err)
{
	_cleanup_store_ struct store *store = NULL;
	int r = check_file(directory, name, to_write, err);

	if (r < 0)
		return r;
	store = connect(directory, name, to_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY,
			&r, err);
	if (!store)
		return r;
	r = store_check_schema(store, err);
	if (r < 0)
		return r;
	r = to_write ? prepare_writing(store, err) : prepare_reading(store, err);
	if (r < 0)
		return r;
	*ret = take_ptr(store);
	return 0;
}

int store_open(int directory, const char *name, struct store **ret, struct sbx_error *err)
{
	return open_checked(directory, name, true, ret, err);
}

int store_open_to_read(int directory, const char *name, struct store **ret, struct sbx_error *err)
{
	return open_checked(directory, name, false, ret, err);
}

/* ---- create ---- */

static void remove_new(int directory, const char *name)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
	char path[STORE_NAME_SIZE + 16];

	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", name, suffixes[i]);
		(void)unlinkat(directory, path, 0);
	}
}

/*
 * Without a WAL at first: it is filled in one transaction, into one file. Then it is changed to
 * have one. The writer that opens it first could do that, too, but would leave a journal if it were
 * killed, and readers cannot open a file with a journal.
 */
static int fill_new(int directory, const char *name, store_fill fill, void *userdata,
		    struct sbx_error *err)
{
	_cleanup_store_ struct store *store = NULL;
	int r;

	store = connect(directory, name, SQLITE_OPEN_READWRITE, &r, err);
	if (!store)
		return r;
	r = run_pragmas(store, "PRAGMA page_size=4096; PRAGMA synchronous=EXTRA", err);
	if (r < 0)
		return r;
	r = store_begin(store, err);
	if (r < 0)
		return r;
	r = store_make_schema(store, err);
	if (r < 0)
		return r;
	r = fill ? fill(store, userdata, err) : 0;
	if (r < 0)
		return r;
	r = store_commit(store, err);
	if (r < 0)
		return r;
	r = prepare_writing(store, err);
	/* The first query makes -wal and -shm. */
	return r < 0 ? r : store_check_schema(store, err);
}

/* The files beside the segment come first: a reader without write permission for the directory
 * needs them, and those of a segment that was removed must not be taken for this one's. */
static int put_beside(int directory, const char *name, const char *new_name)
{
	static const char *const suffixes[] = { "-wal", "-shm" };

	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		char from[STORE_NAME_SIZE + 16], to[STORE_NAME_SIZE + 16];

		(void)snprintf(from, sizeof(from), "%s%s", new_name, suffixes[i]);
		(void)snprintf(to, sizeof(to), "%s%s", name, suffixes[i]);
		if (renameat(directory, from, directory, to) < 0)
			return -errno;
	}
	return 0;
}

static int make_new(int directory, const char *name, const char *new_name, store_fill fill,
		    void *userdata, struct sbx_error *err)
{
	int r = fill_new(directory, new_name, fill, userdata, err);

	if (r < 0)
		return r;
	/* Its -wal may hold records. The caller has locked the directory. */
	if (faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		r = -EEXIST;
	else
		r = errno == ENOENT ? put_beside(directory, name, new_name) : -errno;
	if (r == 0 && renameat2(directory, new_name, directory, name, RENAME_NOREPLACE) < 0)
		r = -errno;
	if (r < 0)
		return fail_file(name, r, NULL, "check the file that has this name", err);
	return fsync(directory) < 0 ? fail_file(name, -errno, NULL, "check the file system", err)
				    : 0;
}

int store_create(int directory, const char *name, store_fill fill, void *userdata,
		 struct sbx_error *err)
{
	char new_name[STORE_NAME_SIZE];
	int fd, r;

	if ((size_t)snprintf(new_name, sizeof(new_name), "%s" NEW_SUFFIX, name) >= sizeof(new_name))
		return fail_file(name, -ENAMETOOLONG, NULL, "use another name", err);
	remove_new(directory, new_name);
	fd = openat(directory, new_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_file(name, -errno, NULL,
				 "check the permissions of the directory and the free space", err);
	(void)close(fd);
	r = make_new(directory, name, new_name, fill, userdata, err);
	if (r < 0)
		remove_new(directory, new_name);
	return r;
}
