/* SPDX-License-Identifier: MIT */

#include "proxy/resolver.h"

#include "resolver-rig.h"

#define ZONE                                                                                       \
	"{\"both.test\": {\"A\": [\"192.0.2.1\", \"192.0.2.2\"], \"AAAA\": [\"2001:db8::1\"]},"    \
	" \"ipv4.test\": {\"A\": [\"192.0.2.4\"]},"                                                \
	" \"ipv6.test\": {\"AAAA\": [\"2001:db8::6\"]},"                                           \
	" \"mapped.test\": {\"AAAA\": [\"::ffff:127.0.0.1\"]},"                                    \
	" \"empty.test\": {},"                                                                     \
	" \"servfail.test\": {\"rcode\": \"SERVFAIL\"},"                                           \
	" \"refused.test\": {\"rcode\": \"REFUSED\"},"                                             \
	" \"silent.test\": {\"drop\": true},"                                                      \
	" \"cut.test\": {\"A\": [\"192.0.2.5\"], \"truncate\": true},"                             \
	" \"alias.test\": {\"CNAME\": \"second.test\"},"                                           \
	" \"second.test\": {\"CNAME\": \"third.test\"},"                                           \
	" \"third.test\": {\"CNAME\": \"both.test\"},"                                             \
	" \"circle.test\": {\"CNAME\": \"circle.test\"},"                                          \
	" \"32.test\": {\"A\": 16, \"AAAA\": 16},"                                                 \
	" \"33.test\": {\"A\": 16, \"AAAA\": 17},"                                                 \
	" \"40.test\": {\"A\": 40},"                                                               \
	" \"forged.test\": {\"A\": [\"192.0.2.7\"], \"AAAA\": [\"2001:db8::7\"],"                  \
	"  \"forge\": [\"id\", \"question\", \"port\", \"garbage\"]},"                             \
	" \"rebinds.test\": [{\"A\": [\"192.0.2.8\"]}, {\"A\": [\"127.0.0.1\"]}],"                 \
	" \"short.search.test\": {\"A\": [\"192.0.2.9\"]},"                                        \
	" \"*.many.test\": {\"A\": [\"192.0.2.10\"]},"                                             \
	" \"*.silent.test\": {\"drop\": true}}"

/* ---- answers of the DNS ---- */

static void finds_addresses_of_both_families(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);
	const struct resolver_answer *answer = rig_find(&rig, "both.test");

	expect_eq(answer->status, RESOLVER_FOUND);
	expect_eq(answer->n, 3);
	expect(rig_has(answer, "192.0.2.1"));
	expect(rig_has(answer, "192.0.2.2"));
	expect(rig_has(answer, "2001:db8::1"));
}

static void finds_addresses_of_one_family(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);

	expect_eq(rig_find(&rig, "ipv4.test")->n, 1);
	expect(rig_has(&rig.last, "192.0.2.4"));
	expect_eq(rig_find(&rig, "ipv6.test")->n, 1);
	expect(rig_has(&rig.last, "2001:db8::6"));
	expect_eq(rig_find(&rig, "mapped.test")->n, 1);
	expect(rig_has(&rig.last, "::ffff:127.0.0.1"));
}

static void finds_the_name_in_any_case(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);

	expect_eq(rig_find(&rig, "IPv4.Test.")->n, 1);
	expect(rig_has(&rig.last, "192.0.2.4"));
}

static void finds_localhost_without_asking(void)
{
	_cleanup_rig_ struct rig rig = rig_new(NULL, LONG_USEC);

	expect_eq(rig_find(&rig, "localhost")->status, RESOLVER_FOUND);
	expect(rig_has(&rig.last, "127.0.0.1") || rig_has(&rig.last, "::1"));
}

static void tells_each_failure(void)
{
	static const struct {
		const char *name;
		enum resolver_status status;
	} cases[] = {
		{ "nothing.test", RESOLVER_NOT_FOUND }, { "empty.test", RESOLVER_NOT_FOUND },
		{ "servfail.test", RESOLVER_FAILED },	{ "refused.test", RESOLVER_FAILED },
		{ "circle.test", RESOLVER_NOT_FOUND },	{ "hidden.onion", RESOLVER_NOT_FOUND },
		{ "silent.test", RESOLVER_TIMED_OUT },
	};
	_cleanup_rig_ struct rig rig = rig_new(ZONE, SHORT_USEC);

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		expect_eq(rig_find(&rig, cases[i].name)->status, cases[i].status);
		expect_eq(rig.last.n, 0);
	}
}

static void fails_where_no_server_listens(void)
{
	_cleanup_rig_ struct rig rig = rig_new(NULL, LONG_USEC);

	expect_eq(rig_find(&rig, "one.test")->status, RESOLVER_FAILED);
}

static void asks_over_tcp_after_a_truncated_answer(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);

	expect_eq(rig_find(&rig, "cut.test")->n, 1);
	expect(rig_has(&rig.last, "192.0.2.5"));
}

static void follows_a_chain_of_aliases(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);

	expect_eq(rig_find(&rig, "alias.test")->n, 3);
	expect(rig_has(&rig.last, "192.0.2.1"));
	expect(rig_has(&rig.last, "2001:db8::1"));
}

static void refuses_more_than_32_addresses(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);

	expect_eq(rig_find(&rig, "32.test")->status, RESOLVER_FOUND);
	expect_eq(rig.last.n, 32);
	expect_eq(rig_find(&rig, "33.test")->status, RESOLVER_TOO_MANY);
	expect_eq(rig.last.n, 0);
	expect_eq(rig_find(&rig, "40.test")->status, RESOLVER_TOO_MANY);
}

static void ignores_forged_answers(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);

	expect_eq(rig_find(&rig, "forged.test")->n, 2);
	expect(rig_has(&rig.last, "192.0.2.7"));
	expect(rig_has(&rig.last, "2001:db8::7"));
}

static void keeps_no_answer(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);

	expect(rig_has(rig_find(&rig, "rebinds.test"), "192.0.2.8"));
	expect(rig_has(rig_find(&rig, "rebinds.test"), "127.0.0.1"));
}

/* Both variables belong to c-ares' usual configuration. */
static void asks_for_no_other_name(void)
{
	char aliases[] = "/tmp/sbx-aliases-XXXXXX";
	int fd = mkstemp(aliases);
	struct rig rig;

	expect(fd >= 0 && dprintf(fd, "short ipv4.test\n") > 0);
	expect(setenv("LOCALDOMAIN", "search.test", 1) == 0);
	expect(setenv("HOSTALIASES", aliases, 1) == 0);
	rig = rig_new(ZONE, LONG_USEC);
	expect(unsetenv("LOCALDOMAIN") == 0 && unsetenv("HOSTALIASES") == 0);
	expect_eq(rig_find(&rig, "short")->status, RESOLVER_NOT_FOUND);
	expect_eq(rig_find(&rig, "short.search.test")->n, 1);
	rig_deinit(&rig);
	close_fd(&fd);
	expect(unlink(aliases) == 0);
}

/* ---- names ---- */

/* 253 bytes, the most that the DNS can carry. */
static void long_name(char ret[300], const char *end)
{
	size_t n = 253 - strlen(end);

	memset(ret, 'a', n);
	for (size_t i = 49; i + 2 < n; i += 50)
		ret[i] = '.';
	ret[n - 1] = '.';
	memcpy(ret + n, end, strlen(end) + 1);
}

static void finds_a_name_of_253_bytes(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);
	char name[300];

	long_name(name, "many.test");
	expect_eq(strlen(name), 253);
	expect_eq(rig_find(&rig, name)->n, 1);
	expect(rig_has(&rig.last, "192.0.2.10"));
}

static void refuses_what_is_no_name(void)
{
	static const char *const names[] = { "",	  ".",	    "a..test",	"a b.test",
					     "127.0.0.1", "[::1]",  "::1",	"a\\.test",
					     "1.2.3",	  "a/test", "a\n.test", ".test" };
	_cleanup_rig_ struct rig rig = rig_new(NULL, LONG_USEC);
	struct resolver_query *query = NULL;
	char name[300];

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		expect_eq(resolver_ask(rig.resolver, names[i], rig_answered, &rig, &query),
			  -EINVAL);
	long_name(name, "many.testt");
	memmove(name + 1, name, strlen(name) + 1);
	expect_eq(resolver_ask(rig.resolver, name, rig_answered, &rig, &query), -EINVAL);
	expect(!query);
}

static void refuses_servers_that_are_no_addresses(void)
{
	static const char *const lists[] = { "",  "dns.test",	     "127.0.0.1:53,dns.test",
					     ",", "127.0.0.1:65536", "[::1]:0" };
	_cleanup_rig_ struct rig rig = rig_new(NULL, LONG_USEC);

	for (size_t i = 0; i < N_ELEMENTS(lists); i++) {
		const struct resolver_options options = { .servers = lists[i],
							  .timeout_usec = LONG_USEC };
		struct resolver *resolver = NULL;
		struct sbx_error err = { .code = 0 };

		expect_eq(resolver_new(rig.ready, &options, &resolver, &err), -EINVAL);
		expect(strstr(err.fix, "127.0.0.1:5353"));
	}
}

/* ---- many queries ---- */

static void answers_a_thousand_at_once(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);
	char name[64];

	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "n%d.many.test", i);
		(void)rig_ask(&rig, name);
	}
	rig_turn_until(&rig, 1000);
	expect_eq(rig.n_of[RESOLVER_FOUND], 1000);
}

static void tells_a_cancelled_query_nothing(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);
	struct resolver_query *queries[600];
	char name[64];

	for (size_t i = 0; i < N_ELEMENTS(queries); i++) {
		(void)snprintf(name, sizeof(name), "n%zu.many.test", i);
		queries[i] = rig_ask(&rig, name);
	}
	/* Those in flight and those that wait. */
	for (size_t i = 0; i < N_ELEMENTS(queries); i += 2)
		resolver_cancel(queries[i]);
	rig_turn_until(&rig, 300);
	/* A query that is asked after them is answered after them. */
	expect_eq(rig_find(&rig, "both.test")->n, 3);
	expect_eq(rig.n_answers, 301);
}

static void ends_with_open_queries(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);
	char name[64];

	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "n%d.silent.test", i);
		(void)rig_ask(&rig, name);
	}
	rig.resolver = resolver_free(rig.resolver);
	expect_eq(rig.n_answers, 0);
}

static void end_resolver(void *userdata, const struct resolver_answer *answer)
{
	struct rig *rig = userdata;

	rig_answered(rig, answer);
	rig->resolver = resolver_free(rig->resolver);
}

static void can_be_freed_by_a_callback(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);
	struct resolver_query *query;

	expect_eq(resolver_ask(rig.resolver, "both.test", end_resolver, &rig, &query), 0);
	(void)rig_ask(&rig, "silent.test");
	rig_turn_until(&rig, 1);
	expect(!rig.resolver);
}

/* ---- the process ---- */

static void wait_for_process(struct rig *rig)
{
	expect(rig_find(rig, "localhost")->status == RESOLVER_FOUND);
}

static void keeps_nothing_of_its_parent(void)
{
	sigset_t terminate, before;
	struct rig rig;

	(void)sigemptyset(&terminate);
	(void)sigaddset(&terminate, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &terminate, &before);
	rig = rig_new(NULL, LONG_USEC);
	wait_for_process(&rig);
	expect_str(rig.seen->name, "sbx-resolver");
	expect_eq(rig.seen->n_fds, 4);
	expect(!rig.seen->blocks_signals);
	expect(getsid(rig.seen->pid) == rig.seen->pid);
	rig_deinit(&rig);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

static void fails_all_queries_when_its_process_is_killed(void)
{
	_cleanup_rig_ struct rig rig = rig_new(ZONE, LONG_USEC);
	struct resolver_query *cancelled;
	char name[64];

	wait_for_process(&rig);
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "n%d.silent.test", i);
		(void)rig_ask(&rig, name);
	}
	expect(kill(rig.seen->pid, SIGKILL) == 0);
	rig_turn_until(&rig, 301);
	expect_eq(rig.n_of[RESOLVER_FAILED], 300);

	cancelled = rig_ask(&rig, "both.test");
	(void)rig_ask(&rig, "both.test");
	resolver_cancel(cancelled);
	rig_turn_until(&rig, 302);
	expect_eq(rig_find(&rig, "both.test")->status, RESOLVER_FAILED);
	expect_eq(rig.n_of[RESOLVER_FAILED], 302);
}

static void fails_without_confinement(void)
{
	_cleanup_rig_ struct rig rig = { .servers = NULL };

	rig_start(&rig, NULL);
	rig.seen->fails_with = -EPERM;
	rig_resolve(&rig, LONG_USEC);
	expect_eq(rig_find(&rig, "localhost")->status, RESOLVER_FAILED);
}

static void process_ends_with_its_parent(void)
{
	struct rig rig = rig_new(NULL, LONG_USEC);
	struct pollfd gone = { .events = POLLIN };
	pid_t parent;

	rig.resolver = resolver_free(rig.resolver);
	rig.seen->pid = 0;
	expect(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	parent = fork();
	if (parent == 0) {
		(void)ready_free(rig.ready);
		(void)sd_event_unref(rig.event);
		expect(sd_event_new(&rig.event) >= 0 && ready_new(rig.event, &rig.ready) == 0);
		rig_resolve(&rig, LONG_USEC);
		wait_for_process(&rig);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	expect(waitpid(parent, NULL, WUNTRACED) == parent);
	expect(rig.seen->pid > 0);
	gone.fd = pidfd_of(rig.seen->pid);
	expect(gone.fd >= 0);
	expect(kill(parent, SIGKILL) == 0 && waitpid(parent, NULL, 0) == parent);
	expect_eq(poll(&gone, 1, DEADLINE_MSEC), 1);
	expect(waitpid(rig.seen->pid, NULL, 0) == rig.seen->pid);
	expect(prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
	close_fd(&gone.fd);
	rig_deinit(&rig);
}

/* ---- a process that was taken over ---- */

static struct resolver_reply good_reply(uint64_t number)
{
	struct resolver_answer answer = { .status = RESOLVER_FOUND, .n = 1 };
	struct resolver_reply reply;

	resolver_reply_write(number, &answer, &reply);
	return reply;
}

static uint64_t take_number(int fd)
{
	struct resolver_question question;

	return recv(fd, &question, sizeof(question), 0) == (ssize_t)sizeof(question)
		       ? question.number
		       : 0;
}

static void send_reply(int fd, const struct resolver_reply *reply, size_t n_bytes)
{
	(void)send(fd, reply, n_bytes, MSG_NOSIGNAL);
	(void)pause();
}

static void answer_well(int fd)
{
	struct resolver_reply reply = good_reply(take_number(fd));

	send_reply(fd, &reply, sizeof(reply));
}

static void answer_another_question(int fd)
{
	struct resolver_reply reply = good_reply(take_number(fd) + 1);

	send_reply(fd, &reply, sizeof(reply));
}

static void answer_an_older_question(int fd)
{
	struct resolver_reply reply = good_reply(take_number(fd) - RESOLVER_IN_FLIGHT_MAX);

	send_reply(fd, &reply, sizeof(reply));
}

static void answer_nothing(int fd)
{
	struct resolver_reply reply = good_reply(take_number(fd) * 0);

	send_reply(fd, &reply, sizeof(reply));
}

static void answer_too_little(int fd)
{
	struct resolver_reply reply = good_reply(take_number(fd));

	send_reply(fd, &reply, sizeof(reply) - 1);
}

static void answer_too_much(int fd)
{
	struct resolver_reply replies[2] = { good_reply(take_number(fd)) };

	send_reply(fd, replies, sizeof(replies));
}

static void answer_with_too_many(int fd)
{
	struct resolver_reply reply = good_reply(take_number(fd));

	reply.n = RESOLVER_ADDRESSES_MAX + 1;
	send_reply(fd, &reply, sizeof(reply));
}

static void hang_up(int fd)
{
	(void)take_number(fd);
	(void)close(fd);
	(void)pause();
}

static enum resolver_status status_after(void (*instead)(int fd))
{
	_cleanup_rig_ struct rig rig = { .servers = NULL };

	rig_start(&rig, NULL);
	rig.seen->instead = instead;
	rig_resolve(&rig, LONG_USEC);
	return rig_find(&rig, "one.test")->status;
}

static void fails_when_its_process_lies(void)
{
	static void (*const liars[])(int fd) = {
		answer_another_question,
		answer_an_older_question,
		answer_nothing,
		answer_too_little,
		answer_too_much,
		answer_with_too_many,
		hang_up,
	};

	expect_eq(status_after(answer_well), RESOLVER_FOUND);
	for (size_t i = 0; i < N_ELEMENTS(liars); i++)
		expect_eq(status_after(liars[i]), RESOLVER_FAILED);
}

static void refuses_replies_that_are_not_well_formed(void)
{
	struct resolver_reply good = good_reply(1), reply;
	struct resolver_answer answer;

	expect_eq(resolver_reply_read(&good, &answer), 0);
	reply = good;
	reply.status = N_RESOLVER_STATUSES;
	expect_eq(resolver_reply_read(&reply, &answer), -EBADMSG);
	reply = good;
	reply.status = UINT32_MAX;
	expect_eq(resolver_reply_read(&reply, &answer), -EBADMSG);
	reply = good;
	reply.status = RESOLVER_NOT_FOUND;
	expect_eq(resolver_reply_read(&reply, &answer), -EBADMSG);
	reply = good;
	reply.n = 0;
	expect_eq(resolver_reply_read(&reply, &answer), -EBADMSG);
	reply.n = UINT32_MAX;
	expect_eq(resolver_reply_read(&reply, &answer), -EBADMSG);
	reply = good;
	reply.addresses[0].family = 5;
	expect_eq(resolver_reply_read(&reply, &answer), -EBADMSG);
	reply.n = 2;
	reply.addresses[0].family = 4;
	expect_eq(resolver_reply_read(&reply, &answer), -EBADMSG);
}

static const struct test tests[] = {
	TEST(finds_addresses_of_both_families),
	TEST(finds_addresses_of_one_family),
	TEST(finds_the_name_in_any_case),
	TEST(finds_localhost_without_asking),
	TEST(tells_each_failure),
	TEST(fails_where_no_server_listens),
	TEST(asks_over_tcp_after_a_truncated_answer),
	TEST(follows_a_chain_of_aliases),
	TEST(refuses_more_than_32_addresses),
	TEST(ignores_forged_answers),
	TEST(keeps_no_answer),
	TEST(asks_for_no_other_name),
	TEST(finds_a_name_of_253_bytes),
	TEST(refuses_what_is_no_name),
	TEST(refuses_servers_that_are_no_addresses),
	TEST(answers_a_thousand_at_once),
	TEST(tells_a_cancelled_query_nothing),
	TEST(ends_with_open_queries),
	TEST(can_be_freed_by_a_callback),
	TEST(keeps_nothing_of_its_parent),
	TEST(fails_all_queries_when_its_process_is_killed),
	TEST(fails_without_confinement),
	TEST(process_ends_with_its_parent),
	TEST(fails_when_its_process_lies),
	TEST(refuses_replies_that_are_not_well_formed),
	TEST_END,
};

static void asks_the_name_server_of_the_tests(void)
{
	skip("tests/tool/proxy-dns.py and the modules of Python that it needs are not here");
}

/* The virtual machine of the tests has only a minimal Python. */
static const struct test without_server[] = { TEST(asks_the_name_server_of_the_tests), TEST_END };

int main(void)
{
	_cleanup_text_ struct text script = TEXT_INIT;

	text_addf(&script, "%s/tests/tool/proxy-dns.py", getenv("SBX_SOURCE"));
	return test_run(access(text_string(&script), R_OK) == 0 ? tests : without_server);
}
