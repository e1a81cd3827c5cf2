#!/bin/bash
# SPDX-License-Identifier: MIT
# With isolation.nested a command can make a cgroup namespace and mount its root. In a cgroup that is delegated to the
# user it must reach neither the supervisor's cgroup nor the limits of its own sandbox.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# Where the tree is mounted with nsdelegate, as systemd does it, the kernel refuses these writes at the root of a
# namespace.
if awk '$3 == "cgroup2" { print $4; exit }' /proc/mounts | grep -q nsdelegate; then
	skip a_nested_command_reaches_no_other_cgroup 'cgroup v2 is mounted with nsdelegate here'
	finish
	exit
fi
# The name must not look like a cgroup of sbx, or a gc of another test would remove it.
top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
cgroup=$top/nested-test-$$
if [ "$EUID" -ne 0 ] || [ -z "$top" ] || ! mkdir "$cgroup" "$cgroup/outside" "$cgroup/inside" 2>/dev/null; then
	skip a_nested_command_reaches_no_other_cgroup 'no cgroup v2 in which we may make one'
	finish
	exit
fi
victim=''
end() {
	[ -z "$victim" ] || kill -KILL "$victim" 2>/dev/null
	# Its last process may still be exiting.
	for directory in "$cgroup/outside" "$cgroup/inside" "$cgroup"; do
		eventually rmdir "$directory" 2>/dev/null
	done
	rm -rf "$work"
}
trap end EXIT
chown -R "$user:$user" "$cgroup"
who=user
places
as_user="setpriv --reuid=$user --regid=$user --clear-groups"
delegated() { (echo 0 >"$here/cgroup.procs" && cd "$project" && exec $as_user "$@"); }
begin_victim() {
	(echo 0 >"$here/cgroup.procs" && exec $as_user sleep 1000) &
	victim=$!
	eventually grep -qx "$victim" "$here/cgroup.procs"
}
cat >"$work/p.yaml" <<END
version: 1
isolation: {nested: true}
net: {mode: none}
capabilities:
  - {name: see, action: allow, match: {op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64, $work/attack]}}
  - {name: programs, action: allow, match: {op: exec}}
  - {name: scratch, action: allow, match: {op: fs.*, path: /tmp}}
  - {name: enter, action: allow, match: {op: container.run, mode: debug}}
END
# attack limit: bounds the depth of the mounted cgroup; attack kill: kills all processes in it; attack fill: makes 1200
# cgroups, and names that gc once passed over.
cat >"$work/attack" <<'END'
mkdir -p "${TMPDIR:-/tmp}/cgroup.$$" && cd "${TMPDIR:-/tmp}" || exit 1
exec unshare -Urm --cgroup sh -c '
	mount -t cgroup2 none "$1" && cd "$1" && echo mounted || exit 1
	[ "$2" = limit ] && echo 3 >cgroup.max.depth && echo limited
	[ "$2" = kill ] && echo 1 >cgroup.kill
	[ "$2" = fill ] || exit 0
	mkdir .hidden .hidden/below $(seq 1200) 2>/dev/null
	find . -mindepth 1 -type d | wc -l' - "cgroup.$$" "$1"
END
chmod 644 "$work/p.yaml" "$work/attack"
export TMPDIR=$work/user/home
# After a write to cgroup.kill Linux 6.15 and later kill what is cloned from that cgroup into another one.
here=$cgroup/outside
begin_victim
run delegated sh "$work/attack" limit
check outside_the_cgroup_is_limited test "$out $(cat "$here/cgroup.max.depth")" = $'mounted\nlimited 3'
delegated sh "$work/attack" kill >/dev/null 2>&1
wait "$victim"
check outside_the_processes_of_the_cgroup_are_killed test $? -eq 137

here=$cgroup/inside
begin_victim
lives() { kill -0 "$victim"; }
nested() { delegated sbx-spawn -q --policy "$work/p.yaml" "$@"; }

run nested -- sh "$work/attack" kill
check inside_the_attack_kills_itself has_status 137
check inside_it_kills_no_other_process lives

run nested -- sh "$work/attack" fill
check it_makes_no_more_than_a_thousand out_is $'mounted\n999'
check all_of_them_are_removed test "$(find "$here" -mindepth 1 -type d | wc -l)" -eq 0

# While a visitor is there, too.
mkfifo "$work/go" "$work/ready" "$work/entered"
chmod 666 "$work/go" "$work/ready" "$work/entered"
id=limited-$$
own=$here/sbx-$id
(nested --debug --id "$id" --pids 64 -- sh -c "sh $work/attack limit; cat") <"$work/go" >"$work/ready" 2>"$work/err" &
sandbox=$!
exec 5>"$work/go" 6<"$work/ready"
read -r mounted <&6
read -r limited <&6
check inside_a_cgroup_is_limited test "$mounted $limited" = 'mounted limited'
check it_is_not_that_of_the_sandbox test "$(cat "$own/cgroup.max.depth" "$own/command/cgroup.max.depth")" = $'16\n3'
(delegated sbx-ctl exec "$id" -- sh -c 'echo entered; exec sleep 1000') >"$work/entered" 2>&1 &
visit=$!
read -r entered <"$work/entered"
check a_visitor_enters test "$entered" = entered
check no_process_inside_is_in_the_sandboxs_cgroup test -z "$(cat "$own/cgroup.procs")"
run delegated sbx-ctl pause "$id"
check pause_freezes_the_processes_in_the_child grep -qx 'frozen 1' "$own/command/cgroup.events"
run delegated sbx-ctl resume "$id"
run delegated sbx-ctl kill "$id"
check they_are_killed has_status 0
exec 5>&- 6<&-
wait "$visit" "$sandbox" 2>/dev/null
check nothing_of_its_cgroup_is_left eventually test ! -e "$own"

# Its supervisor is killed, which leaves the cgroup to gc.
id=left-$$
own=$here/sbx-$id
(echo 0 >"$here/cgroup.procs" && cd "$project" && exec $as_user sbx-spawn -q --policy "$work/p.yaml" --id "$id" -- \
	sh -c "sh $work/attack fill; exec sleep 1000") >"$work/ready" 2>"$work/err" &
sandbox=$!
exec 6<"$work/ready"
read -r mounted <&6
read -r many <&6
check inside_many_cgroups_are_made test "$mounted $many" = 'mounted 999'
kill -KILL "$sandbox"
wait "$sandbox" 2>/dev/null
exec 6<&-
check a_killed_supervisor_leaves_them test -d "$own/command/.hidden/below"
run delegated sbx-ctl gc
check gc_removes_all_of_them test ! -e "$own"
check the_other_process_lives lives

# Where no cgroup can be seen, none can be made, and the current one may be the user's.
hidden() { unshare -m sh -c 'mount -t tmpfs none "$1" && shift && exec "$@"' - "$top" "$@"; }
(echo 0 >"$here/cgroup.procs" && cd "$project" &&
	hidden $as_user sbx-spawn -q --policy "$work/p.yaml" -- sh "$work/attack" kill) >"$work/out" 2>"$work/err"
check without_a_cgroup_of_its_own_it_is_refused test $? -eq 125
check the_refusal_names_the_setting grep -q 'isolation.nested' "$work/err"
check nothing_is_killed lives

# Root's command can be the user to whom the current cgroup belongs.
places
read_only() { unshare -m sh -c 'mount -o remount,bind,ro "$1" && shift && exec "$@"' - "$top" "$@"; }
(echo 0 >"$here/cgroup.procs" && cd "$project" &&
	read_only sbx-spawn -q --uid "$user" --policy "$work/p.yaml" -- sh "$work/attack" kill) >"$work/out" 2>"$work/err"
check roots_command_with_the_users_uid_is_refused test $? -eq 125
check its_refusal_names_the_setting grep -q 'isolation.nested' "$work/err"
check roots_command_kills_nothing lives
finish
