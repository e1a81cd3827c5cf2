/* SPDX-License-Identifier: MIT */
#include "policy/compare.h"

#include "base/json.h"

#include "policy-rig.h"
#include "test.h"

#define HEAD "version: 1\ncapabilities:\n"
#define ALLOW_SRC                                                                                  \
	"  - name: src\n    match: { syscall: fs.write, path_glob: [src/**, lib/**] }\n"           \
	"    action: allow\n"
#define DENY_CI                                                                                    \
	"  - name: ci\n    match: { syscall: fs.write, path_glob: .github/** }\n    action: deny\n"

static size_t compare(const char *before, const char *after, struct text *ret, int as_json)
{
	_cleanup_rig_ struct rig old = { .policy = NULL }, new = { .policy = NULL };

	rig_load(&old, "old.yaml", before);
	rig_load(&new, "new.yaml", after);
	return policy_compare(old.policy, new.policy, ret, as_json);
}

static void expect_difference(const char *before, const char *after, const char *lines)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	size_t n_lines = 0;

	for (const char *c = lines; *c; c++)
		n_lines += *c == '\n';
	expect_eq(compare(before, after, &text, 0), n_lines);
	expect_str(text_string(&text), lines);
}

static void expect_same(const char *before, const char *after)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	expect_eq(compare(before, after, &text, 0), 0);
}

static void the_same_text_means_the_same(void)
{
	expect_difference(HEAD ALLOW_SRC DENY_CI, HEAD ALLOW_SRC DENY_CI, "");
}

static void order_and_notation_mean_nothing(void)
{
	expect_same(HEAD ALLOW_SRC,
		    "{\"version\":1,\"capabilities\":[{\"action\":\"allow\",\"name\":\"src\","
		    "\"match\":{\"path_glob\":[\"lib/**\",\"src/**\",\"lib/**\"],"
		    "\"op\":[\"fs.write\"]}}]}");
	expect_same(HEAD ALLOW_SRC "limits: { memory: 1GiB }\n",
		    HEAD ALLOW_SRC "limits: { memory: 1024MiB }\n");
}

static void a_moved_rule_is_named_but_is_no_difference(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	expect_eq(compare(HEAD ALLOW_SRC DENY_CI, HEAD DENY_CI ALLOW_SRC, &text, 0), 0);
	expect_str(text_string(&text), "= rule 'ci' (new.yaml:3) moved\n");
}

static void added_and_removed_rules_are_named(void)
{
	expect_difference(HEAD ALLOW_SRC DENY_CI, HEAD ALLOW_SRC,
			  "- rule 'ci' (old.yaml:6) removed: deny { syscall: [fs.write], path: "
			  "[\".github/**\"] }\n");
	expect_difference(HEAD ALLOW_SRC, HEAD ALLOW_SRC DENY_CI,
			  "+ rule 'ci' (new.yaml:6) added: deny { syscall: [fs.write], path: "
			  "[\".github/**\"] }\n");
}

/* A deny with an exception is not the deny of its match, and a constraint can widen: "tls: any". */
static void an_added_or_removed_rule_is_shown_with_all_its_parts(void)
{
	static const char whole[] =
		HEAD ALLOW_SRC "  - name: srv\n    match: { syscall: fs.write, path: /srv }\n"
			       "    action: deny\n    except: [{ path: /srv/a }]\n";
	static const char constrained[] =
		HEAD ALLOW_SRC "  - name: net\n    match: { syscall: net.connect, host: a.org }\n"
			       "    action: allow\n    constraints: { tls: any }\n    reason: r\n";

	expect_difference(HEAD ALLOW_SRC, whole,
			  "+ rule 'srv' (new.yaml:6) added: deny { syscall: [fs.write], path: "
			  "[\"/srv\" (literal)] }, except: [{ path: [\"/srv/a\" (literal)] }]\n");
	expect_difference(whole, HEAD ALLOW_SRC,
			  "- rule 'srv' (old.yaml:6) removed: deny { syscall: [fs.write], path: "
			  "[\"/srv\" (literal)] }, except: [{ path: [\"/srv/a\" (literal)] }]\n");
	expect_difference(HEAD ALLOW_SRC, constrained,
			  "+ rule 'net' (new.yaml:6) added: allow { syscall: [net.connect], host: "
			  "[\"a.org\"] }, constraints: { tls: any }, reason: \"r\"\n");
}

static void words_of_an_extension_are_kept_apart(void)
{
	expect_difference(HEAD ALLOW_SRC "extensions: [{ name: x, command: [/bin/x, a b] }]\n",
			  HEAD ALLOW_SRC "extensions: [{ name: x, command: [/bin/x, a, b] }]\n",
			  "~ extension 'x' changed: /bin/x 'a b' -> /bin/x a b\n");
}

static void a_change_names_the_part(void)
{
	expect_difference(HEAD DENY_CI,
			  HEAD "  - name: ci\n    match: { syscall: fs.write, path_glob: .ci/** }\n"
			       "    action: require_review\n    reason: why\n",
			  "~ rule 'ci' (new.yaml:3) changed: action: deny -> require_review\n"
			  "~ rule 'ci' (new.yaml:3) changed: match: { syscall: [fs.write], path: "
			  "[\".github/**\"] } -> { syscall: [fs.write], path: [\".ci/**\"] }\n"
			  "~ rule 'ci' (new.yaml:3) changed: reason: \"\" -> \"why\"\n");
}

static void a_literal_path_is_not_a_glob_of_the_same_text(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	expect_eq(compare(HEAD "  - { name: a, match: { syscall: fs.read, path: /a }, action: "
			       "allow }\n",
			  HEAD "  - { name: a, match: { syscall: fs.read, path_glob: /a }, action: "
			       "allow }\n",
			  &text, 0),
		  1);
}

static void exceptions_and_constraints_count(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	expect_eq(compare(HEAD DENY_CI,
			  HEAD DENY_CI "    except: [ { caller: bot } ]\n"
				       "    constraints: { require_sandbox: L2 }\n",
			  &text, 0),
		  2);
	expect(strstr(text_string(&text), "changed: except: ") != NULL);
	expect(strstr(text_string(&text), "changed: constraints: ") != NULL);
	text_reset(&text);
	expect_eq(compare(HEAD DENY_CI, HEAD DENY_CI "    constraints: { tls: any }\n", &text, 0),
		  1);
	expect(strstr(text_string(&text), "tls: any") != NULL);
}

static void defaults_settings_and_extensions_count(void)
{
	expect_difference(HEAD DENY_CI "limits: { memory: 1GiB, pids: 10 }\n",
			  HEAD DENY_CI
			  "defaults: { fs: allow }\nlimits: { memory: 2GiB, cpu: 0.5 }\n"
			  "extensions: [ { name: x, command: [/bin/x, -a] } ]\n",
			  "~ default 'fs' changed: deny -> allow\n"
			  "+ setting 'limits.cpu' added: 0.5\n"
			  "~ setting 'limits.memory' changed: 1GiB -> 2GiB\n"
			  "- setting 'limits.pids' removed: 10\n"
			  "+ extension 'x' added: /bin/x -a\n");
}

static void a_list_is_shown_by_its_length(void)
{
	expect_difference(HEAD DENY_CI, HEAD DENY_CI "devices: []\n",
			  "+ setting 'devices' added: []\n");
	expect_difference(HEAD DENY_CI "devices: []\n", HEAD DENY_CI "devices: [dri]\n",
			  "~ setting 'devices' changed: [] -> 1 item\n"
			  "+ setting 'devices[0]' added: dri\n");
	expect_difference(HEAD DENY_CI "devices: [dri, kvm]\n", HEAD DENY_CI,
			  "- setting 'devices' removed: 2 items\n"
			  "- setting 'devices[0]' removed: dri\n"
			  "- setting 'devices[1]' removed: kvm\n");
}

static void as_json_every_line_is_an_object(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	size_t n = compare(HEAD ALLOW_SRC, HEAD DENY_CI, &text, 1), n_lines = 0;
	char *rest = NULL;

	for (char *line = strtok_r(text.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest), n_lines++)
		expect_eq(json_validate(line, strlen(line), NULL, NULL), 0);
	expect_eq(n, 2);
	expect_eq(n_lines, 2);
}

struct seen {
	char kinds[64];
	size_t n;
};

static void note(const struct request_buffer *request, const struct policy_decision *before,
		 const struct policy_decision *after, enum change_kind kind, void *userdata)
{
	struct seen *seen = userdata;

	expect(before->verdict != after->verdict);
	expect(request->request.operation != NULL);
	seen->kinds[seen->n++] = "BWO"[kind];
}

static void replay_on(struct replay *replay, const char *const *lines, struct seen *seen)
{
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };

	for (; *lines; lines++)
		replay_line(replay, *lines, strlen(*lines), &buffer, note, seen);
}

static void replay_tells_breaking_from_widening(void)
{
	static const char *const lines[] = {
		"{\"op\":\"fs.write\",\"path\":\"/p/src/a\",\"project\":\"/p\"}",
		"{\"op\":\"fs.write\",\"path\":\"/p/doc/a\",\"project\":\"/p\"}",
		"{\"op\":\"fs.write\",\"path\":\"/p/x\",\"project\":\"/p\"}",
		"{\"op\":\"fs.write\",\"path\":\"/p/.ci\",\"project\":\"/p\"}",
		NULL,
	};
	_cleanup_rig_ struct rig old = { .policy = NULL }, new = { .policy = NULL };
	struct seen seen = { .n = 0 };
	struct replay replay = { .n_replayed = 0 };

	rig_open(&old, HEAD "  - { name: a, match: { syscall: fs.write, path_glob: src/** }, "
			    "action: allow }\n"
			    "  - { name: c, match: { syscall: fs.write, path_glob: .ci }, "
			    "action: require_review }\n");
	rig_open(&new, HEAD "  - { name: b, match: { syscall: fs.write, path_glob: doc/** }, "
			    "action: warn }\n");
	replay.before = old.engine;
	replay.after = new.engine;
	replay_on(&replay, lines, &seen);
	expect_str(seen.kinds, "BWO");
	expect_eq(replay.n_replayed, 4);
	expect_eq(replay.n_changed, 3);
	expect_eq(replay.n_breaking, 1);
	expect_eq(replay.n_widening, 1);
	expect_eq(replay.n_unreadable, 0);
}

static void replay_reads_recorded_decisions(void)
{
	_cleanup_rig_ struct rig old = { .policy = NULL }, new = { .policy = NULL };
	struct seen seen = { .n = 0 };
	struct replay replay = { .n_replayed = 0 };
	const char *lines[2] = { NULL };

	rig_open(&old, HEAD ALLOW_SRC);
	rig_open(&new, HEAD DENY_CI);
	lines[0] = rig_json(&old, "fs.write /p/src/a.c project=/p");
	replay.before = old.engine;
	replay.after = new.engine;
	replay_on(&replay, lines, &seen);
	expect_str(seen.kinds, "B");
}

static void a_line_without_input_is_counted_and_not_guessed(void)
{
	static const char *const lines[] = {
		"",
		"not json",
		"{}",
		"{\"event\":\"start\"}",
		"{\"input\":null}",
		"{\"input\":{\"op\":\"fs.read\"},\"input\":{\"op\":\"fs.write\"}}",
		"{\"input\":{\"op\":\"fs.read\"}} x",
		"[{\"op\":\"fs.read\"}]",
		NULL,
	};
	_cleanup_rig_ struct rig old = { .policy = NULL };
	struct seen seen = { .n = 0 };
	struct replay replay = { .n_replayed = 0 };

	rig_open(&old, HEAD ALLOW_SRC);
	replay.before = old.engine;
	replay.after = old.engine;
	replay_on(&replay, lines, &seen);
	expect_eq(replay.n_unreadable, 8);
	expect_eq(replay.n_replayed, 0);
	expect_eq(seen.n, 0);
}

static void the_view_of_the_dialect_counts(void)
{
	static const char sections[] = "version: 1\nlimits: {pids: 5}\nplugins: {seccomp: true}\n";
	static const char said[] = "view: project\nlimits: {pids: 5}\nplugins: {seccomp: true}\n"
				   "version: 1\n";
	static const char none[] = "version: 1\nview: none\nlimits: {pids: 5}\n"
				   "plugins: {seccomp: true}\n";

	expect_difference(sections, said, "");
	expect_difference(sections, none, "~ setting 'view' changed: project -> none\n");
	expect_difference(none, sections, "~ setting 'view' changed: none -> project\n");
}

static const struct test tests[] = {
	TEST(the_same_text_means_the_same),
	TEST(order_and_notation_mean_nothing),
	TEST(a_moved_rule_is_named_but_is_no_difference),
	TEST(added_and_removed_rules_are_named),
	TEST(an_added_or_removed_rule_is_shown_with_all_its_parts),
	TEST(words_of_an_extension_are_kept_apart),
	TEST(a_change_names_the_part),
	TEST(a_literal_path_is_not_a_glob_of_the_same_text),
	TEST(exceptions_and_constraints_count),
	TEST(defaults_settings_and_extensions_count),
	TEST(a_list_is_shown_by_its_length),
	TEST(the_view_of_the_dialect_counts),
	TEST(as_json_every_line_is_an_object),
	TEST(replay_tells_breaking_from_widening),
	TEST(replay_reads_recorded_decisions),
	TEST(a_line_without_input_is_counted_and_not_guessed),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
