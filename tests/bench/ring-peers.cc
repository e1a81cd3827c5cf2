/* SPDX-License-Identifier: MIT */

/*
 * Peers of channels that are C++: ring-peers NAME BYTES BLOCK N_BLOCKS CPU CPU
 *
 * Two threads, each pinned to a CPU, as the library is meant to be used: copy a message in, copy it
 * out. Prints the median time of a message over the blocks, in ns. Only for "sbx-ring bench", which
 * starts it beside each measurement of a channel.
 */

#include <boost/lockfree/spsc_queue.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr size_t ring_bytes = 256 * 1024;
constexpr unsigned warm_up_blocks = 2;

struct settings {
	uint64_t block, n_blocks;
	int near, far;
};

template <size_t n_bytes> struct message {
	unsigned char bytes[n_bytes];
};

void pin(int cpu)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	(void)sched_setaffinity(0, sizeof(only), &only);
}

/* Returns ns a message, or a negative number if a message was lost. */
template <size_t n_bytes> double run_boost(const settings &settings)
{
	using clock = std::chrono::steady_clock;
	using message = message<n_bytes>;
	constexpr size_t n_slots = ring_bytes / n_bytes;
	static boost::lockfree::spsc_queue<message, boost::lockfree::capacity<n_slots>> queue;
	uint64_t n_messages = settings.block * settings.n_blocks;
	std::atomic<bool> is_ready{ false };
	uint64_t n_wrong = 0;

	std::thread far([&] {
		message got{};

		pin(settings.far);
		is_ready = true;
		for (uint64_t i = 0; i < n_messages; i++) {
			while (!queue.pop(got))
				;
			n_wrong += std::memcmp(got.bytes, &i, sizeof(uint32_t)) != 0;
		}
	});

	std::vector<double> times;
	message sent{};

	pin(settings.near);
	while (!is_ready)
		std::this_thread::yield();

	auto start = clock::now();

	for (uint64_t i = 0; i < n_messages; i++) {
		std::memcpy(sent.bytes, &i, sizeof(uint32_t));
		while (!queue.push(sent))
			;
		if ((i + 1) % settings.block == 0) {
			auto end = clock::now();

			times.push_back(
				std::chrono::duration<double, std::nano>(end - start).count() /
				static_cast<double>(settings.block));
			start = clock::now();
		}
	}
	far.join();
	if (n_wrong > 0 || times.size() <= warm_up_blocks)
		return -1;
	times.erase(times.begin(), times.begin() + warm_up_blocks);
	std::sort(times.begin(), times.end());
	return times[times.size() / 2];
}

struct row {
	const char *name, *n_bytes;
	double (*run)(const settings &);
};

const row rows[] = {
	{ "boost", "8", run_boost<8> },
	{ "boost", "64", run_boost<64> },
	{ "boost", "1024", run_boost<1024> },
};

} // namespace

int main(int argc, char *argv[])
{
	if (argc != 7)
		return 2;

	const settings settings = { std::strtoull(argv[3], nullptr, 10),
				    std::strtoull(argv[4], nullptr, 10), std::atoi(argv[5]),
				    std::atoi(argv[6]) };

	for (const row &row : rows) {
		if (std::strcmp(row.name, argv[1]) != 0 || std::strcmp(row.n_bytes, argv[2]) != 0)
			continue;

		double ns = row.run(settings);

		if (ns < 0)
			return 1;
		std::printf("%.3f\n", ns);
		return 0;
	}
	return 2;
}
