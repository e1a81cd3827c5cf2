/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A small program that uses the same features as the planned ones: fields of kernel structs located
 * at load time, an array map, and task storage. It tests how BPF programs are built and loaded.
 *
 * A new process gets the value of its parent plus one; without a value it starts at zero, so the
 * value is the number of observed forks in its ancestry.
 */
#include "kernel-types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum {
	COUNT_PROCESSES,
	COUNT_THREADS,
	N_COUNTS,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, N_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} generations SEC(".maps");

SEC("tp_btf/sched_process_fork")
int BPF_PROG(count_forks, struct task_struct *parent, struct task_struct *child)
{
	__u32 key = child->pid == child->tgid ? COUNT_PROCESSES : COUNT_THREADS;
	__u64 *count = bpf_map_lookup_elem(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	if (key == COUNT_THREADS)
		return 0;

	__u32 *parents = bpf_task_storage_get(&generations, parent->group_leader, NULL, 0);
	__u32 *mark =
		bpf_task_storage_get(&generations, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (mark)
		*mark = parents ? *parents + 1 : 0;
	return 0;
}
