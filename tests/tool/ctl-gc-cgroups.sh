#!/bin/bash
# SPDX-License-Identifier: MIT
CTL_CGROUPS=1
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

mount=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
top=$mount/gc-test-$$
if [ -z "$mount" ] || ! mkdir "$top" 2>/dev/null; then
	skip removes_cgroups_without_a_sandbox 'no cgroup v2 in which we may make one'
	finish
	exit
fi
trap 'end >/dev/null 2>&1; find "$top" -depth -type d -exec rmdir {} +' EXIT
# old NAME...: cgroups that are older than any sandbox that may just be starting.
old() {
	for name in "$@"; do
		mkdir "$top/$name"
		touch -d '1 hour ago' "$top/$name"
	done
}
is_left() { [ -d "$top/$1" ]; }
is_removed() { [ ! -e "$top/$1" ]; }

old sbx-ghost other sbx-unit.scope sbx-unit.service "sbx-.."
mkdir "$top/sbx-young"
old sbx-full
old sbx-future
touch -d 'now 1 year' "$top/sbx-future"
sleep 1000 &
inside=$!
echo "$inside" >"$top/sbx-full/cgroup.procs"
begin lives -- sleep 1000
old sbx-lives
touch "$top/sbx-young"

sbx-ctl gc --dry-run >said
check a_dry_run_names_it grep -qx 'ghost: would remove its cgroup' said
check a_dry_run_leaves_it is_left sbx-ghost
sbx-ctl gc >said
check says_which_it_removes grep -qx 'ghost: removed its cgroup' said
check a_cgroup_without_a_sandbox_is_removed is_removed sbx-ghost
check so_is_one_from_before_the_clock_was_set_back is_removed sbx-future
check one_that_has_just_been_made_is_left is_left sbx-young
check one_with_processes_is_left is_left sbx-full
check its_processes_live test -e "/proc/$inside"
check that_of_a_sandbox_is_left is_left sbx-lives
check those_of_others_are_left is_left other
check those_of_a_service_manager_are_left is_left sbx-unit.scope
kill "$inside"
supervisor ended "$inside"
finish
