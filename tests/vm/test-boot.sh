#!/bin/sh
# SPDX-License-Identifier: MIT
# The virtual machine has the properties that the other tests rely on.
. "$(dirname "$0")/tap.sh"

reaches_running()
{
	state=$(systemctl is-system-running --wait) || :
	systemctl --no-pager --failed
	[ "$state" = running ] || fail "the system is $state"
}

has_a_root_that_can_be_pivoted()
{
	[ "$(findmnt -no FSTYPE /)" = ext4 ]
	unshare --mount sh -euxc '
		mount --rbind / /mnt
		mkdir -p /mnt/tmp/old
		cd /mnt
		pivot_root . tmp/old
		rmdir /tmp/old 2>/dev/null && exit 1
		umount -l /tmp/old
		rmdir /tmp/old'
}

has_only_cgroup_v2()
{
	[ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]
	[ -z "$(awk '$3 == "cgroup"' /proc/mounts)" ]
}

offers_the_controllers_that_limits_need()
{
	for controller in cpu memory pids; do
		grep -qw "$controller" /sys/fs/cgroup/cgroup.controllers || fail "$controller is missing"
	done
}

# A delegated cgroup subtree, in which an ordinary user can create cgroups with limits.
delegates_controllers_to_a_service_of_a_plain_user()
{
	cat >/tmp/delegated <<-'SCRIPT'
		own=/sys/fs/cgroup$(sed s/^0::// /proc/self/cgroup)
		mkdir "$own/leaf" "$own/sandbox"
		echo $$ >"$own/leaf/cgroup.procs"
		echo '+cpu +memory +pids' >"$own/cgroup.subtree_control"
		echo 64M >"$own/sandbox/memory.max"
		echo 7 >"$own/sandbox/pids.max"
		echo '50000 100000' >"$own/sandbox/cpu.max"
		[ "$(cat "$own/sandbox/memory.max")" = 67108864 ]
		[ "$(cat "$own/sandbox/pids.max")" = 7 ]
	SCRIPT
	systemd-run --quiet --wait --pipe -p Delegate=yes -p User=nobody sh -eux /tmp/delegated
}

kills_what_exceeds_a_memory_limit()
{
	result=$(systemd-run --quiet --wait --pipe -p MemoryMax=32M -p MemorySwapMax=0 \
		python3 -c 'bytearray(256 << 20)' 2>&1) && fail 'it lived'
	printf '%s\n' "$result"
}

has_landlock_and_bpf_among_its_security_modules()
{
	for module in landlock bpf; do
		tr , '\n' </sys/kernel/security/lsm | grep -qx "$module" ||
			fail "$module is missing in $(cat /sys/kernel/security/lsm)"
	done
}

has_the_types_that_bpf_relocates_with() { [ -s /sys/kernel/btf/vmlinux ]; }

has_its_modules() { modprobe overlay; modprobe veth; }

keeps_core_dumps()
{
	before=$(find /var/lib/systemd/coredump -type f | wc -l)
	sh -c 'kill -ABRT $$' || :
	one_more() { [ "$(find /var/lib/systemd/coredump -type f -name 'core.*' ! -name '.*' | wc -l)" -gt "$before" ]; }
	within 60 one_more
	rm -f /var/lib/systemd/coredump/core.sh.*
}

run_tests \
	reaches_running \
	has_a_root_that_can_be_pivoted \
	has_only_cgroup_v2 \
	offers_the_controllers_that_limits_need \
	delegates_controllers_to_a_service_of_a_plain_user \
	kills_what_exceeds_a_memory_limit \
	has_landlock_and_bpf_among_its_security_modules \
	has_the_types_that_bpf_relocates_with \
	has_its_modules \
	keeps_core_dumps
