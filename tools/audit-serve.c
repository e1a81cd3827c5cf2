/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit serve: stores records that clients send over a socket
 *
 * The process around lib/collect: log, socket, loop, and the targets of heads.
 */

#include "audit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/heads.h"
#include "base/moment.h"
#include "collect/collect.h"
#include "service/clients.h"
#include "service/service.h"
#include "tool.h"

/* ---- heads for the journal and a witness ---- */

struct watching {
	struct tool_run *run;
	struct heads *heads;
};

static void on_head(void *userdata, const struct audit_head *head)
{
	struct watching *watching = userdata;

	heads_take(watching->heads, head);
	(void)heads_turn(watching->heads, moment_now(CLOCK_MONOTONIC));
}

static void on_end(void *userdata)
{
	struct watching *watching = userdata;
	struct heads_state state;

	heads_finish(watching->heads);
	heads_get_state(watching->heads, &state);
	if (state.problem[0] != '\0')
		log_write(&watching->run->log, LOG_LEVEL_WARNING, NULL, "%s", state.problem);
	(void)heads_free(watching->heads);
	free(watching);
}

int heads_watch(struct tool_run *run, struct audit_log *log, struct sbx_error *err)
{
	const struct audit_values *values = run->values;
	const struct heads_options options = { .tool = run->tool->command.name,
					       .witness = values->witness_command };
	_cleanup_free_ struct watching *watching = calloc(1, sizeof(*watching));
	int r;

	if (!watching)
		return sbx_error_what(err, -ENOMEM, "cannot prepare to send the log's heads");
	watching->run = run;
	r = heads_new(&options, &watching->heads, err);
	if (r < 0)
		return r;
	const struct audit_watch watch = { on_head, on_end, take_ptr(watching) };

	audit_log_watch(log, &watch);
	return 0;
}

/* ---- the service ---- */

#define SOCKET_MODE 0660
#define SHED "shed"
/* The most that are open before the service listens: directory, segment, journal, spool, timers. */
#define FDS_OF_LOG 12

static const char *const on_full_names[] = { "block", SHED, NULL };

const struct option_spec audit_serve_options[] = {
	OPTIONS_OF_LOG,
	OPTION("socket", 0, OPTION_PATH, socket, "PATH", "where to listen"),
	OPTION("spool", 0, OPTION_PATH, spool, "DIR", "import this spool"),
	OPTION_WITNESS,
	OPTION("epoch", 0, OPTION_TIME, epoch_usec, "TIME", "how long a key is used (1h)",
	       .is_above_zero = true),
	OPTION("group-records", 0, OPTION_NUMBER, group_records, "N",
	       "commit when N records wait (100)", .is_above_zero = true),
	OPTION("group-time", 0, OPTION_TIME, group_usec, "TIME",
	       "commit when a record has waited for TIME (5ms)", .is_above_zero = true),
	OPTION("queue", 0, OPTION_SIZE, queue_bytes, "SIZE", "memory for waiting records (16MiB)",
	       .is_above_zero = true),
	OPTION("on-full", 0, OPTION_CHOICE, on_full, "WHAT",
	       "block clients, or discard records (block)", .choices = on_full_names),
	OPTION("max-clients", 0, OPTION_NUMBER, max_clients, "N", "clients at the same time (1024)",
	       .is_above_zero = true),
	OPTION_SEGMENT_SIZE,
	OPTIONS_OF_RETENTION,
	OPTION_END,
};

/* Members of the service, freed by daemon_deinit() in this order. */
struct daemon {
	struct tool_run *run;
	const struct audit_values *values;
	struct heads *heads;
	struct audit_log *audit;
	int directory, spool;
	struct service *service;
	struct collector *collector;
};

static void daemon_deinit(struct daemon *daemon)
{
	(void)collector_free(daemon->collector);
	(void)service_free(daemon->service);
	(void)audit_log_free(daemon->audit);
	(void)heads_free(daemon->heads);
	close_fd(&daemon->directory);
	close_fd(&daemon->spool);
}

static int read_keeping(const struct audit_values *values, struct collector_keeping *ret,
			struct sbx_error *err)
{
	struct keeping keeping;
	int r = keeping_read(values, &keeping, err);

	if (r < 0)
		return r;
	*ret = (struct collector_keeping){ keeping.rotation, keeping.segment_bytes,
					   keeping.policy };
	return 0;
}

static int on_reload(struct service *service, void *userdata)
{
	const struct daemon *daemon = userdata;
	struct collector_keeping keeping;
	struct sbx_error why = { .code = 0 };
	int r = collector_checkpoint(daemon->collector);

	/* The collector has said why. */
	if (r < 0)
		return r;
	r = read_keeping(daemon->values, &keeping, &why);
	if (r < 0) {
		log_write(&daemon->run->log, LOG_LEVEL_ERROR, NULL, "%s%s%s", why.what,
			  why.why[0] != '\0' ? ": " : "", why.why);
		return r;
	}
	collector_set_keeping(daemon->collector, &keeping);
	return 0;
}

/* Only as root, and only for the system's log. */
static int gather(void *userdata, struct sbx_error *err)
{
	const struct daemon *daemon = userdata;
	uint64_t n_files;

	return geteuid() == 0 && !daemon->values->spool
		       ? gather_into(daemon->spool, daemon->spool, &n_files, err)
		       : 0;
}

/* ---- the log ---- */

static int make_log(struct daemon *daemon, struct sbx_error *err)
{
	_cleanup_text_ struct text key = TEXT_INIT;
	int r = places_check_policy(daemon->values, err);

	if (r < 0)
		return r;
	r = audit_make_log(daemon->values, err);
	if (r >= 0)
		r = places_open_only(daemon->run, &daemon->audit, err);
	if (r < 0)
		return r;
	audit_log_add_verifier(daemon->audit, &key);
	log_write(&daemon->run->log, LOG_LEVEL_NOTICE, NULL,
		  "there was no log, and this is the first public key of the new one: %s",
		  text_string(&key));
	return 0;
}

static int open_log(struct daemon *daemon, struct sbx_error *err)
{
	const struct heads_options options = { .tool = daemon->run->tool->command.name,
					       .witness = daemon->values->witness_command };
	_cleanup_text_ struct text directory = TEXT_INIT;
	struct audit_watch watch = { .head = heads_take };
	struct sbx_error why = { .code = 0 };
	int r = places_open_only(daemon->run, &daemon->audit, &why);

	if (r == -ENOENT)
		r = make_log(daemon, &why);
	if (r < 0 && err)
		*err = why;
	if (r >= 0)
		r = heads_new(&options, &daemon->heads, err);
	if (r < 0)
		return r;
	watch.userdata = daemon->heads;
	r = places_directory(daemon->values, &directory, err);
	if (r < 0)
		return r;
	daemon->directory = open(text_string(&directory), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (daemon->directory < 0)
		return sbx_error_what(err, -errno, "cannot open the log '%s'",
				      text_string(&directory));
	audit_log_watch(daemon->audit, &watch);
	/* The previous service may have been killed before it sent its last head. */
	return audit_log_tell_head(daemon->audit, err);
}

/* If the log cannot be verified now, the service starts anyway: sbx-audit verify can do it later.
 */
static void verify(const struct daemon *daemon)
{
	struct sbx_error why = { .code = 0 };

	if (collect_verify(daemon->audit, daemon->directory, &daemon->run->log, &why) < 0)
		log_write(&daemon->run->log, LOG_LEVEL_ERROR, NULL, "cannot verify the log: %s: %s",
			  why.what, why.why[0] != '\0' ? why.why : strerror(-why.code));
}

/* The user's spool, or the one that is named; a log in another directory has none. */
static int open_spool(struct daemon *daemon, struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	int r = 0;

	if (daemon->values->spool)
		text_add(&path, daemon->values->spool);
	else if (daemon->values->directory)
		return 0;
	else
		r = places_spool(&path, err);
	if (r < 0)
		return r;
	r = text_status(&path);
	if (r < 0 || (mkdir(path.data, 0700) < 0 && errno != EEXIST))
		return sbx_error_what(err, r < 0 ? r : -errno, "cannot create the spool '%s'",
				      text_string(&path));
	daemon->spool = open(path.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return daemon->spool < 0
		       ? sbx_error_what(err, -errno, "cannot open the spool '%s'", path.data)
		       : 0;
}

/* ---- start ---- */

static uint64_t or_default(uint64_t value, uint64_t usual)
{
	return value ? value : usual;
}

static int start(struct daemon *daemon, struct sbx_error *err)
{
	const struct audit_values *values = daemon->values;
	struct collector_options options = {
		.log = &daemon->run->log,
		.n_clients_max = or_default(values->max_clients, CLIENTS_DEFAULT),
		.group_records = or_default(values->group_records, COLLECT_GROUP_RECORDS_DEFAULT),
		.group_usec = or_default(values->group_usec, COLLECT_GROUP_USEC_DEFAULT),
		.queue_bytes_max = or_default(values->queue_bytes, COLLECT_QUEUE_BYTES_DEFAULT),
		.epoch_usec = or_default(values->epoch_usec, COLLECT_EPOCH_USEC_DEFAULT),
		.is_shedding = values->on_full && strcmp(values->on_full, SHED) == 0,
	};
	int r;

	if (values->group_usec > COLLECT_GROUP_USEC_MAX)
		return error_fill(err, -EINVAL, "waiting records are lost in a crash",
				  "write --group-time=500ms, or less",
				  "records cannot wait longer than 500ms");
	r = read_keeping(values, &options.keeping, err);
	if (r < 0)
		return r;
	r = service_new(&daemon->run->log, on_reload, daemon, &daemon->service, err);
	if (r < 0)
		return r;
	/* A mistake must not leave a new log. */
	r = service_check_usual(daemon->service, COLLECT_SOCKET, values->socket, err);
	if (r >= 0)
		r = service_check_room(daemon->service, COLLECT_SOCKET, FDS_OF_LOG, err);
	if (r < 0)
		return r;
	r = open_log(daemon, err);
	if (r < 0)
		return r;
	r = open_spool(daemon, err);
	if (r < 0)
		return r;
	verify(daemon);
	options.event = service_event(daemon->service);
	options.ready = service_ready(daemon->service);
	options.service = daemon->service;
	options.audit = daemon->audit;
	options.heads = daemon->heads;
	options.directory = daemon->directory;
	options.spool = daemon->spool;
	options.gather = gather;
	options.userdata = daemon;
	r = collector_new(&options, &daemon->collector, err);
	return r < 0 ? r
		     : service_listen_usual(daemon->service, COLLECT_SOCKET, values->socket,
					    SOCKET_MODE, collector_clients(daemon->collector), err);
}

int audit_verb_serve(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_(daemon_deinit) struct daemon daemon = {
		.run = run, .values = run->values, .directory = -EBADF, .spool = -EBADF
	};
	int r, last;

	(void)signal(SIGPIPE, SIG_IGN);
	r = start(&daemon, err);
	if (r < 0)
		return places_status_of(r);
	r = service_run(daemon.service, err);
	/* A connection that nobody has accepted may have sent records, too. */
	service_accept_last(daemon.service);
	last = collector_finish(daemon.collector, r < 0 ? NULL : err);
	heads_finish(daemon.heads);
	return r < 0 ? r : last;
}
