#!/bin/bash
# SPDX-License-Identifier: MIT
# If namespaces are forbidden, sbx-spawn refuses and says what to change, or runs with the tier "reduced" if the user
# accepts it.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

who=user
places
cd "$project" || exit 1
run spawn --require landlock --require seccomp --require net -- true
check layers_that_are_there_can_be_required has_status 0
run spawn --require landlok -- true
check a_layer_that_does_not_exist_is_refused has_status 125
check the_layers_that_there_are_are_listed err_has 'user, mount, pid, ipc, uts, net, cgroup-namespace, landlock,'
check the_layer_that_was_meant_is_named err_has "did you mean 'landlock'?"
run spawn --require cgroup -- true
if [ "$status" -eq 0 ]; then
	skip a_layer_that_is_not_there_is_refused 'this host gives us a cgroup'
else
	check a_layer_that_is_not_there_is_refused err_has cgroup
fi

whole=$(sbx-spawn --check)
wrong=''
for limit in 4 5 6 7 8 9 10 11 12; do
	run sh -c 'ulimit -n "$0" && exec sbx-spawn --check' "$limit"
	[ "$status" -eq 125 ] || [ "$out" = "$whole" ] || wrong="$wrong $limit"
done
check a_lack_of_open_files_is_no_property_of_the_host test -z "$wrong"

if [ "$(id -u)" -ne 0 ]; then
	skip without_user_namespaces_it_is_refused 'only root can forbid them to others'
	finish
	exit
fi
forbidden() { python3 "$SBX_SOURCE/tests/tool/no-userns.py" "$@"; }
run forbidden true
if [ "$status" -ne 0 ]; then
	skip without_user_namespaces_it_is_refused 'this host lets root make no user namespace'
	finish
	exit
fi
run forbidden sbx-spawn -- sh -c "touch '$project/trace'"
check without_user_namespaces_it_is_refused has_status 125
check the_error_names_the_sysctl err_has max_user_namespaces
check the_error_shows_the_fix err_has 'fix: sudo sysctl'
check nothing_was_run test ! -e "$project/trace"
run forbidden sbx-spawn --min-tier reduced -- true
check without_a_cgroup_reduced_is_refused has_status 125

# A cgroup that is delegated to the user. Its name must not look like one of sbx, or a gc of another test would remove
# it.
top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
cgroup=$top/tiers-test-$$
if [ -z "$top" ] || ! mkdir "$cgroup" 2>/dev/null; then
	skip reduced_holds_files 'this host has no cgroup v2 for us'
	finish
	exit
fi
# Its last process may still be exiting.
end() {
	eventually rmdir "$cgroup" 2>/dev/null
	rm -rf "$work"
}
trap end EXIT
chown -R "$user:$user" "$cgroup"
delegated() { (echo 0 >"$cgroup/cgroup.procs" && exec "$@"); }
reduced() { delegated python3 "$SBX_SOURCE/tests/tool/no-userns.py" sbx-spawn --min-tier reduced "$@"; }
echo precious >"$work/user/home/file"
chown "$user" "$work/user/home/file"
echo here >"$project/file"
run reduced -v -- cat file
check reduced_runs_where_it_is_accepted out_is here
check a_notice_names_the_layers_of_the_tier err_has 'reduced: landlock seccomp'
run reduced -q -- cat "$work/user/home/file"
check reduced_holds_files test "$status" -ne 0 -a "$status" -ne 125 -a -z "$out"
run reduced -q -- sh -c "echo x >'$work/user/home/file'; echo x >file"
check reduced_holds_writes test "$(cat "$work/user/home/file" file)" = "$(printf 'precious\nhere')"
setpriv --reuid="$user" --regid="$user" --clear-groups sleep 100 &
victim=$!
run reduced -q -- sh -c "kill -0 1 || kill -0 $victim || kill -0 $$"
check reduced_holds_signals test "$status" -ne 0 -a "$status" -ne 125
kill "$victim"
run reduced -q --time 300ms --grace 100ms -- sh -c 'setsid sleep 600 & setsid sleep 600'
check reduced_kills_the_whole_tree has_status 124
check reduced_leaves_no_cgroup test -z "$(find "$cgroup" -mindepth 1 -type d)"
exactly() { delegated setpriv --reuid="$user" --regid="$user" --clear-groups sbx-spawn -v --tier-exactly "$@"; }
run exactly reduced -- cat file
check reduced_exactly_is_taken_where_more_could_be_had err_has 'reduced: landlock seccomp'
check and_runs out_is here
unquiet() { delegated setpriv --reuid="$user" --regid="$user" --clear-groups sbx-spawn --tier-exactly reduced "$@"; }
if grep -qw pids "$cgroup/cgroup.controllers"; then
	skip the_number_of_processes_is_no_limit_and_that_is_said 'this host can limit it'
else
	run unquiet -- true
	check the_number_of_processes_is_no_limit_and_that_is_said \
		err_has "note: pids 4096 (default) is not enforced; 'sbx-spawn --check' shows what to change"
	run unquiet --template code-executor -- true
	check so_much_is_not_said_of_a_template eval 'has_status 0 && ! err_has "pids 100"'
fi
run exactly reduced --ptrace -- true
check reduced_traces_nothing has_status 125
for older in --tier --min-tier; do
	run delegated setpriv --reuid="$user" --regid="$user" --clear-groups sbx-spawn -v "$older" reduced -- true
	check "reduced_as_a_minimum_takes_more_with_$older" err_has 'full: user'
done
run delegated setpriv --reuid="$user" --regid="$user" --clear-groups sbx-spawn --require cgroup -- cat /proc/self/cgroup
check a_delegated_cgroup_is_used has_status 0
check the_full_tier_leaves_no_cgroup test -z "$(find "$cgroup" -mindepth 1 -type d)"
finish
