/* SPDX-License-Identifier: MIT */

#include "audit/archive.h"

#include "audit-archive-rig.h"
#include "count-alloc.h"

#define OTHER "99999.tar.zst"
#define MIB (1024 * 1024)
#define HOLE_SIZE ((off_t)1 << 40)

/* A log whose second segment is an archive, in whose directory tests create another archive. */
struct place {
	struct log_place log;
	int directory;
	char name[SEGMENT_FILE_SIZE]; /* of the archive */
	struct unpacked unpacked;
};

static void place_init(struct place *place)
{
	struct segment_list list;
	struct audit_log *log = log_of_segments(&place->log, 3);

	archive_all(log);
	(void)audit_log_free(log);
	place->directory = directory_of(&place->log);
	expect_eq(segment_list(place->directory, &list), 0);
	expect_eq(list.n, 4);
	(void)snprintf(place->name, sizeof(place->name), "%s", list.files[1].name);
	segment_list_deinit(&list);
	unpack(place->directory, place->name, &place->unpacked);
}

static void place_deinit(struct place *place)
{
	unpacked_deinit(&place->unpacked);
	(void)close(place->directory);
	log_place_deinit(&place->log);
}

/* The three members of our archive, for a test to change. */
static void members_of(const struct place *place, struct member ret[3])
{
	static const char *const names[] = { "segment.json", "checkpoints", "records.jsonl" };

	for (size_t i = 0; i < 3; i++)
		ret[i] = (struct member){ .name = names[i],
					  .bytes = place->unpacked.members[i].data,
					  .n_bytes = place->unpacked.members[i].len };
}

static int read_other(const struct place *place)
{
	struct sbx_error err = { .code = 0 };
	struct seen seen;
	int r = see(place->directory, OTHER, SEGMENT_ARCHIVE, &seen, &err);

	text_deinit(&seen.all);
	expect_eq(r, err.code);
	expect(r == 0 || err.why[0] != '\0');
	return r;
}

static int read_members(const struct place *place, const struct member *members, size_t n)
{
	pack(place->directory, OTHER, "zstd", members, n);
	return read_other(place);
}

/* ---- our archives ---- */

static void an_archive_holds_what_the_segment_held(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log = log_of_segments(&place, 2);
	int directory = directory_of(&place);
	struct seen before[2], after[2];
	struct segment_list list;

	expect_eq(segment_list(directory, &list), 0);
	for (size_t i = 0; i < 2; i++)
		expect_eq(see(directory, list.files[i].name, SEGMENT_STORE, &before[i], NULL), 0);
	segment_list_deinit(&list);
	archive_all(log);
	expect_eq(segment_list(directory, &list), 0);
	expect_eq(list.n, 3);
	for (size_t i = 0; i < 2; i++) {
		expect_eq(list.files[i].kind, SEGMENT_ARCHIVE);
		expect_eq(see(directory, list.files[i].name, SEGMENT_ARCHIVE, &after[i], NULL), 0);
		expect_eq(after[i].n_rows, i == 0 ? 11 : 10);
		expect_eq(after[i].n_notes, 3);
		expect_eq(after[i].all.len, before[i].all.len);
		expect(memcmp(after[i].all.data, before[i].all.data, after[i].all.len) == 0);
		text_deinit(&before[i].all);
		text_deinit(&after[i].all);
	}
	segment_list_deinit(&list);
	(void)close(directory);
	(void)audit_log_free(log);
}

static void its_members_have_the_form_that_the_page_describes(void)
{
	_cleanup_(place_deinit) struct place place;
	const char *about, *records;

	place_init(&place);
	about = text_string(&place.unpacked.members[0]);
	records = text_string(&place.unpacked.members[2]);
	expect(strncmp(about, "{\"format\":1,\"log\":\"", 19) == 0);
	expect(strstr(about, "\",\"first\":11,\"size\":21,\"previous\":\"") != NULL);
	expect(strstr(about, "\"frontier\":[\"") != NULL);
	expect(strstr(text_string(&place.unpacked.members[1]), "\n21\n") != NULL);
	expect(strncmp(records, "{\"seq\":11,\"hash\":\"", 18) == 0);
	expect(strstr(records, "\",\"record\":{\"time\":") != NULL);
}

static void an_equivalent_archive_of_another_program_is_read(void)
{
	_cleanup_(place_deinit) struct place place;
	struct member members[3];

	place_init(&place);
	members_of(&place, members);
	expect_eq(read_members(&place, members, 3), 0);
}

static void rows_can_be_read_in_part(void)
{
	_cleanup_(place_deinit) struct place place;
	struct audit_archive *archive = NULL;
	struct seen seen = { .n_rows = 0 };

	place_init(&place);
	expect_eq(audit_archive_open(place.directory, place.name, &archive, NULL), 0);
	expect_eq(audit_archive_each(archive, 13, 15, see_row, &seen, NULL), 0);
	expect_eq(seen.n_rows, 3);
	expect_eq(audit_archive_each(archive, 0, 10, see_row, &seen, NULL), 0);
	expect_eq(audit_archive_each(archive, 21, UINT64_MAX, see_row, &seen, NULL), 0);
	expect_eq(seen.n_rows, 3);
	text_deinit(&seen.all);
	(void)audit_archive_free(archive);
}

static int keep_size(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	*(uint64_t *)userdata = size;
	return 1;
}

static void a_note_comes_again_where_it_is_asked_for_again(void)
{
	_cleanup_(place_deinit) struct place place;
	struct audit_archive *archive = NULL;
	static const struct {
		uint64_t from, size;
	} steps[] = { { 0, 11 }, { 0, 11 },  { 12, 16 }, { 12, 16 }, { 17, 21 },
		      { 22, 0 }, { 21, 21 }, { 0, 11 },	 { 16, 16 }, { 99, 0 } };

	place_init(&place);
	expect_eq(audit_archive_open(place.directory, place.name, &archive, NULL), 0);
	for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
		uint64_t size = 0;

		expect_eq(audit_archive_each_checkpoint(archive, steps[i].from, keep_size, &size,
							NULL),
			  steps[i].size > 0);
		expect_eq(size, steps[i].size);
	}
	(void)audit_archive_free(archive);
}

static void the_digest_is_that_of_the_file(void)
{
	_cleanup_(place_deinit) struct place place;
	_cleanup_free_ char *bytes = NULL;
	struct audit_archive *archive = NULL;
	struct audit_hash digest, expected;
	struct iovec part;

	place_init(&place);
	expect_eq(audit_archive_open(place.directory, place.name, &archive, NULL), 0);
	expect_eq(audit_archive_digest(archive, &digest, NULL), 0);
	(void)audit_archive_free(archive);
	expect_eq(file_read(place.directory, place.name, MIB, &bytes, &part.iov_len, NULL), 0);
	part.iov_base = bytes;
	expect_eq(audit_hash_digest(&part, 1, &expected), 0);
	expect(audit_hash_equal(&digest, &expected));
}

/* ---- archives of others ---- */

/* No fsync(). */
static void put(int directory, const char *bytes, size_t n)
{
	int fd = openat(directory, OTHER, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	expect_eq(write(fd, bytes, n), n);
	(void)close(fd);
}

static void refuses_an_archive_that_ends_too_early(void)
{
	_cleanup_(place_deinit) struct place place;
	_cleanup_free_ char *bytes = NULL;
	size_t n, step;

	place_init(&place);
	expect_eq(file_read(place.directory, place.name, MIB, &bytes, &n, NULL), 0);
	step = test_is_slow() ? 1 : 7;
	for (size_t cut = n - 1; cut > step; cut -= step) {
		put(place.directory, bytes, cut);
		expect_eq(read_other(&place), -EBADMSG);
	}
}

/* Decompressors continue with a second frame, and the reader would ignore what it contains. */
static void refuses_what_stands_behind_its_end(void)
{
	static const char empty_frame[] = "\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00";
	static const char skipped_frame[] = "\x50\x2a\x4d\x18\x01\x00\x00\x00x";
	_cleanup_(place_deinit) struct place place;
	_cleanup_free_ char *bytes = NULL;
	size_t n;

	place_init(&place);
	expect_eq(file_read(place.directory, place.name, MIB, &bytes, &n, NULL), 0);
	for (unsigned i = 0; i < 5; i++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		text_add_bytes(&text, bytes, n);
		if (i == 1)
			text_add_bytes(&text, bytes, n);
		if (i == 2)
			text_add_bytes(&text, empty_frame, sizeof(empty_frame) - 1);
		if (i == 3)
			text_add_bytes(&text, skipped_frame, sizeof(skipped_frame) - 1);
		if (i == 4)
			text_add_char(&text, '\0');
		put(place.directory, text.data, text.len);
		expect_eq(read_other(&place), i == 0 ? 0 : -EBADMSG);
	}
	put(place.directory, skipped_frame, sizeof(skipped_frame) - 1);
	expect_eq(read_other(&place), -EBADMSG);
}

static void flip(char *bytes, size_t bit)
{
	((uint8_t *)bytes)[bit / 8] ^= (uint8_t)(1U << bit % 8);
}

/* A flipped bit is either refused, or the archive still has the same records. */
static void a_bit_that_is_changed_is_found_or_changes_nothing(void)
{
	_cleanup_(place_deinit) struct place place;
	_cleanup_free_ char *bytes = NULL;
	struct seen right, seen;
	unsigned n_same = 0;
	size_t n, step;

	place_init(&place);
	expect_eq(see(place.directory, place.name, SEGMENT_ARCHIVE, &right, NULL), 0);
	expect_eq(file_read(place.directory, place.name, MIB, &bytes, &n, NULL), 0);
	step = test_is_slow() ? 1 : 31;
	for (size_t bit = 0; bit < 8 * n; bit += step) {
		int r;

		flip(bytes, bit);
		put(place.directory, bytes, n);
		r = see(place.directory, OTHER, SEGMENT_ARCHIVE, &seen, NULL);
		expect(r == 0 || r == -EBADMSG || r == -ENOTSUP);
		n_same += r == 0 && seen.all.len == right.all.len &&
			  memcmp(seen.all.data, right.all.data, right.all.len) == 0;
		text_deinit(&seen.all);
		flip(bytes, bit);
	}
	expect(n_same < 8 * n / step / 10);
	text_deinit(&right.all);
}

static void refuses_members_that_are_not_the_three(void)
{
	_cleanup_(place_deinit) struct place place;
	struct member members[4], some[4];

	place_init(&place);
	members_of(&place, members);
	members[3] = (struct member){ .name = "more", .bytes = "x", .n_bytes = 1 };
	expect_eq(read_members(&place, members, 4), -EBADMSG);
	expect_eq(read_members(&place, members, 2), -EBADMSG);
	expect_eq(read_members(&place, members, 0), -EBADMSG);
	memcpy(some, (struct member[]){ members[0], members[2], members[1] }, 3 * sizeof(*some));
	expect_eq(read_members(&place, some, 3), -EBADMSG);
	memcpy(some, (struct member[]){ members[3], members[0], members[1], members[2] },
	       sizeof(some));
	expect_eq(read_members(&place, some, 4), -EBADMSG);
	memcpy(some, (struct member[]){ members[0], members[0], members[1], members[2] },
	       sizeof(some));
	expect_eq(read_members(&place, some, 4), -EBADMSG);
	for (size_t i = 0; i < 3; i++) {
		char name[32];

		members_of(&place, members);
		(void)snprintf(name, sizeof(name), "./%s", members[i].name);
		members[i].name = name;
		expect_eq(read_members(&place, members, 3), -EBADMSG);
	}
}

static void refuses_a_member_that_is_no_plain_file(void)
{
	static const mode_t modes[] = { S_IFLNK | 0600, S_IFDIR | 0600, S_IFCHR | 0600,
					S_IFIFO | 0600, S_IFREG | 0644, S_IFREG | 04600 };
	_cleanup_(place_deinit) struct place place;
	struct member members[3];

	place_init(&place);
	for (size_t i = 0; i < 3 * N_ELEMENTS(modes); i++) {
		members_of(&place, members);
		members[i % 3].mode = modes[i / 3];
		if (!S_ISREG(modes[i / 3]))
			members[i % 3].n_bytes = 0;
		expect_eq(read_members(&place, members, 3), -EBADMSG);
	}
}

static void refuses_what_is_not_packed_with_zstd(void)
{
	static const char *const filters[] = { "none", "gzip", "xz" };
	_cleanup_(place_deinit) struct place place;
	struct member members[3];

	place_init(&place);
	members_of(&place, members);
	for (size_t i = 0; i < N_ELEMENTS(filters); i++) {
		pack(place.directory, OTHER, filters[i], members, 3);
		expect_eq(read_other(&place), -EBADMSG);
	}
}

/* Replaces @from in member number @i by @to and reads the archive. */
static int read_changed(const struct place *place, size_t i, const char *from, const char *to)
{
	_cleanup_text_ struct text changed = TEXT_INIT;
	const struct text *text = &place->unpacked.members[i];
	const char *at = memmem(text->data, text->len, from, strlen(from));
	struct member members[3];

	expect(at != NULL);
	if (!at)
		return 1;
	text_add_bytes(&changed, text->data, (size_t)(at - text->data));
	text_add(&changed, to);
	at += strlen(from);
	text_add_bytes(&changed, at, (size_t)(text->data + text->len - at));
	members_of(place, members);
	members[i].bytes = text_string(&changed);
	members[i].n_bytes = changed.len;
	return read_members(place, members, 3);
}

static void refuses_another_spelling_of_what_it_is(void)
{
	static const char *const changes[][2] = {
		{ "{\"format\":1,", "{ \"format\":1," },
		{ "\"format\":1,", "\"format\":01," },
		{ "\"format\":1,", "\"format\":0," },
		{ "\"format\":1,", "\"version\":1," },
		{ "\"first\":11,", "\"first\":12," },
		{ "\"first\":11,", "\"first\":-11," },
		{ "\"size\":21,", "\"size\":11," },
		{ "\"size\":21,", "\"size\":5," },
		{ "\"size\":21,", "\"size\":9223372036854775808," },
		{ "\"size\":21,", "\"size\":9223372036854775807," },
		{ "\"previous\":\"", "\"previous\":\"A" },
		{ "\"frontier\":[", "\"frontier\":[\"\"," },
		{ "]}\n", "]}" },
		{ "]}\n", "]}\n\n" },
		{ "]}\n", "],\"more\":1}\n" },
	};
	_cleanup_(place_deinit) struct place place;

	place_init(&place);
	for (size_t i = 0; i < N_ELEMENTS(changes); i++)
		expect_eq(read_changed(&place, 0, changes[i][0], changes[i][1]), -EBADMSG);
	expect_eq(read_changed(&place, 0, "\"format\":1,", "\"format\":2,"), -ENOTSUP);
}

static void refuses_lines_that_no_writer_makes(void)
{
	static const char *const changes[][2] = {
		{ "{\"seq\":12,", "{\"seq\":13," },
		{ "{\"seq\":12,", "{\"seq\":012," },
		{ "{\"seq\":12,", "{ \"seq\":12," },
		{ "{\"seq\":12,\"hash\":\"", "{\"seq\":12,\"hash\":\"=" },
		{ "\"record\":", "\"other\":" },
		{ "}}\n", "}\n" },
		{ "}}\n", "}} \n" },
		{ "}}\n", "}}\n\n" },
		{ "{\"seq\":11,", "\n{\"seq\":11," },
	};
	_cleanup_(place_deinit) struct place place;
	struct member members[3];

	place_init(&place);
	/* "}}" shortened to "}" is a truncated record, which only the hash chain detects. */
	for (size_t i = 0; i < N_ELEMENTS(changes); i++)
		if (i != 5)
			expect_eq(read_changed(&place, 2, changes[i][0], changes[i][1]), -EBADMSG);
	members_of(&place, members);
	members[2].n_bytes--;
	expect_eq(read_members(&place, members, 3), -EBADMSG);
	members[2].n_bytes = 0;
	expect_eq(read_members(&place, members, 3), -EBADMSG);
}

static void refuses_notes_that_are_none(void)
{
	static const char *const changes[][2] = {
		{ "\n16\n", "\n11\n" }, { "\n16\n", "\n0\n" },	   { "\n\n", "\n" },
		{ "\n\n", "\n\n\n" },	{ "epoch 0", "epoch 00" }, { "\xe2\x80\x94 ", "- " },
	};
	_cleanup_(place_deinit) struct place place;
	struct member members[3];

	place_init(&place);
	for (size_t i = 0; i < N_ELEMENTS(changes); i++)
		expect_eq(read_changed(&place, 1, changes[i][0], changes[i][1]), -EBADMSG);
	members_of(&place, members);
	members[1].n_bytes--;
	expect_eq(read_members(&place, members, 3), -EBADMSG);
}

/* ---- bombs ---- */

/* Counts the reader's allocations; resident memory would also depend on the kernel and the packer.
 */
static void a_member_of_zeros_is_not_unpacked_to_its_end(void)
{
	const size_t n_zeros = (size_t)200 * MIB;
	_cleanup_(place_deinit) struct place place;
	_cleanup_free_ char *zeros = NULL;
	struct member members[3];

	place_init(&place);
	if (!count_alloc_works())
		skip("the heap belongs to a sanitizer");
	zeros = zeroed(n_zeros, 1);
	for (size_t i = 0; i < 3; i++) {
		members_of(&place, members);
		members[i].bytes = zeros;
		members[i].n_bytes = n_zeros;
		pack(place.directory, OTHER, "zstd", members, 3);
		count_alloc_start();
		expect_eq(read_other(&place), -EBADMSG);
		expect(count_alloc_stop() > 0);
		expect(count_alloc_bytes() < n_zeros / 4);
	}
}

static void more_records_than_the_file_has_room_for_are_refused_at_once(void)
{
	_cleanup_(place_deinit) struct place place;
	struct sbx_error err = { .code = 0 };
	struct audit_archive *archive = NULL;

	place_init(&place);
	expect_eq(read_changed(&place, 0, "\"size\":21,", "\"size\":100021,"), -EBADMSG);
	expect_eq(audit_archive_open(place.directory, OTHER, &archive, &err), -EBADMSG);
	expect_str(err.why, "it names more records than its size allows");
}

static void a_line_without_an_end_is_refused(void)
{
	_cleanup_(place_deinit) struct place place;
	_cleanup_text_ struct text line = TEXT_INIT;
	struct member members[3];

	place_init(&place);
	members_of(&place, members);
	text_add_bytes(&line, members[2].bytes, 90);
	for (size_t i = 0; i < MIB; i++)
		text_add_char(&line, 'a');
	members[2].bytes = text_string(&line);
	members[2].n_bytes = line.len;
	expect_eq(read_members(&place, members, 3), -EBADMSG);
}

/* Bytes that this process has read from files. */
static uint64_t bytes_read(void)
{
	_cleanup_free_ char *text = NULL;
	const char *at;
	size_t n;

	if (file_read(AT_FDCWD, "/proc/self/io", 4096, &text, &n, NULL) < 0)
		return 0;
	at = strstr(text, "rchar: ");
	return at ? strtoull(at + strlen("rchar: "), NULL, 10) : 0;
}

/* A sparse file of 1 TiB with @n data bytes must be refused without reading the hole. */
static void expect_hole_refused(const struct place *place, const char *bytes, size_t n)
{
	struct audit_archive *archive = NULL;
	struct sbx_error err = { .code = 0 };
	uint64_t before = bytes_read();
	int fd;

	put(place->directory, bytes, n);
	fd = openat(place->directory, OTHER, O_WRONLY | O_CLOEXEC);
	expect_eq(ftruncate(fd, HOLE_SIZE), 0);
	(void)close(fd);
	expect_eq(audit_archive_open(place->directory, OTHER, &archive, &err), -EBADMSG);
	expect(err.why[0] != '\0');
	(void)audit_archive_free(archive);
	expect(bytes_read() - before < MIB);
}

static void a_hole_is_not_read_through(void)
{
	/* A frame without a content size; then one with a block above the maximum size. */
	static const char begin[] = "\x28\xb5\x2f\xfd\x00\x58";
	static const char wide[] = "\x28\xb5\x2f\xfd\x00\x58\xf8\xff\xff";
	/* A skippable frame, which decompressors ignore. */
	static const char skipped[] = "\x50\x2a\x4d\x18\xff\xff\xff\xff";
	_cleanup_(place_deinit) struct place place;
	_cleanup_free_ char *bytes = NULL;
	size_t n;

	place_init(&place);
	if (bytes_read() == 0)
		skip("this kernel does not count what is read");
	expect_hole_refused(&place, "", 0);
	expect_hole_refused(&place, begin, sizeof(begin) - 1);
	expect_hole_refused(&place, wide, sizeof(wide) - 1);
	expect_hole_refused(&place, skipped, sizeof(skipped) - 1);
	expect_eq(file_read(place.directory, place.name, MIB, &bytes, &n, NULL), 0);
	expect_hole_refused(&place, bytes, n);
	for (size_t cut = 8; cut < n; cut += n / 8)
		expect_hole_refused(&place, bytes, cut);
}

/* Bytes that another process appends later are not part of the archive. */
static void the_digest_ends_where_the_file_ended(void)
{
	_cleanup_(place_deinit) struct place place;
	struct audit_archive *archive = NULL;
	struct audit_hash before, after;
	uint64_t n_read;
	int fd;

	place_init(&place);
	if (bytes_read() == 0)
		skip("this kernel does not count what is read");
	expect_eq(audit_archive_open(place.directory, place.name, &archive, NULL), 0);
	expect_eq(audit_archive_digest(archive, &before, NULL), 0);
	fd = openat(place.directory, place.name, O_WRONLY | O_CLOEXEC);
	expect_eq(ftruncate(fd, HOLE_SIZE), 0);
	(void)close(fd);
	n_read = bytes_read();
	expect_eq(audit_archive_digest(archive, &after, NULL), 0);
	expect(bytes_read() - n_read < MIB);
	expect(audit_hash_equal(&before, &after));
	(void)audit_archive_free(archive);
}

static void a_link_in_its_place_is_not_followed(void)
{
	_cleanup_(place_deinit) struct place place;
	struct audit_archive *archive = NULL;

	place_init(&place);
	expect_eq(symlinkat(place.name, place.directory, OTHER), 0);
	expect(audit_archive_open(place.directory, OTHER, &archive, NULL) < 0);
	expect_eq(unlinkat(place.directory, OTHER, 0), 0);
	expect_eq(mkfifoat(place.directory, OTHER, 0600), 0);
	expect_eq(audit_archive_open(place.directory, OTHER, &archive, NULL), -EBADMSG);
}

/* ---- writing ---- */

struct broken {
	unsigned mistake;
};

static int each_wrong(void *userdata, store_visit visit, void *visitor, struct sbx_error *err)
{
	const struct broken *broken = userdata;
	struct store_row row = { .seq = 0, .body = "{}", .n_body = 2 };

	if (broken->mistake == 1)
		row.seq = 1;
	if (broken->mistake == 2)
		row.problem = "no record";
	if (broken->mistake == 3)
		row.body = "{\n";
	if (broken->mistake == 4)
		return 0;
	return visit(visitor, &row, err);
}

static int no_notes(void *userdata, store_visit_note visit, void *visitor, struct sbx_error *err)
{
	return 0;
}

static void writes_no_archive_that_could_not_be_read(void)
{
	_cleanup_log_place_ struct log_place place;
	struct broken broken = { .mistake = 0 };
	struct archive_source source = {
		.about = { .log_id = "00112233445566778899aabbccddeeff", .size = 1 },
		.each = each_wrong,
		.each_checkpoint = no_notes,
		.userdata = &broken,
	};
	int directory;

	log_place_init(&place);
	(void)audit_log_free(log_made(&place));
	directory = directory_of(&place);
	for (unsigned i = 0; i < 5; i++) {
		int fd = openat(directory, OTHER, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		broken.mistake = i;
		expect_eq(audit_archive_write(fd, OTHER, &source, NULL), i == 0 ? 0 : -EBADMSG);
		(void)close(fd);
	}
	(void)close(directory);
}

static const struct test tests[] = {
	TEST(an_archive_holds_what_the_segment_held),
	TEST(its_members_have_the_form_that_the_page_describes),
	TEST(an_equivalent_archive_of_another_program_is_read),
	TEST(rows_can_be_read_in_part),
	TEST(a_note_comes_again_where_it_is_asked_for_again),
	TEST(the_digest_is_that_of_the_file),
	TEST(refuses_an_archive_that_ends_too_early),
	TEST(refuses_what_stands_behind_its_end),
	TEST(a_bit_that_is_changed_is_found_or_changes_nothing),
	TEST(refuses_members_that_are_not_the_three),
	TEST(refuses_a_member_that_is_no_plain_file),
	TEST(refuses_what_is_not_packed_with_zstd),
	TEST(refuses_another_spelling_of_what_it_is),
	TEST(refuses_lines_that_no_writer_makes),
	TEST(refuses_notes_that_are_none),
	TEST(a_member_of_zeros_is_not_unpacked_to_its_end),
	TEST(more_records_than_the_file_has_room_for_are_refused_at_once),
	TEST(a_line_without_an_end_is_refused),
	TEST(a_hole_is_not_read_through),
	TEST(the_digest_ends_where_the_file_ended),
	TEST(a_link_in_its_place_is_not_followed),
	TEST(writes_no_archive_that_could_not_be_read),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
