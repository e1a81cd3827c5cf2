/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* "Dual MIT/GPL", as the kernel spells it. */
#pragma once

/*
 * The kernel's types, as far as our programs read them
 *
 * A generated vmlinux.h would tie the build to the machine that it runs on. These few structs are
 * written by hand instead and name only the fields that are used: preserve_access_index makes the
 * loader look up each field's real offset, by its name, in the kernel that is running.
 */

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;

/* bpf_helper_defs.h names them; byte order is the business of whoever stores into them. */
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* Numbers of the kernel's interface to user space (linux/bpf.h), which never change. */
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
