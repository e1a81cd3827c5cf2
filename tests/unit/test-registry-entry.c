/* SPDX-License-Identifier: MIT */

#include "registry/registry.h"

#include "registry-rig.h"

#include <limits.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "registry/registry-internal.h"

static const char *const argv[] = { "/bin/sh", "-c", "echo \"a\n\" \xff", "", NULL };

static struct sandbox_entry full_entry(void)
{
	return (struct sandbox_entry){
		.id = "full",
		.state = SANDBOX_STOPPING,
		.supervisor = 4711,
		.supervisor_start = UINT64_MAX,
		.init = INT_MAX,
		.init_start = 1,
		.cgroup = "/sys/fs/cgroup/sbx-full",
		.unit = "sbx-full.scope",
		.argv = argv,
		.cwd = "/srv/with \"quotes\"",
		.policy = "p.yaml",
		.policy_digest = "00ff",
		.policy_rules = 3,
		.audit = "spool",
		.template = "code-executor",
		.tier = "full",
		.network = { .mode = "proxy", .proxy = "own", .port = 8080 },
		.out_directory = "/srv/out",
		.out_work = "/srv/.out.sbx-work-1",
		.out_layer = "/srv/.out.sbx-layer-1",
		.uid = 2000004711,
		.created_usec = 1767225600000000,
		.may_exec = true,
		.has_status = true,
		.status = 255,
		.reason = "exit",
	};
}

static int write_and_read(struct rig *rig, const struct sandbox_entry *entry,
			  struct sandbox_entry *ret)
{
	_cleanup_registration_ struct registration made = REGISTRATION_INIT;
	bool is_alive = false;
	int r = registration_create(rig->registry, entry->id, &made, &rig->err);

	*ret = (struct sandbox_entry){ .id = NULL };
	if (r == 0)
		r = registration_write(&made, entry, &rig->err);
	if (r == 0)
		r = registry_read(rig->registry, entry->id, &rig->arena, ret, &is_alive, &rig->err);
	expect(is_alive);
	return r;
}

static void what_is_written_is_read_back(void)
{
	struct sandbox_entry want = full_entry(), got;
	RIG;

	expect_eq(write_and_read(&rig, &want, &got), 0);
	expect_str(got.id, want.id);
	expect_eq(got.state, want.state);
	expect_eq(got.supervisor, want.supervisor);
	expect(got.supervisor_start == want.supervisor_start);
	expect_eq(got.init, want.init);
	expect_eq(got.init_start, want.init_start);
	expect_str(got.cgroup, want.cgroup);
	expect_str(got.unit, want.unit);
	expect_str(got.cwd, want.cwd);
	expect_str(got.policy, want.policy);
	expect_str(got.policy_digest, want.policy_digest);
	expect_str(got.network.mode, want.network.mode);
	expect_str(got.network.proxy, want.network.proxy);
	expect_eq(got.network.port, want.network.port);
	expect_eq(got.policy_rules, want.policy_rules);
	expect_str(got.audit, want.audit);
	expect_str(got.template, want.template);
	expect_str(got.tier, want.tier);
	expect_str(got.out_directory, want.out_directory);
	expect_str(got.out_work, want.out_work);
	expect_str(got.out_layer, want.out_layer);
	expect_eq(got.uid, want.uid);
	expect_eq(got.created_usec, want.created_usec);
	expect(got.may_exec && got.has_status && !got.is_paused);
	expect_eq(got.status, want.status);
	expect_str(got.reason, want.reason);
}

static void an_older_name_of_a_member_is_read(void)
{
	static const char old[] = "{\"id\": \"a\", \"state\": \"RUNNING\", "
				  "\"out_folder\": \"/srv/out\"}";
	static const char both[] = "{\"id\": \"a\", \"state\": \"RUNNING\", "
				   "\"out_folder\": \"/x\", \"out_directory\": \"/y\"}";
	_cleanup_(arena_deinit) struct arena arena = ARENA_INIT;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct sandbox_entry got;

	expect_eq(entry_read_state("a", old, strlen(old), &arena, &got, NULL), 0);
	expect_str(got.out_directory, "/srv/out");
	entry_add_state(&text, &got);
	expect(strstr(text_string(&text), "\"out_directory\":\"/srv/out\"") &&
	       !strstr(text_string(&text), "out_folder"));
	expect_eq(entry_read_state("a", both, strlen(both), &arena, &got, NULL), 0);
	expect_str(got.out_directory, "/y");
}

static void arguments_are_read_back_as_text(void)
{
	struct sandbox_entry want = full_entry(), got;
	RIG;

	expect_eq(write_and_read(&rig, &want, &got), 0);
	expect(got.argv);
	if (!got.argv)
		return;
	expect_str(got.argv[0], argv[0]);
	expect_str(got.argv[2], "echo \"a\n\" \xef\xbf\xbd");
	expect_str(got.argv[3], "");
	expect(!got.argv[4]);
}

static void what_is_not_known_is_read_back_as_not_known(void)
{
	struct sandbox_entry want = rig_entry("bare"), got;
	RIG;

	expect_eq(write_and_read(&rig, &want, &got), 0);
	expect(!got.cgroup && !got.argv && !got.policy && !got.reason);
	expect(!got.has_status && !got.may_exec);
	expect_eq(got.init, 0);
}

static void a_long_command_is_cut(void)
{
	static char word[100000];
	const char *const words[] = { word, "second", NULL };
	struct sandbox_entry want = rig_entry("long"), got;
	RIG;

	memset(word, '\n', sizeof(word) - 1);
	want.argv = words;
	expect_eq(write_and_read(&rig, &want, &got), 0);
	expect(got.argv);
	if (!got.argv)
		return;
	expect_eq(strlen(got.argv[0]), 16384);
	expect_str(got.argv[1], "...");
	expect(!got.argv[2]);
}

static void a_sandbox_without_a_state_is_being_created(void)
{
	struct sandbox_entry got;
	bool is_alive = true;
	RIG;

	expect_eq(mkdirat(rig.registry, "new", 0700), 0);
	expect_eq(registry_read(rig.registry, "new", &rig.arena, &got, &is_alive, &rig.err), 0);
	expect_eq(got.state, SANDBOX_CREATING);
	expect_str(got.id, "new");
	expect(!is_alive);
}

static void the_file_paused_says_that_it_is_paused(void)
{
	struct sandbox_entry want = rig_entry("p"), got;
	bool is_alive;
	RIG;

	expect_eq(write_and_read(&rig, &want, &got), 0);
	expect(!got.is_paused);
	rig_put(rig.registry, "p/" SANDBOX_PAUSED_NAME, "");
	expect_eq(registry_read(rig.registry, "p", &rig.arena, &got, &is_alive, &rig.err), 0);
	expect(got.is_paused);
}

static int read_text(struct rig *rig, const char *text, struct sandbox_entry *ret)
{
	bool is_alive;

	*ret = (struct sandbox_entry){ .id = NULL };
	(void)mkdirat(rig->registry, "t", 0700);
	rig_put(rig->registry, "t/state.json", text);
	return registry_read(rig->registry, "t", &rig->arena, ret, &is_alive, &rig->err);
}

static void passes_over_members_of_a_newer_release(void)
{
	struct sandbox_entry got;
	RIG;

	expect_eq(read_text(&rig,
			    "{\"id\":\"t\",\"colour\":[1,{}],\"state\":\"RUNNING\",\"init\":null}",
			    &got),
		  0);
	expect_eq(got.state, SANDBOX_RUNNING);
}

static void refuses_a_state_that_it_cannot_understand(void)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"{}",
		"{\"id\":\"t\"}",
		"{\"id\":\"t\",\"state\":\"ALIVE\"}",
		"{\"id\":\"t\",\"state\":3}",
		"{\"id\":\"other\",\"state\":\"RUNNING\"}",
		"{\"state\":\"RUNNING\"}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"init\":-1}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"init\":2147483648}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"init\":\"1\"}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"init\":1.5}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"uid\":4294967295}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"init_start\":18446744073709551616}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"status\":256}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"may_exec\":1}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"argv\":\"sh\"}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"argv\":[1]}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"cgroup\":[]}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"network\":\"proxy\"}",
		"{\"id\":\"t\",\"state\":\"RUNNING\",\"network\":{\"port\":65536}}",
		"{\"id\":\"t\",\"state\":\"RUNNING\"",
		"{\"id\":\"t\",\"id\":\"t\",\"state\":\"RUNNING\"}",
	};
	struct sandbox_entry got;
	RIG;

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		expect_eq(read_text(&rig, texts[i], &got), -EBADMSG);
		expect(strstr(rig.err.what, "'t'"));
	}
}

static void refuses_a_state_that_is_too_long(void)
{
	_cleanup_text_ struct text long_text = TEXT_INIT;
	struct sandbox_entry got;
	RIG;

	for (int i = 0; i < 600 * 1024; i++)
		text_add_char(&long_text, ' ');
	expect_eq(read_text(&rig, text_string(&long_text), &got), -EFBIG);
}

static void shows_an_entry_as_one_line_of_json(void)
{
	struct sandbox_entry entry = full_entry();
	_cleanup_text_ struct text out = TEXT_INIT;

	sandbox_entry_add_json(&out, &entry, true);
	expect_eq(json_validate(out.data, out.len, NULL, NULL), 0);
	expect(strchr(out.data, '\n') == out.data + out.len - 1);
	expect(strstr(out.data, "\"state\":\"STOPPING\""));
	expect(strstr(out.data, "\"alive\":true"));
	expect(strstr(out.data, "\"status\":255"));
}

static const struct test tests[] = {
	TEST(what_is_written_is_read_back),
	TEST(an_older_name_of_a_member_is_read),
	TEST(arguments_are_read_back_as_text),
	TEST(what_is_not_known_is_read_back_as_not_known),
	TEST(a_long_command_is_cut),
	TEST(a_sandbox_without_a_state_is_being_created),
	TEST(the_file_paused_says_that_it_is_paused),
	TEST(passes_over_members_of_a_newer_release),
	TEST(refuses_a_state_that_it_cannot_understand),
	TEST(refuses_a_state_that_is_too_long),
	TEST(shows_an_entry_as_one_line_of_json),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
