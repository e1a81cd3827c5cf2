/* SPDX-License-Identifier: MIT */

/*
 * Any bytes as a packet, from a trusted peer, an untrusted one and a sandbox: there is exactly one
 * answer, it is JSON, only the trusted peer controls the service, and the same request gets the
 * same verdict again.
 */

#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "record/record.h"
#include "server/facts.h"
#include "server/question.h"
#include "server/server.h"
#include "service/ready.h"

#define NOW UINT64_C(1000000000)

static const char policy[] =
	"capabilities:\n"
	"  - { name: a, match: { syscall: [fs.write, fs.read], path_glob: [\"/srv/**\", \"src/**\"] }, "
	"action: allow, constraints: { max_file_size: 1KiB } }\n"
	"  - { name: b, match: { syscall: fs.write, caller_tag: [t] }, action: require_review }\n"
	"network_whitelist:\n"
	"  allowed_hosts: [\"*.example.com\"]\n";

struct world {
	struct server *server;
	struct recorder recorder;
	struct log log;
	struct facts *sandboxes;
	struct question trusted, stranger, sandbox;
};

static int write_policy(char path[32])
{
	int fd;

	memcpy(path, "/tmp/packet-XXXXXX", sizeof("/tmp/packet-XXXXXX"));
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0 || write(fd, policy, sizeof(policy) - 1) != (ssize_t)sizeof(policy) - 1)
		return -1;
	return close(fd);
}

static struct world *make_world(void)
{
	static struct world world = { .recorder = RECORDER_INIT };
	static char path[32];
	static const char *paths[] = { path };
	struct server_options options = { .log = &world.log,
					  .tool = "fuzz",
					  .policy_paths = paths,
					  .n_policy_paths = 1,
					  .recorder = &world.recorder,
					  .records = SERVER_RECORDS_ALL,
					  .n_clients_max = 1 };
	struct facts *box = NULL;

	if (world.server)
		return &world;
	world.log = (struct log){ .tool = "fuzz",
				  .most = LOG_LEVEL_ERROR,
				  .journal_fd = -EBADF,
				  .stderr_fd = open("/dev/null", O_WRONLY | O_CLOEXEC) };
	recorder_use_fd(&world.recorder, open("/dev/null", O_WRONLY | O_CLOEXEC));
	assert(write_policy(path) == 0);
	assert(facts_add(&world.sandboxes, "box", &box, NULL) == 0);
	assert(facts_set(box, "project=/srv/p", NULL) == 0);
	options.sandboxes = world.sandboxes;
	assert(sd_event_new(&options.event) >= 0);
	assert(ready_new(options.event, &options.ready) == 0);
	assert(server_new(&options, &world.server, NULL) == 0);
	assert(unlink(path) == 0);
	world.trusted.server = world.stranger.server = world.sandbox.server = world.server;
	world.trusted.asker = (struct asker){ .pid = 2, .process_id = 2, .is_trusted = true };
	world.stranger.asker = (struct asker){ .pid = 3, .process_id = 3, .uid = 12345 };
	world.sandbox.asker = (struct asker){ .pid = 4, .process_id = 4, .facts = box };
	return &world;
}

static void ask(struct question *question, const void *bytes, size_t n_bytes)
{
	assert(question_begin(question, bytes, n_bytes, NOW) == 1);
	assert(text_status(&question->answer) == 0);
	assert(json_validate(question->answer.data, question->answer.len, NULL, NULL) == 0);
}

static bool says(const struct question *question, const char *what)
{
	return strstr(text_string(&question->answer), what) != NULL;
}

/* Looks only before the reasons, which may contain anything. */
static bool is_verdict(const struct question *question, const char *verdict)
{
	const char *at = strstr(text_string(&question->answer), "\"verdict\":\"");

	return at && strncmp(at + 11, verdict, strlen(verdict)) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct world *world = make_world();
	bool was_allowed;

	if (n_bytes == 0 || n_bytes > REQUEST_BYTES_MAX)
		return 0;
	ask(&world->trusted, bytes, n_bytes);
	was_allowed = is_verdict(&world->trusted, "allow");
	if (says(&world->trusted, "\"verdict\"")) {
		ask(&world->trusted, bytes, n_bytes);
		assert(was_allowed == is_verdict(&world->trusted, "allow"));
	}
	ask(&world->stranger, bytes, n_bytes);
	assert(strncmp(text_string(&world->stranger.answer), "{\"ok\":", 6) != 0);
	ask(&world->sandbox, bytes, n_bytes);
	assert(strncmp(text_string(&world->sandbox.answer), "{\"ok\":", 6) != 0);
	if (world->sandbox.has_request)
		assert(says(&world->sandbox, "\"sandbox_id\":\"box\"}") ||
		       says(&world->sandbox, "\"sandbox_id\":\"box\",\"size\""));
	return 0;
}
