/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* "Dual MIT/GPL", as the kernel spells it. */
#pragma once

/*
 * Kernel types with the fields that our programs read
 *
 * A generated vmlinux.h would tie the build to the kernel of the build machine. These structs are
 * written by hand and name only the fields that are used: with preserve_access_index the loader
 * looks up the offset of each field by its name in the running kernel (CO-RE).
 */

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;

/* bpf_helper_defs.h needs the type; programs must convert the byte order themselves. */
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* UAPI numbers of linux/bpf.h, which never change. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	__s32 pid;  /* of the thread */
	__s32 tgid; /* of the process */
	struct task_struct *real_parent;
	struct task_struct *group_leader;
};

#pragma clang attribute pop
