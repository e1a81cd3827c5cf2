#!/bin/bash
# SPDX-License-Identifier: MIT
CTL_CGROUPS=1
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

mount=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
cgroup=$mount/sbx-test-$$
if [ -z "$mount" ] || ! mkdir "$cgroup" 2>/dev/null; then
	skip holds_it_by_its_cgroup 'no cgroup v2 in which we may make one'
	finish
	exit
fi
trap 'end >/dev/null 2>&1; rmdir "$cgroup/below" "$cgroup" 2>/dev/null' EXIT
# named ID DIRECTORY: writes this cgroup into the entry.
named() { sed -i "s|^{|{\"cgroup\": \"$2\", |" "$sandboxes/$1/state.json"; }
frozen() { grep -qx "frozen $1" "$cgroup/cgroup.events"; }

begin a -- sleep 1000
echo "$(member a init)" >"$cgroup/cgroup.procs"
named a "$cgroup"
run sbx-ctl pause a
check says_that_it_used_the_cgroup out_is 'a: paused (cgroup frozen)'
check the_cgroup_is_frozen frozen 1
check no_signal_was_sent test "$(process_state "$(member a init)")" != T
run sbx-ctl pause a
check pausing_it_twice_says_so out_is 'a: is paused already'
run sbx-ctl resume a
check resuming_thaws_it frozen 0

# The sandbox ends meanwhile: its cgroup was open when the kernel removed it, which a mount of a removed cgroup's file
# shows.
mkdir "$mount/sbx-ended-$$"
mount --bind "$mount/sbx-ended-$$/cgroup.freeze" "$cgroup/cgroup.freeze"
rmdir "$mount/sbx-ended-$$"
for verb in pause resume; do
	[ "$verb" = pause ] || touch "$sandboxes/a/paused"
	run sbx-ctl "$verb" a
	check "a_sandbox_that_ends_meanwhile_is_not_running_for_$verb" has_status 1
	check "the_end_is_the_reason_for_$verb" err_is "sbx-ctl: cannot $verb 'a'
  why: it has just ended
  fix: 'sbx-ctl list' shows its state"
done
umount "$cgroup/cgroup.freeze"
rm "$sandboxes/a/paused"

# An entry alone is not enough to freeze a cgroup.
mkdir "$mount/other-$$"
begin b -- sleep 1000
for place in "$mount/other-$$" "$mount" "$work" "$cgroup/../other-$$"; do
	cp "$sandboxes/b/state.json" saved
	named b "$place"
	sbx-ctl pause b >/dev/null 2>&1
	sbx-ctl resume b >/dev/null 2>&1
	cp saved "$sandboxes/b/state.json"
done
check a_cgroup_that_is_not_ours_is_left_alone grep -qx 'frozen 0' "$mount/other-$$/cgroup.events"
rmdir "$mount/other-$$"

# The supervisor, which would have removed the cgroup, was killed.
mkdir "$cgroup/below"
orphan a
run sbx-ctl gc
check gc_kills_the_processes_of_the_cgroup out_has 'a: killed its processes'
check gc_removes_the_cgroup_and_those_below test ! -e "$cgroup"
finish
