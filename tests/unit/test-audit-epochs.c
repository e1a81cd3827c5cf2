/* SPDX-License-Identifier: MIT */

#include "audit/key.h"

#include "audit-archive-rig.h"
#include "audit/checkpoint.h"

/* Adds a note for @epoch at @size, which ends the epoch if @is_last; the signature is of an
 * arbitrary key. */
static void add_note(struct text *out, uint64_t epoch, uint64_t size, bool is_last)
{
	struct audit_checkpoint checkpoint = {
		.origin = CHECKPOINT_ORIGIN_PREFIX "00112233445566778899aabbccddeeff",
		.size = size,
		.epoch = epoch,
		.first_usec = 1,
		.last_usec = 2,
		.is_last_of_epoch = is_last,
	};
	static const uint8_t private_key[SIGNATURE_KEY_SIZE] = { 1 };
	uint8_t public_key[SIGNATURE_KEY_SIZE];
	struct note_verifier verifier;

	expect_eq(signature_public_key(private_key, public_key), 0);
	expect_eq(note_verifier_make(checkpoint.origin, public_key, &verifier), 0);
	expect_eq(checkpoint_sign(out, &checkpoint, &verifier, private_key, NULL), 0);
}

static int add_epoch(int directory, uint64_t epoch, uint64_t size, bool is_last)
{
	_cleanup_text_ struct text note = TEXT_INIT;

	add_note(&note, epoch, size, is_last);
	return epochs_add(directory, note.data, note.len, NULL);
}

struct row {
	uint64_t sizes[8];
	size_t n;
};

static int keep(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		struct sbx_error *err)
{
	struct row *row = userdata;

	expect(memmem(note, n_bytes, "\nnext ", 6) != NULL);
	expect(note[n_bytes - 1] == '\n');
	if (row->n < N_ELEMENTS(row->sizes))
		row->sizes[row->n++] = size;
	return 0;
}

static int read_row(int directory, struct row *ret)
{
	*ret = (struct row){ .n = 0 };
	return epochs_each(directory, keep, ret, NULL);
}

static int directory_made(struct log_place *place)
{
	log_place_init(place);
	expect_eq(mkdir(place->log, 0700), 0);
	return directory_of(place);
}

static void without_a_file_there_are_none(void)
{
	_cleanup_log_place_ struct log_place place;
	int directory = directory_made(&place);
	struct row row;

	expect_eq(read_row(directory, &row), 0);
	expect_eq(row.n, 0);
	(void)close(directory);
}

static void notes_come_in_the_order_in_which_they_were_added(void)
{
	_cleanup_log_place_ struct log_place place;
	int directory = directory_made(&place);
	struct stat st;
	struct row row;

	expect_eq(add_epoch(directory, 0, 10, true), 0);
	expect_eq(add_epoch(directory, 1, 20, true), 0);
	expect_eq(add_epoch(directory, 2, 30, true), 0);
	expect_eq(read_row(directory, &row), 0);
	expect_eq(row.n, 3);
	expect(row.sizes[0] == 10 && row.sizes[1] == 20 && row.sizes[2] == 30);
	expect_eq(fstatat(directory, EPOCHS_NAME, &st, AT_SYMLINK_NOFOLLOW), 0);
	expect_eq(st.st_mode & 07777, 0600);
	(void)close(directory);
}

static void an_epoch_is_added_once(void)
{
	_cleanup_log_place_ struct log_place place;
	int directory = directory_made(&place);
	struct row row;

	expect_eq(add_epoch(directory, 0, 10, true), 0);
	expect_eq(add_epoch(directory, 0, 10, true), 0);
	expect_eq(add_epoch(directory, 1, 20, true), 0);
	expect_eq(add_epoch(directory, 0, 10, true), 0);
	expect_eq(read_row(directory, &row), 0);
	expect_eq(row.n, 2);
	(void)close(directory);
}

static void an_epoch_that_was_lost_comes_back_to_its_place(void)
{
	_cleanup_log_place_ struct log_place place;
	int directory = directory_made(&place);
	struct row row;

	expect_eq(add_epoch(directory, 1, 20, true), 0);
	expect_eq(add_epoch(directory, 3, 40, true), 0);
	expect_eq(add_epoch(directory, 2, 30, true), 0);
	expect_eq(add_epoch(directory, 0, 10, true), 0);
	expect_eq(read_row(directory, &row), 0);
	expect_eq(row.n, 4);
	for (size_t i = 0; i < 4; i++)
		expect_eq(row.sizes[i], 10 * (i + 1));
	(void)close(directory);
}

static void refuses_an_epoch_out_of_order(void)
{
	_cleanup_log_place_ struct log_place place;
	int directory = directory_made(&place);
	struct row row;

	expect_eq(add_epoch(directory, 0, 10, true), 0);
	expect_eq(add_epoch(directory, 2, 30, true), 0);
	expect_eq(add_epoch(directory, 1, 30, true), -EBADMSG);
	expect_eq(add_epoch(directory, 1, 9, true), -EBADMSG);
	expect_eq(add_epoch(directory, 3, 30, true), -EBADMSG);
	expect_eq(read_row(directory, &row), 0);
	expect_eq(row.n, 2);
	(void)close(directory);
}

static void exactly_that_note_is_there(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_text_ struct text note = TEXT_INIT, other = TEXT_INIT;
	int directory = directory_made(&place);

	add_note(&note, 1, 20, true);
	add_note(&other, 1, 21, true);
	expect_eq(epochs_has(directory, note.data, note.len, NULL), 0);
	expect_eq(add_epoch(directory, 0, 10, true), 0);
	expect_eq(add_epoch(directory, 1, 20, true), 0);
	expect_eq(add_epoch(directory, 2, 30, true), 0);
	expect_eq(epochs_has(directory, note.data, note.len, NULL), 1);
	expect_eq(epochs_has(directory, other.data, other.len, NULL), 0);
	expect_eq(epochs_has(directory, "nonsense", 8, NULL), -EINVAL);
	expect_eq(file_replace(directory, EPOCHS_NAME, "nonsense", 8, 0600, NULL), 0);
	expect_eq(epochs_has(directory, note.data, note.len, NULL), -EBADMSG);
	(void)close(directory);
}

static void a_checkpoint_in_the_middle_of_an_epoch_is_refused(void)
{
	_cleanup_log_place_ struct log_place place;
	int directory = directory_made(&place);
	struct row row;

	expect_eq(add_epoch(directory, 0, 10, false), -EINVAL);
	expect_eq(epochs_add(directory, "nonsense", 8, NULL), -EINVAL);
	expect_eq(read_row(directory, &row), 0);
	expect_eq(row.n, 0);
	(void)close(directory);
}

/* Nothing is appended to a file that contains something other than notes. */
static void another_content_is_refused(void)
{
	_cleanup_log_place_ struct log_place place;
	_cleanup_text_ struct text right = TEXT_INIT, other = TEXT_INIT;
	int directory = directory_made(&place);
	struct row row;

	add_note(&right, 0, 10, true);
	add_note(&right, 1, 20, true);
	for (unsigned i = 0; i < 7; i++) {
		text_reset(&other);
		if (i == 0)
			text_add(&other, "\n");
		if (i == 1)
			add_note(&other, 0, 10, false);
		if (i == 2)
			add_note(&other, 1, 9, true);
		text_add_bytes(&other, right.data, right.len);
		if (i == 3)
			text_add(&other, "more");
		if (i == 4)
			text_truncate(&other, right.len - 1);
		if (i == 5)
			add_note(&other, 2, 20, true);
		if (i == 6)
			add_note(&other, 1, 30, true);
		expect_eq(file_replace(directory, EPOCHS_NAME, other.data, other.len, 0600, NULL),
			  0);
		expect_eq(read_row(directory, &row), -EBADMSG);
		expect_eq(add_epoch(directory, 9, 90, true), -EBADMSG);
	}
	expect_eq(file_replace(directory, EPOCHS_NAME, right.data, right.len, 0600, NULL), 0);
	expect_eq(read_row(directory, &row), 0);
	(void)close(directory);
}

static void a_link_in_its_place_is_refused(void)
{
	_cleanup_log_place_ struct log_place place;
	int directory = directory_made(&place);
	struct row row;

	expect_eq(add_epoch(directory, 0, 10, true), 0);
	expect_eq(renameat(directory, EPOCHS_NAME, directory, "elsewhere"), 0);
	expect_eq(symlinkat("elsewhere", directory, EPOCHS_NAME), 0);
	expect(read_row(directory, &row) < 0);
	expect_eq(row.n, 0);
	(void)close(directory);
}

static void a_fifo_in_its_place_is_refused(void)
{
	_cleanup_log_place_ struct log_place place;
	int directory = directory_made(&place);
	struct row row;

	expect_eq(mkfifoat(directory, EPOCHS_NAME, 0600), 0);
	expect_eq(read_row(directory, &row), -EBADMSG);
	expect_eq(add_epoch(directory, 0, 10, true), -EBADMSG);
	(void)close(directory);
}

static void a_note_that_may_go_on_is_waited_for(void)
{
	_cleanup_text_ struct text notes = TEXT_INIT;
	size_t n;

	add_note(&notes, 0, 10, true);
	n = notes.len;
	add_note(&notes, 1, 20, true);
	expect_eq(notes_next(notes.data, notes.len, true), n);
	expect_eq(notes_next(notes.data, n, true), n);
	for (size_t i = 0; i < n + 4; i++)
		expect_eq(notes_next(notes.data, i, false), 0);
	expect_eq(notes_next(notes.data, n + 4, false), n);
	expect_eq(notes_next("", 0, true), 0);
}

static const struct test tests[] = {
	TEST(without_a_file_there_are_none),
	TEST(notes_come_in_the_order_in_which_they_were_added),
	TEST(an_epoch_is_added_once),
	TEST(an_epoch_that_was_lost_comes_back_to_its_place),
	TEST(refuses_an_epoch_out_of_order),
	TEST(exactly_that_note_is_there),
	TEST(a_checkpoint_in_the_middle_of_an_epoch_is_refused),
	TEST(another_content_is_refused),
	TEST(a_link_in_its_place_is_refused),
	TEST(a_fifo_in_its_place_is_refused),
	TEST(a_note_that_may_go_on_is_waited_for),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
