/* SPDX-License-Identifier: MIT */

#include "registry/handover.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/text.h"
#include "test.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD "\"type\":\"LISTENERS\",\"sandbox\":\"s\",\"digest\":\"" DIGEST "\",\"policy\":\"p\""
#define LISTENER "{\"kind\":\"http\",\"address\":\"127.0.0.1\",\"port\":80}"
#define GOOD "{" HEAD ",\"listeners\":[" LISTENER "]}"

struct pair {
	int supervisor;
	int proxy;
	struct arena arena;
	struct sbx_error err;
};

static void pair_deinit(struct pair *pair)
{
	close_fd(&pair->supervisor);
	close_fd(&pair->proxy);
	arena_deinit(&pair->arena);
}

static struct pair pair_make(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		abort();
	return (struct pair){ .supervisor = fds[0], .proxy = fds[1], .arena = ARENA_INIT };
}
#define PAIR _cleanup_(pair_deinit) struct pair pair = pair_make()

static unsigned count_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 512; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* A socket of 127.0.0.1 that listens, with its port. */
static int listen_ipv4(uint16_t *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		abort();
	*ret_port = ntohs(address.sin_port);
	return fd;
}

/* NULL where the host has no IPv6. */
static int listen_ipv6(uint16_t *ret_port)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6,
					.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
		close_fd(&fd);
		return -EBADF;
	}
	*ret_port = ntohs(address.sin6_port);
	return fd;
}

static int listen_unix(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* Without a name the kernel chooses an abstract one. */
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 ||
	    listen(fd, 1) < 0)
		abort();
	return fd;
}

static struct handover good_handover(void)
{
	struct handover handover = {
		.sandbox = "s", .digest = DIGEST, .policy = "p.yaml", .n_listeners = 1
	};

	handover.listeners[0] = (struct handover_listener){ .address = "127.0.0.1" };
	handover.listeners[0].fd = listen_ipv4(&handover.listeners[0].port);
	if (handover_seal("artefact", 8, &handover.artefact) < 0)
		abort();
	return handover;
}

static void expect_same_text(const char *a, const char *b)
{
	expect(!a == !b);
	if (a && b)
		expect_str(a, b);
}

static void expect_same(const struct handover *a, const struct handover *b)
{
	expect_same_text(a->sandbox, b->sandbox);
	expect_same_text(a->project, b->project);
	expect_same_text(a->digest, b->digest);
	expect_same_text(a->policy, b->policy);
	expect_eq(a->n_listeners, b->n_listeners);
	for (size_t i = 0; i < a->n_listeners && i < b->n_listeners; i++) {
		expect_str(a->listeners[i].address, b->listeners[i].address);
		expect_eq(a->listeners[i].port, b->listeners[i].port);
		expect_eq(a->listeners[i].kind, b->listeners[i].kind);
	}
	expect_eq(a->limits.connections.is_set, b->limits.connections.is_set);
	expect_eq(a->limits.connections.value, b->limits.connections.value);
	expect_eq(a->limits.bytes.is_set, b->limits.bytes.is_set);
	expect_eq(a->limits.bytes.value, b->limits.bytes.value);
	expect_eq(a->limits.rate.is_set, b->limits.rate.is_set);
	expect_eq(a->limits.rate.value, b->limits.rate.value);
}

static void listeners_of_three_families_arrive(void)
{
	_cleanup_handover_ struct handover sent = good_handover();
	_cleanup_handover_ struct handover got = HANDOVER_INIT;
	char bytes[16] = "";
	PAIR;

	sent.project = "/p";
	sent.limits.bytes = (struct handover_limit){ true, UINT64_MAX };
	sent.limits.connections = (struct handover_limit){ true, 0 };
	sent.listeners[sent.n_listeners++] =
		(struct handover_listener){ .address = "/run/p.sock", .fd = listen_unix() };
	sent.listeners[2] = (struct handover_listener){ .address = "::1", .fd = -EBADF };
	sent.listeners[2].fd = listen_ipv6(&sent.listeners[2].port);
	sent.n_listeners += sent.listeners[2].fd >= 0;
	expect_eq(handover_send(pair.supervisor, &sent, &pair.err), 0);
	expect_eq(handover_receive(pair.proxy, &pair.arena, &got, &pair.err), HANDOVER_LISTENERS);
	expect_same(&sent, &got);
	expect_eq(pread(got.artefact, bytes, sizeof(bytes), 0), 8);
	expect_str(bytes, "artefact");
	expect(accept(got.listeners[0].fd, NULL, NULL) < 0 && errno == EAGAIN);
}

static void a_sealed_policy_cannot_change(void)
{
	_cleanup_close_ int fd = -EBADF;

	expect_eq(handover_seal("abc", 3, &fd), 0);
	expect(pwrite(fd, "x", 1, 0) < 0);
	expect(ftruncate(fd, 1) < 0);
	expect(ftruncate(fd, 100) < 0);
	expect(mmap(NULL, 3, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	expect(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0);
}

/* Sends @sent with its fds: what arrives is refused, and nothing of it stays open. */
static void expect_refused_fds(const struct handover *sent, const char *why)
{
	struct handover got = HANDOVER_INIT;
	unsigned before;
	PAIR;

	before = count_fds();
	expect_eq(handover_send(pair.supervisor, sent, &pair.err), 0);
	expect_eq(handover_receive(pair.proxy, &pair.arena, &got, &pair.err), -EBADMSG);
	expect(strstr(pair.err.why, why));
	expect_eq(count_fds(), before);
}

/* A memfd with @seals, of 8 bytes. */
static int memfd_with(int seals)
{
	int fd = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, "artefact", 8) != 8 || fcntl(fd, F_ADD_SEALS, seals) < 0)
		abort();
	return fd;
}

static void replace_fd(int *fd, int other)
{
	close_fd(fd);
	*fd = other;
}

static void refuses_a_policy_that_could_change(void)
{
	static const int seals[] = { 0,
				     F_SEAL_WRITE,
				     F_SEAL_WRITE | F_SEAL_SHRINK,
				     F_SEAL_WRITE | F_SEAL_GROW,
				     F_SEAL_GROW | F_SEAL_SHRINK,
				     F_SEAL_FUTURE_WRITE | F_SEAL_GROW | F_SEAL_SHRINK };
	_cleanup_handover_ struct handover sent = good_handover();

	for (size_t i = 0; i < N_ELEMENTS(seals); i++) {
		replace_fd(&sent.artefact, memfd_with(seals[i]));
		expect_refused_fds(&sent, "could change");
	}
	replace_fd(&sent.artefact, open("/dev/null", O_RDONLY | O_CLOEXEC));
	expect_refused_fds(&sent, "not a memfd");
	close_fd(&sent.artefact);
	expect_eq(handover_seal("", 0, &sent.artefact), 0);
	expect_refused_fds(&sent, "empty");
}

static void refuses_listeners_that_are_none(void)
{
	_cleanup_handover_ struct handover sent = good_handover();
	uint16_t port = sent.listeners[0].port;
	int fds[2];

	replace_fd(&sent.listeners[0].fd, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	expect_refused_fds(&sent, "does not listen");
	replace_fd(&sent.listeners[0].fd, socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	expect_refused_fds(&sent, "not a stream");
	replace_fd(&sent.listeners[0].fd, open("/dev/null", O_RDONLY | O_CLOEXEC));
	expect_refused_fds(&sent, "not a stream");
	expect_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	replace_fd(&sent.listeners[0].fd, fds[0]);
	expect_refused_fds(&sent, "does not listen");
	close_fd(&fds[1]);
	replace_fd(&sent.listeners[0].fd, listen_unix());
	expect_refused_fds(&sent, "not bound");
	replace_fd(&sent.listeners[0].fd, listen_ipv4(&port));
	sent.listeners[0].port = (uint16_t)(port ^ 1);
	expect_refused_fds(&sent, "not bound");
	sent.listeners[0].port = port;
	sent.listeners[0].address = "127.0.0.2";
	expect_refused_fds(&sent, "not bound");
	sent.listeners[0].address = "::ffff:127.0.0.1";
	expect_refused_fds(&sent, "not bound");
}

static void send_raw(const struct pair *pair, const char *text, const int *fds, size_t n_fds)
{
	expect_eq(fd_send(pair->supervisor, text, strlen(text), fds, n_fds), 0);
}

static void refuses_another_number_of_fds(void)
{
	int many[HANDOVER_FDS_MAX + 1];
	struct handover got = HANDOVER_INIT;
	PAIR;
	unsigned before = count_fds();

	for (size_t i = 0; i < N_ELEMENTS(many); i++)
		many[i] = pair.supervisor;
	for (size_t n = 0; n <= N_ELEMENTS(many); n++) {
		send_raw(&pair, GOOD, many, n);
		expect_eq(handover_receive(pair.proxy, &pair.arena, &got, &pair.err),
			  n > HANDOVER_FDS_MAX ? -EMSGSIZE : -EBADMSG);
	}
	send_raw(&pair, "{\"type\":\"END\"}", many, 1);
	expect_eq(handover_receive(pair.proxy, &pair.arena, &got, &pair.err), -EBADMSG);
	expect_eq(count_fds(), before);
}

static void tells_the_end_from_a_closed_socket(void)
{
	struct handover got = HANDOVER_INIT;
	PAIR;

	expect_eq(handover_receive(pair.proxy, &pair.arena, &got, &pair.err), -EAGAIN);
	expect_eq(handover_send_end(pair.supervisor), 0);
	expect_eq(handover_receive(pair.proxy, &pair.arena, &got, &pair.err), HANDOVER_END);
	close_fd(&pair.supervisor);
	pair.supervisor = -EBADF;
	expect_eq(handover_receive(pair.proxy, &pair.arena, &got, &pair.err), HANDOVER_CLOSED);
	expect_eq(handover_send_ok(pair.proxy), -EPIPE);
}

static int parse(const char *text)
{
	_cleanup_(arena_deinit) struct arena arena = ARENA_INIT;
	struct handover got = HANDOVER_INIT;
	struct sbx_error err = { 0 };
	int r = handover_parse(text, strlen(text), &arena, &got, &err);

	expect(r >= 0 || err.what[0]);
	return r;
}

static void refuses_packets_that_are_none(void)
{
	static const char *const texts[] = {
		"",
		"{",
		"{}",
		"[]",
		"null",
		"type: END",
		" {\"type\":\"END\"}",
		"{\"type\":\"OPEN\"}",
		"{\"type\":3}",
		"{\"type\":\"END\",\"sandbox\":\"s\"}",
		"{\"type\":\"END\",\"type\":\"END\"}",
		"{" HEAD "}",
		"{" HEAD ",\"listeners\":[]}",
		"{" HEAD ",\"listeners\":{}}",
		"{" HEAD ",\"listeners\":[3]}",
		"{" HEAD ",\"listeners\":[{}]}",
		"{" HEAD ",\"listeners\":[" LISTENER "],\"more\":1}",
		"{" HEAD ",\"listeners\":[" LISTENER "],\"project\":\"p\"}",
		"{" HEAD ",\"listeners\":[" LISTENER "],\"project\":\"\"}",
		"{" HEAD ",\"listeners\":[" LISTENER "],\"limits\":[]}",
		"{" HEAD ",\"listeners\":[" LISTENER "],\"limits\":{\"bytes\":-1}}",
		"{" HEAD ",\"listeners\":[" LISTENER "],\"limits\":{\"bytes\":null}}",
		"{" HEAD ",\"listeners\":[" LISTENER "],\"limits\":{\"time\":1}}",
		"{" HEAD ",\"listeners\":[{\"kind\":\"socks\",\"address\":\"::1\",\"port\":1}]}",
		"{" HEAD ",\"listeners\":[{\"kind\":\"http\",\"address\":\"host\",\"port\":1}]}",
		"{" HEAD ",\"listeners\":[{\"kind\":\"http\",\"address\":\"::1\",\"port\":0}]}",
		"{" HEAD ",\"listeners\":[{\"kind\":\"http\",\"address\":\"::1\"}]}",
		"{" HEAD ",\"listeners\":[{\"kind\":\"http\",\"address\":\"::1\",\"port\":65536}]}",
		"{" HEAD ",\"listeners\":[{\"kind\":\"http\",\"address\":\"/s\",\"port\":1}]}",
		"{" HEAD ",\"listeners\":[{\"kind\":\"http\",\"address\":\"127.1\",\"port\":1}]}",
		"{" HEAD
		",\"listeners\":[{\"kind\":\"http\",\"address\":\"::1\",\"port\":1,\"a\":1}]}",
		"{\"type\":\"LISTENERS\",\"sandbox\":\"../s\",\"digest\":\"" DIGEST
		"\",\"policy\":\"p\",\"listeners\":[" LISTENER "]}",
		"{\"type\":\"LISTENERS\",\"sandbox\":\"s\",\"digest\":\"abc\",\"policy\":\"p\","
		"\"listeners\":[" LISTENER "]}",
		"{\"type\":\"LISTENERS\",\"sandbox\":\"s\",\"policy\":\"p\",\"listeners\":[" LISTENER
		"]}",
	};

	expect_eq(parse(GOOD), HANDOVER_LISTENERS);
	expect_eq(parse("{" HEAD ",\"listeners\":[{\"kind\":\"http\",\"address\":\"/s\"}]}"),
		  HANDOVER_LISTENERS);
	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		if (parse(texts[i]) != -EBADMSG) {
			printf("# %s\n", texts[i]);
			expect(false);
		}
}

static void refuses_more_listeners_than_a_sandbox_has(void)
{
	for (int n = HANDOVER_LISTENERS_MAX; n <= HANDOVER_LISTENERS_MAX + 1; n++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		text_add(&text, "{" HEAD ",\"listeners\":[");
		for (int i = 0; i < n; i++)
			text_addf(&text, "%s" LISTENER, i ? "," : "");
		text_add(&text, "]}");
		expect_eq(parse(text_string(&text)),
			  n > HANDOVER_LISTENERS_MAX ? -EBADMSG : HANDOVER_LISTENERS);
	}
}

static void refuses_a_packet_that_is_too_long(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct handover got = HANDOVER_INIT;
	PAIR;

	for (size_t i = 0; i <= HANDOVER_BYTES_MAX; i++)
		text_add_char(&text, ' ');
	send_raw(&pair, text_string(&text), &pair.proxy, 1);
	expect_eq(handover_receive(pair.proxy, &pair.arena, &got, &pair.err), -EMSGSIZE);
}

/* ---- answers ---- */

static int answer(struct pair *pair, const char *text, int *ret_fd)
{
	static struct handover_summary got;

	expect_eq(fd_send(pair->proxy, text, strlen(text), NULL, 0), 0);
	return handover_receive_answer(pair->supervisor, &pair->arena, &got, ret_fd, &pair->err);
}

static void a_refusal_arrives_with_its_three_lines(void)
{
	static struct handover_summary got;
	struct sbx_error sent = { 0 };
	PAIR;

	(void)sbx_error_what(&sent, -EBADMSG, "cannot take the policy");
	sbx_error_why(&sent, "it is \"damaged\"\n");
	sbx_error_fix(&sent, "install all of sbx");
	expect_eq(handover_send_error(pair.proxy, &sent), 0);
	expect_eq(handover_receive_answer(pair.supervisor, &pair.arena, &got, NULL, &pair.err),
		  -ECONNREFUSED);
	expect_str(pair.err.what, sent.what);
	expect_str(pair.err.why, sent.why);
	expect_str(pair.err.fix, sent.fix);
	expect_eq(handover_send_ok(pair.proxy), 0);
	expect_eq(handover_receive_answer(pair.supervisor, &pair.arena, &got, NULL, &pair.err), 0);
	close_fd(&pair.proxy);
	pair.proxy = -EBADF;
	expect_eq(handover_receive_answer(pair.supervisor, &pair.arena, &got, NULL, &pair.err),
		  -ECONNRESET);
}

static void refuses_answers_that_are_none(void)
{
	static const char *const texts[] = {
		"ok",
		"{}",
		"[]",
		"{\"ok\":false}",
		"{\"ok\":\"true\"}",
		"{\"ok\":true,\"what\":\"w\"}",
		"{\"level\":\"warning\",\"what\":\"w\"}",
		"{\"level\":\"error\"}",
		"{\"level\":\"error\",\"what\":3}",
		"{\"level\":\"error\",\"what\":\"w\",\"more\":\"m\"}",
		"{\"ok\":true,\"denials\":{}}",
		"{\"ok\":true,\"denials\":[{\"host\":\"h\",\"port\":1,\"reason\":\"r\"}]}",
		"{\"ok\":true,\"denials\":[{\"host\":\"h\",\"port\":65536,\"reason\":\"r\",\"count\":1}]}",
		"{\"ok\":true,\"n_denials_left_out\":-1}",
		"{\"ok\":true,\"counters\":{\"a\":\"1\"}}",
		"{\"ok\":true,\"counters\":[]}",
	};
	PAIR;

	expect_eq(answer(&pair, "{\"ok\":true}", NULL), 0);
	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		if (answer(&pair, texts[i], NULL) != -EBADMSG) {
			printf("# %s\n", texts[i]);
			expect(false);
		}
}

static void a_socket_comes_only_with_the_answer_that_needs_it(void)
{
	static struct handover_summary got;
	struct handover handover = HANDOVER_INIT;
	_cleanup_close_ int socket_fd = -EBADF;
	PAIR;
	unsigned before = count_fds();

	expect_eq(handover_send_open(pair.supervisor), 0);
	expect_eq(handover_receive(pair.proxy, &pair.arena, &handover, NULL), -EBADMSG);
	expect_eq(answer(&pair, "{\"ok\":true}", &socket_fd), -EBADMSG);
	expect_eq(fd_send(pair.proxy, "{\"ok\":true}", 11, &pair.proxy, 1), 0);
	expect_eq(handover_receive_answer(pair.supervisor, &pair.arena, &got, NULL, NULL),
		  -EBADMSG);
	expect_eq(fd_send(pair.proxy, "{\"ok\":true}", 11, (int[]){ STDIN_FILENO }, 1), 0);
	expect_eq(handover_receive_answer(pair.supervisor, &pair.arena, &got, &socket_fd, NULL),
		  -EBADMSG);
	expect_eq(count_fds(), before);
	expect_eq(fd_send(pair.proxy, "{\"ok\":true}", 11, &pair.proxy, 1), 0);
	expect_eq(handover_receive_answer(pair.supervisor, &pair.arena, &got, &socket_fd, NULL), 0);
	expect_eq(fcntl(socket_fd, F_GETFD), FD_CLOEXEC);
}

static void expect_same_summary(const struct handover_summary *a, const struct handover_summary *b)
{
	for (size_t i = 0; i < a->n_denials && i < b->n_denials; i++) {
		expect_str(a->denials[i].host, b->denials[i].host);
		expect_str(a->denials[i].reason, b->denials[i].reason);
		expect_same_text(a->denials[i].rule, b->denials[i].rule);
		expect_same_text(a->denials[i].why, b->denials[i].why);
		expect_same_text(a->denials[i].fix, b->denials[i].fix);
		expect_eq(a->denials[i].port, b->denials[i].port);
		expect_eq(a->denials[i].count, b->denials[i].count);
	}
	expect_eq(a->n_counters, b->n_counters);
	for (size_t i = 0; i < a->n_counters && i < b->n_counters; i++) {
		expect_str(a->counters[i].name, b->counters[i].name);
		expect_eq(a->counters[i].value, b->counters[i].value);
	}
}

static void a_summary_that_is_too_long_says_what_it_leaves_out(void)
{
	static struct handover_summary sent, got;
	static char rule[1001];
	PAIR;

	/* A control character takes six bytes of JSON. */
	memset(rule, 1, sizeof(rule) - 1);
	sent = (struct handover_summary){ .n_denials = HANDOVER_DENIALS_MAX,
					  .n_denials_left_out = 7,
					  .n_counters = 1 };
	for (size_t i = 0; i < HANDOVER_DENIALS_MAX; i++)
		sent.denials[i] =
			(struct handover_denial){ "h", 443, "default", rule, rule, rule, i };
	sent.counters[0] = (struct handover_counter){ "bytes", UINT64_MAX };
	expect_eq(handover_send_summary(pair.proxy, &sent), 0);
	expect_eq(handover_receive_answer(pair.supervisor, &pair.arena, &got, NULL, &pair.err), 0);
	expect(got.n_denials > 0 && got.n_denials < HANDOVER_DENIALS_MAX);
	expect_eq(got.n_denials + got.n_denials_left_out, HANDOVER_DENIALS_MAX + 7);
	expect_same_summary(&sent, &got);
}

/* ---- on random values ---- */

static uint64_t next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* A text of 1 to @most bytes, all ASCII but NUL; now and then NULL, if it may be. */
static const char *random_text(uint64_t *state, struct arena *arena, size_t most, bool may_be_null)
{
	size_t n = 1 + next(state) % most;
	char *text = arena_alloc(arena, n + 1);

	if (!text)
		abort();
	for (size_t i = 0; i < n; i++)
		text[i] = (char)(1 + next(state) % 127);
	return may_be_null && next(state) % 4 == 0 ? NULL : text;
}

static struct handover_limit random_limit(uint64_t *state)
{
	return next(state) % 2 ? (struct handover_limit){ true, next(state) >> next(state) % 64 }
			       : (struct handover_limit){ .is_set = false };
}

static void whatever_is_written_is_read_again(void)
{
	static const char *const addresses[] = { "127.0.0.1", "::1", "10.0.0.1", "/run/a\"b" };
	uint64_t state = 14;

	for (int i = 0; i < 2000; i++) {
		_cleanup_(arena_deinit) struct arena arena = ARENA_INIT;
		_cleanup_text_ struct text text = TEXT_INIT;
		struct handover sent = { .sandbox = "a-1", .digest = DIGEST };
		struct handover got = HANDOVER_INIT;

		sent.policy = random_text(&state, &arena, 4096, false);
		sent.project = next(&state) % 2 ? "/p\t\x7f" : NULL;
		sent.n_listeners = 1 + next(&state) % HANDOVER_LISTENERS_MAX;
		for (size_t j = 0; j < sent.n_listeners; j++) {
			size_t address = next(&state) % N_ELEMENTS(addresses);

			sent.listeners[j].address = addresses[address];
			sent.listeners[j].port =
				address == 3 ? 0 : (uint16_t)(1 + next(&state) % UINT16_MAX);
		}
		sent.limits.bytes = random_limit(&state);
		sent.limits.rate = random_limit(&state);
		sent.limits.connections = random_limit(&state);
		handover_add_text(&text, &sent);
		expect_eq(handover_parse(text.data, text.len, &arena, &got, NULL),
			  HANDOVER_LISTENERS);
		expect_same(&sent, &got);
	}
}

static void whatever_is_summed_up_is_read_again(void)
{
	static struct handover_summary sent, got;
	uint64_t state = 15;

	for (int i = 0; i < 500; i++) {
		_cleanup_(arena_deinit) struct arena arena = ARENA_INIT;
		_cleanup_text_ struct text text = TEXT_INIT;

		sent.n_denials = next(&state) % (HANDOVER_DENIALS_MAX + 1);
		sent.n_denials_left_out = next(&state) % 100;
		for (size_t j = 0; j < sent.n_denials; j++)
			sent.denials[j] = (struct handover_denial){
				random_text(&state, &arena, 253, false),
				(uint16_t)next(&state),
				random_text(&state, &arena, 64, false),
				random_text(&state, &arena, 1024, true),
				random_text(&state, &arena, 1024, true),
				random_text(&state, &arena, 1024, true),
				next(&state),
			};
		sent.n_counters = 2;
		sent.counters[0] = (struct handover_counter){ "a", next(&state) };
		sent.counters[1] = (struct handover_counter){ "b", next(&state) };
		handover_add_summary(&text, &sent);
		expect(text.len <= HANDOVER_BYTES_MAX);
		expect_eq(handover_parse_answer(text.data, text.len, &arena, &got, NULL), 0);
		expect_eq(got.n_denials + got.n_denials_left_out,
			  sent.n_denials + sent.n_denials_left_out);
		expect_same_summary(&sent, &got);
	}
}

static const struct test tests[] = {
	TEST(listeners_of_three_families_arrive),
	TEST(a_sealed_policy_cannot_change),
	TEST(refuses_a_policy_that_could_change),
	TEST(refuses_listeners_that_are_none),
	TEST(refuses_another_number_of_fds),
	TEST(tells_the_end_from_a_closed_socket),
	TEST(refuses_packets_that_are_none),
	TEST(refuses_more_listeners_than_a_sandbox_has),
	TEST(refuses_a_packet_that_is_too_long),
	TEST(a_refusal_arrives_with_its_three_lines),
	TEST(refuses_answers_that_are_none),
	TEST(a_socket_comes_only_with_the_answer_that_needs_it),
	TEST(a_summary_that_is_too_long_says_what_it_leaves_out),
	TEST(whatever_is_written_is_read_again),
	TEST(whatever_is_summed_up_is_read_again),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
