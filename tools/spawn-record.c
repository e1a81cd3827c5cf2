/* SPDX-License-Identifier: MIT */

/*
 * Audit records and the registry entry of a run
 *
 * The supervisor writes sandbox_created while the sandbox is built, before the command runs; if it
 * cannot be written, nothing runs. sandbox_destroyed or sandbox_failed ends the run; if the
 * supervisor is killed before, sbx-ctl writes the latter when it cleans up. sandbox_failed alone is
 * a start that was refused. tool_execute and tool_result are the begin and end of a command of
 * 'sbx-ctl exec'.
 */

#include "spawn.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/process.h"
#include "policy/model.h"
#include "policy/request.h"
#include "tool.h"

/* Each byte needs at most six in JSON. */
#define ARGV_BYTES_MAX (RECORD_BYTES_MAX / 8)

/* Printed even with -q: the records are lost with the directory. */
static void say_fallback(const struct spawn_run *run)
{
	const char *place = run->recorder.state_directory;
	_cleanup_text_ struct text line = TEXT_INIT;

	text_add(&line, "audit records go to '");
	text_add_visible_string(&line, place);
	text_add(&line, "/" RECORD_SPOOL_DIRECTORY "', which the next boot may remove; set HOME or "
			"XDG_STATE_HOME to a directory that you can write");
	(void)spawn_say_note(run, "note: ", &line);
}

int spawn_open_spool(struct spawn_run *run, struct sbx_error *err)
{
	return run->recorder.fd >= 0 ? 0 : recorder_open_spool(&run->recorder, environ, err);
}

int spawn_open_records(struct spawn_run *run, struct sbx_error *err)
{
	int r;

	if (run->values->audit_fd >= 0) {
		recorder_use_fd(&run->recorder, run->values->audit_fd);
		return 0;
	}
	r = spawn_open_spool(run, err);
	if (r == 0 && run->recorder.is_fallback && !run->recorder.is_with_service)
		say_fallback(run);
	return r;
}

/* The digest of all words, each with its NUL. */
static void add_digest_of_argv(struct json_writer *json, char *const *argv)
{
	_cleanup_text_ struct text words = TEXT_INIT;
	uint8_t digest[DIGEST_SIZE];
	size_t n = 0;

	for (; argv[n]; n++)
		text_add_bytes(&words, argv[n], strlen(argv[n]) + 1);
	json_member_u64(json, "argv_words", n);
	if (text_status(&words) < 0)
		return;
	digest_of(words.data, words.len, digest);
	json_member_hex(json, "argv_sha256", digest, sizeof(digest));
}

/* A record has a maximum size, and a command may have 2 MiB of arguments: the first ones are
 * written, with the digest of all. */
static void add_argv(struct json_writer *json, char *const *argv)
{
	size_t left = ARGV_BYTES_MAX;
	char *const *at = argv;

	json_member_array(json, "argv");
	for (size_t len; *at && (len = strnlen(*at, left)) < left; at++, left -= len + 1)
		json_add_string(json, *at);
	json_end_array(json);
	if (*at)
		add_digest_of_argv(json, argv);
}

void spawn_add_digest(struct json_writer *json, const struct plan *plan)
{
	if (plan && plan->has_digest)
		json_member_hex(json, "policy_digest", plan->digest, sizeof(plan->digest));
	else
		json_member_string(json, "policy_digest", NULL);
}

static void add_sandbox(struct json_writer *json, const struct spawn_run *run)
{
	json_member_string(json, "sandbox_id", run->request.id);
	add_argv(json, run->request.argv);
	json_member_string(json, "tier", run->plan ? tier_name(run->plan->tier) : "none");
	plan_write_layers(json, run->plan);
	spawn_add_digest(json, run->plan);
}

int spawn_record_created(struct spawn_run *run, struct sbx_error *err)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	record_begin(&run->recorder, &record, &json, "sandbox_created", SPAWN_TOOL);
	add_sandbox(&json, run);
	json_member_u64(&json, "uid", run->plan ? run->plan->uid : getuid());
	json_member_string(&json, "policy", run->values->policy);
	json_member_string(&json, "template", run->plan ? run->plan->template : NULL);
	return record_send(&run->recorder, &record, &json, err);
}

static void add_failure(struct json_writer *json, const struct sbx_error *failure)
{
	if (!failure || !failure->what[0])
		return;
	json_member_string(json, "what", failure->what);
	json_member_string(json, "why", failure->why);
}

int spawn_record_end(struct spawn_run *run, const struct sbx_error *failure, struct sbx_error *err)
{
	bool failed = failure || (run->result.reason != SPAWN_REASON_EXIT &&
				  run->result.reason != SPAWN_REASON_SIGNAL);
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	record_begin(&run->recorder, &record, &json,
		     failed ? "sandbox_failed" : "sandbox_destroyed", SPAWN_TOOL);
	json_member_string(&json, "sandbox_id", run->request.id);
	spawn_add_result(&json, run);
	add_failure(&json, failure);
	return record_send(&run->recorder, &record, &json, err);
}

void spawn_record_refused(struct spawn_run *run, const struct sbx_error *failure)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;

	if (run->recorder.fd < 0 &&
	    (spawn_take_fds(run->tool->values, NULL) < 0 || spawn_open_records(run, NULL) < 0))
		return;
	record_begin(&run->recorder, &record, &json, "sandbox_failed", SPAWN_TOOL);
	add_sandbox(&json, run);
	json_member_string(&json, "reason", "refused");
	add_failure(&json, failure);
	(void)record_send(&run->recorder, &record, &json, NULL);
}

static void begin_visit(struct spawn_run *run, struct text *record, struct json_writer *json,
			const char *event, char *const *argv)
{
	record_begin(&run->recorder, record, json, event, SPAWN_TOOL);
	json_member_string(json, "sandbox_id", run->request.id);
	json_member_string(json, "operation", "container.run");
	json_member_string(json, "mode", "debug");
	add_argv(json, argv);
}

int spawn_record_entering(void *userdata, char *const *argv)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct spawn_run *run = userdata;
	struct json_writer json;

	begin_visit(run, &record, &json, "tool_execute", argv);
	return record_send(&run->recorder, &record, &json, NULL);
}

void spawn_record_left(void *userdata, char *const *argv, int status)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct spawn_run *run = userdata;
	struct json_writer json;

	begin_visit(run, &record, &json, "tool_result", argv);
	json_add_name(&json, "status");
	if (status >= 0)
		json_add_i64(&json, status);
	else
		json_add_null(&json);
	(void)record_send(&run->recorder, &record, &json, NULL);
}

static int listen_for_control(struct spawn_run *run)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int len;

	if (fd < 0)
		return -errno;
	/* By the fd: the path of the directory may be longer than sun_path. */
	len = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/control.sock",
		       run->registration.directory);
	if (len < 0 || (size_t)len >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 8) < 0)
		return -errno;
	run->control_socket = take_fd(&fd);
	return 0;
}

static int adopt_or_create(struct spawn_run *run, struct sbx_error *err)
{
	int r;

	if (run->request.is_registered) {
		r = registration_adopt(run->registry, run->request.id, &run->registration, err);
		run->is_adopted = r == 0;
		if (r != -ENOENT)
			return r;
		if (err)
			err->code = 0;
	}
	return registration_create(run->registry, run->request.id, &run->registration, err);
}

const char *spawn_hex(struct spawn_run *run, const uint8_t digest[DIGEST_SIZE])
{
	_cleanup_text_ struct text hex = TEXT_INIT;

	text_add_hex(&hex, digest, DIGEST_SIZE);
	return arena_copy(&run->arena, text_string(&hex), hex.len);
}

static void describe(struct spawn_run *run)
{
	const struct step *scope = plan_find_step(run->plan, STEP_SCOPE);

	run->entry = (struct sandbox_entry){
		.id = run->request.id,
		.state = SANDBOX_CREATING,
		.supervisor = getpid(),
		.supervisor_start = (uint64_t)process_start_ticks(getpid()),
		.argv = (const char *const *)run->request.argv,
		.cwd = run->host.cwd,
		.policy = run->values->policy,
		.policy_digest = run->plan->has_digest ? spawn_hex(run, run->plan->digest) : NULL,
		.policy_rules = run->policy ? run->policy->n_rules : 0,
		/* The current destination: if the service ends, records go to the spool. */
		.audit = run->recorder.is_with_service	 ? "service"
			 : run->recorder.state_directory ? "spool"
							 : "fd",
		.template = run->plan->template,
		.tier = tier_name(run->plan->tier),
		.network = { .mode = run->plan->net_mode,
			     .proxy = spawn_proxy_place(run),
			     .port = spawn_proxy_port(run) },
		.unit = scope ? scope->scope.unit : NULL,
		.out_directory = run->values->out,
		.out_work = run->changes.work,
		.out_layer = run->changes.kind == CHANGES_TAR ? run->changes.directory : NULL,
		.uid = run->plan->uid,
		.created_usec = moment_now(CLOCK_REALTIME),
		.may_exec = run->plan->may_exec,
	};
}

/* A copy of the enforced policy: the file of --policy may change later, or be a pipe. */
static int keep_policy(const struct spawn_run *run, struct sbx_error *err)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	int r;

	if (!run->policy)
		return 0;
	r = policy_print_json(run->policy, &text);
	if (r < 0)
		return sbx_error_what(err, r, "cannot print the policy of '%s'", run->request.id);
	return registration_write_policy(&run->registration, &text, err);
}

/* The state of an adopted sandbox, which does not wait for a start any more, or of work
 * directories, which gc finds by it. Others get theirs when their PID 1 is known. */
static int write_first_state(struct spawn_run *run, struct sbx_error *err)
{
	return run->is_adopted || run->changes.kind != CHANGES_NONE
		       ? spawn_set_state(run, SANDBOX_CREATING, err)
		       : 0;
}

static int fill_registration(struct spawn_run *run, struct sbx_error *err)
{
	int r;

	describe(run);
	r = keep_policy(run, err);
	if (r < 0)
		return r;
	if (run->plan->may_exec) {
		r = listen_for_control(run);
		if (r < 0)
			return sbx_error_what(err, r, "cannot listen for 'sbx-ctl exec'");
	}
	return write_first_state(run, err);
}

int spawn_register(struct spawn_run *run, struct sbx_error *err)
{
	int r;

	r = adopt_or_create(run, err);
	if (r < 0)
		return r;
	r = fill_registration(run, err);
	if (r < 0 && !run->is_adopted)
		(void)registration_remove(run->registry, &run->registration);
	if (r < 0)
		return r;
	r = changes_make(run, err);
	if (r < 0) {
		run->result.status = SPAWN_FAILED;
		run->result.reason = SPAWN_REASON_SETUP;
		spawn_unregister(run);
	}
	return r;
}

int spawn_set_state(struct spawn_run *run, enum sandbox_state state, struct sbx_error *err)
{
	run->entry.state = state;
	return registration_write(&run->registration, &run->entry, err);
}

void spawn_note_execution(void *userdata)
{
	struct spawn_run *run = userdata;

	if (run->entry.state == SANDBOX_CREATING)
		(void)spawn_set_state(run, SANDBOX_RUNNING, NULL);
}

bool spawn_is_paused(void *userdata)
{
	const struct spawn_run *run = userdata;

	return faccessat(run->registration.directory, SANDBOX_PAUSED_NAME, F_OK, 0) == 0;
}

/* A directory that sbx-ctl has created stays, with the status, until sbx-ctl removes it. */
void spawn_unregister(struct spawn_run *run)
{
	run->entry.has_status = true;
	run->entry.status = run->result.status;
	run->entry.reason = spawn_reason_name(run->result.reason);
	if (run->is_adopted) {
		(void)spawn_set_state(run, SANDBOX_DESTROYED, NULL);
		return;
	}
	(void)registration_remove(run->registry, &run->registration);
}
