/* SPDX-License-Identifier: MIT */

/*
 * Keys as files of one line:
 *
 *   sbx-audit-key/1 EPOCH BASE64
 *   sbx-audit-key/1 in PLACE  where such a line is: "keyring:NAME", "credential:NAME"
 *
 * A key file is erased by overwriting it with zeros before it is unlinked. So a file of zeros,
 * which a crash can leave, is an erased key; any other content that is not the line is an error.
 * Memory that held a private key is overwritten before it is freed.
 */

#include "audit/key.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/keyctl.h>
#include <openssl/crypto.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/checkpoint.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"

/* ---- keys of the type "user" in the kernel's keyrings: keyrings(7) ---- */

#define DESCRIPTION_MAX 256
#define GROUP_AND_OTHERS 0xffff

/* Checks KEYCTL_DESCRIBE's text "user;UID;GID;PERMISSIONS;NAME", permissions in hexadecimal. */
static int check_owner(long key)
{
	char description[DESCRIPTION_MAX];
	unsigned uid, gid, permissions;
	long n = syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, description, sizeof(description));

	if (n < 0)
		return -ENOKEY;
	if ((size_t)n > sizeof(description) ||
	    sscanf(description, "user;%u;%u;%x;", &uid, &gid, &permissions) != 3)
		return -EPERM;
	if ((uid != geteuid() && uid != 0) || (permissions & GROUP_AND_OTHERS) != 0)
		return -EPERM;
	return 0;
}

static ssize_t keyring_read(const char *name, void *bytes, size_t size)
{
	/* Callout information NULL: the kernel does not run /sbin/request-key. */
	long key = syscall(SYS_request_key, "user", name, NULL, 0), n;
	int r = key < 0 ? -ENOKEY : check_owner(key);

	if (r < 0)
		return r;
	n = syscall(SYS_keyctl, KEYCTL_READ, key, bytes, size);
	if (n < 0)
		return -ENOKEY;
	return (size_t)n <= size ? n : -EBADMSG;
}

/* ---- keys ---- */

#define KEY_TAG "sbx-audit-key/1 "
#define KEY_LINE_MAX 96 /* tag, 19 digits, space, 44 characters, newline */
#define KEY_PLACE_TAG KEY_TAG "in "
#define KEY_ERASED 1

/* Mode bits that other users must not have. systemd grants a service its credentials through an
 * ACL, whose mask shows as the group's read bit. */
#define FORBIDDEN_OURS 077
#define FORBIDDEN_CREDENTIAL 027

struct line {
	char bytes[KEY_LINE_MAX];
	size_t n;
};

static void wipe_line(struct line *line)
{
	OPENSSL_cleanse(line->bytes, sizeof(line->bytes));
}

/* The text was allocated at full size, so that no realloc() has left a copy of the secret. */
static void wipe_text(struct text *text)
{
	if (text->data)
		OPENSSL_cleanse(text->data, text->size);
	text_deinit(text);
}

void key_deinit(struct audit_key *key)
{
	OPENSSL_cleanse(key, sizeof(*key));
}

static int fail(struct sbx_error *err, int code, const char *doing, const char *name,
		const char *why, const char *fix)
{
	return error_fill(err, code, why, fix, "cannot %s the key '%s'", doing, name);
}

int key_make(uint64_t epoch, struct audit_key *ret, struct sbx_error *err)
{
	_cleanup_audit_key_ struct audit_key key = { .epoch = epoch };
	int r;

	if (epoch > INT64_MAX)
		r = -EOVERFLOW;
	else if (getrandom(key.private_key, sizeof(key.private_key), 0) != sizeof(key.private_key))
		r = -EIO;
	else
		r = signature_public_key(key.private_key, key.public_key);
	if (r < 0)
		return fail(err, r, "make", KEY_NAME, "", "try again");
	*ret = key;
	return 0;
}

static int print_line(const struct audit_key *key, struct line *ret)
{
	_cleanup_(wipe_text) struct text text = TEXT_INIT;

	(void)text_extend(&text, 2 * KEY_LINE_MAX);
	text_truncate(&text, 0);
	text_addf(&text, KEY_TAG "%" PRIu64 " ", key->epoch);
	base64_add(&text, key->private_key, sizeof(key->private_key));
	text_add_char(&text, '\n');
	if (text_status(&text) < 0)
		return -ENOMEM;
	if (text.len > sizeof(ret->bytes))
		return -EINVAL;
	memcpy(ret->bytes, text.data, text.len);
	ret->n = text.len;
	return 0;
}

static bool is_erased(const struct line *line)
{
	for (size_t i = 0; i < line->n; i++)
		if (line->bytes[i] != '\0')
			return false;
	return true;
}

/* Parses leniently, then writes the line again and compares. */
static int parse_line(const struct line *line, struct audit_key *ret)
{
	_cleanup_audit_key_ struct audit_key key = AUDIT_KEY_INIT;
	_cleanup_(wipe_line) struct line again = { .n = 0 };
	size_t at = sizeof(KEY_TAG) - 1;
	int r;

	for (; at < line->n && line->bytes[at] >= '0' && line->bytes[at] <= '9'; at++) {
		if (key.epoch > INT64_MAX / 10)
			return -EBADMSG;
		key.epoch = key.epoch * 10 + (uint64_t)(line->bytes[at] - '0');
	}
	if (line->n < at + 2 || key.epoch > INT64_MAX ||
	    base64_decode_exactly(line->bytes + at + 1, line->n - at - 2, key.private_key,
				  sizeof(key.private_key)) < 0)
		return -EBADMSG;
	r = print_line(&key, &again);
	if (r < 0)
		return r;
	if (again.n != line->n || memcmp(again.bytes, line->bytes, line->n) != 0)
		return -EBADMSG;
	r = signature_public_key(key.private_key, key.public_key);
	if (r < 0)
		return r;
	*ret = key;
	return 0;
}

/* Opens a key file and checks its owner and mode. Returns an fd or negative errno. */
static int open_file(int directory, const char *name, int flags, mode_t forbidden)
{
	_cleanup_close_ int fd = path_open_beneath(directory, name, flags | O_NONBLOCK, 0);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || (st.st_mode & forbidden) != 0 ||
	    (st.st_uid != geteuid() && st.st_uid != 0))
		return -EPERM;
	return take_fd(&fd);
}

static int read_line(int directory, const char *name, mode_t forbidden, struct line *ret)
{
	_cleanup_close_ int fd = open_file(directory, name, O_RDONLY, forbidden);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = fd_read_full(fd, ret->bytes, sizeof(ret->bytes));
	if (n < 0)
		return (int)n;
	ret->n = (size_t)n;
	return 0;
}

/* 0, KEY_ERASED, or negative errno. */
static int read_file(int directory, const char *name, mode_t forbidden, struct audit_key *ret)
{
	_cleanup_(wipe_line) struct line line = { .n = 0 };
	int r = read_line(directory, name, forbidden, &line);

	if (r < 0)
		return r;
	return is_erased(&line) ? KEY_ERASED : parse_line(&line, ret);
}

static int read_credential(const char *credentials, const char *name, struct audit_key *ret)
{
	_cleanup_close_ int directory = -EBADF;

	if (!credentials || credentials[0] != '/')
		return -ENOENT;
	directory = open(credentials, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return -errno;
	return read_file(directory, name, FORBIDDEN_CREDENTIAL, ret);
}

static int read_keyring(const char *credentials, const char *name, struct audit_key *ret)
{
	_cleanup_(wipe_line) struct line line = { .n = 0 };
	ssize_t n = keyring_read(name, line.bytes, sizeof(line.bytes));

	if (n < 0)
		return (int)n;
	line.n = (size_t)n;
	return is_erased(&line) ? KEY_ERASED : parse_line(&line, ret);
}

static const struct key_place {
	const char *tag;
	int (*read)(const char *credentials, const char *name, struct audit_key *ret);
} places[] = {
	{ "keyring:", read_keyring },
	{ "credential:", read_credential },
};

/* Finds the row of a place; *@ret_name is the part of @place after its tag. NULL if it is
 * malformed. */
static const struct key_place *find_place(const char *place, const char **ret_name)
{
	for (size_t i = 0; i < N_ELEMENTS(places); i++) {
		size_t n = strlen(places[i].tag);
		const char *name = place + n;
		size_t n_name;

		if (strncmp(place, places[i].tag, n) != 0)
			continue;
		n_name = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_-.");
		*ret_name = name;
		return n_name > 0 && n_name <= KEY_PLACE_NAME_MAX && !name[n_name] && name[0] != '.'
			       ? &places[i]
			       : NULL;
	}
	return NULL;
}

/* A missing key is -ENOKEY: -ENOENT means a log without a key, for which setup makes one. */
static int read_place(const char *place, const char *credentials, struct audit_key *ret)
{
	const char *name;
	const struct key_place *row = find_place(place, &name);
	int r = row ? row->read(credentials, name, ret) : -EBADMSG;

	if (r != 0)
		return r == -ENOENT || r == KEY_ERASED ? -ENOKEY : r;
	ret->is_elsewhere = true;
	return 0;
}

/* Reads the file KEY_NAME: a key, or the name of the place that has it. */
static int read_own(int directory, const char *credentials, struct audit_key *ret)
{
	_cleanup_(wipe_line) struct line line = { .n = 0 };
	size_t tag = sizeof(KEY_PLACE_TAG) - 1;
	char place[KEY_LINE_MAX];
	int r = read_line(directory, KEY_NAME, FORBIDDEN_OURS, &line);

	if (r < 0)
		return r;
	if (is_erased(&line))
		return KEY_ERASED;
	if (line.n <= tag || memcmp(line.bytes, KEY_PLACE_TAG, tag) != 0)
		return parse_line(&line, ret);
	if (line.bytes[line.n - 1] != '\n' || memchr(line.bytes, '\0', line.n))
		return -EBADMSG;
	memcpy(place, line.bytes + tag, line.n - tag - 1);
	place[line.n - tag - 1] = '\0';
	return read_place(place, credentials, ret);
}

static int write_file(int directory, const char *name, const struct audit_key *key,
		      struct sbx_error *err)
{
	_cleanup_(wipe_line) struct line line = { .n = 0 };
	int r = print_line(key, &line);

	if (r < 0)
		return fail(err, r, "write", name, "", "try again");
	return file_replace(directory, name, line.bytes, line.n, 0600, err);
}

static bool is_there(int directory, const char *name)
{
	return faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static int sync_directory(int directory)
{
	return fsync(directory) < 0 ? -errno : 0;
}

/* Overwrites the file with zeros and syncs before unlinking it. A missing file is success. */
static int erase_file(int directory, const char *name)
{
	_cleanup_close_ int fd = open_file(directory, name, O_RDWR, FORBIDDEN_OURS);
	static const char zeros[KEY_LINE_MAX];
	struct stat st;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size > (off_t)sizeof(zeros))
		return -EBADMSG;
	if (pwrite(fd, zeros, (size_t)st.st_size, 0) != st.st_size || fdatasync(fd) < 0)
		return -EIO;
	if (unlinkat(directory, name, 0) < 0)
		return -errno;
	return sync_directory(directory);
}

static int put_next_in_place(int directory)
{
	if (renameat(directory, KEY_NEXT_NAME, directory, KEY_NAME) < 0)
		return -errno;
	return sync_directory(directory);
}

int key_store_at(int directory, const struct audit_key *key, struct sbx_error *err)
{
	if (is_there(directory, KEY_NAME) || is_there(directory, KEY_NEXT_NAME))
		return fail(err, -EEXIST, "store", KEY_NAME, "the log has a key already",
			    "keep it: no other key can verify its signatures");
	return write_file(directory, KEY_NAME, key, err);
}

static const struct {
	int code;
	const char *why;
	const char *fix;
} reasons[] = {
	{ -ENOENT, "it does not exist",
	  "restore the key from a copy, or begin a new log in another directory" },
	{ KEY_ERASED, "it was erased",
	  "restore the key from a copy, or begin a new log in another directory" },
	{ -EPERM, "the file is not owned by the calling user alone",
	  "change its owner to the calling user, its mode to 0600, and remove its other names" },
	{ -ELOOP, "it is a link", "replace the link with the file itself" },
	{ -EBADMSG, "the file has no key", "restore the key from a copy" },
	{ -ENOKEY, "the keyring or credential that it names has no key",
	  "put the key there again; sbx-audit(1) says how, under KEYS" },
};

static int fail_to_load(struct sbx_error *err, int code, const char *name)
{
	int r = code == KEY_ERASED ? -ENOENT : code;

	(void)fail(err, r, "load", name, "", "check the file system");
	for (size_t i = 0; i < N_ELEMENTS(reasons); i++)
		if (reasons[i].code == code)
			(void)fail(err, r, "load", name, reasons[i].why, reasons[i].fix);
	return r;
}

/* 0, KEY_ERASED or negative errno; *@name is the file in question. */
static int read_current(int directory, const char *credentials, struct audit_key *ret,
			const char **name)
{
	int r = read_own(directory, credentials, ret);

	*name = KEY_NAME;
	if ((r != KEY_ERASED && r != -ENOENT) || !is_there(directory, KEY_NEXT_NAME))
		return r;
	/* key_advance() was interrupted after erasing the current key; the next key is complete. */
	*name = KEY_NEXT_NAME;
	r = read_file(directory, KEY_NEXT_NAME, FORBIDDEN_OURS, ret);
	return r == 0 ? put_next_in_place(directory) : r;
}

int key_load(int directory, const char *credentials, struct audit_key *ret, struct sbx_error *err)
{
	_cleanup_audit_key_ struct audit_key given = AUDIT_KEY_INIT, kept = AUDIT_KEY_INIT;
	int r_given = read_credential(credentials, KEY_CREDENTIAL_NAME, &given), r_kept;
	const char *name;

	if (r_given != 0 && r_given != -ENOENT)
		return fail_to_load(err, r_given, KEY_CREDENTIAL_NAME);
	r_kept = read_current(directory, credentials, &kept, &name);
	if (r_kept != 0 && (r_kept != -ENOENT || r_given != 0))
		return fail_to_load(err, r_kept, name);
	*ret = r_kept != 0 || (r_given == 0 && given.epoch > kept.epoch) ? given : kept;
	return 0;
}

/* Writing the same place again succeeds: an earlier attempt may have been interrupted. */
static int write_place(int directory, const char *place, struct sbx_error *err)
{
	_cleanup_(wipe_line) struct line kept = { .n = 0 };
	char line[KEY_LINE_MAX + 1];
	int n = snprintf(line, sizeof(line), KEY_PLACE_TAG "%s\n", place);

	if (n < 0 || n > KEY_LINE_MAX)
		return fail(err, -EINVAL, "write", KEY_NAME, "", "choose a shorter name");
	if (!is_there(directory, KEY_NAME) && !is_there(directory, KEY_NEXT_NAME))
		return file_replace(directory, KEY_NAME, line, (size_t)n, 0600, err);
	if (read_line(directory, KEY_NAME, FORBIDDEN_OURS, &kept) == 0 && kept.n == (size_t)n &&
	    memcmp(kept.bytes, line, kept.n) == 0)
		return 0;
	return fail(err, -EEXIST, "store", KEY_NAME, "the log has a key already",
		    "keep it: no other key can verify its signatures");
}

int key_store_elsewhere(int directory, const char *place, const char *credentials,
			struct audit_key *ret, struct sbx_error *err)
{
	_cleanup_audit_key_ struct audit_key key = AUDIT_KEY_INIT;
	const char *name;
	int r;

	if (!find_place(place, &name))
		return fail(err, -EINVAL, "find", place,
			    "it names neither a keyring nor a credential",
			    "write keyring:NAME or credential:NAME");
	r = read_place(place, credentials, &key);
	if (r < 0)
		return fail_to_load(err, r, place);
	r = write_place(directory, place, err);
	if (r < 0)
		return r;
	*ret = key;
	return 0;
}

int key_prepare_next(int directory, const struct audit_key *current, struct audit_key *ret,
		     struct sbx_error *err)
{
	_cleanup_audit_key_ struct audit_key next = AUDIT_KEY_INIT;
	int r;

	if (current->is_elsewhere)
		return fail(err, -EOPNOTSUPP, "change", KEY_NAME,
			    "it is kept outside the log, where sbx-audit cannot change it",
			    "create another log with another key");
	r = read_file(directory, KEY_NEXT_NAME, FORBIDDEN_OURS, &next);
	if (r == 0 && next.epoch == current->epoch + 1) {
		*ret = next;
		return 0;
	}
	/* A prepared key of a past epoch that a crash has left. */
	if (r == 0 || r == KEY_ERASED)
		r = erase_file(directory, KEY_NEXT_NAME);
	if (r < 0 && r != -ENOENT)
		return fail_to_load(err, r, KEY_NEXT_NAME);
	r = key_make(current->epoch + 1, &next, err);
	if (r < 0)
		return r;
	r = write_file(directory, KEY_NEXT_NAME, &next, err);
	if (r < 0)
		return r;
	*ret = next;
	return 0;
}

int key_advance(int directory, struct sbx_error *err)
{
	_cleanup_audit_key_ struct audit_key next = AUDIT_KEY_INIT;
	int r = read_file(directory, KEY_NEXT_NAME, FORBIDDEN_OURS, &next);

	if (r != 0)
		return fail_to_load(err, r, KEY_NEXT_NAME);
	/* rename() over the current key would leave its bytes on the disk: erase it first. */
	r = erase_file(directory, KEY_NAME);
	if (r == 0)
		r = put_next_in_place(directory);
	if (r < 0)
		return fail(err, r, "advance", KEY_NAME, "",
			    "check the file system and its permissions");
	return 0;
}

/* ---- the file of epochs ---- */

/*
 * The file of epochs is replaced as a whole: each change of keys adds one note, and it is complete
 * after any crash. Its content is not trusted, but anything that is not a sequence of notes is
 * refused.
 */

/* ---- sequences of notes ---- */

size_t notes_next(const char *bytes, size_t n_bytes, bool is_end)
{
	const char *end = bytes + n_bytes, *at = memmem(bytes, n_bytes, "\n\n", 2), *newline;
	const char *begin;

	if (!at)
		return 0;
	for (begin = at += 2; note_is_signature(at, (size_t)(end - at)); at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			return 0;
	}
	/* More signatures of this note may follow in bytes not read yet. */
	if (at == begin || ((size_t)(end - at) < strlen(NOTE_SIGNATURE) && !is_end))
		return 0;
	return (size_t)(at - bytes);
}

/* ---- the file ---- */

static int fail_epochs(struct sbx_error *err, int code, const char *why, const char *fix)
{
	(void)error_fill(err, code, why, fix, "cannot use the file '%s' of the log", EPOCHS_NAME);
	return code; /* written out: an analyser of this file sees that the callers stop */
}

/* 0, -EBADMSG or -ENOMEM. */
static int parse(const char *note, size_t n_bytes, struct audit_checkpoint *ret)
{
	int r = checkpoint_peek(note, n_bytes, ret);

	return r == 0 && !ret->is_last_of_epoch ? -EBADMSG : r;
}

/* A missing file gives no bytes. */
static int read_epochs_file(int directory, char **ret_bytes, size_t *ret_n, struct sbx_error *err)
{
	_cleanup_close_ int fd =
		path_open_beneath(directory, EPOCHS_NAME, O_RDONLY | O_NONBLOCK, 0);
	struct stat st;

	*ret_n = 0;
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fail_epochs(err, fd, NULL, "check that it is a file and can be read");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fail_epochs(err, -EBADMSG, "it is not a regular file",
				   "restore it from a copy");
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
			return fail_epochs(err, r, NULL, "free some memory");
		if (r < 0 || next.size <= last.size || (at > 0 && next.epoch <= last.epoch))
			return fail_epochs(err, -EBADMSG,
					   "it is not a list of checkpoints that end epochs",
					   "restore it from a copy");
		r = visit(userdata, next.size, bytes + at, n_note, err);
		if (r != 0)
			return r;
	}
	return 0;
}

int epochs_each(int directory, store_visit_note visit, void *userdata, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n;
	int r = read_epochs_file(directory, &bytes, &n, err);

	return r < 0 ? r : each(bytes, n, visit, userdata, err);
}

/* The position of an epoch's note in the file, or where it would be inserted. */
struct epoch_place {
	const char *bytes; /* the file's content */
	uint64_t epoch;
	size_t at; /* offset after the notes of the epochs before */
	const char *note;
	size_t n_note; /* 0: the file has no note of this epoch */
};

static int find_epoch_place(void *userdata, uint64_t size, const char *note, size_t n_bytes,
			    struct sbx_error *err)
{
	struct epoch_place *place = userdata;
	struct audit_checkpoint there;
	int r = parse(note, n_bytes, &there);

	if (r < 0)
		return r;
	if (there.epoch > place->epoch)
		return 1;
	if (there.epoch < place->epoch) {
		place->at = (size_t)(note - place->bytes) + n_bytes;
		return 0;
	}
	place->note = note;
	place->n_note = n_bytes;
	return 1;
}

static int read_epoch_place(int directory, const char *note, size_t n_bytes, char **ret_bytes,
			    size_t *ret_n, struct epoch_place *ret, struct sbx_error *err)
{
	struct audit_checkpoint wanted;
	int r = n_bytes > STORE_NOTE_MAX ? -EBADMSG : parse(note, n_bytes, &wanted);

	if (r < 0)
		return fail_epochs(err, r == -ENOMEM ? r : -EINVAL,
				   "the checkpoint does not end an epoch",
				   "check the log: sbx-audit verify --full");
	r = read_epochs_file(directory, ret_bytes, ret_n, err);
	if (r < 0)
		return r;
	*ret = (struct epoch_place){ .bytes = *ret_bytes, .epoch = wanted.epoch };
	r = each(*ret_bytes, *ret_n, find_epoch_place, ret, err);
	return r < 0 ? r : 0;
}

int epochs_has(int directory, const char *note, size_t n_bytes, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	struct epoch_place place;
	size_t n;
	int r = read_epoch_place(directory, note, n_bytes, &bytes, &n, &place, err);

	if (r < 0)
		return r;
	return place.note && place.n_note == n_bytes && memcmp(place.note, note, n_bytes) == 0;
}

static int pass(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		struct sbx_error *err)
{
	return 0;
}

int epochs_add(int directory, const char *note, size_t n_bytes, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	_cleanup_text_ struct text all = TEXT_INIT;
	struct epoch_place place;
	size_t n;
	int r = read_epoch_place(directory, note, n_bytes, &bytes, &n, &place, err);

	if (r < 0 || place.n_note > 0)
		return r;
	text_add_bytes(&all, bytes, place.at);
	text_add_bytes(&all, note, n_bytes);
	text_add_bytes(&all, bytes + place.at, n - place.at);
	if (text_status(&all) < 0)
		return fail_epochs(err, -ENOMEM, NULL, "free some memory");
	if (all.len > EPOCHS_BYTES_MAX)
		return fail_epochs(err, -EFBIG, "there are too many epochs", "create a new log");
	r = each(all.data, all.len, pass, NULL, err);
	return r < 0 ? r : file_replace(directory, EPOCHS_NAME, all.data, all.len, 0600, err);
}
