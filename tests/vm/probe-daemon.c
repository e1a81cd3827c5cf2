/* SPDX-License-Identifier: MIT */

/*
 * A small complete daemon, for tests only: what lib/service promises, seen from outside
 *
 *   probe-daemon [PATH]
 *
 * listens on the socket that was handed over as "probe", else at PATH. A packet comes back with the
 * "PID UID " of whoever sent it in front. SIGHUP begins a new generation, which stands in STATUS=.
 * "log TEXT" writes TEXT to the log, "hang" stops the loop for ever, so that a watchdog has to
 * bite.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "service/service.h"

#define PACKET_MAX 4096

struct client {
	struct service *service;
	sd_event_source *source;
	int fd;
	pid_t pid;
	uid_t uid;
};

static void client_free(struct client *client)
{
	(void)sd_event_source_disable_unref(client->source);
	close_fd(&client->fd);
	free(client);
}

static void client_leave(struct client *client)
{
	struct service *service = client->service;

	client_free(client);
	service_client_gone(service);
}

static int echo(const struct client *client, const char *packet)
{
	_cleanup_text_ struct text answer = TEXT_INIT;

	text_addf(&answer, "%d %u %s", (int)client->pid, (unsigned)client->uid, packet);
	if (text_status(&answer) < 0)
		return -ENOMEM;
	return fd_send(client->fd, answer.data, answer.len, NULL, 0);
}

static void hang(void)
{
	for (volatile unsigned turns = 0;; turns++)
		;
}

static int serve(struct client *client, const char *packet)
{
	static const struct log_field fields[] = {
		{ "SBX_ID", "probe" },
		{ "SBX_RULE", "r1" },
		{ NULL, NULL },
	};
	int r = echo(client, packet);

	if (strcmp(packet, "hang") == 0)
		hang();
	if (strncmp(packet, "log ", 4) == 0)
		log_write(service_log(client->service), LOG_LEVEL_NOTICE, fields, "%s", packet + 4);
	return r;
}

static int on_packet(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct client *client = userdata;
	char packet[PACKET_MAX + 1];
	ssize_t n = recv(fd, packet, PACKET_MAX, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	packet[n > 0 ? n : 0] = '\0';
	if (n <= 0 || serve(client, packet) < 0)
		client_leave(client);
	return 0;
}

static int on_client(struct service *service, const char *listener_name, int fd,
		     const struct peer *peer, void *userdata)
{
	struct client *client = calloc(1, sizeof(*client));
	int r;

	if (!client) {
		close_fd(&fd);
		return -ENOMEM;
	}
	*client =
		(struct client){ .service = service, .fd = fd, .pid = peer->pid, .uid = peer->uid };
	r = sd_event_add_io(service_event(service), &client->source, fd, EPOLLIN, on_packet,
			    client);
	if (r < 0)
		client_free(client);
	return r;
}

static int on_reload(struct service *service, void *userdata)
{
	unsigned *generation = userdata;

	(*generation)++;
	service_status(service, "generation %u", *generation);
	return 0;
}

static int run(const struct log *log, const char *path, struct sbx_error *err)
{
	static const struct service_handlers handlers = { .accept = on_client,
							  .reload = on_reload };
	_cleanup_service_ struct service *service = NULL;
	unsigned generation = 0;
	int r;

	r = service_new(log, &handlers, &generation, &service, err);
	if (r < 0)
		return r;
	r = service_listen(service, "probe", path, 0666, err);
	if (r < 0)
		return r;
	service_status(service, "generation %u", generation);
	return service_run(service, err);
}

int main(int argc, char *argv[])
{
	_cleanup_(log_deinit) struct log log = { .journal_fd = -EBADF };
	_cleanup_text_ struct text message = TEXT_INIT;
	struct sbx_error err = { .code = 0 };
	int r;

	log_init(&log, "probe-daemon", 0, false, getenv("JOURNAL_STREAM"));
	r = run(&log, argc > 1 ? argv[1] : NULL, &err);
	if (r >= 0)
		return r;
	error_add_text(&message, "probe-daemon", &err);
	(void)fputs(text_string(&message), stderr);
	return 1;
}
