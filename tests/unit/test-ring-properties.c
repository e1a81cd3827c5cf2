/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include <sbx/ring.h>

#include "policy/keys.h"
#include "ring/properties.h"

#include "test.h"

#define MIB 1048576

static struct sbx_ring_config configured(const char *key, const char *value)
{
	struct sbx_ring_config config = { .size = sizeof(config) };
	struct sbx_error err = { 0 };

	expect_eq(sbx_ring_configure(&config, key, value, &err), 0);
	expect_eq(err.code, 0);
	return config;
}

static void sets_each_transport_by_name(void)
{
	expect_eq(configured("ipc_transport", "shared_memory").transport, SBX_RING_SHARED_MEMORY);
	expect_eq(configured("ipc_transport", "unix_socket").transport, SBX_RING_UNIX_SOCKET);
	expect_eq(configured("ipc_transport", "tcp").transport, SBX_RING_TCP);
}

/* The keys and transports of a module's manifest, which lib/policy/keys.c lists by itself. */
static void a_policy_has_the_same_keys_and_transports(void)
{
	static const char below[] = "sandbox.config.properties.";
	const char *const *transports = NULL;
	size_t n_keys = 0, n_transports = 0;

	for (const struct policy_key *row = policy_keys(); row->path; row++) {
		const char *key = policy_key_name(row);
		struct sbx_ring_config config = { .size = sizeof(config) };

		if (strncmp(row->path, below, strlen(below)) != 0)
			continue;
		expect_eq(sbx_ring_configure(&config, key, "", NULL), 0);
		if (strcmp(key, "ipc_transport") == 0)
			transports = row->choices;
		n_keys++;
	}
	expect_eq(n_keys, 5);
	expect(transports != NULL);
	for (; transports && transports[n_transports]; n_transports++)
		expect_str(transports[n_transports], ring_transport_names[n_transports]);
	expect(!ring_transport_names[n_transports]);
}

static void an_empty_value_is_the_default_of_the_seed(void)
{
	struct sbx_ring_config config = { .size = sizeof(config),
					  .transport = SBX_RING_TCP,
					  .total_bytes = 1,
					  .timeout_usec = 1,
					  .endpoint = "x" };

	expect_eq(sbx_ring_configure(&config, "ipc_transport", "", NULL), 0);
	expect_eq(config.transport, SBX_RING_SHARED_MEMORY);
	expect_eq(sbx_ring_configure(&config, "ipc_shm_size", "", NULL), 0);
	expect_eq(config.total_bytes, 4 * MIB);
	config.total_bytes = 1;
	expect_eq(sbx_ring_configure(&config, "ipc_buffer_size", NULL, NULL), 0);
	expect_eq(config.total_bytes, 4 * MIB);
	expect_eq(sbx_ring_configure(&config, "ipc_timeout_ms", "", NULL), 0);
	expect_eq(config.timeout_usec, 5000000);
	expect_eq(sbx_ring_configure(&config, "ipc_endpoint", "", NULL), 0);
	expect(!config.endpoint);
}

static void takes_the_seeds_examples(void)
{
	expect_eq(configured("ipc_shm_size", "8388608").total_bytes, 8 * MIB);
	expect_eq(configured("ipc_buffer_size", "1024").total_bytes, MIB);
	expect_str(configured("ipc_endpoint", "localhost:9000").endpoint, "localhost:9000");
	expect_eq(configured("ipc_timeout_ms", "250").timeout_usec, 250000);
}

static void a_size_becomes_the_next_one_that_a_channel_can_have(void)
{
	expect_eq(configured("ipc_shm_size", "1").total_bytes, 2 * SBX_RING_CAPACITY_MIN);
	expect_eq(configured("ipc_shm_size", "4194305").total_bytes, 8 * MIB);
	expect_eq(configured("ipc_buffer_size", "4097").total_bytes, 8 * MIB);
	expect_eq(configured("ipc_shm_size", "2147483648").total_bytes,
		  2 * (long long)SBX_RING_CAPACITY_MAX);
	expect_eq(configured("ipc_buffer_size", "2097152").total_bytes,
		  2 * (long long)SBX_RING_CAPACITY_MAX);
}

static void the_last_of_two_sizes_counts(void)
{
	struct sbx_ring_config config = configured("ipc_shm_size", "8388608");

	expect_eq(sbx_ring_configure(&config, "ipc_buffer_size", "1024", NULL), 0);
	expect_eq(config.total_bytes, MIB);
}

static const struct {
	const char *key, *value, *why, *fix;
} refusals[] = {
	{ "ipc_transport", "UDP_SOCKET", "UDP loses messages", "unix_socket with datagrams" },
	{ "ipc_transport", "udp", "UDP loses messages", "tcp" },
	{ "ipc_transport", "GRPC", "no HTTP/2", "tcp" },
	{ "ipc_transport", "TCP_SOCKET", "another name", "'tcp'" },
	{ "ipc_transport", "shared_memmory", "no such transport", "mean 'shared_memory'?" },
	{ "ipc_transport", "UNIX_SOCKET", "no such transport", "mean 'unix_socket'?" },
	{ "ipc_transport", "pigeon", "no such", "shared_memory, unix_socket, tcp" },
	{ "ipc_shm_size", "0", "greater than 0", "larger" },
	{ "ipc_shm_size", "4MiB", "'MiB' follows the digits", "'4'" },
	{ "ipc_shm_size", "-1", "does not begin with a digit", "whole number" },
	{ "ipc_shm_size", " 4096", "does not begin with a digit", "whole number" },
	{ "ipc_shm_size", "2147483649", "more than 2147483648", "4194304" },
	{ "ipc_shm_size", "18446744073709551616", "more than 2147483648", "4194304" },
	{ "ipc_buffer_size", "0", "greater than 0", "larger" },
	{ "ipc_buffer_size", "2097153", "more than 2097152", "4096" },
	{ "ipc_buffer_size", "18014398509481984", "more than 2097152", "4096" }, /* 2^64 / 1024 */
	{ "ipc_buffer_size", "18446744073709551615", "more than 2097152", "4096" },
	{ "ipc_buffer_size", "4096 slots", "follows the digits", "'4096'" },
	{ "ipc_timeout_ms", "0", "greater than 0", "larger" },
	{ "ipc_timeout_ms", "5s", "'s' follows the digits", "'5'" },
	{ "ipc_timeout_ms", "18446744073709552", "more than 18446744073709551", "5000" },
	{ "ipc_timeout_ms", "1e3", "follows the digits", "'1'" },
};

static void refuses_wrong_values_and_changes_nothing(void)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct sbx_ring_config config = { .size = sizeof(config), .timeout_usec = 7 };
		const struct sbx_ring_config before = config;
		struct sbx_error err = { 0 };

		printf("# %s=%s\n", refusals[i].key, refusals[i].value);
		expect_eq(sbx_ring_configure(&config, refusals[i].key, refusals[i].value, &err),
			  -EINVAL);
		expect_eq(err.code, -EINVAL);
		expect(strstr(err.what, refusals[i].key) && strstr(err.what, refusals[i].value));
		expect(strstr(err.why, refusals[i].why));
		expect(strstr(err.fix, refusals[i].fix));
		expect_eq(config.transport, before.transport);
		expect_eq(config.total_bytes, before.total_bytes);
		expect_eq(config.timeout_usec, before.timeout_usec);
	}
}

static void a_time_out_in_milliseconds_never_means_forever(void)
{
	uint64_t longest = configured("ipc_timeout_ms", "18446744073709551").timeout_usec;

	expect(longest < SBX_RING_DEFAULT_TIMEOUT);
}

static void refuses_an_unknown_key_with_the_one_that_was_meant(void)
{
	struct sbx_ring_config config = { .size = sizeof(config) };
	struct sbx_error err = { 0 };

	expect_eq(sbx_ring_configure(&config, "ipc_shm_sise", "1", &err), -EINVAL);
	expect_str(err.what, "cannot set 'ipc_shm_sise' of a channel");
	expect_str(err.why, "there is no such property");
	expect(strstr(err.fix, "did you mean 'ipc_shm_size'?"));
	expect_eq(sbx_ring_configure(&config, "colour", "1", &err), -EINVAL);
	expect(!strstr(err.fix, "did you mean"));
	expect(strstr(err.fix, "ipc_transport, ipc_shm_size, ipc_buffer_size, ipc_endpoint, "
			       "ipc_timeout_ms"));
	expect_eq(sbx_ring_configure(&config, "", "1", &err), -EINVAL);
	expect_eq(sbx_ring_configure(&config, "colour", "1", NULL), -EINVAL);
}

static const struct test tests[] = {
	TEST(sets_each_transport_by_name),
	TEST(a_policy_has_the_same_keys_and_transports),
	TEST(an_empty_value_is_the_default_of_the_seed),
	TEST(takes_the_seeds_examples),
	TEST(a_size_becomes_the_next_one_that_a_channel_can_have),
	TEST(the_last_of_two_sizes_counts),
	TEST(refuses_wrong_values_and_changes_nothing),
	TEST(a_time_out_in_milliseconds_never_means_forever),
	TEST(refuses_an_unknown_key_with_the_one_that_was_meant),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
